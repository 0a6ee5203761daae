/* tests/guests/proc_wait.c - every kind of status by wait, waitpid, wait4 and
 * waitid: exits, signals, WNOHANG, WNOWAIT, groups, nobody to wait for. */
#include "guest.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static pid_t child(int code, int sig)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct rlimit none = {0, 0};

		setrlimit(RLIMIT_CORE, &none);
		if (sig != 0) {
			signal(sig, SIG_DFL);
			raise(sig);
		}
		_exit(code);
	}
	MUST(pid > 0);
	return pid;
}

int main(void)
{
	static const int sigs[] = {SIGTERM, SIGKILL, SIGSEGV, SIGABRT, SIGFPE};
	struct rusage ru;
	siginfo_t info;
	int status, p[2];
	char c;
	pid_t pid;

	for (int code = 0; code < 256; code += 15) {
		pid = child(code, 0);
		SAME(wait(&status), pid);
		SAME(status, code << 8);
	}
	pid = child(0x123, 0); /* only eight bits */
	SAME(waitpid(pid, &status, 0), pid);
	SAME(status, 0x2300);
	for (int i = 0; i < 5; i++) {
		pid = child(0, sigs[i]);
		SAME(wait4(pid, &status, 0, &ru), pid);
		SAME(status & 0x7f, sigs[i]);
	}
	MUST(pipe(p) == 0);
	pid = fork();
	if (pid == 0)
		_exit(read(p[0], &c, 1) == 1 ? 77 : 1);
	SAME(waitpid(pid, &status, WNOHANG), 0);
	MUST(write(p[1], "x", 1) == 1);
	memset(&info, 0, sizeof info);
	MUST(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
	SAME(info.si_pid, pid);
	SAME(info.si_status, 77);
	SAME(info.si_code, CLD_EXITED);
	MUST(waitid(P_PID, (id_t)pid, &info, WEXITED) == 0); /* still there */
	SAME(waitpid(pid, &status, 0), -1);
	SAME(errno, ECHILD);
	SAME(waitpid(-1, &status, 0x1000000), -1);
	SAME(errno, EINVAL);
	return guest_end();
}
