/* ask/prose.h - a text that grows, up to a limit.
 *
 * What does not fit any more, or finds no memory, is left out; the text says
 * so by "..." at its end. */
#ifndef ASK_PROSE_H
#define ASK_PROSE_H

#include <stdbool.h>
#include <stddef.h>

struct prose {
	char *at; /* owned; NULL: nothing yet */
	size_t len, room, max;
	bool is_cut;
};

void prose_init(struct prose *t, size_t max);
void prose_fini(struct prose *t);
void prose_put(struct prose *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A byte as C writes it between these quotes. */
void prose_char(struct prose *t, unsigned char c, char quote);
/* Never NULL. */
const char *prose_of(const struct prose *t);

#endif
