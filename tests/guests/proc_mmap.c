/* tests/guests/proc_mmap.c - mmap at its edges: hints, MAP_FIXED_NOREPLACE,
 * holes punched by munmap, mprotect over several mappings, bad arguments,
 * addresses handed out again. */
#include "guest.h"
#include <fcntl.h>

static void *map(void *at, size_t len, int flags)
{
	return mmap(at, len, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

int main(void)
{
	char *p = map(NULL, 16 * 4096, 0), *q;
	unsigned char in[4];

	MUST(p != MAP_FAILED);
	memset(p, 7, 16 * 4096);
	MUST(munmap(p + 4096, 4096) == 0);
	SAME(map(p, 4096, MAP_FIXED_NOREPLACE), MAP_FAILED);
	SAME(errno, EEXIST);
	SAME(map(p + 4096, 4096, MAP_FIXED_NOREPLACE), p + 4096);
	SAME(p[4096], 0);
	SAME(p[8192], 7);
	SAME(mprotect(p, 16 * 4096, PROT_READ), 0);
	SAME(mprotect(p, 16 * 4096, PROT_READ | PROT_WRITE), 0);
	MUST(munmap(p + 2 * 4096, 4096) == 0);
	SAME(mprotect(p, 16 * 4096, PROT_READ), -1); /* over a hole */
	SAME(errno, ENOMEM);
	SAME(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	     MAP_FAILED);
	SAME(errno, EINVAL);
	SAME(mmap((void *)123, 4096, PROT_READ,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
	     MAP_FAILED);
	SAME(errno, EINVAL);
	SAME(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 900, 0), MAP_FAILED);
	SAME(errno, EBADF);
	SAME(munmap(p + 1, 4096), -1);
	SAME(errno, EINVAL);
	SAME(munmap((void *)(1ull << 60), 4096), -1);
	SAME(errno, EINVAL);
	q = map((void *)0x13370000000, 4096, 0); /* a free hint is taken */
	SAME(q, 0x13370000000);
	SAME(mincore(p, 4096, in), 0);
	SAME(in[0] & 1, 1);
	SAME(mincore(p + 2 * 4096, 4096, in), -1);
	SAME(errno, ENOMEM);
	/* many small ones, freed in another order */
	char *m[200];
	for (int i = 0; i < 200; i++) {
		m[i] = map(NULL, 4096 * (size_t)(i % 5 + 1), 0);
		MUST(m[i] != MAP_FAILED);
		m[i][0] = (char)i;
	}
	for (int i = 0; i < 200; i++) {
		int k = i * 77 % 200;

		SAME(m[k][0], (char)k);
		MUST(munmap(m[k], 4096 * (size_t)(k % 5 + 1)) == 0);
	}
	return guest_end();
}
