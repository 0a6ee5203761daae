/* tests/guests/family.c - every way to make a child, each checked.
 *
 * fork, vfork, clone with and without shared memory, posix_spawn (good and
 * bad), threads, a daemon by double fork, 20 children at once. Prints how each
 * went; exit status 0 if all went well. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

static void expect(const char *what, int ok)
{
	printf("%s: %s\n", what, ok ? "well" : "badly");
	failures += !ok;
}

static int ends_with(pid_t pid, int code)
{
	int status;

	return waitpid(pid, &status, __WALL) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == code;
}

static void by_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(11);
	expect("fork", ends_with(pid, 11));
}

static void by_vfork(void)
{
	static volatile int shared;
	pid_t pid;

	shared = 0;
	pid = vfork();
	if (pid == 0) {
		shared = 12;
		execl("/bin/sh", "sh", "-c", "exit 12", NULL);
		_exit(1);
	}
	expect("vfork shares memory", shared == 12);
	expect("vfork and exec", ends_with(pid, 12));
	pid = vfork();
	if (pid == 0) {
		execl("/nonexistent", "x", NULL);
		_exit(errno == ENOENT ? 13 : 1);
	}
	expect("vfork and a failing exec", ends_with(pid, 13));
}

static char stack[65536] __attribute__((aligned(16)));

static int clone_child(void *arg)
{
	*(int *)arg = 14;
	return 14;
}

static void by_clone(void)
{
	int seen = 0;
	pid_t pid =
	    clone(clone_child, stack + sizeof stack, CLONE_VM | SIGCHLD, &seen);

	expect("clone with shared memory", ends_with(pid, 14) && seen == 14);
	seen = 0;
	pid = clone(clone_child, stack + sizeof stack, SIGCHLD, &seen);
	expect("clone with its own memory", ends_with(pid, 14) && seen == 0);
}

extern char **environ;

static void by_spawn(void)
{
	char *good[] = {(char *)"sh", (char *)"-c", (char *)"exit 15", NULL};
	char *bad[] = {(char *)"x", NULL};
	pid_t pid;

	expect("posix_spawn",
	       posix_spawn(&pid, "/bin/sh", NULL, NULL, good, environ) == 0 &&
		   ends_with(pid, 15));
	expect("a failing posix_spawn",
	       posix_spawn(&pid, "/nonexistent", NULL, NULL, bad, environ) ==
		   ENOENT);
}

static void *thread(void *arg)
{
	return (char *)arg + 1;
}

static void by_threads(void)
{
	pthread_t t[8];
	int good = 1;

	for (int i = 0; i < 8; i++)
		good &= pthread_create(&t[i], NULL, thread, &stack[i]) == 0;
	for (int i = 0; i < 8; i++) {
		void *got;

		good &= pthread_join(t[i], &got) == 0 && got == &stack[i + 1];
	}
	expect("threads", good);
}

static void by_daemon(void)
{
	int p[2], answer = 0;
	pid_t pid;

	if (pipe(p))
		exit(2);
	pid = fork();
	if (pid == 0) {
		setsid();
		if (fork() == 0) {
			answer = 16;
			usleep(20000);
			_exit(write(p[1], &answer, sizeof answer) < 0);
		}
		_exit(0);
	}
	close(p[1]);
	expect("double fork", ends_with(pid, 0));
	expect("daemon", read(p[0], &answer, sizeof answer) == sizeof answer &&
			     answer == 16);
	close(p[0]);
}

static void many(void)
{
	pid_t pid[20];
	int good = 1;

	for (int i = 0; i < 20; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			usleep(1000);
			_exit(i);
		}
	}
	for (int i = 0; i < 20; i++)
		good &= ends_with(pid[i], i);
	expect("twenty at once", good);
}

static void by_signal(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		abort();
	expect("a killed child", waitpid(pid, &status, 0) == pid &&
				     WIFSIGNALED(status) &&
				     WTERMSIG(status) == SIGABRT);
	pid = fork();
	if (pid == 0) {
		raise(SIGSTOP);
		_exit(17);
	}
	expect("a stopped child", waitpid(pid, &status, WUNTRACED) == pid &&
				      WIFSTOPPED(status) &&
				      WSTOPSIG(status) == SIGSTOP);
	kill(pid, SIGCONT);
	expect("... goes on", ends_with(pid, 17));
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	by_fork();
	by_vfork();
	by_clone();
	by_spawn();
	by_threads();
	by_daemon();
	many();
	by_signal();
	return failures != 0;
}
