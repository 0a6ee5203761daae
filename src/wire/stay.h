/* wire/stay.h - how hark comes into a running program, and how it goes.
 *
 * The engine of a process has one word that says whether its threads are in it
 * or not. It lies in memory of that process alone (children of fork have their
 * own), at an address that stands in the channel:
 *
 *	JOINING ---hark: all threads are redirected---> INSIDE
 *	INSIDE  ---hark: it is to leave---------------> ASKED
 *	ASKED   ---hark: it cannot, or hark is dead---> INSIDE
 *	ASKED   ---a thread, sent by hark-------------> LEFT
 *
 * A thread that is on its way in looks at it when hark lets go of it: JOINING,
 * and it goes home natively (hark was killed). One that waits to leave is
 * parked: it looks from time to time. INSIDE, and it goes on in the engine;
 * LEFT, and it goes home by itself, unless hark has taken it home meanwhile.
 *
 * While it is parked, its instruction pointer is wire_places.parked, and rbx is
 * the address of a struct wire_park.
 *
 * Pure layouts; released layouts only grow. */
#ifndef WIRE_STAY_H
#define WIRE_STAY_H

#include "wire/channel.h"
#include "wire/run.h"

enum wire_stay_state {
	WIRE_STAY_JOINING,
	WIRE_STAY_INSIDE,
	WIRE_STAY_ASKED,
	WIRE_STAY_LEAVING, /* on its way from ASKED to LEFT: there it goes on */
	WIRE_STAY_LEFT,
};

struct wire_stay {
	uint32_t state;	   /* enum wire_stay_state */
	uint32_t n_parked; /* threads that wait just now */
	uint32_t n_coming; /* threads that are on their way in: gs is not the
			    * engine's yet */
	uint32_t pad;
};

/* Where things are, in all processes of the channel. In its first page. */
struct wire_places {
	uint64_t stay;	/* struct wire_stay; 0: there is no engine yet */
	uint64_t image; /* the image's first byte */
	uint64_t image_len;
	uint64_t secret;   /* siginfo's value of a SIGTRAP that asks to leave */
	uint64_t call_end; /* behind the program's system calls */
	uint64_t park;	   /* from there on to being parked; esi: why the call
			    * is to be made again (512 ...), gs the engine's */
	uint64_t parked;
	/* From the base of gs: 516, if the thread has not come yet to the call
	 * that it is to go on with; then it must be given the time. */
	int64_t restart;
};
enum { WIRE_PLACES_AT = 896 };
_Static_assert(WIRE_RUN_AT + sizeof(struct wire_run) <= WIRE_PLACES_AT,
	       "one behind the other");
_Static_assert(WIRE_PLACES_AT + sizeof(struct wire_places) <= WIRE_MAPS_AT,
	       "one behind the other");

static inline struct wire_places *wire_places_of(void *channel)
{
	return (struct wire_places *)((uint8_t *)channel + WIRE_PLACES_AT);
}

/* Why a parked thread cannot leave. ORDER wire_cannot (outside/depart.c) */
enum wire_cannot {
	WIRE_CANNOT_NOT,
	WIRE_CANNOT_FILTER,   /* its seccomp filters are the engine's */
	WIRE_CANNOT_DISPATCH, /* it gets its system calls as signals */
	WIRE_CANNOT_CODE,     /* it has forbidden itself new code */
	WIRE_CANNOT_MAX
};

/* A parked thread: what it will go on with. As in a slot, registers come first
 * and the mask behind them. */
struct wire_park {
	struct wire_regs regs; /* segments but cs and ss are as they are */
	uint64_t sigmask;
	uint32_t restart; /* 0, or why the call orig_rax is to be made again */
	uint32_t cannot;  /* enum wire_cannot */
	uint64_t vcpu;	  /* its own, for wire_slot.vcpu */
};
_Static_assert(offsetof(struct wire_park, sigmask) == 216, "entry.S uses it");

#endif
