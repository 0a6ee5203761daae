/* cli/run_stats.h - what the virtual processor counted, for people and for
 * programs. On standard error: standard output is the program's. */
#ifndef CLI_RUN_STATS_H
#define CLI_RUN_STATS_H

#include "outside/run.h"

#include <stdbool.h>
#include <stdint.h>

/* flags: WIRE_RUN_*, what was asked for. */
void run_stats_tell(const struct run_totals *t, int64_t wall_ns, uint32_t flags,
		    bool as_json);

#endif
