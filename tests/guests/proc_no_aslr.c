/* tests/guests/proc_no_aslr.c - after personality(ADDR_NO_RANDOMIZE) and exec
 * the program lies where the kernel puts it without chance: stack, heap and
 * image are where they are natively. */
#include "guest.h"
#include <sys/personality.h>
#include <sys/wait.h>

extern const char __executable_start[];

int main(int argc, char **argv)
{
	char local;

	if (argc == 1) {
		if (personality(ADDR_NO_RANDOMIZE) == -1)
			guest_absent("kernel");
		execl("/proc/self/exe", argv[0], "again", NULL);
		return 1;
	}
	SAME(personality(0xffffffff) & ADDR_NO_RANDOMIZE, ADDR_NO_RANDOMIZE);
	SAME((uint64_t)__executable_start, 0x555555554000);
	SAME((uint64_t)&local >> 24, 0x7fffffffe000 >> 24);
	/* twice the same */
	int p[2], status;
	uint64_t mine[3] = {(uint64_t)&local, (uint64_t)sbrk(0),
			    (uint64_t)main},
		 other[3];
	if (strcmp(argv[1], "again") == 0) {
		char fd[16];
		pid_t pid;

		MUST(pipe(p) == 0);
		snprintf(fd, sizeof fd, "%05d", p[1]);
		pid = fork();
		if (pid == 0)
			execl("/proc/self/exe", argv[0], fd, NULL);
		MUST(read(p[0], other, sizeof other) == sizeof other);
		MUST(waitpid(pid, &status, 0) == pid);
		SAME(other[0], mine[0]);
		SAME(other[1], mine[1]);
		SAME(other[2], mine[2]);
		return guest_end();
	}
	return write(atoi(argv[1]), mine, sizeof mine) != sizeof mine;
}
