/* native/call.c - system calls about signals, as the program means them.
 *
 * What it says of signals of ours is remembered, not done; what it says of its
 * handlers is done with hark's in their place. Bad arguments are left to the
 * kernel: the call is made as it is.
 *
 * K1  The table says what the program wants before the kernel knows: a signal
 *     in between is dealt with either way. One thread at a time.
 * K2  A mask is changed with all signals blocked: what came before may have
 *     put the mask into .back of the thread.
 * K3  A guest (vfork) changes nothing that its parent remembers. Its mask is
 *     its own. */
#include "inside/sys.h"
#include "native/home.h"
#include "native/numbers.h"

/* How = -1 is no way to change a mask, but the kernel reads it first. */
bool native_readable(uint64_t at, uint64_t len)
{
	uint64_t first = at & -8ull, last = (at + len - 1) & -8ull;
	int64_t a, b;

	a = sys_call(SYS_NR_RT_SIGPROCMASK, (uint64_t)-1, first, 0, SET_SIZE, 0,
		     0);
	b = first == last ? a
			  : sys_call(SYS_NR_RT_SIGPROCMASK, (uint64_t)-1, last,
				     0, SET_SIZE, 0, 0);
	return a != -ERR_FAULT && b != -ERR_FAULT;
}

/* -- rt_sigaction -- */

struct collect_action native_action(const struct collect_home *home, int sig,
				    const struct collect_action *program,
				    uint64_t handler, uint64_t restorer)
{
	struct collect_action a = *program;
	bool handled = a.handler > SIG_IS_IGNORED;
	bool ours = home->ours & SIG_BIT(sig);

	if (!handled && !ours)
		return a;
	if (!handled)
		a.flags = ACT_ONSTACK | ACT_RESTART;
	a.flags |= ACT_SIGINFO | ACT_RESTORER | ACT_NODEFER;
	a.flags &= ~ACT_RESETHAND;
	a.handler = handler;
	a.restorer = restorer;
	a.mask = SIG_ALL;
	return a;
}

static struct collect_action own_action(int sig,
					const struct collect_action *program)
{
	return native_action(native_home(), sig, program,
			     (uint64_t)native_handler,
			     (uint64_t)native_restorer);
}

/* The table's entry becomes *new, as the kernel would keep it. */
static void remember(int sig, const struct collect_action *new)
{
	struct collect_action *entry = &native_home()->program[sig];
	struct native_thread *t;

	*entry = *new;
	entry->flags &= ACT_KNOWN;
	entry->mask &= ~(SIG_BIT(SIG_KILL) | SIG_BIT(SIG_STOP));
	if (new->handler != SIG_IS_IGNORED)
		return;
	t = native_find();
	if (t)
		t->held &= ~SIG_BIT(sig);
}

/* A guest's own actions are the kernel's business; ours stay. */
static int64_t guest_action(int sig, const struct collect_action *new,
			    uint64_t old)
{
	struct collect_home *home = native_home();
	struct collect_action *out = (void *)old;
	int64_t answer;

	if (home->ours & SIG_BIT(sig))
		new = 0;
	answer = native_set_action(sig, new, old);
	if (answer == 0 && out && out->handler == (uint64_t)native_handler)
		*out = home->program[sig];
	return answer;
}

static int64_t set_action(int sig, const struct collect_action *new,
			  uint64_t old)
{
	struct collect_action before, real;
	int64_t answer;
	uint32_t pid;

	if (native_is_guest())
		return guest_action(sig, new, old);
	pid = native_lock();
	before = native_home()->program[sig];
	if (new) {
		remember(sig, new);
		real = own_action(sig, new);
		real.flags &= ACT_KNOWN;
	}
	answer = native_set_action(sig, new ? &real : 0, old);
	native_unlock(pid);
	if (answer == 0 && old != 0)
		*(struct collect_action *)old = before;
	return answer;
}

static uint64_t call_action(const uint64_t *a, int64_t *answer)
{
	int sig = (int)a[0];
	struct collect_action new;

	if (a[3] != SET_SIZE || sig < 1 || sig > SIG_MAX || sig == SIG_KILL ||
	    sig == SIG_STOP)
		return 0;
	if (a[1] != 0) {
		if (!native_readable(a[1], sizeof new))
			return 0;
		new = *(const struct collect_action *)a[1];
	}
	*answer = set_action(sig, a[1] != 0 ? &new : 0, a[2]);
	return 1;
}

/* -- rt_sigprocmask -- */

static uint64_t changed(uint64_t how, uint64_t mask, uint64_t set)
{
	if (how == MASK_BLOCK)
		return mask | set;
	return how == MASK_UNBLOCK ? mask & ~set : set;
}

/* The kernel writes something there first, so that a bad pointer is known. */
static int64_t put_mask(uint64_t at, uint64_t mask)
{
	int64_t answer;

	if (at == 0)
		return 0;
	answer =
	    sys_call(SYS_NR_RT_SIGPROCMASK, MASK_BLOCK, 0, at, SET_SIZE, 0, 0);
	if (answer == 0)
		*(uint64_t *)at = mask;
	return answer;
}

/* K2. t: NULL, if nothing can be remembered. */
static int64_t change_mask(struct native_thread *t, const uint64_t *a,
			   const uint64_t *set)
{
	uint64_t ours = native_home()->ours;
	uint64_t old = native_set_mask(SIG_ALL) & ~ours;
	uint64_t new, blocked = native_own_blocked(t);
	int64_t answer;

	if (t && t->masked)
		old = t->back;
	new = set ? changed(a[0], old, *set) & ~ours : old;
	if (t && set && !native_is_guest()) {
		t->blocked = changed(a[0], blocked, *set & ours);
		native_home_all()->has_blocked |= t->blocked != 0;
		if (a[0] == MASK_SET)
			native_mask_is_set(t);
		native_let_through(t, t->blocked);
	} else if (t && set) {
		native_guest_blocks(t, changed(a[0], blocked, *set & ours));
	}
	answer = put_mask(a[2], old | blocked);
	if (t && t->masked)
		t->back = new;
	else
		native_set_mask(new);
	return answer;
}

static uint64_t call_mask(const uint64_t *a, int64_t *answer)
{
	uint64_t set = 0, ours = native_home()->ours;
	struct native_thread *t;

	if (a[3] != SET_SIZE ||
	    (a[1] != 0 && (int)a[0] != MASK_BLOCK &&
	     (int)a[0] != MASK_UNBLOCK && (int)a[0] != MASK_SET))
		return 0;
	if (a[1] != 0) {
		if (!native_readable(a[1], SET_SIZE))
			return 0;
		set = *(const uint64_t *)a[1];
	}
	t = native_make();
	if (!(set & ours) && native_own_blocked(t) == 0)
		return 0;
	*answer = change_mask(t, a, a[1] != 0 ? &set : 0);
	return 1;
}

/* -- A new thread, and the end of one -- */

/* One that gets no fs base of its own has that of its maker, at the same
 * time, and must be told apart from then on; or, of vfork, while its maker
 * waits. */
static uint64_t call_clone(uint64_t flags, uint64_t plan)
{
	enum { VM = 0x100, VFORK = 0x4000, SETTLS = 0x80000 };

	collect_claim((const void *)plan);
	if ((flags & (VM | VFORK | SETTLS)) == VM)
		collect_share((const void *)plan, sys_fs_base());
	else if ((flags & (VM | VFORK | SETTLS)) == (VM | VFORK))
		collect_lend((const void *)plan, sys_fs_base());
	return 0;
}

static uint64_t call_vfork(uint64_t plan)
{
	collect_claim((const void *)plan);
	collect_lend((const void *)plan, sys_fs_base());
	return 0;
}

/* A child of fork has blocked what its maker had, and has no timer: that is
 * seen to before anything else. Nobody has another stack. */
static uint64_t call_fork(const uint64_t *g, int64_t *answer)
{
	enum { VM = 0x100 };
	const uint32_t both = COLLECT_TIMERS | COLLECT_FOLLOWS;
	struct native_blocks b;

	if (g[X86_RDI] & VM || g[X86_RSI] != 0 || native_is_guest())
		return 0;
	b = native_blocks();
	*answer = sys_call(NR_CLONE, g[X86_RDI], 0, g[X86_RDX], g[X86_R10],
			   g[X86_R8], 0);
	if (*answer != 0)
		return 1;
	collect_claim(native_plan());
	native_inherit(&b);
	if ((native_plan()->flags & both) == both)
		native_arm();
	return 1;
}

static uint64_t call_clone3(uint64_t args, uint64_t plan)
{
	if (!native_readable(args, sizeof(uint64_t)))
		return 0;
	return call_clone(*(const uint64_t *)args, plan);
}

/* NULL: nothing is known of it. */
static void forget_thread(struct native_thread *t)
{
	if (!t)
		return;
	native_disarm(t);
	native_linger_no_more(t);
	*t = (struct native_thread){0};
}

/* What waits comes first; then the call is made once more. Nothing comes
 * afterwards. */
static uint64_t call_exit(uint64_t plan)
{
	struct native_thread *t;
	uint64_t old;

	if (native_is_guest()) {
		collect_thread_ends((const void *)plan, sys_fs_base());
		return 0;
	}
	old = native_set_mask(SIG_ALL);
	t = native_find();
	if (t && t->counted) {
		native_come_back(t, old & ~native_home()->ours);
		return 0;
	}
	forget_thread(t);
	collect_thread_ends((const void *)plan, sys_fs_base());
	return 2;
}

/* All signals were blocked before anything else, so none waits here. */
void native_leaves(void)
{
	if (!native_is_guest())
		forget_thread(native_find());
	collect_thread_ends(native_plan(), sys_fs_base());
}

/* -- Memory that a thread stands on -- */

/* A thread that unmaps its own stack and then ends lets no signal come in
 * between. A tick would: it would find no room for its frame, and the kernel
 * would end the program. So ticks are kept away, until the thread next changes
 * its mask if it does not end after all. */
static uint64_t call_unmap(const struct probe_frame *frame)
{
	const uint64_t *g = frame->gpr;
	struct native_thread *t;
	uint64_t old;

	if (!(native_plan()->flags & COLLECT_TICKS) ||
	    g[X86_RSP] - g[X86_RDI] > g[X86_RSI] || native_is_guest())
		return 0;
	old = native_set_mask(SIG_ALL);
	t = native_find();
	if (t && t->counted) {
		native_come_back(t, old & ~native_home()->ours);
		return 0;
	}
	native_set_mask(old | SIG_BIT(SIG_TRAP));
	return 2;
}

/* -- All -- */

static uint64_t flags_now(const struct probe_frame *frame)
{
	uint64_t gpr[16], pc, flags = 0x202;

	trampoline_frame_native(frame, gpr, &flags, &pc);
	return flags;
}

static uint64_t call(struct probe_frame *frame, uint64_t plan, int64_t *answer)
{
	const uint64_t *g = frame->gpr;
	const uint64_t a[4] = {g[X86_RDI], g[X86_RSI], g[X86_RDX], g[X86_R10]};

	switch (g[X86_RAX]) {
	case NR_ACTION:
		return call_action(a, answer);
	case NR_MASK:
		return call_mask(a, answer);
	case NR_PENDING:
		return native_pending(a, answer);
	case NR_TIMEDWAIT:
		return native_timedwait(a, answer);
	case NR_CLONE:
		call_clone(a[0], plan);
		return call_fork(g, answer);
	case NR_CLONE3:
		return call_clone3(a[0], plan);
	case NR_VFORK:
		return call_vfork(plan);
	case NR_EXIT:
		return call_exit(plan);
	case NR_READ:
		return native_read_signals(frame, answer);
	case NR_MLOCKALL:
		return native_lockall(a[0], answer);
	case NR_EXECVE:
	case NR_EXECVEAT:
		return native_exec(frame, answer);
	case NR_MPROTECT:
	case NR_PKEY_MPROTECT:
		return native_protect(frame, answer);
	default:
		return native_wait(frame, answer);
	}
}

/* Handlers may have ended since the thread was seen last. */
static void settle(const struct probe_frame *frame)
{
	struct native_thread *t = native_find_or_found();

	if (!t || t->n_entered == 0 || native_is_guest())
		return;
	native_settle(t, frame->gpr[X86_RSP]);
	native_let_through(t, t->blocked);
}

/* These calls are many, and matter only if signals of ours are blocked. */
static bool is_nothing(uint64_t number)
{
	const struct native_home *home = native_home_all();

	return (number == NR_READ || number == NR_POLL ||
		number == NR_EPOLL_WAIT) &&
	       !home->has_blocked && home->n_found == 0;
}

/* Is it made from here, and may take long? */
static bool is_long(uint64_t number)
{
	return number == NR_TIMEDWAIT || number == NR_SUSPEND ||
	       number == NR_PSELECT || number == NR_PPOLL ||
	       number == NR_EPOLL_PWAIT || number == NR_EPOLL_PWAIT2;
}

/* A tick that comes now is of the system call; so is a look from outside. */
static void note_hook(const struct probe_frame *frame, bool is_made)
{
	struct native_thread *t;

	if (!(native_plan()->flags & COLLECT_TICKS) || native_is_guest())
		return;
	t = is_made && is_long(frame->gpr[X86_RAX]) ? native_make()
						    : native_find();
	if (!native_area(t))
		return;
	t->hook = is_made ? (uint64_t)frame : 0;
	collect_show_hook(native_area(t), t->hook);
}

uint64_t native_call(struct probe_frame *frame, uint64_t cookie)
{
	enum { SYSCALL_LEN = 2 };
	int64_t answer = 0;
	uint64_t how;

	/* Before anything is asked of the kernel: it may be too late. */
	if (native_is_filter(frame->gpr))
		return 0;
	if (frame->gpr[X86_RAX] == NR_UNMAP)
		return call_unmap(frame);
	if (is_nothing(frame->gpr[X86_RAX]))
		return 0;
	settle(frame);
	/* Where any call may be made: a filter may forbid what is asked below.
	 */
	if (!native_hooks(frame->gpr[X86_RAX]))
		return 0;
	native_arm();
	note_hook(frame, true);
	how = call(frame, cookie, &answer);
	note_hook(frame, false);
	if (how != 1)
		return how;
	frame->gpr[X86_RAX] = (uint64_t)answer;
	frame->gpr[X86_R11] = flags_now(frame);
	frame->pc += SYSCALL_LEN;
	frame->gpr[X86_RCX] = frame->pc;
	return 1;
}
