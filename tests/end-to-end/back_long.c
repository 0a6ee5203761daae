/* tests/end-to-end/back_long.c - long enough for a search to be called off. */
#include <stdio.h>

static volatile long x, y;
volatile long never[2];

int main(void)
{
	for (long i = 0; i < 400000000; i++) {
		x += i;
		if (i % 3 == 0)
			y = i;
	}
	printf("%ld %ld %ld\n", x, y, never[0]);
	return 0;
}
