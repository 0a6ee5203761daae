/* tests/guests/thread_locked.c - locked instructions beside a second thread do
 * what they do without the prefix: memory, registers and flags are compared,
 * with rax as source, as base and as neither, within a line, across two lines
 * and across two pages; then the same in code that has been executed. */
#include "guest.h"
#include <pthread.h>

enum { FLAGS = STATUS & ~AF, ROUNDS = 300 };

#define CASES(C)                                     \
	C(0, "and %%rcx, (%%rdi)", FLAGS)            \
	C(0, "and %%rax, (%%rdi)", FLAGS)            \
	C(0, "orl %%eax, (%%rdi)", FLAGS)            \
	C(0, "orb %%ah, (%%rdi)", FLAGS)             \
	C(0, "xorw %%cx, (%%rdi)", FLAGS)            \
	C(0, "xorb %%ch, (%%rdi)", FLAGS)            \
	C(0, "xor %%rdi, (%%rdi)", FLAGS)            \
	C(0, "orq $-5, (%%rdi)", FLAGS)              \
	C(0, "andb $0x81, (%%rdi)", FLAGS)           \
	C(0, "notq (%%rdi)", FLAGS)                  \
	C(0, "notb (%%rdi)", FLAGS)                  \
	C(0, "negl (%%rdi)", FLAGS)                  \
	C(0, "negw (%%rdi)", FLAGS)                  \
	C(0, "btsl $13, (%%rdi)", CF)                \
	C(0, "btrq $61, (%%rdi)", CF)                \
	C(0, "btcw $3, (%%rdi)", CF)                 \
	C(0, "adcq %%rcx, (%%rdi)", FLAGS)           \
	C(0, "sbbl %%eax, (%%rdi)", FLAGS)           \
	C(0, "xaddq %%rax, (%%rdi)", FLAGS)          \
	C(0, "xaddb %%ah, (%%rdi)", FLAGS)           \
	C(0, "cmpxchgl %%ecx, (%%rdi)", FLAGS)       \
	C(1, "and %%rcx, (%%rax)", FLAGS)            \
	C(1, "or %%rax, (%%rax)", FLAGS)             \
	C(1, "xorl %%ecx, -7(%%rax,%%rcx,1)", FLAGS) \
	C(1, "notl (%%rax)", FLAGS)                  \
	C(1, "negq (%%rax)", FLAGS)                  \
	C(1, "btcq $40, (%%rax)", CF)                \
	C(2, "btsq %%rcx, (%%rdi)", CF)              \
	C(2, "btcl %%ecx, (%%rdi)", CF)              \
	C(2, "btrw %%ax, (%%rdi)", CF)

enum { FROM_RAX = 1, BY_NUMBER = 2 };

static volatile int done;
static uint64_t shared_word;

static void *company(void *arg)
{
	while (!done) {
		__asm__ volatile("lock orq $5, %0\n\tlock notq %0"
				 : "+m"(shared_word));
		usleep(50);
	}
	return arg;
}

static struct regs any_regs(uint64_t *h, int kind, uint8_t *at)
{
	struct regs r = {.a = guest_random(h),
			 .c = guest_random(h),
			 .di = (uint64_t)at,
			 .f = guest_random(h) & FLAGS};

	if (kind == FROM_RAX) {
		r.a = (uint64_t)at;
		r.c = 7;
	} else if (kind == BY_NUMBER) {
		r.a &= 63;
		r.c &= 63;
	}
	return r;
}

static void compare(const struct regs *a, const struct regs *b, uint64_t flags)
{
	SAME(b->a, a->a);
	SAME(b->c, a->c);
	SAME(b->di, a->di);
	SAME(b->f & flags, a->f & flags);
}

/* Both forms find the same bytes, at the same place. */
#define COMPARE(kind, insn, flags)                            \
	do {                                                  \
		struct regs a = any_regs(h, kind, at), b = a; \
		uint8_t old[16], new[16];                     \
                                                              \
		memcpy(old, at, 16);                          \
		RUN(insn, a);                                 \
		memcpy(new, at, 16);                          \
		memcpy(at, old, 16);                          \
		RUN("lock; " insn, b);                        \
		compare(&a, &b, flags);                       \
		CHECK(memcmp(at, new, 16) == 0);              \
	} while (0);

static void all_cases(uint64_t *h, uint8_t *at)
{
	CASES(COMPARE)
}

/* mov $value, %eax; ret, with the value across two pages. */
static void in_code(uint8_t *page)
{
	uint8_t *code = page + 4096 - 3;
	uint32_t *value = (uint32_t *)(code + 1), want = 0x11223344;
	uint32_t (*get)(void) = (uint32_t(*)(void))(uint64_t)code;

	code[0] = 0xb8;
	memcpy(value, &want, 4);
	code[5] = 0xc3;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		SAME(get(), want);
		__asm__ volatile("lock xorl %1, %0" : "+m"(*value) : "r"(i));
		SAME(get(), want ^= i);
		__asm__ volatile("lock notl %0" : "+m"(*value));
		SAME(get(), want = ~want);
		__asm__ volatile("lock btcl $9, %0" : "+m"(*value));
		SAME(get(), want ^= 512);
		__asm__ volatile("lock negl %0" : "+m"(*value));
		want = -want;
	}
}

int main(void)
{
	uint8_t *pages = mmap(NULL, 16384, PROT_READ | PROT_WRITE | PROT_EXEC,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t h = 1;
	pthread_t thread;

	MUST(pages != MAP_FAILED);
	MUST(pthread_create(&thread, NULL, company, NULL) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		all_cases(&h, pages + 64);
		all_cases(&h, pages + 128 - 3);
		all_cases(&h, pages + 4096 - 1 - i % 7);
	}
	in_code(pages + 8192);
	done = 1;
	MUST(pthread_join(thread, NULL) == 0);
	return guest_end();
}
