/* tests/end-to-end/ask_language.h - programs that say what their own
 * expressions are, as ask-language.sh will ask for them.
 *
 * Each SAY prints EXPRESSION = VALUE; the program then crashes, and all of
 * them must be so at its end. */
#include <stdio.h>
#include <stdlib.h>

static inline void say_int(const char *what, int v)
{
	printf("%s = %d\n", what, v);
}
static inline void say_uint(const char *what, unsigned v)
{
	printf("%s = %u\n", what, v);
}
static inline void say_long(const char *what, long v)
{
	printf("%s = %ld\n", what, v);
}
static inline void say_ulong(const char *what, unsigned long v)
{
	printf("%s = %lu\n", what, v);
}
static inline void say_float(const char *what, double v)
{
	printf("%s = %g\n", what, v);
}
