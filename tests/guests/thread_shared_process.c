/* tests/guests/thread_shared_process.c - CLONE_VM without CLONE_THREAD: another
 * process in the same memory, with its own pid, its own signals, its status. */
#include "guest.h"
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

static atomic_int in_child, child_pid;

static int child(void *arg)
{
	child_pid = getpid();
	for (int i = 0; i < 1000; i++)
		in_child++;
	*(int *)arg += 5;
	return 33;
}

int main(void)
{
	char *stack = malloc(65536);
	int status, arg = 1;

	for (int i = 0; i < 30; i++) {
		pid_t pid;

		in_child = 0;
		pid = clone(child, stack + 65536, CLONE_VM | SIGCHLD, &arg);
		MUST(pid > 0);
		MUST(waitpid(pid, &status, 0) == pid);
		SAME(WEXITSTATUS(status), 33);
		SAME(in_child, 1000);
		SAME(child_pid, pid);
		SAME(arg, 1 + 5 * (i + 1));
	}
	return guest_end();
}
