/* probe/session_priv.h - how the parts of hark probe come together.
 *
 *	session.c	   its life
 *	session_enter.c	   probes into the process
 *	session_show.c	   records on their way to people
 *	session_clause.c   what hark itself does for the script
 *	session_next.c	   libraries and programs that come later
 *	session_children.c libraries that children load
 *	session_leave.c	   probes out again
 *	session_account.c  what became of every hit */
#ifndef PROBE_SESSION_PRIV_H
#define PROBE_SESSION_PRIV_H

#include "outside/door.h"
#include "outside/told.h"
#include "probe/board.h"
#include "probe/bury.h"
#include "probe/clock.h"
#include "probe/draft.h"
#include "probe/insert.h"
#include "probe/late.h"
#include "probe/namesake.h"
#include "probe/output.h"
#include "probe/sampling.h"
#include "probe/session.h"
#include "probe/ticking.h"

/* A program that probes were put into. */
struct stage {
	struct draft draft;
	struct insertion *insertion; /* owned */
	struct late *late;	     /* owned; NULL: no library is awaited */
	uint32_t first;		     /* number of its first site */
	bool repeats;  /* the same program as one before: same numbers */
	bool was_deep; /* once: its stack, if calm_open() could, is */
	int calm;      /* owned; 0: it is not */
};

enum { SESSION_NAMINGS = 64 };

struct child; /* session_children.c */

struct session {
	struct session_plan p;
	pid_t pid;
	struct told told; /* processes that hark may enter */
	struct bury bury;
	int pidfd;		 /* owned */
	struct image *image;	 /* owned */
	struct clock_look clock; /* a first look */
	struct door door;	 /* while is_held */
	bool is_held, is_gone;
	struct stage now;     /* of pid, the newest */
	struct stage *others; /* owned: all but that */
	size_t n_others;
	struct child **children; /* owned: those that have loaded something */
	size_t n_children;
	/* Owned: of programs that came again, elsewhere; the newest of them. */
	struct naming *namings[SESSION_NAMINGS];
	size_t n_namings;	   /* ever */
	uint32_t next_site;	   /* behind those of all programs */
	struct board *board;	   /* owned */
	unsigned heard_exec;	   /* where the next request is looked for */
	struct namesake *names;	   /* owned */
	struct output *output;	   /* owned */
	struct output_site *sites; /* owned; n_sites */
	size_t n_sites;
	struct board_record *faults; /* owned: ERROR is still to run for them */
	size_t n_faults, fault_room, faults_told;
	size_t refused;
	bool is_busy;		   /* much came with the last step */
	struct ticking *ticking;   /* owned; NULL: threads have no clock */
	struct sampling *sampling; /* owned; NULL: no samples */
};

/* One line for a person. */
void session_note(const struct session *s, bool is_error, const char *text);

/* -- session_next.c -- */

/* ctx is the session: is that a process of it, which hark may enter? */
bool session_is_ours(void *ctx, pid_t pid);
/* If stacks are deep, the kernel is to note which pages are written. */
void session_calm(struct session *s);

/* -- session_enter.c -- */

/* A program that is held at its beginning; a process that runs. Both are held
 * afterwards, as far as they got. */
int session_enter_started(struct session *s, struct hark_err *err);
int session_enter_running(struct session *s, struct hark_err *err);
/* Through the door; the process stays held. after: the program before; NULL:
 * it is the first. */
int session_insert(struct session *s, struct door *d, struct stage *st,
		   const struct insertion *after, struct hark_err *err);
int session_hold(struct session *s, struct hark_err *err);
/* Of a process that is held, if it is. */
void session_let_go(struct session *s);

/* -- session_show.c -- */

int session_open_output(struct session *s, struct hark_err *err);
/* Of the board: all that is there, whenever it was written. */
int session_drain_all(struct session *s, struct hark_err *err);
/* What is on the board. Clauses that failed may make more of it. */
int session_drain(struct session *s, bool last, struct hark_err *err);
/* What records of these sites are to be called. The former as struct late_plan
 * has it. */
void session_name_listing(void *ctx, const struct listing *l, size_t first);
void session_name_stage(struct session *s, const struct stage *st);

/* Probe k of the listing is number first + k of the insertion. */
void session_name_probes(struct session *s, const struct insertion *in,
			 const struct listing *l, size_t first);
/* Is a name none, but a number? */
bool session_is_unknown(const char *name);

/* -- session_clause.c: ctx is the session -- */

/* One clause of a site that belongs to no instruction. */
int session_run(void *ctx, uint32_t site, uint32_t clause, bool goes_on);
/* A clause has failed; and ERROR for all that have. */
int session_take_fault(void *ctx, const struct board_record *r,
		       struct hark_err *err);
void session_run_errors(struct session *s);
/* system() */
int session_command(void *ctx, const char *command, struct hark_err *err);

/* -- session_next.c -- */

/* Libraries that come later, if the script wants them. */
int session_watch(struct session *s, struct hark_err *err);
/* If somebody has loaded a library, hark looks. */
int session_hear_loaded(struct session *s, struct hark_err *err);
/* If somebody executes another program, hark goes along. */
int session_hear_exec(struct session *s, struct hark_err *err);
void session_drop_stage(struct stage *st);
/* Do their sites get the same numbers, counted from the first? */
bool session_same_probes(const struct listing *a, const struct listing *b);

/* The clocks of a held process, of the first program in it or another. */
int session_tick(struct session *s, struct door *d, const struct stage *st,
		 struct hark_err *err);

/* -- session_children.c -- */

/* One has loaded something; one of them has, or somebody else. */
void session_child_loaded(struct session *s, pid_t pid);
void session_all_loaded(struct session *s);
/* It is about to be another program. */
void session_forget_child(struct session *s, pid_t pid);
void session_drop_children(struct session *s);
void session_each_child(const struct session *s,
			void (*visit)(void *ctx, const struct stage *st),
			void *ctx);
/* Has one of them such probes? The number of the first. */
bool session_child_numbers(const struct session *s, const struct listing *l,
			   uint32_t *first);
/* If out is not a name yet. */
void session_name_in_children(const struct session *s, enum probe_kind how,
			      uint64_t addr, char *out, size_t size);

/* -- session_leave.c -- */

/* Has it ended? Its status is left for whoever may wait for it. */
bool session_has_ended(struct session *s);
/* Threads that are about to execute something do not wait for hark. */
void session_answer_execs(struct session *s);
int session_take_out(struct session *s, struct hark_err *err);
/* H1: it never was, or goes on. */
void session_undo(struct session *s);

#endif
