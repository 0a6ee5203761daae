/* site/names.h - which instructions does a probe description name?
 *
 *	pid$target:MODULE:FUNCTION:entry	the first instruction
 *	pid$target:MODULE:FUNCTION:return	every return, and every jump to
 *						another function for good
 *	pid$target:MODULE:FUNCTION:1f		the instruction at that offset,
 *						hexadecimal
 *	pid$target:MODULE:FILE.c:42		where code of a line begins, if
 *						no function has that name
 *	plt$target:MODULE:FUNCTION:entry	calls out of MODULE, in its
 *						linkage table
 *
 *	usdt$target:MODULE::NAME		a probe that the programmer put
 *						there; MODULE may be its
 *						provider; - in NAME is __
 *
 * Fields may be patterns of * ? []; an empty one is any. A name left empty is
 * entry and return.
 *
 * A name for which the loader chooses one of several functions (an ifunc, as
 * memcpy) means all that it may choose, for only that one is ever called; but
 * not where the pattern means that function itself: `libc:*` has each function
 * once, by its own name. Hosted. */
#ifndef SITE_NAMES_H
#define SITE_NAMES_H

#include "image/modules.h"
#include "image/symbols.h"
#include "image/usdt.h"
#include "site/body.h"

enum provider {
	PROVIDER_PID,
	PROVIDER_PLT,
	PROVIDER_USDT,
	PROVIDER_LOADER /* hark's own: no description has it */
};

struct description {
	enum provider provider;
	const char *module, *function, *name; /* borrowed; "" is any */
};

/* Of the four parts that a script has (script/), $target replaced already:
 * what follows the provider is the number of the process, *, or nothing. */
int description_of(const char *const part[4], int pid, struct description *out,
		   struct hark_err *err);

/* One instruction that a description names. */
struct named {
	const struct module *module; /* borrowed from the modules */
	struct symbol function;	     /* link-time addresses */
	/* Where the loader chooses the function: what the one that it may
	 * choose, and that this is, is called itself. Else NULL. */
	const char *chosen; /* borrowed from the file */
	struct site site;
	const char *name; /* "entry", "return", an offset, or the usdt's */
	const struct usdt *usdt; /* or NULL; it and .name: for the visit */
};

/* The survey of a module, or NULL with err: whoever asks keeps them. */
typedef struct survey *names_survey(void *ctx, const struct module *m,
				    struct hark_err *err);

struct names_tour {
	struct modules *modules; /* borrowed */
	names_survey *survey;
	/* Not 0 ends the tour. */
	int (*visit)(void *ctx, const struct named *n);
	/* A word of the process's memory, by its address at run time; false if
	 * there is none. May be NULL: then what only the loader knows is not
	 * known. */
	bool (*word)(void *ctx, uint64_t addr, uint64_t *out);
	/* NULL: all modules; else those alone. */
	bool (*wanted)(void *ctx, const struct module *m);
	void *ctx; /* borrowed; of all */
};

/* Visits all of them. HARK_ENOENT if there are none: the text names what is
 * similar. */
int names_each(const struct names_tour *t, const struct description *d,
	       struct hark_err *err);

#endif
