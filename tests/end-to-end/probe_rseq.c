/* tests/end-to-end/probe_rseq.c - restartable sequences, and traps in them.
 *
 *	probe_rseq count NUMBER | traps
 *
 *	count	eight threads add NUMBER each to counters of their processors,
 *		in restartable sequences (glibc has registered each thread);
 *		nothing may be lost
 *	traps	ud2 and int3 in such a sequence: the kernel aborts it first, so
 *		handlers find the address of the abort code
 *
 * A sequence that is executed elsewhere is not aborted by the kernel, and
 * overwrites what another thread has added meanwhile. */
#define _GNU_SOURCE
#include "guest.h"
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/rseq.h>
#include <sys/ucontext.h>

enum { THREADS = 8, CPUS = 1024, TRAPS = 200 };

static struct {
	uint64_t n;
	char pad[56];
} counter[CPUS];
static uint64_t todo;

static struct rseq *own_rseq(void)
{
	return (void *)((char *)__builtin_thread_pointer() + __rseq_offset);
}

/* clang-format off */
/* The signature, as the displacement of an instruction that is illegal. */
#define SIGNATURE "	.byte 0x0f, 0xb9, 0x3d\n	.long 0x53053053\n"
/* Labels: 1 begin, 2 end, 3 descriptor, 4 abort. */
#define DESCRIPTOR(section)                                                    \
	".pushsection " section "\n"                                           \
	".balign 32\n"                                                         \
	"3:	.long 0, 0\n"                                                  \
	"	.quad 1f, 2f - 1f, 4f\n"                                       \
	".popsection\n"
#define ADD                                                                    \
	"1:	cmp	%[cpu], %c[id](%[r])\n"                                \
	"	jne	4f\n"                                                  \
	"	mov	(%[at]), %%rax\n"                                      \
	"	mov	$20, %%ecx\n"                                          \
	"5:	dec	%%ecx\n"                                               \
	"	jnz	5b\n"                                                  \
	"	inc	%%rax\n"                                               \
	"	mov	%%rax, (%[at])\n" /* the commit */                     \
	"2:\n"
#define OPERANDS                                                               \
	[r] "r"(r), [cpu] "r"(cpu), [at] "r"(&counter[cpu].n),                 \
	[cs] "i"(offsetof(struct rseq, rseq_cs)),                              \
	[id] "i"(offsetof(struct rseq, cpu_id))

/* The abort code is elsewhere. 1: it committed. */
static int __attribute__((noinline)) add_apart(struct rseq *r, uint32_t cpu)
{
	__asm__ goto(DESCRIPTOR("__rseq_cs, \"aw\"")
		"	lea	3b(%%rip), %%rax\n"
		"	mov	%%rax, %c[cs](%[r])\n"
		ADD
		".pushsection __rseq_failure, \"ax\"\n"
		SIGNATURE
		"4:	jmp	%l[aborted]\n"
		".popsection\n"
		: : OPERANDS : "rax", "rcx", "memory", "cc" : aborted);
	return 1;
aborted:
	return 0;
}

/* The abort code is in the function, the descriptor among other data. */
static int __attribute__((noinline)) add_inside(struct rseq *r, uint32_t cpu)
{
	__asm__ goto(DESCRIPTOR(".data")
		"	lea	3b(%%rip), %%rax\n"
		"	mov	%%rax, %c[cs](%[r])\n"
		ADD
		"	jmp	6f\n"
		SIGNATURE
		"4:	jmp	%l[aborted]\n"
		"6:\n"
		: : OPERANDS : "rax", "rcx", "memory", "cc" : aborted);
	return 1;
aborted:
	return 0;
}

/* The descriptor is made when it is needed. */
static int __attribute__((noinline)) add_made(struct rseq *r, uint32_t cpu)
{
	volatile struct { uint32_t zero[2]; uint64_t at[3]; } made = {0};

	__asm__ goto(
		"	lea	1f(%%rip), %%rax\n"
		"	mov	%%rax, 8(%[made])\n"
		"	movq	$2f - 1f, 16(%[made])\n"
		"	lea	4f(%%rip), %%rax\n"
		"	mov	%%rax, 24(%[made])\n"
		"	mov	%[made], %c[cs](%[r])\n"
		ADD
		".pushsection __rseq_failure, \"ax\"\n"
		SIGNATURE
		"4:	jmp	%l[aborted]\n"
		".popsection\n"
		: : OPERANDS, [made] "r"(&made)
		: "rax", "rcx", "memory", "cc" : aborted);
	r->rseq_cs = 0;
	return 1;
aborted:
	return 0;
}

#define TRAP(name, insn)                                                       \
	extern const char name##_abort[];                                      \
	static void __attribute__((noinline)) name(struct rseq *r)             \
	{                                                                      \
		__asm__ volatile(DESCRIPTOR("__rseq_cs, \"aw\"")               \
			"	lea	3b(%%rip), %%rax\n"                    \
			"	mov	%%rax, %c[cs](%[r])\n"                 \
			"1:	nop\n"                                         \
			"	" insn "\n"                                    \
			"	nop\n"                                         \
			"2:	jmp	6f\n"                                  \
			SIGNATURE                                              \
			#name "_abort:\n"                                      \
			"4:	nop\n"                                         \
			"6:\n"                                                 \
			: : [r] "r"(r),                                        \
			    [cs] "i"(offsetof(struct rseq, rseq_cs))           \
			: "rax", "memory");                                    \
	}
TRAP(by_ud2, "ud2")
TRAP(by_int3, "int3")
TRAP(by_int_3, ".byte 0xcd, 3")
/* clang-format on */

/* -- Counting -- */

static void *add_all(void *unused)
{
	static int (*const ways[])(struct rseq *, uint32_t) = {
	    add_apart, add_inside, add_made};
	struct rseq *r = own_rseq();

	for (uint64_t i = 0; i < todo; i++)
		while (
		    !ways[i % 3](r, ((volatile struct rseq *)r)->cpu_id_start))
			;
	return unused;
}

static void run_count(void)
{
	pthread_t t[THREADS];
	uint64_t sum = 0;

	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&t[i], NULL, add_all, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < CPUS; i++)
		sum += counter[i].n;
	SAME(sum, THREADS * todo);
}

/* -- Traps -- */

static volatile sig_atomic_t n_caught;
static volatile uint64_t expected;

static void on_trap(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;

	(void)sig;
	(void)info;
	SAME(u->uc_mcontext.gregs[REG_RIP], expected);
	n_caught++;
}

static void run_traps(void)
{
	struct sigaction a = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	struct rseq *r = own_rseq();

	MUST(sigaction(SIGILL, &a, NULL) == 0);
	MUST(sigaction(SIGTRAP, &a, NULL) == 0);
	for (int i = 0; i < TRAPS; i++) {
		expected = (uint64_t)by_ud2_abort;
		by_ud2(r);
		expected = (uint64_t)by_int3_abort;
		by_int3(r);
		expected = (uint64_t)by_int_3_abort;
		by_int_3(r);
	}
	SAME(n_caught, 3 * TRAPS);
}

int main(int argc, char **argv)
{
	MUST(argc > 1);
	todo = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	if (strcmp(argv[1], "count") == 0)
		run_count();
	else
		run_traps();
	return guest_end();
}
