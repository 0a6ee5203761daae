/* cli/cmd_probe.c - hark probe: a script asks a program. */
#include "cli/commands.h"

#include "cli/probe_account.h"
#include "cli/probe_list.h"
#include "cli/probe_script.h"
#include "cli/probe_watch.h"
#include "outside/hold.h"
#include "outside/supervise.h"
#include "present/say.h"
#include "probe/draft.h"
#include "probe/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job {
	const struct cli_args *args;
	struct probe_script script;
	char **words; /* owned: those of -c */
	char **argv;  /* borrowed: the program; NULL: pid */
	pid_t pid;    /* runs already; 0: none */
	struct supervise supervise;
	struct launch launch;
	const char *path; /* of -o; NULL: standard output */
	bool is_new;	  /* there was no such file */
	FILE *out;	  /* owned, if path is not NULL */
};

/* -- The command line -- */

static int check_program(struct job *job)
{
	const struct cli_args *args = job->args;
	const char *command = args_value(args, "command");

	job->pid = args_pid(args, "pid");
	if (job->pid != 0 && command != NULL)
		return args_refuse(args, "-p and -c exclude each other");
	if (job->pid != 0 && args_flag(args, "detach"))
		return args_refuse(args, "-D is for a program to be started");
	if (job->pid != 0)
		return CLI_OK;
	if (command != NULL) {
		job->words = probe_script_words(command);
		if (job->words == NULL)
			return args_refuse(args, "out of memory");
	}
	job->argv = command != NULL ? job->words : args_operands(args);
	if (job->argv[0] == NULL)
		return args_refuse(args, "which program?");
	return CLI_OK;
}

static int check_options(struct job *job)
{
	const struct cli_args *args = job->args;

	if (args_value(args, "name") == NULL &&
	    args_value(args, "script") == NULL)
		return args_refuse(args, "which probes? -n or -s names them");
	if (args_flag(args, "list") && args_flag(args, "detach"))
		return args_refuse(args, "-D and -l exclude each other");
	return check_program(job);
}

/* Mistakes of scripts have been said already. */
static int fail(const struct hark_err *err)
{
	return err->text[0] != '\0' ? cli_fail(err) : CLI_FAIL;
}

/* -- Listing -- */

static int list(struct job *job, pid_t pid, struct hark_err *err)
{
	struct image *im = NULL;
	struct draft d = {0};
	int rc = -1;

	if (image_new(&im, err) == 0 &&
	    draft_init(&d, im, pid, pid, &job->script.compile,
		       &job->script.options, DRAFT_LISTED, err) == 0)
		rc = probe_list(&d, job->args, err);
	draft_fini(&d);
	image_free(im);
	return rc;
}

static int list_started(struct job *job)
{
	struct hark_err err = {0};
	pid_t pid;
	int rc;

	supervise_begin(&job->supervise);
	job->launch.ignore_chld = job->supervise.chld_was_ignored;
	if (hold_start(&job->launch, &pid, &err) < 0) {
		supervise_end(&job->supervise);
		return cli_fail_start(&err);
	}
	rc = list(job, pid, &err);
	hold_end(pid);
	supervise_end(&job->supervise);
	return rc < 0 ? fail(&err) : cli_finish(CLI_OK);
}

static int list_running(struct job *job)
{
	struct hark_err err = {0};

	return list(job, job->pid, &err) < 0 ? fail(&err) : cli_finish(CLI_OK);
}

/* -- Where it goes -- */

static int open_out(struct job *job, struct hark_err *err)
{
	const char *path = args_value(job->args, "output");

	job->out = stdout;
	if (path == NULL || strcmp(path, "-") == 0)
		return 0;
	job->is_new = access(path, F_OK) < 0;
	job->out = output_open(path, args_flag(job->args, "force"), err);
	if (job->out == NULL)
		return -1;
	job->path = path;
	return 0;
}

/* failed: and nothing came of it. */
static int close_out(struct job *job, bool failed, struct hark_err *err)
{
	int rc = 0;

	if (job->path == NULL)
		return 0;
	if (fclose(job->out) != 0)
		rc = err_set(err, HARK_EIO, errno, "%s: %s", job->path,
			     strerror(errno));
	if (failed && job->is_new)
		unlink(job->path);
	return rc;
}

/* -- Running -- */

/* From the first probe to the last word. *status is the program's, or -1. */
static int run_session(struct job *job, struct session *s, int *status,
		       struct hark_err *err)
{
	bool is_child = job->argv != NULL && !job->launch.beside;
	enum session_status why = SESSION_ON;
	struct hark_err second;
	int rc = probe_watch(s, is_child, &why, err);

	if (session_stop(s, rc < 0 ? &second : err) < 0)
		rc = -1;
	probe_account(s, job->args);
	*status = -1;
	if (is_child && (rc < 0 || why != SESSION_EXIT))
		*status = probe_wait_child(session_pid(s), NULL);
	return rc;
}

static int open_session(struct job *job, struct session **out)
{
	struct session_plan plan = {
	    .script = &job->script.compile,
	    .options = &job->script.options,
	    .launch = job->argv != NULL ? &job->launch : NULL,
	    .pid = job->pid,
	    .follows = args_flag(job->args, "follow"),
	    .out = job->out,
	    .note = probe_tell,
	};
	struct hark_err err = {0};
	bool has_begun;

	if (session_open(&plan, out, &has_begun, &err) == 0)
		return CLI_OK;
	return has_begun ? fail(&err) : cli_fail_start(&err);
}

static int run(struct job *job)
{
	struct hark_err err = {0};
	struct session *s = NULL;
	int rc, status = -1, exit_status = 0;

	if (open_out(job, &err) < 0)
		return cli_fail(&err);
	supervise_begin(&job->supervise);
	job->launch.ignore_chld = job->supervise.chld_was_ignored;
	rc = open_session(job, &s);
	if (rc != CLI_OK) {
		supervise_end(&job->supervise);
		close_out(job, true, &err);
		return rc;
	}
	rc = run_session(job, s, &status, &err);
	session_exit_status(s, &exit_status);
	session_close(s);
	if (close_out(job, false, rc < 0 ? NULL : &err) < 0)
		rc = -1;
	supervise_end(&job->supervise);
	if (rc < 0)
		return cli_fail(&err);
	if (status >= 0)
		supervise_exit_as(status);
	return exit_status;
}

int cmd_probe(const struct cli_args *args)
{
	struct job job = {.args = args};
	struct hark_err err = {0};
	int rc = check_options(&job);

	if (rc == CLI_OK && probe_script_init(&job.script, args, &err) < 0)
		rc = fail(&err);
	if (rc == CLI_OK) {
		job.launch = (struct launch){
		    .argv = job.argv,
		    .mask = &job.supervise.before,
		    .beside = args_flag(args, "detach"),
		    .to_main = job.script.options.evaltime >= EVALTIME_POSTINIT,
		};
		if (!args_flag(args, "list"))
			rc = run(&job);
		else
			rc = job.pid != 0 ? list_running(&job)
					  : list_started(&job);
	}
	probe_script_fini(&job.script);
	free(job.words);
	return rc;
}
