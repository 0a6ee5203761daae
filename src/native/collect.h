/* native/collect.h - what happens when a probe is hit.
 *
 * In the target: a trampoline calls collect_hit() with the program's
 * registers. In hark: the same code runs the clauses that belong to no
 * instruction (BEGIN, END, ERROR, tick-N), as one more thread of the board.
 *
 * C1  Every hit is in exactly one of recorded, dropped, recursed, faulted of
 *     its site's account; .executed counts it before anything else happens.
 * C2  A thread writes its own area only, but for associative arrays, globals
 *     and speculations, which have locks of their own that are held for a
 *     bounded time. While it is in a probe no signal handler of the program
 *     runs in it (src/native).
 * C3  What was recorded is there for hark even if the thread is killed.
 *
 * Freestanding, and hosted too. */
#ifndef NATIVE_COLLECT_H
#define NATIVE_COLLECT_H

#include "native/trampoline.h"
#include "script/machine.h"
#include "wire/collect.h"

#include <stdbool.h>

/* Bytes of a board. */
uint64_t collect_board_size(const struct collect_plan *plan);
/* Of .own: the areas. */
uint64_t collect_own_size(const struct collect_plan *plan);
/* And of .work, for samples down to .max_depth. */
uint64_t collect_work_size(const struct collect_plan *plan);
/* Makes one in zeroed memory; board is where hark has it mapped. */
void collect_board_init(const struct collect_plan *plan, void *board);

/* A trampoline's handler; cookie is a struct collect_site. */
void collect_hit(struct probe_frame *frame, uint64_t cookie);
/* The one instruction of it that may fault (a thread without
 * memory at its fs base), after which it goes on at collect_hit_by_base. */
extern const uint8_t collect_hit_self[] __attribute__((visibility("hidden")));
extern const uint8_t collect_hit_by_base[]
    __attribute__((visibility("hidden")));

/* Before a hit is counted: has the stack room for clauses? Else the first
 * instruction faults, and src/native makes the hit happen on another stack,
 * from its beginning: nothing must have been done yet but .busy. Then it goes
 * on with collect_fire_rest(). */
struct collect_area *collect_fire_with_room(struct probe_frame *frame,
					    const struct collect_site *site,
					    struct collect_area *area)
    __attribute__((visibility("hidden")));

/* The number of the processor (a node is above COLLECT_CPU_BITS). UINT64_MAX if
 * the program has forbidden itself to ask (PR_SET_TSC): the first instruction
 * raises SIGSEGV then, after which it goes on at _refused. The same holds for
 * the one instruction of collect_time() that reads the time stamp. */
uint64_t collect_cpu(void) __attribute__((visibility("hidden")));
enum { COLLECT_CPU_BITS = 0xfff };
extern const uint8_t collect_cpu_refused[]
    __attribute__((visibility("hidden")));
extern const uint8_t collect_tsc[] __attribute__((visibility("hidden")));
extern const uint8_t collect_tsc_refused[]
    __attribute__((visibility("hidden")));

/* The area of the thread whose fs base that is; NULL: there is none free.
 * Created if it is new. In the target. */
struct collect_area *collect_area(const struct collect_plan *plan, uint64_t fs);
/* The calling thread ends: its area may be another's. */
void collect_thread_ends(const struct collect_plan *plan, uint64_t fs);
/* The thread whose fs base that is is about to make another one with the same:
 * they are told apart by their ids from now on. */
void collect_share(const struct collect_plan *plan, uint64_t fs);
/* The thread with this fs base is about to wait for a child that has its
 * memory, and so its area, until the child executes another program or ends. */
void collect_lend(const struct collect_plan *plan, uint64_t fs);
/* The table is this process's from now on. A child of vfork must come later. */
void collect_claim(const struct collect_plan *plan);
/* hark may look: the thread is in a hooked system call, with that frame. */
void collect_show_hook(const struct collect_area *area, uint64_t frame);
/* What the calling thread is entered by in the table. No lock is needed. */
uint64_t collect_key(const struct collect_plan *plan, uint64_t fs);

/* -- What the collector needs of others -- */

/* src/native, or a test: copies; false where memory is not there. */
bool native_read(const void *from, void *out, uint32_t len);
/* src/native: this execution has fired already; that is used up. */
bool native_fired(struct collect_area *area, const struct probe_frame *frame);
/* native/stack.h gives stacks. */

/* -- In hark -- */

/* A clause of BEGIN, END, ERROR or a tick, with hark's own area. How hark sees
 * target memory is up to it. */
struct collect_outside {
	const struct collect_plan *plan; /* as hark has it mapped */
	void *board;
	struct collect_area *area;	 /* hark's own: board_area() */
	const struct collect_site *site; /* names, accounting */
	uint64_t args[PROBE_ARGUMENTS];
	uint32_t pid;
	bool (*read)(void *ctx, uint64_t addr, void *out, uint32_t len);
	void *ctx;    /* borrowed */
	bool goes_on; /* one more clause of the hit that was run last */
	/* What the clause asked for. */
	bool wants_stop;
	uint32_t wants_signal;
};
enum machine_end collect_run(struct collect_outside *o, uint32_t clause);

#endif
