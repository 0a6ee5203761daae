/* site/survey_priv.h - for those who make surveys. */
#ifndef SITE_SURVEY_PRIV_H
#define SITE_SURVEY_PRIV_H

#include "site/survey.h"

/* Code that is part of no known function. */
struct survey_gap {
	uint64_t start, end;
};

/* Padding behind the instructions of a part only. */
void survey_padding_in(struct survey *s, uint64_t start, uint64_t end);

/* The file says that code begins there, whether or not a function does. */
int survey_reach(struct survey *s, uint64_t addr, struct hark_err *err);
/* Follows the code in n gaps, ascending, that functions have been seen to lead
 * to, and that such code leads to. To be called after all functions. */
int survey_follow_gaps(struct survey *s, const struct survey_gap *gap, size_t n,
		       struct hark_err *err);

#endif
