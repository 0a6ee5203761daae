/* tests/guests/lives.h - how long a guest lives: so many seconds, or until a
 * file of that name is there. What is done to it meanwhile takes as long as it
 * takes. */
#ifndef LIVES_H
#define LIVES_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static inline int64_t lives_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

/* To be asked by one thread, first at its beginning, then as often as it likes:
 * it looks for the file a hundred times a second. */
static inline int lives(const char *until)
{
	static int64_t begun, looked;
	int64_t now = lives_ns();

	if (begun == 0)
		begun = now;
	if (until[0] >= '0' && until[0] <= '9')
		return (double)(now - begun) < strtod(until, NULL) * 1e9;
	if (now - looked < 10000000)
		return 1;
	looked = now;
	return access(until, F_OK) != 0;
}

#endif
