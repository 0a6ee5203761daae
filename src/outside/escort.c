/* outside/escort.c - with a thread across its execve.
 *
 *   ASKED      seized and interrupted; its first stop is awaited
 *   WALKING    told that hark comes; stops at every system call
 *   AT_EXEC    inside execve
 *   EXECUTED   the exec event was there, the end of execve is next
 *
 *                 first stop     execve entered    exec event    call ends
 *   ASKED         answer; W.
 *   WALKING                      judge; AT_EXEC
 *   AT_EXEC                                        EXECUTED      it failed: go
 *   EXECUTED                                                     enter; go
 *
 * Signals that come meanwhile are delivered, a stopped process stays stopped.
 *
 * X1  An escorted thread ends up entered or let go, always at a stop of its
 *     own, and is forgotten then.
 * X2  exec from a thread that is not the leader reports under the leader's
 *     number. Other escorted threads of that process are gone without a word.
 * X3  The request of an escorted thread is freed when its stop or its end is
 *     reported. Of one that is not there any more when hark looks for it the
 *     answer remains, until another thread replaces it (wire/run.h).
 * X4  One thread of a process at a time. execve waits for the end of all other
 *     threads, which for a seized one means until hark has heard of it; and
 *     PTRACE_SEIZE waits for an execve of the process. With two of one process
 *     seized and a third about to be, all would wait for ever. */
#include "outside/escort.h"

#include "outside/asker.h"
#include "outside/attach.h"
#include "outside/creds.h"
#include "outside/judge.h"
#include "outside/proc.h"
#include "outside/refuse.h"
#include "outside/tracee.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

enum escort_state { ASKED, WALKING, AT_EXEC, EXECUTED };

/* Between answer and execve the engine makes a handful of calls. */
enum { CALLS_MAX = 1000 };

struct walker {
	pid_t tid, pid;
	uint8_t state; /* enum escort_state */
	int calls;
	struct peer *peer; /* borrowed: where it asked; NULL once EXECUTED */
	struct peer_ask ask;
};

struct escort {
	const struct escort_watch *watch; /* borrowed */
	struct enter_how how;
	struct walker *walkers; /* owned */
	int n, room;
	uint64_t let_go;
	pid_t noted; /* the last process that a note was about */
	struct attach_pin pin;
};

/* -- Who is on the way -- */

static struct walker *find(struct escort *e, pid_t tid)
{
	for (int i = 0; i < e->n; i++)
		if (e->walkers[i].tid == tid)
			return &e->walkers[i];
	return NULL;
}

static struct walker *add(struct escort *e, const struct asker *who)
{
	if (e->n == e->room) {
		int room = e->room == 0 ? 16 : 2 * e->room;
		struct walker *more =
		    realloc(e->walkers, (size_t)room * sizeof *more);

		if (more == NULL)
			return NULL;
		e->walkers = more;
		e->room = room;
	}
	e->walkers[e->n] = (struct walker){.tid = who->tid, .pid = who->pid};
	return &e->walkers[e->n++];
}

static void forget(struct escort *e, struct walker *w)
{
	*w = e->walkers[--e->n];
	if (e->n == 0) {
		attach_unpin(&e->pin);
		e->pin.pinned = 0;
	}
}

/* hark moves to the CPU of whoever it deals with. */
static void pin_to(struct escort *e, pid_t tid)
{
	attach_unpin(&e->pin);
	e->pin = attach_pin(tid);
}

static int has_ended(pid_t pid)
{
	char state = proc_state(pid, 0);

	return state == 0 || state == 'Z' || state == 'X';
}

/* Says why a program goes on natively; one that has ended does not. */
static void note(struct escort *e, pid_t pid, const struct hark_err *why)
{
	char text[600];

	if (why->code == HARK_EGONE || has_ended(pid))
		return;
	e->let_go++;
	if (e->noted == pid)
		return;
	e->noted = pid;
	snprintf(text, sizeof text, "process %d goes on natively: %s", pid,
		 why->text);
	e->watch->note(e->watch->ctx, text);
}

/* X1. */
static void let_go(struct escort *e, struct walker *w)
{
	ptrace(PTRACE_DETACH, w->tid, 0, 0);
	forget(e, w);
}

static void go_on(const struct walker *w, int signal)
{
	ptrace(PTRACE_SYSCALL, w->tid, 0, (long)signal);
}

/* -- The ask -- */

/* X4: is another thread of its process on the way? */
static int is_busy(const struct escort *e, const struct asker *who)
{
	for (int i = 0; i < e->n; i++)
		if (e->walkers[i].pid == who->pid)
			return 1;
	return 0;
}

/* It stays seized only if it can be stopped: that is what it is for. */
static int seize(const struct asker *who, struct hark_err *err)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC;

	int e = tracee_seize(who->tid, options); /* EPERM, too, as it ends */

	return e == 0 ? 0
		      : refuse_explain(who->pid, who->tid,
				       has_ended(who->tid) ? ESRCH : e, err);
}

/* It stays with hark. */
static void answer_walker(struct walker *w, const struct peer_ask *ask)
{
	w->ask = *ask;
	if (w->state != ASKED) /* it has lost its answer, and asks again */
		peer_answer(w->peer, ask, WIRE_ASK_COMING);
}

/* Seizes it; the answer follows at its first stop. */
static void answer_new(struct escort *e, struct peer *p,
		       const struct peer_ask *ask, const struct asker *who)
{
	struct walker *w = add(e, who);
	struct hark_err err = {0};

	if (w == NULL) {
		err_set(&err, HARK_ENOMEM, ENOMEM, "out of memory");
		note(e, who->pid, &err);
		peer_answer(p, ask, WIRE_ASK_ALONE);
		return;
	}
	w->peer = p;
	w->ask = *ask;
	pin_to(e, who->tid);
	if (seize(who, &err) < 0) {
		note(e, who->pid, &err);
		forget(e, w);
		peer_answer(p, ask, WIRE_ASK_ALONE); /* X3 */
	}
}

static void answer_ask(struct escort *e, struct peer *p,
		       const struct peer_ask *ask)
{
	struct asker who;
	struct walker *w;

	if (asker_find(p, ask, &who) < 0 || e->how.alone) {
		peer_answer(p, ask, WIRE_ASK_ALONE);
		return;
	}
	w = find(e, who.tid);
	if (w != NULL && w->peer == p)
		answer_walker(w, ask);
	else if (is_busy(e, &who))
		peer_answer(p, ask, WIRE_ASK_LATER);
	else
		answer_new(e, p, ask, &who);
}

/* Is its first stop awaited? Then the answer will follow. */
static int is_awaited(const struct escort *e, const struct peer *p,
		      const struct peer_ask *ask)
{
	for (int i = 0; i < e->n; i++)
		if (e->walkers[i].peer == p && e->walkers[i].state == ASKED &&
		    e->walkers[i].ask.word == ask->word)
			return 1;
	return 0;
}

/* X4, by the numbers of the request alone: of hundreds of threads that ask
 * again and again the thread itself need not be looked for. */
static int is_after_another(const struct escort *e, const struct peer *p,
			    const struct peer_ask *ask)
{
	for (int i = 0; i < e->n; i++)
		if (e->walkers[i].peer == p &&
		    wire_ask_pid(e->walkers[i].ask.word) ==
			wire_ask_pid(ask->word) &&
		    wire_ask_tid(e->walkers[i].ask.word) !=
			wire_ask_tid(ask->word))
			return 1;
	return 0;
}

void escort_hear(struct escort *e, struct peer *p)
{
	struct peer_ask ask = {0};

	while (peer_next_ask(p, &ask))
		if (is_after_another(e, p, &ask))
			peer_answer(p, &ask, WIRE_ASK_LATER);
		else if (!is_awaited(e, p, &ask))
			answer_ask(e, p, &ask);
}

/* -- Stops -- */

/* The signal that is about to be delivered, or 0. */
static int signal_of(int status)
{
	return tracee_event(status) != 0 || tracee_is_syscall_stop(status)
		   ? 0
		   : WSTOPSIG(status);
}

/* X3 */
static void at_end(struct escort *e, struct walker *w)
{
	if (w->peer != NULL)
		peer_free_ask(w->peer, &w->ask);
	forget(e, w);
}

/* X2: returns the walker, whose number is now the process's. */
static struct walker *at_exec_event(struct escort *e, pid_t pid)
{
	unsigned long former = (unsigned long)pid;
	struct walker *w;

	ptrace(PTRACE_GETEVENTMSG, pid, 0, &former);
	for (int i = e->n - 1; i >= 0; i--)
		if (e->walkers[i].pid == pid &&
		    e->walkers[i].tid != (pid_t)former)
			at_end(e, &e->walkers[i]);
	w = find(e, (pid_t)former);
	if (w == NULL)
		return NULL;
	w->tid = pid;
	w->state = EXECUTED;
	w->peer = NULL;
	e->watch->executed(e->watch->ctx, pid);
	return w;
}

static void step_aside(struct escort *e, struct walker *w)
{
	struct hark_err why;

	err_set(&why, HARK_EREFUSE, 0,
		"it executes a program that is set-uid, set-gid or has file "
		"capabilities");
	note(e, w->pid, &why);
	let_go(e, w);
}

/* The end of execve: this is what it was all for. */
static void enter(struct escort *e, struct walker *w)
{
	struct user_regs_struct regs;
	struct hark_err err = {0};
	struct entered in;

	if (creds_changed_by_exec(w->pid)) { /* judge.h: the path was changed */
		step_aside(e, w);
		return;
	}
	pin_to(e, w->tid);
	if (enter_program(w->pid, &e->how, &in, &err) == 0) {
		forget(e, w);
		if (e->watch->entered(e->watch->ctx, &in) < 0)
			peer_close(in.peer);
		return;
	}
	/* A thread that SIGKILL has taken away is in no stop any more. */
	if (tracee_get_regs(w->tid, &regs, NULL) == 0)
		note(e, w->pid, &err);
	let_go(e, w);
}

static void at_call(struct escort *e, struct walker *w)
{
	if (w->state == EXECUTED) {
		enter(e, w);
		return;
	}
	switch (judge_call(w->tid)) {
	case JUDGE_PRIVILEGED:
		step_aside(e, w);
		return;
	case JUDGE_EXEC:
		w->state = AT_EXEC;
		break;
	case JUDGE_RETURN:
		if (w->state != AT_EXEC)
			break;
		let_go(e, w); /* execve failed */
		return;
	case JUDGE_OTHER:
		if (++w->calls < CALLS_MAX)
			break;
		let_go(e, w); /* it has changed its mind */
		return;
	}
	go_on(w, 0);
}

/* It may be for long, and others need the word: it will ask again. */
static void stay_stopped(struct walker *w)
{
	if (w->peer != NULL)
		peer_free_ask(w->peer, &w->ask);
	ptrace(PTRACE_LISTEN, w->tid, 0, 0);
}

static void at_stop(struct escort *e, struct walker *w, int status)
{
	if (w->state == ASKED) {
		w->state = WALKING;
		peer_answer(w->peer, &w->ask, WIRE_ASK_COMING);
	}
	if (tracee_is_syscall_stop(status))
		at_call(e, w);
	else if (tracee_is_group_stop(status))
		stay_stopped(w);
	else
		go_on(w, signal_of(status));
}

int escort_report(struct escort *e, pid_t tid, int status)
{
	struct walker *w = tracee_event(status) == PTRACE_EVENT_EXEC
			       ? at_exec_event(e, tid)
			       : find(e, tid);

	if (w == NULL) {
		/* Nobody's; should it be a stop, it must not last. */
		if (WIFSTOPPED(status))
			ptrace(PTRACE_DETACH, tid, 0, (long)signal_of(status));
		return 0;
	}
	if (WIFSTOPPED(status))
		at_stop(e, w, status);
	else
		at_end(e, w);
	return 1;
}

/* -- Life -- */

struct escort *escort_new(const struct escort_watch *w,
			  const struct enter_how *how)
{
	struct escort *e = calloc(1, sizeof *e);

	if (e != NULL) {
		e->watch = w;
		e->how = *how;
	}
	return e;
}

void escort_free(struct escort *e)
{
	if (e == NULL)
		return;
	while (e->n > 0) {
		struct walker *w = &e->walkers[e->n - 1];

		if (w->state == ASKED)
			peer_answer(w->peer, &w->ask, WIRE_ASK_ALONE);
		attach_release(w->tid);
		forget(e, w);
	}
	free(e->walkers);
	free(e);
}

void escort_alone(struct escort *e)
{
	e->how.alone = 1;
}

int escort_busy(const struct escort *e)
{
	return e->n;
}

int escort_needs(const struct escort *e, const struct peer *p)
{
	for (int i = 0; i < e->n; i++)
		if (e->walkers[i].peer == p)
			return 1;
	return 0;
}

uint64_t escort_let_go(const struct escort *e)
{
	return e->let_go;
}
