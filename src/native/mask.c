/* native/mask.c - what handlers of the program's block while they run.
 *
 * The kernel adds sa_mask and the signal itself to the mask when a handler
 * starts, and sigreturn takes them away again. Of signals of ours this is only
 * believed; and sigreturn is not seen. So what was blocked before is put on a
 * small stack with the address of the signal frame, and comes back when the
 * thread is next seen (a hooked call, a signal, a tick) and has left that
 * frame.
 *
 * M1  A frame is left when rsp is above it, or elsewhere: not on the alternate
 *     stack that it is on, or too far away for one stack.
 * M2  A handler that sets its mask to less than it began with is taken for one
 *     that leaves by siglongjmp: that is what it has afterwards. To block a
 *     signal of ours for too long does harm, not to block it hardly any.
 * M3  A signal that only a running handler blocks is sent when its thread next
 *     leaves the image and the handler has ended: it lingers.
 * M4  It must not linger beyond the handler's return: until then the handler's
 *     return address, which hark has written, is that of the image, and what
 *     is held is sent before sigreturn opens the mask (native_return). Only if
 *     the address is the program's own restorer: the frame may be no more. */
#include "inside/sys.h"
#include "native/home.h"
#include "native/numbers.h"

enum { STACK_SIZE = 8 << 20, RETURN_LEN = 8 };

static bool is_within(const struct native_entered *e, uint64_t rsp)
{
	return rsp > e->low && rsp <= e->frame + RETURN_LEN &&
	       e->frame - rsp < STACK_SIZE + RETURN_LEN;
}

void native_settle(struct native_thread *t, uint64_t rsp)
{
	while (t->n_entered > 0 &&
	       !is_within(&t->entered[t->n_entered - 1], rsp))
		t->blocked = t->entered[--t->n_entered].after;
}

/* Of deeper ones nothing is believed to be blocked. */
void native_entered(struct native_thread *t, const struct sig_frame *frame,
		    uint64_t set)
{
	const struct sig_stack *stack = &frame->uc.stack;
	uint64_t at = (uint64_t)frame;
	struct native_entered *e;

	if (t->n_entered == NATIVE_ENTERED)
		return;
	e = &t->entered[t->n_entered++];
	e->frame = at;
	e->low = at - stack->sp < stack->size ? stack->sp : 0;
	e->before = e->after = (uint16_t)t->blocked;
	t->blocked |= set;
	native_home_all()->has_blocked |= t->blocked != 0;
	e->start = (uint16_t)t->blocked;
}

/* M2 */
void native_mask_is_set(struct native_thread *t)
{
	struct native_entered *e;

	if (t->n_entered == 0)
		return;
	e = &t->entered[t->n_entered - 1];
	e->after = t->blocked != e->start && (t->blocked & ~e->start) == 0
		       ? (uint16_t)t->blocked
		       : e->before;
}

/* -- Children -- */

struct native_blocks native_blocks(void)
{
	struct native_thread *t = native_find_or_found();
	struct native_blocks b = {0};

	if (!t)
		return b;
	b.blocked = t->blocked;
	b.n_entered = t->n_entered;
	for (uint64_t i = 0; i < b.n_entered; i++)
		b.entered[i] = t->entered[i];
	return b;
}

void native_inherit(const struct native_blocks *b)
{
	struct native_thread *t;

	if (b->blocked == 0 && b->n_entered == 0)
		return;
	t = native_make();
	if (!t)
		return;
	t->blocked = b->blocked;
	native_home_all()->has_blocked = 1;
	t->n_entered = (uint32_t)b->n_entered;
	for (uint64_t i = 0; i < b->n_entered; i++)
		t->entered[i] = b->entered[i];
}

/* M3 */
void native_linger(struct native_thread *t)
{
	if (t->lingers || t->n_entered == 0 ||
	    (t->held & ~(uint64_t)t->entered[0].after) == 0)
		return;
	t->lingers = 1;
	__atomic_fetch_add(&native_home_all()->waiting, 1, __ATOMIC_SEQ_CST);
}

static bool is_frame(const struct sig_frame *frame)
{
	uint64_t at = (uint64_t)frame;
	int sig;

	if (!native_readable(at, sizeof *frame))
		return false;
	sig = frame->info.signo;
	return sig >= 1 && sig <= SIG_MAX &&
	       frame->pretcode == native_home()->program[sig].restorer;
}

/* M4. Which handler's end opens the signal? */
static void await_end(const struct native_thread *t, uint64_t bit)
{
	for (uint32_t i = t->n_entered; i-- > 0;) {
		struct sig_frame *frame = (void *)t->entered[i].frame;

		if (t->entered[i].after & bit)
			continue;
		if (is_frame(frame))
			frame->pretcode = (uint64_t)native_return;
		return;
	}
}

void native_await_return(const struct native_thread *t)
{
	for (uint64_t set = t->held & t->blocked; set != 0; set &= set - 1)
		await_end(t, set & -set);
}

void native_linger_no_more(struct native_thread *t)
{
	if (!t->lingers)
		return;
	t->lingers = 0;
	__atomic_fetch_sub(&native_home_all()->waiting, 1, __ATOMIC_SEQ_CST);
}

/* -- As hark sees it -- */

static struct native_thread settled(const struct collect_area *area,
				    uint64_t rsp)
{
	struct native_thread t = *(const struct native_thread *)area->native;

	if (t.n_entered > NATIVE_ENTERED)
		t.n_entered = 0;
	native_settle(&t, rsp);
	return t;
}

uint64_t native_blocked(const struct collect_area *area, uint64_t rsp)
{
	return settled(area, rsp).blocked;
}

bool native_blocked_by_frame(const struct collect_area *area, uint64_t rsp,
			     unsigned k, uint64_t *at, uint64_t *blocked)
{
	struct native_thread t = settled(area, rsp);

	if (k >= t.n_entered)
		return false;
	*at = t.entered[k].frame + offsetof(struct sig_frame, uc.mask);
	*blocked = t.entered[k].before;
	return true;
}

/* -- rt_sigpending, rt_sigtimedwait: signals that are held -- */

uint64_t native_pending(const uint64_t *a, int64_t *answer)
{
	const struct native_thread *t = native_find();
	uint64_t held = t && !native_is_guest() ? t->held & t->blocked : 0;

	if (held == 0 || a[1] != SET_SIZE)
		return 0;
	*answer = sys_call3(NR_PENDING, a[0], a[1], 0);
	if (*answer == 0)
		*(uint64_t *)a[0] |= held;
	return 1;
}

/* The kernel writes something there first, so that a bad pointer is known. */
static bool can_write(uint64_t at, uint64_t len)
{
	return sys_call(SYS_NR_RT_SIGPROCMASK, MASK_BLOCK, 0, at, SET_SIZE, 0,
			0) == 0 &&
	       sys_call(SYS_NR_RT_SIGPROCMASK, MASK_BLOCK, 0,
			at + len - SET_SIZE, SET_SIZE, 0, 0) == 0;
}

/* All is blocked. */
static int64_t take_held(struct native_thread *t, uint64_t set, uint64_t info)
{
	int sig = __builtin_ctzll(set) + 1;
	const struct sig_info *held = native_held(t, sig);

	t->held &= ~SIG_BIT(sig);
	if (info == 0)
		return sig;
	if (!can_write(info, sizeof *held))
		return -ERR_FAULT;
	*(struct sig_info *)info = *held;
	return sig;
}

/* Once more? A tick that came while signals were blocked is not the program's.
 */
static bool is_in_vain(const struct native_thread *t, int64_t answer,
		       const struct sig_info *info)
{
	if (answer == -ERR_INTR)
		return !t->counted;
	if (answer != SIG_TRAP || !native_is_tick(info))
		return false;
	native_tick_missed(info->code == CODE_TIMER, info->uid);
	return true;
}

/* Signals that are waited for stay with the kernel meanwhile, really blocked:
 * nothing traps in here. */
static int64_t wait_for(const struct native_thread *t, const uint64_t *a,
			uint64_t mask)
{
	struct sig_info info = {0};
	int64_t answer;

	do {
		native_set_mask(mask);
		answer = sys_call(NR_TIMEDWAIT, a[0], (uint64_t)&info, a[2],
				  a[3], 0, 0);
		native_set_mask(SIG_ALL);
	} while (is_in_vain(t, answer, &info));
	if (answer <= 0 || a[1] == 0)
		return answer;
	if (!can_write(a[1], sizeof info))
		return -ERR_FAULT;
	*(struct sig_info *)a[1] = info;
	return answer;
}

uint64_t native_timedwait(const uint64_t *a, int64_t *answer)
{
	struct native_thread *t = native_find();
	uint64_t set, old;

	if (!t || native_is_guest() || a[3] != SET_SIZE ||
	    !native_readable(a[0], SET_SIZE))
		return 0;
	set = *(const uint64_t *)a[0] & t->blocked;
	if (set == 0)
		return 0;
	old = native_set_mask(SIG_ALL) & ~native_home()->ours;
	if (t->counted) {
		native_come_back(t, old);
		return 0;
	}
	if (t->held & set)
		*answer = take_held(t, t->held & set, a[1]);
	else
		*answer = wait_for(t, a, old | set);
	if (!t->masked)
		native_set_mask(old);
	return 1;
}
