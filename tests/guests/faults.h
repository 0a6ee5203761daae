/* tests/guests/faults.h - instructions that end in a signal, and what the
 * handler was told about them. */
#ifndef FAULTS_H
#define FAULTS_H

#include "guest.h"
#include <signal.h>
#include <ucontext.h>

static struct {
	volatile int n; /* signals so far */
	int sig, code;
	uint64_t addr;	     /* si_addr */
	uint64_t at, resume; /* of the instruction, and where to go on */
	greg_t r[NGREG];     /* as the handler saw them */
	sigset_t mask;	     /* of the interrupted code */
} fault;

static void fault_handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	fault.n++;
	fault.sig = sig;
	fault.code = info->si_code;
	fault.addr = (uint64_t)info->si_addr;
	memcpy(fault.r, uc->uc_mcontext.gregs, sizeof fault.r);
	fault.mask = uc->uc_sigmask;
	uc->uc_mcontext.gregs[REG_EFL] &= ~0x100; /* no single steps */
	if (fault.resume != 0)
		uc->uc_mcontext.gregs[REG_RIP] = (greg_t)fault.resume;
}

static inline void fault_catch(int sig)
{
	struct sigaction sa = {.sa_sigaction = fault_handler,
			       .sa_flags = SA_SIGINFO | SA_ONSTACK};

	MUST(sigaction(sig, &sa, NULL) == 0);
}

/* FAULT(("insn"), in and out operands...): exactly this one is executed, or
 * fails. What follows the instruction in the list are asm operands. */
#define FAULT(insn, ...)                                                    \
	do {                                                                \
		fault.n = fault.sig = 0;                                    \
		asm volatile("lea 771f(%%rip), %%r10\n\t"                   \
			     "mov %%r10, %[at]\n\t"                         \
			     "lea 772f(%%rip), %%r10\n\t"                   \
			     "mov %%r10, %[to]\n\t"                         \
			     "771: " insn "\n\t"                            \
			     "772:"                                         \
			     : [at] "=m"(fault.at), [to] "=m"(fault.resume) \
			     : __VA_ARGS__                                  \
			     : "memory", "cc", "r10");                      \
	} while (0)

/* What the last one did. */
#define FAULTED(with_sig, with_code, with_trapno)       \
	do {                                            \
		SAME(fault.n, 1);                       \
		SAME(fault.sig, with_sig);              \
		SAME(fault.code, with_code);            \
		SAME(fault.r[REG_TRAPNO], with_trapno); \
	} while (0)

#endif
