/* cli/run_translated.h - hark run without --native. */
#ifndef CLI_RUN_TRANSLATED_H
#define CLI_RUN_TRANSLATED_H

#include "cli/cli.h"

/* Runs it to its end and ends hark as it ended; returns only what hark itself
 * has to say. */
int run_translated(const struct cli_args *args);

#endif
