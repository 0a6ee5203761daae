/* present/json.c - a JSON writer. */
#include "present/json.h"

#include "present/text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

void json_init(struct json *j, FILE *out)
{
	*j = (struct json){.out = out};
}

static bool is_markup(uint32_t c)
{
	return c == '<' || c == '>' || c == '&';
}

static void put_character(FILE *out, uint32_t c, const char *bytes, size_t n)
{
	if (c == '"' || c == '\\')
		fprintf(out, "\\%c", (char)c);
	else if (c == '\n')
		fputs("\\n", out);
	else if (c == '\t')
		fputs("\\t", out);
	else if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 ||
		 c == 0x2029)
		fprintf(out, "\\u%04" PRIx32, c);
	else if (c == TEXT_BAD)
		fputs("\\ufffd", out);
	else
		fwrite(bytes, 1, n, out);
}

static void put_string(const struct json *j, const char *text, size_t len)
{
	size_t at, n;
	uint32_t c;

	putc('"', j->out);
	for (at = 0; at < len; at += n) {
		n = text_decode(text + at, len - at, &c);
		if (j->is_in_page && is_markup(c))
			fprintf(j->out, "\\u%04" PRIx32, c);
		else
			put_character(j->out, c, text + at, n);
	}
	putc('"', j->out);
}

/* What stands before every value. */
static void begin(struct json *j, const char *key)
{
	bool in_object = j->depth > 0 && j->end[j->depth - 1] == '}';

	assert(in_object == (key != NULL));
	if (j->begun)
		putc_unlocked(',', j->out);
	if (key != NULL) {
		put_string(j, key, strlen(key));
		putc(':', j->out);
	}
	j->begun = true;
}

/* What stands behind every value. */
static void end(struct json *j)
{
	if (j->depth > 0)
		return;
	putc('\n', j->out);
	j->begun = false;
}

static void open_value(struct json *j, const char *key, char first, char last)
{
	begin(j, key);
	assert(j->depth < JSON_DEPTH_MAX);
	putc(first, j->out);
	j->end[j->depth++] = last;
	j->begun = false;
}

void json_object(struct json *j, const char *key)
{
	open_value(j, key, '{', '}');
}

void json_array(struct json *j, const char *key)
{
	open_value(j, key, '[', ']');
}

void json_end(struct json *j)
{
	assert(j->depth > 0);
	putc(j->end[--j->depth], j->out);
	j->begun = true;
	end(j);
}

void json_bytes(struct json *j, const char *key, const char *text, size_t len)
{
	begin(j, key);
	put_string(j, text, len);
	end(j);
}

void json_text(struct json *j, const char *key, const char *text)
{
	if (text == NULL)
		json_null(j, key);
	else
		json_bytes(j, key, text, strlen(text));
}

/* Profiles have millions of them; printf takes five times as long. */
void json_number(struct json *j, const char *key, uint64_t value)
{
	char digits[20];
	size_t at = sizeof digits;

	begin(j, key);
	do
		digits[--at] = (char)('0' + value % 10);
	while ((value /= 10) != 0);
	fwrite_unlocked(digits + at, 1, sizeof digits - at, j->out);
	end(j);
}

void json_signed(struct json *j, const char *key, int64_t value)
{
	begin(j, key);
	fprintf(j->out, "%" PRId64, value);
	end(j);
}

void json_real(struct json *j, const char *key, double value)
{
	begin(j, key);
	if (isfinite(value))
		fprintf(j->out, "%.12g", value);
	else
		fputs("null", j->out);
	end(j);
}

void json_bool(struct json *j, const char *key, bool value)
{
	begin(j, key);
	fputs(value ? "true" : "false", j->out);
	end(j);
}

void json_null(struct json *j, const char *key)
{
	begin(j, key);
	fputs("null", j->out);
	end(j);
}
