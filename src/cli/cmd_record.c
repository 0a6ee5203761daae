/* cli/cmd_record.c - hark record: a program, to go back in it later. */
#include "cli/commands.h"

#include "base/fmt.h"
#include "outside/recorder.h"
#include "outside/run.h"
#include "outside/shelf.h"
#include "outside/supervise.h"
#include "present/say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job {
	const struct cli_args *args;
	char path[SHELF_PATH_MAX]; /* "-": standard output */
	uint64_t key_every, keep;
	struct supervise supervise;
};

/* -- Options -- */

/* A number with K, M or G behind it; -1: it is none. */
static int parse_size(const char *text, int units, uint64_t *out)
{
	const char *letters = "KMG";
	const char *unit;
	uint64_t n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (end == text || text[0] == '-' || errno != 0 || n == 0)
		return -1;
	if (*end != '\0' && units) {
		unit = strchr(letters, *end & ~0x20);
		if (unit == NULL || n > UINT64_MAX >> 40)
			return -1;
		n <<= 10 * (unit - letters + 1);
		end++;
	}
	if (*end != '\0')
		return -1;
	*out = n;
	return 0;
}

static int check_options(struct job *job)
{
	const struct cli_args *args = job->args;
	const char *ring = args_value(args, "ring");
	const char *key = args_value(args, "key-every");

	if (args_pid(args, "pid") != 0)
		return args_refuse(args, "-p is not possible yet: a program "
					 "is recorded from its start");
	if (args_count(args) == 0)
		return args_refuse(args, "which program?");
	if (ring != NULL && parse_size(ring, 1, &job->keep) < 0)
		return args_refuse(args, "--ring takes a size: 64M, say");
	if (key != NULL && parse_size(key, 0, &job->key_every) < 0)
		return args_refuse(args, "--key-every takes a number");
	return CLI_OK;
}

/* -- The file -- */

/* The recording goes where hark's standard output goes; the program, which
 * shares it, gets standard error instead. */
static int take_output(struct file_writer **out, struct hark_err *err)
{
	int fd;

	if (isatty(STDOUT_FILENO))
		return err_set(err, HARK_EREFUSE, 0,
			       "a recording is not written to a terminal");
	fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
		err_set(err, HARK_EIO, errno, "standard output: %s",
			strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return file_create_fd(fd, "standard output", out, err);
}

static int create_file(struct job *job, struct file_writer **out,
		       struct hark_err *err)
{
	const char *name = args_value(job->args, "output");

	if (name == NULL)
		return shelf_create(args_operands(job->args)[0], out, job->path,
				    err);
	if (fmt_text(job->path, sizeof job->path, "%s", name) >=
	    sizeof job->path)
		return err_set(err, HARK_EINPUT, 0, "the path is too long");
	if (strcmp(name, "-") == 0)
		return take_output(out, err);
	return file_create(name, args_flag(job->args, "force"), out, err);
}

/* -- Recording -- */

static void note(void *ctx, const char *text)
{
	(void)ctx;
	say("%s", text);
}

static int is_farewell(int sig)
{
	return abs(sig) == SIGINT || abs(sig) == SIGTERM;
}

/* As hark run does: signals are meant for the program; with -D they are hark's
 * own, and the program goes on without it. */
static void wait_for(struct run *r, int beside)
{
	enum run_status more;

	while ((more = run_step(r)) != RUN_DONE) {
		int sig =
		    supervise_wait(beside ? 0 : run_root(r), more == RUN_ON);

		if (beside && is_farewell(sig))
			break;
	}
}

/* Until the file is whole, unless somebody says twice not to wait. */
static int wait_for_file(struct recorder *rec)
{
	int stops = 0;

	while (!recorder_is_done(rec) && stops < 2)
		stops += is_farewell(supervise_wait(0, 1));
	return stops < 2 ? 0 : -1;
}

static int record_all(const struct job *job, struct recorder *rec, int *status,
		      struct hark_err *err)
{
	struct launch launch = {
	    .argv = args_operands(job->args),
	    .mask = &job->supervise.before,
	    .ignore_chld = job->supervise.chld_was_ignored,
	    .beside = args_flag(job->args, "detach"),
	};
	struct run_plan plan = {
	    .launch = &launch,
	    .flags = WIRE_RUN_RECORD,
	    .follow = !args_flag(job->args, "no-follow"),
	    .recorder = rec,
	    .note = note,
	};
	struct run *r;

	if (run_start(&plan, &r, err) < 0)
		return -1;
	wait_for(r, launch.beside);
	*status = run_exit_status(r);
	recorder_finish(rec, *status);
	if (wait_for_file(rec) < 0) {
		say_error("the recording was left unfinished");
		if (*status >= 0)
			supervise_exit_as(*status);
		_exit(CLI_FAIL);
	}
	run_close(r, NULL);
	return 0;
}

static void tell(const struct job *job, const struct recorder_totals *t)
{
	if (t->failed)
		return; /* it was said */
	say("%s: %lu bytes, %u process%s, %u thread%s",
	    strcmp(job->path, "-") == 0 ? "standard output" : job->path,
	    (unsigned long)t->bytes, t->processes,
	    t->processes == 1 ? "" : "es", t->threads,
	    t->threads == 1 ? "" : "s");
	if (t->lost > 0)
		say_error("%s: not all of it could be kept; see 'hark info'",
			  job->path);
}

static int record(struct job *job, int *status, struct recorder_totals *totals,
		  struct hark_err *err)
{
	const struct cli_args *args = job->args;
	struct recorder_plan plan = {
	    .argv = args_operands(args),
	    .key_every = job->key_every,
	    .keep = job->keep,
	    .bundle_debug = args_flag(args, "bundle-debug"),
	    .note = note,
	};
	struct recorder *rec;

	if (create_file(job, &plan.file, err) < 0 ||
	    recorder_open(&plan, &rec, err) < 0)
		return -1;
	if (record_all(job, rec, status, err) < 0) {
		recorder_discard(rec);
		shelf_forget(job->path);
		return -1;
	}
	recorder_close(rec, totals);
	return 0;
}

int cmd_record(const struct cli_args *args)
{
	struct job job = {.args = args};
	struct recorder_totals totals;
	struct hark_err err = {0};
	int status = -1, rc = check_options(&job);

	if (rc != CLI_OK)
		return rc;
	supervise_begin(&job.supervise);
	rc = record(&job, &status, &totals, &err);
	supervise_end(&job.supervise);
	if (rc < 0)
		return cli_fail_start(&err);
	tell(&job, &totals);
	if (status >= 0)
		supervise_exit_as(status);
	return CLI_OK;
}
