/* native/collect_thread.c - who is who.
 *
 * A thread is known by its fs base. The table that says which area is its own
 * is private memory of the process, and empty in a child of fork; so are the
 * areas. To each belongs a part of the board, which processes share: whoever
 * has the part has the area. A thread looks for itself without
 * a lock, since nobody else enters or removes it. Entering and leaving is done
 * under the table's lock, with all signals blocked.
 *
 * Threads that were made with the fs base of their maker (clone without
 * CLONE_SETTLS) are known by their ids, each time that they hit: that takes
 * system calls, and is right. One that gets a base of its own later takes its
 * area along. Of these, some end unseen (a process that shares memory leaves
 * by exit_group): they are looked for when there is no area left.
 *
 * One that has a base of its own and changes it, and maybe back again (it runs
 * code of another program, as a replayer of hark does), is entered by each that
 * it is seen with. Two areas of one thread would be two stacks of one thread.
 *
 * A child that is not followed notes so in its own table: COLLECT_APART. A
 * child of vfork has table, fs and area of its parent, who sleeps, and is told
 * by its pid: so a table must be its parent's before, and the area says that it
 * is lent. As long as it does, the ids of a hit are the kernel's. The owner
 * ends that when it next hits, since it waits until the child has gone. */
#include "inside/sys.h"
#include "native/collect_board.h"

enum { FREE, TAKEN, OPENING, STATES = 3, NEXT_OWNER = 4 };

static struct collect_table *table_of(const struct collect_plan *plan)
{
	return (struct collect_table *)(uintptr_t)plan->table;
}

/* -- Signals and the lock -- */

enum { SIG_BLOCK_ALL = 0, SIG_SET = 2 };

static uint64_t block_signals(void)
{
	uint64_t all = ~0ULL, old = 0;

	sys_call(SYS_NR_RT_SIGPROCMASK, SIG_BLOCK_ALL, (uint64_t)&all,
		 (uint64_t)&old, sizeof all, 0, 0);
	return old;
}

static void unblock_signals(uint64_t old)
{
	sys_call(SYS_NR_RT_SIGPROCMASK, SIG_SET, (uint64_t)&old, 0, sizeof old,
		 0, 0);
}

/* Its holder lives: threads of one process die together. */
static void lock(struct collect_table *t)
{
	unsigned tries = 0;

	while (__atomic_exchange_n(&t->lock, 1, __ATOMIC_ACQUIRE) != 0) {
		if (++tries % 64 == 0)
			sys_call3(SYS_NR_SCHED_YIELD, 0, 0, 0);
		else
			__builtin_ia32_pause();
	}
}

static void unlock(struct collect_table *t)
{
	__atomic_store_n(&t->lock, 0, __ATOMIC_RELEASE);
}

/* -- The table -- */

static uint32_t own_tid(void)
{
	return (uint32_t)sys_call3(SYS_NR_GETTID, 0, 0, 0);
}

/* Where key is; or NULL, and then *room is where it may be entered, if there
 * is room at all. */
static struct collect_who *find(struct collect_table *t, uint64_t key,
				struct collect_who **room)
{
	unsigned at = collect_first(key);
	struct collect_who *free_one = NULL;

	for (unsigned i = 0; i < COLLECT_ENTRIES; i++) {
		struct collect_who *w = &t->who[at];

		if (w->area == 0) {
			free_one = free_one != NULL ? free_one : w;
			break;
		}
		if (w->fs == key)
			return w;
		if (w->fs == COLLECT_NOBODY && free_one == NULL)
			free_one = w;
		at = (at + 1) % COLLECT_ENTRIES;
	}
	if (room != NULL)
		*room = free_one;
	return NULL;
}

/* Its owner looks for the key first. */
static void enter(struct collect_who *w, uint64_t key, uint64_t area)
{
	__atomic_store_n(&w->area, area, __ATOMIC_RELAXED);
	__atomic_store_n(&w->fs, key, __ATOMIC_RELEASE);
}

static void remove_entry(struct collect_who *w)
{
	__atomic_store_n(&w->fs, COLLECT_NOBODY, __ATOMIC_RELEASE);
}

static struct collect_area *area_of(const struct collect_who *w)
{
	return (struct collect_area *)(uintptr_t)w->area;
}

static bool is_shared(struct collect_table *t, uint64_t fs)
{
	return __atomic_load_n(&t->has_shared, __ATOMIC_ACQUIRE) != 0 &&
	       find(t, collect_shared_key(fs), NULL) != NULL;
}

uint64_t collect_key(const struct collect_plan *plan, uint64_t fs)
{
	return is_shared(table_of(plan), fs) ? collect_tid_key(own_tid()) : fs;
}

/* Does this process collect at all? */
static bool belongs(const struct collect_plan *plan, struct collect_table *t)
{
	uint32_t pid = __atomic_load_n(&t->pid, __ATOMIC_RELAXED);

	if (pid == 0) {
		pid = (uint32_t)sys_call3(SYS_NR_GETPID, 0, 0, 0);
		if (pid != plan->pid && (plan->flags & COLLECT_FOLLOWS) == 0) {
			__atomic_store_n(&t->apart, pid, __ATOMIC_RELAXED);
			pid = COLLECT_APART;
		}
		__atomic_store_n(&t->pid, pid, __ATOMIC_RELEASE);
	}
	return pid != COLLECT_APART;
}

void collect_claim(const struct collect_plan *plan)
{
	struct collect_table *t = table_of(plan);
	uint64_t mask;

	if (__atomic_load_n(&t->pid, __ATOMIC_RELAXED) != 0)
		return;
	mask = block_signals();
	lock(t);
	belongs(plan, t);
	unlock(t);
	unblock_signals(mask);
}

/* -- Areas -- */

static void zero(void *at, uint64_t len)
{
	__builtin_memset(at, 0, len);
}

static void set_part(struct collect_work *w, const struct collect_layout *l)
{
	struct collect_board *board = w->board;
	struct collect_part *part = w->part;

	w->generations =
	    (uint32_t *)(void *)((uint8_t *)board + l->generations);
	w->slots = collect_in(part, l->slots);
	w->rows = collect_in(part, l->rows);
	w->rows_size = w->plan->geometry.aggregation_size;
	w->n_buckets = l->n_buckets;
	w->ring = collect_in(part, l->ring);
	w->bytes = collect_in(part, l->ring_bytes);
	collect_pen_init(w, l);
	w->arrays =
	    (struct collect_arrays *)(void *)((uint8_t *)board + l->arrays);
	w->arrays_size = w->plan->geometry.array_size;
	w->n_array_buckets = collect_array_buckets(w->arrays_size);
	w->speculations = (uint8_t *)board + l->speculations;
	w->speculation_stride = l->speculation_stride;
}

/* Another one for each owner of each area of each session. Never 0. The time is
 * not asked for: all signals may be blocked, and rdtsc forbidden (PR_SET_TSC).
 */
static uint64_t first_random(const struct collect_plan *plan,
			     const struct collect_area *area)
{
	uint64_t mixed = plan->clock.base_tsc ^ plan->clock.base_ns << 20 ^
			 (uint64_t)area->owner << 32 ^ area->number;

	mixed = (mixed + 1) * COLLECT_HASH;
	return (mixed ^ mixed >> 29) | 1;
}

void collect_area_init(const struct collect_plan *plan,
		       struct collect_board *board, struct collect_area *area,
		       struct collect_part *part, uint32_t number)
{
	struct collect_layout l;
	struct collect_work *w;

	collect_layout(&plan->geometry, collect_program(plan), &l);
	area->plan = (uint64_t)(uintptr_t)plan;
	area->number = number;
	area->part = (uint64_t)(uintptr_t)part;
	area->slots = area->part + l.slots;
	area->ways = (uint64_t)(uintptr_t)collect_in(area, l.ways);
	collect_state(area)->work = l.work;
	zero(collect_in(area, l.self_numbers), l.this_end - l.self_numbers);
	w = collect_work(area);
	zero(w, sizeof *w);
	w->plan = plan;
	w->board = board;
	w->area = area;
	w->part = part;
	w->state = collect_state(area);
	w->singles = collect_in(area, l.singles);
	w->lean = collect_in(area, l.lean);
	w->side = collect_in(area, l.side);
	set_part(w, &l);
	w->random = first_random(plan, area);
	collect_host(w, &l);
}

/* Areas below have been used: hark need not look at others. */
static void raise_high(struct collect_board *board, uint32_t n)
{
	uint32_t high = __atomic_load_n(&board->high, __ATOMIC_RELAXED);

	while (high < n &&
	       !__atomic_compare_exchange_n(&board->high, &high, n, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/* Is it free? Then *mine is what it says as long as the caller has it. */
static bool claim(struct collect_part *part, uint32_t *mine)
{
	uint32_t owner = __atomic_load_n(&part->owner, __ATOMIC_RELAXED);

	*mine = owner + NEXT_OWNER + TAKEN;
	return (owner & STATES) == FREE &&
	       __atomic_compare_exchange_n(&part->owner, &owner,
					   owner + NEXT_OWNER + OPENING, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void give_back(const struct collect_plan *plan,
		      struct collect_area *area)
{
	struct collect_board *board =
	    (struct collect_board *)(uintptr_t)plan->board;

	__atomic_store_n(&collect_part(area)->owner,
			 area->owner & ~(uint32_t)STATES, __ATOMIC_RELEASE);
	__atomic_fetch_add(&board->ended, 1, __ATOMIC_RELAXED);
}

/* What the last owner left, and belongs to a thread alone. */
static void forget_owner(struct collect_area *area)
{
	struct collect_state *s = collect_state(area);

	s->slow = s->pause = s->passed = 0;
	s->lent = s->has_bases = 0;
	s->ticks = 0;
	area->busy = 0;
	area->next_token = 0;
	area->n_tokens = 0;
	zero(area->token, sizeof area->token);
	zero(area->native, sizeof area->native);
}

static struct collect_area *take_area(const struct collect_plan *plan,
				      uint64_t fs)
{
	struct collect_board *board =
	    (struct collect_board *)(uintptr_t)plan->board;
	struct collect_layout l;

	collect_layout(&plan->geometry, collect_program(plan), &l);
	for (uint32_t i = 0; i < plan->geometry.max_threads; i++) {
		struct collect_part *part =
		    collect_in(board, l.parts + i * l.part_stride);
		struct collect_area *area =
		    (struct collect_area *)(uintptr_t)(plan->own +
						       i * l.area_stride);
		uint32_t owner;

		if (!claim(part, &owner))
			continue;
		forget_owner(area);
		area->owner = owner;
		area->fs = fs;
		area->pid = (uint32_t)sys_call3(SYS_NR_GETPID, 0, 0, 0);
		area->tid = own_tid();
		part->pid = area->pid;
		part->tid = area->tid;
		part->hook = 0;
		collect_area_init(plan, board, area, part, i);
		raise_high(board, i + 1);
		__atomic_store_n(&part->owner, owner, __ATOMIC_RELEASE);
		return area;
	}
	return NULL;
}

/* A thread that was entered otherwise before has this base now: it had none
 * when it was seen first, or shared one. */
static struct collect_area *entered_before(struct collect_table *t, uint64_t fs)
{
	struct collect_who *w = fs != 0 ? find(t, 0, NULL) : NULL;
	struct collect_area *area;

	if (w == NULL || area_of(w)->tid != own_tid())
		w = t->has_shared != 0
			? find(t, collect_tid_key(own_tid()), NULL)
			: NULL;
	if (w == NULL)
		return NULL;
	area = area_of(w);
	remove_entry(w);
	return area;
}

/* The area of this thread, by any key; NULL: it is new. */
static struct collect_area *entered_by_id(struct collect_table *t)
{
	uint32_t tid = own_tid();

	for (unsigned i = 0; i < COLLECT_ENTRIES; i++) {
		const struct collect_who *w = &t->who[i];

		if (w->area > 1 && w->fs != COLLECT_NOBODY &&
		    area_of(w)->tid == tid) {
			collect_state(area_of(w))->has_bases = 1;
			return area_of(w);
		}
	}
	return NULL;
}

/* All signals are blocked, so blocking those of any set changes nothing; but
 * the kernel has to read the set. A fault would be deadly here. */
static bool can_read(uint64_t addr)
{
	return sys_call(SYS_NR_RT_SIGPROCMASK, SIG_BLOCK_ALL, addr, 0,
			sizeof(uint64_t), 0, 0) == 0;
}

/* collect_enter.S: may threads be known by what is at fs:0? A thread that has
 * no fs base yet says nothing about it. */
static void look_for_self(struct collect_table *t, uint64_t fs)
{
	if (fs == 0)
		return;
	if (!can_read(fs) || *(const uint64_t *)(uintptr_t)fs != fs)
		t->has_none = 1;
	__atomic_store_n(&t->has_self, t->has_none == 0, __ATOMIC_RELAXED);
}

/* -- Threads that ended unseen -- */

enum { NO_SUCH_THREAD = -3 }; /* ESRCH */

static bool is_tid_key(uint64_t key)
{
	return key >> 32 >> 6 == collect_tid_key(0) >> 32 >> 6;
}

/* Is there one less? Of those that are entered by their ids. */
static bool bury(const struct collect_plan *plan, struct collect_table *t)
{
	bool found = false;

	for (unsigned i = 0; t->has_shared != 0 && i < COLLECT_ENTRIES; i++) {
		struct collect_who *w = &t->who[i];

		if (w->area == 0 || !is_tid_key(w->fs) ||
		    sys_call3(SYS_NR_TKILL, area_of(w)->tid, 0, 0) !=
			NO_SUCH_THREAD)
			continue;
		remove_entry(w);
		give_back(plan, area_of(w));
		found = true;
	}
	return found;
}

/* -- Entering -- */

/* Under the lock. */
static struct collect_area *enter_thread(const struct collect_plan *plan,
					 struct collect_table *t, uint64_t fs)
{
	uint64_t key = collect_key(plan, fs);
	struct collect_who *room = NULL, *w = find(t, key, &room);
	struct collect_area *area;

	if (w == NULL && room == NULL && bury(plan, t))
		w = find(t, key, &room);
	if (w != NULL)
		return area_of(w);
	if (room == NULL)
		return NULL;
	area = key == fs ? entered_before(t, fs) : NULL;
	if (area == NULL && key == fs)
		area = entered_by_id(t);
	if (area == NULL)
		area = take_area(plan, fs);
	if (area == NULL && bury(plan, t))
		area = take_area(plan, fs);
	if (area != NULL) {
		area->fs = fs;
		enter(room, key, (uint64_t)(uintptr_t)area);
		look_for_self(t, fs);
	}
	return area;
}

/* -- For others -- */

void collect_nobody(const struct collect_plan *plan,
		    const struct collect_site *site)
{
	uint8_t *board = (uint8_t *)(uintptr_t)plan->board;
	struct collect_account *all;
	struct collect_layout l;

	collect_layout(&plan->geometry, collect_program(plan), &l);
	all = (struct collect_account *)(void *)(board + l.nobody);
	for (; site != NULL;
	     site = (const struct collect_site *)(uintptr_t)site->next) {
		struct collect_account *a = &all[site->number];

		__atomic_fetch_add(&a->executed, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&a->dropped, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&((struct collect_board *)(void *)board)
					->reasons[COLLECT_NO_AREA],
				   1, __ATOMIC_RELAXED);
	}
}

/* A hit of a thread that the table does not have by its fs base; signals are
 * blocked. NULL: the hit is dealt with. */
struct collect_area *collect_new(const struct collect_site *site, uint64_t fs)
{
	const struct collect_plan *plan =
	    (const struct collect_plan *)(uintptr_t)site->plan;
	struct collect_table *t = table_of(plan);
	struct collect_area *area = NULL;
	bool is_ours;

	lock(t);
	is_ours = belongs(plan, t);
	if (is_ours)
		area = enter_thread(plan, t, fs);
	unlock(t);
	if (is_ours && area == NULL)
		collect_nobody(plan, site);
	if (area == NULL || area->busy == 0)
		return area;
	collect_recursed(site, area);
	return NULL;
}

struct collect_area *collect_area(const struct collect_plan *plan, uint64_t fs)
{
	struct collect_table *t = table_of(plan);
	const struct collect_who *w = find(t, collect_key(plan, fs), NULL);
	struct collect_area *area = NULL;
	uint64_t mask;

	if (w != NULL)
		return area_of(w);
	if (__atomic_load_n(&t->pid, __ATOMIC_RELAXED) == COLLECT_APART)
		return NULL;
	mask = block_signals();
	lock(t);
	if (belongs(plan, t))
		area = enter_thread(plan, t, fs);
	unlock(t);
	unblock_signals(mask);
	return area;
}

void collect_lend(const struct collect_plan *plan, uint64_t fs)
{
	struct collect_area *area = collect_area(plan, fs);

	if (area != NULL)
		collect_state(area)->lent = 1;
}

struct collect_ids collect_ids(struct collect_area *area)
{
	struct collect_state *s = collect_state(area);
	struct collect_ids ids = {area->pid, area->tid};

	if (s->lent == 0)
		return ids;
	ids.pid = (uint32_t)sys_call3(SYS_NR_GETPID, 0, 0, 0);
	ids.tid = own_tid();
	if (ids.tid == area->tid)
		s->lent = 0;
	return ids;
}

/* The mark comes first, and then nobody is found by fs. Whoever was: usually
 * the calling thread, or the parent that waits for it (vfork). */
static void share(struct collect_table *t, uint64_t fs)
{
	struct collect_who *room = NULL, *w;

	if (find(t, collect_shared_key(fs), &room) != NULL || room == NULL)
		return;
	enter(room, collect_shared_key(fs), 1);
	__atomic_store_n(&t->has_shared, 1, __ATOMIC_RELEASE);
	w = find(t, fs, NULL);
	if (w == NULL)
		return;
	find(t, collect_tid_key(area_of(w)->tid), &room);
	if (room != NULL)
		enter(room, collect_tid_key(area_of(w)->tid), w->area);
	remove_entry(w);
}

void collect_share(const struct collect_plan *plan, uint64_t fs)
{
	struct collect_table *t = table_of(plan);
	uint64_t mask = block_signals();

	lock(t);
	if (belongs(plan, t))
		share(t, fs);
	unlock(t);
	unblock_signals(mask);
}

static void remove_all(struct collect_table *t, const struct collect_area *area)
{
	for (unsigned i = 0; i < COLLECT_ENTRIES; i++)
		if (t->who[i].area == (uint64_t)(uintptr_t)area)
			remove_entry(&t->who[i]);
}

/* A child of vfork that ends is not the thread that the area belongs to. */
static void leave(const struct collect_plan *plan, struct collect_table *t,
		  struct collect_who *w)
{
	struct collect_area *area = w != NULL ? area_of(w) : NULL;

	if (area == NULL || area->tid != own_tid())
		return;
	remove_entry(w);
	if (collect_state(area)->has_bases)
		remove_all(t, area);
	give_back(plan, area);
}

void collect_thread_ends(const struct collect_plan *plan, uint64_t fs)
{
	struct collect_table *t = table_of(plan);
	uint64_t mask = block_signals();

	lock(t);
	leave(plan, t, find(t, fs, NULL));
	if (t->has_shared != 0)
		leave(plan, t, find(t, collect_tid_key(own_tid()), NULL));
	unlock(t);
	unblock_signals(mask);
}

void collect_show_hook(const struct collect_area *area, uint64_t frame)
{
	__atomic_store_n(&collect_part(area)->hook, frame, __ATOMIC_RELAXED);
}
