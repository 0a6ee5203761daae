/* bench/hot.c - a function that is called very often, and what it costs.
 *
 *	hot SHAPE CALLS THREADS RESULT
 *
 * Each thread calls hot_SHAPE(i, 7) for i = 0, 1, ... so many times, after a
 * few to warm up, all threads at once. The clocks are read in here, around the
 * loop, so what a tool does when it starts or ends is not in them. RESULT gets
 * one line: CPU time of the threads and wall time, in ns, for the CALLS alone;
 * then how often the function was called in all, and the sum of what it
 * returned: of i + 8. bench/probe makes the table.
 *
 * The shapes differ in the first instruction, by which tools differ:
 *
 *	lea	4 bytes, which the kernel steps over out of line
 *	push	1 byte, emulated by the kernel; the next may move along
 *	nop5	which newer kernels replace by a call
 *	usdt	the programmer's own probe, a nop (<sys/sdt.h>)
 *	trap	push, with no room for a jump: the next instruction is jumped
 *		to, and read as a distance it leads into this program
 *	plain	what the compiler makes of it; -DHOT_LTTNG: with a tracepoint */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef HOT_LTTNG
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "hot_lttng.h"
#endif

#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#else
#define DTRACE_PROBE2(provider, name, a, b) ((void)(a), (void)(b))
#endif

#define QUIET __attribute__((no_instrument_function)) /* uftrace: hot alone */

long hot_lea(long a, long b);
long hot_push(long a, long b);
long hot_nop5(long a, long b);
long hot_usdt(long a, long b);
long hot_trap(long a, long b);
long hot_plain(long a, long b);
void hot_done(void);

/* clang-format off */
#define FUNCTION(name, body)						\
	asm(".text; .p2align 4; .globl " name "; .type " name ", @function\n" \
	    name ": .cfi_startproc\n" body "\nret\n"			\
	    ".cfi_endproc; .size " name ", . - " name)

FUNCTION("hot_lea",	"lea (%rdi, %rsi), %rax; add $1, %rax");
FUNCTION("hot_push",	"push %rbp; mov %rsp, %rbp\n"
			"lea (%rdi, %rsi), %rax; add $1, %rax; pop %rbp");
FUNCTION("hot_nop5",	".byte 0x0f, 0x1f, 0x44, 0, 0; lea (%rdi, %rsi), %rax\n"
			"add $1, %rax");
FUNCTION("hot_trap",	"push %rbp; 1: mov $0, %eax; test %eax, %eax; jnz 1b\n"
			"lea (%rdi, %rsi), %rax; add $1, %rax; pop %rbp");
/* clang-format on */

QUIET __attribute__((noinline)) long hot_usdt(long a, long b)
{
	DTRACE_PROBE2(bench, hot, a, b);
	return a + b + 1;
}

__attribute__((noinline)) long hot_plain(long a, long b)
{
#ifdef HOT_LTTNG
	lttng_ust_tracepoint(bench, hot, a, b);
#endif
	return a + b + 1;
}

/* For a debugger that wants to look before it is over. */
QUIET __attribute__((noinline)) void hot_done(void)
{
	asm volatile("");
}

struct shape {
	const char *name;
	long (*call)(long a, long b);
};

static const struct shape shapes[] = {
    {"lea", hot_lea},	{"push", hot_push}, {"nop5", hot_nop5},
    {"usdt", hot_usdt}, {"trap", hot_trap}, {"plain", hot_plain},
};

enum { WARM = 1000, MOST = 64 };

struct worker {
	pthread_t thread;
	uint64_t cpu_ns, begin_ns, end_ns, sum;
};

static long (*call)(long a, long b);
static long calls, warm;
static pthread_barrier_t start;

QUIET static uint64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

QUIET __attribute__((noinline)) static uint64_t loop(long from, long to)
{
	long (*it)(long, long) = call;
	uint64_t sum = 0;

	for (long i = from; i < to; i++)
		sum += (uint64_t)it(i, 7);
	return sum;
}

QUIET static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t cpu;

	w->sum = loop(0, warm);
	pthread_barrier_wait(&start);
	w->begin_ns = now(CLOCK_MONOTONIC);
	cpu = now(CLOCK_THREAD_CPUTIME_ID);
	w->sum += loop(warm, warm + calls);
	w->cpu_ns = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
	w->end_ns = now(CLOCK_MONOTONIC);
	return NULL;
}

QUIET static int run(struct worker *all, unsigned n)
{
	pthread_barrier_init(&start, NULL, n);
	for (unsigned i = 1; i < n; i++)
		if (pthread_create(&all[i].thread, NULL, work, &all[i]) != 0) {
			fprintf(stderr, "hot: no thread\n");
			return -1;
		}
	work(&all[0]);
	for (unsigned i = 1; i < n; i++)
		pthread_join(all[i].thread, NULL);
	return 0;
}

QUIET static int tell(const char *path, const struct worker *all, unsigned n)
{
	uint64_t cpu = 0, sum = 0, begin = UINT64_MAX, end = 0;
	FILE *f = fopen(path, "w");

	if (f == NULL) {
		perror(path);
		return -1;
	}
	for (unsigned i = 0; i < n; i++) {
		cpu += all[i].cpu_ns;
		sum += all[i].sum;
		begin = all[i].begin_ns < begin ? all[i].begin_ns : begin;
		end = all[i].end_ns > end ? all[i].end_ns : end;
	}
	fprintf(f, "%" PRIu64 " %" PRIu64 " %ld %" PRIu64 "\n", cpu,
		end - begin, (warm + calls) * (long)n, sum);
	return fclose(f);
}

QUIET int main(int argc, char **argv)
{
	static struct worker all[MOST];
	int n = argc == 5 ? (int)strtol(argv[3], NULL, 10) : 0;

	for (size_t i = 0; argc == 5 && i < sizeof shapes / sizeof *shapes; i++)
		if (strcmp(argv[1], shapes[i].name) == 0)
			call = shapes[i].call;
	if (call == NULL || n < 1 || n > MOST ||
	    (calls = strtol(argv[2], NULL, 10)) < 1) {
		fprintf(stderr, "usage: hot SHAPE CALLS THREADS RESULT\n");
		return 125;
	}
	warm = calls / 10 < WARM ? calls / 10 : WARM;
	if (run(all, (unsigned)n) < 0 || tell(argv[4], all, (unsigned)n) < 0)
		return 125;
	hot_done();
	return 3; /* not what a tool of its own would say */
}
