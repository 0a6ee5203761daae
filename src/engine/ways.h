/* engine/ways.h - how a recorded instruction gets at its memory.
 *
 * Recorder and replayer must agree on what every instruction does to the
 * shadow (wire/record.h); this is the one place that decides it. The recorder
 * (mirror.c) works on memory and shadow, the replayer (alone.c) on the shadow.
 *
 * Pure. */
#ifndef ENGINE_WAYS_H
#define ENGINE_WAYS_H

#include "x86/decode.h"

/* From WAY_STRING on the instruction ends a superblock. */
enum way {
	WAY_NONE,      /* touches no memory */
	WAY_LOAD,      /* of its explicit operand */
	WAY_SOME,      /* the same, of some elements: it may be no memory */
	WAY_STORE,     /* to it; may be done twice */
	WAY_STORE_POP, /* the same, but once: the x87 unit pops */
	WAY_STORE_X87, /* the same, and there is no form that does not pop */
	WAY_GATHER,    /* elements here and there, by a mask register */
	WAY_SCATTER,   /* the same, stores */
	WAY_UPDATE,    /* both, in a general register meanwhile */
	WAY_LOCKED,    /* both, in one step */
	WAY_PUSH,      /* a register */
	WAY_PUSH_I,
	WAY_PUSH_M,
	WAY_PUSHF, /* memory only: the shadow keeps what it has */
	WAY_POP,   /* into a register */
	WAY_POP_M, /* 8 bytes into memory */
	WAY_LEAVE,
	WAY_BASE,   /* rdfsbase, wrfsbase */
	WAY_STRING, /* by the engine itself */
	WAY_RESULT, /* registers that the log has */
	WAY_STATE,  /* natively; the log has all registers */
	WAY_MAX
};

enum way way_of(const uint8_t *code, const struct x86_insn *insn);

/* Where its explicit operand is, without the base of fs. */
struct vcpu;
uint64_t ways_address(const struct x86_insn *insn, const struct vcpu *v);

/* Can a general register stand for its memory operand? */
int way_takes_register(const struct x86_insn *insn);
/* Does it leave other flags then? By an immediate, Intel's processors (Golden
 * Cove) rotate registers without touching OF, but memory not. */
int way_differs_in_register(const struct x86_insn *insn);

/* WAY_LOCKED: what it does. */
enum way_lock {
	LOCK_NOT, /* something else: WAY_STATE */
	LOCK_XCHG,
	LOCK_XADD,
	LOCK_CMPXCHG,
	LOCK_ADD,
	LOCK_SUB,
	LOCK_INC,
	LOCK_DEC,
	LOCK_OR_0, /* nothing but a fence */
	LOCK_LOOP, /* what a loop around cmpxchg can do */
};
enum way_lock way_lock_of(const uint8_t *code, const struct x86_insn *insn);

#endif
