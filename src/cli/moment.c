/* cli/moment.c - a recording, put to the moment that a command line names. */
#include "cli/moment.h"

#include "outside/shelf.h"
#include "present/say.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- Progress -- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	(void)sig;
	if (interrupted++ > 0)
		_exit(128 + SIGINT); /* it is meant */
}

static int on_progress(void *ctx, uint64_t done, uint64_t total)
{
	struct moment *m = ctx;

	if (!m->quiet)
		progress_show(&m->progress, done, total);
	return interrupted != 0;
}

void moment_hush(struct moment *m)
{
	progress_end(&m->progress);
}

/* -- Opening -- */

/* Its number, or that of a process id. */
static int find_process(struct hark_recording *r, const char *text,
			uint32_t *out, struct hark_err *err)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(text, &end, 10);
	for (unsigned i = 0; errno == 0 && end != text && *end == '\0' &&
			     i < hark_n_processes(r);
	     i++) {
		const struct hark_process *p = hark_process(r, i);

		if (p->number == n || p->pid == n) {
			*out = p->number;
			return 0;
		}
	}
	return err_set(err, HARK_EINPUT, 0,
		       "there is no process '%s' in it; 'hark info' lists them",
		       text);
}

/* "2.1:40": the position itself says which process. */
static bool process_in(const char *text, char *out, size_t size)
{
	size_t n = strspn(text, "0123456789");

	if (n == 0 || text[n] != '.' || n >= size)
		return false;
	memcpy(out, text, n);
	out[n] = '\0';
	return true;
}

static int choose(const struct cli_args *args, struct hark_recording *r,
		  uint32_t *out, struct hark_err *err)
{
	const char *process = args_value(args, "process");
	const char *at = args_value(args, "at");
	char in_at[16];

	*out = 0;
	if (process != NULL)
		return find_process(r, process, out, err);
	if (at != NULL && process_in(at, in_at, sizeof in_at))
		return find_process(r, in_at, out, err);
	return 0;
}

int moment_position(struct moment *m, const char *text,
		    struct hark_position *out, struct hark_err *err)
{
	struct hark_error e = {0};

	if (hark_position_parse(m->pair.timeline, text, out, &e) < 0)
		return ask_error(&e, err);
	return 0;
}

static int seek(const struct cli_args *args, struct moment *m,
		struct hark_err *err)
{
	const char *at = args_value(args, "at");
	struct hark_position to;
	struct hark_error e = {0};

	if (at == NULL) {
		if (hark_seek_end(m->pair.timeline, &e) < 0)
			return ask_error(&e, err);
		return 0;
	}
	if (moment_position(m, at, &to, err) < 0)
		return -1;
	if (hark_seek(m->pair.timeline, &to, &e) < 0)
		return ask_error(&e, err);
	return 0;
}

int moment_open(const struct cli_args *args, const char *name, bool is_search,
		struct moment *out, struct hark_err *err)
{
	/* While it is replayed, the stack pointer is the program's. */
	struct sigaction sa = {.sa_handler = on_interrupt,
			       .sa_flags = SA_ONSTACK};
	struct hark_error e = {0};
	char path[SHELF_PATH_MAX];
	uint32_t process;

	*out = (struct moment){.progress = progress_begin(),
			       .quiet = args_flag(args, "quiet") ||
					!isatty(STDERR_FILENO)};
	if (shelf_find(name, path, err) < 0)
		return -1;
	if (hark_open(path, &out->pair.recording, &e) < 0)
		return ask_error(&e, err);
	if (choose(args, out->pair.recording, &process, err) < 0) {
		moment_close(out);
		return -1;
	}
	if (hark_timeline_open(out->pair.recording, process,
			       &out->pair.timeline, &e) < 0) {
		moment_close(out);
		return ask_error(&e, err);
	}
	sigaction(SIGINT, &sa, NULL);
	hark_on_progress(out->pair.timeline, on_progress, out);
	if (!hark_is_complete(out->pair.recording))
		say("incomplete: the recording was cut off; its end is where "
		    "it ends");
	if (is_search && hark_prepare_long_search(out->pair.timeline, &e) < 0) {
		moment_close(out);
		return ask_error(&e, err);
	}
	if (seek(args, out, err) < 0) {
		moment_close(out);
		return -1;
	}
	moment_hush(out);
	return 0;
}

void moment_close(struct moment *m)
{
	moment_hush(m);
	if (m->pair.timeline != NULL)
		hark_timeline_close(m->pair.timeline);
	if (m->pair.recording != NULL)
		hark_close(m->pair.recording);
	m->pair = (struct ask_pair){0};
}
