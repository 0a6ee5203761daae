/* tests/guests/sig_timer_thread.c - SIGEV_THREAD: the C library's helper makes
 * a thread for each expiry. */
#include "guest.h"
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

static sem_t done;
static pthread_t main_thread;

static void expired(union sigval v)
{
	SAME(v.sival_int, 31337);
	CHECK(!pthread_equal(pthread_self(), main_thread));
	sem_post(&done);
}

int main(void)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD,
			      .sigev_notify_function = expired,
			      .sigev_value.sival_int = 31337};
	struct itimerspec when = {{0, 2000000}, {0, 2000000}};
	timer_t t;

	main_thread = pthread_self();
	sem_init(&done, 0, 0);
	MUST(timer_create(CLOCK_MONOTONIC, &ev, &t) == 0);
	MUST(timer_settime(t, 0, &when, NULL) == 0);
	for (int i = 0; i < 10; i++)
		while (sem_wait(&done) != 0)
			;
	MUST(timer_delete(t) == 0);
	return guest_end();
}
