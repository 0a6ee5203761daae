/* tests/end-to-end/probe_plugin.c - the library of probe_modules.c. */
#include <stdint.h>

__attribute__((noinline)) uint64_t plugin_work(uint64_t n);
uint64_t plugin_trapped(uint64_t n);

__attribute__((noinline)) uint64_t plugin_work(uint64_t n)
{
	__asm__ volatile("" : "+r"(n));
	return 2 * n + 1;
}

/* clang-format off */
__asm__(".text\n"
	".globl plugin_trapped\n.type plugin_trapped, @function\n"
	"plugin_trapped: push %rbx\n"
	"1:	mov	$1, %eax\n"
	"	lea	(%rdi,%rdi), %rbx\n"
	"	add	%rbx, %rax\n"
	"	jz	1b\n"
	"	pop	%rbx\n"
	"	ret\n"
	".size plugin_trapped, .-plugin_trapped\n");
/* clang-format on */
