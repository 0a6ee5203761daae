/* tests/guests/insn_trap_flag.c - a program that sets TF steps through its own
 * code: one SIGTRAP after each instruction, at the program's addresses, through
 * branches, calls, a string instruction and a system call. */
#include "guest.h"
#include <signal.h>
#include <ucontext.h>

static uint64_t seen[64];
static volatile int n;

static void step(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	if (n < 64)
		seen[n] = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	n++;
	if (info->si_code != TRAP_TRACE && info->si_code != TRAP_BRKPT)
		SAME(info->si_code, TRAP_TRACE);
}

/* clang-format off */
asm(".globl stepped\n"
    "stepped:\n"
    "	pushfq\n	orq $0x100, (%rsp)\n	popfq\n" /* takes effect after */
    "	nop\n"
    "t0:	mov $2, %ecx\n"
    "t1:	dec %ecx\n"
    "t2:	jnz t1\n"
    "t3:	call t5\n"
    "t4:	jmp t6\n"
    "t5:	ret\n"
    "t6:	mov $39, %eax\n"
    "t7:	syscall\n"
    "t8:	pushfq\n"
    "t9:	andq $~0x100, (%rsp)\n"
    "t10:	popfq\n"
    "t11:	ret\n"
    ".pushsection .rodata\n"
    ".globl places\n"
    "places: .long t0 - stepped, t1 - stepped, t2 - stepped, t3 - stepped, t4 - stepped\n"
    "	.long t5 - stepped, t6 - stepped, t7 - stepped, t8 - stepped\n"
    "	.long t9 - stepped, t10 - stepped, t11 - stepped\n"
    ".popsection\n");
/* clang-format on */
void stepped(void);
extern const int32_t places[];

int main(void)
{
	/* the kernel returns from t7 by iret: t8 runs before the next trap */
	static const int order[] = {0, 1, 2, 1, 2, 3, 5, 4, 6, 7, 9, 10, 11};
	struct sigaction sa = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};

	MUST(sigaction(SIGTRAP, &sa, NULL) == 0);
	for (int round = 0; round < 3; round++) {
		n = 0;
		stepped();
		SAME(n, 13);
		for (int i = 0; i < 13 && i < n; i++)
			SAME(seen[i] - (uint64_t)stepped, places[order[i]]);
	}
	return guest_end();
}
