/* outside/door.h - into a stopped process, through it, and out again.
 *
 * A door is a process all of whose threads (or the one thread of a program
 * that has just been executed) hark holds at ptrace stops. Through it go the
 * image (a sealed memfd, mapped read-execute) and the channel (a memfd mapped
 * read-write); each thread can be sent once through the image; then both are
 * unmapped and every thread goes on from exactly where it was. Or the one
 * thread goes in to stay, and image and channel stay with it.
 *
 * D1  Threads are only ever changed between door_enter and door_leave, and
 *     each is given back what it had (outside/rules.h says in which form).
 * D2  Whatever fails, door_leave undoes all that was done before.
 * D3  If hark is killed, each thread goes home by itself, wherever it is. */
#ifndef OUTSIDE_DOOR_H
#define OUTSIDE_DOOR_H

#include "base/err.h"
#include "outside/drain.h"
#include "outside/gate.h"

#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

enum door_progress {
	DOOR_HELD,   /* stopped, untouched */
	DOOR_INSIDE, /* its registers point into the image or the gate */
	DOOR_DEAD,
	DOOR_STAYED, /* detached: it runs in the engine */
};

struct door_thread {
	pid_t tid;
	uint8_t progress;	      /* enum door_progress */
	struct user_regs_struct seen; /* as the stop showed them: R1 */
	struct user_regs_struct home; /* to resume by itself: R2 */
	uint64_t mask;
	uint64_t rseq; /* what it has registered; 0: nothing */
	uint32_t rseq_len, rseq_signature;
};

struct door {
	pid_t pid;
	const char *name;		      /* borrowed: of the memfds */
	int fresh;			      /* the program has just begun */
	const struct wire_geometry *geometry; /* borrowed: of the channel, or
					       * NULL: as the threads need */
	struct door_thread *threads;	      /* owned */
	int n_threads, max_threads;
	int mem;	  /* owned: /proc/PID/mem, from door_enter on */
	struct gate gate; /* in a borrowed thread: threads[worker] */
	int worker;	  /* -1: none */
	int sweep;	  /* a killed hark's gate was there */
	uint64_t image, image_len, channel, channel_len; /* 0: not mapped */
	uint64_t slots_at;				 /* in the channel */
	struct drain *drain; /* owned; hark's end of the channel */
	int64_t limit_ns;    /* for each stop */
};

/* A door to process pid with no thread yet. */
void door_init(struct door *d, pid_t pid);
void door_fini(struct door *d);

/* Takes a thread that is at a PTRACE_EVENT_STOP (or at the end of execve). */
int door_add(struct door *d, pid_t tid, struct hark_err *err);

/* Borrows a thread, to make system calls by (outside/remote.h), until
 * door_leave. */
int door_begin(struct door *d, struct hark_err *err);
/* From now on threads[k], which is held or borrowed already, makes them. */
int door_borrow(struct door *d, int k, struct hark_err *err);
/* Maps image and channel; room for one ring and slot a thread. */
int door_enter(struct door *d, struct hark_err *err);
/* Sends every thread once through the image. */
int door_visit(struct door *d, struct hark_err *err);
/* Sends the one thread in to be translated, and lets go of it there. Image and
 * channel are the program's then (door_leave does nothing); on failure the
 * thread is where it was. Set name to DOOR_STAYS, and fresh, before
 * door_enter. */
#define DOOR_STAYS   "hark-run" /* and its name in the target's maps: */
#define DOOR_IN_MAPS "/memfd:" DOOR_STAYS " (deleted)"
int door_translate(struct door *d, struct hark_err *err);
/* The same for all threads of a process that runs already: image and channel
 * stay, and all threads are let go. Nothing is fresh, but the channel has as
 * many slots as there are threads. */
int door_attach(struct door *d, struct hark_err *err);

/* A process with an engine, all of whose threads are parked there: image and
 * channel are where they are. (Instead of door_enter; threads' seen, home and
 * mask are the caller's to set.) */
struct door_place {
	uint64_t image, image_len, channel, channel_len;
};
int door_reenter(struct door *d, const struct door_place *at,
		 struct hark_err *err);
/* Sends a thread into the image for WIRE_LEAVE or WIRE_VANISH; it is then held
 * as before. -1, or the engine's answer: 0, or an errno. */
int door_send(struct door *d, int number, enum wire_mode mode, uint64_t vcpu,
	      struct hark_err *err);
/* Gives a thread its registers and its mask. */
int door_give_back(struct door *d, int number, struct hark_err *err);
/* Unmaps and gives every thread back, still stopped (the caller detaches or
 * continues it). Also undoes a door that failed halfway. */
int door_leave(struct door *d, struct hark_err *err);

#endif
