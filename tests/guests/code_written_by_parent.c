/* tests/guests/code_written_by_parent.c - a parent changes the code that its
 * child is running, by process_vm_writev, through /proc/PID/mem and by ptrace;
 * the child's next call runs the new code. */
#include "guest.h"
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

int main(void)
{
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	_Atomic uint32_t *sh = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint32_t (*f)(void) = (uint32_t(*)(void))p;
	char name[64];
	int status, mem;
	pid_t pid;

	MUST(p != MAP_FAILED && (void *)sh != MAP_FAILED);
	memcpy(p, "\xb8\0\0\0\0\xc3", 6);
	f();
	pid = fork();
	if (pid == 0) {
		while (sh[0] != 99)
			sh[1] = f(); /* runs all the time */
		_exit(4);
	}
	snprintf(name, sizeof name, "/proc/%d/mem", pid);
	mem = open(name, O_RDWR);
	for (uint32_t i = 1; i <= 30; i++) {
		struct iovec from = {&i, 4}, to = {p + 1, 4};
		int left = 200000;

		if (i % 2 == 0 || mem < 0)
			MUST(process_vm_writev(pid, &from, 1, &to, 1, 0) == 4);
		else if (pwrite(mem, &i, 4, (off_t)(uint64_t)(p + 1)) != 4)
			MUST(process_vm_writev(pid, &from, 1, &to, 1, 0) == 4);
		while (sh[1] != i && left-- > 0)
			sched_yield();
		SAME(sh[1], i);
		if (sh[1] != i)
			break;
	}
	sh[0] = 99;
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 4 << 8);
	return guest_end();
}
