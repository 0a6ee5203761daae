// build: -lm
/* tests/guests/thread_vectors.c - floating point control is each thread's own:
 * four rounding modes at once, on more threads than processors. */
#include "guest.h"
#include <fenv.h>
#include <pthread.h>

static double divide(double a, double b)
{
	asm volatile("divsd %1, %0" : "+x"(a) : "x"(b));
	return a;
}

static void *thread(void *arg)
{
	static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD,
				    FE_TOWARDZERO};
	int mode = modes[(uintptr_t)arg % 4];
	double up = 0x1.5555555555556p-2, down = 0x1.5555555555555p-2;
	double want = mode == FE_UPWARD ? up : down;

	fesetround(mode);
	for (int i = 0; i < 2000; i++) {
		if (divide(1, 3) != want || fegetround() != mode)
			CHECK(divide(1, 3) == want);
		if (i % 200 == 0)
			sched_yield();
	}
	return NULL;
}

int main(void)
{
	pthread_t t[8];

	for (uintptr_t i = 0; i < 8; i++)
		MUST(pthread_create(&t[i], NULL, thread, (void *)i) == 0);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	SAME(fegetround(), FE_TONEAREST);
	fesetround(FE_UPWARD); /* a new thread has its maker's */
	pthread_create(&t[0], NULL, (void *(*)(void *))(void *)fegetround,
		       NULL);
	void *r;
	pthread_join(t[0], &r);
	SAME((int)(uintptr_t)r, FE_UPWARD);
	return guest_end();
}
