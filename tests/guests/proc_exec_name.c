/* tests/guests/proc_exec_name.c - a program started through a symbolic link,
 * from a relative path, under another name: argv, AT_EXECFN, comm and
 * /proc/self/exe each tell their own. */
#include "guest.h"
#include <limits.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/wait.h>

int main(int argc, char **argv)
{
	char exe[PATH_MAX] = "", dir[] = "/tmp/guest.XXXXXX", link[64],
	     comm[17], real[PATH_MAX] = "";
	int status;
	pid_t pid;

	MUST(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
	if (argc == 3) {
		prctl(PR_GET_NAME, comm);
		CHECK(strcmp(argv[0], "another name") == 0);
		CHECK(strcmp((char *)getauxval(AT_EXECFN), "./linked") == 0);
		CHECK(strcmp(comm, "linked") == 0);
		CHECK(strcmp(exe, argv[2]) == 0);
		return guest_wrong;
	}
	MUST(realpath(exe, real) != NULL);
	MUST(mkdtemp(dir) != NULL && chdir(dir) == 0);
	snprintf(link, sizeof link, "%s/linked", dir);
	MUST(symlink(real, link) == 0);
	pid = fork();
	if (pid == 0) {
		execl("./linked", "another name", "x", real, NULL);
		_exit(1);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 0);
	MUST(unlink(link) == 0 && rmdir(dir) == 0);
	return guest_end();
}
