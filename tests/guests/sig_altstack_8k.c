/* tests/guests/sig_altstack_8k.c - threads with alternate stacks of 8 KB, as
 * runtimes of other languages have them, that work for a while: what handles a
 * signal there finds the stack as it was left, and the kernel still knows it.
 */
#include "guest.h"
#include <pthread.h>
#include <signal.h>
#include <time.h>

enum { SIZE = 8192, THREADS = 3, WORK_MS = 250 };

static __thread char *own_stack;
static __thread volatile int handled;
static volatile uint64_t sink;

static void on_signal(int sig)
{
	char here;

	(void)sig;
	CHECK(&here >= own_stack && &here < own_stack + SIZE);
	handled++;
}

static uint64_t cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

__attribute__((noinline)) uint64_t busy(uint64_t x)
{
	for (int i = 0; i < 20000; i++)
		guest_random(&x);
	return x;
}

/* Nothing is known of its frame, and what rbp leads to is not there. */
void lost(uint64_t n);
asm(".text\n"
    ".type lost, @function\n"
    "lost:\n\t"
    "push %rbp\n\t"
    "mov $0x1008, %ebp\n"
    "1:\tdec %rdi\n\t"
    "jne 1b\n\t"
    "pop %rbp\n\t"
    "ret\n"
    ".size lost, . - lost\n");

static void *thread(void *arg)
{
	char *stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t ss = {.ss_sp = stack, .ss_size = SIZE}, now;
	uint64_t x = 88172645463325252;
	int raised = 0;

	MUST(stack != MAP_FAILED && sigaltstack(&ss, NULL) == 0);
	own_stack = stack;
	while (cpu_ms() < WORK_MS) {
		x = busy(x);
		lost(10000);
		if (raised < 50) {
			raise(SIGUSR1);
			SAME(handled, ++raised);
		}
		MUST(sigaltstack(NULL, &now) == 0);
		SAME(now.ss_sp, stack);
		SAME(now.ss_size, SIZE);
		SAME(now.ss_flags, 0);
	}
	ss.ss_flags = SS_DISABLE;
	MUST(sigaltstack(&ss, NULL) == 0);
	MUST(munmap(stack, SIZE) == 0);
	sink = x;
	return arg;
}

int main(void)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	pthread_t t[THREADS];

	MUST(sigaction(SIGUSR1, &sa, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&t[i], NULL, thread, NULL) == 0);
	thread(NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return guest_end();
}
