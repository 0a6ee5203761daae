/* cli/cmd_ls.c - hark ls: the recordings and profiles that are kept. */
#include "cli/commands.h"

#include "base/fmt.h"
#include "outside/shelf.h"
#include "present/grid.h"
#include "present/json.h"
#include "profile/reader.h"
#include "record/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct row {
	char time[32], command[512], status[64], kind[32];
	int64_t begun; /* seconds; 0: not known */
	uint64_t bytes;
	struct recording_facts facts;
	uint64_t samples; /* of a profile */
	int readable, complete;
};

static void put_command(const struct recording *r, struct row *out)
{
	const char *word;
	size_t len = 0;

	for (unsigned i = 0; (word = recording_meta_nth(r, "arg", i)) != NULL &&
			     len < sizeof out->command;
	     i++)
		len += fmt_text(out->command + len, sizeof out->command - len,
				"%s%s", i == 0 ? "" : " ", word);
}

static void put_status(struct row *out)
{
	const struct recording_facts *f = &out->facts;

	if (!out->readable)
		fmt_text(out->status, sizeof out->status, "damaged");
	else if (!out->complete)
		fmt_text(out->status, sizeof out->status, "cut off");
	else if (f->exit >= 0)
		fmt_text(out->status, sizeof out->status, "exit %d", f->exit);
	else if (f->signal >= 0)
		fmt_text(out->status, sizeof out->status, "signal %d",
			 f->signal);
	else
		fmt_text(out->status, sizeof out->status, "ended");
}

static void put_time(struct row *out)
{
	time_t when = (time_t)out->begun;
	struct tm tm;

	if (localtime_r(&when, &tm) == NULL ||
	    strftime(out->time, sizeof out->time, "%Y-%m-%d %H:%M:%S", &tm) ==
		0)
		out->time[0] = '\0';
}

static void look_at_profile(const char *path, struct row *out)
{
	const struct profile_facts *f;
	struct profile *p;

	if (profile_open_facts(path, &p, NULL) < 0)
		return;
	f = &p->facts;
	if (f->time != 0)
		out->begun = f->time;
	out->facts.exit = f->exit;
	out->facts.signal = f->signal;
	out->facts.processes = (uint32_t)f->processes;
	out->facts.threads = (uint32_t)f->threads;
	out->samples = f->samples;
	out->readable = f->damage == NULL;
	out->complete = f->is_complete;
	fmt_text(out->command, sizeof out->command, "%s", f->command);
	profile_free(p);
}

static void look_at(const char *path, struct row *out)
{
	struct recording *r = NULL;
	const char *begun;
	struct stat st;

	*out = (struct row){.facts = {.exit = -1, .signal = -1}};
	profile_kind(path, out->kind, NULL);
	if (stat(path, &st) == 0) {
		out->begun = st.st_mtim.tv_sec;
		out->bytes = (uint64_t)st.st_size;
	}
	if (strcmp(out->kind, "profile") == 0) {
		look_at_profile(path, out);
	} else if (recording_open_damaged(path, &r, NULL) == 0) {
		begun = recording_meta(r, "time");
		if (begun != NULL)
			out->begun = strtoll(begun, NULL, 10);
		recording_facts(r, &out->facts);
		out->readable = recording_damage(r) == NULL;
		out->complete = recording_is_complete(r);
		put_command(r, out);
		recording_close(r);
	}
	put_status(out);
	put_time(out);
}

static void print_json(const char *name, const struct row *w)
{
	struct json j;

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_text(&j, "name", name);
	json_signed(&j, "time", w->begun);
	json_text(&j, "command", w->command);
	json_number(&j, "bytes", w->bytes);
	json_text(&j, "status", w->status);
	json_bool(&j, "complete", w->complete);
	json_number(&j, "processes", w->facts.processes);
	json_number(&j, "threads", w->facts.threads);
	json_text(&j, "kind", w->kind);
	if (strcmp(w->kind, "profile") == 0)
		json_number(&j, "samples", w->samples);
	json_end(&j);
}

static int add_row(struct grid *g, const char *name, const struct row *w,
		   struct hark_err *err)
{
	enum term_style how =
	    w->readable && w->complete ? TERM_PLAIN : TERM_DOUBTFUL;

	if (grid_cell(g, TERM_PLAIN, err, "%s", w->time) < 0 ||
	    grid_cell(g, TERM_PLAIN, err, "%lu", (unsigned long)w->bytes) < 0 ||
	    grid_cell(g, TERM_PLAIN, err, "%s", w->kind) < 0 ||
	    grid_cell(g, how, err, "%s", w->status) < 0 ||
	    grid_cell(g, TERM_STRONG, err, "%s", name) < 0 ||
	    grid_cell(g, TERM_PLAIN, err, "%s", w->command) < 0)
		return -1;
	return 0;
}

/* The names of a shelf: as a grid, or (NULL) as JSON. */
static int list(const char *dir, char **names, int n, struct grid *g,
		struct hark_err *err)
{
	for (int i = 0; i < n; i++) {
		char path[SHELF_PATH_MAX];
		struct row row;

		if (fmt_text(path, sizeof path, "%s/%s", dir, names[i]) >=
		    sizeof path)
			continue;
		look_at(path, &row);
		if (g == NULL)
			print_json(names[i], &row);
		else if (add_row(g, names[i], &row, err) < 0)
			return -1;
	}
	return 0;
}

int cmd_ls(const struct cli_args *args)
{
	static const enum grid_align align[] = {
	    GRID_LEFT, GRID_RIGHT, GRID_LEFT, GRID_LEFT, GRID_LEFT, GRID_LEFT};
	char dir[SHELF_PATH_MAX], **names = NULL;
	struct hark_err err = {0};
	struct grid *g = NULL;
	int n, rc;

	if (shelf_dir(dir, &err) < 0)
		return cli_fail(&err);
	n = shelf_list(&names, &err);
	if (n < 0)
		return cli_fail(&err);
	rc = args_flag(args, "json") ? 0 : grid_new(6, align, &g, &err);
	if (rc == 0)
		rc = list(dir, names, n, g, &err);
	if (rc == 0 && g != NULL && n > 0)
		grid_print(g, stdout, args_colored(args, STDOUT_FILENO),
			   term_width(STDOUT_FILENO));
	grid_free(g);
	shelf_list_free(names, n);
	return rc < 0 ? cli_fail(&err) : cli_finish(CLI_OK);
}
