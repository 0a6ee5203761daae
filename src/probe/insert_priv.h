/* probe/insert_priv.h - what inserting probes is made of.
 *
 *	insert.c	  the order of things, there and back
 *	insert_more.c	  libraries that come and go later
 *	insert_branch.c	  children that load some
 *	insert_memory.c	  what is mapped in the process
 *	insert_sites.c	  what the plan says: sites, clauses, texts, tables
 *	insert_code.c	  trampolines and changed bytes
 *	insert_place.c	  what is mapped where bytes are changed
 *	insert_given.c	  what the program itself changes there
 *	insert_signals.c  the program's handlers, and hark's
 *	insert_timers.c	  timers of its threads
 *	insert_record.c	  what leaving needs: written down, and read again
 *	insert_remove.c	  the way back, by that record
 *	insert_adopt.c	  what a hark that was killed has left */
#ifndef PROBE_INSERT_PRIV_H
#define PROBE_INSERT_PRIV_H

#include "native/trampoline.h"
#include "outside/remote.h"
#include "probe/insert.h"

enum { INSERT_PAGE = 4096 };

static inline uint64_t insert_page_up(uint64_t v)
{
	return (v + INSERT_PAGE - 1) & ~(uint64_t)(INSERT_PAGE - 1);
}

/* Memory that hark has mapped, and the process too. Of the plan hark keeps the
 * original to itself, and only writes the other: a process that has opened the
 * file before it was sealed may write there, and hark believes its plan. */
struct insert_shared {
	uint8_t *base;	/* in hark */
	uint8_t *shown; /* of the plan: what the process sees; else NULL */
	uint64_t at;	/* in the process; 0: not mapped there */
	uint64_t size, used;
	uint64_t synced; /* of the plan: what is shown, but for what changes */
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

/* What was in a module that is gone; all owned. */
struct insert_lost {
	uint64_t start;		 /* where it began */
	struct image_file *file; /* borrowed: another one is another module;
				  * NULL: they all are */
	struct insert_lists {
		struct collect_change *change;
		size_t n_changes;
		struct collect_code *code;
		size_t n_codes;
		struct collect_trap *trap;
		size_t n_traps;
		struct collect_semaphore *semaphore;
		size_t n_semaphores;
	} had;
};

/* Where a list was published, the last times. */
enum { INSERT_KEPT = 8 };
struct insert_kept {
	struct collect_span at[INSERT_KEPT];
	unsigned next;
};

struct insertion {
	const struct insert_plan *want; /* borrowed while it is inserted */
	int pid;
	struct insert_shared plan, board;
	uint64_t image, image_len; /* in the process */
	uint64_t home, home_len;   /* behind the image */
	uint64_t table, table_len;
	struct collect_range *range; /* owned: pages of trampolines */
	size_t n_ranges;
	struct collect_range *own;     /* owned: the same, ascending */
	struct collect_change *change; /* owned */
	size_t n_changes;
	struct collect_semaphore *semaphore; /* owned */
	uint64_t *semaphore_of; /* owned: where each one's module begins */
	size_t n_semaphores;
	uint32_t *site_of; /* owned: of each probe of all listings */
	size_t n_probes, n_sites;
	uint32_t skipped; /* numbers between the free sites and the others */
	int board_file;	  /* owned; 0: none */
	uint64_t sites; /* offset in the plan, with room for all there can be */
	struct insert_patch *patch; /* owned: all patches of the listing */
	size_t n_patches;
	struct collect_code *code; /* owned */
	size_t n_codes;
	struct collect_trap *trap; /* owned */
	size_t n_traps;
	struct insert_kept kept_codes, kept_traps, kept_changes;
	struct insert_lost *lost; /* owned: of modules that are gone */
	size_t n_lost;
	uint64_t
	    *inherited; /* owned: where modules begin that it has by fork */
	size_t n_inherited;
	struct {
		uint64_t at, room; /* in the plan */
	} record[2];
	unsigned record_turn;
	struct stack_tables *tables; /* owned; NULL: nobody asks for stacks */
	/* What the listing that goes in now begins with. */
	struct {
		size_t range, change, semaphore, probe, site;
	} first;
	uint64_t ours; /* signals: bits */
	int removed;
};

/* -- insert.c -- */

int insert_list_semaphores(struct insertion *i, struct hark_err *err);
int insert_raise_semaphores(const struct insertion *i, struct door *d,
			    struct hark_err *err);

/* -- insert_more.c -- */

void insert_free_lost(struct insertion *i);

/* -- insert_branch.c -- */

/* Has it that module by fork? That is used up. */
bool insert_inherited(struct insertion *i, const struct module *m);

/* -- insert_memory.c -- */

/* Pages of all patches' code. */
int insert_list_pages(struct insertion *i, struct hark_err *err);
/* The block, and those pages. */
int insert_map(struct insertion *i, struct door *d, struct hark_err *err);
/* Those pages alone. */
int insert_map_code(const struct insertion *i, struct door *d,
		    struct hark_err *err);
void insert_unmap_ours(struct insertion *i);
/* A new file gets its length for good, and is mapped in hark. is_plan: no
 * process can map it for writing from then on, nor make a mapping of it
 * writable; and hark has an original, which is empty. */
int insert_make_ours(struct insert_shared *s, int fd, bool is_plan,
		     struct hark_err *err);
/* The plan as it is now is shown to the process: all that was added since the
 * last time, its sites, and then its head. */
void insert_sync(struct insertion *i);
/* What is written anew where something was shown before. */
void insert_show_range(const struct insertion *i, uint64_t at, uint64_t len);
/* Of a file: in hark; and in the process, at that place. fd -1: no file. */
int insert_map_ours(struct insert_shared *s, int fd, struct hark_err *err);
int insert_put_there(struct door *d, uint64_t at, uint64_t len, int prot,
		     int64_t fd, struct hark_err *err);
/* That one's board is this one's, too: in hark. */
int insert_share_board(struct insertion *i, const struct insertion *from,
		       struct hark_err *err);

/* -- insert_sites.c -- */

/* Room in the plan; where it is there. */
int insert_reserve(struct insertion *i, uint64_t len, uint64_t *offset,
		   struct hark_err *err);
/* Bytes go into the plan; where they are there. */
int insert_put(struct insertion *i, const void *bytes, size_t len,
	       uint64_t *offset, struct hark_err *err);
/* Room that the plan needs, at most. */
uint64_t insert_plan_size(const struct insert_plan *p);
/* The header, the script, texts and sites; fills cookies of patches. */
int insert_sites(struct insertion *i, struct hark_err *err);
/* More sites, of another listing. */
int insert_more_sites(struct insertion *i, struct hark_err *err);
/* If anybody asks for stacks. */
int insert_make_tables(struct insertion *i, struct hark_err *err);
/* What is known of stacks in these modules. */
int insert_frames(struct insertion *i, struct modules *modules,
		  struct collect_span *out, struct hark_err *err);
/* Codes, traps and sites: the threads may look. NULL frames: as before. */
int insert_publish(struct insertion *i, const struct collect_span *frames,
		   struct hark_err *err);
/* The held process goes by what was published last. */
int insert_show(const struct insertion *i, const struct door *d,
		struct hark_err *err);

/* -- insert_code.c -- */

int insert_find_patches(struct insertion *i, struct hark_err *err);
/* Writes trampolines; fills codes, traps and changes. */
int insert_write_code(struct insertion *i, struct door *d,
		      struct hark_err *err);
/* Codes and traps, by address. */
void insert_sort(struct insertion *i);
int insert_change_text(struct insertion *i, struct door *d,
		       struct hark_err *err);

/* -- insert_place.c -- */

/* Of the changes and semaphores that go in now. */
int insert_find_places(struct insertion *i, const struct door *d,
		       struct hark_err *err);
struct insert_left;
/* Is that mapped there which was? Of each change, or each semaphore; owned by
 * the caller. */
bool *insert_changes_in_place(const struct insert_left *l, const struct door *d,
			      struct hark_err *err);
bool *insert_semaphores_in_place(const struct insert_left *l,
				 const struct door *d, struct hark_err *err);

/* -- insert_given.c: code that the program changes itself -- */

/* Before the changes that go in now: what was there before them, and was given
 * up, is forgotten. */
int insert_forget_given(const struct insertion *i, const struct door *d,
			struct hark_err *err);
/* Those that the process has given up are not in place. */
void insert_leave_given(const struct insert_left *l, const struct door *d,
			bool *in_place);

/* Says so in the plan if a thread has a system call filter. */
void insert_note_filters(struct insertion *i, const struct door *d);
/* -- insert_signals.c -- */

int insert_take_signals(struct insertion *i, struct door *d,
			struct hark_err *err);
int insert_give_signals(const struct insert_left *l, struct door *d,
			struct hark_err *err);

/* -- insert_timers.c -- */

int insert_disarm(const struct insert_left *l, struct door *d,
		  struct hark_err *err);

/* -- insert_threads.c -- */

int insert_share_bases(const struct insertion *i, struct door *d,
		       struct hark_err *err);
int insert_read_table(const struct insert_left *l, const struct door *d,
		      struct hark_err *err);
/* The area of thread k, by the table that was read, and where it is in the
 * process; 0: it never had one. */
uint64_t insert_find_area(const struct insert_left *l, const struct door *d,
			  int k, struct collect_area *out);

/* -- insert_record.c -- */

/* What is listed by now goes into the plan: ranges, changes, semaphores. To be
 * called before any of them is mapped, written, raised. */
int insert_record(struct insertion *i, struct hark_err *err);

/* A record, as read from a process; each number in it is checked. */
struct insert_left {
	int pid;
	struct collect_plan head;
	struct collect_removal record;
	struct collect_range *range; /* owned: those that are mapped */
	struct collect_change
	    *change; /* owned: of modules that are gone, too */
	struct collect_semaphore *semaphore; /* owned */
	struct collect_code *code;	     /* owned */
	size_t n_codes;
};
/* at: of the plan, in the process. mem: its /proc/PID/mem. HARK_EREFUSE: that
 * is nothing that this hark knows how to undo. */
int insert_left_init(struct insert_left *l, int pid, int mem, uint64_t at,
		     struct hark_err *err);
void insert_left_fini(struct insert_left *l);
/* Its head alone. */
int insert_read_head(int pid, int mem, uint64_t at, struct collect_plan *head,
		     struct collect_removal *record, struct hark_err *err);
/* From the plan on: how much is mapped. */
uint64_t insert_whole(const struct collect_plan *head);
/* In home: how many of the semaphores are raised. */
uint64_t insert_raised_at(const struct collect_plan *head);

/* -- insert_remove.c: as insert_remove(), between door_begin and door_leave --
 */

int insert_take_out(const struct insert_left *l, struct door *d,
		    struct hark_err *err);
/* Whoever is where: nobody has run since the probes went in. */
int insert_undo(struct insertion *i, struct door *d, struct hark_err *err);

/* -- insert_adopt.c -- */

/* Where the plan is in a process; 0: there is none. */
uint64_t insert_find_plan(int pid, pid_t tid, int mem);
/* Is it of this hark? */
bool insert_is_mine(const struct collect_removal *r);

/* Descriptors that a hark has left which was killed before it had mapped them.
 */
int insert_sweep(struct door *d, struct hark_err *err);

#endif
