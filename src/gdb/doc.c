/* gdb/doc.c - a text that grows. */
#include "gdb/doc.h"

#include "base/fmt.h"

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

void doc_quoted(struct doc *d, const char *text)
{
	for (; *text != '\0'; text++)
		switch (*text) {
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
		default: /* control characters have no place in XML */
			doc_text(d, "%c",
				 (unsigned char)*text < ' ' ? '?' : *text);
		}
}
