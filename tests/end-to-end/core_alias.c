/* tests/end-to-end/core_alias.c - much memory at addresses with the same low 32
 * bits; then it dies. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { LEN = 1 << 18 };

static _Alignas(4096) char one[LEN];

int main(void)
{
	uint64_t wanted = ((uint64_t)one & 0xffffffff) | 0x10000000000;
	char *two =
	    mmap((void *)wanted, LEN, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if ((uint64_t)two != wanted)
		return 1;
	for (int i = 0; i < LEN; i += 64) {
		one[i] = 1;
		two[i] = 2;
	}
	abort();
}
