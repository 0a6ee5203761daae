/* tests/guests/insn_rep_fault.c - a string instruction that meets a page it may
 * not touch stops there: registers say how far it came, and it goes on from
 * there once the page is open. */
#include "faults.h"

static uint8_t *page;
static int forward;

static void open_page(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	greg_t *g = uc->uc_mcontext.gregs;

	(void)sig;
	fault.n++;
	SAME(info->si_addr, forward ? page : page + 4095);
	SAME(info->si_code, SEGV_ACCERR);
	SAME(g[REG_RCX], 4096 + 512);
	SAME(g[REG_RDI], forward ? page : page + 4095);
	SAME(g[REG_EFL] & DF, forward ? 0 : DF);
	CHECK(page[forward ? -1 : 4096] == 7); /* what came before is there */
	MUST(mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0);
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = open_page,
			       .sa_flags = SA_SIGINFO};
	uint8_t *base = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct regs r;

	MUST(base != MAP_FAILED && sigaction(SIGSEGV, &sa, NULL) == 0);
	page = base + 4096;
	for (forward = 1; forward >= 0; forward--)
		for (int i = 0; i < 3; i++) {
			memset(base, 0, 3 * 4096);
			MUST(mprotect(page, 4096, PROT_NONE) == 0);
			r = (struct regs){
			    .a = 7,
			    .c = 512 + 4096 + 512,
			    .di = (uint64_t)(forward ? page - 512
						     : page + 4096 + 511),
			    .f = forward ? 0 : DF};
			fault.n = 0;
			RUN("rep stosb", r);
			SAME(fault.n, 1);
			SAME(r.c, 0);
			for (int k = 0; k < 3 * 4096; k++)
				if (base[k] !=
				    (k >= 4096 - 512 && k < 8192 + 512) * 7) {
					SAME(k, -1);
					break;
				}
		}
	return guest_end();
}
