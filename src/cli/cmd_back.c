/* cli/cmd_back.c - hark back: gdb in front of a recording.
 *
 *	gdb <-- private socket --> hark (this process)
 *
 * gdb is a child that has the terminal as it would have without hark. A Ctrl-C
 * is gdb's: it asks the server to stop, if it waits for it. Only while hark
 * answers a question of `monitor`, which gdb cannot call off, does hark take
 * it for itself. */
#include "cli/commands.h"

#include "base/fmt.h"
#include "cli/bound.h"
#include "cli/journey.h"
#include "gdb/bundle.h"
#include "gdb/init.h"
#include "gdb/listen.h"
#include "gdb/server.h"
#include "present/say.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted; /* by Ctrl-C, for hark */
static volatile sig_atomic_t gdb_pid;	  /* for the handlers */

static void on_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* Whoever ends hark means both; gdb's end then is hark's. */
static void on_end(int sig)
{
	if (gdb_pid > 0)
		kill(gdb_pid, sig);
}

/* For the end of a replay that takes too much. */
static const struct listener *listening;
static const char *unpacked = "";

static void clean_up(void)
{
	on_end(SIGTERM);
	if (unpacked[0] != '\0')
		bundle_remove(unpacked);
	if (listening != NULL)
		listener_remove(listening);
}

static void catch_signals(void)
{
	struct sigaction act = {.sa_handler = on_interrupt,
				.sa_flags = SA_RESTART | SA_ONSTACK};

	sigaction(SIGINT, &act, NULL);
	act.sa_handler = on_end;
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	act.sa_handler = SIG_IGN;
	sigaction(SIGQUIT, &act, NULL);
}

/* -- Starting gdb -- */

/* A descriptor that gdb inherits, with what it is to run. */
static int make_script(void)
{
	size_t len = (uintptr_t)gdb_init_end - (uintptr_t)gdb_init, done = 0;
	int fd = memfd_create("hark.py", 0);

	while (fd >= 0 && done < len) {
		ssize_t n = write(fd, gdb_init + done, len - done);

		if (n <= 0) {
			close(fd);
			return -1;
		}
		done += (size_t)n;
	}
	return fd;
}

static char **make_words(const char *gdb, char *run, char **options)
{
	static char quiet[] = "-q", ex[] = "-ex";
	size_t n = 0;
	char **words;

	while (options[n] != NULL)
		n++;
	words = calloc(n + 5, sizeof *words);
	if (words == NULL)
		return NULL;
	words[0] = (char *)(uintptr_t)gdb;
	words[1] = quiet;
	words[2] = ex;
	words[3] = run;
	memcpy(words + 4, options, n * sizeof *words);
	return words;
}

/* As hark was before it caught anything. */
static int spawn(const char *gdb, char **words, pid_t *out)
{
	posix_spawnattr_t attr;
	sigset_t set;
	int rc = posix_spawnattr_init(&attr);

	if (rc != 0)
		return rc;
	sigfillset(&set);
	posix_spawnattr_setsigdefault(&attr, &set);
	sigemptyset(&set);
	posix_spawnattr_setsigmask(&attr, &set);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF |
					    POSIX_SPAWN_SETSIGMASK);
	rc = posix_spawnp(out, gdb, NULL, &attr, words, environ);
	posix_spawnattr_destroy(&attr);
	return rc;
}

static int start(char **options, pid_t *out)
{
	const char *gdb = getenv("HARK_GDB");
	int script = make_script(), rc = ENOMEM;
	char run[128];
	char **words;

	if (gdb == NULL || gdb[0] == '\0')
		gdb = "gdb";
	snprintf(run, sizeof run,
		 "python exec(compile(open('/dev/fd/%d').read(), 'hark.py', "
		 "'exec'))",
		 script);
	words = script < 0 ? NULL : make_words(gdb, run, options);
	if (words != NULL)
		rc = spawn(gdb, words, out);
	free(words);
	if (script >= 0)
		close(script);
	if (rc == 0)
		return CLI_OK;
	if (rc == ENOENT) {
		say_error("%s was not found; install gdb, or name one by "
			  "HARK_GDB (hark gdbserver serves others)",
			  gdb);
		return CLI_NOTFOUND;
	}
	say_error("cannot start %s: %s", gdb, strerror(rc));
	return CLI_FAIL;
}

/* -- Serving it -- */

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return CLI_FAIL;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Sources of the recording, for gdb; without them it looks elsewhere. */
static void unpack(struct journey *t, const struct listener *l, char *dir,
		   size_t size)
{
	struct hark_err err = {0};
	int rc;

	fmt_text(dir, size, "%s/sources", listener_dir(l));
	rc = bundle_unpack(journey_recording(t), dir, &err);
	if (rc < 0)
		say_error("%s", err.text);
	if (rc <= 0)
		dir[0] = '\0';
	else
		setenv("HARK_BACK_SOURCES", dir, 1);
}

static int serve(struct journey *t, struct listener *l, char **options)
{
	pid_t pid;
	int fd, end, status;

	setenv("HARK_BACK_SOCKET", listener_name(l), 1);
	setenv("HARK_BACK_TITLE", journey_title(t), 1);
	catch_signals();
	status = start(options, &pid);
	if (status != CLI_OK)
		return status;
	gdb_pid = pid;
	end = (int)syscall(SYS_pidfd_open, pid, 0);
	while (end >= 0 && (fd = listener_accept(l, end)) >= 0) {
		gdb_serve(journey_gdb(t), fd);
		close(fd);
	}
	if (end < 0) {
		say_error("this kernel cannot wait for gdb: %s",
			  strerror(errno));
		kill(pid, SIGTERM);
	} else {
		close(end);
	}
	status = wait_for(pid);
	gdb_pid = 0;
	return status;
}

int cmd_back(const struct cli_args *args)
{
	struct journey_wish wish;
	struct hark_err err = {0};
	struct listener *l = NULL;
	struct journey *t = NULL;
	char sources[256] = "";
	int status = journey_parse(args, "back", &wish);

	if (status != CLI_OK)
		return status;
	if (listener_open(NULL, &l, &err) < 0)
		status = cli_fail(&err);
	if (status == CLI_OK) { /* from now on it is removed at any end */
		listening = l;
		bound_replay(clean_up);
		status = journey_open(&wish, &interrupted, &t);
	}
	if (status == CLI_OK) {
		unpack(t, l, sources, sizeof sources);
		unpacked = sources;
		status = serve(t, l, wish.rest);
		if (sources[0] != '\0')
			bundle_remove(sources);
	}
	unpacked = "";
	listening = NULL;
	listener_close(l);
	journey_close(t);
	journey_forget(&wish);
	return status;
}
