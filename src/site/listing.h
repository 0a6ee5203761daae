/* site/listing.h - all probes of a process that descriptions name, each with
 * its form and its bytes.
 *
 * Nothing is inserted: this is what `hark probe -l` shows, and what whoever
 * inserts begins with. Hosted. */
#ifndef SITE_LISTING_H
#define SITE_LISTING_H

#include "site/names.h"
#include "site/plan.h"
#include "site/space.h"

struct listing;

/* Of a process that does not change meanwhile; modules is borrowed. */
int listing_new(struct modules *modules, int pid, struct listing **out,
		struct hark_err *err);
void listing_free(struct listing *l);
/* Where hark has trampolines already: borrowed until listing_make(). */
void listing_own(struct listing *l, const struct space_own *own);
/* Looks at some modules only, from now on. */
void listing_limit(struct listing *l,
		   bool (*wanted)(void *ctx, const struct module *m),
		   void *ctx);

/* Adds what a description names, and calls each (or NULL) with the number of
 * every probe that it names; one that several descriptions name is one. */
int listing_add(struct listing *l, const struct description *d,
		int (*each)(void *ctx, size_t probe), void *ctx,
		struct hark_err *err);
/* Adds the system calls that must be hooked (site/hooks.h). */
int listing_add_hooks(struct listing *l, bool (*wanted)(uint64_t number),
		      struct hark_err *err);
/* Adds the function by which the loader tells of libraries, as a probe of
 * PROVIDER_LOADER; *probe is its number. */
int listing_add_loader(struct listing *l, size_t *probe, struct hark_err *err);
/* Chooses forms, once, after the last description. */
int listing_make(struct listing *l, struct hark_err *err);

struct probe {
	enum provider provider;
	const struct module *module; /* borrowed */
	const char *function;	     /* borrowed, as linked */
	const char *pretty;	     /* borrowed, as written */
	const char *chosen;	     /* borrowed; of struct named */
	const char *name;	     /* borrowed */
	uint64_t offset;	     /* of the instruction in the function */
	uint64_t addr;		     /* of the instruction, at run time */
	enum site_kind kind;
	const struct patch *patch; /* borrowed; NULL: cannot be probed */
	unsigned insn;		   /* which of its instructions */
	const char *refusal;	   /* why not; else NULL */
	/* Of what the programmer put there; else NULL and 0. */
	const char *usdt_provider, *usdt_args; /* borrowed */
	uint64_t semaphore;		       /* at run time */
};

size_t listing_count(const struct listing *l);
/* In the order of descriptions, modules, addresses. */
void listing_get(const struct listing *l, size_t i, struct probe *out);

/* A system call that is hooked; patch NULL: it cannot be. */
struct listing_hook {
	uint64_t addr; /* at run time */
	const struct patch *patch;
	unsigned insn;
};
size_t listing_hook_count(const struct listing *l);
void listing_get_hook(const struct listing *l, size_t i,
		      struct listing_hook *out);

/* What is changed in one module. */
struct listing_area {
	const struct module *module; /* borrowed, all three */
	const struct survey *survey;
	const struct plan *plan;
};
size_t listing_area_count(const struct listing *l);
void listing_get_area(const struct listing *l, size_t i,
		      struct listing_area *out);

#endif
