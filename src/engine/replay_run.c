/* engine/replay_run.c - a replayed thread runs to a position. */
#include "engine/replay_priv.h"

#include "engine/string.h"
#include "engine/translate.h"
#include "x86/decode.h"

#include <signal.h>
#include <string.h>

/* What the block could not do by itself. -1: goes on. */
static int leave_link(struct replay *r, int near)
{
	struct vcpu *v = r->v;
	uint32_t number = v->exit_arg;
	struct exit *x = cache_exit(r->e->cache, number);
	uint32_t generation = r->e->cache->generation;

	v->pc = x->target;
	if (x->counts)
		v->budget--;
	if (!near && !x->lonely) {
		uint32_t block = replay_block(r, 0);

		if (block != 0 && generation == r->e->cache->generation)
			cache_link(r->e->cache, number, block);
	}
	return -1;
}

static int leave_indirect(struct replay *r)
{
	struct vcpu *v = r->v;
	uint32_t number;
	struct block *b;

	/* The branch itself faults, and what was recorded does not come here:
	 * there is a record at the branch. */
	if ((uint64_t)((int64_t)(v->pc << 16) >> 16) != v->pc)
		return REPLAY_FAULT;
	v->budget--;
	number = replay_block(r, 1);
	if (number == 0)
		return -1;
	b = cache_block(r->e->cache, number);
	if (translate_indirect(r->e, b) == 0)
		cache_publish(r->e->cache, b);
	return -1;
}

/* The register of a string instruction went from one address to another, in the
 * direction of the flag. Addresses are the recording's: they may wrap around 0,
 * and the distance may be anything (replay_mark bounds it). */
static void touch(struct replay *r, uint64_t from, uint64_t to, unsigned size,
		  uint32_t skew)
{
	int is_down = (r->v->rflags & X86_DF) != 0;
	uint64_t low = is_down ? to + size : from;
	uint64_t len = is_down ? from - to : to - from;

	replay_mark(r, (uint32_t)(low + WIRE_SHADOW_SKEW) + skew, len, 0xff);
}

/* What a part of it has touched, by how far its registers have come. */
static void touch_string(struct replay *r, const uint8_t *code, unsigned have,
			 uint64_t rsi, uint64_t rdi)
{
	const struct vcpu *v = r->v;
	unsigned touches = r->observe.touches;
	struct x86_insn x;
	unsigned size, stores;

	if (x86_decode(code, have, &x) != X86_OK)
		return;
	size = x.opcode & 1 ? (x.rex & 8	       ? 8
			       : x.prefixes & X86_P_66 ? 2
						       : 4)
			    : 1;
	stores = (x.opcode & 0xfe) == 0xa4 || (x.opcode & 0xfe) == 0xaa;
	if (v->gpr[X86_RSI] != rsi && touches & OBSERVE_LOADS)
		touch(r, rsi, v->gpr[X86_RSI], size, 0);
	if (v->gpr[X86_RDI] != rdi &&
	    touches & (stores ? OBSERVE_STORES : OBSERVE_LOADS))
		touch(r, rdi, v->gpr[X86_RDI], size,
		      stores && touches & OBSERVE_APART ? OBSERVE_STORED : 0);
}

/* Might it? All that it would touch if it went on to its end. */
static int string_meets_window(struct replay *r, const uint8_t *code,
			       unsigned have)
{
	const struct vcpu *v = r->v;
	struct x86_insn x;
	uint64_t len = 8, low[2];

	if (x86_decode(code, have, &x) != X86_OK)
		return 0;
	if (x.prefixes & (X86_P_F2 | X86_P_F3))
		len = v->gpr[X86_RCX] < UINT32_MAX / 16
			  ? 8 * v->gpr[X86_RCX] + 8
			  : UINT32_MAX / 2;
	low[0] = v->gpr[X86_RSI];
	low[1] = v->gpr[X86_RDI];
	for (unsigned i = 0; i < r->observe.n_windows; i++)
		for (unsigned k = 0; k < 2; k++) {
			const struct observe_window *o = &r->observe.windows[i];
			uint32_t from = (uint32_t)(low[k] + WIRE_SHADOW_SKEW);

			if (v->rflags & X86_DF)
				from -= (uint32_t)len - 8;
			if ((uint32_t)(o->index - from) < len ||
			    (uint32_t)(from - o->index) < o->len)
				return 1;
		}
	return 0;
}

static int leave_string(struct replay *r)
{
	struct vcpu *v = r->v;
	uint8_t code[X86_MAX_LEN];
	unsigned have = r->fetch(r->ctx, v->pc, code, sizeof code);
	uint64_t pc = v->pc, rsi = v->gpr[X86_RSI], rdi = v->gpr[X86_RDI];

	if (r->observe.n_windows != 0 && !r->steps &&
	    string_meets_window(r, code, have))
		return REPLAY_WATCH;
	if (string_do(v, code, have) < 0)
		return REPLAY_STATE;
	if (r->observe.touches != 0)
		touch_string(r, code, have, rsi, rdi);
	r->counted += v->pc != pc;
	return -1;
}

/* What the recorded CPU executed and this one refuses is not there. */
static int leave_trap(struct replay *r)
{
	int sig = r->signal;

	r->signal = 0;
	return sig == SIGILL ? REPLAY_LACKS : REPLAY_FAULT;
}

static int leave(struct replay *r, int near)
{
	struct vcpu *v = r->v;

	switch ((enum vcpu_exit)v->exit_reason) {
	case EXIT_LINK:
		return leave_link(r, near);
	case EXIT_INDIRECT:
		return leave_indirect(r);
	case EXIT_BUDGET:
		if (v->budget == 0)
			v->budget--;
		return -1;
	case EXIT_DEAD:
		return -1;
	case EXIT_STRING:
		return leave_string(r);
	case EXIT_SYSCALL:
		return REPLAY_CALL;
	case EXIT_RESULT:
		return REPLAY_RESULT;
	case EXIT_TRAP:
		return leave_trap(r);
	case EXIT_BREAK:
		return REPLAY_BREAK;
	case EXIT_WATCH:
		return REPLAY_WATCH;
	default:
		return REPLAY_STATE;
	}
}

/* How many counts until somebody wants to look. */
static int64_t distance(uint64_t now, uint64_t count)
{
	uint64_t more = count - now;

	return more > 0 ? (int64_t)(more - 1) : 0;
}

/* Some instructions end in a signal when they are done: int3, a system call
 * that is refused. Then the position is behind them. */
static int is_behind(struct replay *r, enum replay_stop why, uint64_t pc)
{
	uint8_t code[X86_MAX_LEN];
	unsigned have = r->fetch(r->ctx, r->v->pc, code, sizeof code);
	struct x86_insn x;

	if ((why != REPLAY_CALL && why != REPLAY_FAULT) ||
	    x86_decode(code, have, &x) != X86_OK ||
	    (x.row->flow != X86_SYSCALL && x.row->flow != X86_INT3 &&
	     x.row->flow != X86_INT))
		return 0;
	return r->v->pc + x.len == pc;
}

/* Into the program, and out again. 0: there is no block to enter. */
static int cross(struct replay *r, uint64_t now, uint64_t count, uint64_t pc)
{
	struct vcpu *v = r->v;
	uint32_t number;

	r->was_near = now == count;
	if (r->observe.n_stops != 0 && observe_is_stop(&r->observe, v->pc)) {
		r->was_near = 1; /* over it */
		number = replay_near_block(r, now == count ? pc : 1);
	} else {
		number = r->was_near ? replay_near_block(r, pc)
				     : replay_start_block(r);
	}
	if (number == 0)
		return 0;
	vcpu_set_budget(v, distance(now, count));
	v->enter = cache_block(r->e->cache, number)->plain;
	replay_enter(v, r->mask);
	return 1;
}

/* It cannot go on alone: at the position, perhaps. */
static enum replay_stop stopped(struct replay *r, enum replay_stop why,
				uint64_t count, uint64_t pc)
{
	struct vcpu *v = r->v;

	if (vcpu_count(v) != count)
		return why;
	if (is_behind(r, why, pc)) {
		if (why == REPLAY_CALL) {
			v->gpr[X86_RCX] = pc;
			v->gpr[X86_R11] = v->rflags | replay_held_flags(r);
		}
		v->pc = pc;
	}
	return v->pc == pc ? REPLAY_THERE : why;
}

/* Stops are not met where the run begins: then the first block is one that
 * ends behind its first instruction. */
static int is_stop(const struct replay *r, uint64_t begun, uint64_t begun_pc)
{
	const struct vcpu *v = r->v;

	return r->observe.n_stops != 0 && observe_is_stop(&r->observe, v->pc) &&
	       (v->pc != begun_pc || vcpu_count(v) != begun);
}

/* If .has_left, goes on from there. */
static enum replay_stop run(struct replay *r, uint64_t count, uint64_t pc)
{
	struct vcpu *v = r->v;
	uint64_t begun = vcpu_count(v), begun_pc = r->has_left ? 0 : v->pc;

	for (;;) {
		uint64_t now = vcpu_count(v);
		int why;

		if (!r->has_left) {
			if (is_stop(r, begun, begun_pc))
				return REPLAY_BREAK;
			if (now == count && (v->pc == pc || r->arrives))
				return REPLAY_THERE;
			if (now > count)
				return REPLAY_PAST;
			if (!cross(r, now, count, pc))
				return REPLAY_CODE;
		}
		r->has_left = 0;
		why = leave(r, (int)r->was_near);
		if (why >= 0)
			return stopped(r, (enum replay_stop)why, count, pc);
	}
}

enum replay_stop replay_run(struct replay *r, uint64_t count, uint64_t pc)
{
	enum replay_stop stop;

	replay_begin(r);
	stop = run(r, count, pc);
	replay_end(r);
	return stop;
}

enum replay_stop replay_arrive(struct replay *r, uint64_t count)
{
	const uint64_t nowhere = UINT64_MAX;
	enum replay_stop stop;

	if (r->count >= count)
		return r->count == count ? REPLAY_THERE : REPLAY_PAST;
	replay_begin(r);
	r->arrives = 1;
	stop = run(r, count, nowhere);
	r->arrives = 0;
	replay_end(r);
	return stop;
}

enum replay_stop replay_step(struct replay *r)
{
	struct vcpu *v = r->v;
	uint8_t code[X86_MAX_LEN];
	struct x86_insn x;
	uint32_t number;
	int why;

	replay_begin(r);
	number = r->fetch(r->ctx, v->pc, code, sizeof code);
	why = REPLAY_CODE;
	if (x86_decode(code, number, &x) == X86_OK) {
		number = replay_blind_block(r, v->pc + x.len);
		if (number != 0) {
			vcpu_set_budget(v, 0);
			v->enter = cache_block(r->e->cache, number)->plain;
			replay_enter(v, r->mask);
			r->was_near = r->steps = 1;
			why = leave(r, 1);
			r->steps = 0;
		}
	}
	replay_end(r);
	return why < 0 ? REPLAY_THERE : (enum replay_stop)why;
}

static unsigned run_loop(struct replay *r, const struct replay_fill *fills,
			 unsigned n)
{
	unsigned done;

	r->v->leave = (uint64_t)replay_cross_leave;
	done = replay_loop_enter(r, fills, n, r->v, r->mask);
	r->v->leave = (uint64_t)replay_leave;
	return done;
}

unsigned replay_run_fills(struct replay *r, const struct replay_fill *fills,
			  unsigned n, enum replay_stop *stop)
{
	unsigned i = 0;

	*stop = REPLAY_THERE;
	replay_begin(r);
	for (;;) {
		const struct replay_fill *f;

		i += run_loop(r, fills + i, n - i);
		if (i == n)
			break;
		f = &fills[i];
		*stop = run(r, f->count, f->pc);
		if (*stop != REPLAY_THERE)
			break;
		replay_fill(r, f->index, f->bytes, f->len);
		i++;
	}
	replay_end(r);
	return i;
}
