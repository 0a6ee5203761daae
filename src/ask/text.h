/* ask/text.h - a text that grows, up to a limit.
 *
 * What does not fit any more, or finds no memory, is left out; the text says
 * so by "..." at its end. */
#ifndef ASK_TEXT_H
#define ASK_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
	char *at; /* owned; NULL: nothing yet */
	size_t len, room, max;
	bool is_cut;
};

void text_init(struct text *t, size_t max);
void text_fini(struct text *t);
void text_put(struct text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A byte as C writes it between these quotes. */
void text_char(struct text *t, unsigned char c, char quote);
/* Never NULL. */
const char *text_of(const struct text *t);

#endif
