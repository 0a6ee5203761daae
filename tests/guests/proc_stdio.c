/* tests/guests/proc_stdio.c - both output streams, in their order, large and
 * small writes; what fgets gets from an empty standard input is nothing. */
#include "guest.h"

int main(void)
{
	char line[16];

	CHECK(fgets(line, sizeof line, stdin) == NULL);
	CHECK(feof(stdin));
	for (int i = 0; i < 200; i++) {
		printf("line %d of output, %x, %g\n", i, i * 77777, i / 7.0);
		if (i % 50 == 0)
			fprintf(stderr, "line %d of errors\n", i);
	}
	for (int i = 0; i < 3000; i++)
		putchar('a' + i % 26);
	putchar('\n');
	return guest_end();
}
