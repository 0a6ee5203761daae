/* ask/near.h - which names may a misspelt one have meant?
 *
 * Few edits away from it (an exchange of neighbours is one), the fewer the
 * shorter it is; the nearest first, and of equally near ones those that are
 * nearer in the program. No suggestion is better than a silly one. Pure. */
#ifndef ASK_NEAR_H
#define ASK_NEAR_H

#include <stdbool.h>
#include <stddef.h>

enum { NEAR_BEST = 3, NEAR_NAME = 96 };

/* ORDER near_rank: where a name is known. */
enum near_rank { NEAR_SCOPE, NEAR_PROGRAM, NEAR_LIBRARY };

struct near {
	const char *name; /* borrowed: what was written */
	size_t len;
	struct {
		char name[NEAR_NAME];
		unsigned edits;
		enum near_rank rank;
	} best[NEAR_BEST];
	size_t n;
};

void near_begin(struct near *n, const char *name);
/* A name as it is compared, and as it is shown. */
void near_offer(struct near *n, const char *name, const char *shown,
		enum near_rank rank);
/* "; near it: 'a', 'b'", or "". */
void near_text(const struct near *n, char *out, size_t size);

#endif
