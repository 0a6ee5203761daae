/* bench/tree.c - a tree that has more nodes than a cache: tree N
 *
 * N numbers are looked up, all loads at random; new ones are put in, up to a
 * million. What is written once at the start is asked for at the end. */
#include <stdio.h>
#include <stdlib.h>

enum { NUMBERS = 1 << 20, SEEN = 24 };

struct node {
	struct node *less, *more;
	unsigned number;
	char seen[SEEN];
};

volatile long early = 7;
struct node *root;

static void look_up(unsigned number)
{
	struct node **at = &root;

	while (*at != NULL && (*at)->number != number)
		at = number < (*at)->number ? &(*at)->less : &(*at)->more;
	if (*at == NULL) {
		*at = calloc(1, sizeof **at);
		if (*at == NULL)
			exit(1);
		(*at)->number = number;
	}
	(*at)->seen[number % SEEN]++;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 0;
	unsigned random = 1;

	early = 42;
	for (long i = 0; i < n; i++) {
		random = random * 1664525 + 1013904223;
		look_up(random >> 12 & (NUMBERS - 1));
	}
	printf("%ld\n", early);
	return 0;
}
