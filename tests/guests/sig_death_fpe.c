/* tests/guests/sig_death_fpe.c - a division by zero that nobody handles ends in
 * SIGFPE, in a thread as in main. */
#include "guest.h"
#include <pthread.h>
#include <sys/resource.h>

static volatile int zero;

static void *thread(void *arg)
{
	(void)arg;
	return (void *)(long)(5 / zero);
}

int main(void)
{
	struct rlimit none = {0, 0};
	pthread_t t;

	setrlimit(RLIMIT_CORE, &none);
	puts("ok");
	fflush(stdout);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	return 1;
}
