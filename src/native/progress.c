/* native/progress.c - a thread gets on, however quickly signals come.
 *
 * If handlers take longer than the next signal, because probes are in them, it
 * is pending when a handler returns, and comes before the program has executed
 * one instruction: for ever. So a signal that finds a thread in a state in
 * which one of its last few signals found it waits until the thread has
 * executed some instructions: with all signals blocked, by the trap flag. Then
 * it is sent again.
 *
 *	at the start of a hit	the hit happens without steps, and the signal
 *				comes at its end (N2); one that has happened is
 *				passed over (N4), else there were no end of it
 *	at a system call	that may wait for the signal, or change what is
 *				to become of it: steps end before it. Others are
 *				made, hooked or not
 *
 * G1  The trap flag is never seen by the program: neither in what pushf or a
 *     system call has stored, nor in a signal frame.
 * G2  Whatever else is caught ends the steps first.
 * G3  A system call is the last step: it may have stopped the clock that the
 *     signal is from, or changed what is to become of it.
 * G4  After steps the next signal is delivered, whatever they came to: where
 *     the thread is at a call that it must not make, to nothing. */
#include "inside/sys.h"
#include "native/home.h"
#include "native/numbers.h"

enum { STEPS = 32, TRAP_FLAG = 0x100 };

static uint64_t *gregs(struct sig_frame *frame)
{
	return (uint64_t *)frame->uc.context.gregs;
}

/* -- What is next -- */

/* System calls that return at once, whatever their arguments, and that hark
 * need not know of. */
static bool is_brief(uint64_t nr)
{
	static const uint16_t brief[] = {
	    8 /* lseek */,
	    12 /* brk */,
	    24 /* sched_yield */,
	    28 /* madvise */,
	    36 /* getitimer */,
	    37 /* alarm */,
	    38 /* setitimer */,
	    39 /* getpid */,
	    63 /* uname */,
	    95 /* umask */,
	    96 /* gettimeofday */,
	    97 /* getrlimit */,
	    98 /* getrusage */,
	    100 /* times */,
	    102 /* getuid */,
	    104 /* getgid */,
	    107 /* geteuid */,
	    108 /* getegid */,
	    110 /* getppid */,
	    186 /* gettid */,
	    201 /* time */,
	    222 /* timer_create */,
	    223 /* timer_settime */,
	    224 /* timer_gettime */,
	    225 /* timer_getoverrun */,
	    226 /* timer_delete */,
	    228 /* clock_gettime */,
	    309 /* getcpu */,
	};

	for (unsigned i = 0; i < sizeof brief / sizeof *brief; i++)
		if (brief[i] == nr)
			return !native_hooks(nr);
	return false;
}

/* Sets .next of the thread; false: there must be no step. */
static bool look_ahead(struct native_thread *t, const uint64_t *g)
{
	const uint8_t *at = (const uint8_t *)g[GREG_RIP];

	t->next = NATIVE_STEP_PLAIN;
	if (!native_readable(g[GREG_RIP], 2))
		return false;
	if (at[0] == 0x9c || (at[0] == 0x66 && at[1] == 0x9c))
		t->next = NATIVE_STEP_PUSHES;
	if (at[0] == 0x0f && at[1] == 0x05)
		t->next = NATIVE_STEP_CALLS;
	if (t->next == NATIVE_STEP_CALLS)
		return is_brief(g[GREG_RAX]);
	/* sysenter, int N, iret */
	return !(at[0] == 0x0f && at[1] == 0x34) && at[0] != 0xcd &&
	       at[0] != 0xcf;
}

/* G1 */
static void hide_flag(const struct native_thread *t, uint64_t *g)
{
	if (t->next == NATIVE_STEP_PUSHES)
		((uint8_t *)g[GREG_RSP])[1] &= (uint8_t) ~(TRAP_FLAG >> 8);
	else if (t->next == NATIVE_STEP_CALLS)
		g[GREG_R11] &= ~(uint64_t)TRAP_FLAG;
}

/* -- Stepping -- */

static bool was_here(struct native_thread *t, const uint64_t *g)
{
	uint64_t gpr[16], state;
	bool was = false;

	for (unsigned r = 0; r < 16; r++)
		gpr[r] = g[greg_of(r)];
	state = native_state(gpr) ^ g[GREG_RIP];
	for (unsigned i = 0; i < NATIVE_RECENT; i++)
		was |= t->recent[i] == state;
	t->recent[t->next_recent++ % NATIVE_RECENT] = state;
	return was;
}

/* Of a clock, or of another process: those that come while the program is at
 * something else. A signal that a program sends to itself must be there before
 * the call returns. Queued ones keep their order; a timer has one at a time. */
static bool may_wait(const struct sig_info *info)
{
	enum {
		ALARM = 14,
		VIRTUAL_ALARM = 26,
		PROF = 27,
		QUEUED = -1,
		TKILL = -6,
		REAL_TIME = 32
	};
	int sig = info->signo, code = info->code;

	if (code == CODE_TIMER)
		return true;
	if (code == CODE_KERNEL)
		return sig == ALARM || sig == VIRTUAL_ALARM || sig == PROF;
	return (code == CODE_USER || code == QUEUED || code == TKILL) &&
	       sig < REAL_TIME &&
	       info->pid != (uint32_t)sys_call3(SYS_NR_GETPID, 0, 0, 0);
}

bool native_steps_first(struct native_thread *t, struct sig_frame *frame,
			uint64_t back)
{
	uint64_t *g = gregs(frame);

	if (!t || t->fs != 0 || native_is_guest())
		return false;
	if (t->stepped) { /* G4 */
		t->stepped = 0;
		return false;
	}
	if (!was_here(t, g) || !may_wait(&frame->info))
		return false;
	if (g[GREG_EFL] & TRAP_FLAG || back & SIG_BIT(SIG_TRAP) || t->counted ||
	    !look_ahead(t, g))
		return false;
	t->info = frame->info;
	t->back = back;
	t->steps = STEPS;
	g[GREG_EFL] |= TRAP_FLAG;
	frame->uc.mask = SIG_ALL & ~native_home()->ours;
	return true;
}

void native_end_steps(struct native_thread *t, struct sig_frame *frame)
{
	hide_flag(t, gregs(frame));
	gregs(frame)[GREG_EFL] &= ~(uint64_t)TRAP_FLAG;
	frame->uc.mask = t->back;
	t->steps = 0;
	t->stepped = 1;
	native_send(&t->info);
}

/* N2: what waits is sent at the end of the hit. */
static void wait_for_hit(struct native_thread *t, struct sig_frame *frame)
{
	gregs(frame)[GREG_EFL] &= ~(uint64_t)TRAP_FLAG;
	t->steps = 0;
	t->stepped = 1;
	t->deferred = (uint32_t)t->info.signo;
	t->masked = 1;
	native_count(t);
}

/* From the start of a function to where it returns to. */
static void skip_call(uint64_t *g)
{
	g[GREG_RIP] = *(const uint64_t *)g[GREG_RSP];
	g[GREG_RSP] += 8;
}

/* N4: a hit that has happened. */
static bool pass_hit(struct native_thread *t, uint64_t *g)
{
	struct collect_area *area = native_area(t);

	if (area->n_tokens == 0 ||
	    !native_fired(area, (const struct probe_frame *)g[GREG_RDI]))
		return false;
	skip_call(g);
	return true;
}

/* A hook that would let the call be made. */
static bool pass_hook(uint64_t *g)
{
	const struct probe_frame *frame = (const void *)g[GREG_RDI];

	if (!is_brief(frame->gpr[X86_RAX]))
		return false;
	g[GREG_RAX] = 0;
	skip_call(g);
	return true;
}

void native_stepped(struct native_thread *t, struct sig_frame *frame,
		    bool is_between)
{
	const struct collect_plan *plan = native_plan();
	uint64_t *g = gregs(frame), pc = g[GREG_RIP];

	if (t->next == NATIVE_STEP_CALLS)
		t->steps = 1; /* G3 */
	hide_flag(t, g);
	t->next = NATIVE_STEP_PLAIN;
	if ((pc == (uint64_t)native_hit && pass_hit(t, g)) ||
	    (pc == (uint64_t)native_hook && pass_hook(g))) {
		is_between = true;
	} else if (pc == (uint64_t)native_hit) {
		wait_for_hit(t, frame);
		return;
	} else if (pc - plan->image < plan->image_len) {
		t->steps = 1;
		is_between = false;
	}
	if (!is_between)
		t->steps--;
	if (t->steps == 0 || !look_ahead(t, g))
		native_end_steps(t, frame);
}

bool native_is_stepping(const struct collect_area *area)
{
	const struct native_thread *t = (const void *)area->native;

	return t->steps != 0;
}
