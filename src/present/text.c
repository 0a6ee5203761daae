/* present/text.c - UTF-8, escapes, and breaking lines. */
#include "present/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* How many bytes a character has whose first byte is this; 0: none has. */
static size_t length_of(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		return 2;
	if (first >= 0xe0 && first <= 0xef)
		return 3;
	if (first >= 0xf0 && first <= 0xf4)
		return 4;
	return 0;
}

/* Not in its shortest form, or a half of UTF-16's, or beyond the last one. */
static bool is_forbidden(uint32_t c, size_t n)
{
	return (n == 3 && c < 0x800) || (n == 4 && c < 0x10000) ||
	       (c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff;
}

size_t text_decode(const char *text, size_t len, uint32_t *out)
{
	static const unsigned char head_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	const unsigned char *s = (const unsigned char *)text;
	size_t n, i;
	uint32_t c;

	if (len == 0)
		return 0;
	n = length_of(s[0]);
	if (n == 0 || n > len)
		goto bad;
	c = s[0] & head_bits[n];
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			goto bad;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (is_forbidden(c, n))
		goto bad;
	*out = c;
	return n;
bad:
	*out = TEXT_BAD;
	return 1;
}

static bool is_unfit(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == TEXT_BAD ||
	       c == 0x061c ||		       /* Arabic letter mark */
	       (c >= 0x200e && c <= 0x200f) || /* marks of direction */
	       (c >= 0x2028 && c <= 0x202e) || /* separators, embeddings */
	       (c >= 0x2066 && c <= 0x2069) || /* isolates */
	       c == 0xfeff;		       /* byte order mark */
}

struct sink {
	char *out; /* borrowed */
	size_t size, len;
	bool full; /* one piece did not fit: nothing after it is written */
};

/* One piece, whole or not at all. */
static void put(struct sink *s, const char *piece, size_t len)
{
	if (!s->full && s->len + len < s->size) {
		memcpy(s->out + s->len, piece, len);
		s->out[s->len + len] = '\0';
	} else {
		s->full = true;
	}
	s->len += len;
}

static void put_byte(struct sink *s, unsigned char byte)
{
	static const char hex[] = "0123456789abcdef";
	char piece[4] = {'\\', 'x', hex[byte >> 4], hex[byte & 15]};

	if (byte == '\n')
		put(s, "\\n", 2);
	else if (byte == '\t')
		put(s, "\\t", 2);
	else if (byte == '\r')
		put(s, "\\r", 2);
	else
		put(s, piece, sizeof piece);
}

size_t text_escape(const char *text, size_t len, char *out, size_t size)
{
	struct sink s = {out, size, 0, false};
	size_t at, n, i;
	uint32_t c;

	if (size > 0)
		out[0] = '\0';
	for (at = 0; at < len; at += n) {
		n = text_decode(text + at, len - at, &c);
		if (!is_unfit(c))
			put(&s, text + at, n);
		for (i = 0; is_unfit(c) && i < n; i++)
			put_byte(&s, (unsigned char)text[at + i]);
	}
	return s.len;
}

void text_print(const char *format, ...)
{
	size_t end = strlen(format), size;
	bool has_newline = end > 0 && format[end - 1] == '\n';
	char *text = NULL, *safe;
	va_list args;
	int len;

	va_start(args, format);
	len = vasprintf(&text, format, args);
	va_end(args);
	if (len < 0)
		return;
	len -= has_newline;
	size = text_escape(text, (size_t)len, NULL, 0) + 1;
	safe = malloc(size);
	if (safe != NULL) {
		text_escape(text, (size_t)len, safe, size);
		fputs(safe, stdout);
		free(safe);
	}
	free(text);
	if (has_newline)
		putchar('\n');
}

static size_t columns_of(const char *text, size_t len)
{
	size_t at, n, columns = 0;
	uint32_t c;

	for (at = 0; at < len; at += n) {
		n = text_decode(text + at, len - at, &c);
		if (!is_unfit(c))
			columns++;
		else if (c == '\n' || c == '\t' || c == '\r')
			columns += 2;
		else
			columns += 4 * n;
	}
	return columns;
}

size_t text_columns(const char *text)
{
	return columns_of(text, strlen(text));
}

void text_wrap(FILE *out, const char *text, size_t at, size_t indent,
	       size_t width)
{
	bool fresh = true; /* nothing stands before on this line */

	for (;;) {
		size_t len, columns;

		text += strspn(text, " ");
		len = strcspn(text, " ");
		if (len == 0)
			return;
		columns = columns_of(text, len);
		if (!fresh && at + 1 + columns > width) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
			fresh = true;
		}
		fprintf(out, "%s%.*s", fresh ? "" : " ", (int)len, text);
		at += columns + !fresh;
		fresh = false;
		text += len;
	}
}
