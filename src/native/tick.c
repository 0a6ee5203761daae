/* native/tick.c - a clock of hark's has interrupted the thread.
 *
 * The signal is SIGTRAP, which is never really blocked (N3): from an event of
 * the kernel's that counts the thread's CPU time (CODE_PERF), or from a timer
 * of it where there are no such events (CODE_TIMER). Nothing of the program is
 * changed: its state is found out on a copy, what the tick is for is done, and
 * the thread goes on.
 *
 *	in the program		its registers
 *	in a trampoline		as trampoline_native() tells
 *	in native.S		as the probe's frame has it
 *	in a hooked call	as the hook's frame has it
 *	in C of the image else	not to be told: counted as recursed
 *
 * Where the program's handler is about to run on an alternate stack that has
 * no room for a tick's frame, too, the kernel would end the program. So ticks
 * wait there: SIGTRAP is really blocked until the handler returns. (If one of
 * hark's own instructions trapped there, the program would end either way.)
 *
 * It is for a sample (sample.c), or for the script's profile-N (profile.c),
 * on a stack of hark's if the program's may be too small (aside.c). */
#include "inside/sys.h"
#include "native/collect_board.h"
#include "native/home.h"
#include "native/numbers.h"

bool native_is_tick(const struct sig_info *info)
{
	if (info->signo != SIG_TRAP || !(native_plan()->flags & COLLECT_TICKS))
		return false;
	return info->code == CODE_PERF	  ? info->perf_data == COLLECT_TICK
	       : info->code == CODE_TIMER ? info->value == COLLECT_TICK
					  : false;
}

bool native_ticks_wait(const struct sig_frame *frame)
{
	enum { HANDLER = 4096, RED_ZONE = 128, OURS = 1024 };

	return native_plan()->flags & COLLECT_TICKS &&
	       !native_has_room(frame, HANDLER + RED_ZONE + OURS);
}

/* -- What became of it -- */

static bool samples(void)
{
	return native_plan()->flags & COLLECT_SAMPLES;
}

static void count_recursed(struct collect_area *area)
{
	if (samples())
		collect_sampled(native_plan(), area, FATE_RECURSED);
	else if (area)
		collect_profile_recursed(area);
	else
		collect_profile_nobody(native_plan());
}

static void count_nobody(void)
{
	if (samples())
		collect_sampled(native_plan(), NULL, FATE_DROPPED);
	else
		collect_profile_nobody(native_plan());
}

struct work {
	struct collect_area *area;
	const struct native_state *s;
};

static void do_work(void *ctx)
{
	const struct work *w = ctx;

	if (samples())
		native_sample(w->area, w->s);
	else
		native_profile(w->area, w->s);
}

static void take(const struct sig_frame *frame, struct collect_area *area,
		 const struct native_state *s)
{
	struct work w = {area, s};

	if (area->busy || native_is_guest()) {
		count_recursed(area);
		return;
	}
	if (frame->info.code == CODE_TIMER) {
		native_ticked((void *)area->native);
		collect_overran(area, frame->info.uid);
	}
	if (!collect_passes(area) && !native_aside(frame, do_work, &w))
		count_recursed(area);
}

/* -- Where -- */

void native_tick(const struct sig_frame *frame, const struct native_state *s)
{
	const struct collect_plan *plan = native_plan();
	struct collect_area *area = collect_area(plan, sys_fs_base());

	if (area)
		take(frame, area, s);
	else if (((const struct collect_table *)plan->table)->pid !=
		 COLLECT_APART)
		count_nobody();
}

/* It is making a system call for the program, or something of its own. */
void native_tick_in_image(const struct sig_frame *frame)
{
	const struct native_thread *t = native_find();
	struct collect_area *area = native_area(t);
	struct native_state s = {.flags = 0};

	if (!area || t->hook == 0) {
		count_recursed(area);
		return;
	}
	trampoline_frame_native((const struct probe_frame *)t->hook, s.gpr,
				&s.flags, &s.pc);
	take(frame, area, &s);
}

/* It was taken out of the kernel's queue, as signals of the program's are. */
void native_tick_missed(bool is_timer, uint32_t overran)
{
	struct native_thread *t = native_find();
	struct collect_area *area = native_area(t);

	if (area && is_timer) {
		native_ticked(t);
		collect_overran(area, overran);
	}
	count_recursed(area);
}

/* -- A signal of the program's that the tick has hidden -- */

/* Of one kind only one waits in a thread: a SIGTRAP that it sent to itself
 * (native_wake) while a tick was waiting was dropped. */
void native_uncover(void)
{
	const struct native_thread *t = native_find();
	uint64_t pending = 0;

	if (!t || !(t->pass & SIG_BIT(SIG_TRAP)))
		return;
	sys_call3(NR_PENDING, (uint64_t)&pending, SET_SIZE, 0);
	if (!(pending & SIG_BIT(SIG_TRAP)))
		native_send(native_held(t, SIG_TRAP));
}

/* One that the kernel was given for a call (native_give_held), and which the
 * call has not taken, is held again: a tick may have been waiting, so that it
 * was dropped. All signals are blocked. */
void native_take_back(struct native_thread *t, uint64_t given)
{
	static const uint64_t set = SIG_BIT(SIG_TRAP);
	static const int64_t none[2];
	struct sig_info info = {0};

	if (!(given & set) || !(native_plan()->flags & COLLECT_TICKS) ||
	    !native_remembers(t) || native_is_filtered())
		return;
	while (sys_call(NR_TIMEDWAIT, (uint64_t)&set, (uint64_t)&info,
			(uint64_t)none, SET_SIZE, 0, 0) == SIG_TRAP &&
	       native_is_tick(&info))
		native_tick_missed(info.code == CODE_TIMER, info.uid);
	t->held |= set;
}
