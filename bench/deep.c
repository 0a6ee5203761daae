/* bench/deep.c - a program that is deep in calls, and knows how deep.
 *
 *	deep DEPTH ROUNDS RESULT
 *
 * It dives through DEPTH calls of 64 functions, a sixteenth of them with a
 * frame of varying size; at the bottom it works for some microseconds, comes up
 * TOP calls, and dives again, ROUNDS times. So a profiler that samples it finds
 * DEPTH calls of dive_*(), or up to TOP fewer, whenever it looks and sees
 * turn(), which is called when the first dive is done. RESULT gets one line:
 * CPU time of the process in ns, for the dives; DEPTH; a sum that depends on
 * every call; and CPU time of the first PART rounds, of the next ones, and so
 * on, as far as they are whole. bench/sampling makes the table. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TOP = 5, FUNCTIONS = 64, WORK = 2000, PART = 4000, PARTS = 1000 };

static uint64_t rounds, sum;
static int is_down; /* only the last calls are made, again and again */
static unsigned seed = 1;
static uint64_t part_ns[PARTS];
static unsigned n_parts;

static inline uint64_t dive(unsigned left);

static unsigned draw(void)
{
	seed = seed * 1103515245 + 12345;
	return seed >> 16;
}

__attribute__((noinline)) static uint64_t work(uint64_t x)
{
	for (unsigned i = 0; i < WORK; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

/* Of the one thread: that of the process moves by ticks of the kernel's, 4 ms,
 * while it has a timer by its CPU time, as gperftools gives it. */
static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) static uint64_t turn(void)
{
	uint64_t n = 0, before = cpu_ns(), now;

	is_down = 1;
	for (uint64_t i = 1; i <= rounds; i++) {
		n += dive(TOP);
		if (i % PART == 0 && n_parts < PARTS) {
			now = cpu_ns();
			part_ns[n_parts++] = now - before;
			before = now;
		}
	}
	return n;
}

/* clang-format off */
#define PLAIN(n)							\
	__attribute__((noinline)) static uint64_t dive_##n(unsigned left) \
	{								\
		volatile uint64_t local[n % 16 + 4];			\
		local[0] = left;					\
		return dive(left - 1) + local[0] % 2;			\
	}
#define VARYING(n)							\
	__attribute__((noinline)) static uint64_t dive_##n(unsigned left) \
	{								\
		volatile char *local = __builtin_alloca(draw() % 256 + 16); \
		local[0] = (char)left;					\
		return dive(left - 1) + (local[0] & 1);			\
	}
#define SIXTEEN(V, P, n) V(n##0) P(n##1) P(n##2) P(n##3) P(n##4) P(n##5) \
	P(n##6) P(n##7) P(n##8) P(n##9) P(n##10) P(n##11) P(n##12) P(n##13) \
	P(n##14) P(n##15)
#define NAME(n) dive_##n,
SIXTEEN(VARYING, PLAIN, 1) SIXTEEN(VARYING, PLAIN, 2)
SIXTEEN(VARYING, PLAIN, 3) SIXTEEN(VARYING, PLAIN, 4)

static uint64_t (*const dives[FUNCTIONS])(unsigned) = {
    SIXTEEN(NAME, NAME, 1) SIXTEEN(NAME, NAME, 2)
    SIXTEEN(NAME, NAME, 3) SIXTEEN(NAME, NAME, 4)};
/* clang-format on */

/* Inlined everywhere: it has no frame of its own. */
__attribute__((always_inline)) static inline uint64_t dive(unsigned left)
{
	if (left == 0)
		return is_down ? work(sum++) & 1 : turn();
	return dives[draw() % FUNCTIONS](left);
}

int main(int argc, char **argv)
{
	unsigned depth = argc == 4 ? (unsigned)atoi(argv[1]) : 0;
	uint64_t before, n;
	FILE *out;

	if (depth <= TOP)
		return 125;
	rounds = strtoull(argv[2], NULL, 10);
	before = cpu_ns();
	n = dive(depth - TOP);
	before = cpu_ns() - before;
	out = fopen(argv[3], "w");
	if (out == NULL)
		return 125;
	fprintf(out, "%" PRIu64 " %u %" PRIu64, before, depth, n);
	for (unsigned i = 0; i < n_parts; i++)
		fprintf(out, " %" PRIu64, part_ns[i]);
	fputc('\n', out);
	return fclose(out) == 0 ? 3 : 125;
}
