/* engine/step.c - one instruction, by the CPU itself.
 *
 * Some instructions are not worth a translation, or cannot have one: iretq,
 * far branches, loads of segment registers, popf that sets TF, code that is
 * not mapped. They run in place, natively, with TF set: the trap behind them
 * brings the thread back, with the state that the CPU left. A program that
 * sets TF itself runs in this way altogether and gets a trap of its own behind
 * each instruction.
 *
 * T1  .step_kind is 0 unless the thread is on its way into, in, or on its way
 *     back from the program's own code.
 * T2  A system call is never stepped: it would be the program's own. */
#include "engine/signal_priv.h"

#include "engine/plan.h"
#include "engine/space.h"
#include "engine/tape.h"
#include "inside/mem.h"

enum { RSP = 4 };
enum step_kind {
	STEP_NOT,
	STEP_PLAIN,
	STEP_LOADS_FLAGS, /* TF behind it is the program's */
	STEP_PUSHES_FLAGS,
	STEP_CALLS, /* syscall */
};

/* ORDER of single.S */
static const uint8_t pop_order[15] = {15, 14, 13, 12, 11, 10, 9, 8,
				      7,  6,  5,  3,  2,  1,  0};
struct step_frame {
	uint64_t gpr[15];
	uint64_t rip, cs, rflags, rsp, ss;
};

_Noreturn void step_enter(const struct step_frame *f, uint64_t gs);

static int is_prefix(uint8_t byte, int is_64)
{
	return byte == 0x66 || byte == 0x67 || byte == 0xf2 || byte == 0xf3 ||
	       byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 ||
	       byte == 0x64 || byte == 0x65 || (is_64 && (byte & 0xf0) == 0x40);
}

/* Looks behind the prefixes; *skip counts them. */
static enum step_kind kind_of(const struct vcpu *v, unsigned *skip)
{
	uint8_t code[16] = {0};
	int is_64 = v->cs == CS_64;
	unsigned i = 0;

	guest_copy(code, (const void *)v->pc, 15);
	while (i < 14 && is_prefix(code[i], is_64))
		i++;
	*skip = i;
	if (code[i] == 0x9d || code[i] == 0xcf)
		return STEP_LOADS_FLAGS;
	if (code[i] == 0x9c)
		return STEP_PUSHES_FLAGS;
	if (code[i] == 0x0f && code[i + 1] == 0x05 && is_64)
		return STEP_CALLS;
	return STEP_PLAIN;
}

void step_native(struct vcpu *v)
{
	struct step_frame f;
	unsigned skip;
	enum step_kind kind = kind_of(v, &skip);

	if (v->tape && (kind != STEP_CALLS || skip != 0))
		tape_note(v, WIRE_STATE_STEP, v->pc, 0);
	if (kind == STEP_CALLS) { /* T2 */
		v->pc += skip;
		engine_syscall(v);
		return;
	}
	for (unsigned i = 0; i < 15; i++)
		f.gpr[i] = v->gpr[pop_order[i]];
	f.rip = v->pc;
	f.cs = v->cs;
	f.rflags = (v->rflags & ~(uint64_t)FLAG_RF) | FLAG_TF;
	f.rsp = v->gpr[RSP];
	f.ss = v->ss;
	v->step_pc = v->pc;
	v->step_then = space_now(v->engine);
	v->step_kind = kind;
	step_enter(&f, v->gs_base);
}

/* The flags that the instruction has pushed hold the engine's TF. */
static void mend_pushed(const struct vcpu *v)
{
	uint8_t *at = (uint8_t *)v->gpr[RSP] + 1, byte;

	if (guest_copy(&byte, at, 1) != 0)
		return;
	byte &= (uint8_t) ~(FLAG_TF >> 8);
	guest_copy(at, &byte, 1);
}

static void count_step(struct vcpu *v)
{
	uint8_t code[X86_MAX_LEN];
	unsigned len = sizeof code;

	len -= (unsigned)guest_copy(code, (const void *)v->step_pc, len);
	count_one(code, len, v->cells);
}

int step_caught(struct caught *c)
{
	struct vcpu *v = c->v;
	int64_t *g = c->uc->context.gregs;
	enum step_kind kind = v->step_kind;
	int trapped = (v->stepping & STEP_TRAP) != 0;
	int done = sig_is_step(c->info);

	v->step_kind = STEP_NOT;
	v->gs_base = c->gs;
	if (!done || kind != STEP_LOADS_FLAGS)
		g[GREG_EFL] =
		    (g[GREG_EFL] & ~FLAG_TF) | (trapped ? FLAG_TF : 0);
	signal_set_state(v, g);
	if (done && kind == STEP_PUSHES_FLAGS && !trapped)
		mend_pushed(v);
	if (done && v->engine->flags & WIRE_RUN_COUNT && v->pc != v->step_pc)
		count_step(v);
	if (done && v->cs == CS_64)
		space_learn(v->engine, v->step_pc, v->step_then);
	return done && !trapped;
}
