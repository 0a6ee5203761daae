/* travel/past.c - what a segment knew of memory when it ended. */
#include "travel/past.h"

#include "travel/sheet.h"

#include <errno.h>
#include <stdlib.h>

/* Of one segment. */
struct entry {
	unsigned segment;
	uint64_t used;	      /* when */
	struct sheet *memory; /* owned */
	struct entry *next;   /* owned */
};

struct past {
	struct entry *entries; /* owned */
	size_t memory, memory_max;
	uint64_t clock;
};

struct past *past_new(size_t memory_max)
{
	struct past *p = calloc(1, sizeof *p);

	if (p != NULL)
		p->memory_max = memory_max;
	return p;
}

static void forget(struct past *p, struct entry **at)
{
	struct entry *e = *at;

	*at = e->next;
	p->memory -= sheet_free(e->memory);
	free(e);
}

void past_free(struct past *p)
{
	if (p == NULL)
		return;
	while (p->entries != NULL)
		forget(p, &p->entries);
	free(p);
}

static void make_room(struct past *p, size_t more)
{
	while (p->memory + more > p->memory_max && p->entries != NULL) {
		struct entry **at = &p->entries, **oldest = at;

		for (; *at != NULL; at = &(*at)->next)
			if ((*at)->used < (*oldest)->used)
				oldest = at;
		forget(p, oldest);
	}
}

/* Stops just before the key frame of the next one. */
static struct sheet *replay_segment(struct walker *w, unsigned segment,
				    struct hark_err *err)
{
	enum walker_stop stop = WALKER_THERE;

	if (walker_goto_segment(w, segment, err) < 0 ||
	    walker_run_segment(w, &stop, err) < 0)
		return NULL;
	return sheet_take(walker_shadow(w), walker_touched(w), NULL, err);
}

static struct entry *make(struct past *p, struct walker *w, unsigned segment,
			  struct hark_err *err)
{
	struct entry *e = calloc(1, sizeof *e);

	if (e == NULL) {
		err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
		return NULL;
	}
	e->segment = segment;
	e->memory = replay_segment(w, segment, err);
	if (e->memory == NULL) {
		free(e);
		return NULL;
	}
	make_room(p, sheet_memory(e->memory));
	p->memory += sheet_memory(e->memory);
	e->next = p->entries;
	p->entries = e;
	return e;
}

int past_byte(struct past *p, struct walker *w, unsigned segment,
	      uint32_t index, uint8_t *out, struct hark_err *err)
{
	struct entry *e = p->entries;

	while (e != NULL && e->segment != segment)
		e = e->next;
	if (e == NULL)
		e = make(p, w, segment, err);
	if (e == NULL)
		return -1;
	e->used = ++p->clock;
	return sheet_byte(e->memory, index, out);
}
