/* tests/guests/code_random.c - four hundred programs made by chance, each run
 * three times on different data: the sum of all their states. A seed and a
 * count as arguments make others. */
#include "random_code.h"

int main(int argc, char **argv)
{
	uint64_t h = 1, seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1,
		 n = argc > 2 ? strtoul(argv[2], NULL, 0) : 400;

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
