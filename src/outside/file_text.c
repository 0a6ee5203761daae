/* outside/file_text.c - the text of META and END chunks.
 *
 * Lines `key=value`. A key is lower-case letters, digits and underscores; in a
 * value, backslash and newline are written \\ and \n, so that any bytes but
 * NUL can stand there. Keys may repeat (`arg`). Readers ignore what they do
 * not know. */
#include "base/fmt.h"
#include "outside/file.h"

#include <stdlib.h>
#include <string.h>

/* -- Writing -- */

static void append(struct file_text *t, char c)
{
	if (t->len + 2 > t->size && !t->failed) {
		size_t size = t->size == 0 ? 256 : 2 * t->size;
		char *more = realloc(t->at, size);

		if (more == NULL) {
			t->failed = 1;
		} else {
			t->at = more;
			t->size = size;
		}
	}
	if (t->failed)
		return;
	t->at[t->len++] = c;
	t->at[t->len] = '\0';
}

void file_text_add(struct file_text *t, const char *key, const char *value)
{
	while (*key != '\0')
		append(t, *key++);
	append(t, '=');
	for (; *value != '\0'; value++) {
		if (*value == '\\' || *value == '\n')
			append(t, '\\');
		append(t, (char)(*value == '\n' ? 'n' : *value));
	}
	append(t, '\n');
}

void file_text_number(struct file_text *t, const char *key, int64_t value)
{
	char text[24];

	fmt_text(text, sizeof text, "%ld", (long)value);
	file_text_add(t, key, text);
}

void file_text_free(struct file_text *t)
{
	free(t->at);
	*t = (struct file_text){0};
}

/* -- Reading -- */

/* The value of a line, unescaped and cut to size. */
static void take_value(const char *from, size_t len, char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 1 < size; i++) {
		char c = from[i];

		if (c == '\\' && i + 1 < len) {
			c = from[++i];
			c = (char)(c == 'n' ? '\n' : c);
		}
		out[n++] = c;
	}
	out[n] = '\0';
}

int file_text_next(const struct file_chunk *c, size_t *at, char *key,
		   size_t key_size, char *value, size_t value_size)
{
	const char *text = (const char *)c->bytes;

	while (*at < c->len) {
		const char *line = text + *at, *equals;
		const char *end = memchr(line, '\n', c->len - *at);
		size_t len = end == NULL ? c->len - *at : (size_t)(end - line);

		*at += len + 1;
		equals = memchr(line, '=', len);
		if (equals == NULL || (size_t)(equals - line) >= key_size)
			continue;
		memcpy(key, line, (size_t)(equals - line));
		key[equals - line] = '\0';
		take_value(equals + 1, len - (size_t)(equals - line) - 1, value,
			   value_size);
		return 1;
	}
	return 0;
}
