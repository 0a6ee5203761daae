/* probe/flow.h - calls and returns, indented: -F.
 *
 *	-> main
 *	  -> parse
 *	   | parse:1f
 *	  <- parse
 *	<- main
 *
 * Each thread has an indentation of its own. Where several clauses show
 * something of one hit, the first has the arrow. Hosted, no I/O. */
#ifndef PROBE_FLOW_H
#define PROBE_FLOW_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flow;

int flow_new(struct flow **out, struct hark_err *err);
void flow_free(struct flow *f);

enum flow_kind { FLOW_OTHER, FLOW_ENTRY, FLOW_RETURN };

struct flow_hit {
	uint32_t pid, tid;
	uint32_t site, clause;
	enum flow_kind kind;
};

struct flow_line {
	unsigned indent;
	const char *arrow; /* "-> ", "<- " or " | " */
	bool names_all;	   /* function:name, not the function alone */
};

/* False: no memory; out is a line without indentation then. */
bool flow_step(struct flow *f, const struct flow_hit *h, struct flow_line *out);

#endif
