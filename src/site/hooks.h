/* site/hooks.h - which system calls of a module concern signals?
 *
 * A program with probes in it must not block or take over the signals that
 * probes need (native/native.h), so the instructions are sought by which it
 * could. The number of a system call is in eax, most often put there a few
 * instructions before; where that cannot be seen, the call counts as wanted.
 *
 * What is found depends on the bytes of the module alone: separate debug files
 * are not asked, because most machines have none. Hosted, no I/O. */
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
/* The same of all code of a file, of which a part at a time is read: 1, 0, or
 * -1 with the reason. */
int hooks_sought(struct image_file *f, bool (*wanted)(uint64_t number),
		 struct hark_err *err);
/* A place that looks like a wanted system call, and is neither known to be an
 * instruction nor to be a part of one, nor data under a label that no code
 * leads to; 0: there is none. A program in which such a call is made cannot be
 * kept from blocking signals that hark needs. */
uint64_t hooks_unproved(const struct survey *s,
			bool (*wanted)(uint64_t number));

/* Looks at the functions that are near system calls, or near the address also
 * (0: none), of which all is known then. 1, or 0: of those that look wanted
 * none is an instruction. -1 with the reason. Nothing must be known of s
 * before. */
int hooks_survey(struct survey *s, struct image_file *f,
		 bool (*wanted)(uint64_t number), uint64_t also,
		 struct hark_err *err);

/* Calls visit with each system call instruction whose number is wanted or not
 * known, ascending. Not 0 ends that, and is returned. */
int hooks_each(const struct survey *s, bool (*wanted)(uint64_t number),
	       int (*visit)(void *ctx, uint64_t addr), void *ctx);

#endif
