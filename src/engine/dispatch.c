/* engine/dispatch.c - what happens outside of the cache.
 *
 * A thread comes here for a reason (vcpu_exit), does what it came for, and
 * goes back into the cache at vcpu.pc: at a block that is there already, or
 * that is translated now. On the way it delivers the signal that may be held.
 *
 * D1  When engine_dispatch returns, .enter is the entry of a block for .pc;
 *     .exit_reason is EXIT_GO, so that to start over does nothing twice. */
#include "engine/engine.h"

#include "engine/cache.h"
#include "engine/call_priv.h"
#include "engine/plan.h"
#include "engine/space.h"
#include "engine/string.h"
#include "engine/tape.h"
#include "engine/translate.h"
#include "inside/sys.h"

/* ORDER vcpu_exit -> ORDER wire_exit */
static const uint8_t counted_as[EXIT_MAX] = {
    [EXIT_LINK] = WIRE_EXIT_LINK,	[EXIT_INDIRECT] = WIRE_EXIT_INDIRECT,
    [EXIT_SYSCALL] = WIRE_EXIT_SYSCALL, [EXIT_STEP] = WIRE_EXIT_STEP,
    [EXIT_GO] = WIRE_EXIT_SIGNAL,	[EXIT_BUDGET] = WIRE_EXIT_SIGNAL,
    [EXIT_X87] = WIRE_EXIT_STEP,	[EXIT_RESULT] = WIRE_EXIT_STEP,
    [EXIT_STATE] = WIRE_EXIT_STEP,	[EXIT_STRING] = WIRE_EXIT_STEP,
    [EXIT_TRAP] = WIRE_EXIT_STEP,	[EXIT_DEAD] = WIRE_EXIT_SIGNAL,
    [EXIT_BREAK] = WIRE_EXIT_STEP,	[EXIT_WATCH] = WIRE_EXIT_STEP,
};

static void count_exit(struct engine *e, enum wire_exit why)
{
	if (e->run)
		engine_count(&e->run->stats.exits[why], 1);
}

/* -- Blocks ---------------------------------------------------------------- */

static uint64_t now_ns(void)
{
	enum { CLOCK_MONOTONIC = 1 };
	uint64_t ts[2] = {0, 0};

	sys_call3(SYS_NR_CLOCK_GETTIME, CLOCK_MONOTONIC, (uint64_t)ts, 0);
	return ts[0] * 1000000000 + ts[1];
}

/* Starts anew with an empty cache, if the others let us. */
static int empty(struct vcpu *v)
{
	if (cache_flush(v->engine, v) < 0)
		return -1;
	space_uncover(v->engine);
	return 0;
}

static uint32_t make_block(struct vcpu *v, const struct translate_how *how)
{
	struct engine *e = v->engine;
	uint64_t begun = e->flags & WIRE_RUN_TIME ? now_ns() : 0;
	uint32_t number = translate(e, how);

	if (number == 0 && empty(v) == 0)
		number = translate(e, how);
	if (number == 0 || space_cover(e, number) < 0)
		engine_die("no memory for translated code");
	if (begun != 0 && e->run)
		engine_count(&e->run->stats.translate_ns, now_ns() - begun);
	return number;
}

/* The block for pc, made if need be; 0: pc is no code. */
static uint32_t block_for(struct vcpu *v, int indirect)
{
	struct engine *e = v->engine;
	struct translate_how how = {
	    .pc = v->pc, .sp = v->gpr[4], .indirect = (uint8_t)indirect};
	uint32_t number = cache_find(e->cache, v->pc);

	if (number != 0) {
		struct block *b = cache_block(e->cache, number);

		if (b->state == BLOCK_LIVE)
			return number;
		count_exit(e, WIRE_EXIT_CHECK);
		if (space_still(b))
			return number;
		if (e->run)
			engine_count(&e->run->stats.discarded, 1);
		cache_kill(e->cache, number);
	}
	if (space_prepare(e, &how) < 0)
		return 0;
	return make_block(v, &how);
}

/* -- Reasons --------------------------------------------------------------- */

/* To the target of a direct branch, which from now on goes there by itself. */
static uint32_t follow_link(struct vcpu *v)
{
	struct engine *e = v->engine;
	uint32_t number = block_for(v, 0);

	if (number != 0 && v->generation == e->cache->generation)
		cache_link(e->cache, v->exit_arg, number);
	return number;
}

static uint32_t follow_indirect(struct vcpu *v)
{
	struct engine *e = v->engine;
	uint32_t number = block_for(v, 1);
	struct block *b;

	if (number == 0)
		return 0;
	b = cache_block(e->cache, number);
	if (translate_indirect(e, b) == 0)
		cache_publish(e->cache, b);
	return number;
}

/* Code that was written where other code has been executed. */
static void serialize(void)
{
	uint32_t a = 0, b, c = 0, d;

	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
}

/* 1: the vcpu is ready to enter. */
static int find_entry(struct vcpu *v, enum vcpu_exit why)
{
	struct engine *e = v->engine;
	uint32_t number;

	engine_lock(&e->lock);
	if (e->cache->used >= CACHE_LIMIT)
		empty(v);
	if (e->old_code && empty(v) == 0)
		e->old_code = 0;
	if (why == EXIT_LINK)
		number = follow_link(v);
	else if (why == EXIT_INDIRECT)
		number = follow_indirect(v);
	else
		number = block_for(v, 0);
	if (number != 0) {
		struct block *b = cache_block(e->cache, number);

		v->enter = v->tape ? b->plain : b->entry;
	}
	if (v->generation != e->cache->generation) {
		v->generation = e->cache->generation;
		serialize();
	}
	engine_unlock(&e->lock);
	return number != 0;
}

void engine_syscall(struct vcpu *v)
{
	uint64_t pc = v->pc;

	/* It may not come back; and what is killed meanwhile has counted. */
	v->cells[COUNT_INSTRUCTIONS]++;
	v->cells[COUNT_SYSCALLS]++;
	if (v->engine->flags & WIRE_RUN_COUNT)
		thread_count(v);
	syscall_do(v);
	if (v->pc == pc) { /* it did not happen */
		v->cells[COUNT_INSTRUCTIONS]--;
		v->cells[COUNT_SYSCALLS]--;
	}
}

static int is_canonical(uint64_t pc)
{
	return (uint64_t)((int64_t)(pc << 16) >> 16) == pc;
}

/* -- Recorded threads ------------------------------------------------------ */

/* N1, N2: arrivals that the cache has left to the dispatcher. */
static void count_arrival(struct vcpu *v, enum vcpu_exit why)
{
	struct cache *c = v->engine->cache;

	if ((why == EXIT_LINK && cache_exit(c, v->exit_arg)->counts) ||
	    why == EXIT_INDIRECT || (why == EXIT_BUDGET && v->budget == 0))
		v->budget--;
	if (why == EXIT_INDIRECT)
		engine_restore_flags(v);
	if (why == EXIT_DEAD)
		v->rflags &= ~(uint64_t)X86_FLAGS_STATUS;
	v->flags_dead = why == EXIT_DEAD;
}

/* It has stored state of the x87 unit; some of them change that state, too. */
static void tell_x87(struct vcpu *v)
{
	uint64_t pc = v->pc;
	uint8_t code[X86_MAX_LEN];
	unsigned have = sizeof code;
	struct x86_insn x;

	have -= (unsigned)guest_copy(code, (const void *)pc, have);
	x87_stored(v);
	v->pc = pc;
	if (x86_decode(code, have, &x) == X86_OK &&
	    x.row->special != X86_X87ENV)
		tape_result(v);
	else
		tape_state(v);
}

static void do_string(struct vcpu *v)
{
	uint8_t code[X86_MAX_LEN];
	unsigned have = sizeof code;

	have -= (unsigned)guest_copy(code, (const void *)v->pc, have);
	if (string_do(v, code, have) < 0)
		step_native(v);
}

/* What the log wants of an instruction that was executed. 1: it was one. */
static int tell(struct vcpu *v, enum vcpu_exit why)
{
	if (why == EXIT_X87)
		tell_x87(v);
	else if (why == EXIT_RESULT)
		tape_result(v);
	else if (why == EXIT_STATE)
		tape_state(v);
	else
		return 0;
	return 1;
}

/* -- The loop -------------------------------------------------------------- */

static enum vcpu_exit arrive(struct vcpu *v)
{
	const int64_t plenty = 1LL << 62;
	enum vcpu_exit why = v->exit_reason;

	count_exit(v->engine, counted_as[why]);
	if (v->tape)
		count_arrival(v, why);
	else
		v->budget = plenty;
	if (why == EXIT_LINK)
		v->pc = cache_exit(v->engine->cache, v->exit_arg)->target;
	if (why == EXIT_INDIRECT && !is_canonical(v->pc)) {
		engine_unbranch(v);
		v->budget++;	 /* it did not arrive */
		why = EXIT_STEP; /* it faults again, by itself */
	}
	v->exit_reason = EXIT_GO;
	__atomic_store_n(&v->enter, 0, __ATOMIC_RELEASE);
	if (v->tape && tell(v, why))
		why = EXIT_GO;
	return why;
}

void engine_dispatch(struct vcpu *v)
{
	enum vcpu_exit why = arrive(v);

	for (;;) {
		if (v->tape)
			tape_ready(v);
		if (why == EXIT_X87)
			x87_stored(v);
		else if (v->held)
			signal_deliver_held(v);
		else if (why == EXIT_SYSCALL)
			engine_syscall(v);
		else if (why == EXIT_STRING)
			do_string(v);
		else if (why == EXIT_STEP || v->stepping || !find_entry(v, why))
			step_native(v); /* where no code is, it faults */
		else
			return;
		why = EXIT_GO;
	}
}
