/* tests/guests/proc_daemon.c - a daemon: two forks and a new session, adopted
 * by somebody else; what it writes still arrives. */
#include "guest.h"
#include <sys/wait.h>

int main(void)
{
	int p[2], status;
	char buf[64] = "";
	ssize_t n, at = 0;
	pid_t pid;

	MUST(pipe(p) == 0);
	pid = fork();
	if (pid == 0) {
		pid_t me, first = getpid();

		setsid();
		me = fork();
		if (me != 0)
			_exit(0);
		while (getppid() == first)
			usleep(200);
		dprintf(p[1], "%s %s", getsid(0) == first ? "session" : "none",
			getpgrp() == first ? "group" : "none");
		_exit(0);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 0);
	close(p[1]);
	while ((n = read(p[0], buf + at, sizeof buf - 1 - (size_t)at)) > 0)
		at += n;
	CHECK(strcmp(buf, "session group") == 0);
	SAME(waitpid(-1, &status, 0), -1);
	SAME(errno, ECHILD);
	return guest_end();
}
