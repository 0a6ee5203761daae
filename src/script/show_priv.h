/* script/show_priv.h - values on their way from bytes to text. */
#ifndef SCRIPT_SHOW_PRIV_H
#define SCRIPT_SHOW_PRIV_H

#include "script/script_priv.h"
#include "script/show.h"

struct shown {
	const struct probe_part *part;
	uint64_t number; /* of a stack: its frames */
	const uint8_t *bytes;
	size_t len;
};

/* The next value; -1 if the bytes end before it does. */
int shown_next(const struct probe_part *part, const uint8_t **at,
	       const uint8_t *end, struct shown *out);
void shown_by(const struct show *s, const struct conversion *c,
	      const struct shown *v, FILE *out);
/* As trace() does. */
void shown_plainly(const struct show *s, const struct shown *v, FILE *out);
/* The text between two conversions. */
void shown_text(const char *from, const char *to, FILE *out);

#endif
