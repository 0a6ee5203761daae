/* tests/guests/kernel_code_kept.c - memory that is written and executed by
 * turns stays writable when calls that do not change its protection touch it:
 * mremap, madvise, and mprotect or mmap that fail. */
#include "guest.h"

#include <sys/syscall.h>

typedef uint32_t function(void);

static void write_code(uint8_t *p, uint32_t answer)
{
	p[0] = 0xb8;
	memcpy(p + 1, &answer, 4);
	p[5] = 0xc3;
}

static void run(uint8_t *p, uint32_t answer)
{
	write_code(p, answer);
	SAME(((function *)p)(), answer);
}

int main(void)
{
	enum { RWX = PROT_READ | PROT_WRITE | PROT_EXEC, LEN = 4096 };
	uint8_t *p =
	    mmap(NULL, 2 * LEN, RWX, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *q;

	MUST(p != MAP_FAILED);
	run(p, 1);
	SAME(madvise(p, LEN, MADV_DONTNEED), 0);
	SAME(p[0], 0);
	run(p, 2);
	SAME(mprotect(p, LEN, 0x12340000), -1);
	run(p, 3);
	SAME(mmap(p, LEN, RWX, MAP_PRIVATE | MAP_FIXED, -1, 0), MAP_FAILED);
	run(p, 4);
	SAME(munmap(p + 1, LEN), -1);
	run(p, 5);
	SAME(mremap(p, 3, LEN, 0x1000), MAP_FAILED);
	run(p, 6);
	q = mremap(p, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, p + LEN);
	MUST(q == p + LEN);
	SAME(((function *)q)(), 6);
	run(q, 7);
	for (uint32_t i = 8; i < 100; i++) {
		run(q, i);
		SAME(madvise(q, LEN, MADV_DONTNEED), 0);
	}
	return guest_end();
}
