/* tests/end-to-end/ask_language.c - expressions of C, and what C says of them.
 */
#include "ask_language.h"

#define SAY(e)                             \
	_Generic((e), int                  \
		 : say_int, unsigned       \
		 : say_uint, long          \
		 : say_long, unsigned long \
		 : say_ulong, double       \
		 : say_float)(#e, e)

enum color { RED, GREEN = 5, BLUE = -3 };
enum { PLAIN = 11 };
typedef enum { UP = 1, DOWN } direction;

struct shop {
	int n;
	unsigned char size;
	unsigned low : 3;
	int minus : 5;
	double price;
	enum color color;
	struct shop *next;
	short grid[2][3];
};

struct shop shops[3] = {{3, 250, 5, -7, 1.25, GREEN, &shops[1], {{1, 2, 3}}},
			{4, 9, 2, 3, 0.5, BLUE, NULL, {{4, 5, 6}, {7, 8, 9}}}};
direction way = DOWN;
unsigned long big = 1UL << 63;
int counter = -17;

__attribute__((noinline)) static void crash(struct shop *p, unsigned k)
{
	volatile int local = 6;
	int *q = &p->next->n;
	char text[4] = "abc";

	SAY(counter + 1);
	SAY(counter * 2 - local);
	SAY((counter - local) / 2);
	SAY(counter % 5);
	SAY(counter & 7);
	SAY(counter << 3);
	SAY(counter >> 1);
	SAY(-counter);
	SAY(~counter);
	SAY(!counter);
	SAY(big >> 3);
	SAY(big / 3 + local);
	SAY(k - 9);
	SAY(k - 9 > 0);
	SAY(counter < k);
	SAY(counter < (int)k);
	SAY(p != 0 && p->n == 3);
	SAY(p->next->next == 0 || p->next->next->n > 1);
	SAY(p->next->next != 0 && p->next->next->next->n > 1);
	SAY(p->size + p->low * p->minus);
	SAY(p->price * 4 + local);
	SAY((int)(p->price * 100));
	SAY(p->color == GREEN);
	SAY(p->next->color == BLUE);
	SAY(p->next->color + PLAIN);
	SAY(way == DOWN);
	SAY(p->next - p);
	SAY((p + 1)->n + 0);
	SAY((shops + 1)->grid[1][2] * 2);
	SAY(*(text + 1) == 'b');
	SAY(text[2] - 'a');
	SAY(q == &shops[1].n);
	SAY(sizeof(struct shop));
	SAY(sizeof *p + sizeof(int));
	SAY(sizeof text / sizeof text[0]);
	SAY(p->grid[0][local - 4] + 0x10 - 010);
	SAY((unsigned char)counter + 1);
	SAY((unsigned long)counter % 1000);
	SAY(1.5e1 / local);
	SAY((local > 5) + (local > 6));
	fflush(stdout);
	abort();
}

int main(void)
{
	crash(shops, 4);
}
