/* tests/guests/sig_decoder.c - a handler that reads the faulting instruction at
 * rip and carries it out itself, as emulators of devices do: loads and stores
 * of several sizes on memory that is not there. */
#include "guest.h"
#include <signal.h>
#include <ucontext.h>

static uint64_t device[8];
static volatile int n;

static const int order[16] = {
    REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

static void handler(int sig, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
	const uint8_t *p = (const uint8_t *)g[REG_RIP];
	uint64_t *cell = &device[((uint64_t)info->si_addr & 63) / 8];
	int rex = 0, reg, len;

	(void)sig;
	n++;
	if ((*p & 0xf0) == 0x40)
		rex = *p++;
	reg = (p[1] >> 3 & 7) | (rex & 4) << 1;
	len = (p[1] & 0xc0) == 0x40 ? 3 : 2; /* with or without disp8 */
	MUST((p[1] & 7) != 4);
	if (p[0] == 0x8b)
		g[order[reg]] =
		    rex & 8 ? (greg_t)*cell : (greg_t)(uint32_t)*cell;
	else if (p[0] == 0x89)
		*cell =
		    rex & 8 ? (uint64_t)g[order[reg]] : (uint32_t)g[order[reg]];
	else
		MUST(!"an instruction it knows");
	g[REG_RIP] = (greg_t)(p + len);
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	char *io =
	    mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t v, w;

	MUST(io != MAP_FAILED && sigaction(SIGSEGV, &sa, NULL) == 0);
	for (uint64_t i = 1; i <= 100; i++) {
		asm volatile(
		    "mov %2, (%3)\n\tmov %2, %%r13\n\tmov %%r13, 8(%3)\n\t"
		    "mov 8(%3), %0\n\tmov (%3), %k1"
		    : "=&r"(v), "=&a"(w)
		    : "c"(i * 0x123456789), "D"(io)
		    : "r13", "memory");
		SAME(v, i * 0x123456789);
		SAME(w, (uint32_t)(i * 0x123456789));
		SAME(device[0], i * 0x123456789);
		SAME(n, 4 * i);
	}
	return guest_end();
}
