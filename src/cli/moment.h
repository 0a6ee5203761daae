/* cli/moment.h - a recording, put to the moment that a command line names.
 *
 * --at POS and --process P say which; without them it is the end of the first
 * process. While it takes long there is progress on a terminal, and SIGINT
 * gives it up. */
#ifndef CLI_MOMENT_H
#define CLI_MOMENT_H

#include "ask/source.h"
#include "cli/cli.h"
#include "present/progress.h"

struct moment {
	struct ask_pair pair;
	struct progress progress;
	bool quiet;
};

/* name: as in shelf_find. The command has options at, process, quiet.
 * is_search: all of the recording will be looked through. */
int moment_open(const struct cli_args *args, const char *name, bool is_search,
		struct moment *out, struct hark_err *err);
void moment_close(struct moment *m);
/* Takes away what progress has written. */
void moment_hush(struct moment *m);

/* "1:20+3", "start", "end", "50%" of its process. */
int moment_position(struct moment *m, const char *text,
		    struct hark_position *out, struct hark_err *err);

#endif
