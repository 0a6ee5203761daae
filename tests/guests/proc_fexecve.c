/* tests/guests/proc_fexecve.c - a program in a memory file runs by fexecve and
 * by execveat with an empty path, its name being gone; a relative execveat
 * runs from an open directory. */
#include "guest.h"
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int copy_self(unsigned flags)
{
	int from = open("/proc/self/exe", O_RDONLY),
	    to = memfd_create("program", flags);
	char buf[65536];
	ssize_t n;

	MUST(from >= 0 && to >= 0);
	while ((n = read(from, buf, sizeof buf)) > 0)
		MUST(write(to, buf, (size_t)n) == n);
	close(from);
	return to;
}

static int run(int how, char *name)
{
	int status, fd;
	pid_t pid = fork();

	if (pid == 0) {
		char *args[] = {name, "child", NULL}, *env[] = {NULL};

		if (how == 0) {
			fd = copy_self(0);
			fexecve(fd, args, env);
		} else if (how == 1) {
			fd = copy_self(MFD_CLOEXEC);
			syscall(SYS_execveat, fd, "", args, env, AT_EMPTY_PATH);
		} else {
			fd = open("/proc/self", O_PATH);
			syscall(SYS_execveat, fd, "exe", args, env, 0);
		}
		_exit(1);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	return status;
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		char exe[64] = "";

		MUST(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
		_exit(strcmp(exe, "/memfd:program (deleted)") == 0 ? 50 : 51);
	}
	for (int i = 0; i < 5; i++) {
		SAME(run(0, argv[0]), 50 << 8);
		SAME(run(1, argv[0]), 50 << 8);
		SAME(run(2, argv[0]), 51 << 8);
	}
	SAME(syscall(SYS_execveat, -1, "x", NULL, NULL, 0), -1);
	SAME(errno, EBADF);
	return guest_end();
}
