/* site/survey_priv.h - for those who make surveys. */
#ifndef SITE_SURVEY_PRIV_H
#define SITE_SURVEY_PRIV_H

#include "site/survey.h"

/* Padding behind the instructions of a part only. */
void survey_padding_in(struct survey *s, uint64_t start, uint64_t end);

#endif
