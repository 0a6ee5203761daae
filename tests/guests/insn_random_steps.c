/* tests/guests/insn_random_steps.c - programs made by chance, stepped by their
 * own trap flag: after each instruction the handler adds up the address and all
 * registers. */
#include "random_code.h"
#include <signal.h>
#include <ucontext.h>

static uint64_t h = 1, steps;

/* Addresses of the area are told relative to it. */
static uint64_t plain(uint64_t v)
{
	return v - (uint64_t)area < 2 << 20 ? v - (uint64_t)area : v;
}

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	greg_t *g = uc->uc_mcontext.gregs;
	uint64_t s[20] = {0};

	(void)sig;
	if ((uint64_t)g[REG_RIP] - (uint64_t)area >= CODE_SIZE)
		return; /* on the way in or out */
	steps++;
	for (int i = REG_R8; i <= REG_RCX; i++)
		s[i] = i == REG_R11 ? 0 : plain((uint64_t)g[i]);
	s[REG_RIP] = plain((uint64_t)g[REG_RIP]);
	s[REG_EFL] = (uint64_t)g[REG_EFL] & (STATUS | DF | 0x100);
	s[19] = (uint64_t)info->si_code;
	h = guest_hash(h, s, sizeof s);
	h = guest_hash(h, uc->uc_mcontext.fpregs->_xmm, 256);
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	uint64_t seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1,
		 n = argc > 2 ? strtoul(argv[2], NULL, 0) : 40;

	random_init();
	keep_tf = 0x100;
	MUST(sigaction(SIGTRAP, &sa, NULL) == 0);
	for (uint64_t i = 0; i < n; i++) {
		make_program(seed + i);
		prepare();
		st.flags |= 0x100;
		run_program();
		h = sum_state(h);
		if (argc > 3)
			printf("%lu %016lx\n", seed + i, h);
	}
	printf("%lu steps, %016lx\n", steps, h);
	return guest_end();
}
