/* engine/sigcall.c - the calls by which the program governs its signals.
 *
 * Mask, alternate stack and dispositions are kept by the engine as the program
 * set them; the kernel gets its share through calls that a held signal stops
 * (engine_guest_call), for they may open the mask. */
#include "engine/call_priv.h"

#include "engine/sighand.h"
#include "engine/signal_priv.h"
#include "engine/tape.h"
#include "inside/mem.h"
#include "inside/sys.h"

enum { MIN_STACK = 2048 };
enum {
	NR_SUSPEND = 130,
	NR_PSELECT = 270,
	NR_PPOLL = 271,
	NR_EPOLL_PWAIT = 281,
	NR_PGETEVENTS = 333,
	NR_URING_ENTER = 426,
	NR_EPOLL_PWAIT2 = 441,
};

void signal_return(const struct sig_frame *native);

static int get(void *to, uint64_t from, uint64_t len)
{
	return guest_copy(to, (const void *)from, len) == 0 ? 0 : -1;
}

static int put(uint64_t to, const void *from, uint64_t len)
{
	return guest_copy((void *)to, from, len) == 0 ? 0 : -1;
}

/* -- Dispositions ---------------------------------------------------------- */

int64_t call_sigaction(struct vcpu *v, const struct call *c)
{
	struct sig_action new, old;
	uint64_t sig = (uint32_t)c->args[0], from = c->args[1];
	uint64_t to = c->args[2];

	if (c->args[3] != SET_SIZE)
		return -ERR_INVAL;
	if (from != 0 && get(&new, from, sizeof new) < 0)
		return -ERR_FAULT;
	if (sig < 1 || sig > SIG_MAX ||
	    (from != 0 && (SIG_BIT(sig) & SIG_UNBLOCKABLE)))
		return -ERR_INVAL;
	sighand_set(v->sighand, (int)sig, from != 0 ? &new : 0, &old);
	if (from != 0 && new.handler == SIG_IS_IGNORED)
		sent_drop(v, SIG_BIT(sig));
	return to != 0 && put(to, &old, sizeof old) < 0 ? -ERR_FAULT : 0;
}

/* -- The mask -------------------------------------------------------------- */

static int64_t native_mask(struct vcpu *v, uint64_t mask)
{
	uint64_t native = mask & ~SIG_SYNC;
	uint64_t args[6] = {MASK_SET, (uint64_t)&native, 0, SET_SIZE};

	return engine_guest_call(v, SYS_NR_RT_SIGPROCMASK, args);
}

static int64_t change_mask(struct vcpu *v, uint32_t how, uint64_t set)
{
	uint64_t mask = v->mask;
	int64_t answer;

	set &= ~SIG_UNBLOCKABLE;
	if (how == MASK_BLOCK)
		mask |= set;
	else if (how == MASK_UNBLOCK)
		mask &= ~set;
	else if (how == MASK_SET)
		mask = set;
	else
		return -ERR_INVAL;
	answer = native_mask(v, mask);
	if (answer == 0) {
		v->mask = mask;
		signal_recheck(v);
		sent_pull(v);
	}
	return answer;
}

int64_t call_sigprocmask(struct vcpu *v, const struct call *c)
{
	uint64_t set, old = v->mask, from = c->args[1], to = c->args[2];
	int64_t answer = 0;

	if (c->args[3] != SET_SIZE)
		return -ERR_INVAL;
	if (from != 0) {
		if (get(&set, from, sizeof set) < 0)
			return -ERR_FAULT;
		answer = change_mask(v, (uint32_t)c->args[0], set);
	}
	if (answer == 0 && to != 0 && put(to, &old, sizeof old) < 0)
		return -ERR_FAULT;
	return answer;
}

int64_t call_sigpending(struct vcpu *v, const struct call *c)
{
	uint64_t set = 0, args[6] = {(uint64_t)&set, SET_SIZE};
	int64_t answer;

	if (c->args[1] > SET_SIZE)
		return -ERR_INVAL;
	answer = engine_guest_call(v, c->nr, args);
	if (answer != 0)
		return answer;
	set |= v->sent | sent_elsewhere(v);
	return put(c->args[0], &set, c->args[1]) < 0 ? -ERR_FAULT : 0;
}

/* The kernel's own call takes a signal whether it is blocked or not. Should it
 * be one by which the engine asks itself for something, the handler is to have
 * it. */
static int64_t wait_for_signal(struct vcpu *v, const struct call *c,
			       uint64_t set, struct sig_info *info)
{
	struct call changed = *c;
	int64_t answer;

	changed.args[1] = (uint64_t)info;
	answer = call_shown(v, &changed, v->mask & set);
	sent_unmark(info);
	if (answer != SIG_TRAP || !signal_is_engines(v, info))
		return answer;
	v->disturbed = 1;
	signal_give_back(v, info);
	return -ERR_INTR;
}

int64_t call_sigtimedwait(struct vcpu *v, const struct call *c)
{
	struct sig_info info;
	uint64_t set = 0;
	int64_t answer;

	if (c->args[3] != SET_SIZE || get(&set, c->args[0], sizeof set) < 0)
		return call_pass(v, c);
	do {
		answer = sent_take(v, set, &info);
		if (answer == 0)
			answer = wait_for_signal(v, c, set, &info);
	} while (answer == -ERR_INTR && !signal_is_held(v) && v->disturbed);
	if (answer > 0 && c->args[1] != 0 &&
	    put(c->args[1], &info, sizeof info) < 0)
		return -ERR_FAULT;
	return answer;
}

/* -- Waiting with another mask --------------------------------------------- */

/* A call's arguments with the mask replaced by what the kernel may have. */
struct wait {
	struct call call;
	uint64_t mask;	  /* the program's */
	uint64_t native;  /* .call points to it */
	uint64_t pair[3]; /* for calls that take a pointer and a size */
};

/* The mask behind argument i, of size bytes. 1: there is one. */
static int take_mask(struct wait *w, uint64_t *at, uint64_t size)
{
	if (*at == 0 || size != SET_SIZE || get(&w->mask, *at, SET_SIZE) < 0)
		return 0;
	w->mask &= ~SIG_UNBLOCKABLE;
	w->native = w->mask & ~SIG_SYNC;
	*at = (uint64_t)&w->native;
	return 1;
}

/* Argument i points to { mask, size, more }. */
static int take_pair(struct wait *w, unsigned i, uint64_t len)
{
	uint64_t *arg = &w->call.args[i];

	if (*arg == 0 || get(w->pair, *arg, len) < 0 ||
	    !take_mask(w, &w->pair[0], (uint32_t)w->pair[1]))
		return 0;
	*arg = (uint64_t)w->pair;
	return 1;
}

static int take_wait(struct wait *w)
{
	enum { EXT_ARG = 8 };
	uint64_t *a = w->call.args;

	switch (w->call.nr) {
	case NR_SUSPEND:
		return take_mask(w, &a[0], a[1]);
	case NR_PSELECT:
	case NR_PGETEVENTS:
		return take_pair(w, 5, 16);
	case NR_PPOLL:
		return take_mask(w, &a[3], a[4]);
	case NR_EPOLL_PWAIT:
	case NR_EPOLL_PWAIT2:
		return take_mask(w, &a[4], a[5]);
	case NR_URING_ENTER:
		if (!(a[3] & EXT_ARG))
			return take_mask(w, &a[4], a[5]);
		return a[5] == sizeof w->pair && take_pair(w, 4, a[5]);
	default:
		return 0;
	}
}

/* The mask counts for as long as the kernel waits with it. If a signal ends
 * the wait, it counts for the delivery, too, and the frame holds the other. */
int64_t call_with_mask(struct vcpu *v, const struct call *c)
{
	struct wait w = {.call = *c};
	int64_t answer;

	if (!take_wait(&w))
		return call_plain(v, c);
	v->temp_mask = w.mask;
	v->has_temp_mask = 1;
	do {
		signal_recheck(v);
		if ((v->held & ~(uint32_t)HELD_AGAIN) == HELD_SENT)
			return -ERR_INTR;
		w.native = (w.mask & ~SIG_SYNC) | sent_show(v, c, w.mask);
		answer = call_pass(v, &w.call);
		if (v->shown != 0)
			sent_hide(v);
	} while (answer == -ERR_INTR && !signal_is_held(v) && v->disturbed);
	if (answer != -ERR_INTR || !v->held) {
		v->has_temp_mask = 0;
		signal_recheck(v);
	}
	return answer;
}

/* -- The alternate stack --------------------------------------------------- */

static int64_t set_altstack(struct vcpu *v, const struct sig_stack *s,
			    uint64_t sp)
{
	uint32_t mode = s->flags & ~STACK_AUTODISARM;

	if (frame_on_altstack(v, sp))
		return -ERR_PERM;
	if (mode != STACK_DISABLE && mode != STACK_ONSTACK && mode != 0)
		return -ERR_INVAL;
	if (mode == STACK_DISABLE) {
		v->altstack = (struct vcpu_altstack){.flags = s->flags};
		return 0;
	}
	if (s->size < MIN_STACK)
		return -ERR_NOMEM;
	v->altstack.sp = s->sp;
	v->altstack.size = s->size;
	v->altstack.flags = s->flags;
	return 0;
}

static void get_altstack(const struct vcpu *v, struct sig_stack *out)
{
	out->sp = v->altstack.sp;
	out->size = v->altstack.size;
	out->pad = 0;
	out->flags = v->altstack.flags & STACK_AUTODISARM;
	if (v->altstack.size == 0)
		out->flags |= STACK_DISABLE;
	else if (frame_on_altstack(v, v->gpr[RSP]))
		out->flags |= STACK_ONSTACK;
}

int64_t call_sigaltstack(struct vcpu *v, const struct call *c)
{
	struct sig_stack new, old;
	int64_t answer = 0;

	if (c->args[0] != 0 && get(&new, c->args[0], sizeof new) < 0)
		return -ERR_FAULT;
	get_altstack(v, &old);
	if (c->args[0] != 0)
		answer = set_altstack(v, &new, v->gpr[RSP]);
	if (answer == 0 && c->args[1] != 0 &&
	    put(c->args[1], &old, sizeof old) < 0)
		return -ERR_FAULT;
	return answer;
}

/* -- sigreturn ------------------------------------------------------------- */

/* What sigreturn changes in a vcpu, so that it can be taken back. */
struct before {
	int64_t gregs[GREG_MAX];
	uint64_t mask;
	struct vcpu_altstack altstack;
};

static void restore(struct vcpu *v, const struct sig_uc *uc)
{
	int64_t g[GREG_MAX];
	uint64_t ss, sp = v->gpr[RSP];

	memcpy(g, uc->context.gregs, sizeof g);
	g[GREG_EFL] = (g[GREG_EFL] & FLAG_RESTORED) |
		      ((int64_t)v->rflags & ~FLAG_RESTORED);
	g[GREG_CSGSFS] |= 3; /* never the kernel's segments */
	ss = greg_ss(g) | 3;
	if (!(uc->flags & UC_STRICT_SS) && greg_cs(g) == CS_64)
		ss = SS_USER;
	g[GREG_CSGSFS] = (int64_t)(greg_cs(g) | ss << 48);
	signal_set_state(v, g);
	v->mask = uc->mask & ~SIG_UNBLOCKABLE;
	set_altstack(v, &uc->stack, sp);
}

/* The kernel reads the extended registers from the program's own frame, and
 * everything else from one that leads to the dispatcher. */
static void make_native(const struct vcpu *v, const struct sig_uc *uc,
			struct sig_frame *out)
{
	int64_t *g = out->uc.context.gregs;

	out->uc.flags = uc->flags | UC_SS | UC_STRICT_SS;
	out->uc.stack.sp = (uint64_t)v + SLOT_VCPU;
	out->uc.stack.size = SLOT_SIGNAL - SLOT_VCPU;
	out->uc.mask = v->mask & ~SIG_SYNC;
	out->uc.context.fpstate = uc->context.fpstate;
	g[GREG_RIP] = (int64_t)engine_resume_rip();
	g[GREG_RSP] = (int64_t)v->stack;
	g[GREG_EFL] = 0x202;
	g[GREG_CSGSFS] = (int64_t)(CS_64 | (uint64_t)SS_USER << 48);
}

static int64_t bad_frame(struct vcpu *v)
{
	struct sig_info info = {.signo = SIG_SEGV, .code = CODE_KERNEL};

	v->gpr[RAX] = 0;
	v->gpr[RCX] = v->pc + SYSCALL_LEN;
	v->gpr[R11] = v->rflags;
	v->pc += SYSCALL_LEN;
	signal_raise(v, &info, (int64_t)v->trapno, (int64_t)v->error,
		     (int64_t)v->cr2);
	return CALL_DONE;
}

int64_t call_sigreturn(struct vcpu *v)
{
	struct before before = {.mask = v->mask, .altstack = v->altstack};
	struct sig_frame native = {0};
	struct sig_uc uc;

	if (get(&uc, v->gpr[RSP], sizeof uc) < 0)
		return bad_frame(v);
	signal_get_state(v, before.gregs);
	if (v->tape)
		tape_note(v, WIRE_STATE_RETURN, v->pc, 0);
	restore(v, &uc);
	signal_recheck(v);
	make_native(v, &uc, &native);
	signal_return(&native);
	/* A signal came first. */
	signal_set_state(v, before.gregs);
	v->mask = before.mask;
	v->altstack = before.altstack;
	signal_recheck(v);
	return ENGINE_ABORTED;
}
