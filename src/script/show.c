/* script/show.c - the values of a record, as text. */
#include "script/show_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NAME_SIZE = 512, NS = 1000000000 };

/* -- Values -- */

int shown_next(const struct probe_part *part, const uint8_t **at,
	       const uint8_t *end, struct shown *out)
{
	size_t left = (size_t)(end - *at), size = 8;
	uint32_t len = 0;

	*out = (struct shown){.part = part};
	if (left < 8)
		return -1;
	switch (part->kind) {
	case PROBE_STRING:
		memcpy(&len, *at, sizeof len);
		size = ((size_t)len + 4 + 1 + 7) & ~(size_t)7;
		out->bytes = *at + 4;
		out->len = len;
		break;
	case PROBE_STACK:
		memcpy(&out->number, *at, 8);
		if (out->number > part->len)
			return -1;
		size = 8 + 8 * (size_t)out->number;
		out->bytes = *at + 8;
		break;
	case PROBE_BYTES:
		size = ((size_t)part->len + 7) & ~(size_t)7;
		out->bytes = *at;
		out->len = part->len;
		break;
	default:
		memcpy(&out->number, *at, 8);
	}
	if (size > left)
		return -1;
	*at += size;
	return 0;
}

static uint64_t as_unsigned(const struct shown *v)
{
	unsigned bits = v->part->size * 8U;

	return bits == 0 || bits >= 64 ? v->number
				       : v->number & ((1ULL << bits) - 1);
}

static int64_t as_signed(const struct shown *v)
{
	unsigned bits = v->part->size * 8U;

	if (bits == 0 || bits >= 64)
		return (int64_t)v->number;
	if (!v->part->is_signed)
		return (int64_t)as_unsigned(v);
	return (int64_t)(v->number << (64 - bits)) >> (64 - bits);
}

static void name_of(const struct show *s, enum probe_kind how, uint64_t addr,
		    char *out, size_t size)
{
	if (s->name != NULL)
		s->name(s->ctx, how, addr, out, size);
	else
		snprintf(out, size, "0x%" PRIx64, addr);
}

static void show_stack(const struct show *s, const struct shown *v, FILE *out)
{
	char name[NAME_SIZE];
	uint64_t addr;

	fputc('\n', out);
	for (uint64_t i = 0; i < v->number; i++) {
		memcpy(&addr, v->bytes + 8 * i, 8);
		name_of(s, PROBE_ADDRESS, addr, name, sizeof name);
		fprintf(out, "              %s\n", name);
	}
}

static void show_bytes(const struct shown *v, FILE *out)
{
	fputs("\n             0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f  "
	      "0123456789abcdef\n",
	      out);
	for (size_t row = 0; row < v->len; row += 16) {
		fprintf(out, "%10zx:", row);
		for (size_t i = row; i < row + 16; i++)
			if (i < v->len)
				fprintf(out, " %02x", v->bytes[i]);
			else
				fputs("   ", out);
		fputs("  ", out);
		for (size_t i = row; i < row + 16 && i < v->len; i++)
			fputc(v->bytes[i] >= ' ' && v->bytes[i] < 127
				  ? v->bytes[i]
				  : '.',
			      out);
		fputc('\n', out);
	}
}

/* -- Conversions -- */

void shown_text(const char *from, const char *to, FILE *out)
{
	fwrite(from, 1, (size_t)(to - from), out);
}

/* "2026 Nov 16 03:45:00", or with T the same for any locale. */
static void time_of(uint64_t ns, char letter, char *out, size_t size)
{
	time_t seconds = (time_t)(ns / NS);
	struct tm tm;

	if (localtime_r(&seconds, &tm) == NULL ||
	    strftime(out, size,
		     letter == 'T' ? "%Y-%m-%dT%H:%M:%S" : "%Y %b %e %H:%M:%S",
		     &tm) == 0)
		snprintf(out, size, "%" PRIu64, ns);
}

/* C escapes for what cannot be seen. */
static void escape(const uint8_t *bytes, size_t len, char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 5 < size; i++) {
		if (bytes[i] == '\n')
			n += (size_t)sprintf(out + n, "\\n");
		else if (bytes[i] == '\t')
			n += (size_t)sprintf(out + n, "\\t");
		else if (bytes[i] == '\\')
			n += (size_t)sprintf(out + n, "\\\\");
		else if (bytes[i] < ' ' || bytes[i] > 126)
			n += (size_t)sprintf(out + n, "\\%03o", bytes[i]);
		else
			out[n++] = (char)bytes[i];
	}
	out[n] = '\0';
}

static void pad_text(const struct conversion *c, const char *text, FILE *out)
{
	int width = c->width < 0 ? 0 : c->width;
	int most = c->precision < 0 ? INT32_MAX : c->precision;

	if (c->is_left)
		fprintf(out, "%-*.*s", width, most, text);
	else
		fprintf(out, "%*.*s", width, most, text);
}

/* A number, with the flags of the conversion and a letter of C. */
static void pad_number(const struct conversion *c, char letter,
		       const struct shown *v, FILE *out)
{
	char format[40];
	int n = snprintf(format, sizeof format, "%%%s%s%s%s%s%s",
			 c->is_left ? "-" : "", c->is_plus ? "+" : "",
			 c->is_space ? " " : "", c->is_zero ? "0" : "",
			 c->is_other ? "#" : "", c->is_grouped ? "'" : "");

	if (c->width >= 0)
		n += snprintf(format + n, sizeof format - (size_t)n, "%d",
			      c->width);
	if (c->precision >= 0)
		n += snprintf(format + n, sizeof format - (size_t)n, ".%d",
			      c->precision);
	snprintf(format + n, sizeof format - (size_t)n, "ll%c", letter);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	/* Made just above, of known parts. */
	if (letter == 'd')
		fprintf(out, format, (long long)as_signed(v));
	else
		fprintf(out, format, (unsigned long long)as_unsigned(v));
#pragma GCC diagnostic pop
}

static void show_text_by(const struct show *s, const struct conversion *c,
			 const struct shown *v, FILE *out)
{
	char text[4 * PROBE_STRING_MAX + 8];

	if (v->part->kind != PROBE_STRING) {
		name_of(s, v->part->kind, v->number, text, sizeof text);
	} else if (c->letter == 'S') {
		escape(v->bytes, v->len, text, sizeof text);
	} else {
		size_t n =
		    v->len < PROBE_STRING_MAX ? v->len : PROBE_STRING_MAX;

		memcpy(text, v->bytes, n);
		text[n] = '\0';
	}
	pad_text(c, text, out);
}

void shown_by(const struct show *s, const struct conversion *c,
	      const struct shown *v, FILE *out)
{
	char text[NAME_SIZE];

	if (!conversion_fits(c->letter, v->part->kind)) {
		shown_plainly(s, v, out);
		return;
	}
	switch (c->letter) {
	case 'd':
	case 'i':
		pad_number(c, v->part->is_signed ? 'd' : 'u', v, out);
		break;
	case 'u':
	case 'x':
	case 'X':
	case 'o':
		pad_number(c, c->letter, v, out);
		break;
	case 'c':
		text[0] = (char)v->number;
		text[1] = '\0';
		pad_text(c, text, out);
		break;
	case 'p':
		snprintf(text, sizeof text, "0x%" PRIx64, v->number);
		pad_text(c, text, out);
		break;
	case 'a':
	case 'A':
		name_of(s, c->letter == 'a' ? PROBE_ADDRESS : PROBE_SYMBOL,
			v->number, text, sizeof text);
		pad_text(c, text, out);
		break;
	case 'Y':
	case 'T':
		time_of(v->number, c->letter, text, sizeof text);
		pad_text(c, text, out);
		break;
	case 'k':
		show_stack(s, v, out);
		break;
	default:
		show_text_by(s, c, v, out);
	}
}

void shown_plainly(const struct show *s, const struct shown *v, FILE *out)
{
	static const struct conversion text = {
	    .letter = 's', .width = -1, .precision = -1};

	switch (v->part->kind) {
	case PROBE_NUMBER:
		if (v->part->is_signed)
			fprintf(out, "%" PRId64, as_signed(v));
		else
			fprintf(out, "%" PRIu64, as_unsigned(v));
		break;
	case PROBE_STACK:
		show_stack(s, v, out);
		break;
	case PROBE_BYTES:
		show_bytes(v, out);
		break;
	default:
		show_text_by(s, &text, v, out);
	}
}

/* -- Entries -- */

/* All arguments; -1 if they do not fill the entry. */
static int read_args(const struct show *s, const struct probe_entry *e,
		     size_t len, const struct probe_action **action,
		     struct shown args[PROBE_ARGS_MAX])
{
	const uint8_t *at = (const uint8_t *)(e + 1), *end;
	const struct probe_part *parts;

	if (len < sizeof *e || e->size < sizeof *e || e->size > len ||
	    e->action >= s->program->actions.n)
		return -1;
	end = (const uint8_t *)e + e->size;
	*action = &probe_actions(s->program)[e->action];
	parts = probe_parts(s->program) + (*action)->first_arg;
	for (unsigned i = 0; i < (*action)->n_args; i++)
		if (shown_next(&parts[i], &at, end, &args[i]) < 0)
			return -1;
	return at == end ? 0 : -1;
}

/* '*' takes its number from the arguments. */
static int starred(int size, const struct shown *args, unsigned n, unsigned *i)
{
	int64_t value;

	if (size != -2)
		return size;
	value = *i < n ? as_signed(&args[(*i)++]) : 0;
	return value < 0 ? 0 : value > 1000 ? 1000 : (int)value;
}

static void show_formatted(const struct show *s, const char *format,
			   const struct shown *args, unsigned n, FILE *out)
{
	struct conversion c;
	unsigned i = 0;

	for (; conversion_next(format, &c); format = c.at + c.len) {
		shown_text(format, c.at, out);
		if (c.letter == '%') {
			fputc('%', out);
			continue;
		}
		c.width = starred(c.width, args, n, &i);
		c.precision = starred(c.precision, args, n, &i);
		if (i < n)
			shown_by(s, &c, &args[i++], out);
	}
	fputs(format, out);
}

int show_entry(const struct show *s, const struct probe_entry *e, size_t len,
	       FILE *out)
{
	struct shown args[PROBE_ARGS_MAX];
	const struct probe_action *a;

	if (read_args(s, e, len, &a, args) < 0)
		return -1;
	if (a->kind == PROBE_TRACE || a->kind == PROBE_PRINT) {
		if (a->n_args > 0)
			shown_plainly(s, &args[0], out);
	} else if (a->kind == PROBE_PRINTF || a->kind == PROBE_SYSTEM ||
		   a->kind == PROBE_FREOPEN) {
		show_formatted(s, probe_texts(s->program) + a->format, args,
			       a->n_args, out);
	}
	return 0;
}

int show_number(const struct show *s, const struct probe_entry *e, size_t len,
		int64_t *out)
{
	struct shown args[PROBE_ARGS_MAX];
	const struct probe_action *a;

	if (read_args(s, e, len, &a, args) < 0 || a->n_args == 0 ||
	    args[0].part->kind != PROBE_NUMBER)
		return -1;
	*out = as_signed(&args[0]);
	return 0;
}
