/* tests/guests/thread_unmaps_stack.c - threads that block all signals, unmap
 * their own stack and end, as detached threads of musl do: between the two
 * system calls there is no stack at all. */
#include "guest.h"
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

enum { SIZE = 64 << 10, THREADS = 300 };

/* At the top of a stack. */
struct thread {
	struct thread *self; /* fs:0, as the ABI has it */
	char *stack;
	uint64_t sum;
};

static volatile int ended;
static uint64_t all[2] = {~0ull, ~0ull};
static volatile uint64_t sums;

/* All of it in registers from the first system call on. */
__attribute__((noreturn)) static void unmap_and_exit(char *stack)
{
	asm volatile("syscall\n\t"
		     "xor %%edi, %%edi\n\t"
		     "mov $60, %%eax\n\t"
		     "syscall\n\t"
		     "hlt"
		     :
		     : "a"(SYS_munmap), "D"(stack), "S"(SIZE)
		     : "rcx", "r11", "memory");
	__builtin_unreachable();
}

__attribute__((noinline)) uint64_t thread_work(uint64_t x)
{
	for (int i = 0; i < 500; i++)
		guest_random(&x);
	return x;
}

__attribute__((used, noreturn)) void thread_main(struct thread *t)
{
	t->sum = thread_work((uint64_t)t->stack | 1);
	__atomic_fetch_add(&sums, t->sum != 0, __ATOMIC_RELAXED);
	unmap_and_exit(t->stack);
}

/* clone; what it makes begins with its struct thread in rdi. */
long thread_clone(long flags, void *stack, volatile int *ended_at, void *tls);
asm(".text\n"
    ".type thread_clone, @function\n"
    "thread_clone:\n\t"
    "mov %rdx, %r10\n\t"
    "mov %rcx, %r8\n\t"
    "mov $56, %eax\n\t"
    "syscall\n\t"
    "test %eax, %eax\n\t"
    "jne 1f\n\t"
    "mov %rsp, %rdi\n\t"
    "call thread_main\n"
    "1:\tret\n"
    ".size thread_clone, . - thread_clone\n");

static void one(int own_base)
{
	char *stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct thread *t = (struct thread *)(stack + SIZE - 4096);
	long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
		     CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID |
		     (own_base ? CLONE_SETTLS : 0);

	MUST(stack != MAP_FAILED);
	t->self = t;
	t->stack = stack;
	ended = 1;
	MUST(syscall(SYS_rt_sigprocmask, SIG_BLOCK, all, &all[1], 8) == 0);
	MUST(thread_clone(flags, t, &ended, t) > 0);
	MUST(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all[1], NULL, 8) == 0);
	while (ended != 0)
		syscall(SYS_futex, &ended, FUTEX_WAIT, 1, NULL, NULL, 0);
}

int main(void)
{
	for (int i = 0; i < THREADS; i++)
		one(i % 4 != 0);
	SAME(sums, THREADS);
	return guest_end();
}
