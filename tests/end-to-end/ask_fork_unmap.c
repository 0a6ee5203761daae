/* A process unmaps memory right after it has forked: the child still has it
 * (ask-fork.sh).
 *
 * Fork and munmap are made by the same code, which was executed before, so that
 * no code is recorded between them. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct call {
	long number, address, len;
};

char *kept;

static long make_call(const struct call *c)
{
	long answer;

	__asm__ volatile("syscall"
			 : "=a"(answer)
			 : "a"(c->number), "D"(c->address), "S"(c->len)
			 : "rcx", "r11", "memory");
	return answer;
}

/* Both calls, the second one in the parent only; what the first answered. */
__attribute__((noinline)) static long make_calls(const struct call *calls)
{
	long answer = 0;

	for (int i = 0; i < 2; i++) {
		long now = make_call(&calls[i]);

		if (i == 0)
			answer = now;
		if (answer == 0)
			break;
	}
	return answer;
}

int main(void)
{
	struct call calls[2] = {{SYS_getpid, 0, 0}, {SYS_getpid, 0, 0}};
	long pid = 0;

	kept = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	strcpy(kept, "the child has it");
	for (int i = 0; i < 2; i++) {
		pid = make_calls(calls);
		calls[0].number = SYS_fork;
		calls[1] = (struct call){SYS_munmap, (long)kept, 4096};
	}
	if (pid == 0)
		_exit(0);
	wait(NULL);
	return 0;
}
