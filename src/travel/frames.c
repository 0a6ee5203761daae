/* travel/frames.c - moments that a thread can be put to at once. */
#include "travel/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct frames {
	struct frame *all; /* owned; by segment and count */
	unsigned n, room;
	size_t memory, memory_max;
	uint64_t near;
	uint64_t clock;
};

struct frames *frames_new(size_t memory_max, uint64_t near)
{
	struct frames *f = calloc(1, sizeof *f);

	if (f == NULL)
		return NULL;
	f->memory_max = memory_max;
	f->near = near;
	return f;
}

uint64_t frames_near(const struct frames *f)
{
	return f->near;
}

/* How much memory that gives. */
static size_t drop(struct frame *frame)
{
	free(frame->xstate);
	return sizeof *frame + frame->xstate_len + sheet_free(frame->memory);
}

void frames_free(struct frames *f)
{
	if (f == NULL)
		return;
	for (unsigned i = 0; i < f->n; i++)
		drop(&f->all[i]);
	free(f->all);
	free(f);
}

/* How many are not after this place. */
static unsigned place_of(const struct frames *f, unsigned segment,
			 uint64_t count)
{
	unsigned low = 0, high = f->n;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;
		const struct frame *m = &f->all[middle];

		if (m->segment < segment ||
		    (m->segment == segment && m->count <= count))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct frame *frames_before(struct frames *f, unsigned segment,
				  uint64_t count)
{
	unsigned i = place_of(f, segment, count);

	if (i == 0 || f->all[i - 1].segment != segment)
		return NULL;
	f->all[i - 1].used = ++f->clock;
	return &f->all[i - 1];
}

static size_t memory_of(const struct frame *frame)
{
	return sizeof *frame + frame->xstate_len + sheet_memory(frame->memory);
}

static void forget_oldest(struct frames *f)
{
	unsigned oldest = 0;

	for (unsigned i = 1; i < f->n; i++)
		if (f->all[i].used < f->all[oldest].used)
			oldest = i;
	f->memory -= drop(&f->all[oldest]);
	f->n--;
	memmove(&f->all[oldest], &f->all[oldest + 1],
		(f->n - oldest) * sizeof *f->all);
}

static int make_room(struct frames *f, size_t more)
{
	struct frame *all;

	while (f->n > 0 && f->memory + more > f->memory_max)
		forget_oldest(f);
	if (f->n < f->room)
		return 0;
	all = reallocarray(f->all, f->room + 16, sizeof *all);
	if (all == NULL)
		return -1;
	f->all = all;
	f->room += 16;
	return 0;
}

int frames_add(struct frames *f, struct frame *frame, struct hark_err *err)
{
	unsigned i;

	if (make_room(f, memory_of(frame)) < 0) {
		drop(frame);
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	}
	i = place_of(f, frame->segment, frame->count);
	memmove(&f->all[i + 1], &f->all[i], (f->n - i) * sizeof *f->all);
	frame->used = ++f->clock;
	f->all[i] = *frame;
	f->n++;
	f->memory += memory_of(frame);
	return 0;
}
