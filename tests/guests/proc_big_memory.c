/* tests/guests/proc_big_memory.c - address space by the terabyte: huge
 * reservations without memory behind them, sparse touches, low and high hints;
 * a limit on address space is honest. */
#include "guest.h"
#include <sys/resource.h>
#include <sys/wait.h>

int main(void)
{
	size_t tera = 1ull << 40;
	char *p = mmap(NULL, 8 * tera, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
	     *q;
	int status;
	pid_t pid;

	MUST(p != MAP_FAILED);
	for (size_t i = 0; i < 8; i++) {
		char *at = p + i * tera + 12345 * 4096;

		MUST(mprotect(at, 4096, PROT_READ | PROT_WRITE) == 0);
		*at = (char)i;
	}
	for (size_t i = 0; i < 8; i++)
		SAME(p[i * tera + 12345 * 4096], i);
	MUST(munmap(p, 8 * tera) == 0);
	q = mmap((void *)0x200000000, 1 << 20, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	SAME(q, 0x200000000);
	SAME(mmap(NULL, 1ull << 47, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		  0),
	     MAP_FAILED);
	SAME(errno, ENOMEM);
	pid = fork();
	if (pid == 0) { /* no more from here on */
		setrlimit(RLIMIT_AS, &(struct rlimit){1 << 20, 1 << 20});
		p = mmap(NULL, 64 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
		_exit(p == MAP_FAILED && errno == ENOMEM ? 0 : 1);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 0);
	return guest_end();
}
