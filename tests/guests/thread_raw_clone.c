/* tests/guests/thread_raw_clone.c - clone without the C library: the child
 * starts on the stack and with the TLS it was given, writes its id where asked,
 * and its end clears a word and wakes who waits there. */
#include "guest.h"
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>

static _Atomic uint32_t tid_word, parent_word;
static volatile uint64_t fs_seen, arg_seen;
static uint64_t tls[64] = {0x7777};

/* clang-format off */
asm(".globl raw_thread\n"
    "raw_thread:\n" /* rdi flags, rsi stack, rdx ptid, rcx ctid, r8 tls */
    "	mov %rcx, %r10\n	mov $56, %eax\n	syscall\n"
    "	test %eax, %eax\n	jz 1f\n	ret\n"
    "1:	mov %fs:0, %rax\n	mov %rax, fs_seen(%rip)\n"
    "	pop %rax\n	mov %rax, arg_seen(%rip)\n"
    "	mov $60, %eax\n	xor %edi, %edi\n	syscall\n	hlt\n");
/* clang-format on */
long raw_thread(uint64_t flags, void *stack, void *ptid, void *ctid, void *tls);

int main(void)
{
	uint64_t flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
			 CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
			 CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID |
			 CLONE_CHILD_SETTID;
	uint64_t *stack = malloc(65536);

	for (uint64_t i = 0; i < 100; i++) {
		uint64_t *top = stack + 8000;
		long tid;

		*top = i * 3;
		tid_word = 1;
		parent_word = 0;
		fs_seen = arg_seen = 0;
		tid = raw_thread(flags, top, &parent_word, &tid_word, tls);
		MUST(tid > 0);
		SAME(parent_word, tid);
		for (uint32_t v; (v = tid_word) != 0;)
			syscall(SYS_futex, &tid_word, FUTEX_WAIT, v, NULL, NULL,
				0);
		SAME(fs_seen, 0x7777);
		SAME(arg_seen, i * 3);
	}
	return guest_end();
}
