/* tests/guests/insn_direction.c - the direction flag stays set across branches,
 * calls, returns and system calls, and a handler starts with it clear. */
#include "guest.h"
#include <signal.h>
#include <sys/syscall.h>

static volatile uint64_t in_handler = -1ull;

static void handler(int sig)
{
	uint64_t f;

	(void)sig;
	asm volatile("pushfq\n\tpop %0" : "=r"(f));
	in_handler = f & DF;
}

/* clang-format off */
asm(".globl with_df\n"
    "with_df:\n" /* rdi: pid, rsi: signal; returns flags */
    "	std\n	call 1f\n	lea 2f(%rip), %rax\n	jmp *%rax\n"
    "1:	ret\n"
    "2:	mov $39, %eax\n	syscall\n"
    "	mov $62, %eax\n	syscall\n" /* kill */
    "	pushfq\n	pop %rax\n	cld\n	ret\n");
/* clang-format on */
uint64_t with_df(long pid, long sig);

int main(void)
{
	signal(SIGUSR1, handler);
	for (int i = 0; i < 100; i++) {
		in_handler = -1ull;
		SAME(with_df(getpid(), SIGUSR1) & DF, DF);
		SAME(in_handler, 0);
	}
	return guest_end();
}
