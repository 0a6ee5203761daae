/* tests/end-to-end/ask_values.c - says what its variables hold, as hark ask
 * would, and then calls mark(): `FRAME WHAT = VALUE`, FRAME counted from mark.
 * Compiled in many ways by ask.sh. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum color { RED, GREEN = 5, BLUE = -3 };
typedef struct node node_t;

struct node {
	int id;
	char name[8];
	enum color color;
	unsigned low : 3, high : 9;
	int minus : 4;
	node_t *next;
	double grid[2][2];
	union {
		float real;
		uint32_t bits;
	} either;
	_Bool on;
};

node_t *list;
long total;
static short small = -4;
__thread int of_thread;
char text[16];
unsigned char raw[4] = {0xde, 0xad, 0xbe, 0xef};
volatile int sink;

__attribute__((noinline)) void mark(int n)
{
	sink = n;
	__asm__ volatile("" ::: "memory");
}

static void say_node(const char *what, const node_t *n)
{
	static const char *const colors[] = {[0] = "RED", [5] = "GREEN"};

	printf("0 %s->id = %d\n", what, n->id);
	printf("0 %s->name = \"%s\"\n", what, n->name);
	printf("0 %s->color = %s\n", what,
	       n->color == BLUE ? "BLUE" : colors[n->color]);
	printf("0 %s->low = %u\n", what, n->low);
	printf("0 %s->high = %u\n", what, n->high);
	printf("0 %s->minus = %d\n", what, n->minus);
	printf("0 %s->grid[1] = {%g, %g}\n", what, n->grid[1][0],
	       n->grid[1][1]);
	printf("0 %s->grid[0][1] = %g\n", what, n->grid[0][1]);
	printf("0 %s->either.real = %g\n", what, (double)n->either.real);
	printf("0 %s->either.bits = %u\n", what, n->either.bits);
	printf("0 %s->on = %s\n", what, n->on ? "true" : "false");
}

__attribute__((noinline)) static int add(int id, const char *name)
{
	node_t *n = calloc(1, sizeof *n);
	volatile int doubled = 2 * id;

	n->id = id;
	snprintf(n->name, sizeof n->name, "%s%d", name, id);
	n->color = id % 3 == 0 ? RED : id % 3 == 1 ? GREEN : BLUE;
	n->low = (unsigned)id & 7;
	n->high = (unsigned)id * 100;
	n->minus = -id;
	for (int i = 0; i < 4; i++)
		n->grid[i / 2][i % 2] = id + i * 0.25;
	n->either.real = (float)id + 0.5f;
	n->on = id % 2;
	n->next = list;
	list = n;
	total += id;
	of_thread -= id;
	small++;
	snprintf(text, sizeof text, "%s %d", name, id);

	say_node("list", list);
	if (list->next != NULL)
		say_node("list->next", list->next);
	printf("0 total = %ld\n", total);
	printf("0 small = %d\n", small);
	printf("0 of_thread = %d\n", of_thread);
	printf("0 text = \"%s\"\n", text);
	printf("0 *text@3 = \"%.3s\"\n", text);
	printf("0 raw:4 = 0xefbeadde\n");
	printf("1 doubled = %d\n", doubled);
	printf("1 n->id = %d\n", n->id);
	printf("mark %d\n", id);
	fflush(stdout);
	mark(id);
	doubled += n->id;
	return doubled;
}

int main(void)
{
	int sum = 0;

	for (int i = 1; i <= 3; i++)
		sum += add(i, "node");
	return sum == 18 ? 0 : 1;
}
