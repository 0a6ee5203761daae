/* probe/insert_remove.c - probes out of a process, by the record that is in it.
 *
 * The text first; then whoever is still in a trampoline or in the image is let
 * go on until he is out; then signals and memory. A thread that waits in a
 * system call which was moved is put back to the original.
 *
 * R1  Nothing is undone that is not there: the text must be that which was
 *     changed and hold bytes of ours, a handler must be ours, trampolines must
 *     be mapped as ours were. So it does
 *     not matter how far hark had come when it was killed, nor whether it was
 *     putting probes in or taking them out; and a child of fork, which has a
 *     copy of all this, is treated like its parent.
 * R2  The record is not changed: other processes may share it. */
#include "probe/insert_priv.h"

#include "inside/sigframe.h"
#include "native/native.h"
#include "outside/proc.h"
#include "outside/tracee.h"

#include <stdlib.h>
#include <string.h>

/* -- The text -- */

/* A write across pages may have come half-way. */
static bool is_ours(const struct collect_change *c, const uint8_t *now)
{
	bool any = false;

	for (unsigned k = 0; k < c->len; k++) {
		if (now[k] != c->bytes[k] && now[k] != c->old[k])
			return false;
		any |= now[k] != c->old[k];
	}
	return any;
}

/* Its module may be gone, with another in its place. */
static int restore_text(const struct insert_left *l, const struct door *d,
			struct hark_err *err)
{
	bool *in_place = insert_changes_in_place(l, d, err);
	int rc = 0;

	if (in_place == NULL)
		return -1;
	insert_leave_given(l, d, in_place);
	for (uint64_t k = l->record.changes.n; k-- > 0 && rc == 0;) {
		const struct collect_change *c = &l->change[k];
		uint8_t now[COLLECT_BYTES];

		if (in_place[k] &&
		    remote_read(d, c->at, now, c->len, NULL) == 0 &&
		    is_ours(c, now))
			rc = remote_write(d, c->at, c->old, c->len, err);
	}
	free(in_place);
	return rc;
}

/* -- Threads in probes -- */

/* Is an address in the image or in a trampoline? */
static bool is_inside(const struct insert_left *l, uint64_t addr)
{
	if (addr - l->head.image < l->head.image_len)
		return true;
	for (uint64_t k = 0; k < l->record.ranges.n; k++)
		if (addr - l->range[k].at < l->range[k].len)
			return true;
	return false;
}

static bool is_point(const struct x86_moved *m)
{
	if (m->n > X86_MOVED_POINTS)
		return false;
	for (unsigned k = 0; k < m->n; k++)
		if (m->point[k].reg >= 16)
			return false;
	return true;
}

static bool is_trampoline(const struct trampoline *t)
{
	if (t->n > TRAMPOLINE_INSNS)
		return false;
	for (unsigned k = 0; k < t->n; k++)
		if (!is_point(&t->moved[k]))
			return false;
	return true;
}

static bool trampoline_at(const struct insert_left *l, const struct door *d,
			  uint64_t pc, struct trampoline *out, unsigned *offset)
{
	const struct collect_plan *h = &l->head;

	for (size_t k = 0; k < l->n_codes; k++) {
		const struct collect_code *c = &l->code[k];

		if (pc - c->start >= c->len)
			continue;
		*offset = (unsigned)(pc - c->start);
		return c->trampoline <= h->size - sizeof *out &&
		       remote_read(d, h->self + c->trampoline, out, sizeof *out,
				   NULL) == 0 &&
		       is_trampoline(out);
	}
	return false;
}

static bool is_between(const struct trampoline_fire *f, unsigned offset)
{
	return offset >= f->start && offset < f->end;
}

/* In a moved instruction, or behind it: nothing lies on the stack. */
static bool is_moved(const struct trampoline *t, unsigned offset)
{
	bool moved = false;

	for (unsigned k = 0; k < t->n; k++) {
		if (is_between(&t->fire[k], offset))
			return false;
		moved |= offset >= t->moved_at[k] &&
			 offset <= (unsigned)t->moved_at[k] + t->moved[k].len;
	}
	return moved && !is_between(&t->hook, offset);
}

/* Behind a byte of ours that traps (or at one that is no instruction): its
 * signal is still to come, and hark's handler is to have it. So is that of a
 * clock, wherever the thread is. */
static bool is_trapped(const struct insert_left *l, const struct door_thread *t)
{
	uint64_t pending;

	if (proc_status(l->pid, t->tid, "SigPnd", 16, &pending) < 0 ||
	    (pending & l->record.ours) == 0)
		return false;
	if (l->head.flags & COLLECT_TICKS && pending & SIG_BIT(SIG_TRAP))
		return true;
	for (uint64_t k = 0; k < l->record.changes.n; k++) {
		const struct collect_change *c = &l->change[k];

		if (t->seen.rip >= c->at && t->seen.rip <= c->at + c->len)
			return true;
	}
	return false;
}

enum { GPRS = 16 };

static void gprs_of(struct user_regs_struct *r, unsigned long long *out[GPRS])
{
	unsigned long long *const all[GPRS] = {
	    &r->rax, &r->rcx, &r->rdx, &r->rbx, &r->rsp, &r->rbp,
	    &r->rsi, &r->rdi, &r->r8,  &r->r9,	&r->r10, &r->r11,
	    &r->r12, &r->r13, &r->r14, &r->r15};

	memcpy(out, all, sizeof all);
}

/* Back to the original, if nothing more has to happen where it is. 1: it is
 * there; 0: it must go on first. */
static int bring_back(const struct insert_left *l, const struct door *d,
		      struct door_thread *t)
{
	unsigned long long *reg[GPRS];
	uint64_t gpr[GPRS], flags = t->seen.eflags, pc;
	struct trampoline at;
	unsigned offset;

	if (is_trapped(l, t))
		return 0;
	if (!is_inside(l, t->seen.rip))
		return 1;
	if (!trampoline_at(l, d, t->seen.rip, &at, &offset) ||
	    !is_moved(&at, offset))
		return 0;
	gprs_of(&t->seen, reg);
	for (unsigned k = 0; k < GPRS; k++)
		gpr[k] = *reg[k];
	if (trampoline_native(&at, offset, gpr, &flags, &pc) < 0)
		return 0;
	for (unsigned k = 0; k < GPRS; k++)
		*reg[k] = gpr[k];
	t->seen.rip = pc;
	return 1;
}

/* Does hark step through it (native/progress.c)? Not for long. */
static bool is_stepping(const struct insert_left *l, const struct door *d,
			int k, struct hark_err *err)
{
	enum { TRAP_FLAG = 0x100 };
	struct collect_area a;

	return d->threads[k].seen.eflags & TRAP_FLAG &&
	       insert_read_table(l, d, err) == 0 &&
	       insert_find_area(l, d, k, &a) != 0 && native_is_stepping(&a);
}

/* 1: all are; 0: somebody has to go on. The borrowed thread gets its registers
 * when it goes back. */
static int bring_all_back(const struct insert_left *l, struct door *d,
			  struct hark_err *err)
{
	int all = 1;

	for (int k = 0; k < d->n_threads; k++) {
		struct door_thread *t = &d->threads[k];
		uint64_t was = t->seen.rip;

		if (is_stepping(l, d, k, err) || !bring_back(l, d, t))
			all = 0;
		if (t->seen.rip != was && k != d->worker &&
		    tracee_set_regs(t->tid, &t->seen, err) < 0)
			return -1;
	}
	return all;
}

/* -- Semaphores -- */

/* Counted first: see insert.c. */
static int lower_semaphores(const struct insert_left *l, const struct door *d,
			    struct hark_err *err)
{
	uint64_t counter = insert_raised_at(&l->head), raised = 0;
	bool *in_place = insert_semaphores_in_place(l, d, err);
	int rc = -1;

	if (in_place != NULL)
		rc = remote_read(d, counter, &raised, sizeof raised, err);
	if (rc == 0 && raised > l->record.semaphores.n)
		raised = 0;
	while (rc == 0 && raised-- > 0) {
		uint64_t at = l->semaphore[raised].at;
		uint16_t n;

		rc = remote_write(d, counter, &raised, sizeof raised, err);
		if (rc < 0 || !in_place[raised] ||
		    remote_read(d, at, &n, sizeof n, NULL) < 0 || n == 0)
			continue;
		n--;
		rc = remote_write(d, at, &n, sizeof n, err);
	}
	free(in_place);
	return rc;
}

/* -- Memory -- */

/* Ranges are mapped as they were listed: which of them are there? */
struct pages {
	const struct insert_left *l;
	uint8_t *there;	     /* owned */
	uint64_t start, end; /* pages like ours, without a gap, so far */
};

static void see(void *ctx, const struct proc_map *m)
{
	struct pages *p = ctx;

	if (!m->executable || m->writable || m->shared || m->ino != 0 ||
	    m->name[0] != '\0')
		return;
	if (m->start != p->end)
		p->start = m->start;
	p->end = m->end;
	for (uint64_t k = 0; k < p->l->record.ranges.n; k++) {
		const struct collect_range *r = &p->l->range[k];

		if (r->at >= p->start && r->at < p->end &&
		    r->len <= p->end - r->at)
			p->there[k] = 1;
	}
}

static int unmap_code(const struct insert_left *l, struct door *d,
		      struct hark_err *err)
{
	struct pages p = {.l = l};
	int rc = 0;

	p.there = calloc(l->record.ranges.n + 1, 1);
	if (p.there == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	if (proc_mappings(l->pid, d->threads[0].tid, see, &p) < 0)
		rc = err_set(err, HARK_EGONE, 0, "process %d ended meanwhile",
			     l->pid);
	for (uint64_t k = 0; rc == 0 && k < l->record.ranges.n; k++) {
		uint64_t at = l->range[k].at;

		if (p.there[k])
			rc = remote_unmap(d, &at, l->range[k].len, err);
	}
	free(p.there);
	return rc;
}

static int unmap_block(const struct insert_left *l, struct door *d,
		       struct hark_err *err)
{
	uint64_t at = l->head.self;

	return remote_unmap(d, &at, insert_whole(&l->head), err);
}

/* -- All of it -- */

/* Have signals been taken? From then on home says whose it is. */
static bool has_home(const struct insert_left *l, const struct door *d)
{
	uint64_t plan;

	return remote_read(d, l->head.home, &plan, sizeof plan, NULL) == 0 &&
	       plan == l->head.self;
}

static int leave_home(const struct insert_left *l, struct door *d,
		      struct hark_err *err)
{
	const uint64_t nobody = 0;

	return lower_semaphores(l, d, err) < 0 ||
		       insert_give_signals(l, d, err) < 0
		   ? -1
		   : remote_write(d, l->head.home, &nobody, sizeof nobody, err);
}

int insert_take_out(const struct insert_left *l, struct door *d,
		    struct hark_err *err)
{
	int back;

	if (restore_text(l, d, err) < 0 ||
	    (has_home(l, d) && insert_disarm(l, d, err) < 0))
		return -1;
	back = bring_all_back(l, d, err);
	if (back <= 0)
		return back < 0 ? -1 : 1;
	if (has_home(l, d) && leave_home(l, d, err) < 0)
		return -1;
	return unmap_code(l, d, err) < 0 ? -1 : unmap_block(l, d, err);
}

static int take_out(const struct insertion *i, struct door *d,
		    struct hark_err *err)
{
	struct insert_left l;
	int rc;

	if (insert_left_init(&l, i->pid, d->mem, i->plan.at, err) < 0)
		return -1;
	rc = insert_take_out(&l, d, err);
	insert_left_fini(&l);
	return rc;
}

int insert_undo(struct insertion *i, struct door *d, struct hark_err *err)
{
	const struct collect_plan *head = insert_shared_plan(i);

	if (i->plan.at == 0)
		return 0;
	return head->removal != 0
		   ? take_out(i, d, err)
		   : remote_unmap(d, &i->plan.at, insert_whole(head), err);
}

bool insert_is_in(const struct insertion *i, const struct door *d)
{
	uint64_t magic;

	return remote_read(d, i->plan.at, &magic, sizeof magic, NULL) == 0 &&
	       magic == COLLECT_MAGIC;
}

int insert_remove(struct insertion *i, struct door *d, struct hark_err *err)
{
	struct hark_err second;
	int rc;

	d->name = INSERT_NAME;
	if (i->removed)
		return 0;
	rc = door_begin(d, err);
	if (rc == 0 && insert_is_in(i, d))
		rc = take_out(i, d, err);
	i->removed = rc == 0;
	if (door_leave(d, rc < 0 ? &second : err) < 0)
		rc = -1;
	return rc;
}
