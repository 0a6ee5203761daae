/* engine/leave.c - back to the program's own code, for good.
 *
 * A process that is traced will be looked at register by register, stopped at
 * its own addresses, given breakpoints: it must be what it seems to be. So it
 * goes on natively, as a program does that is started under a debugger: when
 * it asks to be traced, or when the tracer is translated, too, and asks it
 * to before it attaches. (Then both have the same engine, copied by fork.)
 * Only the one thread of a process can leave: dispositions are shared. One
 * that was asked waits, at the end, until it is seized: it may be about to stop
 * itself, and a tracer that comes later than that sees another kind of stop.
 *
 * It is asked by a word in its memory first, looked at before each of its
 * calls: a signal would be left over if it stopped itself instead, and seen by
 * its tracer. Only one that makes no call gets the signal.
 *
 * The way out is a trap, for the kernel's frame of it: sigreturn then sets
 * registers, mask and alternate stack at once. To be able to change the
 * alternate stack in there, the engine's is one that disarms itself. */
#include "engine/call_priv.h"

#include "base/fmt.h"
#include "engine/sighand.h"
#include "engine/signal_priv.h"
#include "inside/sys.h"

enum { TRACEME = 0, ATTACH = 16, SEIZE = 0x4206 };
enum { NR_NANOSLEEP = 35, NR_VM_READV = 310, NR_VM_WRITEV = 311 };
enum { NR_KILL = 62, NR_SIGTIMEDWAIT = 128, NR_TKILL = 200 };
enum { CODE_QUEUE = -1, TRIES = 500, MOMENTS = 10 };
/* engine.left; 0, LET_GO, and WANTED + the thread are its tracer's to say. */
enum { LEFT = 1, STAYED, LET_GO, GONE, LEAVING, WANTED };
enum { BY_ITSELF = 1, ASKED = 2 }; /* vcpu.leaving */

static int is_alone(const struct vcpu *v)
{
	return v->sighand->refs == 1 &&
	       (v->is_process || v->engine->n_threads == 1);
}

static void wait_a_moment(void)
{
	const uint64_t moment[2] = {0, 200000};

	sys_call3(NR_NANOSLEEP, (uint64_t)moment, 0, 0);
}

static void native_mask(uint64_t mask)
{
	sys_call(SYS_NR_RT_SIGPROCMASK, MASK_SET, (uint64_t)&mask, 0, SET_SIZE,
		 0, 0);
}

static uint64_t secret(const struct engine *e)
{
	return (uint64_t)e ^ 0x6c65617665206974ull;
}

int leave_is_asked(const struct vcpu *v, const struct sig_info *info)
{
	return info->signo == SIG_TRAP && info->code == CODE_QUEUE &&
	       info->value == secret(v->engine);
}

/* The signal that asked, if the word was quicker. Another is sent again. */
static void drop_asking(const struct vcpu *v)
{
	const uint64_t set = SIG_BIT(SIG_TRAP);
	const uint64_t at_once[2] = {0};
	struct sig_info info = {0};

	if (sys_call(NR_SIGTIMEDWAIT, (uint64_t)&set, (uint64_t)&info,
		     (uint64_t)at_once, SET_SIZE, 0, 0) == SIG_TRAP &&
	    !leave_is_asked(v, &info))
		sys_call(SYS_NR_RT_TGSIGQUEUEINFO,
			 (uint64_t)sys_call3(SYS_NR_GETPID, 0, 0, 0), v->tid,
			 SIG_TRAP, (uint64_t)&info, 0, 0);
}

/* Who asked it to leave says when, for as long as that is to be expected. */
static void wait_for_tracer(struct vcpu *v)
{
	uint32_t *left = &v->engine->left;

	for (int i = 0; i < TRIES; i++) {
		if (__atomic_load_n(left, __ATOMIC_ACQUIRE) != LEFT)
			break;
		wait_a_moment();
	}
	drop_asking(v);
	__atomic_store_n(left, GONE, __ATOMIC_RELEASE);
}

void leave_trapped(struct caught *c)
{
	struct vcpu *v = c->v;
	struct sig_stack *stack = &c->uc->stack;

	/* Being asked again would not be for the engine. */
	native_mask(SIG_ALL);
	sighand_leave(v->sighand, SIG_ALL);
	limits_expose(v, 1);
	signal_get_state(v, c->uc->context.gregs);
	stack->sp = v->altstack.sp;
	stack->size = v->altstack.size;
	stack->flags = v->altstack.flags;
	if (v->altstack.size == 0)
		stack->flags |= STACK_DISABLE;
	c->uc->mask = v->mask;
	c->gs = v->gs_base;
	__atomic_store_n(&v->engine->left, LEFT, __ATOMIC_RELEASE);
	if (v->leaving == ASKED)
		wait_for_tracer(v);
}

/* Comes back only if a signal goes first. */
static void leave(struct vcpu *v, uint32_t how)
{
	struct sig_stack stack = {
	    .sp = (uint64_t)v + SLOT_VCPU,
	    .size = SLOT_SIGNAL - SLOT_VCPU,
	    .flags = STACK_AUTODISARM,
	};

	native_mask(SIG_ALL & ~SIG_SYNC);
	if (__atomic_load_n(&v->held, __ATOMIC_RELAXED)) {
		native_mask(signal_native(v));
		return;
	}
	thread_count(v);
	filter_install(v);
	sys_call3(SYS_NR_SIGALTSTACK, (uint64_t)&stack, 0, 0);
	v->leaving = how;
	engine_deliver_trap();
}

static int can_leave(const struct vcpu *v)
{
	return v->sent == 0 && !v->call_dispatch && is_alone(v);
}

/* -- Asking another process to leave --------------------------------------- */

void leave_if_possible(struct vcpu *v)
{
	if (v->engine->left != STAYED && can_leave(v))
		leave(v, ASKED);
	v->engine->left = STAYED;
}

/* What was said to its parent is not for a child; it may be wanted already. */
void leave_forked(struct vcpu *v)
{
	if (v->engine->left != WANTED + v->tid)
		v->engine->left = 0;
}

static int stops_itself(const struct vcpu *v, const struct call *c)
{
	const uint64_t *a = c->args;

	switch (c->nr) {
	case NR_KILL:
		return a[1] == SIG_STOP &&
		       a[0] == (uint64_t)sys_call3(SYS_NR_GETPID, 0, 0, 0);
	case NR_TKILL:
		return a[1] == SIG_STOP && a[0] == v->tid;
	case SYS_NR_TGKILL:
		return a[2] == SIG_STOP && a[1] == v->tid;
	default:
		return 0;
	}
}

/* One that stops itself waits for somebody: for its parent, maybe, who is about
 * to seize it, and would be in time if both were not slowed down. */
static void wait_to_be_wanted(const struct vcpu *v)
{
	for (int i = 0; i < MOMENTS; i++) {
		if (__atomic_load_n(&v->engine->left, __ATOMIC_RELAXED) != 0)
			break;
		wait_a_moment();
	}
}

int leave_is_wanted(struct vcpu *v, const struct call *c)
{
	uint32_t *left = &v->engine->left;
	uint32_t me = WANTED + v->tid;

	if (stops_itself(v, c))
		wait_to_be_wanted(v);
	if (__atomic_load_n(left, __ATOMIC_RELAXED) != me || v->restart ||
	    !can_leave(v) ||
	    !__atomic_compare_exchange_n(left, &me, LEAVING, 0,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return 0;
	leave(v, ASKED);
	__atomic_store_n(left, STAYED, __ATOMIC_RELEASE);
	return 1;
}

static int read_theirs(uint64_t pid, const void *at, void *out, uint64_t len)
{
	const uint64_t to[2] = {(uint64_t)out, len};
	const uint64_t from[2] = {(uint64_t)at, len};

	return sys_call(NR_VM_READV, pid, (uint64_t)to, 1, (uint64_t)from, 1,
			0) == (int64_t)len
		   ? 0
		   : -1;
}

/* 0: the engine of process pid, at the same address as e, is in *out. */
static int peek(uint64_t pid, const struct engine *e, struct engine *out)
{
	if (read_theirs(pid, e, out, sizeof *out) < 0)
		return -1;
	return out->channel == e->channel && out->memory == e->memory &&
		       out->image_start == e->image_start
		   ? 0
		   : -1;
}

/* A process that is stopped takes no signal; it would find it later, when the
 * tracer sees it, too. The state stands behind the name, in brackets; what
 * cannot be read counts as stopped. */
static int is_stopped(uint64_t pid)
{
	enum { NR_READ = 0, NR_OPEN = 2, NR_CLOSE = 3, CLOEXEC = 02000000 };
	char path[32], text[256] = {0};
	int64_t fd, n;
	char state = 0;

	fmt_text(path, sizeof path, "/proc/%u/stat", (unsigned)pid);
	fd = sys_call3(NR_OPEN, (uint64_t)path, CLOEXEC, 0);
	if (fd < 0)
		return 1;
	n = sys_call3(NR_READ, (uint64_t)fd, (uint64_t)text, sizeof text);
	sys_call3(NR_CLOSE, (uint64_t)fd, 0, 0);
	for (int64_t i = 0; i + 2 < n; i++)
		if (text[i] == ')')
			state = text[i + 2];
	return state == 0 || state == 'T' || state == 't';
}

/* What the engine of process pid says when it has come to LEFT or the like, or
 * after n moments; STAYED if it cannot be read. */
static uint32_t listen(uint64_t pid, const struct engine *e, int n)
{
	struct engine theirs = {0};

	for (int i = 0; i < n; i++) {
		wait_a_moment();
		if (peek(pid, e, &theirs) < 0)
			return STAYED;
		if (theirs.left == LEFT || theirs.left == STAYED ||
		    theirs.left == GONE)
			break;
	}
	return theirs.left;
}

static int tell(uint64_t pid, const struct engine *e, uint32_t state)
{
	const uint64_t from[2] = {(uint64_t)&state, sizeof state};
	const uint64_t to[2] = {(uint64_t)&e->left, sizeof state};

	return sys_call(NR_VM_WRITEV, pid, (uint64_t)from, 1, (uint64_t)to, 1,
			0) == sizeof state;
}

static int send_asking(const struct engine *e, uint64_t pid)
{
	struct sig_info info = {
	    .signo = SIG_TRAP, .code = CODE_QUEUE, .value = secret(e)};

	return sys_call(SYS_NR_RT_TGSIGQUEUEINFO, pid, pid, SIG_TRAP,
			(uint64_t)&info, 0, 0) == 0;
}

/* 1: process pid has left, and waits to be let go. If it stopped instead, it
 * must not leave later, by a trap that its tracer would see. */
static int ask_to_leave(const struct engine *e, uint64_t pid)
{
	const uint32_t wanted = WANTED + (uint32_t)pid;
	struct engine theirs = {0};
	uint32_t state;

	if (pid == (uint64_t)sys_call3(SYS_NR_GETPID, 0, 0, 0) ||
	    peek(pid, e, &theirs) < 0 || theirs.left || theirs.n_threads != 1 ||
	    !tell(pid, e, wanted))
		return 0;
	state = is_stopped(pid) ? wanted : listen(pid, e, MOMENTS);
	if (state == wanted && is_stopped(pid)) {
		tell(pid, e, 0);
		return 0;
	}
	if (state == LEAVING || (state == wanted && send_asking(e, pid)))
		state = listen(pid, e, TRIES);
	if (state != LEFT)
		tell(pid, e, STAYED);
	return state == LEFT;
}

static void let_go(const struct engine *e, uint64_t pid)
{
	if (tell(pid, e, LET_GO) && listen(pid, e, TRIES) == GONE)
		wait_a_moment(); /* it has a few instructions to go */
}

/* ATTACH stops it: it must be gone before. SEIZE does not. */
static int64_t attach(struct vcpu *v, const struct call *c)
{
	const uint64_t pid = (uint32_t)c->args[1];
	int left = ask_to_leave(v->engine, pid);
	int64_t ret;

	if (left && c->args[0] == ATTACH)
		let_go(v->engine, pid);
	ret = call_pass(v, c);
	if (left && c->args[0] == SEIZE)
		let_go(v->engine, pid);
	return ret;
}

/* TRACEME is called natively, then: what comes behind it would stop it. */
int64_t call_ptrace(struct vcpu *v, const struct call *c)
{
	if (c->args[0] == ATTACH || c->args[0] == SEIZE)
		return attach(v, c);
	if (c->args[0] != TRACEME || !can_leave(v))
		return call_pass(v, c);
	leave(v, BY_ITSELF);
	return ENGINE_ABORTED;
}
