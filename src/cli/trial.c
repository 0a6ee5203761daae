/* cli/trial.c - an attempt that may go wrong without harm.
 *
 *   hark                 trial (own group)           its own child, if any
 *   ----                 -------------------         ---------------------
 *   fork --------------> attempt() ----------------> traced, asked, ...
 *   poll <-- finding --- write, _exit
 *   kill the group, wait
 *
 * R1  A trial writes its finding in one piece and ends; a child that ends
 *     without one was killed, and by what is told.
 * R2  When its time is over the whole process group is killed, so an
 *     attempt may wait for its own child without a limit.
 * R3  Should hark die, the kernel kills the trial. */
#include "cli/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 20 }; /* how often to see whether it is still there */

_Static_assert(sizeof(struct finding) <= PIPE_BUF, "one write is one piece");

const char *finding_state_name(enum finding_state state)
{
	/* ORDER finding_state */
	static const char *const names[] = {"ok", "limited", "no"};

	return names[state];
}

/* -- Reporting -- */

void finding_set(struct finding *out, enum finding_state state,
		 const char *format, ...)
{
	va_list args;

	out->state = state;
	va_start(args, format);
	vsnprintf(out->value, sizeof out->value, format, args);
	va_end(args);
}

void finding_advise(struct finding *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(out->advice, sizeof out->advice, format, args);
	va_end(args);
}

void trial_die_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it was faster */
		_exit(1);
}

/* In the child: R1, R3. Does not return. */
static void report(trial_fn *attempt, pid_t parent, int to)
{
	struct finding f = {FINDING_OK, "", ""};
	ssize_t n;

	setsid();
	trial_die_with(parent);
	attempt(&f);
	n = write(to, &f, sizeof f);
	_exit(n == sizeof f ? 0 : 1);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool has_ended(pid_t pid)
{
	siginfo_t end = {.si_pid = 0};

	return waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT | WNOHANG) ==
		   0 &&
	       end.si_pid == pid;
}

/* Waits for the finding, or for the end of the trial: a child of its own may
 * keep the pipe open when it is gone. False: its time is over. */
static bool wait_finding(pid_t pid, int from, int limit_ms)
{
	struct pollfd p = {.fd = from, .events = POLLIN};
	int64_t end = now_ms() + limit_ms, left = limit_ms;

	for (; left > 0; left = end - now_ms())
		if (poll(&p, 1, left < LOOK_MS ? (int)left : LOOK_MS) > 0 ||
		    has_ended(pid))
			return true;
	return false;
}

/* The trial ended without a finding. */
static void found_death(struct finding *out, int status)
{
	*out = (struct finding){.state = FINDING_NO};
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) {
		finding_set(out, FINDING_NO,
			    "the trial was killed by a filter");
		finding_advise(out,
			       "a seccomp filter forbids a system call; in a "
			       "container choose another profile");
	} else if (WIFSIGNALED(status)) {
		finding_set(out, FINDING_NO,
			    "the trial was killed by signal %d",
			    WTERMSIG(status));
	} else {
		finding_set(out, FINDING_NO, "the trial ended with status %d",
			    WEXITSTATUS(status));
	}
}

static void found_silence(struct finding *out, int limit_ms)
{
	*out = (struct finding){.state = FINDING_NO};
	finding_set(out, FINDING_NO, "no answer within %d ms", limit_ms);
}

/* In the parent: R2. Its number stays taken until it is waited for, so that
 * nobody else is killed. */
static void collect(pid_t pid, int from, int limit_ms, struct finding *out)
{
	struct finding f;
	bool in_time = wait_finding(pid, from, limit_ms);
	ssize_t n = read(from, &f, sizeof f); /* does not block */
	siginfo_t end;
	int status = 0;

	if (in_time && n == 0) /* it is ending: by what? */
		while (waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT) < 0 &&
		       errno == EINTR)
			continue;
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL); /* it may not have its own group yet */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (n == sizeof f)
		*out = f;
	else if (in_time)
		found_death(out, status);
	else
		found_silence(out, limit_ms);
}

void trial_run(trial_fn *attempt, int limit_ms, struct finding *out)
{
	int ends[2];
	pid_t parent = getpid(), pid;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
		finding_set(out, FINDING_NO, "pipe: %s", strerror(errno));
		finding_advise(out, "see ulimit -n");
		return;
	}
	pid = fork();
	if (pid == 0)
		report(attempt, parent, ends[1]);
	close(ends[1]);
	if (pid > 0) {
		collect(pid, ends[0], limit_ms, out);
	} else {
		finding_set(out, FINDING_NO, "fork: %s", strerror(errno));
		finding_advise(out, "see ulimit -u");
	}
	close(ends[0]);
}
