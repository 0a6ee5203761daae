/* cli/probe_account.h - what became of every hit: hark probe's last words. */
#ifndef CLI_PROBE_ACCOUNT_H
#define CLI_PROBE_ACCOUNT_H

#include "cli/cli.h"
#include "probe/session.h"

/* Says it on standard error: as --json, -v and -q say. A loss is never kept
 * quiet about. */
void probe_account(const struct session *s, const struct cli_args *args);

#endif
