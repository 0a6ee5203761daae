/* tests/guests/proc_rlimit.c - limits are the program's own: files, size,
 * memory, stack; each is reached where it should be. */
#include "guest.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

int main(void)
{
	struct rlimit r, old;
	int n = 0, status, fd = memfd_create("sized", 0);
	pid_t pid;

	closefrom(fd + 1);
	MUST(getrlimit(RLIMIT_NOFILE, &old) == 0);
	r = (struct rlimit){20, old.rlim_max};
	MUST(setrlimit(RLIMIT_NOFILE, &r) == 0);
	while (open("/dev/null", O_RDONLY) >= 0)
		n++;
	SAME(errno, EMFILE);
	SAME(n, 20 - fd - 1);
	MUST(setrlimit(RLIMIT_NOFILE, &old) == 0);
	MUST(getrlimit(RLIMIT_NOFILE, &r) == 0);
	SAME(r.rlim_cur, old.rlim_cur);
	SAME(r.rlim_max, old.rlim_max);
	closefrom(fd + 1);
	pid = fork();
	if (pid == 0) { /* a file too big: SIGXFSZ, or EFBIG */
		char buf[4096] = "";

		setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, 4096});
		fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
		if (fd < 0)
			_exit(5);
		signal(SIGXFSZ, SIG_IGN);
		if (write(fd, buf, 4096) != 4096 || write(fd, buf, 1) != -1 ||
		    errno != EFBIG)
			_exit(1);
		signal(SIGXFSZ, SIG_DFL);
		setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
		_exit(write(fd, buf, 1) == 1);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK(status == 5 << 8 || (status & 0x7f) == SIGXFSZ);
	pid = fork();
	if (pid == 0) { /* processor time */
		setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
		setrlimit(RLIMIT_STACK, &(struct rlimit){1 << 20, 1 << 20});
		getrlimit(RLIMIT_STACK, &r);
		_exit(r.rlim_cur == 1 << 20 ? 0 : 1);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 0);
	SAME(getrlimit(99, &r), -1);
	SAME(errno, EINVAL);
	return guest_end();
}
