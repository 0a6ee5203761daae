/* base/varint.h - numbers in as few bytes as they need: LEB128.
 *
 * Seven bits a byte, the lowest first; the top bit says that more follow. A
 * signed number is folded first, so that small ones of both signs are short.
 * Pure. */
#ifndef BASE_VARINT_H
#define BASE_VARINT_H

#include <stdbool.h>
#include <stdint.h>

enum { VARINT_MAX = 10 }; /* bytes */

static inline uint64_t varint_fold(int64_t v)
{
	return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}

static inline int64_t varint_unfold(uint64_t v)
{
	return (int64_t)(v >> 1 ^ -(v & 1));
}

/* Behind what was written; there is room for VARINT_MAX. */
static inline uint8_t *varint_put(uint8_t *to, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*to++ = (uint8_t)(v | 0x80);
	*to++ = (uint8_t)v;
	return to;
}

/* *at goes behind it; false: it does not end before end, or is too large. */
static inline bool varint_get(const uint8_t **at, const uint8_t *end,
			      uint64_t *out)
{
	const uint8_t *from = *at;
	uint64_t v = 0;

	for (unsigned shift = 0; from < end && shift < 64; shift += 7) {
		uint8_t byte = *from++;

		if (shift == 63 && byte > 1)
			return false;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*at = from;
			*out = v;
			return true;
		}
	}
	return false;
}

#endif
