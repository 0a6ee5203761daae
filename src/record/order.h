/* record/order.h - one order for all threads of a process.
 *
 * A thread's life falls into turns: each begins where an ORDER record says that
 * others may have come before (wire/record.h), and ends where the next one of
 * the thread begins. What a thread learns from another by a locked instruction
 * or a system call, it learns at the begin of a turn: so whole turns, one after
 * the other, in the order of their times, are an order that agrees with all
 * that the threads know of each other.
 *
 * Times are the processor's clock. Where clocks of processors differ, tickets
 * contradict them; tickets are right, and times are corrected. Hosted. */
#ifndef RECORD_ORDER_H
#define RECORD_ORDER_H

#include "record/recording.h"

struct order_turn {
	uint64_t time;	    /* of the clock; never falls */
	uint64_t count, pc; /* where it begins */
	uint64_t ticket, overtaken;
	uint32_t thread, line;
};

struct order; /* opaque */

int order_load(struct recording *r, uint32_t process, struct order **out,
	       struct hark_err *err);
/* Of turns that are known: each thread's stand together, as they came. */
int order_of_turns(const struct order_turn *turns, size_t n, struct order **out,
		   struct hark_err *err);
void order_free(struct order *o);

/* In their order. */
size_t order_n_turns(const struct order *o);
const struct order_turn *order_turn(const struct order *o, size_t i);
/* How many turns the thread of this segment of the recording had begun before
 * it. */
uint64_t order_turns_before(const struct order *o, unsigned segment);
/* How often tickets said otherwise than clocks. */
uint64_t order_corrections(const struct order *o);

#endif
