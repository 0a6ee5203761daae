/* ask/prose.c - a text that grows, up to a limit. */
#include "ask/prose.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void prose_init(struct prose *t, size_t max)
{
	*t = (struct prose){.max = max};
}

void prose_fini(struct prose *t)
{
	free(t->at);
	*t = (struct prose){0};
}

const char *prose_of(const struct prose *t)
{
	return t->at != NULL ? t->at : "";
}

/* Room for n more and "..." behind them. */
static bool fit(struct prose *t, size_t n)
{
	size_t want = t->len + n + 4, room = t->room;
	char *more;

	if (t->len + n > t->max)
		return false;
	if (want <= t->room)
		return true;
	room += room / 2;
	room = room < want ? want : room;
	room = room < 64 ? 64 : room;
	more = realloc(t->at, room);
	if (more == NULL)
		return false;
	t->at = more;
	t->room = room;
	return true;
}

static void cut(struct prose *t)
{
	if (!t->is_cut && t->at != NULL && t->room - t->len >= 4)
		memcpy(t->at + t->len, "...", 4);
	t->is_cut = true;
}

void prose_put(struct prose *t, const char *format, ...)
{
	va_list args, again;
	int n;

	if (t->is_cut)
		return;
	va_start(args, format);
	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n < 0 || !fit(t, (size_t)n)) {
		cut(t);
	} else {
		vsnprintf(t->at + t->len, t->room - t->len, format, again);
		t->len += (size_t)n;
	}
	va_end(again);
}

void prose_char(struct prose *t, unsigned char c, char quote)
{
	static const char plain[] = "\a\b\t\n\v\f\r\033";
	static const char letter[] = "abtnvfre";
	const char *found = c != 0 ? strchr(plain, c) : NULL;

	if (found != NULL)
		prose_put(t, "\\%c", letter[found - plain]);
	else if (c == '\\' || c == (unsigned char)quote)
		prose_put(t, "\\%c", c);
	else if (c >= 32 && c < 127)
		prose_put(t, "%c", c);
	else
		prose_put(t, "\\%03o", c);
}
