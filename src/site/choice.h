/* site/choice.h - which functions may the loader choose for a name?
 *
 * The symbol of an ifunc is no function but code that returns the address of
 * one: the loader calls it when it binds the name, and what it returns is
 * called from then on. That code is read here, never called: whatever function
 * it takes the address of, it may return.
 *
 *	lea impl(%rip), %rax	where code may be anywhere
 *	mov $impl, %eax		where it is linked to a fixed address
 *	mov slot(%rip), %rax	the loader has put the address there
 *
 * Where it goes on in another function for good, that one is read, too; where
 * it names nothing itself, so are those that it calls. Hosted, no I/O of its
 * own. */
#ifndef SITE_CHOICE_H
#define SITE_CHOICE_H

#include "image/symbols.h"
#include "site/survey.h"

enum { CHOICE_MAX = 64 };

struct choice {
	struct symbol of[CHOICE_MAX]; /* link-time addresses */
	unsigned n;
	/* It calls what it was given an address of: it may choose a function of
	 * another module. */
	bool may_ask;
};

struct choice_ask {
	const struct survey *survey; /* borrowed */
	bool is_fixed;		     /* it runs where it was linked to */
	/* The function that begins at an address; false: none does. */
	bool (*function)(void *ctx, uint64_t addr, struct symbol *out);
	/* What the process has at a link-time address, made an address as
	 * linked; 0: not known. May be NULL. */
	uint64_t (*slot)(void *ctx, uint64_t addr);
	void *ctx; /* borrowed */
};

/* In the order of the code that chooses. */
void choice_of(const struct choice_ask *a, const struct symbol *chooser,
	       struct choice *out);

#endif
