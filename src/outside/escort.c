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
 * X3  One that dies with the ask in its hands has it taken out of them: when
 *     its end is reported if it is escorted, at once if it has asked and is not
 *     there any more, else when the next one rings because it waits too long.
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
#include <time.h>

enum escort_state { ASKED, WALKING, AT_EXEC, EXECUTED };

/* Between answer and execve the engine makes a handful of calls. */
enum { CALLS_MAX = 1000 };

struct walker {
	pid_t tid, pid;
	uint8_t state; /* enum escort_state */
	int calls;
	struct peer *peer; /* borrowed: where it asked; NULL once EXECUTED */
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

/* X3. A living thread takes its answer within microseconds, even if it lives
 * where hark does not see it. */
static void answer_nobody(struct peer *p)
{
	enum { ROUNDS = 50 };
	const struct timespec nap = {.tv_nsec = 100000};

	peer_answer(p, WIRE_ASK_ALONE);
	for (int i = 0; i < ROUNDS && peer_unread(p, WIRE_ASK_ALONE); i++)
		nanosleep(&nap, NULL);
	if (peer_unread(p, WIRE_ASK_ALONE))
		peer_free_ask(p, 0);
}

static void answer_ask(struct escort *e, struct peer *p)
{
	struct hark_err err = {0};
	struct asker who;
	struct walker *w;

	if (asker_find(p, &who) < 0) {
		answer_nobody(p);
		return;
	}
	if (e->how.alone) {
		peer_answer(p, WIRE_ASK_ALONE);
		return;
	}
	w = find(e, who.tid);
	if (w != NULL) { /* seized already: awaited, or it asks again */
		if (w->state != ASKED)
			peer_answer(p, WIRE_ASK_COMING);
		return;
	}
	if (is_busy(e, &who)) {
		peer_answer(p, WIRE_ASK_LATER);
		return;
	}
	w = add(e, &who);
	if (w == NULL) {
		err_set(&err, HARK_ENOMEM, ENOMEM, "out of memory");
		note(e, who.pid, &err);
		peer_answer(p, WIRE_ASK_ALONE);
		return;
	}
	w->peer = p;
	pin_to(e, who.tid);
	if (seize(&who, &err) < 0) {
		note(e, who.pid, &err);
		forget(e, w);
		if (err.code == HARK_EGONE)
			answer_nobody(p);
		else
			peer_answer(p, WIRE_ASK_ALONE);
	}
}

void escort_hear(struct escort *e, struct peer *p)
{
	const struct wire_ask *ask = &peer_run(p)->ask;
	struct asker who;

	if (__atomic_load_n(&ask->state, __ATOMIC_ACQUIRE) == WIRE_ASK_ASKED)
		answer_ask(e, p);
	else if (asker_find(p, &who) < 0)
		peer_free_ask(p, tracee_now_ns()); /* X3 */
}

/* -- Stops -- */

/* The signal that is about to be delivered, or 0. */
static int signal_of(int status)
{
	return tracee_event(status) != 0 || tracee_is_syscall_stop(status)
		   ? 0
		   : WSTOPSIG(status);
}

/* X3: its ask is not always over. */
static void at_end(struct escort *e, struct walker *w)
{
	if (w->state == ASKED ||
	    (w->state == WALKING && peer_unread(w->peer, WIRE_ASK_COMING)))
		peer_free_ask(w->peer, 0);
	forget(e, w);
}

/* X2: returns the walker, whose number is now the process's. */
static struct walker *at_exec_event(struct escort *e, pid_t pid)
{
	unsigned long former = (unsigned long)pid;
	struct asker ended;
	struct walker *w;

	ptrace(PTRACE_GETEVENTMSG, pid, 0, &former);
	for (int i = e->n - 1; i >= 0; i--)
		if (e->walkers[i].pid == pid &&
		    e->walkers[i].tid != (pid_t)former)
			at_end(e, &e->walkers[i]);
	w = find(e, (pid_t)former);
	if (w == NULL)
		return NULL;
	if (peer_unread(w->peer, WIRE_ASK_LATER) &&
	    asker_find(w->peer, &ended) < 0)
		peer_free_ask(w->peer, 0); /* X3, X4 */
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

static void at_stop(struct escort *e, struct walker *w, int status)
{
	if (w->state == ASKED) {
		w->state = WALKING;
		peer_answer(w->peer, WIRE_ASK_COMING);
	}
	if (tracee_is_syscall_stop(status))
		at_call(e, w);
	else if (tracee_is_group_stop(status))
		ptrace(PTRACE_LISTEN, w->tid, 0, 0);
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
			peer_answer(w->peer, WIRE_ASK_ALONE);
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
