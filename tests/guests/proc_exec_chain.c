/* tests/guests/proc_exec_chain.c - a program that execs itself thirty times,
 * counting down in its arguments, keeps pid, files and directory, and gets
 * exactly the arguments and environment it was given. */
#include "guest.h"
#include <fcntl.h>

int main(int argc, char **argv)
{
	char left[16], pid[16], fd_text[16], cwd[256];
	int n, fd;

	if (argc == 1) {
		MUST(chdir("/proc") == 0);
		fd = open("/dev/null", O_RDONLY);
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		fd = memfd_create("kept", 0);
		MUST(write(fd, "kept", 4) == 4);
		snprintf(pid, sizeof pid, "%d", getpid());
		snprintf(fd_text, sizeof fd_text, "%d", fd);
		execle("/proc/self/exe", argv[0], "30", pid, fd_text, "",
		       "with space\n", NULL, (char *[]){"A=1", "EMPTY=", NULL});
		return 1;
	}
	n = atoi(argv[1]);
	fd = atoi(argv[3]);
	SAME(argc, 6);
	SAME(getpid(), atoi(argv[2]));
	SAME(argv[4][0], 0);
	CHECK(strcmp(argv[5], "with space\n") == 0);
	CHECK(strcmp(getenv("A"), "1") == 0);
	CHECK(getenv("EMPTY") != NULL && getenv("PATH") == NULL);
	CHECK(getcwd(cwd, sizeof cwd) && strcmp(cwd, "/proc") == 0);
	SAME(lseek(fd, 0, SEEK_END), 4);
	SAME(fcntl(fd - 1, F_GETFD), -1); /* closed on the way */
	if (guest_wrong)
		return 1;
	if (n == 0)
		return guest_end();
	snprintf(left, sizeof left, "%d", n - 1);
	argv[1] = left;
	execv("/proc/self/exe", argv);
	return 1;
}
