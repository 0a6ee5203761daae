/* travel/index_file.c - an index, kept beside the recording.
 *
 * FILE.index: a head with the recording's id, a line for each segment that is
 * known, and their blobs, one after the other. Head and lines have a checksum,
 * and so has each block that a line or a directory names: what is not asked for
 * is not read. docs/format.md has it byte by byte. */
#include "travel/index_priv.h"

#include "record/beside.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define MAGIC 0x7865646e696b7268ull /* "hrkindex" */

enum { VERSION = 4, LINES_MOST = 1 << 24 };

struct head {
	uint64_t magic;
	uint32_t version, n_segments;
	uint64_t id;
	uint64_t checksum;	       /* of the lines, its seed the id */
	uint32_t n_entries, state_len; /* of struct index_state */
};

struct line {
	uint32_t segment, pad;
	uint64_t offset, blob_len; /* in the file */
	uint32_t stored_len, raw_len;
	uint64_t checksum; /* of the directory */
};

/* The layout of states is that of the hark that wrote them. */
static uint32_t state_len(void)
{
	return (uint32_t)offsetof(struct index_state, xstate);
}

/* -- Reading -- */

static int is_head(const struct head *h, unsigned n_segments, uint64_t id)
{
	return h->magic == MAGIC && h->version == VERSION &&
	       h->n_segments == n_segments && h->id == id &&
	       h->state_len == state_len() && h->n_entries <= LINES_MOST;
}

static void take_lines(struct index *x, const struct line *lines, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct index_entry e = {.offset = lines[i].offset,
					      .blob_len = lines[i].blob_len,
					      .stored_len = lines[i].stored_len,
					      .raw_len = lines[i].raw_len,
					      .checksum = lines[i].checksum};

		index_put(x, lines[i].segment, &e);
	}
}

void index_read(struct index *x, int fd, uint64_t id)
{
	const struct index_source source = {.fd = fd};
	struct line *lines;
	struct head h;
	size_t len;

	if (fd < 0 || index_source_read(&source, 0, &h, sizeof h) < 0 ||
	    !is_head(&h, x->n, id))
		return;
	len = h.n_entries * sizeof *lines;
	lines = malloc(len + 1);
	if (lines != NULL &&
	    index_source_read(&source, sizeof h, lines, len) == 0 &&
	    XXH64(lines, len, id) == h.checksum) {
		index_take_source(x, &source);
		take_lines(x, lines, h.n_entries);
	}
	free(lines);
}

/* -- Writing -- */

struct sink {
	int fd;
	uint64_t at;
};

static int put(struct sink *s, const void *from, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pwrite(s->fd, (const uint8_t *)from + done,
				   len - done, (off_t)(s->at + done));

		if (n <= 0)
			return -1;
		done += (size_t)n;
	}
	s->at += len;
	return 0;
}

static uint32_t count_entries(const struct index *x)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < x->n; i++)
		n += (uint32_t)index_has(x, i);
	return n;
}

static int put_lines(const struct index *x, struct sink *s, uint64_t id)
{
	uint32_t n = count_entries(x), k = 0;
	size_t len = n * sizeof(struct line);
	struct head h = {.magic = MAGIC,
			 .version = VERSION,
			 .n_segments = x->n,
			 .id = id,
			 .n_entries = n,
			 .state_len = state_len()};
	struct line *lines = calloc(n + 1, sizeof *lines);
	uint64_t at = sizeof h + len;
	int rc;

	if (lines == NULL)
		return -1;
	for (unsigned i = 0; i < x->n; i++) {
		const struct index_entry *e = &x->entries[i];

		if (!index_has(x, i))
			continue;
		lines[k++] = (struct line){
		    i,		0,	    at, e->blob_len, e->stored_len,
		    e->raw_len, e->checksum};
		at += e->blob_len;
	}
	h.checksum = XXH64(lines, len, id);
	rc = put(s, &h, sizeof h) < 0 || put(s, lines, len) < 0 ? -1 : 0;
	free(lines);
	return rc;
}

static int put_blob(const struct index *x, struct sink *s,
		    const struct index_entry *e)
{
	enum { SOME = 1 << 20 };
	uint8_t *some = malloc(SOME);
	int rc = some == NULL ? -1 : 0;

	for (uint64_t done = 0; rc == 0 && done < e->blob_len; done += SOME) {
		size_t n = e->blob_len - done < SOME
			       ? (size_t)(e->blob_len - done)
			       : SOME;

		rc = index_source_read(&x->source, e->offset + done, some, n) <
				 0 ||
			     put(s, some, n) < 0
			 ? -1
			 : 0;
	}
	free(some);
	return rc;
}

int index_write(const struct index *x, int fd, uint64_t id)
{
	struct sink s = {.fd = fd};

	if (ftruncate(fd, 0) < 0 || put_lines(x, &s, id) < 0)
		return -1;
	for (unsigned i = 0; i < x->n; i++)
		if (index_has(x, i) && put_blob(x, &s, &x->entries[i]) < 0)
			return -1;
	return 0;
}

struct storing {
	const struct index *x;
	uint64_t id;
};

static int write_it(void *ctx, int fd)
{
	const struct storing *s = ctx;

	return index_write(s->x, fd, s->id);
}

int index_store(const struct index *x, const char *path)
{
	struct storing s = {.x = x};

	if (beside_id(path, &s.id) < 0)
		return -1;
	return beside_store_by(path, "index", write_it, &s);
}
