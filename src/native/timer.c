/* native/timer.c - a timer for each thread, where the kernel has no
 * events for hark.
 *
 * It counts the thread's CPU time, and is looked at when the kernel's own clock
 * ticks: 100 to 1000 times a second, and not more often. hark makes those of
 * threads that are there when it comes, and leaves word in home; a new thread
 * makes its own at its first hooked call, and C libraries make one (about
 * signal masks) before a thread's function begins; a child of fork, before fork
 * returns. It goes with the thread.
 *
 * T1  Each timer is known: to its thread, or in home. So hark, or the next one,
 *     can take all of them away.
 *
 * Unlike an event's, a timer's signal interrupts a system call that was about
 * to wait: most are restarted, but poll() and its like may say EINTR. */
#include "inside/sys.h"
#include "native/collect_board.h"
#include "native/home.h"

enum {
	NR_TIMER_CREATE = 222,
	NR_TIMER_SETTIME = 223,
	NR_TIMER_DELETE = 226,
	CLOCK_OF_THREAD = 3,
	TO_THREAD = 4, /* SIGEV_THREAD_ID */
	LOOKS = 63,    /* ticks between two looks for hark, less one */
};

/* struct sigevent */
struct event {
	uint64_t value;
	int32_t signo, notify;
	int32_t tid;
	uint8_t rest[44];
};
_Static_assert(sizeof(struct event) == 64, "struct sigevent");

static bool make(uint32_t tid, uint32_t *out)
{
	const uint64_t ns = native_plan()->period_ns;
	const uint64_t time[4] = {ns / 1000000000, ns % 1000000000,
				  ns / 1000000000, ns % 1000000000};
	const struct event e = {.value = COLLECT_TICK,
				.signo = SIG_TRAP,
				.notify = TO_THREAD,
				.tid = (int32_t)tid};
	int32_t id = 0;

	if (sys_call3(NR_TIMER_CREATE, CLOCK_OF_THREAD, (uint64_t)&e,
		      (uint64_t)&id) < 0)
		return false;
	sys_call(NR_TIMER_SETTIME, (uint64_t)id, 0, (uint64_t)time, 0, 0, 0);
	*out = (uint32_t)id + 1;
	return true;
}

/* T1: what hark has made becomes the thread's. */
static bool adopt(uint32_t tid, uint32_t *out)
{
	struct native_home *home = native_home_all();

	for (uint64_t i = 0; i < home->n_armed && i < NATIVE_ARMED; i++) {
		struct native_armed *a = &home->armed[i];

		if (a->tid != tid || a->timer == 0)
			continue;
		*out = a->timer;
		a->timer = 0;
		return true;
	}
	return false;
}

static uint32_t own_tid(void)
{
	return (uint32_t)sys_call3(SYS_NR_GETTID, 0, 0, 0);
}

void native_arm(void)
{
	struct native_thread *t;

	if (!(native_plan()->flags & COLLECT_TIMERS) || native_is_guest())
		return;
	t = native_make();
	if (t && t->fs == 0 && t->timer == 0 && !adopt(own_tid(), &t->timer))
		make(own_tid(), &t->timer);
}

void native_disarm(struct native_thread *t)
{
	if (t->timer == 0)
		return;
	sys_call3(NR_TIMER_DELETE, t->timer - 1, 0, 0);
	t->timer = 0;
}

void native_ticked(struct native_thread *t)
{
	if ((++t->ticks & LOOKS) != 0 || !collect_hark_is_dead(native_plan()))
		return;
	if (t->timer == 0)
		adopt(own_tid(), &t->timer);
	native_disarm(t);
}

uint64_t native_timer_of(const struct collect_area *area, uint64_t *offset)
{
	*offset = offsetof(struct collect_area, native) +
		  offsetof(struct native_thread, timer);
	return ((const struct native_thread *)area->native)->timer;
}
