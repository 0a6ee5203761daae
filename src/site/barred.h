/* site/barred.h - bytes of a module's code that no probe may change or move,
 * each with the reason.
 *
 * A survey says what code is. This says where a program would be harmed
 * although the code is known, or that it may not be code at all. Hosted, no
 * I/O. */
#ifndef SITE_BARRED_H
#define SITE_BARRED_H

#include "site/survey.h"

enum barred { /* 0: it is not */
	      BARRED_SEQUENCE = 1,
	      BARRED_SEQUENCES, /* there is one somewhere around it */
	      BARRED_LABEL,
	      BARRED_MAX
};

/* Bytes [start, end), as far as they are in the survey, get that reason. */
int barred_add(struct survey *s, uint64_t start, uint64_t end, enum barred why,
	       struct hark_err *err);

/* Is one of len bytes barred? The reason in words, or NULL. */
const char *barred_why(const struct survey *s, uint64_t addr, uint64_t len);

#endif
