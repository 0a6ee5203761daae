/* engine/leave.c - back to the program's own code, for good.
 *
 * A process that asks to be traced by its parent will be looked at register by
 * register, stopped at its own addresses, given breakpoints: it must be what
 * it seems to be. So it goes on natively, as a program does that is started
 * under a debugger. Only the one thread of a process can: dispositions are
 * shared.
 *
 * The way out is a trap, for the kernel's frame of it: sigreturn then sets
 * registers, mask and alternate stack at once. To be able to change the
 * alternate stack in there, the engine's is one that disarms itself. */
#include "engine/call_priv.h"

#include "engine/sighand.h"
#include "engine/signal_priv.h"
#include "inside/sys.h"

enum { TRACEME = 0, SET_SIZE = 8 };

static int is_alone(const struct vcpu *v)
{
	return v->sighand->refs == 1 &&
	       (v->is_process || v->engine->n_threads == 1);
}

void leave_trapped(struct caught *c)
{
	struct vcpu *v = c->v;
	struct sig_stack *stack = &c->uc->stack;

	sighand_leave(v->sighand);
	signal_get_state(v, c->uc->context.gregs);
	stack->sp = v->altstack.sp;
	stack->size = v->altstack.size;
	stack->flags = v->altstack.flags;
	if (v->altstack.size == 0)
		stack->flags |= STACK_DISABLE;
	c->uc->mask = v->mask;
	c->gs = v->gs_base;
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
	space_give_back_all(v->engine);
	thread_count(v);
	filter_install(v);
	sys_call3(SYS_NR_SIGALTSTACK, (uint64_t)&stack, 0, 0);
	v->leaving = 1;
	engine_deliver_trap();
}

/* It makes the call natively, then: what comes behind it would stop it. */
int64_t call_ptrace(struct vcpu *v, const struct call *c)
{
	if (c->args[0] != TRACEME || v->sent || v->call_dispatch ||
	    !is_alone(v))
		return call_pass(v, c);
	leave(v);
	return ENGINE_ABORTED;
}
