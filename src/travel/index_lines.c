/* travel/index_lines.c - lines of memory in the blocks of an index.
 *
 * A block of touches has, for each section that touched the cluster: the
 * section's number and how many lines follow (2 bytes each); how far each line
 * is from the one before it, less 1 (a byte; 255: 2 bytes more have it), and
 * its flags (a byte); then what the flags name, of all lines: words that were
 * read (a byte each), bytes that were written, bytes that were learnt (masks of
 * 8 bytes). A block of values: the same two numbers; lines (2 bytes each),
 * masks (8 bytes each), and the bytes that the masks name. Like beside like:
 * that is what zstd wants.
 *
 * Nothing of a block is believed: it may come from a file. */
#include "travel/index_priv.h"

#include <stdlib.h>
#include <string.h>

enum { HAS_READ = 1, HAS_WRITTEN = 2, HAS_LEARNT = 4, HAS_FORGOTTEN = 8 };
enum { FAR = 255 }; /* a distance that does not fit */
_Static_assert(INDEX_SECTIONS_MAX <= UINT16_MAX, "2 bytes");

/* -- Writing -- */

/* There is room. */
static void put_bytes(struct index_bytes *to, const void *from, size_t len)
{
	memcpy(to->bytes + to->len, from, len);
	to->len += len;
}

static void put_number(struct index_bytes *to, unsigned number)
{
	const uint16_t n = (uint16_t)number;

	put_bytes(to, &n, sizeof n);
}

static void put_mask(struct index_bytes *to, uint64_t mask)
{
	put_bytes(to, &mask, sizeof mask);
}

static unsigned flags_of(const struct index_line *l)
{
	return (l->read != 0 ? HAS_READ : 0u) |
	       (l->written != 0 ? HAS_WRITTEN : 0u) |
	       (l->learnt != 0 ? HAS_LEARNT : 0u) |
	       (l->has_forgotten ? HAS_FORGOTTEN : 0u);
}

static void put_byte(struct index_bytes *to, unsigned byte)
{
	to->bytes[to->len++] = (uint8_t)byte;
}

int index_add_touches(struct index_bytes *to, unsigned section,
		      const struct index_line *lines, unsigned n)
{
	unsigned next = 0;

	if (index_make_room(to, 4 + n * (5 + 2 * sizeof(uint64_t))) < 0)
		return -1;
	put_number(to, section);
	put_number(to, n);
	for (unsigned i = 0; i < n; i++) {
		unsigned far = lines[i].line - next;

		put_byte(to, far < FAR ? far : FAR);
		if (far >= FAR)
			put_number(to, far);
		next = lines[i].line + 1u;
	}
	for (unsigned i = 0; i < n; i++)
		put_byte(to, flags_of(&lines[i]));
	for (unsigned i = 0; i < n; i++)
		if (lines[i].read != 0)
			put_byte(to, lines[i].read);
	for (unsigned i = 0; i < n; i++)
		if (lines[i].written != 0)
			put_mask(to, lines[i].written);
	for (unsigned i = 0; i < n; i++)
		if (lines[i].learnt != 0)
			put_mask(to, lines[i].learnt);
	return 0;
}

/* Those of a line that the mask names, one behind the other. */
static void put_named(struct index_bytes *to, const uint8_t *line,
		      uint64_t mask)
{
	if (mask == UINT64_MAX) {
		put_bytes(to, line, INDEX_LINE);
		return;
	}
	for (; mask != 0; mask &= mask - 1)
		to->bytes[to->len++] = line[__builtin_ctzll(mask)];
}

int index_add_values(struct index_bytes *to, unsigned section,
		     const uint16_t *lines, const uint64_t *masks, unsigned n,
		     const uint8_t *shadow)
{
	if (index_make_room(to, 4 + n * (2 + sizeof(uint64_t) + INDEX_LINE)) <
	    0)
		return -1;
	put_number(to, section);
	put_number(to, n);
	put_bytes(to, lines, n * sizeof *lines);
	put_bytes(to, masks, n * sizeof *masks);
	for (unsigned i = 0; i < n; i++)
		put_named(to, shadow + (size_t)lines[i] * INDEX_LINE, masks[i]);
	return 0;
}

/* -- Reading -- */

struct reader {
	const uint8_t *at, *end;
	bool is_bad;
};

static const uint8_t *take_bytes(struct reader *r, size_t len)
{
	const uint8_t *at = r->at;

	if (r->is_bad || len > (size_t)(r->end - r->at)) {
		r->is_bad = true;
		return NULL;
	}
	r->at += len;
	return at;
}

static unsigned take_number(struct reader *r)
{
	const uint8_t *at = take_bytes(r, sizeof(uint16_t));
	uint16_t n = 0;

	if (at != NULL)
		memcpy(&n, at, sizeof n);
	return n;
}

static uint64_t take_mask(struct reader *r)
{
	const uint8_t *at = take_bytes(r, sizeof(uint64_t));
	uint64_t mask = 0;

	if (at != NULL)
		memcpy(&mask, at, sizeof mask);
	return mask;
}

static unsigned take_byte(struct reader *r)
{
	const uint8_t *at = take_bytes(r, 1);

	return at != NULL ? *at : 0;
}

static void take_numbers(struct reader *r, struct index_touches *out)
{
	unsigned next = 0;

	for (unsigned i = 0; i < out->n && !r->is_bad; i++) {
		unsigned far = take_byte(r);

		if (far == FAR)
			far = take_number(r);
		next += far;
		r->is_bad |= next >= INDEX_CLUSTER_LINES;
		out->lines[i] = (struct index_line){.line = (uint16_t)next++};
	}
}

static void take_lines(struct reader *r, struct index_touches *out)
{
	const uint8_t *flags;

	take_numbers(r, out);
	flags = take_bytes(r, out->n);
	for (unsigned i = 0; i < out->n && !r->is_bad; i++) {
		out->lines[i].has_forgotten = flags[i] & HAS_FORGOTTEN;
		if (flags[i] & HAS_READ)
			out->lines[i].read = (uint8_t)take_byte(r);
	}
	for (unsigned i = 0; i < out->n && !r->is_bad; i++)
		if (flags[i] & HAS_WRITTEN)
			out->lines[i].written = take_mask(r);
	for (unsigned i = 0; i < out->n && !r->is_bad; i++)
		if (flags[i] & HAS_LEARNT)
			out->lines[i].learnt = take_mask(r);
}

int index_next_touches(const uint8_t **at, const uint8_t *end,
		       struct index_touches *out)
{
	struct reader r = {*at, end, false};

	if (*at == end)
		return 0;
	out->section = take_number(&r);
	out->n = take_number(&r);
	if (out->section >= INDEX_SECTIONS_MAX || out->n > INDEX_CLUSTER_LINES)
		return -1;
	take_lines(&r, out);
	*at = r.at;
	return r.is_bad ? -1 : 1;
}

static void merge_line(struct index_line *to, const struct index_line *from)
{
	to->read |= from->read;
	to->written |= from->written;
	to->learnt |= index_known_by(from);
	to->has_forgotten = true; /* .learnt is all */
}

int index_merge_touches(const struct index_bytes *from, unsigned section,
			struct index_bytes *to)
{
	struct index_line *all = calloc(INDEX_CLUSTER_LINES, sizeof *all);
	struct index_touches *t = malloc(sizeof *t);
	const uint8_t *at = from->bytes, *end = at + from->len;
	unsigned n = 0;
	int rc = -1;

	while (all != NULL && t != NULL &&
	       (rc = index_next_touches(&at, end, t)) > 0)
		for (unsigned i = 0; i < t->n; i++)
			merge_line(&all[t->lines[i].line], &t->lines[i]);
	for (unsigned i = 0; rc == 0 && i < INDEX_CLUSTER_LINES; i++)
		if (all[i].read != 0 || all[i].written != 0) {
			all[n] = all[i];
			all[n++].line = (uint16_t)i;
		}
	if (rc == 0 && n > 0)
		rc = index_add_touches(to, section, all, n);
	free(all);
	free(t);
	return rc;
}

int index_next_values(const uint8_t **at, const uint8_t *end,
		      struct index_values *out)
{
	struct reader r = {*at, end, false};
	size_t len = 0;

	if (*at == end)
		return 0;
	out->section = take_number(&r);
	out->n = take_number(&r);
	r.is_bad |= out->section >= INDEX_SECTIONS_MAX;
	out->lines = take_bytes(&r, out->n * sizeof(uint16_t));
	out->masks = take_bytes(&r, out->n * sizeof(uint64_t));
	for (unsigned i = 0; i < out->n && !r.is_bad; i++) {
		uint64_t mask;
		uint16_t line;

		memcpy(&line, out->lines + i * sizeof line, sizeof line);
		memcpy(&mask, out->masks + i * sizeof mask, sizeof mask);
		r.is_bad |= line >= INDEX_CLUSTER_LINES;
		len += (unsigned)__builtin_popcountll(mask);
	}
	out->bytes = take_bytes(&r, len);
	*at = r.at;
	return r.is_bad ? -1 : 1;
}

static void get_line(const struct index_values *v, unsigned i, uint16_t *line,
		     uint64_t *mask)
{
	memcpy(line, v->lines + i * sizeof *line, sizeof *line);
	memcpy(mask, v->masks + i * sizeof *mask, sizeof *mask);
}

static const uint8_t *copy_named(uint8_t *line, uint64_t mask,
				 const uint8_t *from)
{
	if (mask == UINT64_MAX) {
		memcpy(line, from, INDEX_LINE);
		return from + INDEX_LINE;
	}
	for (; mask != 0; mask &= mask - 1)
		line[__builtin_ctzll(mask)] = *from++;
	return from;
}

int index_put_values(const uint8_t *block, size_t len, unsigned end_section,
		     uint8_t *to)
{
	const uint8_t *at = block, *end = block + len;
	struct index_values v;
	int rc;

	while ((rc = index_next_values(&at, end, &v)) > 0 &&
	       v.section < end_section) {
		const uint8_t *from = v.bytes;

		for (unsigned i = 0; i < v.n; i++) {
			uint64_t mask;
			uint16_t line;

			get_line(&v, i, &line, &mask);
			from = copy_named(to + (size_t)line * INDEX_LINE, mask,
					  from);
		}
	}
	return rc < 0 ? -1 : 0;
}
