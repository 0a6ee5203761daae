/* cli/show_formats.h - what hark show can write. */
#ifndef CLI_SHOW_FORMATS_H
#define CLI_SHOW_FORMATS_H

#include "profile/report.h"

struct show_format {
	const char *name;
	/* One of the two. */
	int (*report)(const struct report_plan *p, FILE *out,
		      struct hark_err *err);
	int (*present)(const struct stacks *s, FILE *out, struct hark_err *err);
	bool is_binary; /* not for terminals */
};

/* NULL: there is none of that name. */
const struct show_format *show_format(const char *name);

#endif
