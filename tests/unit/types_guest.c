/* tests/unit/types_guest.c - see types_guest.h. It is part of the tests, as
 * optimised as they are, and compiled once more without that. */
#include "types_guest.h"

#include <stddef.h>

struct guest_hidden {
	int secret;
	struct guest_point where;
};

static struct guest_hidden hidden = {77, {7, 8}};

struct guest_hidden *guest_hide(void)
{
	return &hidden;
}

/* All that is asked of them is to be entered. */
#define NOTHING(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

long guest_plain(guest_node_t *head, int depth, unsigned char c)
{
	NOTHING(head);
	return depth + c;
}

long guest_floats(double a, int b, float c, long d)
{
	return (long)a + b + (long)c + d;
}

long guest_big(struct guest_big b, int c, guest_node_t *n)
{
	NOTHING(n);
	return b.a[0] + c;
}

long guest_small(struct guest_small s, struct guest_pair p,
		 struct guest_mixed m, int c)
{
	return s.a + p.b + m.b + c;
}

long guest_many(int a, short b, signed char c, unsigned d, long e, bool f,
		int g, unsigned char h, guest_node_t *i, long j, int k)
{
	NOTHING(i);
	return a + b + c + d + e + f + g + h + j + k;
}

struct guest_big guest_returns_big(int a, guest_node_t *n)
{
	NOTHING(n);
	return (struct guest_big){{a, a, a}};
}

long guest_stack(int a, int b, int c, int d, int e, int f, struct guest_big s,
		 int g)
{
	return a + b + c + d + e + f + s.a[1] + g;
}

long guest_wide(int a, int b, int c, int d, __int128 f, int g, int h)
{
	return a + b + c + d + (long)f + g + h;
}

enum guest_color guest_kinds(enum guest_color c, const guest_total_t t,
			     const volatile guest_node_t *const n,
			     int numbers[])
{
	NOTHING(n);
	return t > 3 ? c : (enum guest_color)numbers[0];
}

double guest_real(int a)
{
	return a;
}

guest_node_t *guest_pointer(int a)
{
	return a == 0 ? NULL : (guest_node_t *)&hidden;
}

void guest_nothing(int a)
{
	NOTHING(a);
}
