/* tests/guests/churn.c - threads come and go faster than anyone can look.
 *
 *   churn UNTIL       (lives.h says how long)
 *
 * Two bosses each keep starting and joining six short threads. Every thread
 * adds its number to a sum that must come out right. */
#include "lives.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BOSSES = 2, CREW = 6 };

static atomic_int done;
static atomic_ulong sum, expected, failed;

static void *short_one(void *arg)
{
	sum += (uintptr_t)arg;
	return NULL;
}

static void *boss(void *arg)
{
	uintptr_t n = (uintptr_t)arg;

	while (!done) {
		pthread_t crew[CREW];
		int made = 0;

		for (int i = 0; i < CREW; i++, n += BOSSES) {
			if (pthread_create(&crew[made], NULL, short_one,
					   (void *)n) != 0) {
				failed++;
				continue;
			}
			expected += n;
			made++;
		}
		while (made > 0)
			pthread_join(crew[--made], NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct timespec nap = {.tv_nsec = 20000000};
	const char *until = argc > 1 ? argv[1] : "1";
	pthread_t b[BOSSES];

	for (uintptr_t i = 0; i < BOSSES; i++)
		pthread_create(&b[i], NULL, boss, (void *)i);
	puts("ready");
	fflush(stdout);
	while (lives(until))
		nanosleep(&nap, NULL);
	done = 1;
	for (int i = 0; i < BOSSES; i++)
		pthread_join(b[i], NULL);
	printf("%s, %lu failed\n", sum == expected ? "equal" : "different",
	       (unsigned long)failed);
	return sum != expected || failed != 0;
}
