/* tests/guests/thread_faults.c - all threads fault at the same time, each into
 * its own page; each handler sees its own thread's registers and address. */
#include "guest.h"
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

static __thread char *mine;
static __thread int faults;

static void handler(int sig, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	faults++;
	if ((char *)info->si_addr != mine || g[REG_RBX] != (greg_t)mine ||
	    g[REG_R12] != faults)
		SAME(info->si_addr, mine);
	g[REG_RBX] = (greg_t)&faults; /* a better address */
}

static void *thread(void *arg)
{
	mine = arg;
	for (uint64_t i = 1; i <= 300; i++) {
		uint64_t v, b = (uint64_t)mine;
		register uint64_t r12 asm("r12") = i;

		asm volatile("movslq (%1), %0"
			     : "=r"(v), "+b"(b)
			     : "r"(r12)
			     : "memory");
		if (v != i)
			SAME(v, i);
	}
	return NULL;
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	char *area =
	    mmap(NULL, 8 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t t[8];

	MUST(area != MAP_FAILED && sigaction(SIGSEGV, &sa, NULL) == 0);
	for (int i = 0; i < 8; i++)
		MUST(pthread_create(&t[i], NULL, thread, area + i * 4096 + i) ==
		     0);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	return guest_end();
}
