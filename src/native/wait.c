/* native/wait.c - system calls that wait with a mask of their own, and
 * those that start another program.
 *
 * A wait is made from here, with all signals blocked until the kernel opens
 * the mask: so none can come in between and be slept over. One that ends it
 * arrives in C and waits (N2); then it is sent again under the mask of the
 * call, and the program's handler returns to the mask before it.
 *
 * Signals of ours that the program blocks in such a call are really blocked
 * there, since nothing traps in it, and those that are held are the kernel's
 * for that time: so signalfd shows them, and none of them ends the call. For
 * that, calls without a mask (poll, epoll_wait, and read of a signalfd) are
 * made here, too, of threads that have blocked any of ours. */
#include "inside/sys.h"
#include "native/home.h"
#include "native/numbers.h"

struct wait {
	int64_t nr;
	uint64_t args[6];
	uint64_t mask;	  /* the program's */
	uint64_t real;	  /* .args point to it */
	uint64_t pair[2]; /* of pselect6 */
	int64_t time[2];  /* of ppoll in the place of poll */
	struct {
		int32_t fd;
		int16_t events, found;
	} poll; /* of ppoll before a read */
};

static bool take_mask(struct wait *w, uint64_t *at, uint64_t size)
{
	if (*at == 0 || size != SET_SIZE || !native_readable(*at, SET_SIZE))
		return false;
	w->mask = w->real = *(const uint64_t *)*at;
	*at = (uint64_t)&w->real;
	return true;
}

static bool take_pair(struct wait *w, uint64_t *at)
{
	const uint64_t *pair = (const uint64_t *)*at;

	if (*at == 0 || !native_readable(*at, sizeof w->pair))
		return false;
	w->pair[0] = pair[0];
	w->pair[1] = pair[1];
	*at = (uint64_t)w->pair;
	return take_mask(w, &w->pair[0], w->pair[1]);
}

static bool take(struct wait *w)
{
	uint64_t *a = w->args;

	switch (w->nr) {
	case NR_SUSPEND:
		return take_mask(w, &a[0], a[1]);
	case NR_PSELECT:
		return take_pair(w, &a[5]);
	case NR_PPOLL:
		return take_mask(w, &a[3], a[4]);
	default:
		return take_mask(w, &a[4], a[5]);
	}
}

static void get_args(const struct probe_frame *frame, uint64_t args[6])
{
	static const uint8_t regs[6] = {X86_RDI, X86_RSI, X86_RDX,
					X86_R10, X86_R8,  X86_R9};

	for (unsigned i = 0; i < 6; i++)
		args[i] = frame->gpr[regs[i]];
}

static int64_t make(int64_t nr, const uint64_t a[6])
{
	return sys_call(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* What ours have ended though nobody wants them is begun again. */
static int64_t wait(struct native_thread *t, const struct wait *w)
{
	uint64_t given = 0;
	int64_t answer;

	t->wait_mask = w->mask & ~native_home()->ours;
	t->wait_blocked = w->mask & native_home()->ours;
	t->waits = 1;
	native_let_through(t, t->wait_blocked);
	if (!t->counted)
		given = native_give_held(t, t->wait_blocked);
	do
		answer = t->counted ? -ERR_INTR : make(w->nr, w->args);
	while (answer == -ERR_INTR && !t->counted);
	native_take_back(t, given);
	return answer;
}

/* -- Calls without a mask -- */

/* As if the program had asked for the mask that it has. */
static void use_mask(struct wait *w, uint64_t mask)
{
	uint64_t *a = w->args;

	w->mask = w->real = mask;
	if (w->nr == NR_READ)
		return;
	if (w->nr == NR_PSELECT) {
		w->pair[0] = (uint64_t)&w->real;
		w->pair[1] = SET_SIZE;
		a[5] = (uint64_t)w->pair;
		return;
	}
	if (w->nr == NR_POLL) {
		const int64_t ms = (int32_t)a[2];

		w->nr = NR_PPOLL;
		w->time[0] = ms / 1000;
		w->time[1] = ms % 1000 * 1000000;
		a[2] = ms < 0 ? 0 : (uint64_t)w->time;
	} else if (w->nr == NR_EPOLL_WAIT) {
		w->nr = NR_EPOLL_PWAIT;
	}
	a[w->nr == NR_PPOLL ? 3 : 4] = (uint64_t)&w->real;
	a[w->nr == NR_PPOLL ? 4 : 5] = SET_SIZE;
}

static bool is_signalfd(uint64_t fd)
{
	enum { NR_READLINK = 89, LEN = 21 };
	static const char want[LEN + 1] = "anon_inode:[signalfd]";
	char path[32] = "/proc/self/fd/", digits[12], text[LEN] = "";
	unsigned n = 0, at = 14;

	fd &= 0x7fffffff;
	do
		digits[n++] = (char)('0' + fd % 10);
	while ((fd /= 10) != 0);
	while (n > 0)
		path[at++] = digits[--n];
	if (sys_call3(NR_READLINK, (uint64_t)path, (uint64_t)text, LEN) != LEN)
		return false;
	for (n = 0; n < LEN; n++)
		if (text[n] != want[n])
			return false;
	return true;
}

static bool is_nonblocking(uint64_t fd)
{
	enum { NR_FCNTL = 72, GET = 3, NONBLOCK = 04000 };

	return sys_call3(NR_FCNTL, fd, GET, 0) & NONBLOCK;
}

/* Is it to be made from here? */
static bool take_plain(struct wait *w, const struct native_thread *t)
{
	uint64_t ours = native_home()->ours, now = 0;

	if (!t || !(t->blocked & ours) || native_is_guest() ||
	    (w->nr == NR_READ &&
	     (native_is_filtered() || !is_signalfd(w->args[0]))))
		return false;
	sys_call(SYS_NR_RT_SIGPROCMASK, MASK_BLOCK, 0, (uint64_t)&now, SET_SIZE,
		 0, 0);
	use_mask(w, (now & ~ours) | (t->blocked & ours));
	return true;
}

/* 0: with a signal that came before, that goes first and the call is made once
 * more afterwards. */
uint64_t native_wait(struct probe_frame *frame, int64_t *answer)
{
	struct wait w = {.nr = (int64_t)frame->gpr[X86_RAX]};
	struct native_thread *t;
	uint64_t old;

	get_args(frame, w.args);
	if (w.nr == NR_POLL || w.nr == NR_EPOLL_WAIT || !take(&w)) {
		if (!take_plain(&w, native_find_or_found()))
			return 0;
	}
	t = native_make();
	if (!t)
		t = native_find_or_spare();
	if (!t)
		return 0;
	old = native_set_mask(SIG_ALL) & ~native_home()->ours;
	if (t->counted) {
		native_come_back(t, old);
		return 0;
	}
	*answer = wait(t, &w);
	t->waits = t->counted;
	if (t->counted) {
		t->masked = 1;
		t->back = old;
	} else {
		native_drop(t);
		native_set_mask(old);
	}
	return 1;
}

/* -- read of a signalfd -- */

/* Until there is something to read. -1: a signal goes first. */
static int await_input(struct native_thread *t, const struct wait *w)
{
	enum { POLL_IN = 1 };
	struct wait p = {.nr = NR_PPOLL, .mask = w->mask, .real = w->mask};

	p.poll.fd = (int32_t)w->args[0];
	p.poll.events = POLL_IN;
	p.args[0] = (uint64_t)&p.poll;
	p.args[1] = 1;
	p.args[3] = (uint64_t)&p.real;
	p.args[4] = SET_SIZE;
	wait(t, &p);
	t->waits = 0;
	return t->counted ? -1 : 0;
}

/* The call that a signal has interrupted: 0: it is made once more. */
static uint64_t interrupted(struct native_thread *t, uint64_t old,
			    int64_t *answer)
{
	uint32_t sig = t->deferred;

	native_come_back(t, old);
	if (sig == 0 || native_home()->program[sig].flags & ACT_RESTART)
		return 0;
	*answer = -ERR_INTR;
	return 1;
}

/* As much as is needed of struct signalfd_siginfo. */
struct record {
	uint32_t signo;
	int32_t error, code;
	uint32_t pid, uid, fd, tid, band, overrun, trapno, status, integer;
	uint64_t pointer;
	uint8_t rest[72];
};
_Static_assert(sizeof(struct record) == 128, "struct signalfd_siginfo");

/* It does not have what an event says of itself. */
static bool is_tick(const struct record *r)
{
	return r->signo == SIG_TRAP && native_plan()->flags & COLLECT_TICKS &&
	       (r->code == CODE_PERF ||
		(r->code == CODE_TIMER && r->pointer == COLLECT_TICK));
}

/* How many bytes of them are the program's. Of those its signals are taken out
 * of *given. */
static int64_t without_ticks(struct record *all, int64_t len, uint64_t *given)
{
	struct record *out = all;

	for (const struct record *r = all; len > 0;
	     r++, len -= (int64_t)sizeof *r) {
		if (is_tick(r)) {
			native_tick_missed(r->code == CODE_TIMER, r->overrun);
			continue;
		}
		*given &= ~SIG_BIT(r->signo);
		*out++ = *r;
	}
	return (int64_t)((const uint8_t *)out - (const uint8_t *)all);
}

static int64_t read_now(struct native_thread *t, const struct wait *w)
{
	uint64_t given = native_give_held(t, t->blocked);
	int64_t answer;

	native_set_mask(w->mask);
	answer = sys_call3(NR_READ, w->args[0], w->args[1], w->args[2]);
	native_set_mask(SIG_ALL);
	if (answer > 0)
		answer = without_ticks((void *)w->args[1], answer, &given);
	native_take_back(t, given);
	return answer;
}

uint64_t native_read_signals(struct probe_frame *frame, int64_t *answer)
{
	struct native_thread *t = native_find_or_found();
	struct wait w = {.nr = NR_READ};
	uint64_t old;

	get_args(frame, w.args);
	if (!take_plain(&w, t))
		return 0;
	old = native_set_mask(SIG_ALL) & ~native_home()->ours;
	if (t->counted) {
		native_come_back(t, old);
		return 0;
	}
	do {
		if (!is_nonblocking(w.args[0]) && await_input(t, &w) < 0)
			return interrupted(t, old, answer);
		*answer = read_now(t, &w);
	} while (*answer == 0); /* nothing but ticks */
	if (t->counted)
		native_come_back(t, old);
	else
		native_set_mask(old);
	return 1;
}

/* -- Another program -- */

/* Signals of ours that the program ignores. */
static uint64_t ignored(const struct native_home *home)
{
	uint64_t set = 0;

	for (int sig = 1; sig <= SIG_MAX; sig++)
		if (home->known.ours & SIG_BIT(sig) &&
		    home->known.program[sig].handler == SIG_IS_IGNORED)
			set |= SIG_BIT(sig);
	return set;
}

static void set_actions(const struct collect_home *home, uint64_t set,
			bool real)
{
	for (; set != 0; set &= set - 1) {
		int sig = __builtin_ctzll(set) + 1;
		struct collect_action a = home->program[sig];

		if (!real)
			a = native_action(home, sig, &a,
					  (uint64_t)native_handler,
					  (uint64_t)native_restorer);
		native_set_action(sig, &a, 0);
	}
}

/* The event ends when the call is past its point of no return; a tick before
 * that comes when the new program begins, and would kill it. hark keeps it
 * away; where hark has not come along, only this does, and the new program has
 * SIGTRAP ignored. */
static void spare(bool from_tick)
{
	static const struct collect_action ignore = {.handler = SIG_IS_IGNORED};

	if (from_tick)
		native_set_action(SIG_TRAP, &ignore, 0);
}

/* Ignored and blocked signals are inherited, held ones go on pending. If it
 * fails they come back, here. */
uint64_t native_exec(struct probe_frame *frame, int64_t *answer)
{
	struct native_home *home = native_home_all();
	struct native_thread *t = native_make();
	uint64_t set = ignored(home), args[6], old;
	uint64_t blocked = native_own_blocked(t);
	bool alone = !native_announce() && native_plan()->flags & COLLECT_TICKS;

	if (set == 0 && blocked == 0 && !alone)
		return 0;
	old = native_set_mask(SIG_ALL) & ~home->known.ours;
	if (t && t->counted) {
		native_come_back(t, old);
		return 0;
	}
	set_actions(&home->known, set, true);
	spare(alone);
	for (unsigned i = 0; t && i < NATIVE_HELD; i++)
		if (t->held & SIG_BIT(t->held_info[i].signo))
			native_send(&t->held_info[i]);
	if (t)
		t->held = 0;
	native_set_mask(old | blocked);
	get_args(frame, args);
	*answer = make((int64_t)frame->gpr[X86_RAX], args);
	set_actions(&home->known, alone ? set | SIG_BIT(SIG_TRAP) : set, false);
	if (!t || !t->masked)
		native_set_mask(old);
	return 1;
}
