/* tests/guests/fork_among_threads.c - one thread keeps making threads, another
 * keeps making processes; no child may find anything that is not the program's.
 *
 *   fork_among_threads SECONDS       (and eleven times at least)
 *
 * Whoever visits each new thread by itself, mapping something for a moment,
 * must see to it that a process forked in that moment does not inherit it. */
#include "lives.h"
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_int done;

static void *nothing(void *arg)
{
	return arg;
}

static void *make_threads(void *arg)
{
	pthread_t t;

	while (!done)
		if (pthread_create(&t, NULL, nothing, NULL) == 0)
			pthread_join(t, NULL);
	return arg;
}

/* In a child of a process with threads: only what is safe there. */
static int foreign_things(int next_fd)
{
	static char text[262144];
	size_t len = 0;
	ssize_t n;
	int fd = open("/proc/self/maps", O_RDONLY);
	int bad = fd != next_fd;

	while ((n = read(fd, text + len, sizeof text - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	close(fd);
	return bad | (strstr(text, "memfd:") != NULL) << 1;
}

int main(int argc, char **argv)
{
	const char *until = argc > 1 ? argv[1] : "1";
	int next_fd = open("/dev/null", O_RDONLY), bad = 0, status, forks = 0;
	pthread_t t;

	close(next_fd);
	pthread_create(&t, NULL, make_threads, NULL);
	while (lives(until) || forks <= 10) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(foreign_things(next_fd));
		if (waitpid(pid, &status, 0) != pid || status != 0)
			bad++;
		forks++;
	}
	done = 1;
	pthread_join(t, NULL);
	printf("forks %s, %d bad\n", forks > 10 ? "many" : "few", bad);
	return bad != 0;
}
