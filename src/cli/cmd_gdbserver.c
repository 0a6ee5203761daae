/* cli/cmd_gdbserver.c - hark gdbserver: a recording for any debugger. */
#include "cli/commands.h"

#include "cli/bound.h"
#include "cli/journey.h"
#include "gdb/listen.h"
#include "gdb/server.h"
#include "present/say.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static struct listener *listening; /* for the handler */

static void on_end(int sig)
{
	listener_remove(listening);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void remove_socket(void)
{
	if (listening != NULL)
		listener_remove(listening);
}

static void catch_end(void)
{
	/* While it is replayed, the stack pointer is the program's. */
	struct sigaction act = {.sa_handler = on_end,
				.sa_flags = SA_RESTART | SA_ONSTACK};

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
}

static int serve(struct gdb *g, const char *where, int keeps)
{
	struct hark_err err = {0};
	int fd;

	if (listener_open(where, &listening, &err) < 0)
		return cli_fail(&err);
	catch_end();
	printf("%s\n", listener_name(listening));
	fflush(stdout);
	say("gdb -ex 'target extended-remote %s'", listener_name(listening));
	do {
		fd = listener_accept(listening, -1);
		if (fd >= 0) {
			gdb_serve(g, fd);
			close(fd);
		}
	} while (fd >= 0 && keeps);
	listener_close(listening);
	return cli_finish(fd < 0 ? CLI_FAIL : CLI_OK);
}

int cmd_gdbserver(const struct cli_args *args)
{
	struct journey_wish wish;
	struct journey *t = NULL;
	int status = journey_parse(args, "gdbserver", &wish);

	if (status != CLI_OK)
		return status;
	bound_replay(remove_socket);
	if (wish.rest[0] != NULL)
		status = args_refuse(args, "only one FILE can be served");
	else
		status = journey_open(&wish, NULL, &t);
	if (status == CLI_OK) {
		status = serve(journey_gdb(t), journey_value(&wish, "listen"),
			       journey_flag(&wish, "keep"));
		journey_close(t);
	}
	journey_forget(&wish);
	return status;
}
