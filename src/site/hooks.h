/* site/hooks.h - which system calls of a module concern signals?
 *
 * A program with probes in it must not block or take over the signals that
 * probes need (native/native.h), so the instructions are sought by which it
 * could. The number of a system call is in eax, most often put there a few
 * instructions before; where that cannot be seen, the call counts as wanted.
 * Hosted, no I/O. */
#ifndef SITE_HOOKS_H
#define SITE_HOOKS_H

#include "site/survey.h"

/* The number of the system call made at addr; -1: it cannot be told. */
int64_t hooks_number(const struct survey *s, uint64_t addr);

/* Is there anything in these bytes, from *at on (from s->start), that looks
 * like a wanted system call? Then *at is where. What is known of them is not
 * asked. */
bool hooks_likely(const struct survey *s, bool (*wanted)(uint64_t number),
		  uint64_t *at);
/* May one of those places be an instruction? That takes a survey of the few
 * functions that they are in. Nothing must be known of s before; nothing is
 * known of it after 1, and it is of no use after 0. -1 with the reason. */
int hooks_possible(struct survey *s, struct image_file *f,
		   bool (*wanted)(uint64_t number), struct hark_err *err);

/* Calls visit with each system call instruction whose number is wanted or not
 * known, ascending. Not 0 ends that, and is returned. */
int hooks_each(const struct survey *s, bool (*wanted)(uint64_t number),
	       int (*visit)(void *ctx, uint64_t addr), void *ctx);

#endif
