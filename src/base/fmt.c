/* base/fmt.c - a small formatter without libc. */
#include "base/fmt.h"

#include <stdint.h>

struct sink {
	char *out; /* borrowed */
	size_t size, len;
};

struct spec {
	unsigned width;
	int precision; /* -1: none */
	char fill;
	unsigned char left, longs;
};

static void put(struct sink *s, char c)
{
	if (s->len + 1 < s->size)
		s->out[s->len] = c;
	s->len++;
}

static void put_padded(struct sink *s, const struct spec *spec,
		       const char *text, size_t len)
{
	size_t pad = spec->width > len ? spec->width - len : 0;
	size_t i;

	if (spec->fill == '0' && !spec->left && len > 0 && text[0] == '-') {
		put(s, '-'); /* the sign stands before the zeros */
		text++;
		len--;
	}
	for (i = 0; !spec->left && i < pad; i++)
		put(s, spec->fill);
	for (i = 0; i < len; i++)
		put(s, text[i]);
	for (i = 0; spec->left && i < pad; i++)
		put(s, ' ');
}

static void put_number(struct sink *s, const struct spec *spec, uint64_t v,
		       unsigned base, int negative)
{
	char digits[24];
	size_t at = sizeof digits;

	do {
		digits[--at] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v != 0);
	if (negative)
		digits[--at] = '-';
	put_padded(s, spec, digits + at, sizeof digits - at);
}

static void put_string(struct sink *s, const struct spec *spec,
		       const char *text)
{
	size_t len = 0;

	if (text == NULL)
		text = "(null)";
	while ((spec->precision < 0 || len < (size_t)spec->precision) &&
	       text[len] != '\0')
		len++;
	put_padded(s, spec, text, len);
}

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *parse_number(const char *f, int *out)
{
	int v = 0;

	for (; is_digit(*f); f++)
		if (v < 100000)
			v = v * 10 + (*f - '0');
	*out = v;
	return f;
}

/* A va_list passed by value may or may not advance its owner's; so the one
 * list lives in here. */
struct arguments {
	va_list list;
};

static const char *parse_spec(const char *f, struct arguments *a,
			      struct spec *spec)
{
	int n = 0;

	*spec = (struct spec){.precision = -1, .fill = ' '};
	for (; *f == '-' || *f == '0'; f++) {
		if (*f == '-')
			spec->left = 1;
		else
			spec->fill = '0';
	}
	if (*f == '*') {
		n = va_arg(a->list, int);
		f++;
	} else {
		f = parse_number(f, &n);
	}
	spec->left |= n < 0;
	spec->width = n < 0 ? -(unsigned)n : (unsigned)n;
	if (*f == '.') {
		f++;
		if (*f == '*') {
			spec->precision = va_arg(a->list, int);
			f++;
		} else {
			f = parse_number(f, &spec->precision);
		}
	}
	for (; *f == 'l' || *f == 'z' || *f == 'h'; f++)
		spec->longs |= *f != 'h';
	return f;
}

static void put_signed(struct sink *s, const struct spec *spec,
		       struct arguments *a)
{
	int64_t v = spec->longs ? va_arg(a->list, long) : va_arg(a->list, int);

	put_number(s, spec, v < 0 ? -(uint64_t)v : (uint64_t)v, 10, v < 0);
}

static void put_unsigned(struct sink *s, const struct spec *spec,
			 struct arguments *a, unsigned base)
{
	put_number(s, spec,
		   spec->longs ? va_arg(a->list, unsigned long)
			       : va_arg(a->list, unsigned),
		   base, 0);
}

/* One conversion; 0 if its letter is not known. */
static int put_argument(struct sink *s, char letter, const struct spec *spec,
			struct arguments *a)
{
	char c;

	switch (letter) {
	case 'd':
	case 'i':
		put_signed(s, spec, a);
		return 1;
	case 'u':
		put_unsigned(s, spec, a, 10);
		return 1;
	case 'x':
		put_unsigned(s, spec, a, 16);
		return 1;
	case 'p':
		put(s, '0');
		put(s, 'x');
		put_number(s, spec, (uintptr_t)va_arg(a->list, void *), 16, 0);
		return 1;
	case 's':
		put_string(s, spec, va_arg(a->list, const char *));
		return 1;
	case 'c':
		c = (char)va_arg(a->list, int);
		put_padded(s, spec, &c, 1);
		return 1;
	case '%':
		put(s, '%');
		return 1;
	default:
		return 0;
	}
}

size_t fmt_vtext(char *out, size_t size, const char *format, va_list args)
{
	struct sink s = {out, size, 0};
	struct arguments a;
	struct spec spec;

	va_copy(a.list, args);
	while (*format != '\0') {
		const char *after;

		if (*format != '%') {
			put(&s, *format++);
			continue;
		}
		after = parse_spec(format + 1, &a, &spec);
		if (*after != '\0' && put_argument(&s, *after, &spec, &a))
			format = after + 1;
		else
			put(&s, *format++);
	}
	va_end(a.list);
	if (size > 0)
		out[s.len < size ? s.len : size - 1] = '\0';
	return s.len;
}

size_t fmt_text(char *out, size_t size, const char *format, ...)
{
	va_list args;
	size_t len;

	va_start(args, format);
	len = fmt_vtext(out, size, format, args);
	va_end(args);
	return len;
}
