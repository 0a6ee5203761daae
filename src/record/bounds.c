/* record/bounds.c - how much of this machine a recording may take. */
#include "record/bounds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What hark records is in pieces of 128 KB, and of code and debug information
 * zstd makes a third or less. */
enum { UNPACK_TIMES = 64, TIME_S = 3600 };
#define UNPACK_FIXED ((uint64_t)256 << 20)
#define MEMORY_LEAST ((uint64_t)1 << 30)

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	static const char units[] = "KMGT";
	const char *text = getenv(name), *unit;
	unsigned long long n;
	unsigned shift = 0;
	char *end;

	if (text == NULL || *text < '0' || *text > '9')
		return otherwise;
	errno = 0;
	n = strtoull(text, &end, 10);
	unit = *end != '\0' ? strchr(units, *end) : NULL;
	if (unit != NULL) {
		shift = 10 * (unsigned)(unit - units + 1);
		end++;
	}
	if (errno != 0 || *end != '\0')
		return otherwise;
	return n > UINT64_MAX >> shift ? UINT64_MAX : n << shift;
}

uint64_t bounds_unpack(uint64_t file_len)
{
	return number_of(BOUNDS_UNPACK, UNPACK_FIXED + UNPACK_TIMES * file_len);
}

uint64_t bounds_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	uint64_t all = pages > 0 && size > 0
			   ? (uint64_t)pages * (uint64_t)size / 4 * 3
			   : 0;

	return number_of(BOUNDS_MEMORY,
			 all > MEMORY_LEAST ? all : MEMORY_LEAST);
}

uint64_t bounds_time(void)
{
	return number_of(BOUNDS_TIME, TIME_S);
}
