/* tests/guests/sig_nested.c - five handlers, each interrupting the one before,
 * and a fault in the innermost: all return, in order, with masks as they were.
 */
#include "guest.h"
#include <signal.h>
#include <ucontext.h>

static char trail[64];
static volatile int at;
static const int sigs[] = {SIGHUP, SIGINT, SIGUSR1, SIGUSR2, SIGTERM};

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	sigset_t before, now;
	int i = 0;

	(void)info;
	while (sigs[i] != sig)
		i++;
	trail[at++] = (char)('a' + i);
	sigprocmask(SIG_BLOCK, NULL, &before);
	for (int k = 0; k < 5; k++) {
		SAME(sigismember(&before, sigs[k]), k <= i);
		SAME(sigismember(&uc->uc_sigmask, sigs[k]), k < i);
	}
	if (i < 4)
		raise(sigs[i + 1]);
	else
		asm volatile("ud2");
	sigprocmask(SIG_BLOCK, NULL, &now);
	CHECK(memcmp(&before, &now, 8) == 0);
	trail[at++] = (char)('A' + i);
}

static void fault(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	trail[at++] = '!';
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

	for (int i = 0; i < 5; i++)
		MUST(sigaction(sigs[i], &sa, NULL) == 0);
	sa.sa_sigaction = fault;
	MUST(sigaction(SIGILL, &sa, NULL) == 0);
	for (int i = 0; i < 100; i++) {
		at = 0;
		memset(trail, 0, sizeof trail);
		raise(sigs[0]);
		CHECK(strcmp(trail, "abcde!EDCBA") == 0);
	}
	puts(trail);
	return guest_end();
}
