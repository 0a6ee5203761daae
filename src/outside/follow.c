/* outside/follow.c - stay with a tree of processes.
 *
 * One loop over what waitpid reports. Row: what a stop is. What is done with
 * it stands beside it, and always ends with the task running again:
 *
 *   first stop of a new process   it passes; go on
 *   first stop of a new thread    go on (F4)
 *   fork, vfork, clone event      go on (the child reports itself)
 *   entry of execve               privileged file: let go; else go on
 *   exec event                    go on to the end of execve
 *   end of execve                 it passes; go on
 *   group stop                    stay stopped, listen for SIGCONT
 *   signal                        deliver it
 *   any other                     go on
 *
 * F1  A task is let go (PTRACE_DETACH) only at a stop, and then forgotten.
 * F2  exec from a thread that is not the leader reports under the leader's
 *     number; the others of that process are gone, some without a word. So
 *     the table is only a memory of who passed: an unknown number is new, a
 *     forgotten one does no harm.
 * F3  Judging execve at its entry needs a stop at every system call. Root's
 *     tracees keep their privilege, so as root only events stop them; whether
 *     a program has changed its credentials is looked at when it has.
 * F4  A thread that is born while others of its process run does not pass: the
 *     descriptors that a pass opens for a moment would take numbers from under
 *     the others. It lives in a process that has passed. */
#include "outside/follow.h"

#include "outside/attach.h"
#include "outside/creds.h"
#include "outside/judge.h"
#include "outside/proc.h"
#include "outside/tracee.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

struct task {
	pid_t tid;
	uint8_t executing; /* between the exec event and the end of execve */
};

struct follow {
	const struct native_watch *watch; /* borrowed */
	pid_t root;
	int root_status;    /* -1 while it lives */
	int every_call;	    /* F3 */
	pid_t noted;	    /* the last process that a note was about */
	struct task *tasks; /* owned */
	int n, size;
};

enum {
	FOLLOW_OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC |
			 PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			 PTRACE_O_TRACECLONE,
};

/* -- Who is here -- */

static struct task *find(struct follow *f, pid_t tid)
{
	for (int i = 0; i < f->n; i++)
		if (f->tasks[i].tid == tid)
			return &f->tasks[i];
	return NULL;
}

static struct task *add(struct follow *f, pid_t tid)
{
	if (f->n == f->size) {
		int size = f->size == 0 ? 16 : 2 * f->size;
		struct task *more =
		    realloc(f->tasks, (size_t)size * sizeof *more);

		if (more == NULL)
			return NULL;
		f->tasks = more;
		f->size = size;
	}
	f->tasks[f->n] = (struct task){.tid = tid};
	return &f->tasks[f->n++];
}

static void forget(struct follow *f, pid_t tid)
{
	struct task *t = find(f, tid);

	if (t != NULL)
		*t = f->tasks[--f->n];
}

static pid_t process_of(pid_t tid)
{
	uint64_t tgid = 0;

	return proc_status(tid, 0, "Tgid", 10, &tgid) == 0 ? (pid_t)tgid : tid;
}

static void go_on(const struct follow *f, pid_t tid, int signal)
{
	ptrace(f->every_call ? PTRACE_SYSCALL : PTRACE_CONT, tid, 0,
	       (long)signal);
}

/* Let a task go; it runs on unobserved. */
static void let_go(struct follow *f, pid_t tid, const char *why)
{
	char text[600];

	if (f->noted != process_of(tid)) {
		f->noted = process_of(tid);
		snprintf(text, sizeof text,
			 "process %d runs unobserved from here: %s", f->noted,
			 why);
		f->watch->note(f->watch->ctx, text);
	}
	ptrace(PTRACE_DETACH, tid, 0, 0);
	forget(f, tid);
}

/* -- Passing -- */

/* It passed; SIGSTOP may have come meanwhile. One more stop says whether it is
 * to go on. */
static void go_on_after_pass(pid_t tid)
{
	ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	ptrace(PTRACE_CONT, tid, 0, 0);
}

/* The task is stopped; whatever comes of it, it runs again afterwards. */
static void pass_and_go_on(struct follow *f, pid_t tid)
{
	struct hark_err err = {0};

	if (native_pass(process_of(tid), &tid, 1, f->watch, &err) == 0 ||
	    err.code == HARK_EGONE)
		go_on_after_pass(tid);
	else
		let_go(f, tid, err.text);
}

/* -- Stops -- */

static void at_system_call(struct follow *f, struct task *t)
{
	static const char privileged[] =
	    "it executes a program that is set-uid, set-gid or has file "
	    "capabilities";

	if (t->executing ? creds_changed_by_exec(process_of(t->tid))
			 : judge_call(t->tid) == JUDGE_PRIVILEGED) {
		let_go(f, t->tid, privileged);
	} else if (t->executing) {
		t->executing = 0;
		pass_and_go_on(f, t->tid);
	} else {
		go_on(f, t->tid, 0);
	}
}

static void at_exec(struct follow *f, struct task *t)
{
	unsigned long former = 0;

	if (ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &former) == 0 &&
	    (pid_t)former != t->tid) {
		pid_t tid = t->tid;

		forget(f, (pid_t)former);
		t = find(f, tid); /* the table moved */
	}
	t->executing = 1;
	ptrace(PTRACE_SYSCALL, t->tid, 0, 0);
}

static void at_stop(struct follow *f, struct task *t, int status)
{
	if (tracee_is_syscall_stop(status))
		at_system_call(f, t);
	else if (tracee_event(status) == PTRACE_EVENT_EXEC)
		at_exec(f, t);
	else if (tracee_is_group_stop(status))
		ptrace(PTRACE_LISTEN, t->tid, 0, 0);
	else
		go_on(f, t->tid,
		      tracee_event(status) == 0 ? WSTOPSIG(status) : 0);
}

/* A number not seen before: a child at its first stop, or (F2) a program just
 * executed by a thread that was not the leader. */
static void at_first_stop(struct follow *f, pid_t tid, int status)
{
	struct task *t = add(f, tid);

	if (t == NULL)
		let_go(f, tid, "out of memory");
	else if (tracee_is_event_stop(status) &&
		 !tracee_is_group_stop(status) && process_of(tid) == tid)
		pass_and_go_on(f, tid);
	else
		at_stop(f, t, status);
}

static void report(struct follow *f, pid_t tid, int status)
{
	struct task *t = find(f, tid);

	if (WIFEXITED(status) || WIFSIGNALED(status)) {
		if (tid == f->root)
			f->root_status = status;
		forget(f, tid);
	} else if (t == NULL) {
		at_first_stop(f, tid, status);
	} else {
		at_stop(f, t, status);
	}
}

enum follow_status follow_step(struct follow *f)
{
	enum { A_WHILE = 100 };

	for (int i = 0; i < A_WHILE; i++) {
		int status;
		pid_t tid = waitpid(-1, &status, __WALL | WNOHANG);

		if (tid == 0)
			return FOLLOW_ON;
		if (tid < 0)
			return errno == EINTR ? FOLLOW_MORE : FOLLOW_DONE;
		report(f, tid, status);
	}
	return FOLLOW_MORE;
}

/* -- Life -- */

static struct follow *follow_new(const struct native_watch *w,
				 struct hark_err *err)
{
	struct follow *f = calloc(1, sizeof *f);

	if (f == NULL) {
		err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
		return NULL;
	}
	f->watch = w;
	f->root_status = -1;
	f->every_call = geteuid() != 0;
	return f;
}

int follow_start(const struct launch *plan, const struct native_watch *w,
		 struct follow **out, struct hark_err *err)
{
	struct follow *f = follow_new(w, err);
	struct launch with = *plan;

	if (f == NULL)
		return -1;
	with.ptrace_options |= FOLLOW_OPTIONS;
	if (launch_start(&with, &f->root, err) < 0) {
		free(f);
		return -1;
	}
	if (add(f, f->root) == NULL ||
	    native_pass(f->root, &f->root, 1, w, err) < 0) {
		launch_abandon(plan, f->root, err);
		follow_close(f);
		return -1;
	}
	/* It runs now; from here on it does not die with hark. */
	ptrace(PTRACE_SETOPTIONS, f->root, 0, (long)FOLLOW_OPTIONS);
	go_on_after_pass(f->root);
	*out = f;
	return 0;
}

int follow_attach(pid_t pid, const struct native_watch *w, struct follow **out,
		  struct hark_err *err)
{
	struct follow *f = follow_new(w, err);
	pid_t *tids = NULL;
	struct door d;
	int n, rc = -1;

	if (f == NULL)
		return -1;
	if (attach_open(&d, pid, err) < 0) {
		free(f);
		return -1;
	}
	n = d.n_threads;
	tids = calloc((size_t)n, sizeof *tids);
	if (tids == NULL) {
		err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
		goto out;
	}
	for (int i = 0; i < n; i++) {
		tids[i] = d.threads[i].tid;
		if (add(f, tids[i]) == NULL) {
			err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
			goto out;
		}
	}
	if (native_pass(pid, tids, n, w, err) < 0)
		goto out;
	f->root = pid;
	rc = 0;
out:
	if (rc < 0) {
		attach_close(&d);
		free(f->tasks);
		free(f);
	} else {
		door_fini(&d); /* the threads stay ours */
		for (int i = 0; i < n; i++) {
			ptrace(PTRACE_SETOPTIONS, tids[i], 0,
			       (long)FOLLOW_OPTIONS);
			go_on_after_pass(tids[i]);
		}
		*out = f;
	}
	free(tids);
	return rc;
}

pid_t follow_root(const struct follow *f)
{
	return f->root;
}

int follow_exit_status(const struct follow *f)
{
	return f->root_status;
}

void follow_close(struct follow *f)
{
	if (f == NULL)
		return;
	for (int i = 0; i < f->n; i++)
		attach_release(f->tasks[i].tid);
	free(f->tasks);
	free(f);
}
