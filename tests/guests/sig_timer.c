/* tests/guests/sig_timer.c - POSIX timers: SIGEV_SIGNAL with a value, to one
 * thread by SIGEV_THREAD_ID, and SIGEV_NONE; overruns are counted. */
#include "guest.h"
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static volatile int n, value, code, tid;

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	value = info->si_value.sival_int;
	code = info->si_code;
	tid = (int)syscall(SYS_gettid);
	n++;
}

static void *thread(void *arg)
{
	timer_t t;
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID,
			      .sigev_signo = SIGRTMIN + 1};
	struct itimerspec when = {.it_value = {0, 1000000}};
	int me = (int)syscall(SYS_gettid);

	(void)arg;
	n = 0;
	ev.sigev_notify_thread_id = me;
	MUST(timer_create(CLOCK_MONOTONIC, &ev, &t) == 0);
	MUST(timer_settime(t, 0, &when, NULL) == 0);
	while (n == 0)
		usleep(500);
	SAME(tid, me);
	timer_delete(t);
	return NULL;
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL,
			      .sigev_signo = SIGRTMIN + 1,
			      .sigev_value.sival_int = 4711};
	struct itimerspec when = {{0, 500000}, {0, 500000}}, left;
	sigset_t block;
	timer_t t;
	pthread_t th;

	MUST(sigaction(SIGRTMIN + 1, &sa, NULL) == 0);
	MUST(timer_create(CLOCK_MONOTONIC, &ev, &t) == 0);
	MUST(timer_settime(t, 0, &when, NULL) == 0);
	while (n < 10)
		usleep(200);
	SAME(value, 4711);
	SAME(code, SI_TIMER);
	sigemptyset(&block);
	sigaddset(&block, SIGRTMIN + 1);
	sigprocmask(SIG_BLOCK, &block, NULL);
	usleep(10000);
	sigprocmask(SIG_UNBLOCK, &block, NULL);
	CHECK(timer_getoverrun(t) >= 0);
	MUST(timer_gettime(t, &left) == 0);
	SAME(left.it_interval.tv_nsec, 500000);
	MUST(timer_delete(t) == 0);
	SAME(timer_delete(t), -1);
	ev.sigev_notify = SIGEV_NONE;
	MUST(timer_create(CLOCK_REALTIME, &ev, &t) == 0);
	MUST(timer_delete(t) == 0);
	MUST(pthread_create(&th, NULL, thread, NULL) == 0);
	pthread_join(th, NULL);
	return guest_end();
}
