/* record/recording_priv.h - what the files of an opened recording share. */
#ifndef RECORD_RECORDING_PRIV_H
#define RECORD_RECORDING_PRIV_H

#include "outside/file.h"
#include "record/recording.h"

/* Of one chunk, all that is kept in memory. */
struct chunk {
	uint64_t at; /* of its header */
	uint32_t number;
	uint32_t process, thread;
	uint32_t stored;
	uint16_t type, flags;
	uint32_t first;		 /* WIRE_KEY_FIRST */
	uint64_t count, time_ns; /* of its key frame, if it has one */
};

/* Lines of META, END, PROCESS, MODULE and NOTE chunks. */
struct line {
	uint16_t type;
	uint32_t process, thread;
	char *key, *value; /* owned: one block */
};

struct segment {
	struct recording_segment told;
	uint32_t first, n; /* of the sorted chunks */
};

struct process {
	struct recording_process told;
	uint32_t first, n;     /* of the sorted chunks: its stream */
	uint32_t maps, n_maps; /* likewise: MAPS */
	char *command;	       /* owned */
};

struct module {
	struct recording_module told;
	uint32_t first, n; /* of the sorted chunks: BYTES */
};

struct recording {
	int fd;		    /* owned */
	char *name;	    /* owned */
	uint64_t id;	    /* of the file */
	uint64_t size, end; /* of the file; of what is whole */
	int complete;
	char *damage;	      /* owned; NULL: none */
	struct chunk *chunks; /* owned: sorted by process, thread, number */
	uint32_t n_chunks, room_chunks;
	struct line *lines; /* owned: in the order of the file */
	uint32_t n_lines, room_lines;
	uint64_t text_bytes;
	struct segment *segments; /* owned */
	uint32_t n_segments;
	struct process *processes; /* owned: by number */
	uint32_t n_processes;
	uint32_t n_threads;
	struct module *modules; /* owned: by number */
	uint32_t n_modules;
	struct recording_facts facts;
};

/* Reads and checks chunk c; NULL, or what is wrong with it. Bytes are in one
 * of the two rooms. */
const char *recording_read_chunk(const struct recording *r,
				 const struct chunk *c,
				 struct file_room *stored,
				 struct file_room *plain, const uint8_t **bytes,
				 size_t *len);

/* -- recording_text.c -- */

/* The lines of a chunk. -1: no memory, or more than a file can need. */
int recording_add_lines(struct recording *r, const struct chunk *c,
			const uint8_t *bytes, size_t len);
const char *recording_line(const struct recording *r, uint16_t type,
			   uint32_t process, uint32_t thread, const char *key,
			   unsigned n);

/* -- recording_module.c -- */

int recording_index_modules(struct recording *r);
/* Do they unpack to more than a file of this length may? -1: they do. */
int recording_check_modules(const struct recording *r, struct hark_err *err);

/* -- recording_index.c -- */

/* Processes and segments, from the chunks. */
int recording_index(struct recording *r, struct hark_err *err);

#endif
