/* tests/guests/proc_clone_flags.c - what a child by clone shares: files,
 * working directory, handlers or not; CLONE_PARENT makes it a sibling; unshare
 * parts again; impossible combinations fail. */
#include "guest.h"
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int fd;

static int child(void *arg)
{
	(void)arg;
	close(fd);
	return chdir("/proc") != 0;
}

static long clone_at(uint64_t flags)
{
	static char stack[65536] __attribute__((aligned(16)));
	int status, pid;

	fd = open("/dev/null", O_RDONLY);
	MUST(chdir("/") == 0);
	pid = clone(child, stack + sizeof stack, (int)flags | SIGCHLD, NULL);
	MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
	SAME(status, 0);
	char cwd[64];
	long r = fcntl(fd, F_GETFD) == -1;

	MUST(getcwd(cwd, sizeof cwd) != NULL);
	if (strcmp(cwd, "/proc") == 0)
		r |= 2;
	close(fd);
	return r;
}

int main(void)
{
	pid_t pid;
	int status;

	for (int i = 0; i < 5; i++) {
		SAME(clone_at(0), 0);
		SAME(clone_at(CLONE_FILES), 1);
		SAME(clone_at(CLONE_FS), 2);
		SAME(clone_at(CLONE_FILES | CLONE_FS | CLONE_VM), 3);
		SAME(clone_at(CLONE_VM | CLONE_VFORK), 0);
	}
	/* a grandchild that is a child */
	pid = fork();
	if (pid == 0) {
		long sib =
		    syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);

		_exit(sib == 0 ? 31 : 32);
	}
	int sum = 0;
	for (int i = 0; i < 2; i++) {
		MUST(wait(&status) > 0);
		sum += WEXITSTATUS(status);
	}
	SAME(sum, 63);
	SAME(syscall(SYS_clone, CLONE_THREAD, 0, 0, 0, 0), -1);
	SAME(errno, EINVAL);
	SAME(syscall(SYS_clone, CLONE_SIGHAND, 0, 0, 0, 0), -1);
	SAME(errno, EINVAL);
	MUST(unshare(CLONE_FILES) == 0 && unshare(CLONE_FS) == 0);
	return guest_end();
}
