/* native/thread.c - what is kept of a thread, and signals that wait.
 *
 * W1  A thread with .counted set is in the image, and sends what waits to
 *     itself before it leaves (native_late in native.S): all is blocked then.
 * W2  .waiting of home is the number of such threads, and of those that have
 *     .lingers set, wherever they are.
 * W3  Of each signal of ours at most one is held, as the kernel would.
 *
 * W4  A child that is not followed has no areas. What a thread of it blocks is
 *     kept in home.
 *
 * A thread's state is its area's. One that has no area (there was none free,
 * or it is about to get one) uses a spare one for as long as a signal waits. */
#include "inside/sys.h"
#include "native/home.h"

enum { SPIN = 64 };

/* -- Who -- */

static uint32_t pid_now(void)
{
	return (uint32_t)sys_call3(SYS_NR_GETPID, 0, 0, 0);
}

static const struct collect_table *table_of(void)
{
	return (const void *)(uintptr_t)native_plan()->table;
}

/* The process that memory belongs to; 0: not known. */
static uint32_t host_pid(void)
{
	const struct collect_table *table = table_of();
	uint32_t owner = __atomic_load_n(&table->pid, __ATOMIC_ACQUIRE);

	return owner == COLLECT_APART
		   ? __atomic_load_n(&table->apart, __ATOMIC_RELAXED)
		   : owner;
}

bool native_is_guest(void)
{
	uint32_t owner = host_pid();

	return owner != 0 && owner != pid_now();
}

static uint64_t own_key(void)
{
	return collect_key(native_plan(), sys_fs_base());
}

static uint64_t spare_key(uint64_t key)
{
	return key | 1;
}

/* W4: what this thread blocks is so in its child as well. */
static void keep_own(struct native_home *home)
{
	uint64_t key = spare_key(own_key());

	for (unsigned i = 0; i < NATIVE_APART; i++) {
		struct native_thread *t = &home->apart[i];

		if (t->fs != key) {
			*t = (struct native_thread){0};
			continue;
		}
		t->deferred = 0;
		t->counted = t->masked = t->waits = t->lingers = 0;
		t->held = t->pass = 0;
	}
}

/* What a parent's other threads were about to do is nothing to a child. */
static void be_own(struct native_home *home)
{
	uint32_t pid = pid_now();

	if (home->pid == pid || native_is_guest())
		return;
	if (home->pid != 0) {
		home->waiting = 0;
		home->n_found = 0;
		for (unsigned i = 0; i < NATIVE_SPARE; i++)
			home->spare[i] = (struct native_thread){0};
		if (home->has_apart)
			keep_own(home);
	}
	home->pid = pid;
}

/* Not there, as long as the collector is about to put it there. */
static struct native_thread *find_area(uint64_t key)
{
	const struct collect_table *table = table_of();
	unsigned first = collect_first(key);

	for (unsigned i = 0; i < COLLECT_ENTRIES; i++) {
		const struct collect_who *w =
		    &table->who[(first + i) % COLLECT_ENTRIES];
		uint64_t area = __atomic_load_n(&w->area, __ATOMIC_ACQUIRE);

		if (area == 0)
			return 0;
		if (__atomic_load_n(&w->fs, __ATOMIC_ACQUIRE) == key)
			return (void *)((struct collect_area *)area)->native;
	}
	return 0;
}

static struct native_thread *find_in(struct native_thread *all, unsigned n,
				     uint64_t key)
{
	for (unsigned i = 0; i < n; i++)
		if (__atomic_load_n(&all[i].fs, __ATOMIC_ACQUIRE) == key)
			return &all[i];
	return 0;
}

static struct native_thread *find_spare(uint64_t key)
{
	struct native_home *home = native_home_all();
	struct native_thread *t = find_in(home->spare, NATIVE_SPARE, key);

	if (!t && __atomic_load_n(&home->has_apart, __ATOMIC_ACQUIRE))
		t = find_in(home->apart, NATIVE_APART, key);
	return t;
}

static struct native_thread *take_in(struct native_thread *all, unsigned n,
				     uint64_t key)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t none = 0;

		if (__atomic_compare_exchange_n(&all[i].fs, &none, key, 0,
						__ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			return &all[i];
	}
	return 0;
}

/* W4. NULL: it has an area, or there are too many. */
static struct native_thread *keep(void)
{
	struct native_home *home = native_home_all();
	uint64_t key = spare_key(own_key());
	struct native_thread *t;

	if (table_of()->pid != COLLECT_APART || native_is_guest())
		return 0;
	be_own(home);
	t = find_spare(key);
	if (t)
		return t;
	t = take_in(home->apart, NATIVE_APART, key);
	if (t) {
		t->stays = 1;
		__atomic_store_n(&home->has_apart, 1, __ATOMIC_RELEASE);
	}
	return t;
}

/* What was blocked when probes came; NULL: nothing, or it is known by now. */
static struct native_found *found_here(void)
{
	struct native_home *home = native_home_all();
	uint64_t n = home->n_found;
	uint32_t tid;

	if (n == 0 || n > NATIVE_FOUND)
		return 0;
	tid = (uint32_t)sys_call3(SYS_NR_GETTID, 0, 0, 0);
	for (uint64_t i = 0; i < n; i++)
		if (home->found[i].tid == tid)
			return &home->found[i];
	return 0;
}

static struct native_thread *with_found(struct native_thread *t)
{
	struct native_found *f = t ? found_here() : 0;

	if (f) {
		t->blocked |= f->blocked;
		f->tid = 0;
	}
	return t;
}

/* A spare one goes first: it was taken when there was no area yet. */
struct native_thread *native_find(void)
{
	uint64_t key = own_key();
	struct native_thread *t = find_spare(spare_key(key));

	return t ? t : with_found(find_area(key));
}

struct native_thread *native_find_or_found(void)
{
	struct native_thread *t = native_find();

	return t || !found_here() ? t : native_make();
}

struct native_thread *native_find_or_spare(void)
{
	struct native_thread *t;

	be_own(native_home_all());
	t = native_find();
	if (t)
		return t;
	t = keep();
	if (!t)
		t = take_in(native_home_all()->spare, NATIVE_SPARE,
			    spare_key(own_key()));
	if (t) {
		const struct native_found *f = found_here();

		t->blocked = f ? f->blocked : 0;
	}
	return t;
}

/* -- The kernel -- */

uint64_t native_set_mask(uint64_t mask)
{
	uint64_t old = 0;

	sys_call(SYS_NR_RT_SIGPROCMASK, MASK_SET, (uint64_t)&mask,
		 (uint64_t)&old, SET_SIZE, 0, 0);
	return old;
}

void native_send(const struct sig_info *info)
{
	sys_call(SYS_NR_RT_TGSIGQUEUEINFO, pid_now(),
		 (uint64_t)sys_call3(SYS_NR_GETTID, 0, 0, 0),
		 (uint64_t)info->signo, (uint64_t)info, 0, 0);
}

int64_t native_set_action(int sig, const struct collect_action *new,
			  uint64_t old)
{
	return sys_call(SYS_NR_RT_SIGACTION, (uint64_t)sig, (uint64_t) new, old,
			SET_SIZE, 0, 0);
}

/* Nobody who has it waits for anything. A lock of another process's was copied
 * by fork while a thread had it that is not here. A guest reads without. */
uint32_t native_lock(void)
{
	uint32_t *lock = &native_home_all()->lock, pid = pid_now();
	uint32_t host = host_pid();

	if (host != 0 && host != pid)
		return 0;
	for (unsigned i = 1;; i++) {
		uint32_t owner = __atomic_load_n(lock, __ATOMIC_RELAXED);

		if (owner != pid && __atomic_compare_exchange_n(
					lock, &owner, pid, 0, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
			return pid;
		if (i % SPIN == 0)
			sys_call3(SYS_NR_SCHED_YIELD, 0, 0, 0);
	}
}

void native_unlock(uint32_t pid)
{
	if (pid != 0)
		__atomic_store_n(&native_home_all()->lock, 0, __ATOMIC_RELEASE);
}

/* -- A new area -- */

bool native_remembers(const struct native_thread *t)
{
	return t && (t->fs == 0 || t->stays);
}

void native_drop(struct native_thread *t)
{
	if (native_remembers(t))
		return;
	t->deferred = 0;
	t->counted = t->masked = t->waits = 0;
	t->held = t->pass = 0;
	__atomic_store_n(&t->fs, 0, __ATOMIC_RELEASE);
}

/* What began without an area goes on with it; all is blocked. */
static void absorb(struct native_thread *t, struct native_thread *spare)
{
	t->deferred = spare->deferred;
	t->info = spare->info;
	t->counted = spare->counted;
	t->masked = spare->masked;
	t->back = spare->back;
	t->held = spare->held;
	for (unsigned i = 0; i < NATIVE_HELD; i++)
		t->held_info[i] = spare->held_info[i];
	native_drop(spare);
}

struct native_thread *native_make(void)
{
	struct collect_area *a = collect_area(native_plan(), sys_fs_base());
	struct native_thread *spare;
	uint64_t old;

	if (!a)
		return with_found(keep());
	spare = find_spare(spare_key(own_key()));
	if (spare) {
		old = native_set_mask(SIG_ALL);
		absorb((void *)a->native, spare);
		native_set_mask(old);
	}
	return with_found((void *)a->native);
}

/* -- What waits -- */

void native_count(struct native_thread *t)
{
	struct native_home *home = native_home_all();

	be_own(home);
	if (!t->counted)
		__atomic_fetch_add(&home->waiting, 1, __ATOMIC_SEQ_CST);
	t->counted = 1;
}

void native_come_back(struct native_thread *t, uint64_t old)
{
	if (!t->masked)
		t->back = old;
	t->masked = 1;
	native_count(t);
}

static unsigned held_index(int sig)
{
	static const uint8_t kinds[NATIVE_HELD - 1] = {SIG_ILL, SIG_TRAP,
						       SIG_BUS, SIG_SEGV};
	unsigned i = 0;

	while (i < NATIVE_HELD - 1 && kinds[i] != sig)
		i++;
	return i;
}

uint64_t native_waiting_for(const struct collect_area *area)
{
	return ((const struct native_thread *)area->native)->held;
}

uint64_t native_siginfo_offset(int sig)
{
	return offsetof(struct collect_area, native) +
	       offsetof(struct native_thread, held_info) +
	       held_index(sig) * sizeof(struct sig_info);
}

const struct sig_info *native_held(const struct native_thread *t, int sig)
{
	return &t->held_info[held_index(sig)];
}

void native_hold(struct native_thread *t, const struct sig_info *info)
{
	if (t->held & SIG_BIT(info->signo))
		return;
	t->held_info[held_index(info->signo)] = *info;
	t->held |= SIG_BIT(info->signo);
}

uint64_t native_own_blocked(const struct native_thread *t)
{
	if (!t)
		return 0;
	return t->guest != 0 && native_is_guest() && t->guest == pid_now()
		   ? t->guest_blocked
		   : t->blocked;
}

void native_guest_blocks(struct native_thread *t, uint64_t blocked)
{
	t->guest = pid_now();
	t->guest_blocked = (uint32_t)blocked;
}

void native_let_through(struct native_thread *t, uint64_t blocked)
{
	if (t->held & ~blocked)
		native_count(t);
}

static void send_held(struct native_thread *t, uint64_t set)
{
	for (; set != 0; set &= set - 1) {
		int sig = __builtin_ctzll(set) + 1;

		t->held &= ~SIG_BIT(sig);
		t->pass |= SIG_BIT(sig);
		native_send(&t->held_info[held_index(sig)]);
	}
}

uint64_t native_give_held(struct native_thread *t, uint64_t blocked)
{
	uint64_t given = t->held & blocked;

	for (uint64_t set = given; set != 0; set &= set - 1) {
		int sig = __builtin_ctzll(set) + 1;

		t->held &= ~SIG_BIT(sig);
		native_send(&t->held_info[held_index(sig)]);
	}
	return given;
}

void native_send_held(struct native_thread *t)
{
	send_held(t, t->held & ~t->blocked);
}

/* What waited is sent. */
static void be_done(struct native_thread *t)
{
	if (t->counted)
		__atomic_fetch_sub(&native_home_all()->waiting, 1,
				   __ATOMIC_SEQ_CST);
	t->deferred = 0;
	t->counted = t->masked = t->waits = 0;
	native_drop(t);
}

void native_wake(uint64_t mask[2], const struct probe_frame *frame)
{
	struct native_home *home = native_home_all();
	uint64_t old = native_set_mask(SIG_ALL) & ~home->known.ours;
	struct native_thread *t;

	be_own(home);
	t = native_find();
	mask[0] = mask[1] = old;
	if (!t)
		return;
	if (t->n_entered > 0 && !native_is_guest())
		native_settle(t, frame->gpr[X86_RSP]);
	native_linger_no_more(t);
	if (!t->counted && !(t->held & ~t->blocked)) {
		native_linger(t);
		native_await_return(t);
		return;
	}
	if (t->masked)
		mask[0] = mask[1] = t->back;
	if (t->waits)
		mask[0] = t->wait_mask;
	if (t->deferred)
		native_send(&t->info);
	send_held(t, t->held & ~(t->waits ? t->wait_blocked : t->blocked));
	native_linger(t);
	native_await_return(t);
	be_done(t);
}

/* M4 of mask.c. A handler has ended; sigreturn is next, which opens the mask.
 */
void native_returned(const struct sig_frame *frame)
{
	struct native_thread *t;

	native_set_mask(SIG_ALL);
	be_own(native_home_all());
	t = native_find();
	if (!t)
		return;
	native_settle(t, (uint64_t)frame->uc.context.gregs[GREG_RSP]);
	native_linger_no_more(t);
	if (t->deferred)
		native_send(&t->info);
	native_send_held(t);
	native_linger(t);
	native_await_return(t);
	be_done(t);
}
