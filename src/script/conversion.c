/* script/conversion.c - the conversions of a printf format. */
#include "script/script_priv.h"

#include <string.h>

static int read_number(const char **at)
{
	int n = 0;

	if (**at == '*') {
		(*at)++;
		return -2;
	}
	if (**at < '0' || **at > '9')
		return -1;
	for (; **at >= '0' && **at <= '9'; (*at)++)
		n = n < 10000 ? n * 10 + (**at - '0') : n;
	return n < 1000 ? n : 1000;
}

static const char *read_flags(const char *at, struct conversion *out)
{
	for (;; at++) {
		switch (*at) {
		case '-':
			out->is_left = true;
			break;
		case '+':
			out->is_plus = true;
			break;
		case ' ':
			out->is_space = true;
			break;
		case '0':
			out->is_zero = true;
			break;
		case '#':
			out->is_other = true;
			break;
		case '\'':
			out->is_grouped = true;
			break;
		default:
			return at;
		}
	}
}

bool conversion_next(const char *at, struct conversion *out)
{
	const char *start = strchr(at, '%');

	*out = (struct conversion){.width = -1, .precision = -1};
	if (start == NULL)
		return false;
	out->at = start;
	/* "%@8d" as people write it, and "%8@d". */
	out->is_aggregation = start[1] == '@';
	at = read_flags(start + 1 + out->is_aggregation, out);
	out->width = read_number(&at);
	if (*at == '.') {
		at++;
		out->precision = read_number(&at);
		out->precision = out->precision == -1 ? 0 : out->precision;
	}
	if (*at == '@') {
		out->is_aggregation = true;
		at++;
	}
	/* Sizes are D's own knowledge; they are read over. */
	while (*at == 'h' || *at == 'l' || *at == 'L' || *at == 'z')
		at++;
	out->letter = *at;
	out->len = (size_t)(at - start) + (*at != '\0');
	return true;
}

bool conversion_fits(char letter, enum probe_kind kind)
{
	switch (letter) {
	case 'd':
	case 'i':
	case 'u':
	case 'x':
	case 'X':
	case 'o':
	case 'c':
	case 'p':
	case 'Y':
	case 'T':
	case 'a':
	case 'A':
		return kind == PROBE_NUMBER || kind >= PROBE_ADDRESS;
	case 's':
	case 'S':
		return kind == PROBE_STRING || kind >= PROBE_ADDRESS;
	case 'k':
		return kind == PROBE_STACK;
	default:
		return false;
	}
}
