/* lossless/lossless_priv.h - what switching and hits share.
 *
 *	table: address -> site -> link -> link	   (probes there)
 *					  thread -> counts, scratch
 *
 * L1  A site is complete before the table shows it, and neither changes nor
 *     goes away afterwards, apart from its list of links, which only grows at
 *     its head. So a hit reads all this without a lock.
 * L2  A site that has ever had a trap word stays in the table: whoever meets
 *     the word, however late, finds the original.
 * L3  A slot of a thread's scratch belongs to one site for ever. It is loaded
 *     by the thread itself when it first meets the site, with all signals
 *     blocked, and never again: a handler of the program that meets probes
 *     while its thread is inside a slot cannot change what is there.
 * L4  Only the thread itself writes its counts. */
#ifndef LOSSLESS_LOSSLESS_PRIV_H
#define LOSSLESS_LOSSLESS_PRIV_H

#include <stdatomic.h>
#include <stdint.h>

#include "lossless/machine.h"

enum { REGIONS = 64 };

struct probe {
	atomic_int is_on;
	struct link *links; /* owned; one for each of its sites */
};

struct link {
	struct link *next_here; /* of the same site */
	struct link *next_mine; /* of the same probe */
	struct site *site;	/* borrowed */
	unsigned probe;
	/* Counts only if the instruction goes to outside of [start, end). */
	int is_leaving;
	uint64_t start, end;
};

struct site {
	struct machine_insn insn;
	unsigned number, region;
	_Atomic(struct link *) links;
	unsigned on; /* probes; under the lock */
};

/* Addresses that one piece of scratch is near enough to. */
struct region {
	uint64_t anchor;
	_Atomic uint64_t next; /* where to look for room first */
};

/* What a thread has: one mapping, made at its first hit. */
struct thread {
	struct thread *next;
	unsigned number;
	uint8_t *scratch[REGIONS]; /* slots by site number, or NULL */
	uint8_t *is_loaded;	   /* by site number */
	_Atomic uint64_t count[];  /* by probe */
};

struct lossless {
	unsigned max_probes, max_sites;
	unsigned n_probes, n_regions; /* under the lock */
	atomic_uint n_sites;
	uint64_t table_mask;
	_Atomic(struct site *) *table; /* owned */
	struct site *sites;	       /* owned */
	struct probe *probes;	       /* owned */
	struct region regions[REGIONS];
	_Atomic(struct thread *) threads;
	atomic_uint n_threads;
	/* Who gets other traps. Never freed: a handler may be reading it. */
	_Atomic(struct sigaction *) previous;
};
extern struct lossless lossless;

/* Where the table keeps an address, or the empty place for it. */
_Atomic(struct site *) *lossless_find(uint64_t at);

#endif
