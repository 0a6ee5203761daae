/* tests/guests/thread_detached.c - detached threads end unobserved, their
 * stacks are used again; three hundred of them leave no mapping behind. */
#include "guest.h"
#include <pthread.h>
#include <stdatomic.h>

static atomic_int ended;

static void *thread(void *arg)
{
	ended++;
	return arg;
}

static int mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	int n = 0, c;

	while ((c = getc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

static void batch(int n)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	ended = 0;
	for (int i = 0; i < n; i++) {
		MUST(pthread_create(&t, &attr, thread, NULL) == 0);
		while (ended <= i)
			usleep(50);
	}
}

int main(void)
{
	int before;

	batch(50);
	before = mappings();
	batch(250);
	CHECK(mappings() < before + 40);
	return guest_end();
}
