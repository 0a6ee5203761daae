/* tests/guests/rec_inputs.c - whatever differs from run to run decides where
 * the program goes: time stamps, random numbers, clocks, process numbers, what
 * the kernel writes. */
#include "guest.h"
#include <sched.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <time.h>
#include <x86intrin.h>

enum { ROUNDS = 2000 };

static uint64_t from_cpu(void)
{
	unsigned a, b, c, d, aux, low, high;
	uint64_t x = __rdtsc() ^ __rdtscp(&aux);
	unsigned char ok = 0;

	x ^= aux;
	__cpuid_count(1, 0, a, b, c, d);
	x = x * 3 + a + b + d;
	if (c & 1u << 30)
		asm volatile("rdrand %0; setc %1" : "=r"(x), "+q"(ok)::"cc");
	asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return x + low + high + ok;
}

static uint64_t from_kernel(uint64_t hash)
{
	struct timespec t;
	struct timeval v;
	struct utsname u;
	uint64_t r;

	clock_gettime(CLOCK_MONOTONIC, &t); /* the vdso */
	hash = guest_hash(hash, &t, sizeof t);
	gettimeofday(&v, NULL);
	hash = guest_hash(hash, &v, sizeof v);
	MUST(getrandom(&r, sizeof r, 0) == sizeof r);
	MUST(uname(&u) == 0);
	hash = guest_hash(hash, &u, sizeof u);
	return guest_hash(hash, &r, sizeof r) + (uint64_t)getpid() +
	       (uint64_t)sched_getcpu();
}

/* Where it goes depends on what it was given. */
static uint64_t wander(uint64_t x, int *visits)
{
	uint64_t sum = 0;

	for (int i = 0; i < 64; i++, x = x >> 1 | x << 63) {
		visits[x & 7]++;
		switch (x & 7) {
		case 0:
			sum += x / 3;
			break;
		case 1:
			sum ^= x * x;
			break;
		case 2:
			sum -= x % 1000;
			break;
		case 3:
			continue;
		case 4:
			sum = sum << 7 | sum >> 57;
			break;
		case 5:
			sum += (uint64_t)((double)x / 7.0);
			break;
		default:
			sum++;
		}
	}
	return sum;
}

int main(void)
{
	const void *given = (const void *)getauxval(AT_RANDOM);
	uint64_t hash = guest_hash(1, given, 16);
	int visits[8] = {0}, total = 0;

	for (int i = 0; i < ROUNDS; i++) {
		hash = from_kernel(hash) ^ from_cpu();
		hash ^= wander(hash, visits);
	}
	for (int i = 0; i < 8; i++)
		total += visits[i];
	SAME(total, 64 * ROUNDS);
	return guest_end();
}
