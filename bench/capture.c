/* bench/capture.c - what does it cost to know one's callers?
 *
 *	capture DEPTH CHANGED ROUNDS	(CHANGED 0: all frames)
 *
 * 512 functions, one in 16 of them with alloca, frames of 128 bytes in the
 *mean, call each other at random, DEPTH deep. The inner CHANGED frames are left
 *and called anew, by other functions, before each capture. All ways to capture
 * take turns, in blocks, so that each finds caches as warm as its own work
 * leaves them; at the begin of each block they must give the same addresses.
 *
 * Prints for each way: median and 90th percentile of nanoseconds by the time
 * stamp counter (what a busy machine takes from it is beyond both), the cost
 * of the very first capture, captures, frames. bench/profile makes the table.
 * Built twice, the second time with frame pointers, which -DLINKED says. */
#include "unwind_self.h"

#include <alloca.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

enum { BLOCK = 64, SLOW_DEPTH = 1000, SLOW_ROUNDS = 192, ROOM = 64 };

/* -- Functions that call each other -- */

struct path;
typedef long function(struct path *p);
struct path {
	function **next; /* the one to call now */
	size_t extra;	 /* what alloca gets */
};

static inline __attribute__((always_inline)) long go_on(struct path *p)
{
	function *f = *p->next++;

	return f(p);
}

#define SIZE(n) ((n)*37 % 25 * 8 + 8)
#define USE(at) __asm__ volatile("" : : "r"(at) : "memory")
#define FUNCTION(n)                                                \
	static __attribute__((noinline)) long f##n(struct path *p) \
	{                                                          \
		char room[SIZE(n)];                                \
		long got;                                          \
                                                                   \
		USE(room);                                         \
		if ((n) % 16 == 0)                                 \
			USE(alloca(p->extra));                     \
		got = go_on(p);                                    \
		USE(room);                                         \
		return got + (n);                                  \
	}

/* clang-format off */
#define EIGHT(X, n) \
	X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
/* Octal numbers: 512 of them. */
#define SIXTY_FOUR(X, n) \
	EIGHT(X, n##0) EIGHT(X, n##1) EIGHT(X, n##2) EIGHT(X, n##3) \
	EIGHT(X, n##4) EIGHT(X, n##5) EIGHT(X, n##6) EIGHT(X, n##7)
#define ALL(X) \
	SIXTY_FOUR(X, 00) SIXTY_FOUR(X, 01) SIXTY_FOUR(X, 02) \
	SIXTY_FOUR(X, 03) SIXTY_FOUR(X, 04) SIXTY_FOUR(X, 05) \
	SIXTY_FOUR(X, 06) SIXTY_FOUR(X, 07)
/* clang-format on */
ALL(FUNCTION)
#define NAME(n) f##n,
static function *const functions[] = {ALL(NAME)};
enum { N_FUNCTIONS = sizeof functions / sizeof functions[0] };

static uint32_t any(uint32_t n)
{
	static uint64_t seed = 88172645463325252u;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed % n);
}

/* -- Ways -- */

static struct unwind_space space;
static struct unwind_maps *maps;
static struct unwind_sample sample;
static struct unwind_frame *walked;
static void **addresses;
static uint32_t room;

static inline __attribute__((always_inline)) void here(struct frame_cpu *c)
{
	__asm__ volatile("1:	lea	1b(%%rip), %%rax\n"
			 "	mov	%%rax, 128(%0)\n"
			 "	mov	%%rsp, 56(%0)\n"
			 "	mov	%%rbp, 48(%0)\n"
			 "	mov	%%rbx, 24(%0)\n"
			 "	mov	%%r12, 96(%0)\n"
			 "	mov	%%r13, 104(%0)\n"
			 "	mov	%%r14, 112(%0)\n"
			 "	mov	%%r15, 120(%0)\n"
			 :
			 : "r"(c->reg)
			 : "rax", "memory");
	c->known = 1u << FRAME_RIP | 1u << FRAME_RSP | 1u << FRAME_RBP |
		   1u << FRAME_RBX | 0xfu << 12;
	c->exact = true;
}

static uint32_t by_map(void)
{
	struct frame_cpu cpu;

	here(&cpu);
	unwind_sample(&space, maps, &cpu, &sample);
	return sample.depth;
}

static uint32_t by_walk(void)
{
	struct frame_cpu cpu;
	enum unwind_end end;

	here(&cpu);
	return unwind_walk(&space, &cpu, walked, room, &end);
}

/* libunwind has a function of the same name. */
static int (*glibc_backtrace)(void **out, int n);

static uint32_t by_glibc(void)
{
	return (uint32_t)glibc_backtrace(addresses, (int)room);
}

static uint32_t by_libunwind(void)
{
	return (uint32_t)unw_backtrace(addresses, (int)room);
}

#ifdef LINKED
static const uint64_t *outermost; /* what is beyond main() has no links */

static uint32_t by_link(void)
{
	const uint64_t *rbp = __builtin_frame_address(0);
	uint32_t n = 0;

	for (; n < room; rbp = (const uint64_t *)rbp[0]) {
		addresses[n++] = (void *)rbp[1];
		if (rbp == outermost)
			break;
	}
	return n;
}
#endif

static uint32_t by_nothing(void)
{
	return 0;
}

static uint64_t of_map(uint32_t i)
{
	return unwind_at(maps, sample.map, sample.depth - 1 - i).pc;
}

static uint64_t of_walk(uint32_t i)
{
	return walked[i].pc;
}

static uint64_t of_addresses(uint32_t i)
{
	return (uint64_t)addresses[i];
}

static const struct way {
	const char *name;
	uint32_t (*capture)(void);
	uint64_t (*at)(uint32_t i);
	bool is_slow;
} ways[] = {
    {"plain", by_walk, of_walk, false},
    {"map", by_map, of_map, false},
#ifdef LINKED
    {"link", by_link, of_addresses, false},
#else
    {"glibc", by_glibc, of_addresses, true},
#endif
    {"libunwind", by_libunwind, of_addresses, false},
    {"nothing", by_nothing, NULL, false},
};
enum { N_WAYS = sizeof ways / sizeof ways[0] };

/* -- Measuring -- */

struct figures {
	uint32_t n, frames;
	uint64_t first;
	uint32_t *ticks;
};
static struct figures figures[N_WAYS];
static uint32_t rounds, depth, now;
static bool is_counting, is_comparing;

/* All ways agree, from the caller of capture() outwards. (What is further out
 * than main() the frame pointer cannot know.) */
static void compare_all(uint64_t caller)
{
	uint64_t *want = malloc(room * sizeof *want);
	uint32_t n_want = 0;

	for (uint32_t w = 0; w < N_WAYS - 1; w++) {
		uint32_t n = ways[w].capture(), i = 0, k = 0;

		while (i < n && ways[w].at(i) != caller)
			i++;
		for (; i < n; i++, k++) {
			if (w == 0)
				want[n_want++] = ways[w].at(i);
			else if (k < n_want && ways[w].at(i) == want[k])
				continue;
			else
				break;
		}
		if (k < depth ||
		    (k != n_want && strcmp(ways[w].name, "link"))) {
			fprintf(stderr, "capture: %s: frame %u of %u differs\n",
				ways[w].name, k, n_want);
			exit(1);
		}
		figures[w].frames = k;
	}
	free(want);
}

static __attribute__((noinline)) long capture(struct path *p)
{
	struct figures *f = &figures[now];
	uint64_t begin, end;
	unsigned cpu;

	(void)p;
	if (is_comparing) {
		compare_all((uint64_t)__builtin_return_address(0));
		return 0;
	}
	_mm_lfence();
	begin = __rdtsc();
	_mm_lfence();
	ways[now].capture();
	end = __rdtscp(&cpu);
	_mm_lfence();
	if (f->first == 0)
		f->first = end - begin;
	if (is_counting)
		f->ticks[f->n++] = (uint32_t)(end - begin);
	return 0;
}

/* -- The program -- */

static uint32_t changed;
static function **inner; /* the frames that change, then capture() */
static function **calls;

static void call_once(void)
{
	struct path p = {.next = inner + 1, .extra = any(12) * 16};

	for (uint32_t i = 0; i < changed; i++)
		inner[i] = functions[any(N_FUNCTIONS)];
	inner[0](&p);
}

static __attribute__((noinline)) long spin(struct path *outer)
{
	for (uint32_t r = 0; r < rounds; r += BLOCK)
		for (now = 0; now < N_WAYS; now++) {
			bool skip = ways[now].is_slow && depth >= SLOW_DEPTH &&
				    r >= SLOW_ROUNDS;

			is_comparing = true;
			if (now == 0)
				call_once();
			is_comparing = false;
			/* The first half makes everything warm. */
			is_counting = r >= rounds / 2 ||
				      (ways[now].is_slow && r >= BLOCK);
			for (int i = 0; !skip && i < BLOCK; i++)
				call_once();
		}
	(void)outer;
	return 0;
}

static int by_ticks(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static double ns_per_tick(void)
{
	struct timespec a, b;
	uint64_t from, to;

	clock_gettime(CLOCK_MONOTONIC, &a);
	from = __rdtsc();
	do
		clock_gettime(CLOCK_MONOTONIC, &b);
	while (b.tv_sec == a.tv_sec && b.tv_nsec - a.tv_nsec < 100000000);
	to = __rdtsc();
	return ((double)(b.tv_sec - a.tv_sec) * 1e9 +
		(double)(b.tv_nsec - a.tv_nsec)) /
	       (double)(to - from);
}

static void print_figures(void)
{
	double ns = ns_per_tick(), empty;

	for (uint32_t w = 0; w < N_WAYS; w++)
		qsort(figures[w].ticks, figures[w].n, sizeof(uint32_t),
		      by_ticks);
	empty = figures[N_WAYS - 1].ticks[figures[N_WAYS - 1].n / 2];
	for (uint32_t w = 0; w < N_WAYS - 1; w++) {
		const struct figures *f = &figures[w];

		printf("%s %.1f %.1f %.1f %u %u\n", ways[w].name,
		       (f->ticks[f->n / 2] - empty) * ns,
		       (f->ticks[f->n * 9ul / 10] - empty) * ns,
		       (double)f->first * ns, f->n, f->frames);
	}
}

int main(int argc, char **argv)
{
	struct path p = {.extra = 48};

	if (argc != 4)
		return 125;
	depth = (uint32_t)strtoul(argv[1], NULL, 10);
	changed = (uint32_t)strtoul(argv[2], NULL, 10);
	rounds = (uint32_t)strtoul(argv[3], NULL, 10);
	if (changed == 0)
		changed = depth;
	room = depth + ROOM;
	addresses = calloc(room, sizeof *addresses);
	walked = calloc(room, sizeof *walked);
	calls = calloc(depth + 3, sizeof *calls);
	for (uint32_t w = 0; w < N_WAYS; w++)
		figures[w].ticks = calloc(rounds + BLOCK, sizeof(uint32_t));
#ifdef LINKED
	outermost = __builtin_frame_address(0);
#endif
	*(void **)&glibc_backtrace =
	    dlsym(dlopen("libc.so.6", RTLD_NOW), "backtrace");
	by_glibc(); /* loads what it needs */
	unwind_self_open(&space);
	maps = unwind_self_maps(room);
	for (uint32_t i = 0; i < depth - changed; i++)
		calls[i] = functions[any(N_FUNCTIONS)];
	calls[depth - changed] = spin;
	inner = calls + depth - changed + 1;
	inner[changed] = capture;
	p.next = calls + 1;
	calls[0](&p);
	print_figures();
	return 0;
}
