/* tests/guests/code_copy.c - a compiled function is copied, bytes and all, to
 * other places and runs there: a thousand copies, each called twice. */
#include "guest.h"

/* clang-format off */
asm(".globl original\n.globl original_end\n"
    "original:\n" /* a bit of everything that is position-independent */
    "	push %rbx\n	mov %edi, %eax\n	xor %ebx, %ebx\n	test %eax, %eax\n	jz 2f\n"
    "1:	lea (%rbx, %rax, 2), %ebx\n	dec %eax\n	jnz 1b\n"
    "2:	call 3f\n	add %ebx, %eax\n	pop %rbx\n	ret\n"
    "3:	lea 4f(%rip), %rdx\n	mov (%rdx), %eax\n	ret\n"
    "4:	.long 1000\n"
    "original_end:\n");
/* clang-format on */
int original(int n);
extern const char original_end[];

int main(void)
{
	size_t n = (size_t)(original_end - (const char *)original);
	uint8_t *area =
	    mmap(NULL, 1000 * 128, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(area != MAP_FAILED && n < 100);
	SAME(original(10), 1110);
	for (int i = 0; i < 1000; i++) {
		uint8_t *p = area + i * 128 + i % 16;
		int32_t own = i;

		memcpy(p, (const void *)original, n);
		memcpy(p + n - 4, &own, 4);
		SAME(((int (*)(int))p)(i % 20), i + i % 20 * (i % 20 + 1));
		SAME(((int (*)(int))p)(0), i);
	}
	return guest_end();
}
