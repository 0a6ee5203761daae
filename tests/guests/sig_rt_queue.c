/* tests/guests/sig_rt_queue.c - real-time signals queue: lower numbers first,
 * one number in the order it was sent, no value lost; standard ones merge. */
#include "guest.h"
#include <signal.h>

static volatile int n, got[64], sigs[64], usr1;

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (n < 64) {
		sigs[n] = sig - SIGRTMIN;
		got[n] = info->si_value.sival_int;
	}
	n++;
	if (info->si_code != SI_QUEUE)
		SAME(info->si_code, SI_QUEUE);
}

static void count(int sig)
{
	(void)sig;
	usr1++;
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigset_t all, old;

	sigfillset(&all);
	sa.sa_mask = all; /* one after the other */
	for (int i = 0; i < 4; i++)
		MUST(sigaction(SIGRTMIN + i, &sa, NULL) == 0);
	signal(SIGUSR1, count);
	for (int round = 0; round < 20; round++) {
		n = usr1 = 0;
		MUST(sigprocmask(SIG_SETMASK, &all, &old) == 0);
		for (int k = 0; k < 10; k++)
			for (int i = 3; i >= 0; i--)
				MUST(sigqueue(getpid(), SIGRTMIN + i,
					      (union sigval){.sival_int = k}) ==
				     0);
		for (int k = 0; k < 10; k++)
			kill(getpid(), SIGUSR1);
		MUST(sigprocmask(SIG_SETMASK, &old, NULL) == 0);
		SAME(n, 40);
		SAME(usr1, 1);
		/* handlers block all others, so each number is drained first */
		for (int i = 0; i < 40; i++) {
			SAME(sigs[i], i / 10);
			SAME(got[i], i % 10);
		}
	}
	return guest_end();
}
