/* travel/index_file.c - an index, kept beside the recording.
 *
 * FILE.index: a head with the recording's id, a line for each segment that is
 * known, and their entries as they are in memory, one after the other. The
 * whole has a checksum. docs/format.md has it byte by byte. */
#include "travel/index_priv.h"

#include "record/beside.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define MAGIC 0x7865646e696b7268ull /* "hrkindex" */

enum { VERSION = 2, FILE_MOST = 1 << 30 };

struct head {
	uint64_t magic;
	uint32_t version, n_segments;
	uint64_t id;
	uint64_t checksum; /* of all behind the head */
	uint32_t n_entries, pad;
};

struct line {
	uint32_t segment, stored_len, raw_len, pad;
};

/* -- Reading -- */

static int is_head(const struct head *h, const uint8_t *bytes, size_t len,
		   unsigned n_segments, uint64_t id)
{
	size_t rest = len - sizeof *h;

	return h->magic == MAGIC && h->version == VERSION &&
	       h->n_segments == n_segments && h->id == id &&
	       h->n_entries <= rest / sizeof(struct line) &&
	       h->checksum == XXH64(bytes + sizeof *h, rest, id);
}

static void take_entries(struct index *x, const struct head *h,
			 const uint8_t *bytes, size_t len)
{
	const uint8_t *at = bytes + h->n_entries * sizeof(struct line);
	const uint8_t *end = bytes + len;

	for (uint32_t i = 0; i < h->n_entries; i++) {
		struct line line;
		uint8_t *stored;

		memcpy(&line, bytes + i * sizeof line, sizeof line);
		if (line.stored_len > (size_t)(end - at))
			return;
		stored = malloc((size_t)line.stored_len + 1);
		if (stored == NULL)
			return;
		memcpy(stored, at, line.stored_len);
		at += line.stored_len;
		if (index_put(x, line.segment, stored, line.stored_len,
			      line.raw_len) < 0)
			free(stored);
	}
}

void index_read(struct index *x, int fd, uint64_t id)
{
	struct head h;
	uint8_t *bytes;
	size_t len;

	if (fd < 0 || beside_read(fd, FILE_MOST, &bytes, &len) < 0)
		return;
	if (len >= sizeof h) {
		memcpy(&h, bytes, sizeof h);
		if (is_head(&h, bytes, len, x->n, id))
			take_entries(x, &h, bytes + sizeof h, len - sizeof h);
	}
	free(bytes);
}

/* -- Writing -- */

/* All words of a line of memory, or of a page, for one of them. */
static void widen(uint8_t *raw, unsigned level)
{
	struct index_head h;
	struct index_page *pages;

	memcpy(&h, raw, sizeof h);
	pages = (struct index_page *)(raw + sizeof h);
	for (uint32_t i = 0; i < h.n_data + h.n_code; i++)
		for (unsigned k = 0; k < 2; k++) {
			uint8_t *bits = pages[i].bits[k], any = 0;

			for (unsigned b = 0; b < INDEX_BITS; b++) {
				bits[b] = bits[b] != 0 ? 0xff : 0;
				any |= bits[b];
			}
			if (level > 1)
				memset(bits, any, INDEX_BITS);
		}
}

/* The same, coarser. NULL: no memory. */
static struct index *coarser(const struct index *x, unsigned level)
{
	struct index *out = index_new(x->n);

	for (unsigned i = 0; out != NULL && i < x->n; i++) {
		uint8_t *raw, *stored = NULL;
		uint32_t len = 0;

		if (!index_has(x, i))
			continue;
		raw = index_unpack(&x->entries[i]);
		if (raw != NULL) {
			widen(raw, level);
			stored = index_pack(raw, x->entries[i].raw_len, &len);
		}
		free(raw);
		if (stored != NULL &&
		    index_put(out, i, stored, len, x->entries[i].raw_len) < 0)
			free(stored);
	}
	return out;
}

static size_t size_of(const struct index *x, uint32_t *n)
{
	size_t size = sizeof(struct head);

	*n = 0;
	for (unsigned i = 0; i < x->n; i++)
		if (index_has(x, i)) {
			size += sizeof(struct line) + x->entries[i].stored_len;
			(*n)++;
		}
	return size;
}

static void fill(const struct index *x, uint32_t n, uint64_t id, uint8_t *out,
		 size_t size)
{
	struct head h = {.magic = MAGIC,
			 .version = VERSION,
			 .n_segments = x->n,
			 .id = id,
			 .n_entries = n};
	uint8_t *lines = out + sizeof h, *at = lines + n * sizeof(struct line);

	for (unsigned i = 0; i < x->n; i++) {
		const struct index_entry *e = &x->entries[i];
		struct line line = {i, e->stored_len, e->raw_len, 0};

		if (!index_has(x, i))
			continue;
		memcpy(lines, &line, sizeof line);
		memcpy(at, e->stored, e->stored_len);
		lines += sizeof line;
		at += e->stored_len;
	}
	h.checksum = XXH64(out + sizeof h, size - sizeof h, id);
	memcpy(out, &h, sizeof h);
}

/* As it is in a file; for the caller to free. NULL: no memory. */
static uint8_t *as_file(const struct index *x, uint64_t id, size_t *size)
{
	uint32_t n;
	uint8_t *bytes;

	*size = size_of(x, &n);
	bytes = calloc(1, *size);
	if (bytes != NULL)
		fill(x, n, id, bytes, *size);
	return bytes;
}

int index_write(const struct index *x, int fd, uint64_t id)
{
	size_t size, done = 0;
	uint8_t *bytes = as_file(x, id, &size);

	if (bytes == NULL || ftruncate(fd, 0) < 0) {
		free(bytes);
		return -1;
	}
	while (done < size) {
		ssize_t n = pwrite(fd, bytes + done, size - done, (off_t)done);

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	free(bytes);
	return done == size ? 0 : -1;
}

static int store(const struct index *x, const char *path, size_t most)
{
	uint8_t *bytes;
	uint32_t n;
	uint64_t id;
	size_t size;
	int rc;

	if (size_of(x, &n) > most || beside_id(path, &id) < 0)
		return -1;
	bytes = as_file(x, id, &size);
	if (bytes == NULL)
		return -1;
	rc = beside_store(path, "index", bytes, size);
	free(bytes);
	return rc;
}

int index_store(const struct index *x, const char *path, size_t most)
{
	uint32_t n;
	int rc = -1;

	if (size_of(x, &n) <= most)
		return store(x, path, most);
	for (unsigned level = 1; rc < 0 && level <= 2; level++) {
		struct index *y = coarser(x, level);

		if (y != NULL && size_of(y, &n) <= most)
			rc = store(y, path, most);
		index_free(y);
	}
	return rc;
}
