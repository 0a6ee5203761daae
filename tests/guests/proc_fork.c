/* tests/guests/proc_fork.c - fork returns twice, memory is copied, file offsets
 * are shared, pids are right, a tree of 63 processes comes back whole. */
#include "guest.h"
#include <fcntl.h>
#include <sys/wait.h>

static int tree(int depth)
{
	int sum = 1, status;

	for (int i = 0; i < 2 && depth > 0; i++) {
		pid_t me = getpid(), pid = fork();

		MUST(pid >= 0);
		if (pid == 0) {
			if (getppid() != me)
				_exit(255);
			_exit(tree(depth - 1));
		}
		MUST(waitpid(pid, &status, 0) == pid);
		MUST(WIFEXITED(status));
		sum += WEXITSTATUS(status);
	}
	return sum;
}

int main(void)
{
	int fd = memfd_create("shared", 0), status, value = 1;
	volatile int copied = 5;
	pid_t pid;

	SAME(tree(5), 63);
	pid = fork();
	if (pid == 0) {
		copied = 6;
		_exit(write(fd, "abc", 3) == 3 ? copied : 1);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 6 << 8);
	SAME(copied, 5);
	SAME(lseek(fd, 0, SEEK_CUR), 3);
	/* a chain: each the child of the one before */
	for (int i = 0; i < 10 && (pid = fork()) == 0; i++)
		value++;
	if (pid != 0) {
		MUST(waitpid(pid, &status, 0) == pid);
		if (value > 1)
			_exit(WEXITSTATUS(status));
		SAME(WEXITSTATUS(status), 11);
		return guest_end();
	}
	_exit(value);
}
