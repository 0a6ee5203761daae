/* tests/guests/proc_seccomp_strict.c - strict mode: read, write and exit go on,
 * anything else kills with SIGKILL. */
#include "guest.h"
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int child(int wrong)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
			syscall(SYS_exit, 99);
		for (int i = 0; i < 100; i++)
			syscall(SYS_write, 900, "x", 1);
		if (wrong)
			syscall(SYS_getpid);
		syscall(SYS_exit, 5);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	return status;
}

int main(void)
{
	for (int i = 0; i < 5; i++) {
		SAME(child(0), 5 << 8);
		SAME(child(1), SIGKILL);
	}
	return guest_end();
}
