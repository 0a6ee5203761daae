/* gdb/doc.c - a text that grows. */
#include "gdb/doc.h"

#include "base/fmt.h"
#include "present/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void doc_clear(struct doc *d)
{
	d->n = 0;
	d->is_short = 0;
}

void doc_free(struct doc *d)
{
	free(d->at);
	*d = (struct doc){0};
}

/* Room for len bytes more. */
static int fit(struct doc *d, size_t len)
{
	size_t room = d->room < 1024 ? 1024 : d->room;
	uint8_t *grown;

	while (room - d->n < len && room <= SIZE_MAX / 4)
		room += room / 2;
	if (room == d->room)
		return 0;
	grown = room - d->n < len ? NULL : realloc(d->at, room);
	if (grown == NULL) {
		d->is_short = 1;
		return -1;
	}
	d->at = grown;
	d->room = room;
	return 0;
}

void doc_add(struct doc *d, const void *bytes, size_t len)
{
	if (len == 0 || fit(d, len) < 0)
		return;
	memcpy(d->at + d->n, bytes, len);
	d->n += len;
}

void doc_text(struct doc *d, const char *format, ...)
{
	va_list args, again;
	size_t len;

	va_start(args, format);
	va_copy(again, args);
	len = fmt_vtext(NULL, 0, format, args);
	if (fit(d, len + 1) == 0) {
		fmt_vtext((char *)d->at + d->n, len + 1, format, again);
		d->n += len;
	}
	va_end(again);
	va_end(args);
}

/* Without what a terminal, or XML, would not take for a letter. Owned by the
 * caller. */
static char *make_plain(struct doc *d, const char *text)
{
	size_t len = strlen(text), size = 4 * len + 1;
	char *out = malloc(size);

	if (out == NULL)
		d->is_short = 1;
	else
		text_escape(text, len, out, size);
	return out;
}

void doc_plain(struct doc *d, const char *text)
{
	char *plain = make_plain(d, text);

	if (plain != NULL)
		doc_add(d, plain, strlen(plain));
	free(plain);
}

void doc_quoted(struct doc *d, const char *text)
{
	char *plain = make_plain(d, text);

	for (const char *at = plain; at != NULL && *at != '\0'; at++)
		switch (*at) {
		case '&':
			doc_text(d, "&amp;");
			break;
		case '<':
			doc_text(d, "&lt;");
			break;
		case '>':
			doc_text(d, "&gt;");
			break;
		case '"':
			doc_text(d, "&quot;");
			break;
		case '\'':
			doc_text(d, "&apos;");
			break;
		default:
			doc_add(d, at, 1);
		}
	free(plain);
}
