/* probe/insert.h - probes into a process, and out of it again.
 *
 * The process is held, all threads. It gets image, plan, board and
 * trampolines; its signals go through hark's handler; then the bytes of each
 * patch are written. Leaving is the same backwards: afterwards text, handlers
 * and mappings are as they were found.
 *
 * I1  Whatever fails, what was done is undone, and the process goes on.
 * I2  If hark is killed, the process goes on: probes stay, and are counted for
 *     nobody. The next hark takes them out, wherever it was that the other was
 *     killed; what it needs to know is in the plan (struct collect_removal).
 *
 * Hosted. */
#ifndef PROBE_INSERT_H
#define PROBE_INSERT_H

#include "outside/refuse.h"
#include "probe/unbound.h"
#include "script/script.h"
#include "site/listing.h"
#include "wire/collect.h"

#include <sys/types.h>

#define INSERT_NAME REFUSE_PROBES /* of what is mapped in the process */

struct insertion;

/* What goes in; all borrowed. */
struct insert_plan {
	struct modules *modules; /* of the process */
	struct listing *listing; /* made */
	const struct probe_program *program;
	/* Which clauses want probe i of the listing: at most max numbers go to
	 * out; how many there are. */
	size_t (*clauses)(void *ctx, size_t probe, uint32_t *out, size_t max);
	void *ctx;
	struct collect_geometry geometry; /* max_sites: at least */
	uint32_t flags;			  /* COLLECT_* */
	uint32_t scan;			  /* of samples: unwind/unwind.h */
	uint64_t period_ns;
	struct collect_clock clock;
	int inner_pid;	      /* what the process calls itself */
	int64_t errno_offset; /* probe/errno_place.h; 0: not asked for */
	const char *execname; /* or NULL */
	/* Of the loader, if it is to be asked (image/loader.h); else 0. */
	uint64_t loader_state;
	/* Sites that belong to no instruction (BEGIN and so on): they get the
	 * first numbers. NULL: there are none, or they are there. */
	const struct unbound *unbound;
	/* Of a program that comes after another: its board is that one's, and
	 * its probes have numbers from .first on. NULL: none. */
	const struct insertion *after;
	uint32_t first;
};

struct door;

/* Is there a hark in the process already? -1 and HARK_EREFUSE: one that lives;
 * 1: one that was killed; 0: none. Nothing need be held. */
int insert_look(pid_t pid, struct hark_err *err);
/* Takes out what a hark that was killed has left, if there is such. The process
 * runs, before and after. */
int insert_adopt(pid_t pid, struct hark_err *err);
/* Does a process belong to the session? Asked before it is touched, and again
 * while it is held. */
struct insert_proof {
	bool (*is_ours)(void *ctx, pid_t pid);
	void *ctx;
};
/* Takes probes of this hark out of all processes that have got them by fork. */
void insert_leave_children(const struct insert_proof *proof);

/* The process is held through the door, not entered. On success it is still
 * held, with all probes in it. */
int insert_open(struct door *d, const struct insert_plan *p,
		struct insertion **out, struct hark_err *err);
/* The same for what has come since: .modules, .listing, .clauses and .ctx are
 * of what is new, .program is as before; nothing else is looked at. The process
 * is held, and stays so. Probe k of that listing is *first + k for
 * insert_site(). If it fails, what was done stays until insert_remove(). */
int insert_more(struct insertion *i, struct door *d,
		const struct insert_plan *p, size_t *first,
		struct hark_err *err);
/* A process that has probes of this hark, of which no insertion is known: it
 * has them by fork. It gets one, and a plan of its own. from: any insertion of
 * the same board; modules: those of the process, which runs, before and
 * after. proof: it is still the process that was meant. */
int insert_branch(pid_t pid, const struct insertion *from,
		  const struct probe_program *program, struct modules *modules,
		  const struct insert_proof *proof, struct insertion **out,
		  struct hark_err *err);
/* Are there probes (or hooks) in that module? */
bool insert_has(const struct insertion *i, const struct module *m);
/* Where it has trampolines, ascending; until the next of these calls. */
int insert_own(struct insertion *i, struct space_own *out,
	       struct hark_err *err);
/* A module is gone, with all that was changed in it. Nobody need be held. Takes
 * effect with insert_seen(). */
int insert_forget(struct insertion *i, const struct module *gone,
		  struct hark_err *err);
/* It is there again, where it was: so are its probes, as the same sites. The
 * process is held, and stays so. */
int insert_again(struct insertion *i, struct door *d, const struct module *back,
		 struct hark_err *err);
/* Is it one that was forgotten? */
bool insert_was_there(const struct insertion *i, const struct module *m);
/* These are the modules of the process by now. */
int insert_seen(struct insertion *i, struct modules *modules, bool forgot,
		struct hark_err *err);
/* All threads are held through the door: takes everything out again. 0: it is
 * done, or the program is gone; 1: no probe is hit any more, but somebody is
 * still in one: let all go, and come again. */
int insert_remove(struct insertion *i, struct door *d, struct hark_err *err);
/* Its threads, which are all held, have timers from now on: for a plan with
 * COLLECT_TIMERS. */
int insert_arm(const struct insertion *i, struct door *d, struct hark_err *err);
/* Is the held process the program that they went into? */
bool insert_is_in(const struct insertion *i, const struct door *d);
void insert_close(struct insertion *i);

/* The number of the next site. */
uint32_t insert_next(const struct insertion *i);
/* As hark has them mapped. */
const struct collect_plan *insert_shared_plan(const struct insertion *i);
struct collect_plan *insert_own_plan(struct insertion *i);
/* What was changed there is seen by the process from now on. */
void insert_shown(struct insertion *i);
void *insert_board(const struct insertion *i);
/* The file of the board; borrowed. */
int insert_board_file(const struct insertion *i);
/* The site of probe i of the listing, or behind it of later ones; UINT32_MAX:
 * it could not be probed. */
uint32_t insert_site(const struct insertion *i, size_t probe);

#endif
