/* wire/channel.c - where things lie in a channel. */
#include "wire/channel.h"

static uint64_t page_up(uint64_t v)
{
	return (v + WIRE_PAGE - 1) & ~(uint64_t)(WIRE_PAGE - 1);
}

static uint64_t ring_bytes(const struct wire_geometry *g)
{
	return (uint64_t)g->ring_chunks * g->chunk_size;
}

static uint64_t rings_at(void)
{
	return page_up(sizeof(struct wire_control));
}

static uint64_t slots_at(const struct wire_geometry *g)
{
	return page_up(rings_at() +
		       (uint64_t)g->max_threads * sizeof(struct wire_ring));
}

static uint64_t chunks_at(const struct wire_geometry *g)
{
	return slots_at(g) + (uint64_t)g->n_slots * WIRE_SLOT_SIZE;
}

void channel_layout(const struct wire_geometry *g, struct wire_control *out)
{
	*out = (struct wire_control){
	    .magic = WIRE_MAGIC,
	    .version = WIRE_VERSION,
	    .page_size = WIRE_PAGE,
	    .geometry = *g,
	    .rings_at = rings_at(),
	    .slots_at = slots_at(g),
	    .chunks_at = chunks_at(g),
	    .size = page_up(chunks_at(g) + g->max_threads * ring_bytes(g)),
	};
}

struct ring_view channel_ring(const struct wire_geometry *g, void *base,
			      uint32_t ring)
{
	uint8_t *b = base;

	return (struct ring_view){
	    .ring = (void *)(b + rings_at() + ring * sizeof(struct wire_ring)),
	    .chunks = b + chunks_at(g) + ring * ring_bytes(g),
	    .n = g->ring_chunks,
	    .chunk_size = g->chunk_size,
	};
}

struct wire_slot *channel_slot(const struct wire_geometry *g, void *base,
			       uint32_t slot)
{
	return (void *)((uint8_t *)base + slots_at(g) +
			(uint64_t)slot * WIRE_SLOT_SIZE);
}
