/* tests/guests/code_random_rewritten.c - programs made by chance, one over the
 * other in the same writable and executable memory, each run at once. */
#include "random_code.h"

int main(int argc, char **argv)
{
	uint64_t h = 1, seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1,
		 n = argc > 2 ? strtoul(argv[2], NULL, 0) : 200;

	rewritten = 1;
	random_init();
	for (uint64_t i = 0; i < n; i++) {
		make_program(seed + i);
		for (int k = 0; k < 3; k++) {
			prepare();
			run_program();
			h = sum_state(h);
		}
		if (argc > 3)
			printf("%lu %016lx\n", seed + i, h);
	}
	printf("%016lx\n", h);
	return guest_end();
}
