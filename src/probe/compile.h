/* probe/compile.h - scripts and their options, before there is a process and
 * when there is one.
 *
 * A script that is wrong should start nothing. But $target and the types of
 * the program are only known once there is one, held before it has begun. So a
 * script is compiled twice: early, where mistakes count that nothing known
 * later could mend; and for a process. Hosted, no I/O. */
#ifndef PROBE_COMPILE_H
#define PROBE_COMPILE_H

#include "probe/options.h"
#include "script/script.h"

/* All borrowed. */
struct compile {
	const struct script_source *sources;
	size_t n_sources;
	const char *const *args; /* $1 and on */
	size_t n_args;
	/* "name" or "name=value": they come after what the scripts say. */
	const char *const *settings;
	size_t n_settings;
	/* One mistake, as a line. */
	void (*say)(void *ctx, const char *text);
	void *ctx;
};

/* Without a process: options, and mistakes. HARK_EINPUT without a text if
 * there were mistakes, which have been said. */
int compile_early(const struct compile *c, struct options *options,
		  struct hark_err *err);

/* The same for a process; types is NULL where nothing is known. */
int compile_for(const struct compile *c, const struct options *options, int pid,
		const struct script_types *types, struct script **out,
		struct hark_err *err);

#endif
