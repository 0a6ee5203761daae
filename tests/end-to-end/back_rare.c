/* tests/end-to-end/back_rare.c - a system call, a signal and a function that
 * come once in a long while. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 60, CALLS = 7, SIGNALS = 11, RARE = 13 };

static volatile int round_now;
static volatile unsigned sum;
static volatile sig_atomic_t signals;

/* They share no word of code with anything. */
#define APART __attribute__((noinline, aligned(64)))

static APART void on_signal(int signal)
{
	(void)signal;
	signals++;
}

static APART void rare(void)
{
	sum++;
}

APART int main(void)
{
	signal(SIGUSR1, on_signal);
	for (round_now = 1; round_now <= ROUNDS; round_now++) {
		for (unsigned i = 0; i < 20000; i++)
			sum = sum * 31 + i;
		if (round_now % CALLS == 0)
			getppid();
		if (round_now % SIGNALS == 0)
			raise(SIGUSR1);
		if (round_now % RARE == 0)
			rare();
	}
	printf("%u %d\n", sum, (int)signals);
	return 0;
}
