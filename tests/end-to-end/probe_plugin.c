/* tests/end-to-end/probe_plugin.c - the library of probe_modules.c and
 * probe_late.c: a function that takes a jump, one that takes a trap, and one
 * that is called before anybody else can call it. */
#include <stdint.h>

__attribute__((noinline)) uint64_t plugin_work(uint64_t n);
uint64_t plugin_trapped(uint64_t n);
__attribute__((constructor, noinline)) void plugin_begin(void);
uint64_t plugin_begun;

/* As sys/sdt.h writes it. */
__attribute__((section(".probes"))) volatile unsigned short plugin_semaphore;
/* clang-format off */
#define MEET \
	__asm__ volatile("990: nop\n" \
	".pushsection .note.stapsdt, \"\", \"note\"\n" \
	".balign 4\n.4byte 992f - 991f, 994f - 993f, 3\n" \
	"991: .asciz \"stapsdt\"\n992: .balign 4\n" \
	"993: .8byte 990b, _.stapsdt.base, plugin_semaphore\n" \
	".asciz \"plugin\"\n.asciz \"meet\"\n.asciz \"\"\n" \
	"994: .balign 4\n.popsection\n" \
	".ifndef _.stapsdt.base\n" \
	".pushsection .stapsdt.base, \"aG\", \"progbits\", " \
	".stapsdt.base, comdat\n.weak _.stapsdt.base\n" \
	".hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n" \
	".size _.stapsdt.base, 1\n.popsection\n.endif\n")
/* clang-format on */

/* A probe of the programmer's, which is met if anybody listens. */
__attribute__((noinline)) uint64_t plugin_work(uint64_t n)
{
	__asm__ volatile("" : "+r"(n));
	if (plugin_semaphore != 0)
		MEET;
	return 2 * n + 1;
}

void plugin_begin(void)
{
	plugin_begun += 0x5eed;
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
