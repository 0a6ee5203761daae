/* cli/cmd_record.c - hark record: a program, to go back in it later. */
#include "cli/commands.h"

#include "cli/outfile.h"
#include "outside/proc.h"
#include "outside/recorder.h"
#include "outside/run.h"
#include "outside/shelf.h"
#include "outside/supervise.h"
#include "outside/tracee.h"
#include "present/say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARGS_MAX = 1000, COMMAND_MAX = 1 << 20 };

struct job {
	const struct cli_args *args;
	pid_t pid;		   /* runs already; 0: none */
	char **argv;		   /* borrowed: the command */
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

	if (args_pid(args, "pid") == 0 && args_count(args) == 0)
		return args_refuse(args, "which program?");
	if (args_pid(args, "pid") != 0 && args_count(args) > 0)
		return args_refuse(args, "-p and a program exclude each other");
	if (args_pid(args, "pid") != 0 && args_flag(args, "detach"))
		return args_refuse(args, "-D is for a program to be started");
	if (ring != NULL && parse_size(ring, 1, &job->keep) < 0)
		return args_refuse(args, "--ring takes a size: 64M, say");
	if (key != NULL && parse_size(key, 0, &job->key_every) < 0)
		return args_refuse(args, "--key-every takes a number");
	return CLI_OK;
}

/* The command of a process that runs, into out, which ends in NULL; what they
 * point into is the caller's to free. */
static char *command_of(pid_t pid, char *out[ARGS_MAX + 1])
{
	int fd = proc_open(pid, proc_living(pid), "cmdline", O_RDONLY), n = 0;
	char *text = calloc(1, COMMAND_MAX + 1);
	ssize_t len = 0, got;

	while (fd >= 0 && text != NULL && len < COMMAND_MAX &&
	       (got = read(fd, text + len, (size_t)(COMMAND_MAX - len))) > 0)
		len += got;
	for (char *at = text; at < text + len && n < ARGS_MAX;
	     at += strlen(at) + 1)
		out[n++] = at;
	out[n] = NULL;
	if (fd >= 0)
		close(fd);
	return text;
}

/* -- Recording -- */

static void note(void *ctx, const char *text)
{
	(void)ctx;
	say("%s", text);
}

/* Of the recording itself: that there is none, or not all of it, is nothing to
 * be quiet about. */
static void complain(void *ctx, const char *text)
{
	(void)ctx;
	say_error("%s", text);
}

static int is_farewell(int sig)
{
	return abs(sig) == SIGINT || abs(sig) == SIGTERM;
}

/* Until the program ends (0) or recording is to stop (1). A program that hark
 * has started gets the signals that hark gets, but SIGINT from others than the
 * terminal: that is for hark. One that runs beside hark gets none. One that
 * waits for who does not read cannot act on any. */
static int wait_for(struct run *r, struct recorder *rec, int is_child)
{
	pid_t pid = is_child ? run_root(r) : 0;
	enum run_status more;
	int farewell = 0;

	while ((more = run_step(r)) != RUN_DONE) {
		int sig = supervise_wait_but(pid, more == RUN_ON, SIGINT);

		farewell |= is_farewell(sig);
		if (farewell && recorder_is_stuck(rec))
			recorder_abandon(rec);
		if (is_child ? sig == SIGINT : is_farewell(sig))
			return 1;
	}
	return 0;
}

/* Until the file is whole, unless somebody says twice not to wait. What comes
 * as soon as the first (timeout(1) sends two) is the same. */
static int wait_for_file(struct recorder *rec, int stops, int64_t since_ns)
{
	enum { SOON_NS = 200000000 };

	while (!recorder_is_done(rec) && stops < 2)
		stops += is_farewell(supervise_wait(0, 1)) &&
			 tracee_now_ns() - since_ns > SOON_NS;
	return stops < 2 ? 0 : -1;
}

/* hark's own child goes on natively; its end is hark's. */
static void wait_for_child(struct run *r)
{
	enum run_status more;

	while ((more = run_step(r)) != RUN_DONE)
		supervise_wait(run_root(r), more == RUN_ON);
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
	if (t->dropped > 0 && t->kept == 0)
		say_error("%s: the ring had no room for the way from one key "
			  "frame to the next, and has nothing; make it larger, "
			  "or --key-every smaller",
			  job->path);
	if (t->lost > 0)
		say_error("%s: not all of it could be kept; see 'hark info'",
			  job->path);
}

/* The program runs; the recorder is closed at the end. */
static int record_run(const struct job *job, struct run *r,
		      struct recorder *rec, int is_child)
{
	struct recorder_totals totals;
	int stopped = wait_for(r, rec, is_child);
	int status = run_exit_status(r);
	int64_t since_ns = stopped ? tracee_now_ns() : 0;

	if (stopped) {
		run_leave(r);
		while (is_farewell(supervise_wait(0, 0)))
			continue; /* the same: timeout(1) sends two */
	}
	recorder_finish(rec, status);
	if (wait_for_file(rec, stopped, since_ns) < 0) {
		say_error("the recording was left unfinished");
		if (status >= 0)
			supervise_exit_as(status);
		_exit(CLI_FAIL);
	}
	recorder_close(rec, &totals);
	tell(job, &totals);
	if (stopped && is_child)
		wait_for_child(r);
	status = run_exit_status(r);
	run_close(r, NULL);
	return status;
}

static int record_all(const struct job *job, struct recorder *rec, int *status,
		      struct hark_err *err)
{
	struct launch launch = {
	    .argv = job->argv,
	    .mask = &job->supervise.before,
	    .ignore_chld = job->supervise.chld_was_ignored,
	    .beside = args_flag(job->args, "detach"),
	};
	struct run_plan plan = {
	    .launch = job->pid == 0 ? &launch : NULL,
	    .pid = job->pid,
	    .flags = WIRE_RUN_RECORD,
	    .follow = !args_flag(job->args, "no-follow"),
	    .recorder = rec,
	    .note = note,
	};
	struct run *r;

	if (run_start(&plan, &r, err) < 0)
		return -1;
	*status = record_run(job, r, rec, job->pid == 0 && !launch.beside);
	return 0;
}

static int record(struct job *job, int *status, struct hark_err *err)
{
	const struct cli_args *args = job->args;
	struct recorder_plan plan = {
	    .argv = job->argv,
	    .key_every = job->key_every,
	    .keep = job->keep,
	    .bundle_debug = args_flag(args, "bundle-debug"),
	    .note = complain,
	};
	struct recorder *rec;

	if (outfile_create(args,
			   job->argv[0] != NULL ? job->argv[0] : "process",
			   &plan.file, job->path, err) < 0 ||
	    recorder_open(&plan, &rec, err) < 0)
		return -1;
	if (record_all(job, rec, status, err) < 0) {
		recorder_discard(rec);
		shelf_forget(job->path);
		return -1;
	}
	return 0;
}

int cmd_record(const struct cli_args *args)
{
	struct job job = {.args = args, .pid = args_pid(args, "pid")};
	struct hark_err err = {0};
	char *command = NULL, *argv[ARGS_MAX + 1] = {NULL};
	int status = -1, rc = check_options(&job);

	if (rc != CLI_OK)
		return rc;
	job.argv = args_operands(args);
	if (job.pid != 0) {
		command = command_of(job.pid, argv);
		job.argv = argv;
	}
	supervise_begin(&job.supervise);
	rc = record(&job, &status, &err);
	supervise_end(&job.supervise);
	free(command);
	if (rc < 0)
		return job.pid != 0 ? cli_fail(&err) : cli_fail_start(&err);
	if (status >= 0)
		supervise_exit_as(status);
	return CLI_OK;
}
