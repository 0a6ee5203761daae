/* tests/guests/exec_crowd.c - a crowd of threads, one of which executes itself.
 *
 *   exec_crowd UNTIL       (seconds, or a file; eleven times at least)
 *
 * As exec_again, but from a thread beside forty others, which execve ends and
 * waits for: who has seized some of them and waits for another holds it up. */
#include "lives.h"
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { CROWD = 40 };

static char *name, end[100], generation[24];

static void *stand(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void *execute(void *arg)
{
	execl("/proc/self/exe", name, end, generation, NULL);
	perror("exec_crowd");
	exit(1);
	return arg;
}

static int is_over(void)
{
	return isdigit((unsigned char)end[0]) ? time(NULL) >= atol(end)
					      : !lives(end);
}

int main(int argc, char **argv)
{
	long g = argc > 2 ? atol(argv[2]) : 0;
	pthread_t t;

	if (argc < 2)
		return 2;
	name = argv[0];
	if (g == 0 && isdigit((unsigned char)argv[1][0]))
		snprintf(end, sizeof end, "%ld", time(NULL) + atol(argv[1]));
	else
		snprintf(end, sizeof end, "%s", argv[1]);
	snprintf(generation, sizeof generation, "%ld", g + 1);
	if (g == 0) {
		puts("ready");
		fflush(stdout);
	}
	if (g > 10 && is_over()) {
		puts("generations many");
		return 0;
	}
	for (int i = 0; i < CROWD; i++)
		if (pthread_create(&t, NULL, stand, NULL) != 0)
			return 1;
	if (pthread_create(&t, NULL, execute, NULL) != 0)
		return 1;
	stand(NULL);
}
