/* outside/door.c - image and channel into a stopped process, and out. */
#include "outside/door.h"

#include "outside/blob.h"
#include "outside/proc.h"
#include "outside/remote.h"
#include "outside/rules.h"
#include "outside/tracee.h"
#include "wire/stay.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

#define PASSES "hark-visit" /* and its name in the target's maps: */
#define LEFT   "/memfd:" PASSES " (deleted)"

enum { LEAVE_AT = 2, STOP_LIMIT_S = 3 }; /* inside/entry.S */

/* TF and DF, NT (IRETQ would fault) and AC (anything unaligned would). */
enum { FLAGS_BAD_FOR_C = 0x100 | 0x400 | 0x4000 | 0x40000 };

_Static_assert(sizeof(struct wire_regs) == sizeof(struct user_regs_struct),
	       "slots hold what ptrace gives");
_Static_assert(offsetof(struct wire_regs, gs) ==
		   offsetof(struct user_regs_struct, gs),
	       "in the same order");

static uint64_t page_up(uint64_t v)
{
	return (v + WIRE_PAGE - 1) & ~(uint64_t)(WIRE_PAGE - 1);
}

/* -- Life -- */

void door_init(struct door *d, pid_t pid)
{
	*d = (struct door){.pid = pid,
			   .name = PASSES,
			   .mem = -1,
			   .worker = -1,
			   .limit_ns = STOP_LIMIT_S * 1000000000LL};
}

void door_fini(struct door *d)
{
	drain_close(d->drain);
	free(d->threads);
	if (d->mem >= 0)
		close(d->mem);
	d->drain = NULL;
	d->threads = NULL;
	d->mem = -1;
}

static int64_t deadline(const struct door *d)
{
	return tracee_now_ns() + d->limit_ns;
}

/* -- Threads -- */

/* R4. What a thread was in is read before it is moved: the kernel clears
 * rseq_cs when it sees rip elsewhere. Until then it stays, for a thread that is
 * not moved after all is sent to its abort handler by the kernel. */
static void leave_rseq(const struct door *d, struct door_thread *t)
{
	struct {
		uint64_t pointer;
		uint32_t size, signature, flags, pad;
	} conf = {0};
	enum { RSEQ_CS_AT = 8 };
	struct rules_rseq_cs cs;
	uint64_t at = 0;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, t->tid, sizeof conf, &conf) <
		0 ||
	    conf.pointer == 0)
		return;
	t->rseq = conf.pointer;
	t->rseq_len = conf.size;
	t->rseq_signature = conf.signature;
	if (pread(d->mem, &at, sizeof at, (off_t)(conf.pointer + RSEQ_CS_AT)) ==
		sizeof at &&
	    at != 0 && pread(d->mem, &cs, sizeof cs, (off_t)at) == sizeof cs)
		rules_rseq(&t->seen, &cs);
}

static int grow(struct door *d, struct hark_err *err)
{
	int max = d->max_threads == 0 ? 16 : 2 * d->max_threads;
	struct door_thread *more;

	if (d->n_threads < d->max_threads)
		return 0;
	more = realloc(d->threads, (size_t)max * sizeof *more);
	if (more == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	d->threads = more;
	d->max_threads = max;
	return 0;
}

int door_add(struct door *d, pid_t tid, struct hark_err *err)
{
	struct door_thread *t;

	if (grow(d, err) < 0)
		return -1;
	t = &d->threads[d->n_threads];
	*t = (struct door_thread){.tid = tid};
	if (tracee_get_regs(tid, &t->seen, err) < 0 ||
	    tracee_get_mask(tid, &t->mask, err) < 0)
		return -1;
	if (rules_kernel(&t->seen) && tracee_set_rax(tid, t->seen.rax, err) < 0)
		return -1;
	d->n_threads++;
	return 0;
}

/* Just before threads are changed: what they will be given back. */
static void settle_registers(struct door *d)
{
	for (int i = 0; i < d->n_threads; i++) {
		struct door_thread *t = &d->threads[i];

		leave_rseq(d, t);
		t->home = t->seen;
		rules_by_hand(&t->home);
	}
}

/* -- Mapping -- */

/* What is large goes far away (0: it is not known where that is), for what is
 * near is precious: the engine and its code lie around the image, within 2 GiB
 * of each other. Too far is wrong, too: ThreadSanitizer wants nothing below
 * 0x7e8000000000, and the kernel goes down to 0x7f0000000000 by itself. */
static uint64_t far_from(uint64_t image, uint64_t len)
{
	const uint64_t far = 1ull << 38, large = 64 << 20;

	return len >= large && image > 2 * far ? image - far - page_up(len) : 0;
}

/* Where the kernel likes, if it cannot be at hint. */
static int map_shared(struct door *d, uint64_t hint, int64_t fd, uint64_t len,
		      int prot, uint64_t *out, struct hark_err *err)
{
	const struct remote_map m = {hint, len, prot, MAP_SHARED, fd};

	return remote_map(d, &m, out, err);
}

static int map_image(struct door *d, struct hark_err *err)
{
	uint64_t len = page_up(blob_len());
	int64_t theirs = -1;
	int rc = -1;

	if (remote_image(d, &theirs, err) == 0 &&
	    map_shared(d, 0, theirs, len, PROT_READ | PROT_EXEC, &d->image,
		       err) == 0) {
		d->image_len = len;
		rc = 0;
	}
	if (theirs >= 0 && remote_close(d, theirs, rc < 0 ? NULL : err) < 0)
		rc = -1;
	return rc;
}

static struct wire_geometry geometry_for(int n_threads)
{
	return (struct wire_geometry){
	    .max_threads = (uint32_t)n_threads,
	    .n_slots = (uint32_t)n_threads,
	    .ring_chunks = 2,
	    .chunk_size = 2048,
	};
}

static int map_channel(struct door *d, struct hark_err *err)
{
	struct wire_geometry g =
	    d->geometry != NULL ? *d->geometry : geometry_for(d->n_threads);
	struct wire_control layout;
	int64_t theirs = -1;
	int ours = -1, rc = -1;

	channel_layout(&g, &layout);
	if (remote_memfd(d, &theirs, &ours, err) == 0 &&
	    drain_open(ours, &g, (uint32_t)d->pid, &d->drain, err) == 0 &&
	    map_shared(d, far_from(d->image, layout.size), theirs, layout.size,
		       PROT_READ | PROT_WRITE, &d->channel, err) == 0) {
		d->channel_len = layout.size;
		d->slots_at = layout.slots_at;
		rc = 0;
	}
	if (theirs >= 0 && remote_close(d, theirs, rc < 0 ? NULL : err) < 0)
		rc = -1;
	return rc;
}

static int borrow_one(struct door *d, int k, struct hark_err *err)
{
	struct door_thread *t = &d->threads[k];

	if (gate_open(&d->gate, t->tid, &t->home, t->mask, err) < 0)
		return -1;
	d->gate.wire = d->fresh ? tracee_wire(t->mask) : 0;
	t->progress = DOOR_INSIDE;
	d->worker = k;
	return 0;
}

/* Any living thread will do to make system calls with. */
static int borrow_thread(struct door *d, struct hark_err *err)
{
	for (int i = 0; i < d->n_threads; i++)
		if (d->threads[i].progress == DOOR_HELD)
			return borrow_one(d, i, err);
	return err_set(err, HARK_EGONE, 0, "process %d ended meanwhile",
		       d->pid);
}

/* The worker back to where the others are. */
static int return_thread(struct door *d, struct hark_err *err)
{
	struct door_thread *t;
	int rc;

	if (d->worker < 0)
		return 0;
	t = &d->threads[d->worker];
	d->worker = -1;
	rc = gate_close(&d->gate, t->mask, &t->seen, err);
	t->progress = rc < 0 ? DOOR_DEAD : DOOR_HELD;
	return rc;
}

int door_borrow(struct door *d, int k, struct hark_err *err)
{
	if (k == d->worker)
		return 0;
	return return_thread(d, err) < 0 ? -1 : borrow_one(d, k, err);
}

/* -- What another hark left -- */

/* Does the top of a thread's stack speak of these addresses? When a thread on
 * its way home opens its mask, a signal may come, and its handler's frame then
 * leads back there. */
static int stack_leads_to(const struct door *d, uint64_t rsp, uint64_t start,
			  uint64_t end)
{
	enum { PIECE = 512, DEEP = 256 << 10 };
	uint64_t words[PIECE];

	for (uint64_t at = rsp & ~7ull; at < rsp + DEEP; at += sizeof words) {
		ssize_t n = pread(d->mem, words, sizeof words, (off_t)at);

		for (ssize_t i = 0; i < n / (ssize_t)sizeof words[0]; i++)
			if (words[i] - start < end - start)
				return 1;
		if (n < (ssize_t)sizeof words)
			break;
	}
	return 0;
}

static int in_use(const struct door *d, uint64_t start, uint64_t end)
{
	for (int i = 0; i < d->n_threads; i++) {
		const struct user_regs_struct *r = &d->threads[i].seen;

		if (r->rip - start < end - start ||
		    r->rsp - start < end - start ||
		    stack_leads_to(d, r->rsp, start, end))
			return 1;
	}
	return 0;
}

/* Is any thread on its way home through what killed harks left? One thing may
 * lead to another: a thread that was borrowed on its way home goes back there.
 * So all of it is needed, or nothing is. */
static int on_the_way_home(const struct door *d)
{
	const struct gate *g = &d->gate;
	struct proc_map m = {0};

	if (in_use(d, g->vdso_end - GATE_ALL, g->vdso_end))
		return 1;
	while (proc_mapping(d->pid, d->threads[0].tid, LEFT, m.end, &m) == 0)
		if (in_use(d, m.start, m.end))
			return 1;
	return 0;
}

/* Nobody needs the other places any more. */
static void erase_gates(struct door *d)
{
	for (unsigned i = 1; i < GATE_PLACES; i++) {
		struct gate other;

		if (gate_find(&other, d->pid, d->threads[0].tid, d->mem, i,
			      NULL) < 0)
			break;
		if (other.was_there)
			gate_erase(&other, NULL);
	}
}

/* The first place, unless a thread still needs what was left there (then all
 * others that are in use stay, too). */
static int find_gate(struct door *d, struct hark_err *err)
{
	struct gate *g = &d->gate;
	pid_t tid = d->threads[0].tid;

	if (gate_find(g, d->pid, tid, d->mem, 0, err) < 0)
		return -1;
	if (!g->was_there)
		return 0;
	d->sweep = !on_the_way_home(d);
	if (d->sweep) {
		erase_gates(d);
		return 0;
	}
	for (unsigned i = 1; i < GATE_PLACES; i++) {
		if (gate_find(g, d->pid, tid, d->mem, i, err) < 0)
			return -1;
		if (!g->was_there)
			return 0;
	}
	return err_set(err, HARK_EREFUSE, 0,
		       "process %d is still on its way home from harks that "
		       "were killed; try again",
		       d->pid);
}

/* A hark that was killed leaves its mappings, and perhaps a descriptor; so does
 * a fork by one thread while another passes. */
static int sweep(struct door *d, struct hark_err *err)
{
	pid_t tid = d->threads[0].tid;
	struct proc_map m = {0};
	int fd;

	while (proc_mapping(d->pid, tid, LEFT, m.end, &m) == 0) {
		uint64_t at = m.start;

		if (on_the_way_home(d))
			return 0;
		if (remote_unmap(d, &at, m.end - m.start, err) < 0)
			return -1;
	}
	while (d->sweep && (fd = proc_descriptor(d->pid, tid, LEFT)) >= 0)
		if (remote_close(d, fd, err) < 0)
			return -1;
	return 0;
}

/* Only now that it is stopped: a descriptor opened before an execve would show
 * the memory that is gone. */
static int open_memory(struct door *d, struct hark_err *err)
{
	d->mem = proc_open(d->pid, d->threads[0].tid, "mem", O_RDWR);
	if (d->mem >= 0)
		return 0;
	return err_set(err, errno == ENOENT ? HARK_EGONE : HARK_EDENIED, errno,
		       "cannot look into process %d: %s", d->pid,
		       strerror(errno));
}

int door_begin(struct door *d, struct hark_err *err)
{
	if (open_memory(d, err) < 0)
		return -1;
	settle_registers(d);
	if (find_gate(d, err) < 0 || borrow_thread(d, err) < 0)
		return -1;
	return d->fresh ? 0 : sweep(d, err);
}

int door_enter(struct door *d, struct hark_err *err)
{
	if (door_begin(d, err) < 0 || map_image(d, err) < 0 ||
	    map_channel(d, err) < 0)
		return -1; /* door_leave undoes it */
	return return_thread(d, err);
}

/* -- Slots -- */

/* All of a slot but its stack. */
union slot_head {
	struct wire_slot slot;
	uint8_t bytes[offsetof(struct wire_slot, stack)];
};

static uint64_t slot_of(const struct door *d, int number)
{
	return d->channel + d->slots_at +
	       (uint64_t)number * sizeof(struct wire_slot);
}

/* Why the kernel would make the system call again that it is in; 0: it is in
 * none. */
static uint32_t restart_of(const struct door_thread *t)
{
	return rules_in_call(&t->seen) ? (uint32_t) - (long)t->seen.rax : 0;
}

/* What thread `number` comes for; vcpu: if it is one already. */
static int write_slot(const struct door *d, int number, int slot,
		      enum wire_mode mode, uint64_t vcpu, struct hark_err *err)
{
	const struct door_thread *t = &d->threads[number];
	union slot_head head = {
	    .slot = {
		.sigmask = t->mask,
		.channel = d->channel,
		.ring = (uint32_t)slot,
		.tid = (uint32_t)t->tid,
		.time_ns = (uint64_t)tracee_now_ns(),
		.mode = mode,
		.status = ENOSYS, /* until the engine says otherwise */
		.vcpu = vcpu,
		.restart = restart_of(t),
		.rseq = t->rseq,
		.rseq_len = t->rseq_len,
		.rseq_signature = t->rseq_signature,
		.n_threads = (uint32_t)d->n_threads,
	    }};

	memcpy(&head.slot.regs, &t->home, sizeof head.slot.regs);
	return remote_write(d, slot_of(d, slot), &head, sizeof head.bytes, err);
}

static int read_status(const struct door *d, int slot, uint32_t *out,
		       struct hark_err *err)
{
	return remote_read(
	    d, slot_of(d, slot) + offsetof(struct wire_slot, status), out,
	    sizeof *out, err);
}

/* -- Visiting -- */

/* A thread is to enter the image, for what its slot says. */
static int redirect(struct door *d, int number, int slot, struct hark_err *err)
{
	struct door_thread *t = &d->threads[number];
	uint64_t theirs = slot_of(d, slot);
	struct user_regs_struct r = t->home;

	r.rip = d->image;
	r.rdi = theirs;
	r.rsp = (theirs + WIRE_SLOT_SIZE) & ~(WIRE_STACK_ALIGN - 1ull);
	r.orig_rax = ~0ull;
	r.eflags &= ~(uint64_t)FLAGS_BAD_FOR_C;
	t->progress = DOOR_INSIDE;
	if (tracee_set_regs(t->tid, &r, err) < 0 ||
	    tracee_set_mask(t->tid, ~0ull, err) < 0)
		return -1;
	return 0;
}

static int send_in(struct door *d, int number, enum wire_mode mode,
		   struct hark_err *err)
{
	if (write_slot(d, number, number, mode, 0, err) < 0)
		return -1;
	return redirect(d, number, number, err);
}

/* Where hark_leave's system call ends, as the blob says. */
static uint64_t leave_address(const struct door *d)
{
	uint64_t offset;

	memcpy(&offset, blob_start + LEAVE_AT, sizeof offset);
	return d->image + offset;
}

/* Let it run until it stands in hark_leave's system call. */
static int run_to_leave(struct door *d, struct door_thread *t,
			struct hark_err *err)
{
	int64_t limit = deadline(d);
	struct user_regs_struct r;

	do {
		if (tracee_to_call(t->tid, limit, err) < 0 ||
		    tracee_get_regs(t->tid, &r, err) < 0)
			return -1;
	} while (r.rip != leave_address(d));
	return 0;
}

/* Out of the image: first the mask, then the registers (see D3: killed in
 * between, the thread is still inside and goes home by itself). */
static int take_back(struct door *d, struct door_thread *t,
		     struct hark_err *err)
{
	struct hark_err why = {0};

	if (tracee_settle(t->tid, deadline(d), &why) < 0 ||
	    tracee_set_mask(t->tid, t->mask, &why) < 0 ||
	    tracee_set_regs(t->tid, &t->seen, &why) < 0) {
		if (why.code != HARK_ETIME)
			t->progress = DOOR_DEAD;
		return err_set(err, why.code, why.sys, "%s", why.text);
	}
	t->progress = DOOR_HELD;
	return 0;
}

static int visit_one(struct door *d, int number, struct hark_err *err)
{
	struct door_thread *t = &d->threads[number];

	if (send_in(d, number, WIRE_PASS, err) < 0 ||
	    run_to_leave(d, t, err) < 0)
		return -1;
	return take_back(d, t, err);
}

int door_visit(struct door *d, struct hark_err *err)
{
	for (int i = 0; i < d->n_threads; i++)
		if (d->threads[i].progress == DOOR_HELD &&
		    visit_one(d, i, err) < 0)
			return -1;
	return 0;
}

/* -- Staying -- */

/* The engine could not start, and said why. */
static int engine_refused(const struct door *d, int e, struct hark_err *err)
{
	return err_set(err, HARK_EREFUSE, e,
		       "the engine cannot start in process %d: %s%s", d->pid,
		       strerror(e),
		       e == ENOMEM ? " (is its address space limited? "
				     "ulimit -v)"
		       : e == EACCES || e == EPERM
			   ? " (a filter or security module forbids memory "
			     "that is written and executed)"
			   : "");
}

/* The engine makes many system calls before it is ready, and a stop costs more
 * than most of them. So the thread runs freely; ready or not, the next thing
 * that it does is to open its signal mask. */
static int run_to_mask(struct door *d, struct door_thread *t,
		       struct hark_err *err)
{
	int wire = tracee_wire(t->mask);

	return wire == 0
		   ? run_to_leave(d, t, err)
		   : tracee_to_mask(d->pid, t->tid, wire, deadline(d), err);
}

int door_translate(struct door *d, struct hark_err *err)
{
	struct door_thread *t = &d->threads[0];
	uint32_t e = 0;

	if (send_in(d, 0, WIRE_TRANSLATE, err) < 0 ||
	    run_to_mask(d, t, err) < 0 || read_status(d, 0, &e, err) < 0)
		return -1;
	if (e != 0) {
		take_back(d, t, NULL);
		return engine_refused(d, (int)e, err);
	}
	t->progress = DOOR_STAYED;
	d->image = d->channel = 0;
	if (ptrace(PTRACE_DETACH, t->tid, 0, 0) < 0)
		return err_set(err, HARK_EGONE, errno,
			       "process %d ended meanwhile", d->pid);
	return 0;
}

/* -- Leaving -- */

/* Threads that a failure left inside the image. One that does not even stop
 * (the machine gives it no turn) needs the image to go home by. */
static int rescue(struct door *d, struct hark_err *err)
{
	int rc = 0;

	for (int i = 0; i < d->n_threads; i++)
		if (i != d->worker && d->threads[i].progress == DOOR_INSIDE &&
		    take_back(d, &d->threads[i], err) < 0)
			rc = -1;
	return rc;
}

static int anybody_inside(const struct door *d)
{
	for (int i = 0; i < d->n_threads; i++)
		if (i != d->worker && d->threads[i].progress == DOOR_INSIDE)
			return 1;
	return 0;
}

int door_leave(struct door *d, struct hark_err *err)
{
	int rc = rescue(d, err);

	if (rc < 0 && anybody_inside(d))
		return -1;
	if (d->worker < 0 && (d->image != 0 || d->channel != 0) &&
	    borrow_thread(d, err) < 0)
		rc = -1;
	if (d->worker >= 0) {
		if (remote_unmap(d, &d->channel, d->channel_len, err) < 0 ||
		    remote_unmap(d, &d->image, d->image_len, err) < 0)
			rc = -1;
		if (return_thread(d, err) < 0)
			rc = -1;
	}
	return rc;
}

/* -- A process that runs already -- */

/* Lets a thread run until its slot says how it went. It makes many system calls
 * on the way, and waits there: so no stop is needed. What stops it all the same
 * goes on as in tracee_to_call. */
static int run_to_answer(const struct door *d, const struct door_thread *t,
			 int slot, uint32_t *out, struct hark_err *err)
{
	int64_t limit = deadline(d);
	int deliver = 0, go = 1;

	for (int round = 0;; round++) {
		uint32_t e = 0;
		int status;

		if (go && ptrace(PTRACE_CONT, t->tid, 0, (long)deliver) < 0)
			break;
		go = waitpid(t->tid, &status, __WALL | WNOHANG) == t->tid;
		if (go && (!WIFSTOPPED(status) ||
			   tracee_event(status) == PTRACE_EVENT_EXEC))
			break;
		if (go)
			deliver =
			    tracee_event(status) == 0 ? WSTOPSIG(status) : 0;
		if (read_status(d, slot, &e, err) < 0)
			return -1;
		if (e != ENOSYS && !go) {
			*out = e;
			return 0;
		}
		if (tracee_now_ns() > limit)
			return err_set(err, HARK_ETIME, 0,
				       "thread %d did not answer in time",
				       t->tid);
		tracee_pause(round);
	}
	return err_set(err, HARK_EGONE, 0, "thread %d ended meanwhile", t->tid);
}

/* Out of the image: first the mask, then the registers (see D3: killed in
 * between, the thread is still inside and goes home by itself). */
int door_give_back(struct door *d, int number, struct hark_err *err)
{
	struct door_thread *t = &d->threads[number];

	if (tracee_set_mask(t->tid, t->mask, err) < 0 ||
	    tracee_set_regs(t->tid, &t->seen, err) < 0)
		return -1;
	t->progress = DOOR_HELD;
	return 0;
}

int door_send(struct door *d, int number, enum wire_mode mode, uint64_t vcpu,
	      struct hark_err *err)
{
	struct door_thread *t = &d->threads[number];
	uint32_t e = 0;

	if (write_slot(d, number, 0, mode, vcpu, err) < 0 ||
	    redirect(d, number, 0, err) < 0 ||
	    run_to_answer(d, t, 0, &e, err) < 0 ||
	    tracee_stop(t->tid, deadline(d), err) < 0 ||
	    (e == 0 && door_give_back(d, number, err) < 0))
		return -1;
	return (int)e;
}

int door_reenter(struct door *d, const struct door_place *at,
		 struct hark_err *err)
{
	struct wire_control c;

	d->image = at->image;
	d->image_len = page_up(at->image_len);
	d->channel = at->channel;
	d->channel_len = at->channel_len;
	if (open_memory(d, err) < 0 ||
	    remote_read(d, d->channel, &c, sizeof c, err) < 0)
		return -1;
	d->slots_at = c.slots_at;
	return find_gate(d, err);
}

/* Thread 0 makes the engine, with a place for everybody. */
static int make_engine(struct door *d, struct hark_err *err)
{
	struct door_thread *t = &d->threads[0];
	uint32_t e = 0;

	for (int i = 0; i < d->n_threads; i++)
		if (write_slot(d, i, i, i == 0 ? WIRE_ATTACH : WIRE_JOIN, 0,
			       err) < 0)
			return -1;
	if (redirect(d, 0, 0, err) < 0 || run_to_answer(d, t, 0, &e, err) < 0 ||
	    tracee_stop(t->tid, deadline(d), err) < 0)
		return -1;
	return e == 0 ? 0 : engine_refused(d, (int)e, err);
}

/* From here on each goes in as soon as it is let go. */
static int redirect_all(struct door *d, struct hark_err *err)
{
	const uint32_t modes[2] = {WIRE_JOIN, 0}; /* and status */

	if (remote_write(d, slot_of(d, 0) + offsetof(struct wire_slot, mode),
			 modes, sizeof modes, err) < 0)
		return -1;
	for (int i = 0; i < d->n_threads; i++)
		if (redirect(d, i, i, err) < 0)
			return -1;
	return 0;
}

/* If hark is killed before this, all go home natively; after it, none. */
static int say_inside(const struct door *d, struct hark_err *err)
{
	const struct wire_places *p = wire_places_of(drain_base(d->drain));
	const uint32_t inside = WIRE_STAY_INSIDE;

	return remote_write(d, p->stay + offsetof(struct wire_stay, state),
			    &inside, sizeof inside, err);
}

/* Nothing of the engine is left, if there is one. */
static void undo_engine(struct door *d)
{
	struct hark_err ignored;
	uint64_t vcpu = 0;

	if (wire_places_of(drain_base(d->drain))->stay == 0 ||
	    remote_read(d, slot_of(d, 0) + offsetof(struct wire_slot, vcpu),
			&vcpu, sizeof vcpu, &ignored) < 0 ||
	    rescue(d, &ignored) < 0)
		return;
	door_send(d, 0, WIRE_VANISH, vcpu, &ignored);
}

int door_attach(struct door *d, struct hark_err *err)
{
	if (make_engine(d, err) < 0 || redirect_all(d, err) < 0 ||
	    say_inside(d, err) < 0) {
		undo_engine(d);
		return -1;
	}
	for (int i = 0; i < d->n_threads; i++) {
		ptrace(PTRACE_DETACH, d->threads[i].tid, 0, 0);
		d->threads[i].progress = DOOR_STAYED;
	}
	d->image = d->channel = 0;
	return 0;
}
