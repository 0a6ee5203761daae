/* tests/guests/code_store_kinds.c - code is changed by every kind of store:
 * byte to vector, string, push, call, x87, locked, non-temporal, xsave, by the
 * program and each time seen by the next call. */
#include "guest.h"

static uint8_t *p;
static uint32_t (*f)(void);
static uint32_t expect;

static void see(void)
{
	if (f() != expect)
		SAME(f(), expect);
}

#define KIND(insns, count)                                                \
	do {                                                              \
		uint32_t *to_ = imm;                                      \
		uint64_t *from_ = &v, a_, c_ = (count);                   \
		a_ = v = expect = expect * 5 + 1;                         \
		asm volatile(insns                                        \
			     : "+D"(to_), "+a"(a_), "+S"(from_), "+c"(c_) \
			     :                                            \
			     : "memory", "cc", "xmm3", "st");             \
		see();                                                    \
	} while (0)

int main(void)
{
	uint32_t *imm;
	uint64_t v;
	static uint8_t image[512] __attribute__((aligned(64)));

	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(p != MAP_FAILED);
	/* at 1039: mov imm32, eax; a jump to the ret at 1072 */
	p[1039] = 0xb8;
	memset(p + 1044, 0x90, 12);
	memcpy(p + 1044, "\xeb\x1a", 2); /* jmp 1072 */
	p[1072] = 0xc3;
	imm = (uint32_t *)(p + 1040);
	f = (uint32_t(*)(void))(p + 1039);
	see();
	for (int i = 0; i < 30; i++) {
		KIND("movl %%eax, (%%rdi)", 0);
		KIND("movb %%al, (%%rdi)\n\tshr $8, %%eax\n\tmovb %%al, "
		     "1(%%rdi)\n\t"
		     "shr $8, %%eax\n\tmovw %%ax, 2(%%rdi)",
		     0);
		KIND("movnti %%eax, (%%rdi)\n\tsfence", 0);
		KIND("movd %%eax, %%xmm3\n\tmovss %%xmm3, (%%rdi)", 0);
		KIND("fildl (%%rsi)\n\tfistpl (%%rdi)", 0);
		KIND("movsl", 0);
		KIND("rep movsb", 4);
		KIND("stosl", 0);
		KIND("lock xorl %%ecx, (%%rdi)", *imm ^ (expect * 5 + 1));
		KIND("lock cmpxchgl %%ecx, (%%rdi)\n\tmov (%%rsi), %%ecx\n\t"
		     "lock cmpxchgl %%ecx, (%%rdi)",
		     0);
		KIND("xchgl %%eax, (%%rdi)", 0);
		KIND("subl %%ecx, (%%rdi)", *imm - (expect * 5 + 1));
		KIND("mov %%rsp, %%rcx\n\tlea 8(%%rdi), %%rsp\n\t"
		     "push (%%rdi)\n\tmov %%eax, (%%rsp)\n\tmov %%rcx, %%rsp",
		     0);
		expect = expect * 5 + 1;
		asm volatile("fninit\n\tfxsave (%0)" ::"r"(image) : "memory");
		/* through all vector registers, over the code */
		memcpy(image + 160, p + 1040 - 96, 256);
		memcpy(image + 256, &expect, 4);
		asm volatile("fxrstor (%0)\n\tfxsave (%1)" ::"r"(image),
			     "r"(p + 1040 - 256)
			     : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
			       "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
			       "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
		see();
	}
	return guest_end();
}
