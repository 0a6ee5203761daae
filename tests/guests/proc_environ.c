/* tests/guests/proc_environ.c - the environment arrives complete and in order,
 * nothing is added, and the strings lie where the kernel puts them: above the
 * stack, right behind the arguments. */
#include "guest.h"

extern char **environ;

int main(int argc, char **argv)
{
	char *end;

	if (argc == 1) {
		execle(
		    "/proc/self/exe", argv[0], "x", "", "y z", NULL,
		    (char *[]){"Z=last", "A=first", "ODD", "=", "B=a=b", NULL});
		return 1;
	}
	SAME(argc, 4);
	CHECK(strcmp(environ[0], "Z=last") == 0);
	CHECK(strcmp(environ[1], "A=first") == 0);
	CHECK(strcmp(environ[2], "ODD") == 0);
	CHECK(strcmp(environ[3], "=") == 0);
	CHECK(strcmp(environ[4], "B=a=b") == 0);
	SAME(environ[5], 0);
	SAME(argv + argc + 1, environ);
	CHECK(strcmp(getenv("B"), "a=b") == 0);
	CHECK(getenv("HARK_DIR") == NULL && getenv("LD_PRELOAD") == NULL);
	/* the strings follow each other without a gap */
	end = argv[0];
	for (int i = 0; i < argc; i++) {
		SAME(argv[i], end);
		end += strlen(end) + 1;
	}
	for (int i = 0; environ[i] != NULL; i++) {
		SAME(environ[i], end);
		end += strlen(end) + 1;
	}
	setenv("NEW", "one", 1);
	CHECK(strcmp(getenv("NEW"), "one") == 0);
	return guest_end();
}
