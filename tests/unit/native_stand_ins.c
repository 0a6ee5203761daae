/* tests/unit/native_stand_ins.c - a collector that counts, for tests of
 * src/native. Signals come in the middle of it, so it calls no library. */
#include "native_stand_ins.h"

#include "inside/sys.h"

struct collect_area stand_in_areas[STAND_IN_AREAS];
static unsigned stand_in_used;

/* The linker leads all calls of these here (--wrap). */
void __real_collect_hit(struct probe_frame *frame, uint64_t cookie);
void __wrap_collect_hit(struct probe_frame *frame, uint64_t cookie);
struct collect_area *__real_collect_area(const struct collect_plan *plan,
					 uint64_t fs);
struct collect_area *__wrap_collect_area(const struct collect_plan *plan,
					 uint64_t fs);
void __real_collect_thread_ends(const struct collect_plan *plan, uint64_t fs);
void __wrap_collect_thread_ends(const struct collect_plan *plan, uint64_t fs);

static int is_real(const struct collect_plan *plan)
{
	return plan->magic == COLLECT_MAGIC;
}

struct collect_area *__wrap_collect_area(const struct collect_plan *plan,
					 uint64_t fs)
{
	struct collect_table *t = (void *)(uintptr_t)plan->table;
	unsigned first = collect_first(fs);

	if (is_real(plan))
		return __real_collect_area(plan, fs);
	if (t->pid == 0)
		t->pid = (uint32_t)sys_call3(SYS_NR_GETPID, 0, 0, 0);
	for (unsigned i = 0; i < STAND_IN_AREAS; i++) {
		struct collect_who *w = &t->who[(first + i) % COLLECT_ENTRIES];
		uint64_t none = 0;

		if (__atomic_load_n(&w->fs, __ATOMIC_ACQUIRE) == fs)
			return (void *)(uintptr_t)w->area;
		if (__atomic_compare_exchange_n(&w->fs, &none, fs, 0,
						__ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED)) {
			unsigned k = __atomic_fetch_add(&stand_in_used, 1,
							__ATOMIC_RELAXED);

			struct collect_area *a =
			    &stand_in_areas[k % STAND_IN_AREAS];

			a->part = (uint64_t)a + STAND_IN_PART;
			w->area = (uint64_t)a;
			return (void *)(uintptr_t)w->area;
		}
	}
	return 0;
}

void __wrap_collect_thread_ends(const struct collect_plan *plan, uint64_t fs)
{
	struct collect_table *t = (void *)(uintptr_t)plan->table;

	if (is_real(plan)) {
		__real_collect_thread_ends(plan, fs);
		return;
	}
	for (unsigned i = 0; i < COLLECT_ENTRIES; i++)
		if (t->who[i].fs == fs)
			__atomic_store_n(&t->who[i].fs, COLLECT_NOBODY,
					 __ATOMIC_RELEASE);
}

static void send(uint64_t set)
{
	for (; set != 0; set &= set - 1)
		sys_call3(SYS_NR_TGKILL,
			  (uint64_t)sys_call3(SYS_NR_GETPID, 0, 0, 0),
			  (uint64_t)sys_call3(SYS_NR_GETTID, 0, 0, 0),
			  (uint64_t)__builtin_ctzll(set) + 1);
}

static void hit(struct stand_in *s, const struct probe_frame *frame)
{
	uint64_t word;

	__atomic_fetch_add(&s->hits, 1, __ATOMIC_RELAXED);
	if (s->by_rax)
		s->by_rax[frame->gpr[0]]++;
	send(s->sends);
	if (s->reads != 0 && native_read((const void *)s->reads, &word, 8))
		s->read_ok++;
	for (uint64_t i = 0; i < s->pause; i++)
		__asm__ volatile("pause");
}

void __wrap_collect_hit(struct probe_frame *frame, uint64_t cookie)
{
	struct stand_in *s = (struct stand_in *)(uintptr_t)cookie;
	const struct collect_plan *plan = (const void *)(uintptr_t)s->plan;
	struct collect_area *a;

	if (is_real(plan)) {
		__real_collect_hit(frame, cookie);
		return;
	}
	a = __wrap_collect_area(plan, sys_fs_base());
	if (a && s->counts) {
		stand_in_slot(a)->how = SLOT_COUNT;
		((struct collect_table *)(uintptr_t)plan->table)->has_self = 1;
	}
	if (!a || a->n_tokens == 0 || !native_fired(a, frame))
		hit(s, frame);
}
