/* tests/guests/sig_random_faults.c - programs made by chance with loads that
 * fail among their instructions: the handler adds up every register, flag and
 * vector it is shown, and the buffer as it is then, and goes on behind. */
#include "random_code.h"
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

static uint64_t h = 1, faults;

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	greg_t *g = uc->uc_mcontext.gregs;
	uint64_t s[20] = {0};

	(void)sig;
	faults++;
	for (int i = REG_R8; i <= REG_RCX; i++) /* all but rsp */
		s[i] = i == REG_RBP || i == REG_R11 ? 0 : (uint64_t)g[i];
	s[REG_RIP] = (uint64_t)g[REG_RIP] - (uint64_t)area;
	s[REG_EFL] = (uint64_t)g[REG_EFL] & (STATUS | DF);
	s[19] = (uint64_t)info->si_addr;
	h = guest_hash(h, s, sizeof s);
	h = guest_hash(h, uc->uc_mcontext.fpregs->_xmm, 256);
	h = guest_hash(h, area + BUFFER, BUFFER_LEN);
	g[REG_RIP] += FAULT_LEN;
}

static sigjmp_buf begin;

static void first(int sig)
{
	(void)sig;
	siglongjmp(begin, 1);
}

/* One fault before all others: a recorder may take it as a hint. */
static void fault_once(void)
{
	struct sigaction sa = {.sa_handler = first};

	MUST(sigaction(SIGSEGV, &sa, NULL) == 0);
	if (sigsetjmp(begin, 1) == 0)
		asm volatile("movb 8, %%al" ::: "rax");
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	uint64_t seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1,
		 n = argc > 2 ? strtoul(argv[2], NULL, 0) : 200;

	random_init();
	with_faults = 1;
	fault_once();
	MUST(sigaction(SIGSEGV, &sa, NULL) == 0);
	for (uint64_t i = 0; i < n; i++) {
		make_program(seed + i);
		for (int k = 0; k < 2; k++) {
			prepare();
			run_program();
			h = sum_state(h);
		}
		if (argc > 3)
			printf("%lu %016lx\n", seed + i, h);
	}
	printf("%lu faults, %016lx\n", faults, h);
	return guest_end();
}
