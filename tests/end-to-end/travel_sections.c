/* tests/end-to-end/travel_sections.c - is a thread that begins at a section of
 * the index what it is when it was replayed from the key frame?
 *
 *	travel_sections FILE
 *
 * Each segment is replayed twice: by a walker that comes from the key frame,
 *and by one that begins at each section anew and runs through one or three of
 *them. Registers and extended registers must be the same at its begin and at
 *its end, and so must all memory that it has touched; what the index knows of
 *memory is compared with what the first one knows. Prints how many sections
 *were compared, and how many segments have none. */
#include "record/touched.h"
#include "record/xstate.h"
#include "travel/index.h"
#include "travel/timeline.h"
#include "travel/walker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, N_PAGES = 1 << 20, STATUS = 0x8d5 };

static struct hark_err err;
static struct xstate_layout layout;
static struct index_known *asked;
static unsigned n_compared, n_without, n_known, n_touched;
static uint8_t marked[N_PAGES + 1];
static uint8_t is_forgotten[N_PAGES]; /* since the segment began */

static _Noreturn void fail(const char *what, unsigned segment, unsigned section)
{
	printf("segment %u, section %u: %s %s\n", segment, section, what,
	       err.text);
	exit(1);
}

static void compare_state(struct walker *a, struct walker *b, unsigned segment,
			  unsigned section)
{
	static struct index_state x, y;

	walker_get_state(a, &x);
	walker_get_state(b, &y);
	/* Where no instruction looks at status flags before they are written
	 * again, a replay need not have them. */
	x.state.rflags &= ~(uint64_t)STATUS;
	y.state.rflags &= ~(uint64_t)STATUS;
	if (memcmp(&x.state, &y.state, sizeof x.state) != 0) {
		snprintf(err.text, sizeof err.text, "pc 0x%llx, 0x%llx",
			 (unsigned long long)x.state.pc,
			 (unsigned long long)y.state.pc);
		fail("other registers:", segment, section);
	}
	if (x.count != y.count || x.epoch != y.epoch ||
	    x.n_events != y.n_events || walker_turns(a) != walker_turns(b) ||
	    walker_passed(a) != walker_passed(b))
		fail("another place", segment, section);
	if (xstate_compare(&layout, x.xstate, y.xstate, err.text,
			   sizeof err.text))
		fail("other extended registers:", segment, section);
}

/* All that b has touched since it began. */
static void compare_touched(struct walker *a, struct walker *b,
			    unsigned segment, unsigned section)
{
	const uint8_t *map = walker_touched(b);

	touched_pages(map, N_PAGES, marked);
	for (uint64_t at = 0; at < (uint64_t)N_PAGES * PAGE; at++) {
		uint32_t index = (uint32_t)(at - OBSERVE_SKEW);

		if (at % PAGE == 0 && !(marked[at / PAGE] & 1)) {
			at += PAGE - 1;
			continue;
		}
		if (map[at] == 0)
			continue;
		if (walker_shadow(a)[index] != walker_shadow(b)[index])
			fail("another byte was left", segment, section);
		if (walker_touched(a)[at] == 0)
			fail("it was not touched", segment, section);
		n_touched++;
	}
}

/* Every byte of pages that were touched. */
static void compare_known(struct index *x, struct walker *w, unsigned segment,
			  unsigned section)
{
	const struct index_place since = {segment, 0}, end = {segment, section};
	const uint8_t *map = walker_touched(w);
	unsigned rest;

	touched_pages(map, N_PAGES, marked);
	for (uint64_t at = 0; at < (uint64_t)N_PAGES * PAGE; at++) {
		uint32_t index = (uint32_t)(at - OBSERVE_SKEW);
		uint8_t byte = 0;
		int known;

		if (at % PAGE == 0 && !(marked[at / PAGE] & 1)) {
			at += PAGE - 1;
			continue;
		}
		known = index_known_byte(x, asked, &since, &end, index, &byte,
					 &rest);
		/* Sections do not say what a later one forgot. */
		if (known && map[at] == 0 && is_forgotten[index / PAGE])
			continue;
		if (known != (map[at] != 0)) {
			snprintf(err.text, sizeof err.text, "0x%x: %d", index,
				 known);
			fail("something else is known at", segment, section);
		}
		if (known && byte != walker_shadow(w)[index])
			fail("another byte is known", segment, section);
		n_known += (unsigned)known;
	}
}

static void note_forgotten(void *ctx, uint32_t index, uint64_t len)
{
	(void)ctx;
	for (uint64_t page = index / PAGE; page <= (index + len - 1) / PAGE;
	     page++)
		is_forgotten[page % N_PAGES] = 1;
}

static void run_on(struct walker *w, uint64_t count, unsigned segment,
		   unsigned section)
{
	enum walker_stop stop;

	if (walker_run(w, count, 0, &stop, &err) < 0 || stop != WALKER_THERE)
		fail("it is not reached", segment, section);
}

/* `jumping` begins at section `from` and runs to the begin of `k`, where
 * `plain` is. */
static void come_from(struct index *x, struct walker *plain,
		      struct walker *jumping, unsigned segment, unsigned from,
		      unsigned k)
{
	walker_leave(jumping);
	if (walker_goto(jumping, index_section_count(x, segment, from), 0,
			&err) != 0)
		fail("one cannot go there", segment, from);
	if (walker_first_section(jumping) != from)
		fail("it did not begin there", segment, from);
	if (from < k)
		run_on(jumping, index_section_count(x, segment, k), segment, k);
	compare_state(plain, jumping, segment, k);
	compare_touched(plain, jumping, segment, k);
	n_compared++;
}

static void walk_segment(struct index *x, struct walker *plain,
			 struct walker *jumping, unsigned segment)
{
	unsigned n = index_sections(x, segment);

	n_without += !index_has_values(x, segment);
	memset(is_forgotten, 0, sizeof is_forgotten);
	if (walker_goto_segment(plain, segment, &err) < 0)
		fail("no key frame", segment, 0);
	for (unsigned k = 1; k < n; k++) {
		run_on(plain, index_section_count(x, segment, k), segment, k);
		/* First, because asking a walker where it is takes what the
		 * log has for its next instruction. */
		if (k % 8 == 1 || k + 1 == n)
			compare_known(x, plain, segment, k);
		come_from(x, plain, jumping, segment, k, k);
		if (k > 1)
			come_from(x, plain, jumping, segment, k - 1, k);
		if (k > 3 && k % 4 == 0)
			come_from(x, plain, jumping, segment, k - 3, k);
	}
}

static void walk_lane(struct index *x, struct timeline *t, struct lane *l)
{
	struct walker *plain, *jumping;

	if (walker_new(t->rec->r, l->first, l->end, &plain, &err) < 0 ||
	    walker_new(t->rec->r, l->first, l->end, &jumping, &err) < 0)
		fail("no walker", l->first, 0);
	travel_forget_along(t, l, plain);
	travel_forget_along(t, l, jumping);
	walker_on_memory(plain, NULL, note_forgotten, NULL);
	walker_use_sections(jumping, x);
	for (unsigned i = l->first; i < l->end; i++)
		walk_segment(x, plain, jumping, i);
	walker_free(plain);
	walker_free(jumping);
}

static void walk_process(struct index *x, struct hark_recording *rec,
			 uint32_t process)
{
	struct timeline *t;

	if (travel_open_bare(rec, process, &t, &err) < 0 ||
	    index_build(x, rec, t->lanes[0].first, t->lanes[t->n_lanes - 1].end,
			NULL, NULL, &err) < 0)
		fail("no index", 0, 0);
	for (unsigned i = 0; i < t->n_lanes; i++)
		walk_lane(x, t, &t->lanes[i]);
	timeline_close(t);
}

int main(int argc, char **argv)
{
	struct hark_recording rec = {.index_fd = -1, .built_fd = -1};
	struct index *x;

	if (argc != 2)
		return 2;
	if (recording_open(argv[1], &rec.r, &err) < 0)
		fail(argv[1], 0, 0);
	xstate_layout_of(rec.r, &layout);
	x = index_new(recording_n_segments(rec.r));
	asked = index_known_new();
	if (x == NULL || asked == NULL)
		return 2;
	for (unsigned i = 0; i < recording_n_processes(rec.r); i++)
		walk_process(x, &rec, recording_process(rec.r, i)->number);
	printf("%u begins, %u bytes touched, %u known, %u segments without\n",
	       n_compared, n_touched, n_known, n_without);
	index_known_free(asked);
	index_free(x);
	recording_close(rec.r);
	return 0;
}
