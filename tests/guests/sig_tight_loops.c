/* tests/guests/sig_tight_loops.c - a signal gets through to loops of one
 * instruction: a jump to itself, direct or through a register or memory, loop,
 * a conditional one, a call and a return that chase each other. */
#include "guest.h"
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

/* clang-format off */
asm(".data\n	.balign 8\nat_4: .quad t4\n.text\n"
    ".globl tight\n.globl tight_out\n"
    "tight:\n" /* rdi: which one */
    "	mov %rsp, %rdx\n	lea t3(%rip), %rcx\n	xor %eax, %eax\n"
    "	cmp $1, %edi\n	je t1\n	cmp $2, %edi\n	je t2\n	cmp $3, %edi\n	je t3\n"
    "	cmp $4, %edi\n	je t4\n	cmp $5, %edi\n	je t5\n	cmp $6, %edi\n	je t6\n"
    "	cmp $7, %edi\n	je t7\n	jmp t8\n"
    "t1:	jmp t1\n	ud2\n"
    "t2:	mov $1, %eax\n	test %eax, %eax\n3:	jnz 3b\n	ud2\n"
    "t3:	jmp *%rcx\n	ud2\n"
    "t4:	jmp *at_4(%rip)\n	ud2\n"
    "t5:	mov $-1, %rcx\n4:	loop 4b\n	ud2\n"
    "t6:	xor %ecx, %ecx\n5:	jrcxz 5b\n	ud2\n"
    "t7:	call 6f\n6:	movq $0, (%rsp)\n	lea t7(%rip), %rax\n	mov %rax, (%rsp)\n	ret\n"
    "t8:	pause\n	jmp t8\n"
    "tight_out:	mov %rdx, %rsp\n	ret\n");
/* clang-format on */
void tight(int which);
extern const char tight_out[];

static volatile int n;

static void handler(int sig, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	(void)info;
	if (g[REG_RIP] <= (greg_t)tight || g[REG_RIP] >= (greg_t)tight_out)
		return; /* not there yet, or rdx is not the stack yet */
	n++;
	g[REG_RIP] = (greg_t)tight_out;
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	struct itimerval t = {{0, 1000}, {0, 1000}}, never = {{0}};

	MUST(sigaction(SIGALRM, &sa, NULL) == 0);
	MUST(setitimer(ITIMER_REAL, &t, NULL) == 0);
	for (int round = 0; round < 3; round++)
		for (int i = 1; i <= 8; i++)
			tight(i);
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
	SAME(n, 24);
	return guest_end();
}
