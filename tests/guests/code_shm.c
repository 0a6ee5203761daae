/* tests/guests/code_shm.c - code in System V shared memory, attached, detached,
 * attached elsewhere and over itself. */
#include "faults.h"
#include <sys/ipc.h>
#include <sys/shm.h>

int main(void)
{
	int a = shmget(IPC_PRIVATE, 4096, 0700 | IPC_CREAT),
	    b = shmget(IPC_PRIVATE, 4096, 0700 | IPC_CREAT);
	uint8_t *p, *q;

	MUST(a >= 0 && b >= 0);
	p = shmat(a, NULL, SHM_EXEC);
	q = shmat(b, NULL, SHM_EXEC);
	shmctl(a, IPC_RMID, NULL); /* gone with the last user */
	shmctl(b, IPC_RMID, NULL);
	MUST(p != (void *)-1 && q != (void *)-1);
	fault_catch(SIGSEGV);
	memcpy(p, "\xb8\x0a\0\0\0\xc3", 6);
	memcpy(q, "\xb8\x0b\0\0\0\xc3", 6);
	for (int i = 0; i < 30; i++) {
		uint32_t (*f)(void) = (uint32_t(*)(void))p;

		SAME(f(), 10);
		p[1]++;
		SAME(f(), 11);
		p[1]--;
		/* the other one over it, and back */
		MUST(shmat(b, p, SHM_EXEC | SHM_REMAP) == p);
		SAME(f(), 11);
		MUST(shmdt(p) == 0);
		FAULT("call *%%rcx", "c"(p));
		asm volatile("add $8, %%rsp" ::: "cc");
		FAULTED(SIGSEGV, SEGV_MAPERR, 14);
		a = shmget(IPC_PRIVATE, 4096, 0700 | IPC_CREAT);
		MUST(shmat(a, p, SHM_EXEC) == p);
		shmctl(a, IPC_RMID, NULL);
		memcpy(p, "\xb8\x0a\0\0\0\xc3", 6);
	}
	SAME(((uint32_t(*)(void))q)(), 11);
	return guest_end();
}
