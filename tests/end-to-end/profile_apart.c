/* tests/end-to-end/profile_apart.c - a program whose children execute others in
 * a pid namespace, from which hark cannot be seen. Says "ok" if none of them is
 * killed. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int ended(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid ? status : -1;
}

int main(int argc, char **argv)
{
	int bad = 0;
	pid_t pid;

	if (argc > 1)
		return 0;
	if (unshare(CLONE_NEWPID) < 0)
		return 2;
	pid = fork();
	if (pid != 0) {
		puts(ended(pid) == 0 ? "ok" : "killed");
		return 0;
	}
	for (int i = 0; i < 20; i++) {
		pid = fork();
		if (pid == 0) {
			execl(argv[0], argv[0], "child", NULL);
			_exit(3);
		}
		bad |= ended(pid);
	}
	_exit(bad != 0);
}
