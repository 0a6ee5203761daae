/* tests/end-to-end/probe_data.c - data among code, as hand-written assembler
 * has it.
 *
 *	probe_data
 *
 * Tables and strings stand in .text, under labels without a type, behind
 * functions, and in one. The program compares them with copies that are
 * elsewhere, and calls the functions between them. */
#include "guest.h"

/* Each once in the text, and once as a constant. */
/* clang-format off */
#define NUMBERS   ".long 0xc3c3c390, 7, 0x90909090, 0x55555555, 0xc3905355\n"
#define STRING    ".asciz \"caf\\303\\251 \\303\\274ber alles\"\n"
/* mov $13, %eax; syscall; ret: it would be a system call about signals. */
#define CALL      ".byte 0xb8, 13, 0, 0, 0, 0x0f, 0x05, 0xc3\n"
#define FILLING   ".byte 0x90, 0x90, 0x90, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc\n"
#define UNNAMED   ".byte 0x55, 0x53, 0x5b, 0x5d, 0xc3\n"

__asm__(".text\n"
	".balign 16\n"
	"numbers: " NUMBERS
	"string: " STRING
	"call_bytes: " CALL
	/* Untyped, and called: code. */
	"plain_label: lea 1(%rdi), %rax\n"
	"	jmp	further_label\n"
	"filling: " FILLING
	"further_label: add $1, %rax\n"
	"	ret\n"
	/* Untyped, never called directly, with call-frame rules: code. */
	"ruled_label: .cfi_startproc\n"
	"	lea	3(%rdi), %rax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	/* Untyped, and nothing tells what it is. */
	"pointer_label: lea 4(%rdi), %rax\n"
	"	ret\n"
	/* Without a size: what stands behind its code is data. */
	".type unsized, @function\n"
	"unsized: lea	5(%rdi), %rax\n"
	"	ret\n"
	"unnamed = . + 0\n"
	".type unnamed, @object\n"
	UNNAMED
	/* A string in a function, whose address is what call pushes. */
	".type inner_string, @function\n"
	"inner_string: call 1f\n"
	STRING
	"1:	pop	%rax\n"
	"	ret\n"
	".size inner_string, . - inner_string\n"
	".balign 16\n"
	".section .rodata\n"
	"numbers_copy: " NUMBERS
	"string_copy: " STRING
	"call_copy: " CALL
	"filling_copy: " FILLING
	"unnamed_copy: " UNNAMED
	"end_copy:\n"
	".text\n");
/* clang-format on */

extern const uint8_t numbers[], string[], call_bytes[], filling[], unnamed[];
extern const uint8_t numbers_copy[], string_copy[], call_copy[], filling_copy[],
    unnamed_copy[], end_copy[];
uint64_t plain_label(uint64_t n);
uint64_t ruled_label(uint64_t n);
uint64_t pointer_label(uint64_t n);
uint64_t unsized(uint64_t n);
const uint8_t *inner_string(void);

static uint64_t (*volatile by_pointer[])(uint64_t n) = {ruled_label,
							pointer_label, unsized};
static const uint8_t *(*volatile inner)(void) = inner_string;

/* No code takes their addresses: the loader has put them here. */
static struct {
	const char *name;
	const uint8_t *volatile here;
	const uint8_t *copy, *end;
} all[] = {
    {"numbers", numbers, numbers_copy, string_copy},
    {"string", string, string_copy, call_copy},
    {"call_bytes", call_bytes, call_copy, filling_copy},
    {"filling", filling, filling_copy, unnamed_copy},
    {"unnamed", unnamed, unnamed_copy, end_copy},
    {"inner_string", NULL, string_copy, call_copy},
};

static void compare(const char *name, const uint8_t *a, const uint8_t *b,
		    const uint8_t *end)
{
	if (memcmp(a, b, (size_t)(end - b)) == 0)
		return;
	printf("%s was changed\n", name);
	guest_wrong = 1;
}

int main(void)
{
	all[5].here = inner();
	for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
		compare(all[i].name, all[i].here, all[i].copy, all[i].end);
	for (uint64_t i = 0; i < 1000; i++) {
		SAME(plain_label(i), i + 2);
		SAME(by_pointer[0](i), i + 3);
		SAME(by_pointer[1](i), i + 4);
		SAME(by_pointer[2](i), i + 5);
	}
	return guest_end();
}
