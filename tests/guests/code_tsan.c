// build: -fsanitize=thread -O1
/* tests/guests/code_tsan.c - a program under the thread sanitizer, which is
 * particular about where things lie, and watches every access. */
#include "guest.h"
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *thread(void *arg)
{
	for (int i = 0; i < 500; i++) {
		pthread_mutex_lock(&m);
		count++;
		pthread_mutex_unlock(&m);
	}
	return arg;
}

int main(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		MUST(pthread_create(&t[i], NULL, thread, NULL) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	SAME(count, 2000);
	return guest_end();
}
