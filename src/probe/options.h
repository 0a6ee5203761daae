/* probe/options.h - what -x and `#pragma D option` may change. Hosted, no
 * I/O. */
#ifndef PROBE_OPTIONS_H
#define PROBE_OPTIONS_H

#include "base/err.h"
#include "script/show.h"
#include "wire/collect.h"

#include <stdbool.h>

/* When probes are put into a program that hark starts. */
enum evaltime {
	EVALTIME_EXEC,	   /* libraries are mapped, no initialiser has run */
	EVALTIME_PREINIT,  /* the same */
	EVALTIME_POSTINIT, /* all have run: at main */
	EVALTIME_MAIN,	   /* the same */
};

struct options {
	uint64_t bufsize;    /* of each thread's records, in bytes */
	uint64_t bufpolicy;  /* enum collect_policy */
	uint64_t aggsize;    /* of each thread's aggregations */
	uint64_t strsize;    /* of texts, with their NUL */
	uint64_t dynvarsize; /* of associative arrays */
	uint64_t nspec, specsize;
	uint64_t ustackframes;
	uint64_t switchrate; /* ns from one look at the buffers to the next */
	uint64_t evaltime;   /* enum evaltime */
	struct show_order order; /* of aggregations */
	bool quiet, flowindent, destructive, defaultargs;
	bool samples; /* of no script: threads are sampled */
};

void options_init(struct options *o);

/* value is NULL where none was given. An unknown name, or a value that cannot
 * be, is an error that says what can. */
int options_set(struct options *o, const char *name, const char *value,
		struct hark_err *err);
/* The same of "name" or "name=value". */
int options_parse(struct options *o, const char *text, struct hark_err *err);

/* How the board is to be divided. */
void options_geometry(const struct options *o, struct collect_geometry *out);

#endif
