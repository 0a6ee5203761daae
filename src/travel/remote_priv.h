/* travel/remote_priv.h - a timeline as programs have it: a process that
 *replays, and what is known of it here.
 *
 *	remote.c	the process, one call, what it asks meanwhile
 *	remote_visits.c	visits, many in a message
 *	remote_calls.c	hark/recording.h, function by function
 *
 * Private to these. */
#ifndef TRAVEL_REMOTE_PRIV_H
#define TRAVEL_REMOTE_PRIV_H

#include "travel/serve.h"

#include <stdbool.h>
#include <sys/types.h>

/* Conditions of stops. Numbers are from 1. */
struct remote_condition {
	uint64_t number;
	uint32_t id; /* of the stop */
	hark_condition *when;
	void *ctx;
};

/* Whom a list is told to: one of these is not NULL. */
struct remote_each {
	hark_each_access *access;
	hark_each_visit *visit;
	hark_each_race *race;
	hark_each_possible *possible;
	void *ctx;
};

/* Places that the process has at hand (travel/window.h), so that steps among
 * them need not ask it. */
struct remote_window {
	uint32_t number; /* of the window that it is in; 0: none */
	uint32_t n, at;
	uint32_t told;	    /* where the process is, of these */
	uint32_t places_of; /* the window whose places these are */
	uint32_t room;
	struct serve_place *places; /* owned */
};

/* A visit that a callback is looking at, and what its message said of it. The
 * process is somewhere else until it is asked for more. */
struct remote_visit {
	uint32_t number; /* in its message, from 1 */
	bool is_there;	 /* the process is; then it is asked for everything */
	const struct hark_registers *regs; /* borrowed; NULL: not known */
	struct serve_visit about;
};

struct hark_timeline {
	struct hark_recording *rec; /* borrowed */
	struct channel *c;	    /* owned mapping */
	pid_t pid;		    /* of the process; 0: it is gone */
	pid_t owner;		    /* that made it */
	int pid_fd;		    /* owned; -1: the kernel has none */
	struct hark_error gone;	    /* why it is */
	/* CPU time that it had when the call was first waited for, and 1; 0: it
	 * was not yet. */
	uint64_t call_began_ms;
	struct hark_position where;
	struct remote_window window;
	unsigned n_threads;
	struct hark_thread *threads; /* owned */
	hark_progress *progress;
	void *progress_ctx;
	uint64_t done, total;		     /* as it was last said */
	struct remote_condition *conditions; /* owned */
	unsigned n_conditions, room_conditions;
	uint64_t last_condition;
	const struct remote_each *each; /* borrowed: of the call under way */
	struct remote_visit *visit;	/* borrowed: looked at; NULL: none */
	bool has_no_memory;		/* for the visits of a message */
	struct hark_mapping *maps;	/* owned: shown last */
	char *paths;			/* owned: of those */
};

/* Starts the process. */
int remote_start(struct hark_timeline *t, struct hark_error *err);
void remote_stop(struct hark_timeline *t);

/* Has a call done; what came of it is in *h, unchecked but for its rc, which is
 * negative if *err was filled. Data is in the channel, and must be copied
 * before it is looked at (C2). */
int64_t remote_call(struct hark_timeline *t, struct channel_head *h,
		    const struct remote_each *each, struct hark_error *err);
/* Has the program look at n visits. 1: *rc is its answer; 0: the message makes
 * no sense. */
int remote_answer_visits(struct hark_timeline *t, uint64_t n, uint64_t len,
			 int64_t *rc);
/* What the message of the visit that is looked at said. false: not that. */
bool remote_visit_registers(const struct hark_timeline *t, uint32_t thread,
			    struct hark_registers *out);
bool remote_visit_read(const struct hark_timeline *t, uint64_t address,
		       size_t len, uint8_t *out, uint8_t *known);

/* It does not say what it must: it is ended, and said to be. Always -1. */
int remote_condemn(struct hark_timeline *t, struct hark_error *err);
/* len bytes of data, if it has exactly so many. */
int remote_take(struct hark_timeline *t, const struct channel_head *h, void *to,
		size_t len, struct hark_error *err);
void remote_check_access(struct hark_access *a);

#endif
