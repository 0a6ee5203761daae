/* travel/index_sections.c - beginning in the middle of a segment.
 *
 * A key frame begins with an empty shadow, so that each segment replays alone;
 * where much memory is used it takes long to fill, and key frames are seconds
 * apart. The begin of a section is reached without replaying those before it:
 * registers and the place in the log are in the block of states, the shadow is
 * what all sections before it have left. Of that, the replay of a section needs
 * the clusters alone that it touches, and the index knows which those are.
 *
 * What a walker knows there of memory is what it has touched since, as after a
 * key frame; what was touched before is in the index (index_known.c). */
#include "travel/index_priv.h"

#include <stdlib.h>
#include <string.h>

static const struct index_head *head_with_values(struct index *x,
						 unsigned segment)
{
	const struct index_head *h = index_head_of(x, segment);

	return h != NULL && h->flags & INDEX_HAS_VALUES ? h : NULL;
}

int index_has_values(struct index *x, unsigned segment)
{
	return head_with_values(x, segment) != NULL;
}

unsigned index_sections(struct index *x, unsigned segment)
{
	const struct index_head *h = head_with_values(x, segment);

	return h != NULL ? h->n_sections : 1;
}

uint64_t index_section_count(struct index *x, unsigned segment,
			     unsigned section)
{
	const struct index_head *h = index_head_of(x, segment);

	return h != NULL && section < h->n_sections ? index_counts(h)[section]
						    : 0;
}

unsigned index_section_at(struct index *x, unsigned segment, uint64_t count)
{
	const struct index_head *h = head_with_values(x, segment);
	unsigned low = 0, high = h != NULL ? h->n_sections : 1;

	while (high - low > 1) {
		unsigned middle = low + (high - low) / 2;

		if (index_counts(h)[middle] <= count)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* -- What a cluster held -- */

static int put_image(struct index *x, unsigned segment,
		     const struct index_part *p, uint8_t *to)
{
	const uint8_t *from;

	if (p->image.raw_len == 0)
		return 0;
	if (p->pages == UINT32_MAX) /* as most of large arrays and heaps */
		return index_unpack_to(x, segment, &p->image, to);
	from = index_unpack(x, segment, &p->image);
	for (unsigned i = 0; from != NULL && i < INDEX_CLUSTER_PAGES; i++)
		if (p->pages >> i & 1) {
			memcpy(to + (size_t)i * INDEX_PAGE, from, INDEX_PAGE);
			from += INDEX_PAGE;
		}
	return from != NULL ? 0 : -1;
}

int index_put_cluster(struct index *x, unsigned segment,
		      const struct index_head *h, const struct index_cluster *c,
		      unsigned end, uint8_t *to)
{
	const struct index_part *p =
	    index_parts(h) + c->first_part + index_part_of(h, c, end);
	const uint8_t *values;

	if (put_image(x, segment, p, to) < 0)
		return -1;
	if (p->first >= end || p->values.raw_len == 0)
		return 0;
	values = index_unpack(x, segment, &p->values);
	return values != NULL
		   ? index_put_values(values, p->values.raw_len, end, to)
		   : -1;
}

/* -- Beginning at a section -- */

static int take_state(struct index *x, unsigned segment, unsigned section,
		      const struct index_head *h, struct index_state *out)
{
	const uint8_t *at = index_block_of(x, segment, &h->states);
	const uint8_t *end = at != NULL ? at + h->states.raw_len : NULL;
	const size_t fixed = offsetof(struct index_state, xstate);

	for (unsigned i = 1; at != NULL; i++) {
		if ((size_t)(end - at) < fixed)
			return -1;
		memcpy(out, at, fixed);
		at += fixed;
		if (out->xstate_len > sizeof out->xstate ||
		    out->xstate_len > (size_t)(end - at))
			return -1;
		memcpy(out->xstate, at, out->xstate_len);
		at += out->xstate_len;
		if (i == section)
			return out->mark.spot.segment == segment &&
				       out->count == index_counts(h)[section]
				   ? 0
				   : -1;
	}
	return -1;
}

int index_begin_at(struct index *x, unsigned segment, unsigned section,
		   struct index_state *out)
{
	const struct index_head *h = head_with_values(x, segment);

	return h == NULL || section == 0 || section >= h->n_sections
		   ? -1
		   : take_state(x, segment, section, h, out);
}

/* Has one of the sections [first, end) touched the cluster? */
static bool is_touched(const uint8_t *row, unsigned first, unsigned end)
{
	for (unsigned i = first; i < end; i++)
		if (row[i / 8] >> i % 8 & 1)
			return true;
	return false;
}

int index_load(struct index *x, unsigned segment, unsigned first,
	       unsigned section, uint8_t *shadow)
{
	const struct index_head *h = head_with_values(x, segment);
	size_t len;

	if (h == NULL || section >= h->n_sections || h->presence.raw_len == 0)
		return -1;
	len = index_presence_len(h->n_sections);
	for (uint32_t i = 0; i < h->n_clusters; i++) {
		const struct index_cluster *c = &index_clusters(h)[i];
		const uint8_t *row = index_block_of(x, segment, &h->presence);

		if (row == NULL)
			return -1;
		row += i * len;
		if (!is_touched(row, section, section + 1) ||
		    is_touched(row, first, section))
			continue;
		if (index_put_cluster(x, segment, h, c, section,
				      shadow + (size_t)c->number *
						   INDEX_CLUSTER) < 0)
			return -1;
	}
	return 0;
}
