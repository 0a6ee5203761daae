/* tests/guests/proc_efault.c - bad pointers to the kernel are EFAULT, never a
 * crash: unmapped, read-only, at the edge of a page, not canonical. */
#include "guest.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

static void *const bad[] = {(void *)8, (void *)0x7fff00000000,
			    (void *)0x8000000000000000, (void *)-16};

int main(void)
{
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd[2], zero = open("/dev/zero", O_RDONLY);

	MUST(p != MAP_FAILED && munmap(p + 4096, 4096) == 0 && pipe(fd) == 0);
	for (int i = 0; i < 4; i++) {
		long at = (long)bad[i];

		SAME(syscall(SYS_write, fd[1], at, 4), -1);
		SAME(errno, EFAULT);
		SAME(syscall(SYS_read, zero, at, 4), -1);
		SAME(errno, EFAULT);
		SAME(syscall(SYS_stat, at, at), -1);
		SAME(errno, EFAULT);
		SAME(syscall(SYS_nanosleep, at, NULL), -1);
		SAME(errno, EFAULT);
		SAME(syscall(SYS_rt_sigaction, SIGUSR1, at, NULL, 8), -1);
		SAME(errno, EFAULT);
		SAME(syscall(SYS_rt_sigprocmask, SIG_BLOCK, at, NULL, 8), -1);
		SAME(errno, EFAULT);
		SAME(syscall(SYS_pipe2, at, 0), -1);
		SAME(errno, EFAULT);
		SAME(syscall(SYS_sigaltstack, at, NULL), -1);
		SAME(errno, EFAULT);
		SAME(syscall(SYS_getrandom, at, 8, 0), -1);
		SAME(errno, EFAULT);
		SAME(syscall(SYS_execve, at, NULL, NULL), -1);
		SAME(errno, EFAULT);
		SAME(syscall(SYS_clone3, at, 64), -1);
		SAME(errno, EFAULT);
	}
	/* what fits is done */
	memset(p, 'x', 4096);
	SAME(read(zero, p + 4000, 200), 96);
	SAME(p[4095], 0);
	SAME(syscall(SYS_read, zero, (long)"text", 1), -1); /* read-only */
	SAME(errno, EFAULT);
	return guest_end();
}
