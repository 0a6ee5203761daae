/* engine/sent.c - synchronous signals that a process has sent.
 *
 * Faults must reach the engine, so these signals are not blocked natively, and
 * the engine keeps those that the program blocks, as the kernel would: of each
 * signal at most one for the thread and one for the process, and the thread's
 * first. .sent says which signals are kept, .sent_twice of which there are two.
 *
 * Only the kernel can show a pending signal to signalfd, poll and the like, and
 * only a blocked signal leaves a system call alone. So while the program is in
 * a system call, where nothing of the engine faults, the kernel keeps them:
 *
 * S5  Between sent_show and sent_hide signals of .shown are blocked natively,
 *     and what was kept of them is pending natively. A handler of the engine
 *     that interrupts this hides them first.
 * S6  That costs two system calls each time. It is done from when such a signal
 *     was first sent while it was blocked (.sent_ever), which is hardly ever.
 *     The call that this one interrupts is made again, and so are those that
 *     other threads are in.
 * S7  A signal for the process (kill, sigqueue) that comes to a thread that
 *     blocks it is passed on: to a thread that does not, or to one whose
 *     system call may take it. Such a thread asks those that keep some: by a
 *     SIGTRAP that only the engine makes. Threads that show signals keep
 *     none, and might show this one. Of threads that may take it the surest
 *     is chosen: one that polls other files only keeps it until that ends.
 * S8  The kernel lets a thread send a siginfo of kill() (CODE_USER) to itself
 *     only. What another thread may take is marked by a code that the kernel
 *     does not check, and the mark is removed wherever it can come back. */
#include "engine/call_priv.h"
#include "engine/signal_priv.h"

#include "inside/mem.h"
#include "inside/sys.h"

enum { CODE_TKILL = -6, CODE_QUEUE = -1, CODE_MARKED = -0x68726b };

static const uint8_t order[VCPU_N_SYNC] = {SIG_ILL, SIG_TRAP, SIG_BUS,
					   SIG_FPE, SIG_SEGV, SIG_SYS};

static unsigned index_of(int sig)
{
	unsigned i = 0;

	while (i < VCPU_N_SYNC - 1 && order[i] != sig)
		i++;
	return i;
}

static int is_for_thread(const struct sig_info *info)
{
	return info->code == CODE_TKILL;
}

static void native_mask(uint64_t how, uint64_t mask)
{
	sys_call(SYS_NR_RT_SIGPROCMASK, how, (uint64_t)&mask, 0, SET_SIZE, 0,
		 0);
}

static uint64_t pid_now(void)
{
	return (uint64_t)sys_call3(SYS_NR_GETPID, 0, 0, 0);
}

static uint64_t mask_of(const struct vcpu *v)
{
	return v->has_temp_mask ? v->temp_mask : v->mask;
}

/* Signals for the process that this thread keeps. */
static uint64_t sent_for_process(const struct vcpu *v)
{
	uint64_t set = 0;

	for (unsigned i = 0; i < VCPU_N_SYNC; i++) {
		const struct sig_info *info = (const void *)v->sent_info[i];

		if (v->sent & SIG_BIT(order[i]) && !is_for_thread(info))
			set |= SIG_BIT(order[i]);
	}
	return set;
}

static int is_other(const struct vcpu *v, const struct vcpu *u)
{
	return u != v && u->slot_state != 0 && u->tid != 0 &&
	       u->sighand == v->sighand;
}

static uint64_t secret(const struct engine *e)
{
	return (uint64_t)e ^ 0x676e697374726177ull;
}

int sent_is_sought(const struct vcpu *v, const struct sig_info *info)
{
	return info->signo == SIG_TRAP && info->code == CODE_QUEUE &&
	       info->value == secret(v->engine);
}

/* Threads that keep a signal of the set for the process; ~0: all. */
static void nudge_others(const struct vcpu *v, uint64_t set)
{
	struct sig_info info = {
	    .signo = SIG_TRAP, .code = CODE_QUEUE, .value = secret(v->engine)};

	for (const struct vcpu *u = v->engine->vcpus; u; u = u->next)
		if (is_other(v, u) &&
		    __atomic_load_n(&u->shown, __ATOMIC_SEQ_CST) == 0 &&
		    (set == ~0ull || sent_for_process(u) & set))
			sys_call(SYS_NR_RT_TGSIGQUEUEINFO, pid_now(), u->tid,
				 SIG_TRAP, (uint64_t)&info, 0, 0);
}

void sent_keep(struct vcpu *v, const struct sig_info *info)
{
	unsigned i = index_of(info->signo);
	struct sig_info *first = (void *)v->sent_info[i];
	struct sig_info *second = (void *)v->sent_more[i];
	uint64_t bit = SIG_BIT(info->signo);

	if (!(v->sent & bit)) {
		*first = *info;
	} else if (!(v->sent_twice & bit) &&
		   is_for_thread(first) != is_for_thread(info)) {
		*second = is_for_thread(info) ? *first : *info;
		if (is_for_thread(info))
			*first = *info;
		v->sent_twice |= bit;
	}
	__atomic_fetch_or(&v->sent, bit, __ATOMIC_SEQ_CST);
	signal_recheck(v);
	if (!(mask_of(v) & bit))
		return;
	if (!__atomic_exchange_n(&v->engine->sent_ever, 1, __ATOMIC_SEQ_CST))
		nudge_others(v, ~0ull); /* S6 */
}

static int has_taken(struct vcpu *v, uint64_t bit)
{
	return (__atomic_fetch_and(&v->sent, ~bit, __ATOMIC_SEQ_CST) & bit) !=
	       0;
}

int sent_take(struct vcpu *v, uint64_t set, struct sig_info *out)
{
	uint64_t bit;
	unsigned i;

	do {
		bit = __atomic_load_n(&v->sent, __ATOMIC_SEQ_CST) & set;
		if (bit == 0)
			return 0;
		bit &= -bit;
		i = index_of(__builtin_ctzll(bit) + 1);
		memcpy(out, v->sent_info[i], sizeof *out);
	} while (!has_taken(v, bit));
	if (v->sent_twice & bit) {
		memcpy(v->sent_info[i], v->sent_more[i], sizeof *out);
		v->sent_twice &= ~bit;
		__atomic_fetch_or(&v->sent, bit, __ATOMIC_SEQ_CST);
	}
	signal_recheck(v);
	return out->signo;
}

void sent_drop(struct vcpu *v, uint64_t set)
{
	v->sent &= ~set;
	v->sent_twice &= ~set;
	signal_recheck(v);
}

/* -- Other threads --------------------------------------------------------- */

/* S7. NULL: no thread wants it. */
static const struct vcpu *find_receiver(const struct vcpu *v, uint64_t bit)
{
	const struct vcpu *best = 0;

	for (const struct vcpu *u = v->engine->vcpus; u; u = u->next) {
		if (!is_other(v, u))
			continue;
		if (!(mask_of(u) & bit))
			return u;
		if (__atomic_load_n(&u->seeks, __ATOMIC_RELAXED) & bit &&
		    (!best || u->seek_rank > best->seek_rank))
			best = u;
	}
	return best;
}

static struct sig_info marked(const struct sig_info *info)
{
	struct sig_info m = *info;

	if (m.code == CODE_USER)
		m.code = CODE_MARKED;
	return m;
}

void sent_unmark(struct sig_info *info)
{
	if (info->code == CODE_MARKED)
		info->code = CODE_USER;
}

/* Is it for the process, blocked here, and not in another thread? */
static int is_wanted(const struct vcpu *v, const struct sig_info *info)
{
	uint64_t bit = SIG_BIT(info->signo);

	return (info->code == CODE_USER || info->code == CODE_QUEUE) &&
	       mask_of(v) & bit && find_receiver(v, bit);
}

static int pass_on(const struct vcpu *v, const struct sig_info *info)
{
	const struct sig_info m = marked(info);
	const struct vcpu *to = find_receiver(v, SIG_BIT(info->signo));

	return to && sys_call(SYS_NR_RT_TGSIGQUEUEINFO, pid_now(), to->tid,
			      (uint64_t)m.signo, (uint64_t)&m, 0, 0) == 0;
}

/* It is kept before threads are looked for that seek it, and a thread seeks
 * before it looks for those that keep any: so one of the two is seen. A handler
 * that interrupts sent_take must not pass on what that takes: .sent says which
 * of them has it. */
void sent_offer(struct vcpu *v)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < VCPU_N_SYNC; i++) {
		const struct sig_info *info = (const void *)v->sent_info[i];
		uint64_t bit = SIG_BIT(order[i]);

		if (v->sent & ~v->sent_twice & bit && is_wanted(v, info) &&
		    has_taken(v, bit) && !pass_on(v, info))
			__atomic_fetch_or(&v->sent, bit, __ATOMIC_SEQ_CST);
	}
	signal_recheck(v);
}

uint64_t sent_elsewhere(const struct vcpu *v)
{
	uint64_t set = 0;

	for (const struct vcpu *u = v->engine->vcpus; u; u = u->next)
		if (is_other(v, u))
			set |= sent_for_process(u);
	return set;
}

/* Those that keep one pass it on at their next instruction; one that is in the
 * engine, a moment later. */
void sent_pull(struct vcpu *v)
{
	enum { NR_NANOSLEEP = 35, TRIES = 1000 };
	const uint64_t moment[2] = {0, 20000};

	if (!__atomic_load_n(&v->engine->sent_ever, __ATOMIC_RELAXED))
		return;
	for (int i = 0; i < TRIES && sent_elsewhere(v) & ~v->mask; i++) {
		nudge_others(v, ~v->mask);
		sys_call3(NR_NANOSLEEP, (uint64_t)moment, 0, 0);
	}
}

/* -- S5 -------------------------------------------------------------------- */

/* As it was sent: for this thread, or for the process. */
static void send_again(struct vcpu *v, const struct sig_info *info)
{
	enum { NR_RT_SIGQUEUEINFO = 129 };
	const struct sig_info m = marked(info);

	if (is_for_thread(info))
		signal_give_back(v, info);
	else
		sys_call(NR_RT_SIGQUEUEINFO, pid_now(), (uint64_t)m.signo,
			 (uint64_t)&m, 0, 0, 0);
}

static int is_signalfd(uint64_t fd)
{
	enum { NR_READLINK = 89 };
	static const char want[21] = "anon_inode:[signalfd]";
	char path[32] = "/proc/self/fd/", digits[12], text[sizeof want];
	unsigned n = 0, at = 14;

	fd &= 0x7fffffff;
	do
		digits[n++] = (char)('0' + fd % 10);
	while ((fd /= 10) != 0);
	while (n > 0)
		path[at++] = digits[--n];
	return sys_call3(NR_READLINK, (uint64_t)path, (uint64_t)text,
			 sizeof text) == sizeof want &&
	       memcmp(text, want, sizeof want) == 0;
}

/* How surely does a system call take a pending signal of the mask? 0: it never
 * does. */
static uint32_t rank_of(const struct call *c)
{
	switch (c->nr) {
	case 128: /* rt_sigtimedwait */
		return 3;
	case 0:	 /* read */
	case 19: /* readv */
		return is_signalfd(c->args[0]) ? SENT_RANK_FD : 0;
	case 7:	  /* poll */
	case 23:  /* select */
	case 232: /* epoll_wait */
	case 270: /* pselect6 */
	case 271: /* ppoll */
	case 281: /* epoll_pwait */
	case 333: /* io_pgetevents */
	case 426: /* io_uring_enter */
	case 441: /* epoll_pwait2 */
		return 1;
	default:
		return 0;
	}
}

uint64_t sent_show(struct vcpu *v, const struct call *c, uint64_t mask)
{
	uint64_t set = mask & SIG_SYNC;
	struct sig_info info;

	v->disturbed = 0;
	if (set == 0 ||
	    !__atomic_load_n(&v->engine->sent_ever, __ATOMIC_RELAXED))
		return 0;
	native_mask(MASK_BLOCK, set);
	__atomic_store_n(&v->shown, set, __ATOMIC_SEQ_CST);
	v->seek_rank = rank_of(c);
	if (v->seek_rank > 0)
		__atomic_store_n(&v->seeks, set, __ATOMIC_SEQ_CST);
	while (sent_take(v, set, &info) != 0)
		send_again(v, &info);
	if (v->seek_rank > 0)
		nudge_others(v, set); /* S7 */
	return set;
}

/* S8: struct signalfd_siginfo, as many as were read. */
void sent_unmark_read(const struct call *c, int64_t answer)
{
	enum { RECORD = 128, CODE_AT = 8 };
	int32_t code;

	for (int64_t at = 0; at + RECORD <= answer; at += RECORD) {
		void *there = (void *)(c->args[1] + (uint64_t)at + CODE_AT);

		if (guest_copy(&code, there, sizeof code) != 0 ||
		    code != CODE_MARKED)
			continue;
		code = CODE_USER;
		guest_copy(there, &code, sizeof code);
	}
}

void sent_hide(struct vcpu *v)
{
	__atomic_store_n(&v->seeks, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&v->shown, 0, __ATOMIC_SEQ_CST);
	native_mask(MASK_UNBLOCK, SIG_SYNC);
}
