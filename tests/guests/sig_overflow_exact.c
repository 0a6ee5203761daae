/* tests/guests/sig_overflow_exact.c - a stack is used to its last bytes, and
 * then beyond: where it ends, and what its overflow looks like to a handler on
 * a large or a small alternate stack, is the same every time. */
#include "guest.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

enum { SIZE = 64 << 10, GUARD = 16 << 10, SMALL = 8192 };

/* Each call takes 48 bytes, until less than 48 would be left above limit. */
void deep(uint64_t limit);
uint64_t calls;
static uint64_t all_calls;
asm(".text\n"
    ".globl deep\n"
    ".type deep, @function\n"
    "deep:\n\t"
    "incq calls(%rip)\n\t"
    "sub $40, %rsp\n\t"
    "lea -48(%rsp), %rax\n\t"
    "movq %rax, (%rsp)\n\t"
    "cmp %rdi, %rax\n\t"
    "jb 1f\n\t"
    "call deep\n"
    "1:\tadd $40, %rsp\n\t"
    "ret\n"
    ".size deep, . - deep\n");

static char *stack;
static sigjmp_buf out;
static volatile uint64_t fault_at, fault_pc, fault_sp, fault_flags;
static volatile int fault_code, faults;

static void handler(int sig, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	SAME(sig, SIGSEGV);
	fault_at = (uint64_t)((char *)info->si_addr - stack);
	fault_pc = (uint64_t)g[REG_RIP] - (uint64_t)deep;
	fault_sp = (uint64_t)((char *)g[REG_RSP] - stack);
	fault_flags = (uint64_t)g[REG_EFL] & STATUS;
	fault_code = info->si_code;
	faults++;
	siglongjmp(out, 1);
}

static void overflow(const char *how)
{
	calls = 0;
	if (sigsetjmp(out, 1) == 0)
		deep(0);
	all_calls += calls;
	printf("%s: overflow after %lu calls, of %lu by pc %lu, sp %lu, code "
	       "%d, flags %#lx\n",
	       how, calls, fault_at, fault_pc, fault_sp, fault_code,
	       fault_flags);
}

static void use_alternate(size_t size)
{
	char *mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t ss = {.ss_sp = mem, .ss_size = size}, now;

	MUST(mem != MAP_FAILED && sigaltstack(&ss, NULL) == 0);
	for (unsigned left = 0; left <= 4800; left += 48) {
		calls = 0;
		deep((uint64_t)stack + left);
		CHECK(calls > 100);
		all_calls += calls;
		if (left == 0)
			printf("%lu calls fit\n", calls);
	}
	for (int i = 0; i < 3; i++)
		overflow(size == SMALL ? "small" : "large");
	MUST(sigaltstack(NULL, &now) == 0);
	SAME(now.ss_sp, mem);
	SAME(now.ss_size, size);
	SAME(now.ss_flags, 0);
}

static void *thread(void *arg)
{
	use_alternate(65536);
	use_alternate(SMALL);
	return arg;
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = handler,
			       .sa_flags = SA_SIGINFO | SA_ONSTACK};
	pthread_attr_t attr;
	pthread_t t;

	stack = mmap(NULL, GUARD + SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	MUST(stack != MAP_FAILED);
	stack += GUARD;
	MUST(mprotect(stack, SIZE, PROT_READ | PROT_WRITE) == 0);
	MUST(sigaction(SIGSEGV, &sa, NULL) == 0);
	pthread_attr_init(&attr);
	MUST(pthread_attr_setstack(&attr, stack, SIZE) == 0);
	MUST(pthread_create(&t, &attr, thread, NULL) == 0);
	pthread_join(t, NULL);
	SAME(faults, 6);
	printf("%lu calls\n", all_calls);
	return guest_end();
}
