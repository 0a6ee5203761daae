/* profile/report.h - a profile for a person, and the same as JSON.
 *
 * Text: what it is of, a list of functions, a tree of calls, and notes. JSON:
 * one object with the same, and more functions. Hosted. */
#ifndef PROFILE_REPORT_H
#define PROFILE_REPORT_H

#include "base/err.h"
#include "present/stacks.h"
#include "profile/calls.h"
#include "profile/reader.h"

#include <stdio.h>

struct report_plan {
	const struct profile *profile; /* borrowed */
	const struct stacks *stacks;   /* borrowed: samples chosen from it */
	enum calls_view view;
	double share; /* of 0 to 1: calls below it are left out */
	bool colored;
	size_t width; /* of lines; 0: as long as they are */
};

int report_text(const struct report_plan *p, FILE *out, struct hark_err *err);
int report_json(const struct report_plan *p, FILE *out, struct hark_err *err);

#endif
