/* tests/guests/proc_vfork.c - a child by vfork runs first, in the parent's
 * memory; the parent goes on when it execs or exits. */
#include "guest.h"
#include <signal.h>
#include <sys/wait.h>

static volatile int shared;

int main(int argc, char **argv)
{
	int status;

	if (argc > 1)
		_exit(41);
	for (int i = 0; i < 30; i++) {
		pid_t pid = vfork();

		if (pid == 0) {
			shared = i + 100;
			_exit(i);
		}
		SAME(shared, i + 100); /* it already ran */
		MUST(waitpid(pid, &status, 0) == pid);
		SAME(status, i << 8);
	}
	for (int i = 0; i < 10; i++) {
		pid_t pid = vfork();

		if (pid == 0) {
			execl("/proc/self/exe", argv[0], "child", NULL);
			_exit(1);
		}
		MUST(waitpid(pid, &status, 0) == pid);
		SAME(status, 41 << 8);
		pid = vfork();
		if (pid == 0) {
			execl("/no/such/file", "x", NULL);
			shared = errno;
			_exit(2);
		}
		SAME(shared, ENOENT); /* told through memory */
		MUST(waitpid(pid, &status, 0) == pid);
		SAME(status, 2 << 8);
	}
	return guest_end();
}
