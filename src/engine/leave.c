/* engine/leave.c - back to the program's own code, for good.
 *
 * A process that is traced will be looked at register by register, stopped at
 * its own addresses, given breakpoints: it must be what it seems to be. So it
 * goes on natively, as a program does that is started under a debugger: when
 * it asks to be traced, or when the tracer is translated, too, and asks it by a
 * signal before it attaches. (Then both have the same engine, copied by fork.)
 * Only the one thread of a process can leave: dispositions are shared.
 *
 * The way out is a trap, for the kernel's frame of it: sigreturn then sets
 * registers, mask and alternate stack at once. To be able to change the
 * alternate stack in there, the engine's is one that disarms itself. */
#include "engine/call_priv.h"

#include "base/fmt.h"
#include "engine/sighand.h"
#include "engine/signal_priv.h"
#include "inside/sys.h"

enum { TRACEME = 0, ATTACH = 16, SEIZE = 0x4206, SET_SIZE = 8 };
enum { NR_NANOSLEEP = 35, NR_VM_READV = 310, CODE_QUEUE = -1 };
enum { LEFT = 1, STAYED = 2 }; /* engine.left */

static int is_alone(const struct vcpu *v)
{
	return v->sighand->refs == 1 &&
	       (v->is_process || v->engine->n_threads == 1);
}

void leave_trapped(struct caught *c)
{
	struct vcpu *v = c->v;
	struct sig_stack *stack = &c->uc->stack;

	sighand_leave(v->sighand, SIG_ALL);
	signal_get_state(v, c->uc->context.gregs);
	stack->sp = v->altstack.sp;
	stack->size = v->altstack.size;
	stack->flags = v->altstack.flags;
	if (v->altstack.size == 0)
		stack->flags |= STACK_DISABLE;
	c->uc->mask = v->mask;
	c->gs = v->gs_base;
	__atomic_store_n(&v->engine->left, LEFT, __ATOMIC_RELEASE);
}

static void native_mask(uint64_t mask)
{
	sys_call(SYS_NR_RT_SIGPROCMASK, SIG_SETMASK_, (uint64_t)&mask, 0,
		 SET_SIZE, 0, 0);
}

/* Comes back only if a signal goes first. */
static void leave(struct vcpu *v)
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
	v->leaving = 1;
	engine_deliver_trap();
}

static int can_leave(const struct vcpu *v)
{
	return v->sent == 0 && !v->call_dispatch && is_alone(v);
}

/* -- Asking another process to leave --------------------------------------- */

static uint64_t secret(const struct engine *e)
{
	return (uint64_t)e ^ 0x6c65617665206974ull;
}

int leave_is_asked(const struct vcpu *v, const struct sig_info *info)
{
	return info->signo == SIG_TRAP && info->code == CODE_QUEUE &&
	       info->value == secret(v->engine);
}

void leave_if_possible(struct vcpu *v)
{
	if (can_leave(v))
		leave(v);
	v->engine->left = STAYED;
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

static void ask_to_leave(const struct engine *e, uint64_t pid)
{
	enum { TRIES = 500 };
	const uint64_t moment[2] = {0, 200000};
	struct sig_info info = {
	    .signo = SIG_TRAP, .code = CODE_QUEUE, .value = secret(e)};
	struct engine theirs = {0};

	if (pid == (uint64_t)sys_call3(SYS_NR_GETPID, 0, 0, 0) ||
	    peek(pid, e, &theirs) < 0 || theirs.left || theirs.n_threads != 1 ||
	    is_stopped(pid) ||
	    sys_call(SYS_NR_RT_TGSIGQUEUEINFO, pid, pid, SIG_TRAP,
		     (uint64_t)&info, 0, 0) != 0)
		return;
	for (int i = 0; i < TRIES; i++) {
		sys_call3(NR_NANOSLEEP, (uint64_t)moment, 0, 0);
		if (peek(pid, e, &theirs) < 0 || theirs.left)
			break;
	}
	/* It has a few instructions to go. */
	sys_call3(NR_NANOSLEEP, (uint64_t)moment, 0, 0);
}

/* TRACEME is called natively, then: what comes behind it would stop it. */
int64_t call_ptrace(struct vcpu *v, const struct call *c)
{
	if (c->args[0] == ATTACH || c->args[0] == SEIZE)
		ask_to_leave(v->engine, (uint32_t)c->args[1]);
	if (c->args[0] != TRACEME || !can_leave(v))
		return call_pass(v, c);
	leave(v);
	return ENGINE_ABORTED;
}
