/* tests/guests/rseq_count.c - restartable sequences lose nothing.
 *
 *   rseq_count UNTIL       (lives.h says how long)
 *
 * Four threads add to per-CPU counters without locks: load, a while of doing
 * nothing, store, all in one restartable sequence (glibc has registered each
 * thread). Whoever moves a thread out of such a sequence and puts it back
 * instead of sending it to its abort handler makes increments disappear. */
#define _GNU_SOURCE
#include "lives.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/rseq.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, CPUS = 1024 };

static struct {
	uint64_t n;
	char pad[56];
} counter[CPUS];
static atomic_int done;

static struct rseq *my_rseq(void)
{
	return (void *)((char *)__builtin_thread_pointer() + __rseq_offset);
}

/* 1 if the sequence committed, 0 if it was aborted. */
static int add_one(struct rseq *r)
{
	uint32_t cpu = r->cpu_id_start;

	__asm__ goto(".pushsection __rseq_cs, \"aw\"\n"
		     ".balign 32\n"
		     "3: .long 0, 0\n"
		     "   .quad 1f, 2f - 1f, 4f\n"
		     ".popsection\n"
		     "   lea 3b(%%rip), %%rax\n"
		     "   mov %%rax, %c[cs](%[r])\n"
		     "1: cmp %[cpu], %c[id](%[r])\n"
		     "   jne 4f\n"
		     "   mov (%[at]), %%rax\n"
		     "   mov $200, %%ecx\n"
		     "5: dec %%ecx\n"
		     "   jnz 5b\n"
		     "   inc %%rax\n"
		     "   mov %%rax, (%[at])\n" /* the commit */
		     "2:\n"
		     ".pushsection __rseq_abort, \"ax\"\n"
		     "   .byte 0x0f, 0xb9, 0x3d\n" /* ud1 with the signature */
		     "   .long 0x53053053\n"
		     "4: jmp %l[aborted]\n"
		     ".popsection\n"
		     :
		     : [r] "r"(r), [cpu] "r"(cpu), [at] "r"(&counter[cpu].n),
		       [cs] "i"(offsetof(struct rseq, rseq_cs)),
		       [id] "i"(offsetof(struct rseq, cpu_id))
		     : "rax", "rcx", "memory", "cc"
		     : aborted);
	return 1;
aborted:
	return 0;
}

static void *worker(void *arg)
{
	struct rseq *r = my_rseq();
	uint64_t *mine = arg;

	while (!done)
		*mine += (uint64_t)add_one(r);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	uint64_t made[THREADS] = {0}, sum = 0, counted = 0;
	struct timespec nap = {.tv_nsec = 10000000};
	const char *until = argc > 1 ? argv[1] : "1";

	if (__rseq_size == 0) {
		puts("no rseq here");
		return 77;
	}
	lives(until);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, worker, &made[i]);
	puts("ready");
	fflush(stdout);
	do
		nanosleep(&nap, NULL);
	while (lives(until));
	done = 1;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		sum += made[i];
	}
	for (int i = 0; i < CPUS; i++)
		counted += counter[i].n;
	printf("lost %ld\n", (long)(sum - counted));
	return sum != counted || sum == 0;
}
