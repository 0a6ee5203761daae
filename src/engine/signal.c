/* engine/signal.c - the program's signals, delivered on its own state.
 *
 * The kernel enters engine_handler (handler.S) for every signal that the
 * program handles, for every fault, and for what would end the process with a
 * core file. Where the thread was then decides what is done:
 *
 *	AT_CACHE    the state is recovered, the signal delivered at once
 *	AT_STEP	    the same; the state is there already
 *	AT_WINDOW   held; the thread is sent back to the dispatcher
 *	AT_ENGINE   held; the dispatcher will see it
 *	AT_DELIVER  the dispatcher has seen it: a trap made this frame, the
 *		    state is in the vcpu
 *
 * To deliver is to write a frame on the program's stack (frame.c), to make the
 * vcpu's state the handler's, and to leave the engine's handler for the
 * dispatcher. Extended registers and masks come and go with the kernel's own
 * frame.
 *
 * S1  One signal can be held, since all others are blocked then. The kernel
 *     keeps their order.
 * S2  Synchronous signals are not blocked natively, but in system calls
 *     (sent.c). One that was sent and that the program blocks is kept in the
 *     vcpu (.sent).
 * S3  A fault goes first: a held signal is given back to the kernel.
 * S4  A signal whose default is taken is sent again to the thread itself,
 *     natively at its default: the kernel does the rest. */
#include "engine/signal_priv.h"

#include "engine/join.h"
#include "engine/place.h"
#include "engine/sighand.h"
#include "engine/tape.h"
#include "engine/ways.h"
#include "inside/mem.h"
#include "inside/sys.h"

enum { RAX = 0, RCX = 1, R11 = 11 };
enum { NR_RESTART = 219, ANSWER_FAULT = -14, ANSWER_INTR = -4 };

/* -- State -- */

void signal_get_state(const struct vcpu *v, int64_t gregs[GREG_MAX])
{
	engine_get_gregs(v, gregs);
	gregs[GREG_CSGSFS] = (int64_t)(v->cs | (uint64_t)v->ss << 48);
	gregs[GREG_EFL] &= ~FLAG_TF;
	if (v->stepping & STEP_TRAP)
		gregs[GREG_EFL] |= FLAG_TF;
}

void signal_set_state(struct vcpu *v, const int64_t gregs[GREG_MAX])
{
	engine_set_gregs(v, gregs);
	v->rflags &= ~(uint64_t)(FLAG_TF | FLAG_RF);
	v->cs = greg_cs(gregs);
	v->ss = greg_ss(gregs);
	v->stepping = gregs[GREG_EFL] & FLAG_TF ? STEP_TRAP : 0;
	if (v->cs != CS_64)
		v->stepping |= STEP_MODE;
}

uint64_t signal_native(const struct vcpu *v)
{
	if (v->held & HELD_SIGNAL)
		return SIG_ALL & ~SIG_SYNC;
	return v->mask & ~SIG_SYNC;
}

static void set_held(struct vcpu *v, uint32_t bits)
{
	__atomic_fetch_or(&v->held, bits, __ATOMIC_SEQ_CST);
}

static void clear_held(struct vcpu *v, uint32_t bits)
{
	__atomic_fetch_and(&v->held, ~bits, __ATOMIC_SEQ_CST);
}

void signal_recheck(struct vcpu *v)
{
	uint64_t mask = v->has_temp_mask ? v->temp_mask : v->mask;

	if (v->sent & ~mask)
		set_held(v, HELD_SENT);
	else
		clear_held(v, HELD_SENT);
}

int signal_is_held(struct vcpu *v)
{
	return (v->held & ~(uint32_t)HELD_AGAIN) != 0;
}

static void native_mask(uint64_t how, uint64_t mask)
{
	sys_call(SYS_NR_RT_SIGPROCMASK, how, (uint64_t)&mask, 0, SET_SIZE, 0,
		 0);
}

void signal_give_back(struct vcpu *v, const struct sig_info *info)
{
	sys_call(SYS_NR_RT_TGSIGQUEUEINFO,
		 (uint64_t)sys_call3(SYS_NR_GETPID, 0, 0, 0), v->tid,
		 (uint64_t)info->signo, (uint64_t)info, 0, 0);
}

static void give_back_held(struct vcpu *v)
{
	struct sig_info info;

	if (!(v->held & HELD_SIGNAL))
		return;
	memcpy(&info, v->held_info, sizeof info);
	clear_held(v, HELD_SIGNAL);
	signal_give_back(v, &info);
}

/* -- Engine trouble -- */

static char *put_text(char *to, const char *text)
{
	while (*text)
		*to++ = *text++;
	return to;
}

static char *put_hex(char *to, uint64_t value)
{
	for (int shift = 60; shift >= 0; shift -= 4)
		*to++ = "0123456789abcdef"[value >> shift & 15];
	return to;
}

static _Noreturn void fault_in_engine(const struct caught *c)
{
	const int64_t *g = c->uc->context.gregs;
	uint64_t image = c->v->engine->image_start;
	char text[160], *at = text;

	at = put_text(at, "signal 0x");
	at = put_hex(at, (uint64_t)c->info->signo);
	at = put_text(at, " in the engine at image+0x");
	at = put_hex(at, (uint64_t)g[GREG_RIP] - image);
	at = put_text(at, ", address 0x");
	at = put_hex(at, c->info->addr);
	at = put_text(at, ", guest pc 0x");
	at = put_hex(at, c->v->pc);
	*at = '\0';
	engine_die(text);
}

/* -- Leaving the engine's handler -- */

void signal_go_on(struct caught *c)
{
	int64_t *g = c->uc->context.gregs;

	g[GREG_RIP] = (int64_t)engine_resume_rip();
	g[GREG_RSP] = (int64_t)c->v->stack;
	g[GREG_EFL] = 0x202;
	g[GREG_CSGSFS] = (int64_t)(CS_64 | (uint64_t)SS_USER << 48);
	c->uc->mask = signal_native(c->v);
	c->gs = vcpu_gs(c->v);
}

/* S4. The thread goes back into the program's own code, but no further: the
 * signal that waits ends the process there, and its core file shows the
 * program's registers. */
static void end_process(struct caught *c, const struct sig_info *info)
{
	struct vcpu *v = c->v;
	int sig = info->signo;

	if (v->tape)
		tape_end(v, WIRE_END_SIGNAL, info,
			 (void *)c->uc->context.fpstate,
			 frame_fp_length((void *)c->uc->context.fpstate));
	freeze_others(v);
	native_mask(MASK_BLOCK, SIG_BIT(sig));
	sighand_default(sig);
	signal_give_back(v, info);
	signal_get_state(v, c->uc->context.gregs);
	c->uc->mask = (SIG_ALL & ~SIG_UNBLOCKABLE) & ~SIG_BIT(sig);
	c->gs = v->gs_base;
}

static void take_default(struct caught *c, const struct sig_info *info)
{
	uint64_t bit = SIG_BIT(info->signo);

	if (bit & SIG_CORE) {
		end_process(c, info);
		return;
	}
	signal_give_back(c->v, info);
	native_mask(MASK_UNBLOCK, bit); /* now it happens */
	native_mask(MASK_BLOCK, bit);
	c->v->has_temp_mask = 0;
	signal_go_on(c);
}

/* -- Delivering -- */

/* -1: the program's stack cannot be written. */
static int deliver_by(struct caught *c, const struct sig_action *act,
		      const struct sig_info *info)
{
	struct wire_run *run = c->v->engine->run;
	uint64_t pc = c->v->pc;

	join_interrupt(c->v, act);
	if (frame_push(c, act, info) < 0)
		return -1;
	if (c->v->tape)
		tape_note(c->v, WIRE_STATE_SIGNAL, pc, info);
	if (run) {
		engine_count(&run->stats.signals, 1);
		engine_count(&run->stats.exits[WIRE_EXIT_SIGNAL], 1);
	}
	signal_recheck(c->v);
	signal_go_on(c);
	return 0;
}

/* The program handles faults: from now on it is shown also those flags that it
 * does not look at otherwise. What is translated already is so without. */
static void show_flags(struct engine *e)
{
	if (__atomic_exchange_n(&e->exact_flags, 1, __ATOMIC_SEQ_CST) == 0)
		__atomic_store_n(&e->old_code, 1, __ATOMIC_SEQ_CST);
}

static int deliver_forced(struct caught *c, const struct sig_info *info)
{
	struct vcpu *v = c->v;
	struct sig_action act = {0};

	if (!(v->mask & SIG_BIT(info->signo)))
		act = sighand_use(v->sighand, info->signo);
	if (act.handler > SIG_IS_IGNORED) {
		if (v->tape)
			show_flags(v->engine);
		return deliver_by(c, &act, info);
	}
	end_process(c, info);
	return 0;
}

/* No place for the frame is a fault itself, and the last one if it happens to
 * that. */
static void deliver_failed(struct caught *c, int sig)
{
	struct sig_info info = {.signo = SIG_SEGV, .code = CODE_KERNEL};

	if (sig == SIG_SEGV || deliver_forced(c, &info) < 0)
		end_process(c, &info);
}

void signal_deliver(struct caught *c, const struct sig_info *info)
{
	struct sig_action act = sighand_use(c->v->sighand, info->signo);

	if (act.handler == SIG_IS_DEFAULT) {
		take_default(c, info);
	} else if (act.handler == SIG_IS_IGNORED) {
		c->v->has_temp_mask = 0;
		signal_go_on(c);
	} else if (deliver_by(c, &act, info) < 0) {
		deliver_failed(c, info->signo);
	}
}

void signal_deliver_fault(struct caught *c, const struct sig_info *info)
{
	struct vcpu *v = c->v;

	if (v->engine->run)
		engine_count(&v->engine->run->stats.exits[WIRE_EXIT_FAULT], 1);
	give_back_held(v);
	v->has_temp_mask = 0;
	if (deliver_forced(c, info) < 0)
		deliver_failed(c, info->signo);
}

/* -- Signals from elsewhere -- */

/* S1 */
static void hold(struct caught *c)
{
	struct vcpu *v = c->v;

	if (SIG_BIT(c->info->signo) & SIG_SYNC) {
		sent_keep(v, c->info); /* S2 */
		sent_offer(v);
		return;
	}
	if (v->held & HELD_SIGNAL) {
		signal_give_back(v, c->info);
	} else {
		memcpy(v->held_info, c->info, sizeof *c->info);
		set_held(v, HELD_SIGNAL);
	}
	c->uc->mask = SIG_ALL & ~SIG_SYNC;
}

/* The kernel has interrupted a system call and wants it made again: the
 * program sees what the instruction has done to its registers already. */
static void show_restart(struct vcpu *v, const int64_t *g)
{
	if (!place_is_call((uint64_t)g[GREG_RIP]) ||
	    (uint64_t)g[GREG_RCX] != place_call_end())
		return;
	if (v->tape)
		tape_note(v, WIRE_STATE_STEP, v->pc, 0);
	v->gpr[RCX] = v->pc + SYSCALL_LEN;
	v->gpr[R11] = v->rflags;
	if (g[GREG_RAX] == NR_RESTART)
		v->gpr[RAX] = NR_RESTART;
}

static void start_over(struct caught *c)
{
	int64_t *g = c->uc->context.gregs;

	show_restart(c->v, g);
	g[GREG_RIP] = (int64_t)engine_redo((uint64_t)g[GREG_RIP]);
	c->v->step_kind = 0;
	c->gs = vcpu_gs(c->v);
}

static int is_open(const struct vcpu *v, int sig)
{
	return !(v->mask & SIG_BIT(sig));
}

/* A call that is passed on as it is (.passing): before it and behind it the
 * state is known, so that the signal need not be held. */
static int deliver_at_call(struct caught *c)
{
	struct vcpu *v = c->v;
	const int64_t *g = c->uc->context.gregs;
	int before = place_is_call((uint64_t)g[GREG_RIP]);
	int behind = (uint64_t)g[GREG_RIP] == place_call_end();

	if (!v->passing || v->held || !is_open(v, c->info->signo) ||
	    (!before && !behind) || (behind && g[GREG_RAX] == ANSWER_FAULT))
		return 0;
	v->passing = 0;
	if (before)
		show_restart(v, g);
	else
		syscall_finish(v, g[GREG_RAX]);
	signal_deliver(c, c->info);
	return 1;
}

/* Behind sigreturn, for one: a program that is interrupted faster than signals
 * can be held and delivered would never get any further. */
static int deliver_at_rest(struct caught *c)
{
	struct vcpu *v = c->v;

	if (v->held || !is_open(v, c->info->signo) ||
	    !place_is_rest((uint64_t)c->uc->context.gregs[GREG_RIP]))
		return 0;
	v->step_kind = 0;
	signal_deliver(c, c->info);
	return 1;
}

/* A system call that was interrupted for nothing is made again. From now on the
 * kernel knows that the signal is blocked (S6). */
static void make_again(struct caught *c)
{
	struct vcpu *v = c->v;
	int64_t *g = c->uc->context.gregs;

	v->disturbed = 1;
	if (v->passing && !signal_is_held(v) &&
	    (uint64_t)g[GREG_RIP] == place_call_end() &&
	    g[GREG_RAX] == ANSWER_INTR)
		g[GREG_RIP] = (int64_t)engine_redo(place_call());
}

static void arrived(struct caught *c, enum engine_place at)
{
	int64_t *g = c->uc->context.gregs;

	if (deliver_at_call(c) || deliver_at_rest(c))
		return;
	if (at == AT_WINDOW) {
		hold(c);
		start_over(c);
	} else if (at == AT_CACHE && is_open(c->v, c->info->signo) &&
		   engine_recover_now(c->v, g) == 0) {
		signal_set_state(c->v, g);
		signal_deliver(c, c->info);
	} else if (at == AT_STEP && is_open(c->v, c->info->signo)) {
		step_caught(c);
		signal_deliver(c, c->info);
	} else {
		hold(c);
		if (SIG_BIT(c->info->signo) & SIG_SYNC)
			make_again(c);
		if (at == AT_MISS && c->v->budget > 0)
			vcpu_set_budget(c->v, 0);
	}
}

/* -- Faults -- */

static void note_trap(struct vcpu *v, const int64_t *g)
{
	v->error = (uint64_t)g[GREG_ERR];
	v->trapno = (uint64_t)g[GREG_TRAPNO];
	v->cr2 = (uint64_t)g[GREG_CR2];
}

/* A recorded instruction has faulted, as other code than its own. 1: it is for
 * the CPU to say whether it faults: a load of some elements is checked as a
 * whole (ways.h). */
static int fault_of_recorded(struct vcpu *v, int64_t *g)
{
	enum { PAGE_FAULT = 14, WRITES = 2 };
	uint8_t code[X86_MAX_LEN];
	unsigned have = sizeof code;
	struct x86_insn x;
	enum way way;

	have -= (unsigned)guest_copy(code, (const void *)v->pc, have);
	if (x86_decode(code, have, &x) != X86_OK)
		return 0;
	way = way_of(code, &x);
	/* What will write asks for that at once; here it has read first. */
	if (g[GREG_TRAPNO] == PAGE_FAULT &&
	    (way == WAY_UPDATE || way == WAY_LOCKED))
		g[GREG_ERR] |= WRITES;
	if (x86_is_locked(&x))
		tape_unordered(v);
	if (way == WAY_STORE_X87)
		tape_shadow(v, ways_address(&x, v), x.row->mem_size);
	return way == WAY_SOME;
}

static void fault_in_cache(struct caught *c)
{
	struct vcpu *v = c->v;
	int64_t *g = c->uc->context.gregs;
	uint64_t host = (uint64_t)g[GREG_RIP];
	struct sig_info info = *c->info;

	if (engine_recover(v, g) < 0)
		fault_in_engine(c);
	signal_set_state(v, g);
	if (v->tape && fault_of_recorded(v, g)) {
		v->exit_reason = EXIT_STEP;
		signal_go_on(c);
		return;
	}
	note_trap(v, g);
	if (info.addr == host && info.signo != SIG_SEGV)
		info.addr = v->pc;
	signal_deliver_fault(c, &info);
}

static void fault_in_step(struct caught *c)
{
	if (step_caught(c)) {
		signal_go_on(c);
		return;
	}
	note_trap(c->v, c->uc->context.gregs);
	signal_deliver_fault(c, c->info);
}

/* The dispatcher's trap: what is held is delivered. */
static void deliver_trapped(struct caught *c)
{
	struct vcpu *v = c->v;
	struct sig_info info;
	int raised = v->raised != 0;

	if (v->leaving || (v->held & HELD_FREEZE)) {
		if (v->leaving)
			leave_trapped(c);
		else
			freeze_now(c);
		return;
	}
	memcpy(&info, v->held_info, sizeof info);
	v->raised = 0;
	clear_held(v, HELD_SIGNAL);
	if (raised)
		signal_deliver_fault(c, &info);
	else
		signal_deliver(c, &info);
}

/* A system call that a filter of the program's refused; the program sees it
 * at its own instruction. */
static void hold_refused(struct caught *c)
{
	struct vcpu *v = c->v;

	c->info->sys.call_addr = v->pc + SYSCALL_LEN;
	give_back_held(v);
	memcpy(v->held_info, c->info, sizeof *c->info);
	v->raised = 1;
	set_held(v, HELD_SIGNAL);
	c->uc->mask = SIG_ALL & ~SIG_SYNC;
}

static int behind_call(const struct vcpu *v, uint64_t rip)
{
	const uint8_t *code = (const uint8_t *)rip;

	return rip > v->engine->image_start + 2 && rip < v->engine->image_end &&
	       code[-2] == 0x0f && code[-1] == 0x05;
}

static void fault_elsewhere(struct caught *c, enum engine_place at)
{
	int64_t *g = c->uc->context.gregs;
	uint64_t rip = (uint64_t)g[GREG_RIP];

	if (place_is_iret(rip)) {
		c->v->step_kind = 0; /* the state is in the vcpu still */
		note_trap(c->v, g);
		signal_deliver_fault(c, c->info);
	} else if (rip == engine_resume_rip() && c->info->signo == SIG_SEGV) {
		signal_deliver_fault(c, c->info); /* of rt_sigreturn */
	} else if (c->info->signo == SIG_SYS && rip == place_call_end()) {
		hold_refused(c);
	} else if (at == AT_WINDOW || behind_call(c->v, rip)) {
		arrived(c, at);
	} else {
		fault_in_engine(c);
	}
}

static void faulted(struct caught *c, enum engine_place at)
{
	int64_t *g = c->uc->context.gregs;
	int sig = c->info->signo;

	if (at == AT_CACHE)
		fault_in_cache(c);
	else if (at == AT_STEP)
		fault_in_step(c);
	else if (at == AT_DELIVER && sig == SIG_ILL)
		deliver_trapped(c);
	else if (at == AT_GUARDED && (sig == SIG_SEGV || sig == SIG_BUS))
		g[GREG_RIP] = (int64_t)engine_guard_exit();
	else
		fault_elsewhere(c, at);
}

/* -- What the engine asks itself -- */

/* Another thread is about to show signals, or the first one was sent: what this
 * one keeps is passed on, or its system call is made again (sent.c). */
static void sought(struct caught *c, enum engine_place at)
{
	sent_offer(c->v);
	make_again(c);
	if (at == AT_WINDOW)
		start_over(c);
}

/* 0: the state is in the vcpu, and nothing is half done. */
static int come_to_rest(struct caught *c, enum engine_place at)
{
	int64_t *g = c->uc->context.gregs;
	uint64_t rip = (uint64_t)g[GREG_RIP];
	int in_call = place_is_call(rip) || rip == place_call_end();

	if (at == AT_CACHE && engine_recover_now(c->v, g) == 0)
		signal_set_state(c->v, g);
	else if (at == AT_STEP)
		step_caught(c);
	else if (!place_is_rest(rip) && !(c->v->passing && in_call))
		return -1;
	c->v->passing = c->v->step_kind = 0;
	return 0;
}

static void freeze(struct caught *c, enum engine_place at)
{
	if (come_to_rest(c, at) == 0) {
		freeze_now(c);
		return;
	}
	set_held(c->v, HELD_FREEZE);
	if (at == AT_WINDOW)
		start_over(c);
}

/* The kernel has done what the program asked for: it must not be done twice.
 * Only what the asking itself interrupted is. */
static int is_done(const struct caught *c)
{
	const int64_t *g = c->uc->context.gregs;

	return c->v->passing && (uint64_t)g[GREG_RIP] == place_call_end() &&
	       g[GREG_RAX] != ANSWER_FAULT && g[GREG_RAX] != ANSWER_INTR;
}

/* why: HELD_LEAVE, HELD_PARK; the dispatcher sees to it. */
static void leave(struct caught *c, enum engine_place at, uint32_t why)
{
	struct vcpu *v = c->v;
	int64_t *g = c->uc->context.gregs;

	set_held(v, why);
	if (at == AT_CACHE) {
		if (engine_recover_now(v, g) < 0)
			return; /* it is on its way out */
		signal_set_state(v, g);
		signal_go_on(c);
	} else if (is_done(c)) {
		v->passing = 0;
		syscall_finish(v, g[GREG_RAX]);
		signal_go_on(c);
	} else if (come_to_rest(c, at) == 0) {
		signal_go_on(c);
	} else if (at == AT_WINDOW) {
		start_over(c);
	} else if (at == AT_MISS && v->budget > 0) {
		vcpu_set_budget(v, 0);
	}
}

int signal_is_engines(const struct vcpu *v, const struct sig_info *info)
{
	return sent_is_sought(v, info) || freeze_is_asked(v, info) ||
	       leave_is_asked(v, info) || park_is_asked(v, info);
}

uint64_t signal_caught(struct vcpu *v, struct sig_info *info, struct sig_uc *uc,
		       uint64_t gs)
{
	struct caught c = {.v = v, .info = info, .uc = uc, .gs = gs};
	uint64_t rip = (uint64_t)uc->context.gregs[GREG_RIP];
	enum engine_place at = engine_place(v, rip);
	int was_shown = v->shown != 0;

	sent_unmark(info);
	if (was_shown) { /* S5: faults are to be seen here */
		uc->mask &= ~SIG_SYNC;
		sent_hide(v);
	}
	if (sent_is_sought(v, info))
		sought(&c, at);
	else if (freeze_is_asked(v, info))
		freeze(&c, at);
	else if (leave_is_asked(v, info))
		leave(&c, at, HELD_LEAVE);
	else if (park_is_asked(v, info))
		leave(&c, at, HELD_PARK);
	else if ((SIG_BIT(info->signo) & SIG_SYNC) && info->code > CODE_USER)
		faulted(&c, at);
	else
		arrived(&c, at);
	if (was_shown) /* the call may not have been made yet */
		set_held(v, HELD_AGAIN);
	return c.gs;
}

/* -- What the dispatcher asks for -- */

/* One of the signals that were sent becomes the one that is held. */
static void hold_sent(struct vcpu *v)
{
	uint64_t mask = v->has_temp_mask ? v->temp_mask : v->mask;
	struct sig_info info;

	native_mask(MASK_SET, SIG_ALL & ~SIG_SYNC);
	if (!(v->held & HELD_SIGNAL) && sent_take(v, ~mask, &info) != 0) {
		memcpy(v->held_info, &info, sizeof info);
		set_held(v, HELD_SIGNAL);
	}
	signal_recheck(v);
}

void signal_deliver_held(struct vcpu *v)
{
	const uint32_t asked = HELD_LEAVE | HELD_PARK;
	uint32_t held;

	clear_held(v, HELD_AGAIN);
	held = v->held;
	if (held == 0)
		return;
	if ((held & ~asked) == 0) {
		clear_held(v, asked);
		if (held & HELD_PARK)
			park_here(v);
		else
			leave_if_possible(v);
		return;
	}
	if ((held & ~asked) == HELD_SENT)
		hold_sent(v);
	if (v->held & (HELD_SIGNAL | HELD_FREEZE))
		engine_deliver_trap();
	else
		native_mask(MASK_SET, signal_native(v));
}

void signal_raise(struct vcpu *v, const void *info, int64_t trapno,
		  int64_t error, int64_t cr2)
{
	native_mask(MASK_SET, SIG_ALL & ~SIG_SYNC);
	give_back_held(v);
	v->trapno = (uint64_t)trapno;
	v->error = (uint64_t)error;
	v->cr2 = (uint64_t)cr2;
	memcpy(v->held_info, info, sizeof(struct sig_info));
	v->raised = 1;
	set_held(v, HELD_SIGNAL);
	engine_deliver_trap();
}

/* -- Starting -- */

static void native_stack(const struct vcpu *v)
{
	struct sig_stack stack = {
	    .sp = (uint64_t)v + SLOT_VCPU,
	    .size = SLOT_SIGNAL - SLOT_VCPU,
	};

	sys_call3(SYS_NR_SIGALTSTACK, (uint64_t)&stack, 0, 0);
}

void signal_start(struct vcpu *v, uint64_t mask)
{
	struct sig_stack stack = {0};

	sys_call3(SYS_NR_SIGALTSTACK, 0, (uint64_t)&stack, 0);
	v->altstack.sp = stack.sp;
	v->altstack.size = stack.size;
	v->altstack.flags = stack.flags & STACK_AUTODISARM;
	v->mask = mask & ~SIG_UNBLOCKABLE;
	native_stack(v);
	native_mask(MASK_SET, signal_native(v));
}

void signal_start_thread(struct vcpu *v, const struct vcpu *parent)
{
	v->mask = parent->mask;
	v->trapno = parent->trapno;
	v->error = parent->error;
	v->cr2 = parent->cr2;
}

void signal_open(struct vcpu *v)
{
	native_stack(v);
	native_mask(MASK_SET, signal_native(v));
}
