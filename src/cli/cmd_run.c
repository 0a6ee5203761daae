/* cli/cmd_run.c - hark run: observing nothing.
 *
 * Translated as a rule (cli/run_translated); here is --native: through the
 * door, once through the image, and natively on. */
#include "cli/commands.h"

#include "base/fmt.h"
#include "cli/run_translated.h"
#include "outside/file.h"
#include "outside/follow.h"
#include "outside/native.h"
#include "outside/supervise.h"
#include "outside/tracee.h"
#include "present/json.h"
#include "present/say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What was seen; also where it goes. */
struct seen {
	struct file_writer *file; /* owned; NULL: none, or it failed */
	uint32_t processes, threads;
	uint32_t *pids; /* owned: number k of the file is pids[k - 1] */
	int64_t begun_ns;
};

/* -- The file -- */

/* A file that cannot be written any more is said once; the program goes on. */
static void put(struct seen *s, enum wire_chunk_type type, uint32_t process,
		uint32_t thread, const void *bytes, size_t len)
{
	struct hark_err err;

	if (s->file == NULL)
		return;
	if (file_put(s->file, type, process, thread, bytes, len, &err) == 0)
		return;
	say_error("%s; no more is written", err.text);
	file_writer_close(s->file);
	s->file = NULL;
}

static void put_text(struct seen *s, enum wire_chunk_type type,
		     struct file_text *t)
{
	if (t->failed)
		say_error("out of memory");
	else
		put(s, type, 0, 0, t->at, t->len);
	file_text_free(t);
}

static void put_meta(struct seen *s, const struct cli_args *args)
{
	struct file_text t = {0};
	struct utsname u;

	file_text_add(&t, "kind", "native");
	file_text_add(&t, "hark", HARK_VERSION);
	file_text_number(&t, "time", time(NULL));
	if (uname(&u) == 0) {
		file_text_add(&t, "machine", u.machine);
		file_text_add(&t, "kernel", u.release);
	}
	for (char **a = args_operands(args); *a != NULL; a++)
		file_text_add(&t, "arg", *a);
	if (args_pid(args, "pid") != 0)
		file_text_number(&t, "pid", args_pid(args, "pid"));
	put_text(s, WIRE_CHUNK_META, &t);
}

static void put_end(struct seen *s, int status)
{
	struct file_text t = {0};

	if (status >= 0 && WIFEXITED(status))
		file_text_number(&t, "exit", WEXITSTATUS(status));
	if (status >= 0 && WIFSIGNALED(status))
		file_text_number(&t, "signal", WTERMSIG(status));
	file_text_number(&t, "processes", s->processes);
	file_text_number(&t, "threads", s->threads);
	file_text_number(&t, "lost", 0);
	put_text(s, WIRE_CHUNK_END, &t);
}

/* -- Watching -- */

/* The number of a process in the file, from 1; 0: out of memory. The newest
 * are the likeliest. */
static uint32_t number_of(struct seen *s, uint32_t pid)
{
	uint32_t *more;

	for (uint32_t i = s->processes; i > 0; i--)
		if (s->pids[i - 1] == pid)
			return i;
	more = realloc(s->pids, (s->processes + 1) * sizeof *more);
	if (more == NULL)
		return 0;
	s->pids = more;
	s->pids[s->processes++] = pid;
	return s->processes;
}

static int visited(void *ctx, const struct wire_visit *v, struct hark_err *err)
{
	struct seen *s = ctx;
	uint32_t process = number_of(s, v->pid);

	if (process == 0)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	s->threads++;
	put(s, WIRE_CHUNK_DATA, process, s->threads, v, sizeof *v);
	return 0;
}

static void note(void *ctx, const char *text)
{
	(void)ctx;
	say("%s", text);
}

/* -- What to tell -- */

static void tell(const struct seen *s, const struct cli_args *args)
{
	int64_t us = (tracee_now_ns() - s->begun_ns) / 1000;
	struct json j;

	if (!args_flag(args, "stats"))
		return;
	if (!args_flag(args, "json")) {
		say("%u thread%s of %u process%s passed through the image; "
		    "%ld.%03ld ms in all",
		    s->threads, s->threads == 1 ? "" : "s", s->processes,
		    s->processes == 1 ? "" : "es", (long)(us / 1000),
		    (long)(us % 1000));
		return;
	}
	json_init(&j, stderr); /* standard output is the program's */
	json_object(&j, NULL);
	json_text(&j, "kind", "native");
	json_number(&j, "processes", s->processes);
	json_number(&j, "threads", s->threads);
	json_real(&j, "milliseconds", (double)us / 1000);
	json_end(&j);
}

/* -- Running -- */

/* Waits for a program that nothing is attached to. */
static int wait_child(pid_t pid)
{
	int status;

	for (;;) {
		pid_t got = waitpid(pid, &status, WNOHANG);

		if (got == pid)
			return status;
		if (got < 0 && errno != EINTR)
			return -1;
		supervise_wait(pid, 1);
	}
}

/* Until nobody is left. While the program itself lives, signals are meant for
 * it: ^C as often as one likes, and only a second SIGINT or SIGTERM that is
 * sent to hark lets everybody go. When it has ended (or is not ours) and
 * others go on, the first does. */
static int wait_followed(struct follow *f, int is_child)
{
	int stops = 0, status;
	enum follow_status more;

	while ((more = follow_step(f)) != FOLLOW_DONE) {
		int lives = is_child && follow_exit_status(f) < 0;
		int sig = supervise_wait(lives ? follow_root(f) : 0,
					 more == FOLLOW_ON);

		if (abs(sig) != SIGINT && abs(sig) != SIGTERM)
			continue;
		stops += sig > 0;
		if (!lives || stops == 2)
			break;
	}
	status = follow_exit_status(f);
	follow_close(f);
	return status;
}

struct plan {
	const struct cli_args *args;
	const struct native_watch *watch;
	struct supervise supervise;
	pid_t pid; /* to attach to, or 0 */
	int follow, beside;
};

/* Runs it all; the program's wait status, -1 if it is not ours to know. */
static int run_native(const struct plan *p, int *status, struct hark_err *err)
{
	struct launch launch = {
	    .argv = args_operands(p->args),
	    .mask = &p->supervise.before,
	    .ignore_chld = p->supervise.chld_was_ignored,
	    .beside = p->beside,
	};
	struct follow *f = NULL;
	pid_t pid;

	*status = -1;
	if (p->pid != 0 && !p->follow)
		return native_attach(p->pid, p->watch, err);
	if (p->follow) {
		if (p->pid != 0 ? follow_attach(p->pid, p->watch, &f, err) < 0
				: follow_start(&launch, p->watch, &f, err) < 0)
			return -1;
		*status = wait_followed(f, p->pid == 0 && !p->beside);
		return 0;
	}
	if (native_start(&launch, p->watch, &pid, err) < 0)
		return -1;
	if (!p->beside)
		*status = wait_child(pid);
	return 0;
}

/* The same, from the first byte of the file to its last. */
static int run_watched(const struct plan *p, struct seen *s, int *status,
		       struct hark_err *err)
{
	const char *output = args_value(p->args, "output");
	int rc;

	if (output != NULL &&
	    file_create(output, args_flag(p->args, "force"), &s->file, err) < 0)
		return -1;
	put_meta(s, p->args);
	rc = run_native(p, status, err);
	if (rc < 0 && s->threads == 0) {
		file_writer_discard(s->file);
		return -1;
	}
	put_end(s, rc < 0 ? -1 : *status);
	file_writer_close(s->file);
	return rc;
}

/* What goes with --native alone, or without it alone. */
static int check_way(const struct cli_args *args)
{
	int native = args_flag(args, "native");

	if (!native && args_value(args, "output") != NULL)
		return args_refuse(args, "-o goes with --native: there is "
					 "nothing to write otherwise");
	if (native && args_flag(args, "count"))
		return args_refuse(args, "--count and --native exclude each "
					 "other");
	if (args_flag(args, "follow") && args_flag(args, "no-follow"))
		return args_refuse(args, "-f and --no-follow exclude each "
					 "other");
	return CLI_OK;
}

static int check_options(const struct cli_args *args)
{
	pid_t pid = args_pid(args, "pid");
	int rc = check_way(args);

	if (rc != CLI_OK)
		return rc;
	if (pid == 0 && args_count(args) == 0)
		return args_refuse(args, "which program?");
	if (pid != 0 && args_count(args) > 0)
		return args_refuse(args, "-p and a program exclude each other");
	if (pid != 0 && args_flag(args, "detach"))
		return args_refuse(args, "-D is for a program to be started");
	return CLI_OK;
}

int cmd_run(const struct cli_args *args)
{
	struct seen seen = {.begun_ns = tracee_now_ns()};
	struct native_watch watch = {&seen, visited, note};
	struct plan plan = {
	    .args = args,
	    .watch = &watch,
	    .pid = args_pid(args, "pid"),
	    .follow = args_flag(args, "follow"),
	    .beside = args_flag(args, "detach"),
	};
	struct hark_err err = {0};
	int status, rc = check_options(args);

	if (rc != CLI_OK)
		return rc;
	if (!args_flag(args, "native"))
		return run_translated(args);
	supervise_begin(&plan.supervise);
	rc = run_watched(&plan, &seen, &status, &err);
	supervise_end(&plan.supervise);
	free(seen.pids);
	if (rc < 0)
		return plan.pid != 0 ? cli_fail(&err) : cli_fail_start(&err);
	tell(&seen, args);
	if (status >= 0)
		supervise_exit_as(status);
	return CLI_OK;
}
