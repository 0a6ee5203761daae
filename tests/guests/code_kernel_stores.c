/* tests/guests/code_kernel_stores.c - results of system calls land in a page
 * whose code has run: none fails for that, and the code next to them and under
 * them follows. */
#include "guest.h"
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

int main(void)
{
	uint8_t *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t (*f)(void) = (uint32_t(*)(void))p;
	void *at = p + 512;
	int status, fd[2];
	pid_t pid;

	MUST(p != MAP_FAILED && pipe(fd) == 0);
	memcpy(p, "\xb8\0\0\0\0\xc3", 6);
#define CALL(expression)              \
	do {                          \
		n++;                  \
		memcpy(p + 1, &n, 4); \
		SAME(f(), n);         \
		MUST(expression);     \
		SAME(f(), n);         \
	} while (0)
	uint32_t n = 0;
	for (int i = 0; i < 10; i++) {
		CALL(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, at) == 0);
		CALL(clock_gettime(CLOCK_MONOTONIC, at) == 0);
		CALL(gettimeofday(at, NULL) == 0);
		CALL(uname(at) == 0);
		CALL(stat("/", at) == 0);
		CALL(getrusage(RUSAGE_SELF, at) == 0);
		CALL(getrlimit(RLIMIT_STACK, at) == 0);
		CALL(syscall(SYS_rt_sigaction, SIGUSR1, NULL, at, 8) == 0);
		CALL(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, at, 8) == 0);
		CALL(sigaltstack(NULL, at) == 0);
		CALL(syscall(SYS_getcwd, at, 100) > 0);
		CALL(syscall(SYS_getrandom, at, 16, 0) == 16);
		CALL(socketpair(AF_UNIX, SOCK_STREAM, 0, at) == 0);
		close(((int *)at)[0]);
		close(((int *)at)[1]);
		CALL(syscall(SYS_getcpu, at, NULL, NULL) == 0);
		CALL(readlink("/proc/self/exe", at, 100) > 0);
		pid = fork();
		if (pid == 0)
			_exit(9);
		CALL(waitpid(pid, (int *)at, 0) == pid);
		SAME(*(int *)at, 9 << 8);
		*(struct pollfd *)at =
		    (struct pollfd){.fd = fd[1], .events = POLLOUT};
		CALL(poll(at, 1, 0) == 1);
		/* right over the instruction */
		MUST(write(fd[1], "\x11\x22\x33\x44", 4) == 4);
		CALL(1);
		MUST(read(fd[0], p + 1, 4) == 4);
		SAME(f(), 0x44332211);
	}
	(void)status;
	return guest_end();
}
