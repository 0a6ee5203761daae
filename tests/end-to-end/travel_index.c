/* tests/end-to-end/travel_index.c - does an index know what segments touch?
 *
 *	travel_index FILE STEPS
 *
 * Each segment of a recording is walked step by step, STEPS of them at most,
 * and every instruction is asked what it touches: the index must know of each.
 * Of what was not touched it should know little. The words that it knows too
 * many of, per thousand, are printed; exit status 1: it knew too few. */
#include "travel/index.h"
#include "travel/timeline.h"
#include "travel/touch.h"
#include "travel/walker.h"

#include <stdio.h>
#include <stdlib.h>

static struct hark_err err;
static unsigned long n_asked, n_unknown, n_beside, n_too_many;

static _Noreturn void fail(const char *what)
{
	printf("%s: %s\n", what, err.text);
	exit(1);
}

static void hold(struct index *x, struct walker *w, unsigned segment,
		 unsigned what, const struct touch *t, uint64_t pc)
{
	uint8_t code[15] = {0};

	n_asked++;
	if (index_may(x, segment, what, t->address, t->size))
		return;
	if (n_unknown++ > 0)
		return;
	printf("segment %u: 0x%llx (%u bytes, %u) at pc 0x%llx is not known:",
	       segment, (unsigned long long)t->address, t->size, what,
	       (unsigned long long)pc);
	walker_code(w, pc, code, sizeof code);
	for (unsigned i = 0; i < sizeof code; i++)
		printf(" %02x", code[i]);
	puts("");
}

/* Where nobody writes: how often does the index say that somebody might? */
static void look_beside(struct index *x, unsigned segment, uint64_t address)
{
	n_beside++;
	n_too_many += (unsigned)index_may(x, segment, INDEX_WRITTEN,
					  address ^ 0x2aaa5000, 8);
}

static void walk(struct index *x, struct walker *w, unsigned segment,
		 unsigned long steps)
{
	if (walker_goto_segment(w, segment, &err) < 0)
		fail("segment");
	while (steps-- > 0 && walker_segment(w) == segment) {
		struct touch touches[TOUCHES_MAX];
		unsigned n = touches_of(w, touches);
		uint64_t pc = walker_pc(w);
		uint8_t info[128];
		int is_signal = walker_signal(w, info) != 0;
		int rc = walker_step(w, &err);

		if (rc < 0)
			fail("step");
		if (rc > 0)
			break;
		if (is_signal)
			continue; /* the instruction was not executed */
		hold(x, w, segment, INDEX_EXECUTED,
		     &(struct touch){.address = pc, .size = 1}, pc);
		/* Of a repeated one a part was done, of a system call none. */
		for (unsigned i = 0; i < n; i++)
			if (touches[i].size <= 8)
				hold(x, w, segment,
				     touches[i].is_write ? INDEX_WRITTEN
							 : INDEX_READ,
				     &touches[i], pc);
		if (n > 0)
			look_beside(x, segment, touches[0].address);
	}
}

static void walk_thread(struct index *x, struct recording *r, unsigned first,
			unsigned end, unsigned long steps)
{
	struct walker *w;

	if (walker_new(r, first, end, &w, &err) < 0)
		fail("walker");
	for (unsigned i = first; i < end; i++)
		walk(x, w, i, steps);
	walker_free(w);
}

/* Segments of one process at a time. */
static void build(struct index *x, struct hark_recording *rec)
{
	struct recording *r = rec->r;
	unsigned n = recording_n_segments(r), first = 0;

	for (unsigned i = 0; i < n; i++) {
		if (i + 1 < n && recording_segment(r, i + 1)->process ==
				     recording_segment(r, i)->process)
			continue;
		if (index_build(x, rec, first, i + 1, NULL, NULL, &err) < 0)
			fail("build");
		first = i + 1;
	}
}

int main(int argc, char **argv)
{
	struct hark_recording rec = {.index_fd = -1, .built_fd = -1};
	struct recording *r;
	struct index *x;
	unsigned n, first = 0;

	if (argc != 3)
		return 2;
	if (recording_open(argv[1], &r, &err) < 0)
		fail(argv[1]);
	n = recording_n_segments(r);
	rec.r = r;
	x = index_new(n);
	if (x == NULL)
		fail("index");
	build(x, &rec);
	for (unsigned i = 0; i < n; i++) {
		if (!index_has(x, i)) {
			printf("segment %u has no index\n", i);
			n_unknown++;
		}
		if (recording_segment(r, i)->is_last) {
			walk_thread(x, r, first, i + 1,
				    strtoul(argv[2], NULL, 10));
			first = i + 1;
		}
	}
	printf("asked %lu, not known %lu, too many %lu\n", n_asked, n_unknown,
	       n_too_many * 1000 / (n_beside + 1));
	index_free(x);
	recording_close(r);
	return n_unknown != 0;
}
