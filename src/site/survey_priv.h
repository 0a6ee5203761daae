/* site/survey_priv.h - for those who make surveys. */
#ifndef SITE_SURVEY_PRIV_H
#define SITE_SURVEY_PRIV_H

#include "site/survey.h"

/* Code that is part of no known function. */
struct survey_gap {
	uint64_t start, end;
};

struct symbol;

/* symbols_each() of all functions, or symbols_each_own(). */
typedef int survey_each(struct image_file *f,
			int (*visit)(void *ctx, const struct symbol *y),
			void *ctx, struct hark_err *err);

/* Is it not known where the function ends, so that data may follow its code? */
bool survey_is_strict(const struct symbol *y);
/* After all functions: looks at labels that are proved to be code, and bars the
 * others (survey_labels.c). */
int survey_labels(struct survey *s, struct image_file *f, survey_each *each,
		  struct hark_err *err);

/* Padding behind the instructions of a part only. */
void survey_padding_in(struct survey *s, uint64_t start, uint64_t end);

/* The file says that code begins there, whether or not a function does. */
int survey_reach(struct survey *s, uint64_t addr, struct hark_err *err);
/* Follows the code in n gaps, ascending, that functions have been seen to lead
 * to, and that such code leads to. To be called after all functions. */
int survey_follow_gaps(struct survey *s, const struct survey_gap *gap, size_t n,
		       struct hark_err *err);

#endif
