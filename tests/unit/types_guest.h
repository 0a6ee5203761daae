/* tests/unit/types_guest.h - functions whose arguments scripts read. */
#ifndef TYPES_GUEST_H
#define TYPES_GUEST_H

#include <stdbool.h>

enum guest_color { GUEST_RED = 1, GUEST_MINUS = -2 };
typedef unsigned long guest_count_t;
typedef guest_count_t guest_total_t;

struct guest_point {
	int x, y;
};

typedef struct guest_node guest_node_t;
struct guest_node {
	int value;
	const char *name;
	struct guest_node *next;
	unsigned low : 3, high : 7;
	signed int minus : 5;
	unsigned long wide : 40;
	struct {
		short inner;
		union {
			unsigned char byte;
			unsigned int word;
		};
	};
	struct guest_point where;
	struct guest_point path[4];
	guest_node_t *kids[3];
	enum guest_color color;
	bool open;
	char text[16];
	double real;
	int table[2][3];
	guest_total_t total;
	struct guest_hidden *hidden; /* only declared here */
	int (*call)(int);
	void *any;
	char tail[];
};

struct guest_small {
	int a, b;
};
struct guest_pair {
	long a, b;
};
struct guest_mixed {
	double a;
	long b;
};
struct guest_big {
	long a[3];
};

/* Each is called with what its name says; see the test. */
#define GUEST_FUNCTIONS(F)                                                    \
	F(long, plain, (guest_node_t * head, int depth, unsigned char c))     \
	F(long, floats, (double a, int b, float c, long d))                   \
	F(long, big, (struct guest_big b, int c, guest_node_t *n))            \
	F(long, small,                                                        \
	  (struct guest_small s, struct guest_pair p, struct guest_mixed m,   \
	   int c))                                                            \
	F(long, many,                                                         \
	  (int a, short b, signed char c, unsigned d, long e, bool f, int g,  \
	   unsigned char h, guest_node_t *i, long j, int k))                  \
	F(struct guest_big, returns_big, (int a, guest_node_t *n))            \
	F(long, stack,                                                        \
	  (int a, int b, int c, int d, int e, int f, struct guest_big s,      \
	   int g))                                                            \
	F(long, wide, (int a, int b, int c, int d, __int128 f, int g, int h)) \
	F(enum guest_color, kinds,                                            \
	  (enum guest_color c, const guest_total_t t,                         \
	   const volatile guest_node_t *const n, int numbers[]))              \
	F(double, real, (int a))                                              \
	F(guest_node_t *, pointer, (int a))                                   \
	F(void, nothing, (int a))

#define F(result, name, parameters) result guest_##name parameters;
GUEST_FUNCTIONS(F)
#undef F

struct guest_hidden *guest_hide(void);

#endif
