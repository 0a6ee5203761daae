/* tests/end-to-end/probe_family.c - a process with children of all kinds, and
 * then another program.
 *
 *	probe_family			all of it
 *	probe_family child | last	what it starts, and what it becomes
 *
 * "hit" says what this process has called before it became another program;
 * "shared", how often children that borrow its memory (vfork) have. */
#include "guest.h"
#include "probe_functions.h"
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

PLAIN(hot);
BY_TRAP(trapped);

static int calls(int n)
{
	int good = 0;

	for (int i = 0; i < n; i++)
		good += hot((uint64_t)i) == 2 * (uint64_t)i + 1 &&
			trapped((uint64_t)i) == 2 * (uint64_t)i + 1;
	return good;
}

static int status_of(pid_t pid)
{
	int status = -1;

	MUST(waitpid(pid, &status, 0) == pid);
	return status;
}

static void fork_some(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		MUST(pid >= 0);
		if (pid == 0)
			_exit(calls(100) == 100 ? i : 99);
		SAME(calls(10), 10);
		SAME(status_of(pid), i << 8);
	}
}

static void vfork_some(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = vfork();

		if (pid == 0)
			_exit(calls(2) == 2 ? 7 : 99);
		SAME(status_of(pid), 7 << 8);
		SAME(calls(10), 10);
	}
}

/* A child that dies by a signal, and one that has its own handler's state. */
static void fork_odd(void)
{
	struct sigaction now;
	pid_t pid = fork();

	if (pid == 0) {
		if (sigaction(SIGTRAP, NULL, &now) != 0 ||
		    now.sa_handler != SIG_DFL || calls(10) != 10)
			_exit(98);
		raise(SIGTRAP);
		_exit(99);
	}
	SAME(status_of(pid) & 0x7f, SIGTRAP);
}

static void spawn_some(const char *self)
{
	const char *args[] = {self, "child", NULL};
	pid_t pid;

	for (int i = 0; i < 5; i++) {
		MUST(posix_spawn(&pid, self, NULL, NULL, (char **)args,
				 environ) == 0);
		SAME(status_of(pid), 5 << 8);
	}
	SAME(system("exit 3"), 3 << 8);
	fflush(stdout);
	FILE *f = popen("echo from a pipe", "r");
	char line[64] = "";
	MUST(f != NULL && fgets(line, sizeof line, f) != NULL);
	SAME(strcmp(line, "from a pipe\n"), 0);
	SAME(pclose(f), 0);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "child") == 0)
		return calls(100) == 100 ? 5 : 99;
	if (argc == 2 && strcmp(argv[1], "last") == 0) {
		SAME(calls(1000), 1000);
		return guest_end() == 0 ? 42 : 1;
	}
	fork_some();
	vfork_some();
	fork_odd();
	spawn_some(argv[0]);
	SAME(calls(10), 10);
	printf("hit hot %d\nhit trapped %d\n", 410, 410);
	printf("shared hot %d\nshared trapped %d\n", 40, 40);
	fflush(stdout);
	if (guest_wrong)
		return 1;
	execl(argv[0], argv[0], "last", (char *)NULL);
	return 99;
}
