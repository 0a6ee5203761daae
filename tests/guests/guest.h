/* tests/guests/guest.h - what the self-checking guests share.
 *
 * A check that fails says what was expected and what was found, at once and
 * past stdio, so that children and signal handlers may use it, too. A guest in
 * which nothing was wrong ends with the line "ok" and status 0. */
#ifndef GUEST_H
#define GUEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <cpuid.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile int guest_wrong;

/* CHECK(claim): it is true. */
#define CHECK(claim)                                                      \
	do {                                                              \
		if (!(claim)) {                                           \
			guest_wrong = 1;                                  \
			dprintf(1, "%s:%d: expected %s\n", __FILE_NAME__, \
				__LINE__, #claim);                        \
		}                                                         \
	} while (0)

/* SAME(got, want): two numbers or pointers are equal. */
#define SAME(got, want)                                                      \
	do {                                                                 \
		uint64_t got_ = (uint64_t)(got), want_ = (uint64_t)(want);   \
                                                                             \
		if (got_ != want_) {                                         \
			guest_wrong = 1;                                     \
			dprintf(1, "%s:%d: %s: expected %#lx, got %#lx\n",   \
				__FILE_NAME__, __LINE__, #got, want_, got_); \
		}                                                            \
	} while (0)

/* MUST(claim): or there is no point in going on. */
#define MUST(claim)                                                           \
	do {                                                                  \
		if (!(claim)) {                                               \
			dprintf(1, "%s:%d: expected %s: %s\n", __FILE_NAME__, \
				__LINE__, #claim, strerror(errno));           \
			_exit(1);                                             \
		}                                                             \
	} while (0)

/* The last line of main. */
static inline int guest_end(void)
{
	if (guest_wrong)
		return 1;
	puts("ok");
	return 0;
}

/* A thread's first act; and to wait until so many have come to it. Of one that
 * has not, libc still blocks all signals. */
static int guest_begun;

static inline void guest_begin(void)
{
	__atomic_fetch_add(&guest_begun, 1, __ATOMIC_RELEASE);
}

static inline void guest_await(int n)
{
	do
		usleep(1000);
	while (__atomic_load_n(&guest_begun, __ATOMIC_ACQUIRE) < n);
}

/* For what the processor or the kernel does not have at all. */
static inline void guest_absent(const char *of)
{
	printf("ok (not on this %s)\n", of);
	exit(0);
}

/* A sum that depends on the order; for results too many to list. */
static inline uint64_t guest_hash(uint64_t h, const void *data, size_t len)
{
	const unsigned char *p = data;

	while (len--)
		h = (h ^ *p++) * 0x100000001b3;
	return h;
}

static inline uint64_t guest_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* -- One instruction, or a few, between known registers and flags -- */

enum { CF = 1, PF = 4, AF = 16, ZF = 64, SF = 128, DF = 1024, OF = 2048 };
enum { STATUS = CF | PF | AF | ZF | SF | OF };

struct regs {
	uint64_t a, b, c, d, si, di, f; /* f: flags in and out */
};

/* RUN("add %%rcx, %%rax", r): r.f is loaded before and read after it. */
#define RUN(insns, r)                                                 \
	do {                                                          \
		uint64_t f_ = (r).f | 0x202;                          \
		asm volatile("lea -128(%%rsp), %%rsp\n\t"             \
			     "push %[f]\n\t"                          \
			     "popfq\n\t" insns "\n\t"                 \
			     "pushfq\n\t"                             \
			     "pop %[f]\n\t"                           \
			     "cld\n\t"                                \
			     "lea 128(%%rsp), %%rsp"                  \
			     : "+a"((r).a), "+b"((r).b), "+c"((r).c), \
			       "+d"((r).d), "+S"((r).si),             \
			       "+D"((r).di), [f] "+r"(f_)             \
			     :                                        \
			     : "memory", "cc");                       \
		(r).f = f_ & (STATUS | DF);                           \
	} while (0)

#endif
