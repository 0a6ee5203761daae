/* tests/guests/insn_gs_threads.c - each thread has a gs base of its own; a new
 * thread starts with its maker's, and a fork has its parent's. */
#include "guest.h"
#include <asm/prctl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static uint64_t shared[2] = {77, 78};

static uint64_t gs8(void)
{
	uint64_t v;

	asm volatile("mov %%gs:8, %0" : "=r"(v));
	return v;
}

static void *thread(void *arg)
{
	uint64_t mine[2] = {0, (uint64_t)arg};

	SAME(gs8(), 78);
	MUST(syscall(SYS_arch_prctl, ARCH_SET_GS, mine) == 0);
	for (int i = 0; i < 2000; i++) {
		if (gs8() != (uint64_t)arg)
			SAME(gs8(), arg);
		if (i % 100 == 0)
			sched_yield();
	}
	return NULL;
}

int main(void)
{
	pthread_t t[8];
	int status;

	MUST(syscall(SYS_arch_prctl, ARCH_SET_GS, shared) == 0);
	for (uint64_t i = 0; i < 8; i++)
		MUST(pthread_create(&t[i], NULL, thread, (void *)(i + 5)) == 0);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	SAME(gs8(), 78);
	pid_t pid = fork();
	if (pid == 0)
		_exit(gs8() == 78 ? 0 : 1);
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 0);
	return guest_end();
}
