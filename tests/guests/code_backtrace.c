// build: -rdynamic -fno-omit-frame-pointer -O1 -fno-optimize-sibling-calls
/* tests/guests/code_backtrace.c - return addresses on the stack are those of
 * the program: backtrace, __builtin_return_address and the names behind them;
 * also from a signal handler. */
#include "guest.h"
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>

static char names[16][32];
static int n;

static void trace(void)
{
	void *at[16];
	int k = backtrace(at, 16);

	n = 0;
	for (int i = 0; i < k; i++) {
		Dl_info info;

		if (dladdr((char *)at[i] - 1, &info) && info.dli_sname != NULL)
			snprintf(names[n++], sizeof names[0], "%s",
				 info.dli_sname);
	}
}

static int called(const char *name)
{
	for (int i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return 1;
	return 0;
}

void *guest_return_of_inner;

void guest_inner(int deep)
{
	guest_return_of_inner = __builtin_return_address(0);
	if (deep == 0)
		trace();
	else
		guest_inner(deep - 1);
	asm volatile("");
}

void guest_outer(void)
{
	guest_inner(0);
	asm volatile("");
}

static void handler(int sig)
{
	(void)sig;
	trace();
}

void guest_raises(void)
{
	raise(SIGUSR1);
	asm volatile("");
}

int main(void)
{
	Dl_info info;

	for (int i = 0; i < 5; i++) {
		guest_outer();
		CHECK(called("guest_inner"));
		CHECK(called("guest_outer"));
		CHECK(called("main"));
		MUST(dladdr(guest_return_of_inner, &info));
		CHECK(strcmp(info.dli_sname, "guest_outer") == 0);
		signal(SIGUSR1, handler);
		guest_raises();
		CHECK(called("guest_raises"));
		CHECK(called("main"));
	}
	return guest_end();
}
