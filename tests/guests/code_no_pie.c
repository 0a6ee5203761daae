// build: -no-pie -fno-pic -mcmodel=small
/* tests/guests/code_no_pie.c - a program at a fixed low address: absolute
 * 32-bit addresses in instructions, jump tables of absolute pointers, mov of an
 * address as an immediate. */
#include "guest.h"

int table[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
int cell = 77;

__attribute__((noinline)) static int choose(int i)
{
	switch (i) { /* a jump table */
	case 0:
		return 10;
	case 1:
		return 23;
	case 2:
		return 5;
	case 3:
		return cell;
	case 4:
		return 4 + cell;
	case 5:
		return table[3];
	case 6:
		return 99;
	default:
		return -1;
	}
}

int main(void)
{
	uint64_t at;
	int sum = 0, v;

	for (int r = 0; r < 100; r++)
		for (int i = 0; i < 16; i++) {
			asm volatile("movl table(,%1,4), %0"
				     : "=r"(v)
				     : "r"((long)i));
			sum += v;
		}
	SAME(sum, 100 * 80);
	asm("mov $cell, %k0" : "=r"(at));
	SAME(at, &cell);
	asm volatile("movl cell, %0" : "=r"(v));
	SAME(v, 77);
	SAME(choose(0) + choose(1) + choose(2) + choose(3) + choose(4) +
		 choose(5) + choose(6) + choose(7),
	     10 + 23 + 5 + 77 + 81 + 1 + 99 - 1);
	return guest_end();
}
