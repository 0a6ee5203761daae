/* tests/guests/code_shared_file.c - code in a file, mapped shared by two
 * processes: one rewrites it, the other runs what is there, in turns. */
#include "guest.h"
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>

int main(void)
{
	char name[] = "/tmp/guest.XXXXXX";
	int fd = mkstemp(name), status;
	uint8_t *x, *w;
	_Atomic uint32_t *turn;
	pid_t pid;

	MUST(fd >= 0 && unlink(name) == 0 && ftruncate(fd, 8192) == 0);
	x = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	w = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (x == MAP_FAILED && errno == EPERM)
		guest_absent("file system");
	MUST(x != MAP_FAILED && w != MAP_FAILED);
	turn = (_Atomic uint32_t *)(w + 4096);
	memcpy(w, "\xb8\0\0\0\0\xc3", 6);
	pid = fork();
	if (pid == 0) {
		for (uint32_t i = 1; i <= 200; i++) {
			while (*turn != 2 * i - 1)
				sched_yield();
			uint32_t v = ((uint32_t(*)(void))x)();
			if (v != i)
				_exit(1);
			*turn = 2 * i;
		}
		_exit(0);
	}
	for (uint32_t i = 1; i <= 200; i++) {
		memcpy(w + 1, &i, 4);
		SAME(((uint32_t(*)(void))x)(), i);
		*turn = 2 * i - 1;
		for (int k = 0; *turn != 2 * i && k < 1000000; k++) {
			sched_yield();
			if (k % 1000 == 999 &&
			    waitpid(pid, &status, WNOHANG) == pid)
				MUST(status == 0);
		}
	}
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 0);
	return guest_end();
}
