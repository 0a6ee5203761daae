/* cli/cmd_verify.c - hark verify: does a recording replay as recorded? */
#include "cli/commands.h"

#include "outside/shelf.h"
#include "present/json.h"
#include "present/progress.h"
#include "present/say.h"
#include "record/count.h"
#include "record/verify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void show_progress(void *ctx, unsigned done, unsigned n)
{
	progress_show(ctx, done, n);
}

/* -- Words -- */

struct outcome {
	struct workers_result r;
	int complete;
};

static void say_texts(const struct outcome *o)
{
	for (unsigned i = 0; i < o->r.n_texts; i++) {
		const struct workers_text *t = &o->r.texts[i];

		if (t->code == HARK_EBUG)
			say_error("mismatch: %s", t->text);
		else if (t->code == HARK_EGONE)
			say_error("segment %u: its replay was %s", t->piece,
				  t->text);
		else if (t->piece < UINT32_MAX)
			say_error("segment %u: %s", t->piece, t->text);
		else
			say_error("%s", t->text);
	}
	if (o->r.bad > o->r.n_texts)
		say_error("and %u more", o->r.bad - o->r.n_texts);
	if (o->r.not_done > 0)
		say_error("%u segments were not replayed", o->r.not_done);
}

static void print_json(const struct outcome *o)
{
	struct json j;

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_number(&j, "segments", o->r.good + o->r.bad);
	json_number(&j, "instructions", o->r.sum);
	json_number(&j, "mismatches", o->r.bad);
	json_number(&j, "not_replayed", o->r.not_done);
	json_bool(&j, "complete", o->complete);
	json_array(&j, "complaints");
	for (unsigned i = 0; i < o->r.n_texts; i++) {
		json_object(&j, NULL);
		if (o->r.texts[i].piece < UINT32_MAX)
			json_number(&j, "segment", o->r.texts[i].piece);
		json_text(&j, "text", o->r.texts[i].text);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
}

static void print_text(const struct outcome *o)
{
	printf("verified: %u segments, %llu instructions, %u mismatches\n",
	       o->r.good + o->r.bad, (unsigned long long)o->r.sum, o->r.bad);
}

/* -- The command -- */

static int parse_jobs(const struct cli_args *args, unsigned *out)
{
	const char *text = args_value(args, "jobs");
	unsigned long n;
	char *end;

	if (text == NULL)
		return 0;
	errno = 0;
	n = strtoul(text, &end, 10);
	if (end == text || *end != '\0' || text[0] == '-' || errno != 0 ||
	    n < 1 || n > WORKERS_MAX)
		return -1;
	*out = (unsigned)n;
	return 0;
}

/* What this processor cannot do is no mismatch: nothing was verified. */
static int check_cpu(const struct recording *r, const struct workers_result *w,
		     struct hark_err *err)
{
	char missing[256];

	for (unsigned i = 0; i < w->n_texts; i++)
		if (w->texts[i].code == HARK_ELACKS) {
			recording_cpu_missing(r, missing, sizeof missing);
			return err_set(err, HARK_ELACKS, 0,
				       "%s; it was recorded on one with %s",
				       w->texts[i].text, missing);
		}
	return 0;
}

static int verify(const struct cli_args *args, struct recording *r,
		  struct outcome *out, struct hark_err *err)
{
	struct progress p = progress_begin();
	struct verify_wish wish = {.ctx = &p};
	char missing[256];
	int rc;

	parse_jobs(args, &wish.jobs);
	if (isatty(STDERR_FILENO) && !args_flag(args, "quiet"))
		wish.progress = show_progress;
	out->complete = recording_is_complete(r);
	if (recording_check(r, err) < 0)
		return -1;
	if (recording_cpu_refuses(r, missing, sizeof missing))
		return err_set(err, HARK_ELACKS, 0,
			       "it cannot be replayed on this processor, which "
			       "lacks %s",
			       missing);
	rc = verify_recording(r, &wish, &out->r, err);
	progress_end(&p);
	return rc == 0 ? check_cpu(r, &out->r, err) : rc;
}

static int report(const struct cli_args *args, const char *path,
		  const struct outcome *o)
{
	struct hark_err err = {0};
	int nothing = o->r.good + o->r.bad + o->r.not_done == 0;

	if (!o->complete && !nothing)
		say("incomplete: the recording was cut off; it was verified to "
		    "its end");
	if (nothing)
		say_error("nothing could be verified: %s",
			  o->complete ? "there is no key frame in it"
				      : "the recording was cut off before its "
					"first key frame");
	say_texts(o);
	if (args_flag(args, "json"))
		print_json(o);
	else if (!nothing)
		print_text(o);
	if (o->r.bad > 0)
		return cli_finish(CLI_NO);
	if (o->r.not_done > 0 || nothing)
		return cli_finish(CLI_FAIL);
	if (args_flag(args, "count") && count_store(path, o->r.sum, &err) < 0)
		return cli_fail(&err);
	return cli_finish(CLI_OK);
}

int cmd_verify(const struct cli_args *args)
{
	char path[SHELF_PATH_MAX];
	struct outcome o = {0};
	struct hark_err err = {0};
	struct recording *r;
	unsigned jobs;
	int rc;

	if (parse_jobs(args, &jobs) < 0)
		return args_refuse(args, "-j takes a number from 1 to %d",
				   WORKERS_MAX);
	if (shelf_find(args_operands(args)[0], path, &err) < 0 ||
	    recording_open(path, &r, &err) < 0)
		return cli_fail(&err);
	rc = verify(args, r, &o, &err);
	recording_close(r);
	return rc < 0 ? cli_fail(&err) : report(args, path, &o);
}
