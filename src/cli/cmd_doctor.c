/* cli/cmd_doctor.c - hark doctor: what works here, and why not. */
#include "cli/commands.h"

#include "cli/probes.h"
#include "present/grid.h"
#include "present/json.h"
#include "present/term.h"

#include <string.h>
#include <unistd.h>

/* One line: what, state, what was found and what to do. */
static int add_line(struct grid *g, const struct probe *p,
		    const struct finding *f, struct hark_err *err)
{
	/* ORDER finding_state */
	static const enum term_style styles[] = {TERM_GOOD, TERM_DOUBTFUL,
						 TERM_BAD};

	if (grid_cell(g, TERM_PLAIN, err, "%s", p->title) < 0 ||
	    grid_cell(g, styles[f->state], err, "%s",
		      finding_state_name(f->state)) < 0)
		return -1;
	return grid_cell(g, TERM_PLAIN, err, "%s%s%s", f->value,
			 f->advice[0] != '\0' ? ": " : "", f->advice);
}

static bool is_fatal(const struct probe *p, const struct finding *f)
{
	return p->essential && f->state == FINDING_NO;
}

static int print_text(const struct finding *found, bool works, bool colored,
		      struct hark_err *err)
{
	struct grid *g = NULL;
	int rc = -1;

	if (grid_new(3, NULL, &g, err) < 0)
		goto out;
	for (size_t i = 0; probes[i].key != NULL; i++)
		if (add_line(g, &probes[i], &found[i], err) < 0)
			goto out;
	grid_print(g, stdout, colored, term_width(STDOUT_FILENO));
	puts(works ? "hark works here." : "hark does not work here.");
	rc = 0;
out:
	grid_free(g);
	return rc;
}

static void print_json(const struct finding *found, bool works)
{
	struct json j;

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_text(&j, "version", HARK_VERSION);
	json_bool(&j, "works", works);
	json_object(&j, "checks");
	for (size_t i = 0; probes[i].key != NULL; i++) {
		const struct finding *f = &found[i];

		json_object(&j, probes[i].key);
		json_text(&j, "state", finding_state_name(f->state));
		json_bool(&j, "essential", probes[i].essential);
		json_text(&j, "value", f->value);
		json_text(&j, "advice", f->advice[0] ? f->advice : NULL);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
}

int cmd_doctor(const struct cli_args *args)
{
	struct finding found[PROBE_MAX];
	struct hark_err err;
	bool works = true;

	memset(found, 0, sizeof found);
	for (size_t i = 0; probes[i].key != NULL; i++) {
		trial_run(probes[i].attempt, PROBE_LIMIT_MS, &found[i]);
		works = works && !is_fatal(&probes[i], &found[i]);
	}
	if (args_flag(args, "json"))
		print_json(found, works);
	else if (print_text(found, works, args_colored(args, STDOUT_FILENO),
			    &err) < 0)
		return cli_fail(&err);
	return cli_finish(works ? CLI_OK : CLI_NO);
}
