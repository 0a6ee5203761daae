/* travel/walker.c - one recorded thread, at a moment that can be chosen.
 *
 * Records and instructions take turns: a record is applied when the thread is
 * at its position, and then either is all that happens there (a system call, a
 * signal) or comes before the instruction (what memory held).
 *
 * W1  Records of positions before the present one have been passed; those of
 *     the present one may have been, or not.
 * W2  At a key frame the walker is in the segment that begins there. */
#include "travel/walker_priv.h"

#include "travel/touch.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* -- Life -- */

static unsigned fetch(void *ctx, uint64_t pc, uint8_t *to, unsigned len)
{
	const struct walker *w = ctx;

	return code_fetch(w->code, pc, to, len);
}

static int out_of_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, ENOMEM,
		       "no memory to replay in (it takes 8 GiB of address "
		       "space for each thread)");
}

static int prepare(struct walker *w, struct hark_err *err)
{
	const struct recording_segment *about =
	    recording_segment(w->r, w->first);
	const struct observe touches = {.touches =
					    OBSERVE_LOADS | OBSERVE_STORES};

	if (code_load(w->r, about->process, &w->code, err) < 0)
		return -1;
	w->cpu = replay_new(fetch, w, recording_version(w->r));
	if (w->cpu == NULL || replay_observe(w->cpu, &touches) < 0)
		return out_of_memory(err);
	xstate_layout_of(w->r, &w->layout);
	w->s = (struct segment){.cpu = w->cpu,
				.code = w->code,
				.layout = &w->layout,
				.process = about->process,
				.thread = about->thread};
	return 0;
}

int walker_new(struct recording *r, unsigned first, unsigned end,
	       struct walker **out, struct hark_err *err)
{
	struct walker *w = calloc(1, sizeof *w);

	if (w == NULL)
		return out_of_memory(err);
	w->r = r;
	w->first = first;
	w->end = end;
	w->section_end = UINT64_MAX;
	if (prepare(w, err) < 0) {
		walker_free(w);
		return -1;
	}
	*out = w;
	return 0;
}

void walker_free(struct walker *w)
{
	if (w == NULL)
		return;
	events_close(&w->events);
	replay_free(w->cpu);
	code_free(w->code);
	free(w);
}

void walker_on_change(struct walker *w, walker_change *f, void *ctx)
{
	w->change = f;
	w->change_ctx = ctx;
}

void walker_on_pass(struct walker *w, walker_pass *f, void *ctx)
{
	w->pass = f;
	w->pass_ctx = ctx;
}

void walker_on_record(struct walker *w, walker_record *f, void *ctx)
{
	w->record = f;
	w->record_ctx = ctx;
}

void walker_on_memory(struct walker *w, walker_memory *filled,
		      walker_memory *forgotten, void *ctx)
{
	w->filled = filled;
	w->forgotten = forgotten;
	w->memory_ctx = ctx;
}

uint64_t walker_key_count(const struct walker *w)
{
	return recording_segment(w->r, w->segment)->count;
}

void walker_on_ask(struct walker *w, walker_ask *f, void *ctx)
{
	w->ask = f;
	w->ask_ctx = ctx;
}

int walker_observe(struct walker *w, const struct observe *o,
		   struct hark_err *err)
{
	struct observe with = {0};

	if (o != NULL)
		with = *o;
	with.touches = OBSERVE_LOADS | OBSERVE_STORES;
	w->has_windows = with.n_windows != 0;
	w->windows_fs = walker_state(w)->fs_base;
	return replay_observe(w->cpu, &with) < 0 ? out_of_memory(err) : 0;
}

int walker_mark_for_index(struct walker *w, enum walker_marks which,
			  struct hark_err *err)
{
	static const uint32_t touches[] = {
	    [WALKER_BOTH] = OBSERVE_LOADS | OBSERVE_STORES | OBSERVE_APART,
	    [WALKER_LOADS] = OBSERVE_LOADS | OBSERVE_WHOLE,
	    [WALKER_STORES] = OBSERVE_STORES | OBSERVE_WHOLE,
	};
	const struct observe o = {.touches = touches[which]};

	w->is_for_index = 1;
	return replay_keep_pages(w->cpu) < 0 || replay_observe(w->cpu, &o) < 0
		   ? out_of_memory(err)
		   : 0;
}

int walker_forget_code(struct walker *w, struct hark_err *err)
{
	return replay_forget_all_code(w->cpu) < 0 ? out_of_memory(err) : 0;
}

int walker_translated(struct walker *w, replay_range *each, void *ctx)
{
	return replay_translated(w->cpu, each, ctx);
}

int walker_marks_all(const struct walker *w)
{
	return replay_marks_all(w->cpu);
}

/* -- The present -- */

uint64_t walker_count(const struct walker *w)
{
	return *replay_count(w->cpu);
}

uint64_t walker_pc(const struct walker *w)
{
	return replay_state(w->cpu)->pc;
}

int walker_is_at(const struct walker *w, unsigned segment, uint64_t count,
		 uint64_t pc)
{
	return w->is_somewhere && w->segment == segment &&
	       walker_count(w) == count && walker_pc(w) == pc;
}

unsigned walker_segment(const struct walker *w)
{
	return w->segment;
}

const struct wire_rec_state *walker_state(const struct walker *w)
{
	return replay_state(w->cpu);
}

uint32_t walker_xstate(struct walker *w, uint8_t out[WIRE_XSTATE_MAX])
{
	return replay_get_xstate(w->cpu, out);
}

uint32_t walker_saved_size(const struct walker *w, uint64_t components)
{
	uint32_t size = 0;

	for (unsigned i = 2; i < XSTATE_COMPONENTS; i++)
		if (components >> i & 1)
			size += w->layout.size[i];
	return size;
}

const uint8_t *walker_shadow(const struct walker *w)
{
	return replay_shadow(w->cpu);
}

const uint8_t *walker_touched(const struct walker *w)
{
	return replay_touched(w->cpu);
}

uint8_t *walker_marks(struct walker *w)
{
	return (uint8_t *)replay_touched(w->cpu);
}

unsigned walker_code(struct walker *w, uint64_t pc, uint8_t *to, unsigned len)
{
	return code_fetch(w->code, pc, to, len);
}

/* Steps are counted from the first instruction of a count. */
static void note_step(struct walker *w)
{
	uint64_t now = walker_count(w);

	if (now != w->count) {
		w->step = 0;
		w->has_step = 1;
	} else {
		w->step++;
	}
	w->count = now;
}

static int is_here(const struct walker *w, const struct record_event *e)
{
	return e->count == walker_count(w) && e->pc == walker_pc(w);
}

static int is_fill(const struct record_event *e)
{
	return e->type == WIRE_REC_GRANULE || e->type == WIRE_REC_BYTES;
}

static void fill_in(struct walker *w, const struct record_event *e)
{
	if (w->change != NULL)
		w->change(w->change_ctx, (uint32_t)e->index, e->len);
	replay_fill(w->cpu, (uint32_t)e->index, e->bytes, e->len);
	if (w->filled != NULL)
		w->filled(w->memory_ctx, (uint32_t)e->index, e->len);
}

/* It is done with. */
static void pass(struct walker *w, const struct record_event *e)
{
	events_pass(&w->events);
	if (w->pass != NULL &&
	    (e->type == WIRE_REC_CALL || e->type == WIRE_REC_ORDER))
		w->pass(w->pass_ctx, w, e);
}

void walker_settle(struct walker *w)
{
	const struct record_event *e;
	struct hark_err ignored;

	while (events_peek(&w->events, &e, &ignored) > 0 && is_here(w, e) &&
	       (is_fill(e) || e->type == WIRE_REC_ORDER ||
		e->type == WIRE_REC_EPOCH)) {
		if (is_fill(e))
			fill_in(w, e);
		else if (e->type == WIRE_REC_EPOCH)
			segment_apply(&w->s, e, &ignored);
		pass(w, e);
	}
}

uint64_t walker_turns(struct walker *w)
{
	walker_settle(w);
	return w->events.n_orders;
}

uint64_t walker_turns_begun(const struct walker *w)
{
	return w->events.n_orders;
}

uint64_t walker_passed(const struct walker *w)
{
	return w->events.n_passed;
}

int walker_is_near_fs(const struct walker *w, uint64_t address)
{
	const uint64_t reach = WALKER_FS_REACH;

	return address - walker_state(w)->fs_base + reach < 2 * reach;
}

int walker_byte(const struct walker *w, uint64_t address, uint8_t *out)
{
	uint32_t index = (uint32_t)(address + WIRE_SHADOW_SKEW);

	*out = walker_shadow(w)[index];
	return walker_touched(w)[(uint32_t)(index + OBSERVE_SKEW)] != 0;
}

/* -- Forgetting -- */

static int is_any_known(const struct walker *w, uint32_t index, uint32_t len)
{
	const uint8_t *touched = walker_touched(w);

	for (uint32_t i = 0; i < len; i++)
		if (touched[(uint32_t)(index + i + OBSERVE_SKEW)] != 0)
			return 1;
	return 0;
}

/* Only of what is known; but of very much at once all. */
static void tell_change(const struct walker *w, uint32_t index, uint64_t len)
{
	enum { PIECE = 64, MUCH = 1 << 16 };

	if (len > MUCH) {
		w->change(w->change_ctx, index, len);
		return;
	}
	for (uint64_t i = 0; i < len; i += PIECE) {
		uint32_t n = (uint32_t)(len - i < PIECE ? len - i : PIECE);

		if (is_any_known(w, index + (uint32_t)i, n))
			w->change(w->change_ctx, index + (uint32_t)i, n);
	}
}

static void forget(struct walker *w, uint64_t start, uint64_t len)
{
	uint32_t index = (uint32_t)(start + WIRE_SHADOW_SKEW);

	if (len == 0)
		return;
	if (w->change != NULL)
		tell_change(w, index, len);
	if (w->forgotten != NULL)
		w->forgotten(w->memory_ctx, index, len);
	/* With loads and stores marked apart, other memory has marks in the
	 * same range of the map: `forgotten` knows which are to be cleared. */
	assert(!w->is_for_index || w->forgotten != NULL);
	if (!w->is_for_index)
		replay_forget(w->cpu, index, len);
}

/* Of [start, end) what is in [low, high): how much, from *first on. */
static uint64_t part_of(uint64_t start, uint64_t end, uint64_t low,
			uint64_t high, uint64_t *first)
{
	*first = start > low ? start : low;
	if (end > high)
		end = high;
	return *first < end ? end - *first : 0;
}

/* But for indices that are of what was reached through fs: that is not in the
 * range, though a part of the range has the same indices. */
static void forget_addresses(struct walker *w, uint64_t start, uint64_t end)
{
	const uint64_t near = WALKER_FS_INDEX;

	/* A file may say that there was memory up to the last address. */
	if (end > UINT64_MAX - 2 * WIRE_SHADOW_SIZE)
		end = UINT64_MAX - 2 * WIRE_SHADOW_SIZE;
	while (start < end) {
		uint64_t zone = (start + near) / WIRE_SHADOW_SIZE;
		uint64_t next = (zone + 1) * WIRE_SHADOW_SIZE - near;

		if (start + near - zone * WIRE_SHADOW_SIZE < 2 * near)
			start = zone * WIRE_SHADOW_SIZE + near;
		if (start < end)
			forget(w, start, (end < next ? end : next) - start);
		start = next;
	}
}

/* What lies near the base of fs may have been touched through it, and is then
 * at another index: near that of 0. */
void walker_forget(struct walker *w, uint64_t start, uint64_t end)
{
	const uint64_t reach = WALKER_FS_REACH;
	uint64_t base = walker_state(w)->fs_base, first, len;

	forget_addresses(
	    w, start,
	    end - start < WIRE_SHADOW_SIZE ? end : start + WIRE_SHADOW_SIZE);
	if (base < reach)
		return;
	len = part_of(start, end, base - reach, base + reach, &first);
	forget(w, first - base, len);
}

void walker_leave(struct walker *w)
{
	w->is_somewhere = 0;
}

/* The signal that is about to be delivered, or that ends it all. */
static int signal_of(const struct record_event *e, uint8_t siginfo[128])
{
	int32_t signo;

	if (e->siginfo == NULL)
		return 0;
	memcpy(siginfo, e->siginfo, 128);
	memcpy(&signo, e->siginfo, sizeof signo);
	return signo;
}

int walker_signal(struct walker *w, uint8_t siginfo[128])
{
	const struct record_event *e;
	struct hark_err ignored;

	while (events_peek(&w->events, &e, &ignored) > 0 && is_here(w, e)) {
		if (e->type == WIRE_REC_STATE || e->type == WIRE_REC_END)
			return signal_of(e, siginfo);
		if (!is_fill(e) && e->type != WIRE_REC_ORDER)
			break;
		if (is_fill(e))
			fill_in(w, e);
		pass(w, e);
	}
	return 0;
}

/* -- Records -- */

int walker_was_left(struct walker *w, const struct record_event *e)
{
	struct touch touches[TOUCHES_MAX];
	unsigned n;

	if (e->type == WIRE_REC_STATE)
		return (e->info & WIRE_STATE_STEP) != 0;
	if (e->type != WIRE_REC_RESULT)
		return 0;
	n = touches_of(w, touches);
	for (unsigned i = 0; i < n; i++)
		if (touches[i].is_write)
			return 1;
	return 0;
}

int walker_is_left(struct walker *w)
{
	const struct record_event *e;
	struct hark_err ignored;

	walker_settle(w);
	return events_peek(&w->events, &e, &ignored) > 0 && is_here(w, e) &&
	       walker_was_left(w, e);
}

/* The instruction at hand was left to the CPU: where it has stored is known
 * here, and what, by the records that follow. (Older recordings have none.) */
static void note_left(struct walker *w)
{
	struct touch touches[TOUCHES_MAX];
	unsigned n = touches_of(w, touches);

	for (unsigned i = 0; i < n; i++) {
		const struct touch *t = &touches[i];
		uint32_t index = (uint32_t)(t->index + WIRE_SHADOW_SKEW);

		if (t->is_write && w->change != NULL)
			w->change(w->change_ctx, index, t->size);
		if (t->is_write && w->filled != NULL)
			w->filled(w->memory_ctx, index, t->size);
		if (w->is_for_index)
			replay_touch(w->cpu, index, t->size, (int)t->is_write);
		else if (t->is_write)
			replay_forget(w->cpu, index, t->size);
	}
}

/* It is a part of that instruction. What the next one finds in memory looks
 * otherwise: GRANULE, or BYTES with a time. */
static void take_left(struct walker *w)
{
	const struct record_event *e;
	struct hark_err ignored;

	while (events_peek(&w->events, &e, &ignored) > 0 && is_here(w, e) &&
	       e->type == WIRE_REC_BYTES &&
	       !(e->info & (WIRE_BYTES_SEEN | WIRE_BYTES_KEPT))) {
		fill_in(w, e);
		pass(w, e);
	}
}

int walker_apply(struct walker *w, const struct record_event *e,
		 struct hark_err *err)
{
	int is_all = e->type == WIRE_REC_CALL || e->type == WIRE_REC_RESULT ||
		     e->type == WIRE_REC_STATE;
	int was_left = walker_was_left(w, e);

	if (was_left)
		note_left(w);
	if (w->record != NULL && !is_fill(e))
		w->record(w->record_ctx, e);
	if (is_fill(e))
		fill_in(w, e);
	else if (e->type != WIRE_REC_ORDER && segment_apply(&w->s, e, err) < 0)
		return -1;
	if (e->type == WIRE_REC_KEY) { /* W2 */
		if (segment_begin(&w->s, e, err) < 0)
			return -1;
		w->segment = w->events.segment;
		w->first_section = 0;
		w->section_end = UINT64_MAX;
	}
	pass(w, e);
	if (was_left)
		take_left(w);
	return is_all;
}

int walker_step(struct walker *w, struct hark_err *err)
{
	const struct record_event *e;
	int rc;

	while ((rc = events_peek(&w->events, &e, err)) > 0 && is_here(w, e)) {
		if (e->type == WIRE_REC_END)
			return 1;
		rc = walker_apply(w, e, err);
		if (rc < 0)
			return -1;
		if (rc > 0) {
			note_step(w);
			return walker_enter_section(w, err);
		}
	}
	if (rc <= 0)
		return rc < 0 ? -1 : 1;
	switch (replay_step(w->cpu)) {
	case REPLAY_THERE:
		note_step(w);
		return walker_enter_section(w, err);
	default:
		return err_set(err, HARK_EBUG, 0,
			       "thread %u cannot go on at 0x%llx", w->s.thread,
			       (unsigned long long)walker_pc(w));
	}
}
