/* tests/guests/thread_clone3.c - clone3 gives a stack by base and size, a pidfd
 * to wait with, and refuses what makes no sense. */
#include "guest.h"
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

int main(void)
{
	struct clone_args a = {.exit_signal = SIGCHLD};
	int pidfd = -1, status;
	long pid = syscall(SYS_clone3, &a, sizeof a);
	struct pollfd p;

	if (pid == -1 && errno == ENOSYS)
		guest_absent("kernel");
	if (pid == 0)
		_exit(21);
	MUST(waitpid((pid_t)pid, &status, 0) == pid);
	SAME(status, 21 << 8);
	for (int i = 0; i < 10; i++) {
		a = (struct clone_args){.flags = CLONE_PIDFD,
					.pidfd = (uint64_t)&pidfd,
					.exit_signal = SIGCHLD};
		pid = syscall(SYS_clone3, &a, sizeof a);
		if (pid == 0)
			_exit(22);
		MUST(pid > 0 && pidfd >= 0);
		p = (struct pollfd){.fd = pidfd, .events = POLLIN};
		SAME(poll(&p, 1, 100000), 1);
		siginfo_t info;
		MUST(waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED) == 0);
		SAME(info.si_status, 22);
		close(pidfd);
	}
	a = (struct clone_args){.flags = CLONE_THREAD};
	SAME(syscall(SYS_clone3, &a, sizeof a), -1);
	SAME(errno, EINVAL);
	a = (struct clone_args){.exit_signal = 200};
	SAME(syscall(SYS_clone3, &a, sizeof a), -1);
	SAME(errno, EINVAL);
	return guest_end();
}
