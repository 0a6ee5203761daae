/* tests/guests/sig_restart_fault.c - a write barrier: each first store to a
 * page faults, the handler opens the page, and the store is done again. Two
 * thousand faults in simple stores, read-modify-writes and vector stores. */
#include "guest.h"
#include <signal.h>

enum { PAGES = 64, PAGE = 4096 };

static uint8_t *area;
static volatile int n;

static void handler(int sig, siginfo_t *info, void *context)
{
	uint8_t *page = (uint8_t *)((uint64_t)info->si_addr & ~4095ull);

	(void)sig;
	(void)context;
	if (page < area || page >= area + PAGES * PAGE)
		_exit(9);
	n++;
	MUST(mprotect(page, PAGE, PROT_READ | PROT_WRITE) == 0);
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	uint64_t want = 0, got = 0, five;

	area = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(area != MAP_FAILED && sigaction(SIGSEGV, &sa, NULL) == 0);
	for (int round = 0; round < 32; round++) {
		MUST(mprotect(area, PAGES * PAGE, PROT_READ) == 0);
		for (int i = 0; i < PAGES; i++) {
			uint64_t *p =
			    (uint64_t *)(area + i * PAGE + round * 64);

			switch ((i + round) % 5) {
			case 0:
				*p = 7;
				want += 7;
				break;
			case 1: /* twice would show */
				asm volatile("stc\n\tadcq $3, %0"
					     : "+m"(*p)::"cc");
				want += 4;
				break;
			case 2:
				five = 5;
				asm volatile("lock xaddq %1, %0"
					     : "+m"(*p), "+r"(five)::"cc");
				want += 5;
				break;
			case 3:
				asm volatile("incq %0" : "+m"(*p)::"cc");
				want += 1;
				break;
			default:
				asm volatile(
				    "movq %1, %%xmm3\n\tmovups %%xmm3, %0"
				    : "=m"(*p)
				    : "r"(11ul)
				    : "xmm3", "memory");
				want += 11;
			}
		}
	}
	for (int i = 0; i < PAGES; i++)
		for (int k = 0; k < 32; k++)
			got += *(uint64_t *)(area + i * PAGE + k * 64);
	SAME(got, want);
	SAME(n, 32 * PAGES);
	return guest_end();
}
