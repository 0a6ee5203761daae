/* gdb/words.c - a packet's body, from left to right. */
#include "gdb/words.h"

#include <string.h>

int words_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int words_skip(struct words *w, const char *text)
{
	size_t len = strlen(text);

	if ((size_t)(w->end - w->at) < len || memcmp(w->at, text, len) != 0)
		return 0;
	w->at += len;
	return 1;
}

int words_name(struct words *w, const char *text)
{
	struct words tried = *w;

	if (!words_skip(&tried, text))
		return 0;
	if (tried.at < tried.end && strchr(":,;", *tried.at) == NULL)
		return 0;
	*w = tried;
	return 1;
}

int words_number(struct words *w, uint64_t *out)
{
	const char *at = w->at;
	uint64_t n = 0;

	while (at < w->end && at < w->at + 16 && words_digit(*at) >= 0)
		n = n << 4 | (unsigned)words_digit(*at++);
	if (at == w->at)
		return 0;
	w->at = at;
	*out = n;
	return 1;
}

size_t words_hex(struct words *w, uint8_t *out, size_t max)
{
	size_t n = 0;

	while (n < max && w->end - w->at >= 2) {
		int high = words_digit(w->at[0]), low = words_digit(w->at[1]);

		if (high < 0 || low < 0)
			break;
		out[n++] = (uint8_t)(high << 4 | low);
		w->at += 2;
	}
	return n;
}

int words_hex_text(struct words *w, char *out, size_t size)
{
	struct words tried = *w;
	size_t n = words_hex(&tried, (uint8_t *)out, size - 1);

	out[n] = '\0';
	if (n == 0 || (tried.at < tried.end && words_digit(*tried.at) >= 0))
		return -1;
	*w = tried;
	return 0;
}

static int signed_number(struct words *w, int64_t *out)
{
	uint64_t n;

	if (words_skip(w, "-1")) {
		*out = -1;
		return 1;
	}
	if (!words_number(w, &n) || n > INT32_MAX)
		return 0;
	*out = (int64_t)n;
	return 1;
}

int words_thread(struct words *w, struct words_thread *out)
{
	struct words tried = *w;
	struct words_thread t = {.tid = -1};

	if (words_skip(&tried, "p")) {
		if (!signed_number(&tried, &t.pid))
			return 0;
		if (words_skip(&tried, ".") && !signed_number(&tried, &t.tid))
			return 0;
	} else if (!signed_number(&tried, &t.tid)) {
		return 0;
	}
	*out = t;
	*w = tried;
	return 1;
}
