/* tests/end-to-end/back_recursion.c - recursion, signals, calls to the kernel,
 * and memory to search.
 *
 * It prints what was true, for the debugger's answers to be compared with. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int caught;
static char haystack[4096];
static unsigned numbers[64];

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)context;
	caught = sig * 1000 + info->si_value.sival_int; /* the handler */
}

static int depth(int n)
{
	int below = 0;

	if (n > 0)
		below = depth(n - 1); /* the recursion */
	return below + n;
}

static int loop(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++) {
		sum += i; /* the body */
		numbers[i] = (unsigned)sum * 7;
	}
	return sum; /* behind the loop */
}

int main(void)
{
	struct sigaction act = {.sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO};
	int sum, total;

	sigaction(SIGUSR2, &act, NULL);
	sigqueue(getpid(), SIGUSR2, (union sigval){.sival_int = 42});
	sum = depth(5); /* the call */
	total = loop(50);
	memset(haystack, '.', sizeof haystack);
	strcpy(haystack + 1234, "a needle in it");
	haystack[4000] = haystack[1234]; /* all of it is known */
	for (unsigned i = 0; i < sizeof haystack; i++)
		caught += haystack[i] == 'n' ? 0 : 0;
	syscall(SYS_getppid);
	printf("caught %d sum %d total %d pid %d last %u\n", caught, sum, total,
	       (int)getpid(), numbers[49]);
	printf("haystack %p\n", (void *)haystack);
	fflush(stdout);
	return 0;
}
