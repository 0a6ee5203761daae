/* cli/run_translated.c - a program through the virtual processor. */
#include "cli/run_translated.h"

#include "cli/run_stats.h"
#include "outside/run.h"
#include "outside/supervise.h"
#include "outside/tracee.h"
#include "present/say.h"

#include <stdlib.h>

static void note(void *ctx, const char *text)
{
	(void)ctx;
	say("%s", text);
}

static int is_farewell(int sig)
{
	return abs(sig) == SIGINT || abs(sig) == SIGTERM;
}

/* Until the program ends (0). Signals are meant for it; with -D and with -p
 * they are hark's own, and the program goes on without it (1). */
static int wait_for(struct run *r, int beside)
{
	enum run_status more;

	while ((more = run_step(r)) != RUN_DONE) {
		int sig =
		    supervise_wait(beside ? 0 : run_root(r), more == RUN_ON);

		if (beside && is_farewell(sig))
			return 1;
	}
	return 0;
}

static uint32_t flags_of(const struct cli_args *args)
{
	uint32_t flags = 0;

	if (args_flag(args, "stats") || args_flag(args, "count"))
		flags |= WIRE_RUN_TIME;
	if (args_flag(args, "count"))
		flags |= WIRE_RUN_COUNT;
	return flags;
}

/* The program's wait status, -1 if it is not ours to know. */
static int run_all(const struct cli_args *args, const struct supervise *s,
		   int *status, struct run_totals *totals, struct hark_err *err)
{
	struct launch launch = {
	    .argv = args_operands(args),
	    .mask = &s->before,
	    .ignore_chld = s->chld_was_ignored,
	    .beside = args_flag(args, "detach"),
	};
	pid_t pid = args_pid(args, "pid");
	struct run_plan plan = {
	    .launch = pid == 0 ? &launch : NULL,
	    .pid = pid,
	    .flags = flags_of(args),
	    .follow = !args_flag(args, "no-follow"),
	    .note = note,
	};
	struct run *r;

	if (run_start(&plan, &r, err) < 0)
		return -1;
	if (wait_for(r, launch.beside || pid != 0) && pid != 0)
		run_leave(r);
	*status = run_exit_status(r);
	run_close(r, totals);
	return 0;
}

int run_translated(const struct cli_args *args)
{
	int64_t begun_ns = tracee_now_ns();
	struct run_totals totals;
	struct supervise s;
	struct hark_err err = {0};
	int status = -1, rc;

	supervise_begin(&s);
	rc = run_all(args, &s, &status, &totals, &err);
	supervise_end(&s);
	if (rc < 0)
		return args_pid(args, "pid") != 0 ? cli_fail(&err)
						  : cli_fail_start(&err);
	if (args_flag(args, "stats") || args_flag(args, "count"))
		run_stats_tell(&totals, tracee_now_ns() - begun_ns,
			       flags_of(args), args_flag(args, "json"));
	if (status >= 0)
		supervise_exit_as(status);
	return CLI_OK;
}
