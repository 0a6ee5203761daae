// build: -static-pie
/* tests/guests/code_static_pie.c - a static program that relocates itself, at
 * any address. */
#include "guest.h"
#include <sys/auxv.h>

static int value = 5;
static int *pointer = &value; /* relocated */
static int (*const function)(const char *, const char *) = strcmp;

int main(void)
{
	SAME(pointer, &value);
	SAME(*pointer, 5);
	SAME(function("abc", "abc"), 0);
	SAME(getauxval(AT_BASE), 0);
	CHECK((uint64_t)&value > 0x10000000);
	return guest_end();
}
