/* tests/guests/proc_mremap.c - mremap grows in place or moves, shrinks, keeps
 * contents, DONTUNMAP leaves zeros behind; realloc of big blocks uses it. */
#include "guest.h"
#include <fcntl.h>

int main(void)
{
	char *p = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	     *q, *big;

	MUST(p != MAP_FAILED);
	for (int i = 0; i < 4; i++)
		p[i * 4096] = (char)(i + 1);
	q = mremap(p, 4 * 4096, 1 << 22, MREMAP_MAYMOVE);
	MUST(q != MAP_FAILED);
	for (int i = 0; i < 4; i++)
		SAME(q[i * 4096], i + 1);
	SAME(q[4 * 4096], 0);
	q[(1 << 22) - 1] = 9;
	SAME(mremap(q, 1 << 22, 2 * 4096, 0), q);
	SAME(mremap(q, 2 * 4096, 3 * 4096, 0) == q, 1);
	SAME(q[2 * 4096], 0);
	SAME(mremap(q + 1, 4096, 8192, MREMAP_MAYMOVE), MAP_FAILED);
	SAME(errno, EINVAL);
	p = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	SAME(mremap(q, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, p), p);
	SAME(p[0], 1);
	SAME(q[4096], 2);
	big = mremap(p, 4096, 4096, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
	if (big != MAP_FAILED) {
		SAME(big[0], 1);
		SAME(p[0], 0);
	}
	big = malloc(1 << 20);
	for (size_t n = 1 << 20; n < 40 << 20; n = n * 3 / 2) {
		big[n - 1] = (char)(n >> 16);
		big = realloc(big, n * 3 / 2);
		MUST(big != NULL);
		SAME(big[n - 1], (char)(n >> 16));
	}
	free(big);
	return guest_end();
}
