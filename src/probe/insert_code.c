/* probe/insert_code.c - trampolines, and the bytes that lead to them.
 *
 * Nobody executes a trampoline before the text is changed, so they are written
 * as they are. The text is changed while all threads are held; one that stood
 * inside of a window traps there when it goes on (F2), and is sent to its
 * copy. */
#include "probe/insert_priv.h"

#include "native/collect_board.h"
#include "native/home.h"
#include "native/numbers.h"
#include "outside/blob.h"
#include "outside/rules.h"
#include "outside/tracee.h"
#include "site/hooks.h"

#include <stdlib.h>
#include <string.h>

/* -- All patches, by address -- */

static int by_address(const void *a, const void *b)
{
	const struct insert_patch *x = a, *y = b;
	uint64_t p = x->patch->at + x->bias, q = y->patch->at + y->bias;

	return (p > q) - (p < q);
}

static size_t count_patches(const struct listing *l)
{
	struct listing_area a;
	size_t n = 0;

	for (size_t k = 0; k < listing_area_count(l); k++) {
		listing_get_area(l, k, &a);
		n += plan_count(a.plan);
	}
	return n;
}

static void add_patches(struct insertion *i, const struct listing_area *a)
{
	for (size_t k = 0; k < plan_count(a->plan); k++)
		i->patch[i->n_patches++] =
		    (struct insert_patch){.patch = plan_get(a->plan, k),
					  .survey = a->survey,
					  .bias = a->module->bias};
}

static void mark_hooks(struct insertion *i)
{
	const struct listing *l = i->want->listing;
	struct listing_hook h;

	for (size_t k = 0; k < listing_hook_count(l); k++) {
		listing_get_hook(l, k, &h);
		for (size_t j = 0; h.patch != NULL && j < i->n_patches; j++)
			if (i->patch[j].patch == h.patch)
				i->patch[j].hooked |= (uint8_t)(1 << h.insn);
	}
}

/* For n patches more than there are. */
static int make_room(struct insertion *i, size_t n)
{
	void *p;

	p = reallocarray(i->code, i->n_codes + 3 * n + 1, sizeof *i->code);
	if (p == NULL)
		return -1;
	i->code = p;
	p = reallocarray(i->trap, i->n_traps + FORM_INSNS * n + 1,
			 sizeof *i->trap);
	if (p == NULL)
		return -1;
	i->trap = p;
	p = reallocarray(i->change, i->n_changes + 2 * n + 1,
			 sizeof *i->change);
	if (p == NULL)
		return -1;
	i->change = p;
	free(i->patch);
	i->n_patches = 0;
	i->patch = calloc(n + 1, sizeof *i->patch);
	return i->patch == NULL ? -1 : 0;
}

int insert_find_patches(struct insertion *i, struct hark_err *err)
{
	const struct listing *l = i->want->listing;
	struct listing_area a;

	if (make_room(i, count_patches(l)) < 0)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	i->first.change = i->n_changes;
	for (size_t k = 0; k < listing_area_count(l); k++) {
		listing_get_area(l, k, &a);
		add_patches(i, &a);
	}
	qsort(i->patch, i->n_patches, sizeof *i->patch, by_address);
	mark_hooks(i);
	return 0;
}

/* -- Building -- */

/* What must be done about the flags at one instruction. Where they are dead
 * nothing would do for the program, but not for a handler of its own that looks
 * at them. */
static enum trampoline_flags flags_at(const struct insert_patch *m, unsigned k)
{
	return m->df >> k & 1 ? TRAMPOLINE_ALL : TRAMPOLINE_STATUS;
}

/* Is there nothing to be done but counting, always for the same row? */
static bool only_counts(const struct probe_clause *c)
{
	if (c->hot == PROBE_HOT_COUNT)
		return true;
	return c->hot == PROBE_HOT_COUNT_KEYED &&
	       (c->hot_source == PROBE_FROM_TEXT ||
		(c->hot_source == PROBE_FROM_BUILTIN &&
		 c->hot_number >= PROBE_BUILTIN_FIRST_TEXT &&
		 c->hot_number != PROBE_BUILTIN_THREADNAME));
}

/* Where in an area the probe counts by itself; 0: it does not. */
static uint32_t counts_at(const struct insertion *i, uint64_t cookie)
{
	const struct collect_plan *plan = insert_shared_plan(i);
	const struct probe_program *p = collect_program(plan);
	const struct collect_site *s = collect_at(plan, cookie - i->plan.at);
	const uint32_t *clauses = collect_at(plan, s->clauses.offset);
	struct collect_layout l;
	uint64_t at;

	if (s->next != 0 || s->clauses.n != 1 || s->kind == COLLECT_LOADER ||
	    !only_counts(&probe_clauses(p)[clauses[0]]))
		return 0;
	collect_layout(&plan->geometry, p, &l);
	at = l.slots + s->number * sizeof(struct collect_slot);
	return at < INT32_MAX - sizeof(struct collect_slot) ? (uint32_t)at : 0;
}

/* Is that instruction a system call that can be nothing but exit? */
static bool is_exit(const struct insert_patch *m, unsigned k)
{
	return m->hooked >> k & 1 &&
	       hooks_number(m->survey, m->patch->at + m->patch->off[k]) ==
		   NR_EXIT;
}

static enum x86_move build(const struct insertion *i,
			   const struct insert_patch *m, struct x86_buf *out,
			   struct trampoline *info)
{
	const struct patch *p = m->patch;
	struct trampoline_want w = {
	    .bytes = survey_bytes(m->survey, p->at),
	    .at = p->at + m->bias,
	    .window = p->window,
	    .n = p->n,
	    .off = p->off,
	    .taken = m->taken,
	    .handler = i->image + blob_places.hit,
	    .hooked = m->hooked,
	    .hook = i->image + blob_places.hook,
	    .hook_cookie = i->plan.at,
	    .leave = i->image + blob_places.leave,
	    .table = i->table,
	    .waiting = i->home + NATIVE_WAITING,
	};

	for (unsigned k = 0; k < p->n; k++) {
		w.flags[k] = (uint8_t)flags_at(m, k);
		w.leaves |= (unsigned)is_exit(m, k) << k;
		if (m->cookie[k] == 0)
			continue;
		w.probed |= 1u << k;
		w.cookie[k] = m->cookie[k];
		w.slot[k] = counts_at(i, m->cookie[k]);
	}
	return trampoline_build(&w, out, info);
}

/* -- Telling signals -- */

static int add_code(struct insertion *i, uint64_t start,
		    const struct trampoline *info, struct hark_err *err)
{
	struct collect_code *c = &i->code[i->n_codes];

	*c = (struct collect_code){.start = start, .len = info->len};
	if (insert_put(i, info, sizeof *info, &c->trampoline, err) < 0)
		return -1;
	i->n_codes++;
	return 0;
}

/* A lone jump on the way: whoever is there has not begun. */
static int add_jump(struct insertion *i, const struct insert_patch *m,
		    uint64_t start, unsigned len, struct hark_err *err)
{
	struct trampoline info;

	trampoline_of_jump(m->patch->at + m->bias, len, &info);
	return add_code(i, start, &info, err);
}

static void add_traps(struct insertion *i, const struct insert_patch *m,
		      const struct trampoline *info)
{
	const struct patch *p = m->patch;

	for (unsigned k = 0; k < p->n; k++)
		if (p->form == FORM_T || p->traps >> k & 1)
			i->trap[i->n_traps++] = (struct collect_trap){
			    .pc = p->at + m->bias + p->off[k],
			    .resume = p->code + info->resume[k]};
}

/* -- Changes -- */

/* low, high: the bytes that the patch depends on. */
static void add_change(struct insertion *i, uint64_t at, const uint8_t *bytes,
		       const uint8_t *old, unsigned len, uint64_t low,
		       uint64_t high)
{
	struct collect_change *c = &i->change[i->n_changes++];

	*c = (struct collect_change){.at = at,
				     .len = (uint8_t)len,
				     .before = (uint8_t)(at - low),
				     .after = (uint16_t)(high - at)};
	memcpy(c->bytes, bytes, len);
	memcpy(c->old, old, len);
}

static void add_changes(struct insertion *i, const struct insert_patch *m)
{
	const struct patch *p = m->patch;
	unsigned len = p->len + (unsigned)p->relies;
	uint64_t at = p->at + m->bias, hop = p->hop + m->bias;
	uint64_t low = at, high = at + (len > p->window ? len : p->window);
	size_t first = i->n_changes;

	if (p->hop != 0) {
		low = hop < low ? hop : low;
		high = hop + FORM_LEN > high ? hop + FORM_LEN : high;
		add_change(i, hop, p->hop_bytes, p->hop_old, FORM_LEN, low,
			   high);
	}
	add_change(i, at, p->bytes, p->old, p->len, low, high);
	for (; first < i->n_changes; first++)
		i->change[first].is_hook = m->hooked != 0;
}

/* Is the program's code that of its file? */
static int is_as_surveyed(const struct insert_patch *m, const struct door *d,
			  struct hark_err *err)
{
	const struct patch *p = m->patch;
	uint8_t now[64];
	unsigned len = p->window > p->len ? p->window : p->len;

	if (len > sizeof now)
		len = sizeof now;
	if (remote_read(d, p->at + m->bias, now, len, err) < 0)
		return -1;
	return memcmp(now, survey_bytes(m->survey, p->at), len) == 0;
}

/* -- One after the other -- */

static int write_entry(struct insertion *i, const struct insert_patch *m,
		       struct door *d, struct hark_err *err)
{
	const struct patch *p = m->patch;
	uint8_t bytes[FORM_SLOT];
	struct x86_buf b = {.start = bytes,
			    .at = bytes,
			    .end = bytes + sizeof bytes,
			    .pc = p->entry};

	if (p->hop != 0 && add_jump(i, m, p->hop + m->bias, FORM_LEN, err) < 0)
		return -1;
	if (p->entry == 0 || p->entry == p->code)
		return 0;
	if (emit_reaches(&b, FORM_LEN, p->code))
		emit_jmp(&b, p->code);
	else
		emit_jmp_far(&b, p->code);
	return remote_write(d, p->entry, bytes, (size_t)(b.at - bytes), err) < 0
		   ? -1
		   : add_jump(i, m, p->entry, (unsigned)(b.at - bytes), err);
}

static int write_patch(struct insertion *i, struct insert_patch *m,
		       struct door *d, struct hark_err *err)
{
	const struct patch *p = m->patch;
	uint8_t bytes[FORM_INSNS * FORM_TRAMPOLINE];
	unsigned room =
	    FORM_TRAMPOLINE * (unsigned)__builtin_popcount(p->probed);
	struct x86_buf b = {
	    .start = bytes, .at = bytes, .end = bytes + room, .pc = p->code};
	struct trampoline info;
	enum x86_move how = build(i, m, &b, &info);

	if (how != X86_MOVE_OK)
		return err_set(err, HARK_EREFUSE, 0,
			       "the probe at 0x%lx cannot be made: %s",
			       (unsigned long)(p->at + m->bias),
			       x86_move_text(how));
	if (remote_write(d, p->code, bytes, info.len, err) < 0 ||
	    add_code(i, p->code, &info, err) < 0 ||
	    write_entry(i, m, d, err) < 0)
		return -1;
	add_traps(i, m, &info);
	add_changes(i, m);
	return 0;
}

static bool is_wanted(const struct insert_patch *m)
{
	for (unsigned k = 0; k < m->patch->n; k++)
		if (m->cookie[k] != 0)
			return true;
	return false;
}

static int by_start(const void *a, const void *b)
{
	const struct collect_code *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int by_pc(const void *a, const void *b)
{
	const struct collect_trap *x = a, *y = b;

	return (x->pc > y->pc) - (x->pc < y->pc);
}

void insert_sort(struct insertion *i)
{
	qsort(i->code, i->n_codes, sizeof *i->code, by_start);
	qsort(i->trap, i->n_traps, sizeof *i->trap, by_pc);
}

int insert_write_code(struct insertion *i, struct door *d, struct hark_err *err)
{
	for (size_t k = 0; k < i->n_patches; k++) {
		struct insert_patch *m = &i->patch[k];
		bool wanted = is_wanted(m);
		int same;

		if (m->patch->code == 0 || (!wanted && m->hooked == 0))
			continue;
		same = is_as_surveyed(m, d, err);
		if (same < 0)
			return -1;
		if (!same && wanted)
			return err_set(err, HARK_EREFUSE, 0,
				       "the code at 0x%lx is not that of its "
				       "file: something else has changed it",
				       (unsigned long)(m->patch->at + m->bias));
		if (same && write_patch(i, m, d, err) < 0)
			return -1;
	}
	insert_sort(i);
	return 0;
}

/* -- The text -- */

static const struct collect_trap *find_trap(const struct insertion *i,
					    uint64_t pc)
{
	const struct collect_trap key = {.pc = pc};

	return bsearch(&key, i->trap, i->n_traps, sizeof key, by_pc);
}

/* Whoever waits in a system call of a window goes back to it, and would trap
 * there. A signal's handler makes the kernel forget how a call is gone on with
 * that has waited for a part of its time already: it would return EINTR. So
 * that thread goes to the copy at once. (One that has ended meanwhile does
 * not.) */
static void send_waiters(const struct insertion *i, struct door *d)
{
	enum { SYSCALL_LEN = 2 }; /* the kernel goes back so far */
	struct hark_err ignored;

	for (int k = 0; k < d->n_threads; k++) {
		struct door_thread *t = &d->threads[k];
		const struct collect_trap *trap =
		    rules_in_call(&t->seen)
			? find_trap(i, t->seen.rip - SYSCALL_LEN)
			: NULL;

		if (trap == NULL || t->progress == DOOR_DEAD)
			continue;
		t->seen.rip = trap->resume + SYSCALL_LEN;
		if (k != d->worker)
			tracee_set_regs(t->tid, &t->seen, &ignored);
	}
}

int insert_change_text(struct insertion *i, struct door *d,
		       struct hark_err *err)
{
	_Static_assert((int)COLLECT_BYTES == (int)FORM_BYTES, "of one patch");
	if (insert_forget_given(i, d, err) < 0)
		return -1;
	for (size_t k = i->first.change; k < i->n_changes; k++) {
		const struct collect_change *c = &i->change[k];

		if (remote_write(d, c->at, c->bytes, c->len, err) < 0)
			return -1;
	}
	send_waiters(i, d);
	return 0;
}
