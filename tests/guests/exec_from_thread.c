/* tests/guests/exec_from_thread.c - a thread that is not the first executes.
 *
 *   exec_from_thread PROGRAM ARGUMENTS...   (a failing execve comes first) */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *other(void *arg)
{
	pause();
	return arg;
}

static void *executes(void *arg)
{
	char **argv = arg;

	execl("/nonexistent/program", "x", NULL);
	if (errno != ENOENT)
		puts("the failing execve failed otherwise");
	execv(argv[0], argv);
	printf("%s: %s\n", argv[0], strerror(errno));
	_exit(1);
}

int main(int argc, char **argv)
{
	pthread_t t[3];

	if (argc < 2)
		return 2;
	pthread_create(&t[0], NULL, other, NULL);
	pthread_create(&t[1], NULL, other, NULL);
	pthread_create(&t[2], NULL, executes, argv + 1);
	pthread_join(t[2], NULL);
	return 1;
}
