/* cli/probe_watch.c - hark beside a program with probes in it. */
#include "cli/probe_watch.h"

#include "outside/supervise.h"
#include "outside/tracee.h"
#include "present/say.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>

void probe_tell(void *ctx, bool is_error, const char *text)
{
	(void)ctx;
	if (is_error)
		say_error("%s", text);
	else
		say("%s", text);
}

/* Whoever was told to live on without a terminal (nohup) does. */
static bool is_ignored(int sig)
{
	struct sigaction now;

	return sigaction(sig, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

static bool is_farewell(int sig)
{
	sig = abs(sig);
	return sig == SIGINT || sig == SIGTERM ||
	       ((sig == SIGHUP || sig == SIGQUIT) && !is_ignored(sig));
}

static bool is_pending(int sig)
{
	sigset_t now;

	return sigpending(&now) == 0 && sigismember(&now, sig) == 1;
}

/* Signals that end a session wait until the step is done: a step that waits
 * for the program looks at them. */
static bool wants_end_of_child(void)
{
	return is_pending(SIGINT);
}

static bool wants_end(void)
{
	return is_pending(SIGINT) || is_pending(SIGTERM) ||
	       (is_pending(SIGHUP) && !is_ignored(SIGHUP)) ||
	       (is_pending(SIGQUIT) && !is_ignored(SIGQUIT));
}

static int take_step(struct session *s, bool is_child, enum session_status *why,
		     struct hark_err *err)
{
	int rc;

	tracee_watch_end(is_child ? wants_end_of_child : wants_end);
	rc = session_step(s, why, err);
	tracee_watch_end(NULL);
	return rc;
}

int probe_watch(struct session *s, bool is_child, enum session_status *why,
		struct hark_err *err)
{
	pid_t pid = is_child ? session_pid(s) : 0;
	int sig, status;

	*why = SESSION_EXIT;
	if (session_exit_status(s, &status))
		return 0; /* in BEGIN */
	if (session_go(s, err) < 0)
		return -1;
	for (;;) {
		if (take_step(s, is_child, why, err) < 0)
			return -1;
		if (*why != SESSION_ON)
			return 0;
		session_wait(s);
		sig = supervise_wait_but(pid, 0, SIGINT);
		if (is_child ? sig == SIGINT : is_farewell(sig))
			return 0;
	}
}

int probe_wait_child(pid_t pid, struct rusage *used)
{
	int status;

	for (;;) {
		pid_t got = wait4(pid, &status, WNOHANG, used);

		if (got == pid)
			return status;
		if (got < 0 && errno != EINTR)
			return -1;
		supervise_wait(pid, 1);
	}
}
