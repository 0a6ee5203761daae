/* tests/guests/sig_altstack.c - handlers with SA_ONSTACK run on the alternate
 * stack, others do not; sigaltstack tells where one is, refuses a change from
 * there, and nested signals stay on it. */
#include "guest.h"
#include <signal.h>

static char alt[65536];
static volatile int n, on[4], flags[4], refused;
static volatile uintptr_t deep[2];

static int is_alt(void *p)
{
	return (char *)p >= alt && (char *)p < alt + sizeof alt;
}

static void inner(int sig)
{
	int here;

	(void)sig;
	on[1] = is_alt(&here);
	deep[1] = (uintptr_t)&here;
}

static void outer(int sig)
{
	stack_t now, other = {.ss_sp = malloc(65536), .ss_size = 65536};
	int here;

	(void)sig;
	n++;
	on[0] = is_alt(&here);
	deep[0] = (uintptr_t)&here;
	sigaltstack(NULL, &now);
	flags[0] = now.ss_flags;
	refused = sigaltstack(&other, NULL) == -1 && errno == EPERM;
	free(other.ss_sp);
	raise(SIGUSR2);
}

static void plain(int sig)
{
	int here;

	(void)sig;
	on[2] = is_alt(&here);
}

int main(void)
{
	stack_t ss = {.ss_sp = alt, .ss_size = sizeof alt}, old;
	struct sigaction sa = {.sa_handler = outer, .sa_flags = SA_ONSTACK};

	MUST(sigaltstack(&ss, &old) == 0);
	SAME(old.ss_flags, SS_DISABLE);
	MUST(sigaction(SIGUSR1, &sa, NULL) == 0);
	sa.sa_handler = inner;
	MUST(sigaction(SIGUSR2, &sa, NULL) == 0);
	signal(SIGHUP, plain);
	for (int i = 0; i < 50; i++) {
		raise(SIGUSR1);
		SAME(on[0], 1);
		SAME(flags[0], SS_ONSTACK);
		SAME(refused, 1);
		SAME(on[1], 1);
		CHECK(deep[1] < deep[0]); /* below, not over it */
		raise(SIGHUP);
		SAME(on[2], 0);
	}
	MUST(sigaltstack(NULL, &old) == 0);
	SAME(old.ss_sp, alt);
	SAME(old.ss_flags, 0);
	ss.ss_size = 100;
	SAME(sigaltstack(&ss, NULL), -1);
	SAME(errno, ENOMEM);
	ss.ss_flags = SS_DISABLE;
	SAME(sigaltstack(&ss, NULL), 0);
	raise(SIGUSR2);
	SAME(on[1], 0);
	return guest_end();
}
