/* native/aside.c - a stack of hark's for what a signal handler does.
 *
 * The kernel puts a signal's frame on the program's alternate stack, or on the
 * stack that the thread stands on. Neither is hark's, and either may be small:
 * 8 KB for an alternate stack is common, and a frame with all vector registers
 * takes 3 to 12 KB of it. A sample, or the clauses of a probe, need some 3 KB
 * more, and once more a frame where a read of the program's memory faults.
 *
 * So they run on one of a few stacks in home, unless the alternate stack has
 * room for all of that:
 *
 *	alternate stack or the thread's		stack of home
 *	frame of the signal			f(ctx)
 *	native_caught() ... native_aside() -->	frame of a fault
 *
 * A1  The handler's signals are blocked but those of faults. Their frames come
 *     to the stack of home, for there is no alternate stack meanwhile: the
 *     kernel lets a thread disable it that does not stand on it.
 * A2  The alternate stack comes back with sigreturn, which takes it from the
 *     signal's frame.
 * A3  Which stacks are taken is noted in the table, which is zero in a child
 *     of fork.
 * A4  A program with a system call filter is asked for nothing that it may have
 *     forbidden. There, a small alternate stack has no room. */
#include "inside/sys.h"
#include "native/home.h"

/* -- Room on the alternate stack -- */

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

static bool is_on_alternate(const struct sig_frame *frame)
{
	const struct sig_stack *s = &frame->uc.stack;

	return (uint64_t)frame - s->sp < s->size;
}

bool native_has_room(const struct sig_frame *frame, uint64_t needed)
{
	return !is_on_alternate(frame) ||
	       (uint64_t)frame - frame->uc.stack.sp >=
		   needed + frame_size(frame);
}

/* -- Stacks of home -- */

static uint64_t *taken(void)
{
	return &((struct collect_table *)native_plan()->table)->stacks;
}

/* Its number; -1: all are taken. */
static int take_stack(void)
{
	uint64_t is = __atomic_load_n(taken(), __ATOMIC_RELAXED);

	while (~is != 0) {
		int k = __builtin_ctzll(~is);

		if (__atomic_compare_exchange_n(taken(), &is, is | 1ull << k, 0,
						__ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return k;
	}
	return -1;
}

static void give_back(int k)
{
	__atomic_fetch_and(taken(), ~(1ull << k), __ATOMIC_RELEASE);
}

static void *top_of(int k)
{
	return (uint8_t *)native_home_all() + NATIVE_STACKS_AT +
	       (uint64_t)(k + 1) * NATIVE_STACK_SIZE;
}

/* -- Running there -- */

struct aside {
	void (*f)(void *ctx);
	void *ctx;
	bool has_alternate;
};

/* A1 */
static void run_aside(void *ctx)
{
	static const struct sig_stack none = {.flags = STACK_DISABLE};
	const struct aside *a = ctx;

	if (a->has_alternate)
		sys_call3(SYS_NR_SIGALTSTACK, (uint64_t)&none, 0, 0);
	a->f(a->ctx);
}

bool native_aside(const struct sig_frame *frame, void (*f)(void *ctx),
		  void *ctx)
{
	struct aside a = {f, ctx, frame->uc.stack.size != 0};
	bool has_room = native_has_room(frame, NATIVE_NEEDED);
	int k = -1;

	if (!(has_room && is_on_alternate(frame)) &&
	    !(a.has_alternate && native_is_filtered()))
		k = take_stack();
	if (k < 0 && !has_room)
		return false;
	if (k < 0) {
		f(ctx);
		return true;
	}
	native_on_stack(run_aside, &a, top_of(k));
	give_back(k);
	return true;
}
