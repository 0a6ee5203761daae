/* cli/probe_list.h - what hark probe -l prints. */
#ifndef CLI_PROBE_LIST_H
#define CLI_PROBE_LIST_H

#include "cli/cli.h"
#include "probe/listing.h"

/* All probes of a listing that is made, to standard output. */
int probe_list(const struct listing *l, const struct cli_args *args,
	       struct hark_err *err);

#endif
