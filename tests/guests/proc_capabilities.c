/* tests/guests/proc_capabilities.c - no_new_privs and capabilities:
 * a process that gives rights away does not get them back, nor its children. */
#include "guest.h"
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

int main(void)
{
	struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct d[2] = {{0}};
	int status;
	pid_t pid;

	MUST(syscall(SYS_capget, &h, d) == 0);
	SAME(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0);
	pid = fork();
	if (pid == 0) {
		memset(d, 0, sizeof d);
		MUST(syscall(SYS_capset, &h, d) == 0);
		MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
		SAME(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
		SAME(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0), -1);
		pid = fork();
		if (pid == 0) {
			memset(d, 255, sizeof d);
			MUST(syscall(SYS_capget, &h, d) == 0);
			SAME(d[0].effective, 0);
			SAME(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
			_exit(guest_wrong);
		}
		MUST(waitpid(pid, &status, 0) == pid);
		_exit(guest_wrong || status != 0);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 0);
	SAME(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0);
	return guest_end();
}
