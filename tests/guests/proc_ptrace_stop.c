/* tests/guests/proc_ptrace_stop.c - seizing children that stop themselves at
 * that moment: they stop once, before or behind it, and no other way. */
#include "guest.h"
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

int main(void)
{
	for (int i = 0; i < 150; i++) {
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			kill(getpid(), SIGSTOP);
			_exit(77);
		}
		MUST(ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0);
		MUST(waitpid(pid, &status, 0) == pid);
		MUST(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
		MUST(status >> 16 == 0 || status >> 16 == PTRACE_EVENT_STOP);
		MUST(ptrace(PTRACE_CONT, pid, NULL, NULL) == 0);
		MUST(waitpid(pid, &status, 0) == pid);
		MUST(status == 77 << 8);
	}
	return guest_end();
}
