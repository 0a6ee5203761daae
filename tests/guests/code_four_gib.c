/* tests/guests/code_four_gib.c - operands that lie across a multiple of 4 GiB,
 * where the low half of an address begins anew, or across where the index of a
 * recorded thread's shadow does (WIRE_SHADOW_SKEW below), and the same places
 * of several such multiples in turn. */
#include "guest.h"
#include <pthread.h>
#include <sys/wait.h>

enum { NEAR = 300, FAR = 10000, EDGES = 6, SKEW = 0x5840, ROOM = 131072 };

static const uint64_t four_gib = 1ull << 32;

static uint64_t load(const char *p)
{
	uint64_t v;

	asm volatile("mov (%1), %0" : "=r"(v) : "r"(p) : "memory");
	return v;
}

static void words(char *e, uint64_t seed)
{
	for (int k = 1; k < 8; k++) {
		uint64_t v = guest_random(&seed);
		volatile char *p = e - k;

		asm volatile("mov %0, (%1)" ::"r"(v), "r"(p) : "memory");
		SAME(load(e - k), v);
		for (int i = 0; i < 8; i++)
			SAME((uint8_t)p[i], (uint8_t)(v >> 8 * i));
		p[k] ^= 1;
		p[k - 1] ^= 1;
		v ^= 1ull << 8 * k ^ 1ull << 8 * (k - 1);
		SAME(load(e - k), v);
		asm volatile("addq $5, (%0)" ::"r"(p) : "memory", "cc");
		SAME(load(e - k), v + 5);
	}
}

static void vectors(char *e, uint64_t seed)
{
	char got[16];

	for (int k = 1; k < 16; k++) {
		memset(e - 32, (int)seed, 64);
		asm volatile("pcmpeqb %%xmm1, %%xmm1; movdqu %%xmm1, (%0)"
			     :
			     : "r"(e - k)
			     : "xmm1", "memory");
		asm volatile("movdqu (%0), %%xmm1; movdqu %%xmm1, (%1)"
			     :
			     : "r"(e - k), "r"(got)
			     : "xmm1", "memory");
		for (int i = 0; i < 16; i++)
			SAME(got[i], -1);
		SAME(e[-k - 1], (char)seed);
		SAME(e[16 - k], (char)seed);
	}
}

static void strings(char *e)
{
	char t[2 * NEAR];
	void *to = t, *from = e - NEAR;
	size_t n = sizeof t;

	for (int i = -NEAR; i < NEAR; i++)
		e[i] = (char)i;
	asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n)::"memory");
	for (int i = -NEAR; i < NEAR; i++)
		SAME(t[i + NEAR], (char)i);
	to = e - NEAR - 1, from = t, n = sizeof t;
	asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n)::"memory");
	SAME(e[0], 1);
	SAME(e[-1], 0);
	to = e - NEAR - 1, n = sizeof t / 8;
	asm volatile("rep stosq"
		     : "+D"(to), "+c"(n)
		     : "a"(0x0101010101010101)
		     : "memory");
	SAME(e[0], 1);
	SAME(e[NEAR - 2], 1);
	SAME(e[-NEAR - 1], 1);
}

static void copy(char *to, const char *from, size_t n, int down)
{
	if (down)
		asm volatile("std; rep movsb; cld"
			     : "+D"(to), "+S"(from), "+c"(n)::"memory");
	else
		asm volatile("rep movsb"
			     : "+D"(to), "+S"(from), "+c"(n)::"memory");
}

static char *filled(char *at, size_t n, uint64_t seed)
{
	for (size_t i = 0; i < n; i++)
		at[i] = (char)guest_random(&seed);
	return at;
}

/* Parts of string instructions lie across the edge, on either side, or on both
 * with one shifted against the other. */
static void long_strings(char *e, uint64_t seed)
{
	static __thread char want[2 * FAR], got[2 * FAR];
	char *begin = e - FAR, *a = want, *b = begin;
	size_t n = sizeof want;

	filled(want, n, seed);
	copy(begin, want, n, 0);
	CHECK(memcmp(begin, want, n) == 0);
	copy(got, begin, n, 0);
	CHECK(memcmp(got, want, n) == 0);
	asm volatile("repe cmpsb" : "+S"(a), "+D"(b), "+c"(n)::"memory", "cc");
	SAME(n, 0);
	for (int by = 1; by < 70; by += 17) {
		n = sizeof want - (size_t)by;
		filled(begin, sizeof want, seed += 5);
		memcpy(want, begin, sizeof want);
		copy(begin, begin + by, n, 0);
		CHECK(memcmp(begin, want + by, n) == 0);
		copy(begin + by + n - 1, begin + n - 1, n, 1);
		CHECK(memcmp(begin + by, want + by, n) == 0);
		memset(begin, by, sizeof want);
		for (size_t i = 0; i < sizeof want; i++)
			SAME(begin[i], by);
	}
}

/* What the kernel writes there and reads there. */
static void calls(char *e, uint64_t seed)
{
	static __thread char want[2 * FAR], got[2 * FAR];
	int p[2];

	MUST(pipe(p) == 0);
	filled(want, sizeof want, seed);
	memset(e - FAR, 1, sizeof want);
	SAME(write(p[1], want, sizeof want), sizeof want);
	SAME(read(p[0], e - FAR, sizeof want), sizeof want);
	memcpy(got, e - FAR, sizeof got);
	CHECK(memcmp(got, want, sizeof got) == 0);
	for (int k = 1; k < 32; k++)
		CHECK(memcmp(e - k, want + FAR - k, 40) == 0);
	close(p[0]);
	close(p[1]);
}

/* Parent and child each have their own. */
static void families(char *at)
{
	char *volatile place = at; /* not an object that compilers know */
	char *e = place;
	uint64_t mine = (uint64_t)getpid();
	int status;
	pid_t pid;

	asm volatile("mov %0, (%1)" ::"r"(mine), "r"(e - 3) : "memory");
	pid = fork();
	MUST(pid >= 0);
	for (int i = 0; i < 100; i++) {
		uint64_t v = mine + (uint64_t)pid * 77 + (uint64_t)i;

		asm volatile("mov %0, (%1)" ::"r"(v), "r"(e - 3) : "memory");
		usleep(50);
		SAME(load(e - 3), v);
		SAME((uint8_t)e[0], (uint8_t)(v >> 24));
		SAME((uint8_t)e[-1], (uint8_t)(v >> 16));
	}
	if (pid == 0)
		_exit(guest_wrong);
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 0);
}

static uint64_t stack(char *e)
{
	uint64_t last;

	asm volatile("mov %%rsp, %%rbx\n\t"
		     "lea 20(%1), %%rsp\n\t"
		     "push $77\n\tpush $78\n\tpush $79\n\tpush $80\n\t"
		     "pop %0\n\tpop %0\n\tpop %0\n\tpop %0\n\t"
		     "mov %%rbx, %%rsp"
		     : "=&r"(last)
		     : "r"(e)
		     : "rbx", "memory");
	return last;
}

static void edge(char *e, uint64_t seed)
{
	words(e, seed);
	vectors(e, seed);
	strings(e);
	SAME(stack(e), 77);
}

static void *sweep(void *first)
{
	for (uint64_t n = 0; n < EDGES / 2; n++) {
		char *e = (char *)(((uint64_t)first + n) * four_gib);

		for (uint64_t i = 1; i < 10; i++) {
			edge(e, i * 77 + n);
			edge(e - SKEW, i * 79 + n);
		}
		long_strings(e, n + 1);
		long_strings(e - SKEW, n + 2);
		calls(e - SKEW, n + 3);
	}
	return NULL;
}

int main(void)
{
	pthread_t t;

	for (uint64_t i = 1; i <= EDGES; i++) {
		void *at = (void *)(i * four_gib - ROOM / 2);

		MUST(mmap(at, ROOM, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
			  0) == at);
	}
	sweep((void *)1);
	MUST(pthread_create(&t, NULL, sweep, (void *)(1 + EDGES / 2)) == 0);
	sweep((void *)1);
	pthread_join(t, NULL);
	families((char *)four_gib - SKEW);
	return guest_end();
}
