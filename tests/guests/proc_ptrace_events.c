/* tests/guests/proc_ptrace_events.c - a tracer that follows: exec, fork, clone
 * and exit events of a child, in their order, with the new pids. */
#include "guest.h"
#include <pthread.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static void *thread(void *arg)
{
	return arg;
}

static void child(char *self)
{
	MUST(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
	raise(SIGSTOP);
	execl("/proc/self/exe", self, "traced", NULL);
	_exit(1);
}

static int traced(void)
{
	pthread_t t;
	pid_t pid = fork();

	if (pid == 0)
		_exit(5);
	waitpid(pid, NULL, 0);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	return 61;
}

int main(int argc, char **argv)
{
	int status, execs = 0, forks = 0, clones = 0, exits = 0, last = 0;
	unsigned long msg;
	pid_t pid, who;

	if (argc > 1)
		return traced();
	pid = fork();
	if (pid == 0)
		child(argv[0]);
	MUST(waitpid(pid, &status, 0) == pid);
	MUST(ptrace(PTRACE_SETOPTIONS, pid, NULL,
		    PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK |
			PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXIT |
			PTRACE_O_TRACEVFORK | PTRACE_O_EXITKILL) == 0);
	MUST(ptrace(PTRACE_CONT, pid, NULL, NULL) == 0);
	while ((who = waitpid(-1, &status, __WALL)) > 0) {
		int sig = 0;

		if (!WIFSTOPPED(status)) {
			if (who == pid)
				last = status;
			continue;
		}
		switch (status >> 16) {
		case PTRACE_EVENT_EXEC:
			execs++;
			break;
		case PTRACE_EVENT_FORK:
		case PTRACE_EVENT_VFORK:
			forks++;
			MUST(ptrace(PTRACE_GETEVENTMSG, who, NULL, &msg) == 0);
			CHECK(msg > 0);
			break;
		case PTRACE_EVENT_CLONE:
			clones++;
			break;
		case PTRACE_EVENT_EXIT:
			exits++;
			break;
		default:
			sig = WSTOPSIG(status);
			if (sig == SIGSTOP || sig == SIGTRAP)
				sig = 0;
		}
		ptrace(PTRACE_CONT, who, NULL, sig);
	}
	SAME(execs, 1);
	SAME(forks, 1);
	SAME(clones, 1);
	SAME(exits, 3);
	SAME(last, 61 << 8);
	return guest_end();
}
