/* tests/end-to-end/probe_vfork.c - children that share their parent's memory.
 *
 *	probe_vfork early|late
 *
 * Each process says to mark() which process and thread it is; early: the first
 * to do so is a child. It prints how often mark() was called. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { TIMES = 3 };

static char stack[1 << 16];
static volatile int calls;

__attribute__((noipa)) void mark(long pid, long tid)
{
	__asm__ volatile("" ::"r"(pid), "r"(tid));
}

static void say(void)
{
	calls++;
	mark(syscall(SYS_getpid), syscall(SYS_gettid));
}

/* What the parent has below its stack pointer is the child's. */
static __attribute__((noipa)) void trample(void)
{
	volatile char some[4096];

	for (unsigned i = 0; i < sizeof some; i++)
		some[i] = (char)(i * 7);
}

static int shared(void *unused)
{
	(void)unused;
	say();
	syscall(SYS_exit_group, 0);
	return 0;
}

static void wait_for(pid_t pid)
{
	int status = 1;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		exit(3);
}

/* A child of vfork may have one itself. */
static void nest(int depth)
{
	pid_t pid = vfork();

	if (pid == 0) {
		trample();
		say();
		if (depth > 0)
			nest(depth - 1);
		say();
		_exit(0);
	}
	wait_for(pid);
}

static void spawn(void)
{
	char *const args[] = {"true", NULL};
	pid_t pid;

	if (posix_spawn(&pid, "/bin/true", NULL, NULL, args, environ) != 0)
		exit(3);
	wait_for(pid);
}

int main(int argc, char **argv)
{
	const int vm = CLONE_VM | SIGCHLD;
	FILE *p;

	if (argc < 2 || strcmp(argv[1], "early") != 0)
		say();
	for (int i = 0; i < TIMES; i++) {
		nest(0);
		say();
	}
	nest(2);
	say();
	for (int i = 0; i < TIMES; i++) {
		spawn();
		if (system("true") != 0 || (p = popen("true", "r")) == NULL ||
		    pclose(p) != 0)
			return 3;
		say();
		wait_for(clone(shared, stack + sizeof stack, vm | CLONE_VFORK,
			       NULL));
		say();
	}
	for (int i = 0; i < TIMES; i++) {
		wait_for(clone(shared, stack + sizeof stack, vm, NULL));
		say();
	}
	printf("%d\n", calls);
	return 0;
}
