/* tests/guests/proc_pidfd.c - processes by descriptor: opened, signalled,
 * waited for, a file taken out of another. */
#include "guest.h"
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

int main(void)
{
	int status, fd, got, p[2];
	struct pollfd pf;
	char c = 0;
	pid_t pid;

	MUST(pipe(p) == 0);
	for (int i = 0; i < 5; i++) {
		pid = fork();
		if (pid == 0) {
			close(p[1]);
			pause();
			_exit(1);
		}
		fd = (int)syscall(SYS_pidfd_open, pid, 0);
		if (fd == -1 && errno == ENOSYS)
			guest_absent("kernel");
		MUST(fd >= 0);
		pf = (struct pollfd){.fd = fd, .events = POLLIN};
		SAME(poll(&pf, 1, 0), 0);
		got = (int)syscall(SYS_pidfd_getfd, fd, p[0], 0);
		MUST(got >= 0);
		MUST(write(p[1], "q", 1) == 1 && read(got, &c, 1) == 1);
		SAME(c, 'q');
		close(got);
		SAME(syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0), 0);
		SAME(poll(&pf, 1, 100000), 1);
		siginfo_t info;
		MUST(waitid(P_PIDFD, (id_t)fd, &info, WEXITED) == 0);
		SAME(info.si_code, CLD_KILLED);
		SAME(syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0), -1);
		SAME(errno, ESRCH);
		close(fd);
	}
	SAME(waitpid(-1, &status, 0), -1);
	return guest_end();
}
