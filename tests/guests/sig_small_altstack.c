/* tests/guests/sig_small_altstack.c - an alternate stack just large enough, as
 * the kernel tells in AT_MINSIGSTKSZ, takes a signal; one too small for what
 * the processor saves kills. */
#include "guest.h"
#include <signal.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/wait.h>

volatile int n;

__attribute__((naked)) static void handler(int sig)
{
	(void)sig;
	asm("incl n(%rip)\n\tret");
}

static int try(size_t size)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		static char stack[65536] __attribute__((aligned(64)));
		stack_t ss = {.ss_sp = stack, .ss_size = size};
		struct sigaction sa = {.sa_handler = handler,
				       .sa_flags = SA_ONSTACK};

		setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
		if (sigaltstack(&ss, NULL) != 0)
			_exit(100);
		sigaction(SIGUSR1, &sa, NULL);
		if (__builtin_cpu_supports("avx"))
			asm volatile("vpcmpeqb %%xmm1, %%xmm1, %%xmm1\n\t"
				     "vinsertf128 $1, %%xmm1, %%ymm1, %%ymm1" ::
					 : "xmm1");
		raise(SIGUSR1);
		_exit(n == 1 ? 7 : 8);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	return status;
}

int main(void)
{
	size_t min = getauxval(AT_MINSIGSTKSZ);

	if (min == 0)
		guest_absent("kernel");
	SAME(try(min + 256), 7 << 8);
	SAME(try(65536), 7 << 8);
	printf("min %d, 2048 %d, 1000 %d\n", try(min), try(2048), try(1000));
	return guest_end();
}
