/* tests/unit/engine_bench.h - a virtual processor on a bench.
 *
 * Runs the same guest code twice from the same state and memory: natively, one
 * instruction at a time, writing down every state; then through the engine,
 * one host instruction at a time. At each host instruction in the cache the
 * engine must be able to say which of the native states it is in:
 *
 *	native   s0      s1              s2          ...  stop, or a fault
 *	engine   s0 s0   s1 s1 s1 s1 s1  s2 s2 s2    ...
 *
 * Both runs have TF set throughout; what pushf stores is mended. Signals are
 * the bench's own, on a stack of its own. One bench a process. */
#ifndef ENGINE_BENCH_H
#define ENGINE_BENCH_H

#include "engine/engine.h"

#include <stdint.h>

/* AddressSanitizer keeps memory for itself from below 4 GiB up to 16 TiB. */
#if defined(__SANITIZE_ADDRESS__)
#define BENCH_SHADOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BENCH_SHADOW 1
#endif
#endif
#ifndef BENCH_SHADOW
#define BENCH_SHADOW 0
#endif

enum {
	BENCH_CODE = 4 * 4096,
	BENCH_DATA = 4096,
	BENCH_STACK = 2 * 4096,
	BENCH_STEPS = 4096,
};

/* Guest memory. The pages in front of and behind data and stack cannot be
 * accessed. far is within reach of code, but out of reach of its cache. */
struct bench_place {
	uint8_t *code, *near, *far, *stack;
};

struct bench_state {
	uint64_t pc, gpr[16], flags; /* flags: without TF and RF */
};

/* How a run ended, and all states on the way; the last is that of the end. */
struct bench_run {
	unsigned n;
	int signo;			 /* 0: it came to its stop */
	uint64_t address, trapno, error; /* of the fault */
	uint64_t gs;			 /* base, at the end */
	uint64_t cells[VCPU_N_CELLS];
	uint8_t near[BENCH_DATA], far[BENCH_DATA], stack[BENCH_STACK];
	struct bench_state at[BENCH_STEPS];
};

/* How the engine is treated meanwhile. */
struct bench_how {
	unsigned throw_out;  /* one in so many host instructions: the thread is
			      * taken out of the cache and goes on */
	unsigned no_budget;  /* likewise: the budget runs out */
	unsigned dead_flags; /* flags need not be right where they are dead */
	uint64_t seed;	     /* of what "one in so many" means */
};

/* An engine with its cache, its space and one vcpu. */
struct engine *bench_engine(uint32_t flags);
struct vcpu *bench_vcpu(struct engine *e);
/* It translates as for another kind of processor: without pext (BMI2), and with
 * a quick `loop` if this one's is slow. */
void bench_other_ways(struct engine *e);

/* Takes the signals for as long as the process lives. */
void bench_open(void);

/* Maps guest memory with its code at home. */
struct bench_place bench_place_at(uint64_t home);
/* Memory as every run of these tests begins with it. */
void bench_fill(const struct bench_place *p, uint64_t seed);

/* From start (gs base gs) to the pc stop, or to a fault. 0, or -1: it did not
 * end in BENCH_STEPS. */
int bench_native(const struct bench_place *p, const struct bench_state *start,
		 uint64_t gs, uint64_t stop, struct bench_run *out);
/* The same through the engine, held against the native run. NULL, or what is
 * wrong. The space must know the code. */
const char *bench_translated(struct vcpu *v, const struct bench_place *p,
			     uint64_t gs, const struct bench_run *native,
			     const struct bench_how *how,
			     struct bench_run *out);
/* Host instructions that bench_translated() looked at, in all. */
uint64_t bench_looked(void);

/* What the counting instrument should have counted in a native run of code in
 * p. -1: all but the blocks (some could be told apart only by a condition). */
int bench_count(const struct bench_place *p, const struct bench_run *run,
		uint64_t cells[VCPU_N_CELLS]);

/* Numbers that look random; *seed moves on. */
uint64_t bench_random(uint64_t *seed);

#endif
