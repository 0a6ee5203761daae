/* outside/file.c - chunk files: the writer and the reader. */
#include "outside/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

enum { COMPRESS_FROM = 512, LEVEL = 3 };

/* -- Checksums -- */

static uint64_t check_header(const struct wire_file *h)
{
	return XXH3_64bits(h, offsetof(struct wire_file, check));
}

static uint64_t check_chunk(const struct wire_file_chunk *c)
{
	return XXH3_64bits(c, offsetof(struct wire_file_chunk, head_check));
}

/* -- Writing -- */

struct file_writer {
	int fd, owned;
	char *name; /* owned */
	uint64_t number, written;
	uint8_t *packed; /* owned: compression's output */
	size_t packed_size;
};

static int write_failed(const struct file_writer *w, struct hark_err *err)
{
	return err_set(err, HARK_EIO, errno, "%s: %s", w->name,
		       strerror(errno));
}

/* All of it, by as few calls as the kernel allows. */
static int write_all(struct file_writer *w, struct iovec *v, int n,
		     struct hark_err *err)
{
	while (n > 0) {
		ssize_t done = writev(w->fd, v, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return write_failed(w, err);
		w->written += (uint64_t)done;
		for (; n > 0 && (size_t)done >= v->iov_len; v++, n--)
			done -= (ssize_t)v->iov_len;
		if (n > 0) {
			v->iov_base = (uint8_t *)v->iov_base + done;
			v->iov_len -= (size_t)done;
		}
	}
	return 0;
}

static int put_header(struct file_writer *w, struct hark_err *err)
{
	struct wire_file h = {
	    .magic = WIRE_FILE_MAGIC,
	    .version = WIRE_FILE_VERSION,
	    .size = sizeof h,
	};
	struct iovec v = {&h, sizeof h};

	if (getrandom(&h.id, sizeof h.id, 0) != sizeof h.id)
		return err_set(err, HARK_EIO, errno, "no random number: %s",
			       strerror(errno));
	h.check = check_header(&h);
	return write_all(w, &v, 1, err);
}

static int writer_new(int fd, int owned, const char *name,
		      struct file_writer **out, struct hark_err *err)
{
	struct file_writer *w = calloc(1, sizeof *w);

	if (w == NULL || (w->name = strdup(name)) == NULL) {
		free(w);
		if (owned)
			close(fd);
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	}
	w->fd = fd;
	w->owned = owned;
	if (put_header(w, err) < 0) {
		file_writer_discard(w);
		return -1;
	}
	*out = w;
	return 0;
}

/* Only what a file may be replaced by is removed: never a directory, a device
 * or what a link points to. */
static int replaceable(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 &&
	       (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode));
}

int file_create(const char *path, int force, struct file_writer **out,
		struct hark_err *err)
{
	int fd;

	if (strcmp(path, "-") == 0)
		return writer_new(STDOUT_FILENO, 0, "standard output", out,
				  err);
	if (force && replaceable(path))
		unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		  0600);
	if (fd < 0) {
		int e = errno;

		return err_set(err, HARK_EIO, e, "%s: %s%s", path, strerror(e),
			       e == EEXIST && !force && replaceable(path)
				   ? " (--force replaces it)"
				   : "");
	}
	return writer_new(fd, 1, path, out, err);
}

int file_create_fd(int fd, const char *name, struct file_writer **out,
		   struct hark_err *err)
{
	return writer_new(fd, 0, name, out, err);
}

static int packed_room(struct file_writer *w, size_t len)
{
	size_t size = ZSTD_compressBound(len);
	uint8_t *more;

	if (size <= w->packed_size)
		return 0;
	more = realloc(w->packed, size);
	if (more == NULL)
		return -1;
	w->packed = more;
	w->packed_size = size;
	return 0;
}

/* The payload to store: packed if that is smaller, else as it is. */
static const void *pack(struct file_writer *w, const void *bytes, size_t len,
			struct wire_file_chunk *c)
{
	size_t n;

	c->stored = c->plain = (uint32_t)len;
	if (len < COMPRESS_FROM || packed_room(w, len) < 0)
		return bytes;
	n = ZSTD_compress(w->packed, w->packed_size, bytes, len, LEVEL);
	if (ZSTD_isError(n) || n >= len)
		return bytes;
	c->stored = (uint32_t)n;
	c->flags = WIRE_CHUNK_ZSTD;
	return w->packed;
}

int file_put(struct file_writer *w, enum wire_chunk_type type, uint32_t process,
	     uint32_t thread, const void *bytes, size_t len,
	     struct hark_err *err)
{
	static const uint8_t zeros[WIRE_CHUNK_ALIGN];
	struct wire_file_chunk c = {
	    .mark = WIRE_CHUNK_MARK,
	    .type = (uint16_t)type,
	    .process = process,
	    .thread = thread,
	    .number = w->number,
	};
	const void *payload;

	if (len > WIRE_CHUNK_MAX)
		return err_set(err, HARK_EBUG, 0, "%s: a chunk of %zu bytes",
			       w->name, len);
	payload = pack(w, bytes, len, &c);
	c.check = XXH3_64bits(payload, c.stored);
	c.head_check = check_chunk(&c);
	w->number++;
	return write_all(w,
			 (struct iovec[]){
			     {&c, sizeof c},
			     {(void *)payload, c.stored},
			     {(void *)zeros, wire_chunk_padding(c.stored)},
			 },
			 3, err);
}

uint64_t file_written(const struct file_writer *w)
{
	return w->written;
}

void file_writer_close(struct file_writer *w)
{
	if (w == NULL)
		return;
	if (w->owned)
		close(w->fd);
	free(w->packed);
	free(w->name);
	free(w);
}

void file_writer_discard(struct file_writer *w)
{
	if (w != NULL && w->owned)
		unlink(w->name);
	file_writer_close(w);
}

/* -- Reading -- */

struct file_reader {
	int fd, owned, ended;
	char *name; /* owned */
	uint64_t number, position;
	uint8_t *stored, *plain; /* owned */
	size_t stored_size, plain_size;
};

/* Bytes read: len, or fewer at the end of the file; -1 on an error. */
static ssize_t read_all(struct file_reader *r, void *out, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = read(r->fd, (uint8_t *)out + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static int read_header(struct file_reader *r, struct hark_err *err)
{
	struct wire_file h;
	ssize_t n = read_all(r, &h, sizeof h);

	if (n < 0)
		return err_set(err, HARK_EIO, errno, "%s: %s", r->name,
			       strerror(errno));
	if (n < (ssize_t)sizeof h.magic || h.magic != WIRE_FILE_MAGIC)
		return err_set(err, HARK_EINPUT, 0,
			       "%s: not a file that hark wrote", r->name);
	if (n < (ssize_t)sizeof h || h.check != check_header(&h) ||
	    h.size != sizeof h)
		return err_set(err, HARK_EINPUT, 0, "%s: its header is damaged",
			       r->name);
	if (h.version != WIRE_FILE_VERSION)
		return err_set(err, HARK_EINPUT, 0,
			       "%s: has format version %u; this hark reads %u",
			       r->name, h.version, WIRE_FILE_VERSION);
	r->position = sizeof h;
	return 0;
}

static int reader_new(int fd, int owned, const char *name,
		      struct file_reader **out, struct hark_err *err)
{
	struct file_reader *r = calloc(1, sizeof *r);

	if (r == NULL || (r->name = strdup(name)) == NULL) {
		free(r);
		if (owned)
			close(fd);
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	}
	r->fd = fd;
	r->owned = owned;
	if (read_header(r, err) < 0) {
		file_reader_close(r);
		return -1;
	}
	*out = r;
	return 0;
}

int file_open(const char *path, struct file_reader **out, struct hark_err *err)
{
	int fd;

	if (strcmp(path, "-") == 0)
		return reader_new(STDIN_FILENO, 0, "standard input", out, err);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, HARK_EIO, errno, "%s: %s", path,
			       strerror(errno));
	return reader_new(fd, 1, path, out, err);
}

int file_open_fd(int fd, const char *name, struct file_reader **out,
		 struct hark_err *err)
{
	return reader_new(fd, 0, name, out, err);
}

static int make_room(uint8_t **at, size_t *size, size_t len)
{
	uint8_t *more;

	if (len <= *size)
		return 0;
	more = realloc(*at, len);
	if (more == NULL)
		return -1;
	*at = more;
	*size = len;
	return 0;
}

static enum file_status damaged(const struct file_reader *r, const char *what,
				struct hark_err *err)
{
	err_set(err, HARK_EINPUT, 0, "%s: damaged at byte %lu: %s", r->name,
		(unsigned long)r->position, what);
	return FILE_DAMAGED;
}

/* What must hold before a length is believed. */
static const char *bad_chunk(const struct file_reader *r,
			     const struct wire_file_chunk *c)
{
	if (c->mark != WIRE_CHUNK_MARK)
		return "no chunk begins here";
	if (c->head_check != check_chunk(c))
		return "a chunk's header is wrong";
	if (c->number != r->number)
		return "a chunk is missing or out of order";
	if (c->stored > WIRE_CHUNK_MAX || c->plain > WIRE_CHUNK_MAX)
		return "a chunk is too long";
	if ((c->flags & ~WIRE_CHUNK_ZSTD) != 0)
		return "a chunk is of an unknown kind";
	if ((c->flags & WIRE_CHUNK_ZSTD) == 0 && c->stored != c->plain)
		return "a chunk has two lengths";
	return NULL;
}

static int padding_ok(const struct file_reader *r,
		      const struct wire_file_chunk *c)
{
	for (uint32_t i = 0; i < wire_chunk_padding(c->stored); i++)
		if (r->stored[c->stored + i] != 0)
			return 0;
	return 1;
}

/* Payload and padding. A long length costs memory only as far as bytes really
 * come: a file of a hundred bytes cannot make hark take 64 MiB. */
static enum file_status read_payload(struct file_reader *r,
				     const struct wire_file_chunk *c,
				     struct hark_err *err)
{
	enum { PIECE = 1 << 20 };
	size_t want = (size_t)c->stored + wire_chunk_padding(c->stored);
	size_t have = 0;

	while (have < want) {
		size_t piece = want - have < PIECE ? want - have : PIECE;
		ssize_t n;

		if (make_room(&r->stored, &r->stored_size, have + piece) < 0)
			return damaged(r, "out of memory", err);
		n = read_all(r, r->stored + have, piece);
		if (n < 0)
			return damaged(r, strerror(errno), err);
		if ((size_t)n < piece)
			return FILE_CUT;
		have += piece;
	}
	if (XXH3_64bits(r->stored, c->stored) != c->check || !padding_ok(r, c))
		return damaged(r, "a checksum is wrong", err);
	return FILE_CHUNK;
}

static enum file_status unpack(struct file_reader *r,
			       const struct wire_file_chunk *c,
			       struct file_chunk *out, struct hark_err *err)
{
	out->bytes = r->stored;
	out->len = c->stored;
	if ((c->flags & WIRE_CHUNK_ZSTD) == 0)
		return FILE_CHUNK;
	if (make_room(&r->plain, &r->plain_size, (size_t)c->plain + 1) < 0)
		return damaged(r, "out of memory", err);
	if (ZSTD_decompress(r->plain, c->plain, r->stored, c->stored) !=
	    c->plain)
		return damaged(r, "a chunk does not decompress", err);
	out->bytes = r->plain;
	out->len = c->plain;
	return FILE_CHUNK;
}

/* Nothing may follow an END chunk. */
static enum file_status after_end(struct file_reader *r, struct hark_err *err)
{
	uint8_t one;

	return read_all(r, &one, 1) == 0
		   ? FILE_END
		   : damaged(r, "something follows the end", err);
}

enum file_status file_next(struct file_reader *r, struct file_chunk *out,
			   struct hark_err *err)
{
	struct wire_file_chunk c;
	struct file_chunk got;
	enum file_status status;
	const char *bad;
	ssize_t n;

	if (r->ended)
		return after_end(r, err);
	n = read_all(r, &c, sizeof c);
	if (n < 0)
		return damaged(r, strerror(errno), err);
	if (n < (ssize_t)sizeof c)
		return FILE_CUT;
	bad = bad_chunk(r, &c);
	if (bad != NULL)
		return damaged(r, bad, err);
	status = read_payload(r, &c, err);
	if (status == FILE_CHUNK)
		status = unpack(r, &c, &got, err);
	if (status != FILE_CHUNK)
		return status;
	got.type = c.type;
	got.process = c.process;
	got.thread = c.thread;
	got.number = c.number;
	r->number++;
	r->position += sizeof c + c.stored + wire_chunk_padding(c.stored);
	r->ended = c.type == WIRE_CHUNK_END;
	*out = got;
	return FILE_CHUNK;
}

uint64_t file_position(const struct file_reader *r)
{
	return r->position;
}

void file_reader_close(struct file_reader *r)
{
	if (r == NULL)
		return;
	if (r->owned)
		close(r->fd);
	free(r->stored);
	free(r->plain);
	free(r->name);
	free(r);
}
