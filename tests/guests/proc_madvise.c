/* tests/guests/proc_madvise.c - MADV_DONTNEED gives zeros or the file again,
 * MADV_WIPEONFORK and MADV_DONTFORK change what a child has, nonsense fails. */
#include "guest.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

int main(void)
{
	int fd = memfd_create("data", 0), status;
	char *p = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	     *q;
	pid_t pid;

	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	MUST(p != MAP_FAILED && fd >= 0 && write(fd, "file", 4) == 4);
	q = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	MUST(q != MAP_FAILED);
	for (int i = 0; i < 20; i++) {
		memset(p, 5, 4 * 4096);
		MUST(madvise(p + 4096, 4096, MADV_DONTNEED) == 0);
		SAME(p[4095], 5);
		SAME(p[4096], 0);
		SAME(p[8192], 5);
		memcpy(q, "mine", 4);
		MUST(madvise(q, 4096, MADV_DONTNEED) == 0);
		CHECK(memcmp(q, "file", 4) == 0);
	}
	memset(p, 6, 4 * 4096);
	if (madvise(p, 4096, MADV_WIPEONFORK) == 0) {
		pid = fork();
		if (pid == 0)
			_exit(p[0] == 0 && p[4096] == 6 ? 3 : 4);
		MUST(waitpid(pid, &status, 0) == pid);
		SAME(status, 3 << 8);
		SAME(p[0], 6);
	}
	MUST(madvise(p + 4096, 4096, MADV_DONTFORK) == 0);
	pid = fork();
	if (pid == 0)
		_exit(p[4096]); /* not there */
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status & 0x7f, SIGSEGV);
	SAME(madvise(p, 4096, 9999), -1);
	SAME(errno, EINVAL);
	return guest_end();
}
