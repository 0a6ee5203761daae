/* tests/guests/exec_again.c - a process that keeps executing itself.
 *
 *   exec_again UNTIL       (seconds, or a file; eleven times at least)
 *
 * Every few hundred microseconds everything but the process id is new. The
 * end (a time, or the file) and the number of generations travel in its
 * arguments. */
#include "lives.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int is_over(const char *end)
{
	return isdigit((unsigned char)end[0]) ? time(NULL) >= atol(end)
					      : !lives(end);
}

int main(int argc, char **argv)
{
	char end[100], generation[24];
	long g = argc > 2 ? atol(argv[2]) : 0;

	if (argc < 2)
		return 2;
	if (g == 0 && isdigit((unsigned char)argv[1][0]))
		snprintf(end, sizeof end, "%ld", time(NULL) + atol(argv[1]));
	else
		snprintf(end, sizeof end, "%s", argv[1]);
	if (g == 0) {
		puts("ready");
		fflush(stdout);
	}
	if (g > 10 && is_over(end)) {
		puts("generations many");
		return 0;
	}
	snprintf(generation, sizeof generation, "%ld", g + 1);
	execl("/proc/self/exe", argv[0], end, generation, NULL);
	perror("exec_again");
	return 1;
}
