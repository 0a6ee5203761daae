/* tests/end-to-end/probe_pointers.c - hands good and bad pointers to a function
 * that does not look at them.
 *
 *	probe_pointers CALLS
 *
 * Every third pointer leads nowhere: to address 8, into a page without rights,
 * to no address at all, or to a text that goes on into such a page. */
#include "guest.h"

__attribute__((noinline)) uint64_t look(const char *text, uint64_t n);
__attribute__((noinline)) uint64_t look(const char *text, uint64_t n)
{
	__asm__ volatile("" : "+r"(n) : "r"(text));
	return 2 * n + 1;
}

int main(int argc, char **argv)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const char *bad[4] = {(const char *)8, pages + 4096,
			      (const char *)0x8000000000000000, pages + 4090};
	uint64_t n, n_bad = 0;

	MUST(argc == 2 && pages != MAP_FAILED);
	memset(pages, 'x', 8192);
	mprotect(pages + 4096, 4096, PROT_NONE);
	n = strtoull(argv[1], NULL, 10);
	for (uint64_t i = 0; i < n; i++) {
		const char *p = i % 2 ? "odd" : "even";

		if (i % 3 == 0) {
			p = bad[i / 3 % 4];
			n_bad++;
		}
		SAME(look(p, i), 2 * i + 1);
	}
	printf("hit look %lu\nbad %lu\n", n, n_bad);
	return guest_end();
}
