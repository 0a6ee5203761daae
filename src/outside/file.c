/* outside/file.c - chunk files: the writer and the reader. */
#include "outside/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
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

static uint64_t check_chunk(const struct wire_file_chunk *c, uint64_t id)
{
	return XXH3_64bits_withSeed(
	    c, offsetof(struct wire_file_chunk, head_check), id);
}

/* -- Writing -- */

struct file_writer {
	int fd, owned;
	int is_pipe;   /* or a socket: who writes may have to wait */
	int no_nowait; /* the kernel cannot say beforehand that it would */
	int abandoned;
	char *name; /* owned */
	uint64_t id, number, written;
	void (*told)(void *ctx, int stuck); /* or NULL */
	void *ctx;			    /* borrowed */
};

static int write_failed(const struct file_writer *w, struct hark_err *err)
{
	if (errno == ECANCELED)
		return err_set(err, HARK_EIO, errno, "%s: nobody reads it",
			       w->name);
	return err_set(err, HARK_EIO, errno, "%s: %s", w->name,
		       strerror(errno));
}

/* -- Pipes: who reads may take his time, but signals must not wait for him --
 */

/* Has somebody asked hark to end? It begins with signals held back, and before
 * it looks for them it writes the beginning of the file. */
static int is_asked_to_end(void)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, SIGINT) ||
	       sigismember(&pending, SIGTERM) ||
	       sigismember(&pending, SIGHUP) || sigismember(&pending, SIGQUIT);
}

static int gives_up(const struct file_writer *w)
{
	return __atomic_load_n(&w->abandoned, __ATOMIC_ACQUIRE) ||
	       (w->told == NULL && is_asked_to_end());
}

/* Until there is room; -1: it is not waited for any more. */
static int wait_for_reader(const struct file_writer *w)
{
	enum { LOOK_MS = 100, STUCK = 10 };
	struct pollfd p = {.fd = w->fd, .events = POLLOUT};
	int looks = 0, n;

	while ((n = poll(&p, 1, LOOK_MS)) == 0 || (n < 0 && errno == EINTR)) {
		looks += n == 0;
		if (gives_up(w)) {
			errno = ECANCELED;
			n = -1;
			break;
		}
		if (n == 0 && looks == STUCK && w->told != NULL)
			w->told(w->ctx, 1);
	}
	if (looks >= STUCK && w->told != NULL)
		w->told(w->ctx, 0);
	return n < 0 ? -1 : 0;
}

/* A little of it: where there is room at all there is that much. */
static ssize_t write_little(struct file_writer *w, const struct iovec *v)
{
	ssize_t done;

	if (wait_for_reader(w) < 0)
		return -1;
	done = write(w->fd, v->iov_base,
		     v->iov_len < PIPE_BUF ? v->iov_len : PIPE_BUF);
	return done < 0 && errno == EAGAIN ? 0 : done;
}

static ssize_t write_pipe(struct file_writer *w, const struct iovec *v, int n)
{
	ssize_t done;

	if (v->iov_len == 0)
		return 0;
	if (w->no_nowait)
		return write_little(w, v);
	done = pwritev2(w->fd, v, n, -1, RWF_NOWAIT);
	if (done >= 0 || (errno != EAGAIN && errno != EOPNOTSUPP &&
			  errno != ENOSYS && errno != EINVAL))
		return done;
	if (errno != EAGAIN) {
		w->no_nowait = 1;
		return write_little(w, v);
	}
	return wait_for_reader(w) < 0 ? -1 : 0;
}

void file_writer_watch(struct file_writer *w,
		       void (*told)(void *ctx, int stuck), void *ctx)
{
	w->told = told;
	w->ctx = ctx;
}

void file_writer_abandon(struct file_writer *w)
{
	__atomic_store_n(&w->abandoned, 1, __ATOMIC_RELEASE);
}

/* All of it, by as few calls as the kernel allows. */
static int write_all(struct file_writer *w, struct iovec *v, int n,
		     struct hark_err *err)
{
	while (n > 0) {
		ssize_t done =
		    w->is_pipe ? write_pipe(w, v, n) : writev(w->fd, v, n);

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
	w->id = h.id;
	return write_all(w, &v, 1, err);
}

static int writer_new(int fd, int owned, const char *name,
		      struct file_writer **out, struct hark_err *err)
{
	struct file_writer *w = calloc(1, sizeof *w);
	struct stat st;

	if (w == NULL || (w->name = strdup(name)) == NULL) {
		free(w);
		if (owned) {
			close(fd);
			unlink(name);
		}
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	}
	w->fd = fd;
	w->owned = owned;
	w->is_pipe = fstat(fd, &st) == 0 &&
		     (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
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

/* A recording is a secret. Where others may rename and replace files it would
 * not be safe. */
static int check_directory(int dir, const char *path, struct hark_err *err)
{
	struct stat st;

	if (fstat(dir, &st) < 0)
		return err_set(err, HARK_EIO, errno, "%s: %s", path,
			       strerror(errno));
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return err_set(err, HARK_EREFUSE, 0,
			       "%s: its directory belongs to another user",
			       path);
	if ((st.st_mode & S_IWOTH) != 0 && (st.st_mode & S_ISVTX) == 0)
		return err_set(err, HARK_EREFUSE, 0,
			       "%s: everybody may write to its directory "
			       "(chmod o-w, or choose another)",
			       path);
	return 0;
}

static const char *name_in(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

/* The directory of path. */
static int open_directory(const char *path, struct hark_err *err)
{
	size_t len = (size_t)(name_in(path) - path);
	char *parent = len == 0 ? strdup(".") : strndup(path, len);
	int dir, e;

	if (parent == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	e = errno;
	if (dir < 0) /* one that may be used, but not read */
		dir = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(parent);
	if (dir < 0)
		return err_set(err, HARK_EIO, e, "%s: %s", path, strerror(e));
	if (check_directory(dir, path, err) < 0) {
		close(dir);
		return -1;
	}
	return dir;
}

int file_create(const char *path, int force, struct file_writer **out,
		struct hark_err *err)
{
	const char *name = name_in(path);
	int fd, dir, e;

	if (strcmp(path, "-") == 0)
		return writer_new(STDOUT_FILENO, 0, "standard output", out,
				  err);
	dir = open_directory(path, err);
	if (dir < 0)
		return -1;
	if (force && replaceable(path))
		unlinkat(dir, name, 0);
	fd = openat(dir, name,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	e = errno;
	close(dir);
	if (fd < 0)
		return err_set(err, HARK_EIO, e, "%s: %s%s", path, strerror(e),
			       e == EEXIST && !force && replaceable(path)
				   ? " (--force replaces it)"
				   : "");
	fchmod(fd, 0600); /* whatever the umask says */
	return writer_new(fd, 1, path, out, err);
}

int file_create_fd(int fd, const char *name, struct file_writer **out,
		   struct hark_err *err)
{
	return writer_new(fd, 0, name, out, err);
}

static uint64_t check_key(const struct wire_file_key *k)
{
	return XXH3_64bits(k, offsetof(struct wire_file_key, check));
}

/* Compressed to out, which has room; how long, or 0: that would be no gain. */
static size_t compress(const struct file_content *c, int level, ZSTD_CCtx *zstd,
		       uint8_t *out, size_t size)
{
	size_t n;

	if (level == 0 || c->len < COMPRESS_FROM)
		return 0;
	n = zstd == NULL
		? ZSTD_compress(out, size, c->bytes, c->len, level)
		: ZSTD_compressCCtx(zstd, out, size, c->bytes, c->len, level);
	return ZSTD_isError(n) || n >= c->len ? 0 : n;
}

/* What was there before is of no use: no realloc. */
static int make_packed_room(struct file_packed *p, size_t size)
{
	uint8_t *bytes;

	if (p->bytes != NULL && size <= p->room)
		return 0;
	bytes = malloc(size);
	if (bytes == NULL)
		return -1;
	free(p->bytes);
	p->bytes = bytes;
	p->room = size;
	return 0;
}

int file_pack(const struct file_content *c, int level, void *zstd,
	      struct file_packed *out)
{
	size_t key_len = c->key != NULL ? sizeof *c->key : 0, n;
	size_t size = key_len + ZSTD_compressBound(c->len);
	uint8_t *bytes;

	if (make_packed_room(out, size) < 0)
		return -1;
	bytes = out->bytes;
	if (c->key != NULL) {
		struct wire_file_key k = *c->key;

		k.check = check_key(&k);
		memcpy(bytes, &k, sizeof k);
	}
	n = compress(c, level, zstd, bytes + key_len, size - key_len);
	if (n == 0 && c->len > 0)
		memcpy(bytes + key_len, c->bytes, c->len);
	out->head = (struct wire_file_chunk){
	    .mark = WIRE_CHUNK_MARK,
	    .type = (uint16_t)c->type,
	    .flags = (uint16_t)((n != 0 ? WIRE_CHUNK_ZSTD : 0) |
				(c->key != NULL ? WIRE_CHUNK_KEY : 0)),
	    .process = c->process,
	    .thread = c->thread,
	    .stored = (uint32_t)(key_len + (n != 0 ? n : c->len)),
	    .plain = (uint32_t)c->len,
	};
	out->head.check = XXH3_64bits(bytes, out->head.stored);
	return 0;
}

void file_unpack_free(struct file_packed *p)
{
	free(p->bytes);
	p->bytes = NULL;
	p->room = 0;
}

void file_packed_fit(struct file_packed *p)
{
	size_t need = p->head.stored > 0 ? p->head.stored : 1;
	uint8_t *less = need < p->room ? realloc(p->bytes, need) : NULL;

	if (less == NULL)
		return;
	p->bytes = less;
	p->room = need;
}

int file_put_packed(struct file_writer *w, const struct file_packed *p,
		    struct hark_err *err)
{
	static const uint8_t zeros[WIRE_CHUNK_ALIGN];
	struct wire_file_chunk c = p->head;

	if (c.stored > WIRE_CHUNK_MAX || c.plain > WIRE_CHUNK_MAX)
		return err_set(err, HARK_EBUG, 0, "%s: a chunk of %u bytes",
			       w->name, c.plain);
	c.number = w->number++;
	c.head_check = check_chunk(&c, w->id);
	return write_all(w,
			 (struct iovec[]){
			     {&c, sizeof c},
			     {p->bytes, c.stored},
			     {(void *)zeros, wire_chunk_padding(c.stored)},
			 },
			 3, err);
}

int file_put(struct file_writer *w, enum wire_chunk_type type, uint32_t process,
	     uint32_t thread, const void *bytes, size_t len,
	     struct hark_err *err)
{
	struct file_content c = {.type = type,
				 .process = process,
				 .thread = thread,
				 .bytes = bytes,
				 .len = len};
	struct file_packed p = {0};
	int rc;

	if (len > WIRE_CHUNK_MAX)
		return err_set(err, HARK_EBUG, 0, "%s: a chunk of %zu bytes",
			       w->name, len);
	if (file_pack(&c, LEVEL, NULL, &p) < 0)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	rc = file_put_packed(w, &p, err);
	file_unpack_free(&p);
	return rc;
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
	uint64_t id, number, position;
	struct file_room stored, plain;
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

int file_check_header(const struct wire_file *h, size_t have, const char *name,
		      struct hark_err *err)
{
	if (have < sizeof h->magic || h->magic != WIRE_FILE_MAGIC)
		return err_set(err, HARK_EINPUT, 0,
			       "%s: not a file that hark wrote", name);
	if (have < sizeof *h || h->check != check_header(h) ||
	    h->size != sizeof *h)
		return err_set(err, HARK_EINPUT, 0, "%s: its header is damaged",
			       name);
	if (h->version != WIRE_FILE_VERSION)
		return err_set(err, HARK_EINPUT, 0,
			       "%s: has format version %u; this hark reads %u",
			       name, h->version, WIRE_FILE_VERSION);
	return 0;
}

static int read_header(struct file_reader *r, struct hark_err *err)
{
	struct wire_file h;
	ssize_t n = read_all(r, &h, sizeof h);

	if (n < 0)
		return err_set(err, HARK_EIO, errno, "%s: %s", r->name,
			       strerror(errno));
	if (file_check_header(&h, (size_t)n, r->name, err) < 0)
		return -1;
	r->id = h.id;
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

int file_make_room(struct file_room *room, size_t len)
{
	uint8_t *more;

	if (len <= room->size)
		return 0;
	more = realloc(room->at, len);
	if (more == NULL)
		return -1;
	room->at = more;
	room->size = len;
	return 0;
}

static const char no_memory[] = "out of memory";

/* A file that there is no memory for is not damaged; the code says so. */
static enum file_status damaged(const struct file_reader *r, const char *what,
				struct hark_err *err)
{
	if (what == no_memory)
		err_set(err, HARK_ENOMEM, ENOMEM, "%s: %s", r->name, what);
	else
		err_set(err, HARK_EINPUT, 0, "%s: damaged at byte %lu: %s",
			r->name, (unsigned long)r->position, what);
	return FILE_DAMAGED;
}

const char *file_bad_chunk(const struct wire_file_chunk *c, uint64_t id,
			   uint64_t number)
{
	uint32_t key =
	    (c->flags & WIRE_CHUNK_KEY) != 0 ? sizeof(struct wire_file_key) : 0;

	if (c->mark != WIRE_CHUNK_MARK)
		return "no chunk begins here";
	if (c->head_check != check_chunk(c, id))
		return "a chunk's header is wrong";
	if (c->number != number)
		return "a chunk is missing or out of order";
	if (c->stored > WIRE_CHUNK_MAX || c->plain > WIRE_CHUNK_MAX)
		return "a chunk is too long";
	if ((c->flags & ~(WIRE_CHUNK_ZSTD | WIRE_CHUNK_KEY)) != 0)
		return "a chunk is of an unknown kind";
	if (c->stored < key)
		return "a chunk is too short";
	if ((c->flags & WIRE_CHUNK_ZSTD) == 0 && c->stored - key != c->plain)
		return "a chunk has two lengths";
	return NULL;
}

const char *file_bad_key(const struct wire_file_key *k)
{
	return k->check != check_key(k) ? "a key frame's header is wrong"
					: NULL;
}

static int padding_ok(const struct wire_file_chunk *c, const uint8_t *stored)
{
	for (uint32_t i = 0; i < wire_chunk_padding(c->stored); i++)
		if (stored[c->stored + i] != 0)
			return 0;
	return 1;
}

const char *file_bad_payload(const struct wire_file_chunk *c,
			     const uint8_t *stored)
{
	if (XXH3_64bits(stored, c->stored) != c->check ||
	    !padding_ok(c, stored))
		return "a checksum is wrong";
	return (c->flags & WIRE_CHUNK_KEY) != 0
		   ? file_bad_key((const void *)stored)
		   : NULL;
}

const char *file_open_payload(const struct wire_file_chunk *c,
			      const uint8_t *stored, struct file_room *room,
			      const uint8_t **bytes, size_t *len)
{
	uint32_t key =
	    (c->flags & WIRE_CHUNK_KEY) != 0 ? sizeof(struct wire_file_key) : 0;
	const char *bad = file_bad_payload(c, stored);

	if (bad != NULL)
		return bad;
	if ((c->flags & WIRE_CHUNK_ZSTD) == 0) {
		*bytes = stored + key;
		*len = c->plain;
		return NULL;
	}
	if (file_make_room(room, (size_t)c->plain + 1) < 0)
		return no_memory;
	if (ZSTD_decompress(room->at, c->plain, stored + key,
			    c->stored - key) != c->plain)
		return "a chunk does not decompress";
	*bytes = room->at;
	*len = c->plain;
	return NULL;
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

		if (file_make_room(&r->stored, have + piece) < 0)
			return damaged(r, no_memory, err);
		n = read_all(r, r->stored.at + have, piece);
		if (n < 0)
			return damaged(r, strerror(errno), err);
		if ((size_t)n < piece)
			return FILE_CUT;
		have += piece;
	}
	return FILE_CHUNK;
}

/* An empty chunk has bytes, too: somewhere. */
static enum file_status unpack(struct file_reader *r,
			       const struct wire_file_chunk *c,
			       struct file_chunk *out, struct hark_err *err)
{
	const char *bad;

	if (file_make_room(&r->stored, 1) < 0)
		return damaged(r, no_memory, err);
	bad = file_open_payload(c, r->stored.at, &r->plain, &out->bytes,
				&out->len);
	out->key =
	    (c->flags & WIRE_CHUNK_KEY) != 0 ? (void *)r->stored.at : NULL;
	return bad == NULL ? FILE_CHUNK : damaged(r, bad, err);
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
	bad = file_bad_chunk(&c, r->id, r->number);
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
	free(r->stored.at);
	free(r->plain.at);
	free(r->name);
	free(r);
}
