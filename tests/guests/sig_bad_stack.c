/* tests/guests/sig_bad_stack.c - a signal that cannot be delivered, since the
 * stack pointer leads nowhere, kills with SIGSEGV; with an alternate stack the
 * same one is delivered and the program goes on. */
#include "guest.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static volatile int n;

static void handler(int sig)
{
	(void)sig;
	n++;
}

static void send_without_stack(void)
{
	long pid = getpid(), rc;

	asm volatile("mov %%rsp, %%rbx\n\tmov $4096, %%rsp\n\tsyscall\n\t"
		     "mov %%rbx, %%rsp"
		     : "=a"(rc)
		     : "a"(SYS_kill), "D"(pid), "S"(SIGUSR1)
		     : "rbx", "rcx", "r11", "memory");
}

int main(void)
{
	static char alt[65536];
	stack_t ss = {.ss_sp = alt, .ss_size = sizeof alt};
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	struct rlimit none = {0, 0};
	int status;
	pid_t pid;

	setrlimit(RLIMIT_CORE, &none);
	MUST(sigaction(SIGUSR1, &sa, NULL) == 0);
	pid = fork();
	if (pid == 0) {
		send_without_stack();
		_exit(0);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	MUST(sigaltstack(&ss, NULL) == 0);
	for (int i = 0; i < 20; i++)
		send_without_stack();
	SAME(n, 20);
	return guest_end();
}
