/* tests/end-to-end/back_watches.c - long arrays, each touched a few times, by
 * instructions of many kinds. */
#include <string.h>

enum { ARRAYS = 12, LEN = 4096 };
char arrays[ARRAYS][LEN] __attribute__((aligned(64)));
__thread char own[LEN];
char between[LEN];

static long touch(char *a, int i)
{
	long sum = a[i]; /* a load */

	a[2 * i] = (char)sum;		  /* a store */
	*(long *)(a + 8 * i) += sum;	  /* both */
	memset(a + 1024 + i, i + 1, 100); /* vectors, or a string instruction */
	sum += a[1024 + 2 * i];
	return sum;
}

int main(void)
{
	long sum = 0;

	for (int i = 0; i < ARRAYS; i++) {
		sum += touch(arrays[i], i);
		between[i]++; /* watched by none */
	}
	for (int i = ARRAYS; i-- > 0;)
		sum += arrays[i][LEN - 1 - i];
	own[7] = (char)sum;
	return (int)(sum + own[7]) & 1;
}
