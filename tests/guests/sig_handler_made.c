/* tests/guests/sig_handler_made.c - the handler itself is generated code, made
 * anew between signals, in a page that is also its alternate stack. */
#include "guest.h"
#include <signal.h>

static volatile int sum;

int main(void)
{
	uint8_t *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction sa = {.sa_handler = (void (*)(int))p,
			       .sa_flags = SA_ONSTACK};
	stack_t ss = {.ss_sp = p + 4096, .ss_size = 65536 - 4096};
	uint64_t at = (uint64_t)&sum;
	int want = 0;

	MUST(p != MAP_FAILED && sigaltstack(&ss, NULL) == 0);
	MUST(sigaction(SIGUSR1, &sa, NULL) == 0);
	/* mov &sum, rax; addl imm32, (rax); ret */
	memcpy(p, "\x48\xb8", 2);
	memcpy(p + 2, &at, 8);
	memcpy(p + 10, "\x81\0\0\0\0\0\xc3", 7);
	for (int i = 1; i <= 200; i++) {
		memcpy(p + 12, &i, 4);
		raise(SIGUSR1);
		want += i;
		SAME(sum, want);
	}
	/* now in the middle of the stack's own pages */
	sa.sa_handler = (void (*)(int))(p + 8192 + 100);
	MUST(sigaction(SIGUSR1, &sa, NULL) == 0);
	memcpy(p + 8192 + 100, p, 17);
	for (int i = 1; i <= 200; i++) {
		memcpy(p + 8192 + 112, &i, 4);
		raise(SIGUSR1);
		want += i;
		SAME(sum, want);
	}
	return guest_end();
}
