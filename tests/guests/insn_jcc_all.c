/* tests/guests/insn_jcc_all.c - all sixteen conditions, for all 32 values of
 * the five flags they read, as short and as near jump, setcc and cmov. */
#include "guest.h"

/* clang-format off */
#define CONDITIONS(X) \
	X(o) X(no) X(b) X(ae) X(e) X(ne) X(be) X(a) \
	X(s) X(ns) X(p) X(np) X(l) X(ge) X(le) X(g)
/* clang-format on */

/* What the manual says of condition number i. */
static int holds(int i, unsigned f)
{
	int cf = !!(f & CF), zf = !!(f & ZF), sf = !!(f & SF), of = !!(f & OF);
	int half[8] = {of, cf,	       zf,	 cf | zf,
		       sf, !!(f & PF), sf != of, zf | (sf != of)};

	return half[i >> 1] ^ (i & 1);
}

/* clang-format off */
#define SHORT(cc) asm(".globl short_" #cc "\nshort_" #cc ":\n" \
	"push %rdi\npopfq\nmov $1, %eax\n.byte 0xeb, 0\nj" #cc " 1f\n" \
	"mov $0, %eax\n1: ret\n"); int short_##cc(uint64_t);
#define NEAR(cc) asm(".globl near_" #cc "\nnear_" #cc ":\n" \
	"push %rdi\npopfq\nmov $0, %eax\nj" #cc " 1f\nret\n" \
	".skip 200, 0xcc\n1: mov $1, %eax\nret\n"); int near_##cc(uint64_t);
CONDITIONS(SHORT)
CONDITIONS(NEAR)
#define TABLE_S(cc) short_##cc,
#define TABLE_N(cc) near_##cc,
static int (*const shorts[])(uint64_t) = {CONDITIONS(TABLE_S)};
static int (*const nears[])(uint64_t) = {CONDITIONS(TABLE_N)};
#define SET(cc) asm(".globl set_" #cc "\nset_" #cc ":\n" \
	"push %rdi\npopfq\nmov $-1, %rax\nset" #cc " %al\n" \
	"movzbl %al, %eax\nret\n"); int set_##cc(uint64_t);
#define CMOV(cc) asm(".globl cmov_" #cc "\ncmov_" #cc ":\n" \
	"push %rdi\npopfq\nmov $-16, %rax\nmov $1, %ecx\n" \
	"cmov" #cc " %ecx, %eax\nret\n"); uint64_t cmov_##cc(uint64_t);
CONDITIONS(SET)
CONDITIONS(CMOV)
#define TABLE_SET(cc) set_##cc,
#define TABLE_C(cc) cmov_##cc,
static int (*const sets[])(uint64_t) = {CONDITIONS(TABLE_SET)};
static uint64_t (*const cmovs[])(uint64_t) = {CONDITIONS(TABLE_C)};
/* clang-format on */

int main(void)
{
	for (int v = 0; v < 32; v++) {
		unsigned f = (v & 1 ? CF : 0) | (v & 2 ? ZF : 0) |
			     (v & 4 ? SF : 0) | (v & 8 ? OF : 0) |
			     (v & 16 ? PF : 0);

		for (int i = 0; i < 16; i++) {
			int want = holds(i, f);

			SAME(shorts[i](f | 2), want);
			SAME(nears[i](f | 2), want);
			SAME(sets[i](f | 2), want);
			/* a 32-bit cmov clears the upper half either way */
			SAME(cmovs[i](f | 2), want ? 1 : 0xfffffff0);
		}
	}
	return guest_end();
}
