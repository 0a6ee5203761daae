/* probe/session_clause.c - what hark itself does for a script: clauses that
 * belong to no instruction, clauses for those that failed, commands. */
#include "probe/session_priv.h"

#include "base/fmt.h"
#include "native/collect.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FAULTS_TOLD = 10 };

/* -- Clauses -- */

static bool read_target(void *ctx, uint64_t addr, void *out, uint32_t len)
{
	const struct session *s = ctx;
	struct iovec to = {out, len},
		     from = {(void *)(uintptr_t)addr, len}; // NOLINT

	return process_vm_readv(s->pid, &to, 1, &from, 1, 0) == (ssize_t)len;
}

static const struct collect_site *site_of(const struct session *s,
					  uint32_t number)
{
	const struct collect_plan *plan = insert_shared_plan(s->now.insertion);
	const struct collect_index *index = collect_index(plan);
	const struct collect_site *all = collect_at(plan, index->sites.offset);

	for (uint64_t i = 0; i < index->sites.n; i++)
		if (all[i].number == number)
			return &all[i];
	return NULL;
}

static void run_clause(struct session *s, uint32_t site, uint32_t clause,
		       bool goes_on, const struct board_record *fault)
{
	struct collect_outside o = {
	    .plan = insert_shared_plan(s->now.insertion),
	    .board = insert_board(s->now.insertion),
	    .area = board_area(s->board),
	    .site = site_of(s, site),
	    .goes_on = goes_on,
	    .pid = (uint32_t)s->pid,
	    .read = read_target,
	    .ctx = s,
	};

	if (fault != NULL)
		memcpy(o.args + 1, fault->fault, sizeof fault->fault);
	if (o.site == NULL)
		return;
	collect_run(&o, clause);
	if (o.wants_stop)
		kill(s->pid, SIGSTOP);
	if (o.wants_signal != 0)
		kill(s->pid, (int)o.wants_signal);
}

int session_run(void *ctx, uint32_t site, uint32_t clause, bool goes_on)
{
	run_clause(ctx, site, clause, goes_on, NULL);
	return 0;
}

/* -- Faults -- */

static const char *fault_text(uint64_t fault)
{
	static const char *const texts[] = {
	    [MACHINE_NO_FAULT] = "it failed",
	    [MACHINE_BAD_ADDRESS] = "invalid address",
	    [MACHINE_DIVISION] = "division by zero",
	    [MACHINE_NO_SCRATCH] = "no room for its texts",
	    [MACHINE_BAD_REGISTER] = "no such register",
	};

	return fault < sizeof texts / sizeof *texts ? texts[fault] : texts[0];
}

static void tell_fault(struct session *s, const struct board_record *r)
{
	const struct output_site *site = &s->sites[r->site];
	char line[512];
	size_t n;

	if (s->faults_told == FAULTS_TOLD)
		session_note(s, true, "more clauses failed; they are counted");
	if (s->faults_told++ >= FAULTS_TOLD)
		return;
	n = fmt_text(line, sizeof line,
		     "the clause of line %u failed at %s:%s, thread %u: %s",
		     probe_clauses(s->now.draft.program)[r->clause].line,
		     site->function, site->name, r->tid,
		     fault_text(r->fault[3]));
	if (r->fault[3] == MACHINE_BAD_ADDRESS && n < sizeof line)
		fmt_text(line + n, sizeof line - n, " 0x%lx",
			 (unsigned long)r->fault[4]);
	session_note(s, true, line);
}

/* ERROR runs when the board is not being read. */
int session_take_fault(void *ctx, const struct board_record *r,
		       struct hark_err *err)
{
	struct session *s = ctx;
	struct board_record *more;
	size_t room;

	tell_fault(s, r);
	if (!unbound_has(s->now.draft.unbound, PROBE_AT_ERROR) ||
	    strcmp(s->sites[r->site].name, "ERROR") == 0)
		return 0;
	if (s->n_faults == s->fault_room) {
		room = s->fault_room * 2 + 16;
		more = reallocarray(s->faults, room, sizeof *more);
		if (more == NULL)
			return err_set(err, HARK_ENOMEM, 0, "out of memory");
		s->faults = more;
		s->fault_room = room;
	}
	s->faults[s->n_faults++] = *r;
	return 0;
}

struct error_run {
	struct session *s;
	const struct board_record *fault;
};

static int run_error(void *ctx, uint32_t site, uint32_t clause, bool goes_on)
{
	const struct error_run *e = ctx;

	run_clause(e->s, site, clause, goes_on, e->fault);
	return 0;
}

void session_run_errors(struct session *s)
{
	for (size_t i = 0; i < s->n_faults; i++) {
		struct error_run e = {s, &s->faults[i]};

		unbound_each(s->now.draft.unbound, PROBE_AT_ERROR, run_error,
			     &e);
	}
	s->n_faults = 0;
}

/* -- system() -- */

int session_command(void *ctx, const char *command, struct hark_err *err)
{
	static char shell[] = "/bin/sh", flag[] = "-c";
	const struct session *s = ctx;
	char *text = strdup(command), *argv[] = {shell, flag, text, NULL};
	posix_spawnattr_t attr;
	sigset_t none;
	pid_t pid;
	int e = ENOMEM;

	sigemptyset(&none);
	if (text != NULL && posix_spawnattr_init(&attr) == 0) {
		posix_spawnattr_setsigmask(
		    &attr, s->p.launch != NULL ? s->p.launch->mask : &none);
		posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
		e = posix_spawn(&pid, shell, NULL, &attr, argv, environ);
		posix_spawnattr_destroy(&attr);
	}
	free(text);
	if (e != 0)
		return err_set(err, HARK_EIO, e, "system(): %s", strerror(e));
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return 0;
}
