/* outside/file.h - write and read chunk files (wire/file.h). Hosted.
 *
 * A writer puts each chunk into the file by one system call, so that being
 * killed costs at most the chunk being written. A reader believes nothing:
 * every length is checked before it is used, every byte is under a checksum.
 * Both work on files and on pipes. */
#ifndef OUTSIDE_FILE_H
#define OUTSIDE_FILE_H

#include "base/err.h"
#include "wire/file.h"

#include <stddef.h>
#include <stdint.h>

/* -- Writing -- */

struct file_writer;

/* A new file, mode 0600, never through a symbolic link; one that exists is
 * refused, or replaced if force is not 0. "-" is standard output. */
int file_create(const char *path, int force, struct file_writer **out,
		struct hark_err *err);
/* The same on a descriptor that is the caller's to close. */
int file_create_fd(int fd, const char *name, struct file_writer **out,
		   struct hark_err *err);
int file_put(struct file_writer *w, enum wire_chunk_type type, uint32_t process,
	     uint32_t thread, const void *bytes, size_t len,
	     struct hark_err *err);
/* The same in two steps, so that several threads may do the first. */
struct file_packed {
	struct wire_file_chunk head; /* but its number */
	uint8_t *bytes;		     /* owned: as they will be stored */
	size_t room;		     /* there; used again */
};
struct file_content {
	enum wire_chunk_type type;
	uint32_t process, thread;
	const struct wire_file_key *key; /* borrowed; NULL: no key frame */
	const void *bytes;		 /* borrowed */
	size_t len;
};
/* zstd's context may be NULL; level 0: not compressed. out is empty (zeroed) or
 * has memory of an earlier one. -1: no memory. */
int file_pack(const struct file_content *c, int level, void *zstd,
	      struct file_packed *out);
/* To be kept for long: without the room that it does not need. */
void file_packed_fit(struct file_packed *p);
void file_unpack_free(struct file_packed *p);
int file_put_packed(struct file_writer *w, const struct file_packed *p,
		    struct hark_err *err);
/* The bytes that a chunk takes in a file. */
static inline uint64_t file_packed_size(const struct file_packed *p)
{
	return sizeof p->head + p->head.stored +
	       wire_chunk_padding(p->head.stored);
}

/* Into a pipe or a socket: told(ctx, 1) when nobody has read it for a second,
 * told(ctx, 0) when somebody does again; by who writes. */
void file_writer_watch(struct file_writer *w,
		       void (*told)(void *ctx, int stuck), void *ctx);
/* Who waits for its reader, now or later, waits no longer, and fails. By any
 * thread. */
void file_writer_abandon(struct file_writer *w);

uint64_t file_written(const struct file_writer *w);
/* Closes; what was put is in the file or an error has said that it is not. */
void file_writer_close(struct file_writer *w);
/* Closes and removes the file: nothing came of it. */
void file_writer_discard(struct file_writer *w);

/* -- Reading -- */

struct file_reader;

enum file_status {
	FILE_CHUNK,   /* one was read */
	FILE_END,     /* the end, after an END chunk */
	FILE_CUT,     /* no more, though no END chunk was seen */
	FILE_DAMAGED, /* not what was written: nothing after this is read */
};

struct file_chunk {
	enum wire_chunk_type type;
	uint32_t process, thread;
	uint64_t number;
	const uint8_t *bytes; /* decompressed; the reader's, until the next */
	size_t len;
	const struct wire_file_key *key; /* or NULL; as long as bytes */
};

/* "-" is standard input. */
int file_open(const char *path, struct file_reader **out, struct hark_err *err);
int file_open_fd(int fd, const char *name, struct file_reader **out,
		 struct hark_err *err);
/* For FILE_DAMAGED err says where and what; HARK_ENOMEM if it is not the file's
 * fault. */
enum file_status file_next(struct file_reader *r, struct file_chunk *out,
			   struct hark_err *err);
uint64_t file_position(const struct file_reader *r); /* bytes read and good */
void file_reader_close(struct file_reader *r);

/* -- For readers that seek (record/recording) -- */

/* Is this the header of a file that can be read? */
int file_check_header(const struct wire_file *h, size_t have, const char *name,
		      struct hark_err *err);
/* What is wrong with chunk number `number` of file `id`, before its lengths are
 * believed; NULL: nothing. */
const char *file_bad_chunk(const struct wire_file_chunk *c, uint64_t id,
			   uint64_t number);
const char *file_bad_key(const struct wire_file_key *k);
/* What is wrong with its payload (stored bytes and padding); NULL: nothing. */
const char *file_bad_payload(const struct wire_file_chunk *c,
			     const uint8_t *stored);
/* Memory that grows as needed; at is the caller's to free. */
struct file_room {
	uint8_t *at; /* owned */
	size_t size;
};
/* At least len bytes; -1: no memory. */
int file_make_room(struct file_room *room, size_t len);
/* The same, and what was written: in stored itself, or in room. */
const char *file_open_payload(const struct wire_file_chunk *c,
			      const uint8_t *stored, struct file_room *room,
			      const uint8_t **bytes, size_t *len);

/* -- The text of META and END chunks: lines `key=value` -- */

struct file_text {
	char *at;	  /* owned */
	size_t len, size; /* len < size; kept NUL-terminated */
	int failed;	  /* out of memory: sticky */
};
void file_text_add(struct file_text *t, const char *key, const char *value);
void file_text_number(struct file_text *t, const char *key, int64_t value);
void file_text_free(struct file_text *t);

/* Walks the lines of a chunk: at is 0 first. value is unescaped in place into
 * buffer; returns 1, or 0 at the end. Lines that are none are passed over. */
int file_text_next(const struct file_chunk *c, size_t *at, char *key,
		   size_t key_size, char *value, size_t value_size);

#endif
