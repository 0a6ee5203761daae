/* tests/guests/insn_rep_segment.c - the source of movs, lods and cmps and the
 * table of xlat may be relative to fs or gs; the destination never is. */
#include "guest.h"
#include <asm/prctl.h>
#include <sys/syscall.h>

static __thread char mine[16] = "thread local!";

static char *tp(void)
{
	char *p;

	asm("mov %%fs:0, %0" : "=r"(p));
	return p;
}

int main(void)
{
	char to[16];
	struct regs r;
	static uint8_t table[256];

	for (int i = 0; i < 256; i++)
		table[i] = (uint8_t)(i ^ 0x5a);
	MUST(syscall(SYS_arch_prctl, ARCH_SET_GS, table) == 0);
	for (int i = 0; i < 20; i++) {
		memset(to, 0, sizeof to);
		r = (struct regs){
		    .si = (uint64_t)(mine - tp()), .di = (uint64_t)to, .c = 14};
		RUN("rep movsb %%fs:(%%rsi), %%es:(%%rdi)", r);
		CHECK(strcmp(to, "thread local!") == 0);
		SAME(r.si, mine - tp() + 14);
		r = (struct regs){.si = 7};
		RUN("lodsb %%gs:(%%rsi)", r);
		SAME(r.a, 7 ^ 0x5a);
		r = (struct regs){
		    .si = (uint64_t)(mine - tp()), .di = (uint64_t)to, .c = 14};
		RUN("repe cmpsb %%es:(%%rdi), %%fs:(%%rsi)", r);
		SAME(r.c, 0);
		CHECK(r.f & ZF);
		r = (struct regs){.b = 3, .a = 4};
		RUN("xlat %%gs:(%%rbx)", r);
		SAME(r.a, 7 ^ 0x5a);
	}
	return guest_end();
}
