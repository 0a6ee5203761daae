/* engine/memory.c - the engine's own memory. */
#include "engine/memory.h"

#include "inside/sys.h"

enum { PAGE = 4096, GAP = 1 << 16, DONTDUMP = 16 };

static uint64_t page_up(uint64_t v)
{
	return (v + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

static void take(struct memory *m)
{
	while (__atomic_exchange_n(&m->lock, 1, __ATOMIC_ACQUIRE) != 0)
		sys_call3(SYS_NR_SCHED_YIELD, 0, 0, 0);
}

static void release(struct memory *m)
{
	__atomic_store_n(&m->lock, 0, __ATOMIC_RELEASE);
}

/* -- Limits ---------------------------------------------------------------- */

int64_t memory_rlimit(unsigned which, const struct rlimit64 *set,
		      struct rlimit64 *out)
{
	enum { NR_PRLIMIT = 302 };
	static const uint8_t number[MEMORY_LIMITS] = {
	    [MEMORY_LIMIT_AS] = 9, [MEMORY_LIMIT_DATA] = 2};

	return sys_call(NR_PRLIMIT, 0, number[which], (uint64_t)set,
			(uint64_t)out, 0, 0);
}

/* The limit is the program's, and all that is the engine's beyond it; as far
 * as the hard limit allows. */
static void raise_limits(const struct memory *m, uint64_t more)
{
	for (unsigned i = 0; i < MEMORY_LIMITS; i++) {
		const struct memory_limit *l = &m->limits[i];
		struct rlimit64 now;

		if (!l->is_set || memory_rlimit(i, 0, &now) != 0)
			continue;
		if (__builtin_add_overflow(l->own.cur, m->total[i] + more,
					   &now.cur) ||
		    now.cur > now.max)
			now.cur = now.max;
		memory_rlimit(i, &now, 0);
	}
}

void memory_allow(struct memory *m, uint64_t more)
{
	take(m);
	raise_limits(m, more);
	release(m);
}

static void count(struct memory *m, uint64_t more, int is_data)
{
	m->total[MEMORY_LIMIT_AS] += more;
	if (is_data)
		m->total[MEMORY_LIMIT_DATA] += more;
}

/* -- Mapping --------------------------------------------------------------- */

int64_t memory_place(uint64_t *hint, uint64_t len)
{
	enum { TRIES = 64 };
	const unsigned rw = SYS_PROT_READ | SYS_PROT_WRITE;

	len = page_up(len);
	for (int i = 0; i<TRIES && * hint> len + GAP; i++) {
		int64_t at;

		*hint -= len;
		at = sys_map(*hint, len, rw,
			     SYS_MAP_FIXED_NOREPLACE | SYS_MAP_NORESERVE);
		if (!sys_failed(at)) /* an old kernel takes it for a hint */
			return at;
		*hint -= (uint64_t)GAP << i / 8;
	}
	return sys_map(0, len, rw, SYS_MAP_NORESERVE);
}

void *memory_map(struct memory *m, uint64_t len)
{
	int64_t at;

	take(m);
	raise_limits(m, page_up(len));
	at = memory_place(&m->hint, len);
	release(m);
	if (sys_failed(at))
		return 0;
	memory_note(m, (uint64_t)at, len);
	return (void *)at;
}

void memory_unmap(struct memory *m, void *at, uint64_t len)
{
	take(m);
	for (uint32_t i = 0; i < m->n; i++)
		if (m->spans[i].start == (uint64_t)at)
			m->spans[i].end = m->spans[i].start;
	count(m, 0 - page_up(len), 1);
	sys_unmap((uint64_t)at, page_up(len));
	raise_limits(m, 0);
	release(m);
}

static void note(struct memory *m, uint64_t start, uint64_t len, int is_data)
{
	uint64_t from = start & ~(uint64_t)(PAGE - 1);
	uint32_t i = 0;

	sys_call3(SYS_NR_MADVISE, from, page_up(start + len) - from, DONTDUMP);
	take(m);
	count(m, page_up(start + len) - from, is_data);
	raise_limits(m, 0);
	while (i < m->n && m->spans[i].end != m->spans[i].start)
		i++;
	if (i < MEMORY_SPANS) {
		m->spans[i].end = page_up(start + len);
		m->spans[i].start = from;
	}
	if (i == m->n && i < MEMORY_SPANS)
		__atomic_store_n(&m->n, m->n + 1, __ATOMIC_RELEASE);
	release(m);
}

void memory_note(struct memory *m, uint64_t start, uint64_t len)
{
	note(m, start, len, 1);
}

void memory_note_file(struct memory *m, uint64_t start, uint64_t len)
{
	note(m, start, len, 0);
}

int memory_meets(const struct memory *m, struct span asked, struct span *out)
{
	uint32_t n = __atomic_load_n(&m->n, __ATOMIC_ACQUIRE);
	struct span first = {~0ull, ~0ull};

	for (uint32_t i = 0; i < n; i++) {
		struct span s = m->spans[i];

		if (s.start < s.end && s.start < asked.end &&
		    asked.start < s.end && s.start < first.start)
			first = s;
	}
	*out = first;
	return first.start != ~0ull;
}
