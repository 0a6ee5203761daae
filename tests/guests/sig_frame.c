/* tests/guests/sig_frame.c - the frame itself: the handler's stack is aligned,
 * below the red zone, its return address is the restorer, rdi, rsi and rdx are
 * the arguments, the context is the kernel's. */
#include "guest.h"
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>

struct kernel_action {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

/* clang-format off */
asm(".globl own_restorer\n"
    "own_restorer:	incl restored(%rip)\n	mov $15, %eax\n	syscall\n"
    ".globl entry\n"
    "entry:	mov %rsp, entry_rsp(%rip)\n	mov (%rsp), %rax\n"
    "	mov %rax, entry_ret(%rip)\n	pushfq\n	popq entry_flags(%rip)\n	jmp handler\n");
/* clang-format on */
void own_restorer(void), entry(int, siginfo_t *, void *);
int restored;
uint64_t entry_rsp, entry_ret, entry_flags;

void handler(int sig, siginfo_t *info, void *context);
void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	greg_t *g = uc->uc_mcontext.gregs;
	uint32_t magic;

	SAME(sig, SIGUSR1);
	SAME(info->si_signo, SIGUSR1);
	SAME(entry_rsp & 15, 8);
	SAME(entry_ret, own_restorer);
	SAME(context, entry_rsp + 8); /* right behind the return address */
	CHECK((char *)info > (char *)uc);
	CHECK((uint64_t)g[REG_RSP] - 128 > (uint64_t)info);
	SAME(entry_flags & (STATUS | DF) & ~ZF & ~PF,
	     entry_flags & (STATUS & ~ZF & ~PF));
	SAME((uint16_t)g[REG_CSGSFS], 0x33);
	SAME(uc->uc_flags & 6, 6); /* sigcontext has ss */
	SAME((uint64_t)uc->uc_mcontext.fpregs & 63, 0);
	memcpy(&magic, (char *)uc->uc_mcontext.fpregs + 464, 4);
	SAME(magic, 0x46505853);
	SAME(uc->uc_link, 0);
	SAME(g[REG_TRAPNO] == 14, 0);
}

int main(void)
{
	struct kernel_action sa = {.handler = entry,
				   .flags = SA_SIGINFO | 0x04000000,
				   .restorer = own_restorer},
			     old = {0};

	MUST(syscall(SYS_rt_sigaction, SIGUSR1, &sa, NULL, 8) == 0);
	MUST(syscall(SYS_rt_sigaction, SIGUSR1, NULL, &old, 8) == 0);
	SAME(old.handler, entry);
	SAME(old.restorer, own_restorer);
	SAME(old.flags, SA_SIGINFO | 0x04000000);
	for (int i = 0; i < 50; i++)
		raise(SIGUSR1);
	SAME(restored, 50);
	SAME(syscall(SYS_rt_sigaction, SIGUSR1, &sa, NULL, 4), -1);
	SAME(errno, EINVAL);
	SAME(syscall(SYS_rt_sigaction, SIGKILL, &sa, NULL, 8), -1);
	SAME(errno, EINVAL);
	SAME(syscall(SYS_rt_sigaction, 65, NULL, &old, 8), -1);
	return guest_end();
}
