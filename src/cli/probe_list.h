/* cli/probe_list.h - what hark probe -l prints. */
#ifndef CLI_PROBE_LIST_H
#define CLI_PROBE_LIST_H

#include "cli/cli.h"
#include "probe/draft.h"

/* All probes of a draft, to standard output: those of instructions, then those
 * of clocks. */
int probe_list(const struct draft *d, const struct cli_args *args,
	       struct hark_err *err);

#endif
