/* tests/guests/sig_async_registers.c - a timer interrupts a loop whose
 * registers keep an invariant at every address; the handler checks it against
 * the rip it was given. There is no address at which a signal may see a
 * half-done state. */
#include "guest.h"
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

/* clang-format off */
asm(".globl loop_begin\n.globl p1\n.globl p2\n.globl p3\n.globl p4\n.globl loop_end\n"
    "loop_begin:\n" /* rdi: until *rdi != 0 */
    "	push %rbx\n	push %r12\n	xor %eax, %eax\n	xor %ebx, %ebx\n"
    "	xor %ecx, %ecx\n	xor %edx, %edx\n	xor %r12d, %r12d\n"
    "p1:	inc %rax\n"
    "p2:	lea 3(%rbx), %rbx\n"
    "p3:	mov %rax, %rcx\n"
    "p4:	lea (%rax, %rax, 4), %r12\n"
    "p5:	cmpl $0, (%rdi)\n"
    "	je p1\n"
    "loop_end:	pop %r12\n	pop %rbx\n	ret\n");
/* clang-format on */
uint64_t loop_begin(volatile int *until);
extern const char p1[], p2[], p3[], p4[], loop_end[];

static volatile int stop, seen, inside;

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	greg_t *g = uc->uc_mcontext.gregs;
	const char *at = (const char *)g[REG_RIP];

	(void)sig;
	(void)info;
	if (++seen >= 60)
		stop = 1;
	if (at < p1 || at >= loop_end)
		return;
	inside++;
	SAME(g[REG_RDI], &stop);
	SAME(g[REG_RBX],
	     3 * (at > p1 && at <= p2 ? g[REG_RAX] - 1 : g[REG_RAX]));
	SAME(g[REG_RCX], at > p1 && at <= p3 ? g[REG_RAX] - 1 : g[REG_RAX]);
	SAME(g[REG_R12],
	     5 * (at > p1 && at <= p4 ? g[REG_RAX] - 1 : g[REG_RAX]));
	SAME(g[REG_RDX], 0);
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	struct itimerval every = {{0, 1000}, {0, 1000}}, never = {{0}};

	MUST(sigaction(SIGALRM, &sa, NULL) == 0);
	MUST(setitimer(ITIMER_REAL, &every, NULL) == 0);
	CHECK(loop_begin(&stop) > 1000);
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
	CHECK(inside > 0);
	return guest_end();
}
