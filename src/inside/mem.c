/* inside/mem.c - the four functions that compilers call unasked.
 *
 * `rep movsb` is what the CPU does best for all but short copies, which are
 * made by words: it takes some thirty cycles to begin. */
#include "inside/mem.h"

enum { SHORT = 128 };

static void copy_short(uint8_t *to, const uint8_t *from, size_t len)
{
	for (; len >= sizeof(uint64_t); len -= sizeof(uint64_t)) {
		uint64_t word;

		__builtin_memcpy(&word, from, sizeof word);
		__builtin_memcpy(to, &word, sizeof word);
		from += sizeof word;
		to += sizeof word;
	}
	while (len-- > 0)
		*to++ = *from++;
}

void *memcpy(void *restrict to, const void *restrict from, size_t len)
{
	void *d = to;

	if (len <= SHORT) {
		copy_short(to, from, len);
		return to;
	}
	__asm__ volatile("rep movsb"
			 : "+D"(d), "+S"(from), "+c"(len)
			 :
			 : "memory");
	return to;
}

void *memmove(void *to, const void *from, size_t len)
{
	const uint8_t *s = from;
	uint8_t *d = to;

	if ((uintptr_t)to - (uintptr_t)from >= len)
		return memcpy(to, from, len);
	while (len-- > 0)
		d[len] = s[len];
	return to;
}

void *memset(void *to, int c, size_t len)
{
	void *d = to;

	__asm__ volatile("rep stosb" : "+D"(d), "+c"(len) : "a"(c) : "memory");
	return to;
}

int memcmp(const void *a, const void *b, size_t len)
{
	const uint8_t *x = a, *y = b;

	for (size_t i = 0; i < len; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}
