/* tests/guests/code_entry_points.c - constructors, init arrays with arguments,
 * destructors, ifuncs and weak symbols run once each, in their order. */
#include "guest.h"

static char trail[32];

static void note(char c)
{
	trail[strlen(trail)] = c;
}

__attribute__((constructor(101))) static void early(void)
{
	note('a');
}

__attribute__((constructor(102))) static void later(void)
{
	note('b');
}

static void with_args(int argc, char **argv, char **envp)
{
	note(argc >= 1 && argv[0] != NULL && envp != NULL ? 'c' : '?');
}

__attribute__((section(".init_array"),
	       used)) static void (*const array)(int, char **,
						 char **) = with_args;

__attribute__((destructor)) static void last(void)
{
	dprintf(1, strcmp(trail, "abcmx") == 0 ? "ok\n" : "wrong order\n");
}

static int plain(void)
{
	return 5;
}

static int (*resolve(void))(void)
{
	return plain;
}

int chosen(void) __attribute__((ifunc("resolve")));
extern int nowhere(void) __attribute__((weak));

static void at_exit(void)
{
	note('x');
}

int main(void)
{
	note('m');
	atexit(at_exit);
	SAME(chosen(), 5);
	CHECK(nowhere == NULL);
	return guest_wrong;
}
