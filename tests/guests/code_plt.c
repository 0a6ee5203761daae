// build: -Wl,-z,lazy -fno-builtin -lm
/* tests/guests/code_plt.c - lazy binding: the first call of each library
 * function goes through the resolver, which saves all vector registers; later
 * ones do not. Arguments in vectors arrive either way. */
#include "guest.h"
#include <ctype.h>
#include <math.h>
#include <strings.h>
#include <wchar.h>

int main(void)
{
	volatile double two = 2;

	for (int i = 0; i < 3; i++) {
		CHECK(pow(two, 10) == 1024);
		CHECK(fmod(two * 3.5, two) == 1);
		CHECK(hypot(two * 1.5, two * 2) == 5);
		CHECK(ldexp(two, 3) == 16);
		SAME(strcasecmp("HELLO", "hello"), 0);
		SAME(wcslen(L"wide"), 4);
		SAME(toupper('q'), 'Q');
		SAME(strtoul("ff", NULL, 16), 255);
		CHECK(strtod("2.5e3", NULL) == 2500);
		SAME(ffs(64), 7);
		SAME(strspn("aabbc", "ab"), 4);
	}
	return guest_end();
}
