/* tests/guests/sig_queue_info.c - rt_sigqueueinfo and rt_tgsigqueueinfo carry a
 * whole siginfo; only to others is a kernel's code refused. */
#include "guest.h"
#include <signal.h>
#include <sys/syscall.h>

static siginfo_t got;
static volatile int n;

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	got = *info;
	n++;
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	siginfo_t info;
	int pid = getpid();

	MUST(sigaction(SIGUSR1, &sa, NULL) == 0);
	MUST(sigaction(SIGSEGV, &sa, NULL) == 0);
	for (int i = 0; i < 20; i++) {
		memset(&info, 0, sizeof info);
		info.si_code = SI_ASYNCIO;
		info.si_pid = 123;
		info.si_uid = 456;
		info.si_value.sival_ptr = (void *)0x123456789abc;
		MUST(syscall(SYS_rt_sigqueueinfo, pid, SIGUSR1, &info) == 0);
		SAME(n, 3 * i + 1);
		SAME(got.si_code, SI_ASYNCIO);
		SAME(got.si_pid, 123);
		SAME(got.si_value.sival_ptr, 0x123456789abc);
		info.si_code = SI_QUEUE;
		MUST(syscall(SYS_rt_tgsigqueueinfo, pid, gettid(), SIGUSR1,
			     &info) == 0);
		SAME(got.si_uid, 456);
		/* to oneself even a fault may be told */
		memset(&info, 0, sizeof info);
		info.si_code = SEGV_ACCERR;
		info.si_addr = (void *)0x777000;
		MUST(syscall(SYS_rt_tgsigqueueinfo, pid, gettid(), SIGSEGV,
			     &info) == 0);
		SAME(got.si_signo, SIGSEGV);
		SAME(got.si_addr, 0x777000);
		SAME(got.si_code, SEGV_ACCERR);
	}
	return guest_end();
}
