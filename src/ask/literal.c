/* ask/literal.c - numbers and characters, as C writes them. */
#include "ask/literal.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NUMBER_MAX = 128 };

static const char too_large[] = "no number that fits";

bool literal_begins(const char *at)
{
	return isdigit((unsigned char)at[0]) || at[0] == '\'' ||
	       (at[0] == '.' && isdigit((unsigned char)at[1]));
}

/* -- Numbers -- */

static bool is_hexadecimal(const char *at)
{
	return at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
}

/* Digits, letters and dots, and the sign of an exponent. */
static size_t number_len(const char *at)
{
	bool hex = is_hexadecimal(at);
	size_t n = 0;

	for (;;) {
		char c = at[n];
		char e = (char)(n > 0 ? tolower((unsigned char)at[n - 1]) : 0);

		if (!isalnum((unsigned char)c) && c != '.' && c != '_' &&
		    !((c == '+' || c == '-') && e == (hex ? 'p' : 'e')))
			return n;
		n++;
	}
}

static bool is_floating(const char *text)
{
	return strpbrk(text, is_hexadecimal(text) ? ".pP" : ".eE") != NULL;
}

static bool read_floating(const char *text, struct operand *out)
{
	char *end;
	long double wide = strtold(text, &end);

	if (*end == '\0')
		*out = arith_float(TYPE_BASIC_DOUBLE,
				   (long double)strtod(text, NULL));
	else if (strcasecmp(end, "f") == 0)
		*out = arith_float(TYPE_BASIC_FLOAT,
				   (long double)strtof(text, NULL));
	else if (strcasecmp(end, "l") == 0)
		*out = arith_float(TYPE_BASIC_LDOUBLE, wide);
	else
		return false;
	return end != text;
}

/* "u", "l", "ll" in any order and case; false: something else. */
static bool read_suffix(const char *at, bool *is_unsigned, bool *is_long)
{
	size_t l;

	*is_unsigned = *is_long = false;
	for (int i = 0; i < 2 && *at != '\0'; i++) {
		l = *at == 'l' || *at == 'L' ? 1 + (at[1] == at[0]) : 0;
		if (l > 0 && !*is_long)
			*is_long = true;
		else if ((*at == 'u' || *at == 'U') && !*is_unsigned)
			*is_unsigned = true;
		else
			return false;
		at += l > 0 ? l : 1;
	}
	return *at == '\0';
}

/* The first type of C's list in which it fits. */
static enum type_basic type_for(uint64_t v, bool is_decimal, bool is_unsigned,
				bool is_long)
{
	if (!is_long && !is_unsigned && v <= INT32_MAX)
		return TYPE_BASIC_INT;
	if (!is_long && (is_unsigned || !is_decimal) && v <= UINT32_MAX)
		return TYPE_BASIC_UINT;
	if (!is_unsigned && v <= INT64_MAX)
		return TYPE_BASIC_LONG;
	return TYPE_BASIC_ULONG;
}

static bool read_integer(const char *text, struct operand *out)
{
	bool is_binary = text[0] == '0' && (text[1] == 'b' || text[1] == 'B');
	bool is_unsigned, is_long;
	char *end;
	uint64_t v;

	errno = 0;
	v = strtoull(text + (is_binary ? 2 : 0), &end, is_binary ? 2 : 0);
	if (errno != 0 || end == text + (is_binary ? 2 : 0) ||
	    !read_suffix(end, &is_unsigned, &is_long))
		return false;
	*out =
	    arith_integer(type_for(v, text[0] != '0', is_unsigned, is_long), v);
	return true;
}

static size_t read_number(const char *at, struct operand *out, const char **why)
{
	char text[NUMBER_MAX];
	size_t len = number_len(at);

	*why = too_large;
	if (len >= sizeof text)
		return 0;
	memcpy(text, at, len);
	text[len] = '\0';
	if (is_floating(text) ? read_floating(text, out)
			      : read_integer(text, out))
		return len;
	return 0;
}

/* -- Characters -- */

static unsigned digit_of(char c)
{
	if (isdigit((unsigned char)c))
		return (unsigned)(c - '0');
	return isxdigit((unsigned char)c)
		   ? (unsigned)(tolower((unsigned char)c) - 'a') + 10
		   : 16;
}

/* After a backslash; its length. 0: there is no such. */
static size_t read_escape(const char *at, unsigned *out)
{
	static const char letters[] = "abtnvfre\\'\"?";
	static const char values[] = "\a\b\t\n\v\f\r\033\\'\"?";
	const char *found = *at != '\0' ? strchr(letters, *at) : NULL;
	unsigned base = *at == 'x' ? 16 : 8;
	size_t first = *at == 'x', most = *at == 'x' ? 2 : 3, n = 0;

	if (found != NULL) {
		*out = (unsigned char)values[found - letters];
		return 1;
	}
	for (*out = 0; n < most && digit_of(at[first + n]) < base; n++)
		*out = *out * base + digit_of(at[first + n]);
	return n > 0 && *out < 256 ? first + n : 0;
}

static size_t read_character(const char *at, struct operand *out,
			     const char **why)
{
	unsigned v = (unsigned char)at[1];
	size_t len = 1;

	*why = "no character in single quotes";
	if (v == '\\')
		len = 1 + read_escape(at + 2, &v);
	if (v == 0 && at[1] == '\0')
		return 0;
	if (len == 1 && (v == '\\' || v == '\'' || v < ' '))
		return 0;
	if (at[1 + len] != '\'')
		return 0;
	*out = arith_integer(TYPE_BASIC_CHAR, v);
	return len + 2;
}

size_t literal_read(const char *at, struct operand *out, const char **why)
{
	return at[0] == '\'' ? read_character(at, out, why)
			     : read_number(at, out, why);
}
