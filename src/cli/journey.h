/* cli/journey.h - what hark back and hark gdbserver have in common: a file, a
 * process, a moment.
 *
 * Options may stand before FILE and behind it. */
#ifndef CLI_JOURNEY_H
#define CLI_JOURNEY_H

#include "cli/cli.h"

#include <signal.h>

struct gdb;
struct hark_recording;
struct journey;

struct journey_wish {
	const struct cli_args *args; /* borrowed */
	struct cli_args *more;	     /* owned; behind FILE, or NULL */
	const char *file;	     /* NULL: the latest */
	char **rest;		     /* what is left, up to a NULL */
};

/* CLI_OK, or the exit status after a complaint. */
int journey_parse(const struct cli_args *args, const char *command,
		  struct journey_wish *out);
void journey_forget(struct journey_wish *wish);
const char *journey_value(const struct journey_wish *wish, const char *option);
int journey_flag(const struct journey_wish *wish, const char *option);

/* The same. A question that takes long is given up when *interrupt is set. */
int journey_open(const struct journey_wish *wish,
		 volatile sig_atomic_t *interrupt, struct journey **out);
void journey_close(struct journey *t);

struct gdb *journey_gdb(struct journey *t);
struct hark_recording *journey_recording(struct journey *t);
/* A line about what is seen. */
const char *journey_title(const struct journey *t);

#endif
