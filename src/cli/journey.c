/* cli/journey.c - opens a recording for a debugger. */
#include "cli/journey.h"

#include "base/fmt.h"
#include "cli/args.h"
#include "gdb/server.h"
#include "outside/shelf.h"
#include "present/say.h"
#include "present/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct journey {
	struct hark_recording *recording; /* owned */
	struct gdb *gdb;		  /* owned */
	char title[512];
};

/* -- The command line -- */

int journey_parse(const struct cli_args *args, const char *command,
		  struct journey_wish *out)
{
	struct journey_wish w = {.args = args, .rest = args_operands(args)};
	struct hark_err err;

	if (w.rest[0] != NULL && w.rest[0][0] != '-') {
		w.file = w.rest[0];
		if (args_parse(table_command(command), w.rest + 1, &w.more,
			       &err) < 0)
			return cli_fail(&err);
		w.rest = args_operands(w.more);
	}
	*out = w;
	return CLI_OK;
}

void journey_forget(struct journey_wish *wish)
{
	args_free(wish->more);
}

const char *journey_value(const struct journey_wish *wish, const char *option)
{
	const char *value =
	    wish->more == NULL ? NULL : args_value(wish->more, option);

	return value != NULL ? value : args_value(wish->args, option);
}

int journey_flag(const struct journey_wish *wish, const char *option)
{
	return args_flag(wish->args, option) ||
	       (wish->more != NULL && args_flag(wish->more, option));
}

/* -- Opening -- */

static int fail(const struct hark_error *err)
{
	say_error("%s", err->text);
	return CLI_FAIL;
}

/* A process by its number, or by its pid. */
static const struct hark_process *choose(struct hark_recording *r,
					 const char *text)
{
	unsigned long n;
	char *end;

	if (hark_n_processes(r) == 0)
		return NULL;
	if (text == NULL)
		return hark_process(r, 0);
	errno = 0;
	n = strtoul(text, &end, 10);
	if (end == text || *end != '\0' || errno != 0)
		return NULL;
	for (unsigned i = 0; i < hark_n_processes(r); i++)
		if (hark_process(r, i)->number == n)
			return hark_process(r, i);
	for (unsigned i = 0; i < hark_n_processes(r); i++)
		if (hark_process(r, i)->pid == n)
			return hark_process(r, i);
	return NULL;
}

static int say_processes(struct hark_recording *r, const char *text)
{
	enum { SHOWN = 20 };
	char plain[400];

	if (hark_n_processes(r) == 0) {
		say_error("there is no process in this recording");
		return CLI_FAIL;
	}
	say_error("there is no process %s in this recording; there are:", text);
	for (unsigned i = 0; i < hark_n_processes(r) && i < SHOWN; i++) {
		const struct hark_process *p = hark_process(r, i);

		text_escape(p->command, strlen(p->command), plain,
			    sizeof plain);
		say_error("%u, pid %u: %s", p->number, p->pid, plain);
	}
	if (hark_n_processes(r) > SHOWN)
		say_error("and %u more", hark_n_processes(r) - SHOWN);
	return CLI_FAIL;
}

static int open_gdb(struct journey *t, const struct journey_wish *wish,
		    volatile sig_atomic_t *interrupt)
{
	const char *text = journey_value(wish, "process");
	const struct hark_process *p = choose(t->recording, text);
	struct hark_error err = {0};
	struct gdb_wish g = {
	    .api = &gdb_api,
	    .recording = t->recording,
	    .at = journey_value(wish, "at"),
	};
	char plain[400];

	if (p == NULL)
		return say_processes(t->recording, text);
	g.process = p->number;
	g.interrupt = interrupt;
	if (gdb_new(&g, &t->gdb, &err) < 0)
		return fail(&err);
	text_escape(p->command, strlen(p->command), plain, sizeof plain);
	if (plain[0] == '\0')
		fmt_text(plain, sizeof plain, "forked by process %u",
			 p->parent);
	fmt_text(t->title, sizeof t->title, "hark: %s, pid %u%s%s", plain,
		 p->pid, p->exit_signal > 0 ? ", killed by signal: " : "",
		 p->exit_signal > 0 ? strsignal(p->exit_signal) : "");
	return CLI_OK;
}

int journey_open(const struct journey_wish *wish,
		 volatile sig_atomic_t *interrupt, struct journey **out)
{
	char path[SHELF_PATH_MAX];
	struct hark_error error = {0};
	struct hark_err err = {0};
	struct journey *t;
	int status;

	if (shelf_find(wish->file, path, &err) < 0)
		return cli_fail(&err);
	t = calloc(1, sizeof *t);
	if (t == NULL) {
		say_error("out of memory");
		return CLI_FAIL;
	}
	status = hark_open(path, &t->recording, &error) < 0
		     ? fail(&error)
		     : open_gdb(t, wish, interrupt);
	if (status != CLI_OK) {
		journey_close(t);
		return status;
	}
	if (!hark_is_complete(t->recording))
		say("incomplete: the recording was cut off");
	*out = t;
	return CLI_OK;
}

void journey_close(struct journey *t)
{
	if (t == NULL)
		return;
	gdb_free(t->gdb);
	if (t->recording != NULL)
		hark_close(t->recording);
	free(t);
}

struct gdb *journey_gdb(struct journey *t)
{
	return t->gdb;
}

struct hark_recording *journey_recording(struct journey *t)
{
	return t->recording;
}

const char *journey_title(const struct journey *t)
{
	return t->title;
}
