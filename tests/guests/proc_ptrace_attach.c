/* tests/guests/proc_ptrace_attach.c - attaching to a child that computes, by
 * PTRACE_ATTACH and by PTRACE_SEIZE; letting it go; it never noticed. */
#include "guest.h"
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

int main(void)
{
	struct user_regs_struct r;
	volatile uint32_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid = fork();

	MUST(shared != MAP_FAILED);
	if (pid == 0) {
		uint64_t h = 1;

		while (!shared[1]) {
			guest_random(&h);
			shared[0]++;
		}
		_exit(13);
	}
	while (shared[0] < 1000)
		usleep(100);
	for (int i = 0; i < 5; i++) {
		uint32_t before;

		MUST(ptrace(PTRACE_ATTACH, pid, NULL, NULL) == 0);
		MUST(waitpid(pid, &status, 0) == pid);
		CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
		MUST(ptrace(PTRACE_GETREGS, pid, NULL, &r) == 0);
		CHECK(r.rip != 0 && r.cs == 0x33);
		before = shared[0];
		usleep(1000);
		SAME(shared[0], before); /* it really stands */
		MUST(ptrace(PTRACE_DETACH, pid, NULL, NULL) == 0);
		while (shared[0] == before)
			usleep(100);
		MUST(ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0);
		MUST(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == 0);
		MUST(waitpid(pid, &status, 0) == pid);
		SAME(status >> 8, SIGTRAP | PTRACE_EVENT_STOP << 8);
		MUST(ptrace(PTRACE_DETACH, pid, NULL, NULL) == 0);
	}
	shared[1] = 1;
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 13 << 8);
	return guest_end();
}
