/* probe/along.c - with a thread through its execve. */
#include "probe/along.h"

#include "outside/attach.h"
#include "outside/hold.h"
#include "outside/judge.h"
#include "outside/tracee.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

enum { PATIENCE_S = 10, CALLS_MAX = 1000 };

enum along {
	ALONG_GOES,   /* wait for more */
	ALONG_IS,     /* it is another program */
	ALONG_IS_NOT, /* execve has failed, or it has ended */
	ALONG_MUST_NOT,
};

struct walk {
	pid_t pid, tid;
	bool is_in;	/* execve has begun */
	bool is_halted; /* by SIGSTOP or the like: it stays so */
	int sig;	/* to be delivered when it goes on */
	int64_t since;	/* one deadline for all stops */
	int stops;
};

/* A stop of one of the two: its status, and who; the end of a process is left
 * for whoever is to know of it. 0: nothing yet; -1: it has ended. */
static int look(pid_t id, int *status)
{
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)id, &info,
		   WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) < 0)
		return errno == ECHILD ? 0 : -1;
	if (info.si_pid == 0)
		return 0;
	if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED ||
	    info.si_code == CLD_DUMPED)
		return -1;
	return waitpid(id, status, __WALL | WNOHANG) == id;
}

/* A thread that is not the first gets the first one's number by execve. */
static int next_stop(const struct walk *w, pid_t *who, int *status)
{
	int64_t limit = w->since + PATIENCE_S * 1000000000LL;

	for (int round = 0;
	     tracee_now_ns() < limit && !tracee_gives_up(w->since); round++) {
		int rc = look(w->tid, status);

		*who = w->tid;
		if (rc == 0 && w->tid != w->pid) {
			rc = look(w->pid, status);
			*who = w->pid;
		}
		if (rc != 0)
			return rc;
		tracee_pause(round);
	}
	return 0;
}

static enum along at_call(struct walk *w)
{
	switch (judge_call(w->tid)) {
	case JUDGE_EXEC:
		w->is_in = true;
		return ALONG_GOES;
	case JUDGE_PRIVILEGED:
		return ALONG_MUST_NOT;
	case JUDGE_RETURN:
		return w->is_in ? ALONG_IS_NOT : ALONG_GOES;
	default:
		return ALONG_GOES;
	}
}

static long go_on(const struct walk *w)
{
	return w->is_halted ? ptrace(PTRACE_LISTEN, w->tid, 0, 0)
			    : ptrace(PTRACE_SYSCALL, w->tid, 0, w->sig);
}

static enum along step(struct walk *w)
{
	pid_t who;
	int status;

	if (w->stops++ == CALLS_MAX || go_on(w) < 0 ||
	    next_stop(w, &who, &status) <= 0)
		return ALONG_IS_NOT;
	w->sig = 0;
	w->is_halted = false;
	if (tracee_event(status) == PTRACE_EVENT_EXEC)
		return ALONG_IS;
	if (who != w->tid)
		return ALONG_IS_NOT;
	if (tracee_is_syscall_stop(status))
		return at_call(w);
	w->is_halted = tracee_is_group_stop(status);
	if (status >> 16 == 0)
		w->sig = WSTOPSIG(status);
	return ALONG_GOES;
}

static enum along walk(struct walk *w, const struct along_watch *watch)
{
	int64_t limit = w->since + PATIENCE_S * 1000000000LL;
	struct hark_err ignored;
	enum along how = ALONG_GOES;
	int status;

	if (tracee_wait(w->tid, limit, &status, &ignored) < 0 ||
	    !WIFSTOPPED(status))
		return ALONG_IS_NOT;
	w->is_halted = tracee_is_group_stop(status);
	if (status >> 16 == 0)
		w->sig = WSTOPSIG(status);
	if (!watch->is_right(watch->ctx, w->pid))
		return ALONG_IS_NOT;
	watch->heard(watch->ctx);
	while (how == ALONG_GOES)
		how = step(w);
	return how;
}

/* It is another program: hark may not go in, or could not hold it. */
static int hold_next(pid_t pid, const struct along_watch *watch,
		     struct hark_err *err)
{
	return watch->may_enter(watch->ctx, pid, err) < 0
		   ? -1
		   : hold_executed(pid, err);
}

int along_exec(pid_t pid, pid_t tid, const struct along_watch *watch,
	       struct hark_err *err)
{
	struct walk w = {.pid = pid, .tid = tid, .since = tracee_now_ns()};
	enum along how;

	*err = (struct hark_err){0};
	if (tracee_seize(tid, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC) !=
	    0) {
		watch->heard(watch->ctx);
		err_set(err, HARK_EDENIED, 0,
			"process %d cannot be followed into the next program",
			pid);
		return 0;
	}
	how = walk(&w, watch);
	if (how == ALONG_IS && hold_next(pid, watch, err) == 0)
		return 1;
	if (how == ALONG_MUST_NOT)
		err_set(err, HARK_EREFUSE, 0,
			"process %d executes a program with privileges of its "
			"own: it runs without probes",
			pid);
	attach_release(how == ALONG_IS ? pid : tid);
	return 0;
}
