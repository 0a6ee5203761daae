/* native/calm.c - which pages of the stack were written since the last
 * sample?
 *
 * hark has had the stack registered (probe/calm.h). A page is protected or it
 * was written: PAGEMAP_SCAN tells the written ones and protects them, in one
 * step, while the thread is here and writes nothing above its stack pointer. So
 * what is not told has been as it is since some look before, and so since the
 * last one; and what a map has of that look's sample is true of it.
 *
 *	sp	  from				   to
 *	|  compared  |..calm..|written|....calm....|
 *
 * A write to a protected page costs its writer some 0.7 us. So pages near sp
 * are left alone: only what lies a page beyond where stacks have been the same
 * in the last samples is protected. Where other pages are written so often that
 *it costs more than it saves, there is a pause.
 *
 * A4  The answer is believed only of pages that the kernel still notes writes
 *     to (CHECK_ASYNC): another mapping, a child of fork, a hark that has ended
 *     make it an error, and then it is over.
 * A5  A thread alone in its process has a descriptor for a moment that nobody
 *     sees. Whether it is alone is asked each time.
 * A6  What is pinned for a device (or for io_uring: registered buffers) may be
 *     written without anybody noting it. A program that lets devices
 *     overwrite its return addresses is not looked through. */
#include "inside/sys.h"
#include "native/home.h"
#include "native/numbers.h"
#include "unwind/unwind.h"

enum {
	PAGE = 4096,
	FEW_BYTES = 64 * PAGE, /* to ask costs more */
	APART = PAGE,	       /* from frames that change */
	NEARER = 16,	       /* a part of the way, in each sample */
	SAVED = 512,	       /* frames that a page may cost */
	PAUSE = 100,	       /* samples */
	WRITTEN = 15,	       /* ranges of pages, told at once */
	NR_CLOSE = 3,
	NR_IOCTL = 16,
	NR_OPENAT = 257,
	NR_UNSHARE = 272,
	THREAD = 0x10000,		/* CLONE_THREAD */
	HERE = -100,			/* AT_FDCWD */
	HOW_TO_OPEN = 02000000 | 04000, /* O_CLOEXEC, O_NONBLOCK */
	ERR_NFILE = 23,
	ERR_MFILE = 24,
	SET_SECCOMP = 22,
	PROTECT = 1,
	CHECK_ASYNC = 2,
	IS_WRITTEN = 2,
};
_Static_assert((int)WRITTEN < (int)UNWIND_CALMS, "what is between has room");

/* struct pm_scan_arg, and its PAGEMAP_SCAN */
struct scan {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t inverted, mask, anyof_mask, return_mask;
};
struct region {
	uint64_t start, end, categories;
};
#define PAGEMAP_SCAN 0xc0606610u

static struct native_calm *calm_of(const struct collect_area *area)
{
	const struct collect_plan *plan = native_plan();

	return area->pid == plan->pid && area->tid == plan->pid
		   ? &native_home_all()->calm
		   : 0;
}

static void pause(struct native_calm *c)
{
	c->rest = PAUSE;
	c->known = 0;
}

static void give_up(struct native_calm *c)
{
	__atomic_store_n(&c->is_over, 1, __ATOMIC_SEQ_CST);
}

/* A filter may be for all threads: who asks is to be done before. (A child of
 * fork may have been made meanwhile, in which nobody will ever be.) */
static void await_answer(const struct native_calm *c)
{
	enum { PATIENCE = 10000 };

	for (unsigned i = 0; i < PATIENCE; i++) {
		if (!__atomic_load_n(&c->is_asking, __ATOMIC_SEQ_CST))
			return;
		sys_call3(SYS_NR_SCHED_YIELD, 0, 0, 0);
	}
}

bool native_is_filter(const uint64_t gpr[16])
{
	const uint64_t number = gpr[X86_RAX];
	struct native_calm *c = &native_home_all()->calm;

	if (number != NR_PRCTL && number != NR_SECCOMP)
		return false;
	if (number == NR_SECCOMP || (uint32_t)gpr[X86_RDI] == SET_SECCOMP) {
		__atomic_store_n(&native_home_all()->is_filtered, 1,
				 __ATOMIC_SEQ_CST);
		give_up(c);
		await_answer(c);
	}
	return true;
}

bool native_is_filtered(void)
{
	return native_plan()->flags & COLLECT_FILTERED ||
	       __atomic_load_n(&native_home_all()->is_filtered,
			       __ATOMIC_SEQ_CST);
}

/* -- Asking -- */

/* Up to where there is an answer; 0: there is none. */
static uint64_t ask(struct native_calm *c, struct region *out, int64_t *n)
{
	static const char name[] = "/proc/self/pagemap";
	struct scan a = {
	    .size = sizeof a,
	    .flags = PROTECT | CHECK_ASYNC,
	    .start = c->from,
	    .end = c->to,
	    .vec = (uint64_t)out,
	    .vec_len = WRITTEN,
	    .mask = IS_WRITTEN,
	    .return_mask = IS_WRITTEN,
	};
	int64_t fd;

	if (sys_call3(NR_UNSHARE, THREAD, 0, 0) != 0) {
		pause(c);
		return 0;
	}
	fd = sys_call3(NR_OPENAT, (uint64_t)HERE, (uint64_t)name, HOW_TO_OPEN);
	if (fd < 0) {
		if (fd == -ERR_MFILE || fd == -ERR_NFILE)
			pause(c);
		else
			give_up(c);
		return 0;
	}
	*n = sys_call3(NR_IOCTL, (uint64_t)fd, PAGEMAP_SCAN, (uint64_t)&a);
	sys_call3(NR_CLOSE, (uint64_t)fd, 0, 0);
	if (*n < 0) {
		give_up(c);
		return 0;
	}
	return a.walk_end;
}

static uint64_t scan(struct native_calm *c, struct region *out, int64_t *n)
{
	uint64_t end = 0;

	__atomic_store_n(&c->is_asking, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&c->is_over, __ATOMIC_SEQ_CST))
		end = ask(c, out, n);
	__atomic_store_n(&c->is_asking, 0, __ATOMIC_SEQ_CST);
	return end;
}

static void add(struct unwind_calm *out, uint64_t from, uint64_t to)
{
	if (from < to)
		out->range[out->n++] = (struct unwind_range){from, to};
}

/* What lies between those that were written. */
static void invert(struct native_calm *c, const struct region *r, int64_t n,
		   uint64_t end, struct unwind_calm *out)
{
	uint64_t at = c->from;

	c->written = 0;
	for (int64_t i = 0; i < n; i++) {
		add(out, at, r[i].start);
		at = r[i].end;
		if (c->known != 0 && at > c->known)
			c->written +=
			    (at -
			     (r[i].start > c->known ? r[i].start : c->known)) /
			    PAGE;
	}
	add(out, at, end);
}

bool native_look(const struct collect_area *area, uint64_t sp,
		 struct unwind_calm *out)
{
	struct native_calm *c = calm_of(area);
	struct region written[WRITTEN];
	uint64_t end;
	int64_t n = 0;

	if (!c || c->to == 0 || sp >= c->from ||
	    __atomic_load_n(&c->is_over, __ATOMIC_RELAXED))
		return false;
	if (c->rest > 0) {
		c->rest--;
		return false;
	}
	end = scan(c, written, &n);
	if (end == 0)
		return false;
	out->n = 0;
	out->look = ++c->look;
	invert(c, written, n, end, out);
	c->known = end == c->to ? c->from : 0;
	return true;
}

void native_touch(const struct unwind_calm *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		for (uint64_t at = c->range[i].from; at < c->range[i].to;
		     at += PAGE)
			(void)*(const volatile uint8_t *)at;
}

/* -- What to ask for -- */

void native_looked(const struct collect_area *area,
		   const struct unwind_calm *calm,
		   const struct unwind_sample *got)
{
	const uint64_t most =
	    __atomic_load_n(&native_plan()->calm_to, __ATOMIC_ACQUIRE);
	const uint64_t to = (got->base + PAGE - 1) & -(uint64_t)PAGE;
	struct native_calm *c = calm_of(area);
	uint64_t from;

	if (!c || most == 0 || __atomic_load_n(&c->is_over, __ATOMIC_RELAXED))
		return;
	if (calm && c->written * SAVED > got->trusted)
		pause(c);
	from = (got->kept_sp & -(uint64_t)PAGE) + PAGE + APART;
	if (got->kept < COLLECT_DEEP || got->kept_sp == 0 || to > most ||
	    from + FEW_BYTES > to) {
		c->to = 0;
		return;
	}
	if (c->to != 0 && from < c->from)
		from = c->from - ((c->from - from) / NEARER & -(uint64_t)PAGE);
	c->from = from;
	c->to = to;
}
