/* tests/end-to-end/probe_next.c - a program that becomes others, and starts
 * them in all the ways there are.
 *
 *	probe_next N [PROG ARG...]	calls hot() N times; becomes PROG, or
 *					calls it N times more
 *	probe_next spawn | system | forks | thread | crowd N
 *					probe_next N by posix_spawn, system(),
 *					fork, instead of a second thread, or in
 *					N processes at once */
#include "guest.h"
#include "probe_functions.h"
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;
static char me[] = "./next", times[] = "100";
static char *again[] = {me, times, NULL};

PLAIN(hot);

static void call(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (hot(i) != 2 * i + 1)
			guest_wrong = 1;
}

static void reap(pid_t pid)
{
	int status = -1;

	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 0);
}

static void spawn(void)
{
	pid_t pid;

	MUST(posix_spawn(&pid, me, NULL, NULL, again, environ) == 0);
	reap(pid);
}

static pid_t fork_one(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		execv(me, again);
		_exit(9);
	}
	return pid;
}

static void crowd(int n)
{
	pid_t all[64];

	MUST(n <= 64);
	for (int i = 0; i < n; i++)
		all[i] = fork_one();
	for (int i = 0; i < n; i++)
		reap(all[i]);
}

static void *become(void *p)
{
	execv(me, again);
	return p;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t thread;

	for (int i = 0; i < 5; i++) {
		if (strcmp(how, "spawn") == 0)
			spawn();
		else if (strcmp(how, "system") == 0)
			SAME(system("./next 100"), 0);
		else if (strcmp(how, "forks") == 0)
			reap(fork_one());
	}
	if (strcmp(how, "crowd") == 0)
		crowd(atoi(argv[2]));
	if (strcmp(how, "thread") == 0) {
		MUST(pthread_create(&thread, NULL, become, NULL) == 0);
		pthread_join(thread, NULL);
		return 1;
	}
	call(strtoull(how, NULL, 10));
	if (argc > 2 && strcmp(how, "crowd") != 0) {
		execv(argv[2], argv + 2);
		SAME(errno, ENOENT);
		call(strtoull(how, NULL, 10));
	}
	return guest_end();
}
