/* tests/lossless/gen.h - code to be probed, made for the machine at hand.
 *
 * A piece is a function made of instructions that are all known, among them
 * some that count how often they are executed, in registers of their own. The
 * piece itself so says how often each instruction was executed: no probe and
 * no model of the machine is asked. gen_x86_64.c and gen_sparc64.c make them.
 *
 * A state is all registers that a piece can see or change, and memory. */
#ifndef TESTS_LOSSLESS_GEN_H
#define TESTS_LOSSLESS_GEN_H

#include <stdint.h>

enum { STATE_WORDS = 104, PIECE_INSNS = 40 };

struct state {
	uint64_t word[STATE_WORDS];
} __attribute__((aligned(64)));

enum { /* what an instruction of a piece is */
       PART_BRANCH = 1,
       PART_BEHIND = 2, /* right behind it: its delay slot if there is one */
       PART_OTHER = 4,
       PART_ALL = 7
};
enum { ONCE = -1, NEVER = -2 }; /* .counter: or the number of one */

struct piece_insn {
	uint16_t offset;
	int8_t counter; /* that goes up whenever it is executed */
	uint8_t part;
};

struct piece {
	uint8_t *code;
	unsigned len, n;
	struct piece_insn insn[PIECE_INSNS];
	unsigned outcomes; /* states that make a difference to it */
	unsigned shape;	   /* gen_prepare()'s */
	int probe;	   /* of the first instruction; the others follow */
};

/* The same list on every machine. */
enum family {
	PLAIN,
	BRANCHES,
	CALLS,
	COUPLES, /* transfers behind transfers */
	PC_VALUES,
	FRAMES,
	SYSTEM_CALLS,
	FAMILIES
};

/* Writes pieces of the family to out, code to *at and on. How many. */
unsigned gen_pieces(enum family family, struct piece *out, unsigned max,
		    uint8_t **at);

/* A random state, which leads to the given outcome. The state is used where it
 * is: some registers point into it. */
void gen_prepare(const struct piece *piece, unsigned outcome, struct state *s);

/* Runs code from the state in *s, and leaves the new one there. */
void gen_call(const void *code, struct state *s);

uint64_t gen_counter(const struct state *s, int counter);
const char *gen_word_name(unsigned word);

/* -- Odd things ------------------------------------------------------------ */

/* Writes to code what no probe can be put on; NULL after the last. */
const char *gen_refused(unsigned n, uint8_t *code, unsigned *len);
/* A trap of the program's own, which then returns; len bytes. */
unsigned gen_own_trap(uint8_t *code);
/* For the handler: goes on behind it. */
void gen_skip_trap(void *context);
/* A load from address 8, behind a jump if the machine has a delay slot. Where
 * the load is, and what its next pc is (0: there is none). */
unsigned gen_fault(uint8_t *code, unsigned *at, unsigned *next);

/* Functions in assembler, with the bytes that they have. ORDER function */
enum function {
	RECURSIVE, /* calls itself n times: n + 1 entries, n + 1 returns */
	/* Return n if it is even, else go to OTHER for good: */
	TAIL,	     /* by a direct call or jump */
	TAIL_FRAME,  /* likewise, out of a stack frame */
	TAIL_IF,     /* by a conditional jump */
	TAIL_JUMP,   /* by a jump that goes to inside, too */
	TAIL_LINKED, /* by one through a register that keeps an address */
	OTHER,	     /* returns n + 100 */
	FUNCTIONS
};
struct gen_function {
	uint64_t (*call)(uint64_t n);
	const void *start;
	unsigned len;
};
struct gen_function gen_function(enum function which);

/* Where each begins, and where the last one ends; at the end of a machine's
 * assembler text, whose labels stay its own: a jump to a name that others can
 * see would be another instruction. ORDER function */
extern const uint8_t *const gen_starts[FUNCTIONS + 1];
#define GEN_STARTS                                         \
	".section .data.rel.ro, \"aw\"\n"                  \
	".balign 8\n"                                      \
	".globl gen_starts\n"                              \
	"gen_starts: .8byte recursive, tail, tail_frame\n" \
	"	.8byte tail_if, tail_jump, tail_linked\n"        \
	"	.8byte other, other_end\n"                       \
	".previous\n"

/* -- Random numbers -------------------------------------------------------- */

void random_seed(uint64_t seed);
uint64_t random_next(void);
unsigned random_below(unsigned n);

#endif
