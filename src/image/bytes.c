/* image/bytes.c - contents that are read when they are needed. */
#include "image/bytes_priv.h"

#include <assert.h>
#include <string.h>

/* Small enough that hopping from one unit of debug info to the next reads
 * little, big enough that a symbol table is one or two reads. */
enum { PIECE = 16 * 1024, TEXT_STEP = 256 };

int bytes_init(struct bytes *b, const struct heap *heap,
	       const struct bytes_source *src, uint64_t offset, uint64_t len,
	       struct hark_err *err)
{
	if (offset > src->len || len > src->len - offset)
		return err_set(err, HARK_EINPUT, 0,
			       "%lu bytes at 0x%lx reach beyond the end of the "
			       "file (%lu bytes)",
			       (unsigned long)len, (unsigned long)offset,
			       (unsigned long)src->len);
	*b = (struct bytes){
	    .heap = heap, .src = *src, .offset = offset, .len = (size_t)len};
	if (src->memory != NULL)
		b->view = src->memory + offset;
	return 0;
}

void bytes_init_owned(struct bytes *b, const struct heap *heap, uint8_t *buffer,
		      size_t len)
{
	memset(b, 0, sizeof *b);
	b->heap = heap;
	b->len = len;
	b->view = buffer;
	b->buffer = buffer;
}

static size_t n_words(const struct bytes *b)
{
	return (b->len / PIECE + 64) / 64;
}

void bytes_fini(struct bytes *b)
{
	heap_give(b->heap, b->buffer, b->len);
	heap_give(b->heap, b->have, n_words(b) * sizeof *b->have);
	b->buffer = NULL;
	b->have = NULL;
	b->view = NULL;
}

static int reserve(struct bytes *b, struct hark_err *err)
{
	uint8_t *buffer = heap_take(b->heap, b->len);
	uint64_t *have = heap_take(b->heap, n_words(b) * sizeof *have);

	if (buffer == NULL || have == NULL) {
		heap_give(b->heap, buffer, b->len);
		heap_give(b->heap, have, n_words(b) * sizeof *have);
		return err_set(err, HARK_ENOMEM, 0,
			       "no memory for %zu bytes of a file", b->len);
	}
	memset(have, 0, n_words(b) * sizeof *have);
	b->buffer = buffer;
	b->view = buffer;
	b->have = have;
	return 0;
}

static int has_piece(const struct bytes *b, size_t i)
{
	return (b->have[i / 64] >> (i % 64) & 1) != 0;
}

/* Reads the pieces first..last, each run of missing ones in one go. */
static int fill(struct bytes *b, size_t first, size_t last,
		struct hark_err *err)
{
	for (size_t i = first, run; i <= last; i = run + 1) {
		size_t from = i * PIECE, to;

		for (run = i; run <= last && !has_piece(b, run); run++)
			;
		if (run == i)
			continue;
		to = run * PIECE < b->len ? run * PIECE : b->len;
		if (b->src.read(b->src.ctx, b->offset + from, b->buffer + from,
				to - from, err) < 0)
			return -1;
		for (size_t k = i; k < run; k++)
			b->have[k / 64] |= (uint64_t)1 << (k % 64);
	}
	return 0;
}

const uint8_t *bytes_need(struct bytes *b, uint64_t offset, uint64_t len,
			  struct hark_err *err)
{
	if (offset > b->len || len > b->len - offset) {
		err_set(err, HARK_EINPUT, 0,
			"%lu bytes at 0x%lx of a section that has %zu",
			(unsigned long)len, (unsigned long)offset, b->len);
		return NULL;
	}
	if (len == 0)
		return b->view != NULL ? b->view + offset : (const uint8_t *)"";
	if (b->view == NULL && reserve(b, err) < 0)
		return NULL;
	if (b->have != NULL &&
	    fill(b, (size_t)offset / PIECE, (size_t)(offset + len - 1) / PIECE,
		 err) < 0)
		return NULL;
	return b->view + offset;
}

const char *bytes_text(struct bytes *b, uint64_t offset, uint64_t max,
		       struct hark_err *err)
{
	uint64_t len = 0, rest = offset < b->len ? b->len - offset : 0;

	rest = rest < max ? rest : max;
	while (len < rest) {
		uint64_t want = len + TEXT_STEP < rest ? len + TEXT_STEP : rest;
		const uint8_t *at = bytes_need(b, offset, want, err);

		if (at == NULL)
			return NULL;
		if (memchr(at + len, 0, (size_t)(want - len)) != NULL)
			return (const char *)at;
		len = want;
	}
	err_set(err, HARK_EINPUT, 0, "no string at 0x%lx",
		(unsigned long)offset);
	return NULL;
}
