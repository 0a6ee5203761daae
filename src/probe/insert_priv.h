/* probe/insert_priv.h - what inserting probes is made of.
 *
 *	insert.c	  the order of things, there and back
 *	insert_memory.c	  what is mapped in the process
 *	insert_sites.c	  what the plan says: sites, clauses, texts, tables
 *	insert_code.c	  trampolines and changed bytes
 *	insert_signals.c  the program's handlers, and hark's */
#ifndef PROBE_INSERT_PRIV_H
#define PROBE_INSERT_PRIV_H

#include "outside/remote.h"
#include "probe/insert.h"
#include "probe/trampoline.h"

enum { INSERT_PAGE = 4096 };

static inline uint64_t insert_page_up(uint64_t v)
{
	return (v + INSERT_PAGE - 1) & ~(uint64_t)(INSERT_PAGE - 1);
}

/* Memory that hark has mapped, and the process too. */
struct insert_shared {
	uint8_t *base; /* in hark */
	uint64_t at;   /* in the process; 0: not mapped there */
	uint64_t size, used;
};

/* Bytes of the program that are changed. */
struct insert_change {
	uint64_t at;
	uint8_t len;
	uint8_t bytes[FORM_BYTES], old[FORM_BYTES];
};

struct insert_range {
	uint64_t at, len;
};

/* All probes of one patch. */
struct insert_patch {
	const struct patch *patch; /* borrowed */
	const struct survey *survey;
	uint64_t bias;
	uint64_t cookie[FORM_INSNS];   /* the first site of each, or 0 */
	uint8_t taken, always, hooked; /* bits: as the sites want it */
	uint8_t df;		       /* bits: the direction flag may be set */
};

struct insertion {
	const struct insert_plan *want; /* borrowed while it is inserted */
	int pid;
	struct insert_shared plan, board;
	uint64_t image, image_len; /* in the process */
	uint64_t home, home_len;   /* behind the image */
	uint64_t table, table_len;
	struct insert_range *range; /* owned: pages of trampolines */
	size_t n_ranges;
	struct insert_change *change; /* owned */
	size_t n_changes, changes_made;
	uint64_t *semaphore; /* owned: counters that were raised */
	size_t n_semaphores;
	uint32_t *site_of; /* owned: of each probe of the listing */
	size_t n_probes, n_sites;
	struct insert_patch *patch; /* owned: all patches of all areas */
	size_t n_patches;
	struct collect_code *code; /* owned, until they are in the plan */
	size_t n_codes;
	struct collect_trap *trap; /* owned, likewise */
	size_t n_traps;
	uint64_t ours, installed; /* signals: bits */
	int signals_are_ours;
	int removed;
};

/* -- insert_memory.c -- */

int insert_map(struct insertion *i, struct door *d, struct hark_err *err);
/* The pages of all patches' code. */
int insert_map_code(struct insertion *i, struct door *d, struct hark_err *err);
/* Everything that was mapped, in the process. */
int insert_unmap(struct insertion *i, struct door *d, struct hark_err *err);
void insert_unmap_ours(struct insertion *i);

/* -- insert_sites.c -- */

/* Bytes go into the plan; where they are there. */
int insert_put(struct insertion *i, const void *bytes, size_t len,
	       uint64_t *offset, struct hark_err *err);
/* Room that the plan needs, at most. */
uint64_t insert_plan_size(const struct insert_plan *p);
/* The header, the script, texts and sites; fills cookies of patches. */
int insert_sites(struct insertion *i, struct hark_err *err);
/* Codes and traps: the threads may look. */
int insert_publish(struct insertion *i, struct hark_err *err);

/* -- insert_code.c -- */

int insert_find_patches(struct insertion *i, struct hark_err *err);
/* Writes trampolines; fills codes, traps and changes. */
int insert_write_code(struct insertion *i, struct door *d,
		      struct hark_err *err);
int insert_change_text(struct insertion *i, struct door *d,
		       struct hark_err *err);
int insert_restore_text(struct insertion *i, struct door *d,
			struct hark_err *err);
/* Is an address in the image or in a trampoline? */
int insert_is_inside(const struct insertion *i, uint64_t addr);

/* -- insert_signals.c -- */

int insert_take_signals(struct insertion *i, struct door *d,
			struct hark_err *err);
int insert_give_signals(struct insertion *i, struct door *d,
			struct hark_err *err);

#endif
