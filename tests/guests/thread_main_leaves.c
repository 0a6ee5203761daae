/* tests/guests/thread_main_leaves.c - main ends by pthread_exit, the others go
 * on; the last one decides the status: 0. */
#include "guest.h"
#include <pthread.h>
#include <stdatomic.h>

static pthread_t first;
static atomic_int joined;

static void *thread(void *arg)
{
	if (pthread_join(first, NULL) == 0)
		joined++;
	usleep(1000);
	if (arg == NULL)
		return NULL;
	usleep(3000);
	SAME(joined, 1);
	if (guest_end() != 0)
		_exit(1);
	return NULL; /* the last one: exit(0) */
}

int main(void)
{
	pthread_t t;

	first = pthread_self();
	pthread_create(&t, NULL, thread, (void *)1);
	pthread_exit(NULL);
}
