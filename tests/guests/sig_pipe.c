/* tests/guests/sig_pipe.c - writing to nobody: SIGPIPE before write fails with
 * EPIPE; ignored it is only EPIPE; by default it kills. */
#include "guest.h"
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

static volatile int n;

static void handler(int sig)
{
	(void)sig;
	n++;
}

int main(void)
{
	int p[2], s[2], status;
	pid_t pid;

	MUST(pipe(p) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
	close(p[0]);
	close(s[0]);
	signal(SIGPIPE, handler);
	for (int i = 1; i <= 20; i++) {
		SAME(write(p[1], "x", 1), -1);
		SAME(errno, EPIPE);
		SAME(n, i);
	}
	SAME(send(s[1], "x", 1, MSG_NOSIGNAL), -1);
	SAME(errno, EPIPE);
	SAME(n, 20);
	signal(SIGPIPE, SIG_IGN);
	SAME(write(p[1], "x", 1), -1);
	SAME(errno, EPIPE);
	pid = fork();
	if (pid == 0) {
		signal(SIGPIPE, SIG_DFL);
		_exit(write(p[1], "x", 1) == 1);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
	return guest_end();
}
