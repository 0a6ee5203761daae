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
 * It is for a sample (sample.c), or for the script's profile-N
 * (profile.c). */
#include "inside/sys.h"
#include "native/collect_board.h"
#include "native/home.h"
#include "native/numbers.h"

/* On an alternate stack there may be little room: for the handler, and for the
 * frame of a read that faults. */
enum { NEEDED = 4096 };

bool native_is_tick(const struct sig_info *info)
{
	if (info->signo != SIG_TRAP || !(native_plan()->flags & COLLECT_TICKS))
		return false;
	return info->code == CODE_PERF	  ? info->perf_data == COLLECT_TICK
	       : info->code == CODE_TIMER ? info->value == COLLECT_TICK
					  : false;
}

static uint64_t frame_size(const struct sig_frame *frame)
{
	const uint64_t fp = frame->uc.context.fpstate;
	uint32_t len = FP_LEGACY_SIZE;

	if (fp == 0)
		return sizeof *frame;
	if (*(const uint32_t *)(fp + FP_MAGIC) == FP_MAGIC1)
		len = *(const uint32_t *)(fp + FP_EXTENDED_SIZE);
	return fp + len - (uint64_t)frame;
}

/* Below a frame, for another one and so many bytes more. */
static bool has_room(const struct sig_frame *frame, uint64_t needed)
{
	const struct sig_stack *s = &frame->uc.stack;
	uint64_t at = (uint64_t)frame;

	return at - s->sp >= s->size ||
	       at - s->sp >= needed + frame_size(frame);
}

bool native_ticks_wait(const struct sig_frame *frame)
{
	enum { HANDLER = 4096, RED_ZONE = 128, OURS = 1024 };

	return native_plan()->flags & COLLECT_TICKS &&
	       !has_room(frame, HANDLER + RED_ZONE + OURS);
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

static void take(const struct sig_frame *frame, struct collect_area *area,
		 const struct native_state *s)
{
	if (area->busy || !has_room(frame, NEEDED) || native_is_guest()) {
		count_recursed(area);
		return;
	}
	if (frame->info.code == CODE_TIMER) {
		native_ticked((void *)area->native);
		collect_overran(area, frame->info.uid);
	}
	if (collect_passes(area))
		return;
	if (samples())
		native_sample(area, s);
	else
		native_profile(area, s);
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
	struct collect_area *area =
	    t && t->fs == 0
		? (void *)((uint8_t *)t - offsetof(struct collect_area, native))
		: NULL;
	struct native_state s = {.flags = 0};

	if (!area || t->hook == 0) {
		count_recursed(area);
		return;
	}
	trampoline_frame_native((const struct probe_frame *)t->hook, s.gpr,
				&s.flags, &s.pc);
	take(frame, area, &s);
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
