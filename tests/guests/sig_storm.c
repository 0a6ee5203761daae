/* tests/guests/sig_storm.c - a timer fires every 200 us while integers, floats,
 * x87 and vector registers compute; the handler uses all of them, too. Nothing
 * may come out differently. */
#include "guest.h"
#include <signal.h>
#include <sys/time.h>

static volatile int n;
static volatile long double spoil;

static void handler(int sig)
{
	(void)sig;
	n++;
	spoil = spoil * 1.5L + n;
	if (spoil > 1e30L)
		spoil = 1;
	asm volatile("pcmpeqd %%xmm0, %%xmm0\n\tpcmpeqd %%xmm5, %%xmm5\n\t"
		     "pcmpeqd %%xmm15, %%xmm15\n\txor %%eax, %%eax\n\tstd\n\t"
		     "cld" ::
			 : "xmm0", "xmm5", "xmm15", "rax", "cc");
	if (__builtin_cpu_supports("avx"))
		asm volatile("vxorps %%ymm3, %%ymm3, %%ymm3\n\tvzeroupper" ::
				 : "xmm3");
}

static uint64_t compute(uint64_t seed)
{
	uint64_t h = seed;
	double d = 1;
	long double l = 1;
	char a[64], b[64];

	for (int i = 0; i < 20000; i++) {
		guest_random(&h);
		d = d * 1.0000001 + (double)(h & 7);
		l = l / 3 + d;
		memset(a, (int)h, sizeof a);
		memcpy(b, a, sizeof b);
		h += (uint64_t)b[i & 63] + (uint64_t)(l > d);
	}
	return guest_hash(guest_hash(h, &d, 8), &l, 10);
}

int main(void)
{
	struct itimerval t = {{0, 200}, {0, 200}}, never = {{0}};
	uint64_t want = compute(12345);

	signal(SIGALRM, handler);
	MUST(setitimer(ITIMER_REAL, &t, NULL) == 0);
	for (int i = 0; i < 100 || n < 20; i++)
		if (compute(12345) != want)
			SAME(compute(12345), want);
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
	printf("%016lx\n", want);
	return guest_end();
}
