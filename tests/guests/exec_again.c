/* tests/guests/exec_again.c - a process that keeps executing itself.
 *
 *   exec_again SECONDS
 *
 * Every few hundred microseconds everything but the process id is new. The
 * end (a time) and the number of generations travel in its arguments. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char end[24], generation[24];
	long g = argc > 2 ? atol(argv[2]) : 0;

	if (argc < 2)
		return 2;
	if (g == 0) {
		snprintf(end, sizeof end, "%ld", time(NULL) + atol(argv[1]));
		puts("ready");
		fflush(stdout);
	} else {
		snprintf(end, sizeof end, "%s", argv[1]);
	}
	if (time(NULL) >= atol(end)) {
		printf("generations %s\n", g > 10 ? "many" : "few");
		return 0;
	}
	snprintf(generation, sizeof generation, "%ld", g + 1);
	execl("/proc/self/exe", argv[0], end, generation, NULL);
	perror("exec_again");
	return 1;
}
