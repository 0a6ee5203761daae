/* tests/guests/code_clear_tid.c - the word that a thread's end clears, and the
 * futex there, lie in a page of code that is being run. */
#include "guest.h"
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>

/* clang-format off */
asm(".globl brief_thread\n"
    "brief_thread:\n" /* rdi flags, rsi stack, rdx ptid, rcx ctid */
    "	mov %rcx, %r10\n	mov $56, %eax\n	syscall\n"
    "	test %eax, %eax\n	jz 1f\n	ret\n"
    "1:	mov $20000, %ecx\n2:	pause\n	dec %ecx\n	jnz 2b\n"
    "	mov $60, %eax\n	xor %edi, %edi\n	syscall\n	hlt\n");
/* clang-format on */
long brief_thread(uint64_t flags, void *stack, void *ptid, void *ctid);

int main(void)
{
	uint64_t flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
			 CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID |
			 CLONE_PARENT_SETTID;
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	_Atomic uint32_t *word = (_Atomic uint32_t *)(p + 2048);
	uint32_t (*f)(void) = (uint32_t(*)(void))p;
	char *stack = malloc(65536);

	MUST(p != MAP_FAILED && stack != NULL);
	memcpy(p, "\xb8\x07\0\0\0\xc3", 6);
	for (int i = 0; i < 50; i++) {
		*word = 1;
		SAME(f(), 7);
		MUST(brief_thread(flags, stack + 60000, word + 1,
				  (void *)word) > 0);
		SAME(f(), 7);
		CHECK(word[1] > 0);
		for (uint32_t v; (v = *word) != 0;) {
			syscall(SYS_futex, word, FUTEX_WAIT, v, NULL, NULL, 0);
			f();
		}
	}
	return guest_end();
}
