/* record/order.c - one order for all threads of a process.
 *
 * Of the turns that each thread comes to next, the earliest is taken whose
 * ticket was drawn after all those of its line that were done before: so clocks
 * decide where tickets do not. If none can be taken, the file contradicts
 * itself. */
#include "record/order.h"

#include "record/stream.h"

#include <errno.h>
#include <stdlib.h>

enum { LINES = WIRE_ORDER_SEEN + 1 };

struct order {
	struct order_turn *turns; /* owned */
	size_t n, room;
	uint64_t corrections;
	uint32_t *before; /* owned: of each segment */
	unsigned n_before;
};

/* -- Reading -- */

static int add(struct order *o, const struct order_turn *turn,
	       struct hark_err *err)
{
	if (o->n == o->room) {
		size_t room = o->room == 0 ? 256 : 2 * o->room;
		struct order_turn *more =
		    reallocarray(o->turns, room, sizeof *more);

		if (more == NULL)
			return err_set(err, HARK_ENOMEM, ENOMEM,
				       "out of memory");
		o->turns = more;
		o->room = room;
	}
	o->turns[o->n++] = *turn;
	return 0;
}

/* Of a segment. */
struct reading {
	struct order *o; /* borrowed */
	uint32_t thread;
	uint64_t clock;
};

static int read_event(void *ctx, const struct record_event *e,
		      struct hark_err *err)
{
	struct reading *r = ctx;
	struct order_turn turn = {.thread = r->thread};

	if (e->type == WIRE_REC_KEY)
		r->clock = e->key.tsc;
	if (e->type == WIRE_REC_CALL)
		r->clock += e->call.ticks;
	if (e->type != WIRE_REC_ORDER)
		return 0;
	r->clock += e->order.ticks;
	turn.time = r->clock;
	turn.count = e->count;
	turn.pc = e->pc;
	turn.line = (uint32_t)e->order.line;
	turn.ticket = e->order.ticket;
	turn.overtaken = e->order.overtaken;
	return add(r->o, &turn, err);
}

static int read_threads(struct order *o, struct recording *r, uint32_t process,
			struct hark_err *err)
{
	size_t begun = 0;

	o->n_before = recording_n_segments(r);
	o->before = calloc(o->n_before + 1, sizeof *o->before);
	if (o->before == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	for (unsigned i = 0; i < o->n_before; i++) {
		const struct recording_segment *s = recording_segment(r, i);
		struct reading reading = {.o = o, .thread = s->thread};
		struct recording_stream *in;

		if (s->process != process)
			continue;
		if (s->is_first)
			begun = o->n;
		o->before[i] = (uint32_t)(o->n - begun);
		if (recording_read_segment(r, i, &in, err) < 0 ||
		    recording_each(in, RECORD_OF_THREAD, read_event, &reading,
				   err) < 0)
			return -1;
	}
	return 0;
}

/* -- Putting in order -- */

/* Turns stand by threads in `from`, and by line and the last ticket that may
 * have been drawn before they were done (`end`) in by_end. Of each thread one
 * is awaited: it is in the heap, earliest first, or at its line, until those
 * before it there have come. */
struct sorter {
	struct order_turn *from; /* borrowed */
	size_t n;
	uint32_t *by_end;	 /* owned */
	uint32_t first[LINES];	 /* of each line, the first not to have come */
	uint32_t behind[LINES];	 /* of each line, where it ends in by_end */
	uint32_t at_line[LINES]; /* those that wait there, plus 1; 0: none */
	uint32_t *next;		 /* owned: the next that waits there, plus 1 */
	uint8_t *has_come;	 /* owned */
	uint32_t *heap;		 /* owned */
	size_t n_heap;
};

static uint64_t end_of(const struct order_turn *t)
{
	return t->overtaken > UINT64_MAX - t->ticket ? UINT64_MAX
						     : t->ticket + t->overtaken;
}

static int by_end(const void *a, const void *b, void *turns)
{
	const struct order_turn *x =
	    (struct order_turn *)turns + *(const uint32_t *)a;
	const struct order_turn *y =
	    (struct order_turn *)turns + *(const uint32_t *)b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return (end_of(x) > end_of(y)) - (end_of(x) < end_of(y));
}

static int is_earlier(const struct sorter *s, uint32_t a, uint32_t b)
{
	const struct order_turn *x = &s->from[a], *y = &s->from[b];

	return x->time != y->time ? x->time < y->time : a < b;
}

static void push(struct sorter *s, uint32_t turn)
{
	size_t at = s->n_heap++;

	while (at > 0 && is_earlier(s, turn, s->heap[(at - 1) / 2])) {
		s->heap[at] = s->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	s->heap[at] = turn;
}

static uint32_t pop(struct sorter *s)
{
	uint32_t top = s->heap[0], last = s->heap[--s->n_heap];
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= s->n_heap)
			break;
		if (child + 1 < s->n_heap &&
		    is_earlier(s, s->heap[child + 1], s->heap[child]))
			child++;
		if (!is_earlier(s, s->heap[child], last))
			break;
		s->heap[at] = s->heap[child];
		at = child;
	}
	s->heap[at] = last;
	return top;
}

/* Have all come at its line that were done before it drew its ticket? */
static int is_its_turn(struct sorter *s, uint32_t turn)
{
	const struct order_turn *t = &s->from[turn];
	uint32_t *first = &s->first[t->line];

	while (*first < s->behind[t->line] && s->has_come[s->by_end[*first]])
		++*first;
	return *first == s->behind[t->line] ||
	       end_of(&s->from[s->by_end[*first]]) >= t->ticket;
}

/* It comes: the next of its thread is awaited, and whoever waits at its line
 * looks again. */
static void come(struct sorter *s, uint32_t turn)
{
	uint32_t line = s->from[turn].line, waits = s->at_line[line];

	s->has_come[turn] = 1;
	s->at_line[line] = 0;
	if (turn + 1 < s->n && s->from[turn + 1].thread == s->from[turn].thread)
		push(s, turn + 1);
	for (; waits != 0; waits = s->next[waits - 1])
		push(s, waits - 1);
}

static void wait_at_line(struct sorter *s, uint32_t turn)
{
	uint32_t line = s->from[turn].line;

	s->next[turn] = s->at_line[line];
	s->at_line[line] = turn + 1;
}

static void find_lines(struct sorter *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		s->by_end[i] = i;
	qsort_r(s->by_end, s->n, sizeof *s->by_end, by_end, s->from);
	for (uint32_t i = 0; i < s->n; i++)
		s->behind[s->from[s->by_end[i]].line] = i + 1;
	for (uint32_t i = (uint32_t)s->n; i-- > 0;)
		s->first[s->from[s->by_end[i]].line] = i;
}

/* Into `to`; how many came. */
static size_t sort(struct sorter *s, struct order_turn *to,
		   uint64_t *corrections)
{
	size_t n = 0;

	find_lines(s);
	for (uint32_t i = 0; i < s->n; i++)
		if (i == 0 || s->from[i].thread != s->from[i - 1].thread)
			push(s, i);
	while (s->n_heap > 0) {
		uint32_t turn = pop(s);

		if (!is_its_turn(s, turn)) {
			wait_at_line(s, turn);
			continue;
		}
		to[n] = s->from[turn];
		if (n > 0 && to[n].time < to[n - 1].time) {
			to[n].time = to[n - 1].time;
			++*corrections;
		}
		n++;
		come(s, turn);
	}
	return n;
}

static int put_in_order(struct order *o, struct hark_err *err)
{
	struct sorter *s = calloc(1, sizeof *s);
	struct order_turn *to = calloc(o->n, sizeof *to);
	int rc = -1;

	if (s != NULL) {
		s->from = o->turns;
		s->n = o->n;
		s->by_end = calloc(o->n, sizeof *s->by_end);
		s->next = calloc(o->n, sizeof *s->next);
		s->heap = calloc(o->n, sizeof *s->heap);
		s->has_come = calloc(o->n, sizeof *s->has_come);
	}
	if (s == NULL || to == NULL || s->by_end == NULL || s->next == NULL ||
	    s->heap == NULL || s->has_come == NULL)
		err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	else if (sort(s, to, &o->corrections) < o->n)
		err_set(err, HARK_EINPUT, 0,
			"the order of threads contradicts itself");
	else
		rc = 0;
	if (s != NULL) {
		free(s->by_end);
		free(s->next);
		free(s->heap);
		free(s->has_come);
	}
	free(s);
	free(rc == 0 ? o->turns : to);
	if (rc == 0)
		o->turns = to;
	return rc;
}

/* -- Life -- */

void order_free(struct order *o)
{
	if (o == NULL)
		return;
	free(o->turns);
	free(o->before);
	free(o);
}

static int finish(struct order *o, struct order **out, struct hark_err *err)
{
	if (o->n >= UINT32_MAX)
		err_set(err, HARK_EREFUSE, 0, "too many turns of threads");
	if (o->n >= UINT32_MAX || (o->n > 0 && put_in_order(o, err) < 0)) {
		order_free(o);
		return -1;
	}
	*out = o;
	return 0;
}

static struct order *order_new(struct hark_err *err)
{
	struct order *o = calloc(1, sizeof *o);

	if (o == NULL)
		err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	return o;
}

int order_of_turns(const struct order_turn *turns, size_t n, struct order **out,
		   struct hark_err *err)
{
	struct order *o = order_new(err);

	if (o == NULL)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (add(o, &turns[i], err) < 0) {
			order_free(o);
			return -1;
		}
	return finish(o, out, err);
}

int order_load(struct recording *r, uint32_t process, struct order **out,
	       struct hark_err *err)
{
	struct order *o = order_new(err);

	if (o == NULL)
		return -1;
	if (read_threads(o, r, process, err) < 0) {
		order_free(o);
		return -1;
	}
	return finish(o, out, err);
}

size_t order_n_turns(const struct order *o)
{
	return o->n;
}

const struct order_turn *order_turn(const struct order *o, size_t i)
{
	return &o->turns[i];
}

uint64_t order_turns_before(const struct order *o, unsigned segment)
{
	return segment < o->n_before ? o->before[segment] : 0;
}

uint64_t order_corrections(const struct order *o)
{
	return o->corrections;
}
