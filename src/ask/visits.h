/* ask/visits.h - every time that a source line was executed.
 *
 * That is: every time that control came to it. Where its code begins debug
 * information says; code of a line in several places (the parts of a loop's
 * head, the copies of an inlined function) begins at each of them. */
#ifndef ASK_VISITS_H
#define ASK_VISITS_H

#include "ask/space.h"

/* Is it FILE:LINE? The file is cut out of the text. */
bool visits_parse(const char *text, char *file, size_t size, uint32_t *line);

/* The addresses at which code of that line begins, in all modules of the
 * moment; for the caller to free. If there is none, err names the next line
 * that has code. */
int visits_sites(struct space *s, const char *file, uint32_t line,
		 uint64_t **out, size_t *n, struct hark_err *err);

/* regs->rip: one of the addresses, or where a function returned to. Not 0:
 * enough. */
typedef int visits_each(void *ctx, const struct hark_position *at,
			const struct hark_registers *regs);

/* Calls each for all executions of these addresses between two moments (both
 * included), with the timeline there, in the order that all threads agree with.
 * The first n_functions are functions that are called: where those return to is
 * visited, too. The timeline stays where it is. */
int visits_list(struct ask_pair *p, const uint64_t *sites, size_t n,
		size_t n_functions, const struct hark_position *from,
		const struct hark_position *to, visits_each *each, void *ctx,
		struct hark_err *err);

#endif
