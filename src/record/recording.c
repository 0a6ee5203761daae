/* record/recording.c - a recording, opened.
 *
 * The file is walked once, from chunk header to chunk header; of payloads only
 * the words are read. What is kept of a chunk is smaller than its header, so
 * no file can make hark take more memory than it has bytes.
 *
 * Whatever cannot be walked (a pipe) is copied to a file without a name first.
 * Everything is read by its place, so several processes may share a recording
 * that was opened before they were made. */
#include "record/recording.h"

#include "record/recording_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Words of one chunk: no command line is longer. */
enum { WINDOW = 64 << 10, WORDS_MAX = 8 << 20 };

/* A piece of the file, so that small chunks do not cost a call each. */
struct window {
	uint8_t bytes[WINDOW];
	uint64_t at;
	size_t len;
};

/* -- Bytes of the file -- */

/* How many there are, up to len; -1. */
static ssize_t read_at(int fd, uint64_t at, void *out, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, (uint8_t *)out + done, len - done,
				  (off_t)(at + done));

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

/* len bytes at `at`, or as many as there are; -1. */
static ssize_t look_at(const struct recording *r, struct window *w, uint64_t at,
		       void *out, size_t len)
{
	size_t there;

	if (at < w->at || at + len > w->at + w->len) {
		ssize_t n = read_at(r->fd, at, w->bytes, sizeof w->bytes);

		if (n < 0)
			return -1;
		w->at = at;
		w->len = (size_t)n;
	}
	there = w->at + w->len - at;
	there = there < len ? there : len;
	memcpy(out, w->bytes + (at - w->at), there);
	return (ssize_t)there;
}

/* Header and payload, as they stand in the file. */
static const char *read_stored(const struct recording *r, const struct chunk *c,
			       struct wire_file_chunk *head,
			       struct file_room *stored)
{
	size_t want = (size_t)c->stored + wire_chunk_padding(c->stored);
	const char *bad;

	if (file_make_room(stored, want + 1) < 0)
		return "out of memory";
	if (read_at(r->fd, c->at, head, sizeof *head) != sizeof *head ||
	    read_at(r->fd, c->at + sizeof *head, stored->at, want) !=
		(ssize_t)want)
		return "it has become shorter";
	bad = file_bad_chunk(head, r->id, c->number);
	return bad == NULL && head->stored != c->stored ? "it has changed"
							: bad;
}

const char *recording_read_chunk(const struct recording *r,
				 const struct chunk *c,
				 struct file_room *stored,
				 struct file_room *plain, const uint8_t **bytes,
				 size_t *len)
{
	struct wire_file_chunk head;
	const char *bad = read_stored(r, c, &head, stored);

	return bad != NULL
		   ? bad
		   : file_open_payload(&head, stored->at, plain, bytes, len);
}

/* -- Walking -- */

static int damaged(struct recording *r, uint64_t at, const char *what)
{
	char text[512];

	snprintf(text, sizeof text, "%s: damaged at byte %lu: %s", r->name,
		 (unsigned long)at, what);
	free(r->damage);
	r->damage = strdup(text);
	return -1;
}

static struct chunk *new_chunk(struct recording *r)
{
	if (r->n_chunks == r->room_chunks) {
		size_t room = 2 * (size_t)r->room_chunks + 64;
		struct chunk *more;

		if (room > UINT32_MAX)
			return NULL;
		more = realloc(r->chunks, room * sizeof *more);
		if (more == NULL)
			return NULL;
		r->chunks = more;
		r->room_chunks = (uint32_t)room;
	}
	return &r->chunks[r->n_chunks];
}

static int is_words(unsigned type)
{
	return type == WIRE_CHUNK_META || type == WIRE_CHUNK_END ||
	       type == WIRE_CHUNK_PROCESS || type == WIRE_CHUNK_MODULE ||
	       type == WIRE_CHUNK_NOTE;
}

static const char *take_words(struct recording *r, const struct chunk *c,
			      uint32_t plain_len)
{
	struct file_room stored = {0}, plain = {0};
	const uint8_t *bytes;
	const char *bad;
	size_t len;

	if (c->stored > WORDS_MAX || plain_len > WORDS_MAX)
		return "a text is too long";
	bad = recording_read_chunk(r, c, &stored, &plain, &bytes, &len);
	if (bad == NULL && recording_add_lines(r, c, bytes, len) < 0)
		bad = "there are too many words";
	free(stored.at);
	free(plain.at);
	return bad;
}

/* What was read of a chunk, and of the key frame behind its header. */
struct beginning {
	struct wire_file_chunk head;
	struct wire_file_key key;
};

static const char *take_chunk(struct recording *r, const struct beginning *b)
{
	const struct wire_file_chunk *h = &b->head;
	int has_key = (h->flags & WIRE_CHUNK_KEY) != 0;
	struct chunk *c = new_chunk(r);

	if (c == NULL)
		return "out of memory";
	if (has_key && file_bad_key(&b->key) != NULL)
		return file_bad_key(&b->key);
	*c = (struct chunk){
	    .at = r->end,
	    .number = r->n_chunks,
	    .process = h->process,
	    .thread = h->thread,
	    .stored = h->stored,
	    .type = h->type,
	    .flags = h->flags,
	    .first = has_key ? b->key.flags & WIRE_KEY_FIRST : 0,
	    .count = has_key ? b->key.count : 0,
	    .time_ns = has_key ? b->key.time_ns : 0,
	};
	r->n_chunks++;
	if ((h->type == WIRE_CHUNK_META) != (c->number == 0))
		return "it does not begin as it should";
	return is_words(h->type) ? take_words(r, c, h->plain) : NULL;
}

/* One chunk: 1. 0: there is no more, or not the whole of it. -1: damaged. */
static int step(struct recording *r, struct window *w)
{
	struct beginning b;
	ssize_t n = look_at(r, w, r->end, &b, sizeof b);
	const char *bad;
	uint64_t len;

	if (n < 0)
		return damaged(r, r->end, strerror(errno));
	if ((size_t)n < sizeof b.head)
		return 0;
	bad = file_bad_chunk(&b.head, r->id, r->n_chunks);
	if (bad != NULL)
		return damaged(r, r->end, bad);
	len = sizeof b.head + b.head.stored + wire_chunk_padding(b.head.stored);
	if (len > r->size - r->end)
		return 0;
	bad = take_chunk(r, &b);
	if (bad != NULL)
		return damaged(r, r->end, bad);
	r->end += len;
	r->complete = b.head.type == WIRE_CHUNK_END;
	return 1;
}

static int walk(struct recording *r, struct hark_err *err)
{
	struct window *w = calloc(1, sizeof *w);
	struct wire_file h = {0};
	int more = 1;
	ssize_t n;

	if (w == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	n = look_at(r, w, 0, &h, sizeof h);
	if (n < 0 || file_check_header(&h, (size_t)n, r->name, err) < 0) {
		if (n < 0)
			err_set(err, HARK_EIO, errno, "%s: %s", r->name,
				strerror(errno));
		free(w);
		return -1;
	}
	r->id = h.id;
	r->end = sizeof h;
	while (more > 0 && !r->complete)
		more = step(r, w);
	free(w);
	if (r->complete && r->end < r->size)
		damaged(r, r->end, "something follows the end");
	return 0;
}

/* -- Opening -- */

/* A copy that nobody else sees. */
static int spool(int from, const char *name, struct hark_err *err)
{
	const char *dir = getenv("TMPDIR");
	int to = open(dir == NULL ? "/tmp" : dir,
		      O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char bytes[WINDOW];
	ssize_t n;

	if (to < 0)
		return err_set(err, HARK_EIO, errno,
			       "%s: cannot be copied to a file: %s", name,
			       strerror(errno));
	while ((n = read(from, bytes, sizeof bytes)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || write(to, bytes, (size_t)n) != n) {
			err_set(err, HARK_EIO, errno, "%s: %s", name,
				strerror(errno));
			close(to);
			return -1;
		}
	}
	return to;
}

/* A descriptor that can be read anywhere, or -1. */
static int open_file(const char *path, struct hark_err *err)
{
	int is_input = strcmp(path, "-") == 0, copy;
	int fd = is_input ? STDIN_FILENO
			  : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		err_set(err, HARK_EIO, errno, "%s: %s", path, strerror(errno));
		if (fd > STDIN_FILENO)
			close(fd);
		return -1;
	}
	if (S_ISREG(st.st_mode))
		return is_input ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : fd;
	copy = spool(fd, is_input ? "standard input" : path, err);
	if (!is_input)
		close(fd);
	return copy;
}

unsigned recording_version(const struct recording *r)
{
	const char *version = recording_meta(r, "record");
	unsigned long n = version == NULL ? 0 : strtoul(version, NULL, 10);

	return n < UINT_MAX ? (unsigned)n : UINT_MAX;
}

/* Is it a recording, and one that this hark understands? */
static int check_kind(const struct recording *r, struct hark_err *err)
{
	const char *kind = recording_meta(r, "kind");
	unsigned n = recording_version(r);

	if (r->n_chunks == 0 && r->damage == NULL)
		return err_set(err, HARK_EINPUT, 0, "%s: nothing is in it",
			       r->name);
	if (kind == NULL || strcmp(kind, "recording") != 0)
		return r->damage != NULL
			   ? err_set(err, HARK_EINPUT, 0, "%s", r->damage)
			   : err_set(err, HARK_EINPUT, 0,
				     "%s: not a recording, but of kind '%s'%s",
				     r->name, kind == NULL ? "?" : kind,
				     kind != NULL &&
					     strcmp(kind, "profile") == 0
					 ? " (see it with hark show)"
					 : "");
	if (n < WIRE_RECORD_OLDEST || n > WIRE_RECORD_VERSION)
		return err_set(err, HARK_EINPUT, 0,
			       "%s: its records are of version %u; this hark "
			       "reads %d to %d",
			       r->name, n, WIRE_RECORD_OLDEST,
			       WIRE_RECORD_VERSION);
	return 0;
}

int recording_fd(const struct recording *r)
{
	return r->fd;
}

void recording_close(struct recording *r)
{
	if (r == NULL)
		return;
	for (uint32_t i = 0; i < r->n_lines; i++)
		free(r->lines[i].key);
	for (uint32_t i = 0; i < r->n_processes; i++)
		free(r->processes[i].command);
	if (r->fd >= 0)
		close(r->fd);
	free(r->lines);
	free(r->processes);
	free(r->modules);
	free(r->segments);
	free(r->chunks);
	free(r->damage);
	free(r->name);
	free(r);
}

/* NULL: it cannot be. */
static struct recording *open_any(const char *path, struct hark_err *err)
{
	struct recording *r = calloc(1, sizeof *r);
	struct stat st;

	if (r == NULL || (r->name = strdup(path)) == NULL) {
		free(r);
		err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
		return NULL;
	}
	r->fd = open_file(path, err);
	if (r->fd >= 0 && fstat(r->fd, &st) == 0) {
		r->size = (uint64_t)st.st_size;
		if (walk(r, err) == 0 && check_kind(r, err) == 0 &&
		    recording_index(r, err) == 0 &&
		    recording_check_modules(r, err) == 0)
			return r;
	} else if (r->fd >= 0) {
		err_set(err, HARK_EIO, errno, "%s: %s", path, strerror(errno));
	}
	recording_close(r);
	return NULL;
}

int recording_open_damaged(const char *path, struct recording **out,
			   struct hark_err *err)
{
	struct recording *r = open_any(path, err);

	if (r == NULL)
		return -1;
	*out = r;
	return 0;
}

int recording_open(const char *path, struct recording **out,
		   struct hark_err *err)
{
	struct recording *r = open_any(path, err);

	if (r == NULL)
		return -1;
	if (r->damage != NULL) {
		err_set(err, HARK_EINPUT, 0, "%s", r->damage);
		recording_close(r);
		return -1;
	}
	*out = r;
	return 0;
}

/* -- Asking -- */

int recording_is_complete(const struct recording *r)
{
	return r->complete && r->damage == NULL;
}

const char *recording_damage(const struct recording *r)
{
	return r->damage;
}

unsigned recording_n_processes(const struct recording *r)
{
	return r->n_processes;
}

const struct recording_process *recording_process(const struct recording *r,
						  unsigned i)
{
	return i < r->n_processes ? &r->processes[i].told : NULL;
}

unsigned recording_n_segments(const struct recording *r)
{
	return r->n_segments;
}

const struct recording_segment *recording_segment(const struct recording *r,
						  unsigned i)
{
	return i < r->n_segments ? &r->segments[i].told : NULL;
}

void recording_facts(const struct recording *r, struct recording_facts *out)
{
	*out = r->facts;
}

int recording_check(struct recording *r, struct hark_err *err)
{
	struct file_room stored = {0};
	const char *bad = r->damage;

	for (uint32_t i = 0; i < r->n_chunks && bad == NULL; i++) {
		struct wire_file_chunk head;

		bad = read_stored(r, &r->chunks[i], &head, &stored);
		if (bad == NULL)
			bad = file_bad_payload(&head, stored.at);
		if (bad != NULL) {
			damaged(r, r->chunks[i].at, bad);
			bad = r->damage != NULL ? r->damage : "out of memory";
		}
	}
	free(stored.at);
	return bad == NULL ? 0 : err_set(err, HARK_EINPUT, 0, "%s", bad);
}
