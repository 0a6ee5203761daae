/* image/cursor_priv.h - read little-endian things from bytes not trusted.
 *
 * A cursor never leaves its bytes. Reading beyond them yields zeros and sets
 * `bad`, once and for all: parsers read a whole record, then ask once. */
#ifndef IMAGE_CURSOR_PRIV_H
#define IMAGE_CURSOR_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *at, *end; /* borrowed */
	bool bad;
};

static inline struct cursor cursor_of(const void *bytes, size_t len)
{
	const uint8_t *at = bytes != NULL ? bytes : "";

	return (struct cursor){at, at + len, false};
}

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

static inline void cursor_fail(struct cursor *c)
{
	c->bad = true;
	c->at = c->end;
}

static inline void cursor_skip(struct cursor *c, uint64_t n)
{
	if (n > cursor_left(c))
		cursor_fail(c);
	else
		c->at += n;
}

#define CURSOR_NUMBER(bits)                                           \
	static inline uint##bits##_t cursor_u##bits(struct cursor *c) \
	{                                                             \
		uint##bits##_t v;                                     \
                                                                      \
		if (cursor_left(c) < sizeof v) {                      \
			cursor_fail(c);                               \
			return 0;                                     \
		}                                                     \
		memcpy(&v, c->at, sizeof v);                          \
		c->at += sizeof v;                                    \
		return v;                                             \
	}
CURSOR_NUMBER(8)
CURSOR_NUMBER(16)
CURSOR_NUMBER(32)
CURSOR_NUMBER(64)
#undef CURSOR_NUMBER

/* A number of 1 to 8 bytes. */
static inline uint64_t cursor_uint(struct cursor *c, size_t len)
{
	uint64_t v = 0;

	if (len > sizeof v || cursor_left(c) < len) {
		cursor_fail(c);
		return 0;
	}
	memcpy(&v, c->at, len);
	c->at += len;
	return v;
}

/* Bits beyond the 64th are dropped, as every reader of DWARF does. */
static inline uint64_t cursor_uleb(struct cursor *c)
{
	uint64_t v = 0;
	unsigned shift = 0;

	while (c->at < c->end) {
		uint8_t b = *c->at++;

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += shift < 64 ? 7 : 0;
		if (b < 0x80)
			return v;
	}
	c->bad = true;
	return 0;
}

static inline int64_t cursor_sleb(struct cursor *c)
{
	uint64_t v = 0;
	unsigned shift = 0;

	while (c->at < c->end) {
		uint8_t b = *c->at++;

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += shift < 64 ? 7 : 0;
		if (b >= 0x80)
			continue;
		if ((b & 0x40) != 0 && shift < 64)
			v |= ~(uint64_t)0 << shift;
		return (int64_t)v;
	}
	c->bad = true;
	return 0;
}

/* A string with its NUL inside the bytes; "" when there is none. */
static inline const char *cursor_text(struct cursor *c)
{
	const uint8_t *at = c->at;
	const uint8_t *nul =
	    cursor_left(c) > 0 ? memchr(at, 0, cursor_left(c)) : NULL;

	if (nul == NULL) {
		cursor_fail(c);
		return "";
	}
	c->at = nul + 1;
	return (const char *)at;
}

#endif
