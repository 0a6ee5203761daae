/* tests/guests/proc_prctl.c - prctl: the name is the program's own, the signal
 * at a parent's death comes, dumpable and keep flags are as natively. */
#include "guest.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

int main(void)
{
	char name[32] = "", comm[32] = "", *base;
	int p[2], sig = 0, status;
	FILE *f;
	pid_t pid;

	prctl(PR_GET_NAME, name);
	base = strrchr(program_invocation_name, '/');
	base = base ? base + 1 : program_invocation_name;
	CHECK(strncmp(name, base, 15) == 0);
	f = fopen("/proc/self/comm", "r");
	MUST(f != NULL && fgets(comm, sizeof comm, f));
	fclose(f);
	CHECK(strncmp(comm, name, strlen(name)) == 0);
	prctl(PR_SET_NAME, "a new name of mine");
	prctl(PR_GET_NAME, name);
	CHECK(strcmp(name, "a new name of m") == 0);
	SAME(prctl(PR_GET_DUMPABLE), 1);
	SAME(prctl(PR_SET_DUMPABLE, 0), 0);
	SAME(prctl(PR_GET_DUMPABLE), 0);
	SAME(prctl(PR_SET_DUMPABLE, 1), 0);
	SAME(prctl(PR_GET_SECCOMP), 0);
	SAME(prctl(PR_GET_PDEATHSIG, &sig), 0);
	SAME(sig, 0);
	SAME(prctl(12345, 1, 2, 3, 4), -1);
	SAME(errno, EINVAL);
	/* a child that outlives its parent is told */
	MUST(pipe(p) == 0);
	pid = fork();
	if (pid == 0) {
		sigset_t set;
		int go[2];
		char c;

		MUST(pipe(go) == 0);
		sigemptyset(&set);
		sigaddset(&set, SIGUSR2);
		sigprocmask(SIG_BLOCK, &set, NULL);
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGUSR2);
			MUST(write(go[1], "x", 1) == 1);
			sigwait(&set, &sig);
			MUST(write(p[1], sig == SIGUSR2 ? "y" : "n", 1) == 1);
			_exit(0);
		}
		_exit(read(go[0], &c, 1) != 1);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	MUST(read(p[0], name, 1) == 1);
	SAME(name[0], 'y');
	return guest_end();
}
