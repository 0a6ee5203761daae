/* probe/insert.c - the order of things, there and back.
 *
 * There: memory, plan, trampolines, signals, and the text last. Back: the
 * text first; then whoever is still in a trampoline or in the image is let go
 * on until he is out; then signals and memory. A thread that waits in a system
 * call which was moved is put back to the original. */
#include "probe/insert_priv.h"

#include "outside/proc.h"
#include "outside/tracee.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* -- There -- */

static int raise_semaphores(struct insertion *i, struct door *d,
			    struct hark_err *err)
{
	i->semaphore = calloc(i->n_probes + 1, sizeof *i->semaphore);
	if (i->semaphore == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	for (size_t k = 0; k < i->n_probes; k++) {
		struct probe p;
		uint16_t n;

		listing_get(i->want->listing, k, &p);
		if (p.semaphore == 0 || i->site_of[k] == UINT32_MAX)
			continue;
		if (remote_read(d, p.semaphore, &n, sizeof n, err) < 0)
			return -1;
		n++;
		if (remote_write(d, p.semaphore, &n, sizeof n, err) < 0)
			return -1;
		i->semaphore[i->n_semaphores++] = p.semaphore;
	}
	return 0;
}

static int lower_semaphores(struct insertion *i, struct door *d,
			    struct hark_err *err)
{
	for (; i->n_semaphores > 0; i->n_semaphores--) {
		uint64_t at = i->semaphore[i->n_semaphores - 1];
		uint16_t n;

		if (remote_read(d, at, &n, sizeof n, NULL) < 0 || n == 0)
			continue; /* its module is gone */
		n--;
		if (remote_write(d, at, &n, sizeof n, err) < 0)
			return -1;
	}
	return 0;
}

static int put_in(struct insertion *i, struct door *d, struct hark_err *err)
{
	/* Only trampolines have addresses of their own choice. */
	if (insert_find_patches(i, err) < 0 || insert_map_code(i, d, err) < 0 ||
	    insert_map(i, d, err) < 0 || insert_sites(i, err) < 0 ||
	    insert_write_code(i, d, err) < 0 || insert_publish(i, err) < 0 ||
	    insert_take_signals(i, d, err) < 0 ||
	    raise_semaphores(i, d, err) < 0)
		return -1;
	return insert_change_text(i, d, err);
}

static int take_out(struct insertion *i, struct door *d, struct hark_err *err)
{
	return insert_restore_text(i, d, err) < 0 ||
		       lower_semaphores(i, d, err) < 0 ||
		       insert_give_signals(i, d, err) < 0 ||
		       insert_unmap(i, d, err) < 0
		   ? -1
		   : 0;
}

int insert_open(struct door *d, const struct insert_plan *p,
		struct insertion **out, struct hark_err *err)
{
	struct insertion *i = calloc(1, sizeof *i);
	struct hark_err second;
	int rc;

	if (i == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	i->want = p;
	i->pid = d->pid;
	i->ours = 1ull << (SIGTRAP - 1) | 1ull << (SIGILL - 1) |
		  1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1);
	d->name = INSERT_NAME;
	rc = door_begin(d, err);
	if (rc == 0) {
		rc = put_in(i, d, err);
		if (rc < 0)
			take_out(i, d, &second);
	}
	if (door_leave(d, rc < 0 ? &second : err) < 0)
		rc = -1;
	i->want = NULL;
	if (rc < 0)
		insert_close(i);
	else
		*out = i;
	return rc;
}

void insert_close(struct insertion *i)
{
	if (i == NULL)
		return;
	insert_unmap_ours(i);
	free(i->range);
	free(i->change);
	free(i->semaphore);
	free(i->site_of);
	free(i->patch);
	free(i->code);
	free(i->trap);
	free(i);
}

/* -- Back -- */

/* Is it still the program that the probes went into? */
static bool is_there(const struct insertion *i, const struct door *d)
{
	uint64_t magic;

	return remote_read(d, i->plan.at, &magic, sizeof magic, NULL) == 0 &&
	       magic == COLLECT_MAGIC;
}

static const struct trampoline *trampoline_at(const struct insertion *i,
					      uint64_t pc, unsigned *offset)
{
	for (size_t k = 0; k < i->n_codes; k++) {
		const struct collect_code *c = &i->code[k];

		if (pc - c->start < c->len) {
			*offset = (unsigned)(pc - c->start);
			return (const struct trampoline *)(i->plan.base +
							   c->trampoline);
		}
	}
	return NULL;
}

/* In a moved instruction, or behind it: nothing lies on the stack. */
static bool is_moved(const struct trampoline *t, unsigned offset)
{
	for (unsigned k = 0; k < t->n; k++)
		if (offset >= t->moved_at[k] &&
		    offset <= (unsigned)t->moved_at[k] + t->moved[k].len &&
		    !(t->fire[k].start > t->moved_at[k] &&
		      offset >= t->fire[k].start && offset < t->fire[k].end))
			return true;
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

/* Is a trap of ours on its way? It was met before the text came back, and its
 * handler is still needed. */
static bool has_trapped(const struct insertion *i, const struct door_thread *t)
{
	uint64_t pending;

	return proc_status(i->pid, t->tid, "SigPnd", 16, &pending) == 0 &&
	       (pending & i->ours) != 0;
}

/* Back to the original, if nothing more has to happen where it is. 1: it is
 * there; 0: it must go on first. */
static int bring_back(const struct insertion *i, struct door_thread *t)
{
	unsigned long long *reg[GPRS];
	uint64_t gpr[GPRS], flags = t->seen.eflags, pc;
	const struct trampoline *at;
	unsigned offset;

	if (has_trapped(i, t))
		return 0;
	if (!insert_is_inside(i, t->seen.rip))
		return 1;
	at = trampoline_at(i, t->seen.rip, &offset);
	if (at == NULL || !is_moved(at, offset))
		return 0;
	gprs_of(&t->seen, reg);
	for (unsigned k = 0; k < GPRS; k++)
		gpr[k] = *reg[k];
	if (trampoline_native(at, offset, gpr, &flags, &pc) < 0)
		return 0;
	for (unsigned k = 0; k < GPRS; k++)
		*reg[k] = gpr[k];
	t->seen.rip = pc;
	return 1;
}

/* 1: all are; 0: somebody has to go on. The borrowed thread gets its registers
 * when it goes back. */
static int bring_all_back(const struct insertion *i, struct door *d,
			  struct hark_err *err)
{
	int all = 1;

	for (int k = 0; k < d->n_threads; k++) {
		struct door_thread *t = &d->threads[k];
		uint64_t was = t->seen.rip;

		if (!bring_back(i, t))
			all = 0;
		if (t->seen.rip != was && k != d->worker &&
		    tracee_set_regs(t->tid, &t->seen, err) < 0)
			return -1;
	}
	return all;
}

static int remove_all(struct insertion *i, struct door *d, struct hark_err *err)
{
	int back;

	if (insert_restore_text(i, d, err) < 0)
		return -1;
	back = bring_all_back(i, d, err);
	if (back <= 0)
		return back < 0 ? -1 : 1;
	return take_out(i, d, err);
}

int insert_remove(struct insertion *i, struct door *d, struct hark_err *err)
{
	struct hark_err second;
	int rc;

	d->name = INSERT_NAME;
	if (i->removed)
		return 0;
	rc = door_begin(d, err);
	if (rc == 0 && is_there(i, d))
		rc = remove_all(i, d, err);
	i->removed = rc == 0;
	if (door_leave(d, rc < 0 ? &second : err) < 0)
		rc = -1;
	return rc;
}

/* -- Asking -- */

const struct collect_plan *insert_shared_plan(const struct insertion *i)
{
	return (const struct collect_plan *)i->plan.base;
}

void *insert_board(const struct insertion *i)
{
	return i->board.base;
}

uint32_t insert_site(const struct insertion *i, size_t probe)
{
	return i->site_of[probe];
}
