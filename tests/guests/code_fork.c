/* tests/guests/code_fork.c - after a fork, parent and child change the same
 * generated code each in its own way; a shared page changes for both. */
#include "guest.h"
#include <sys/wait.h>

static uint32_t call(uint8_t *p)
{
	return ((uint32_t(*)(void))p)();
}

int main(void)
{
	uint8_t *own = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		*both = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;

	MUST(own != MAP_FAILED && both != MAP_FAILED);
	memcpy(own, "\xb8\x01\0\0\0\xc3", 6);
	memcpy(both, "\xb8\x01\0\0\0\xc3", 6);
	for (int i = 0; i < 20; i++) {
		pid_t pid;

		own[1] = both[1] = 1;
		SAME(call(own) + call(both), 2);
		pid = fork();
		if (pid == 0) {
			own[1] = 50;
			both[1] = 60;
			_exit(call(own) == 50 && call(both) == 60 ? 0 : 1);
		}
		own[1] = 20;
		SAME(call(own), 20);
		MUST(waitpid(pid, &status, 0) == pid);
		SAME(status, 0);
		SAME(call(own), 20);
		SAME(call(both), 60);
	}
	return guest_end();
}
