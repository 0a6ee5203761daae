/* tests/x86/cases.h - random instructions, each in a machine state that makes
 * it do something: pointers point to memory, indirect targets to code.
 *
 * A world is a set of mappings at fixed addresses. Three worlds differ in
 * what an address needs: 31 bits, 32 bits, more. */
#ifndef TESTS_X86_CASES_H
#define TESTS_X86_CASES_H

#include <stdint.h>

#include "machine.h"
#include "x86/decode.h"

enum { PAGE = 4096, TEXT_LEN = 4 * PAGE, PADS_LEN = 2 * PAGE, WORLDS = 3 };

struct world {
	uint64_t text;	/* TEXT_LEN of int3 around the instruction */
	uint64_t data;	/* one page, within reach of text; also gs base */
	uint64_t stack; /* likewise */
	uint64_t near;	/* one page to move code to, within 2 GiB */
	uint64_t far;	/* likewise, not within 2 GiB */
	uint8_t *text_rw, *near_rw, *far_rw; /* the same pages, writable */
};

struct kase {
	const struct world *world;
	struct machine in;
	uint8_t code[16];
	struct x86_insn insn;
	uint64_t from; /* in world->text */
	uint8_t data[PAGE], stack[PAGE];
};

struct kind {
	const char *name;
	void (*make)(struct kase *k);
};
extern const struct kind kinds[];
extern const unsigned n_kinds;

/* The same seed gives the same cases. */
void random_seed(uint64_t seed);
uint64_t random_next(void);
unsigned random_below(unsigned n);

/* Maps the worlds; exits if the addresses are taken. */
void worlds_init(void);
const struct world *world_get(unsigned n);
/* Makes gs point to the world's data, and the pages hold the case's bytes. */
void world_load(const struct kase *k);
/* The bytes that cases reach by fs; world_load() sets them, too. */
enum { FS_LEN = 64 };
const uint8_t *world_fs(void);

/* A whole case of the kind. */
void case_make(struct kase *k, const struct kind *kind);
/* Registers and flags at random: pointers, small numbers, anything. */
void case_registers(struct kase *k);
/* A random instruction that is safe to execute in this process; space is one
 * of X86_SPACE_*, or -1 for any. Sets code and insn. */
void case_any_insn(struct kase *k);
/* Makes the registers that insn's address uses point into data. */
void case_aim(struct kase *k);
/* Code where the case's text is; NULL: int3 again. */
void case_text(const struct kase *k, const uint8_t *code, unsigned len);
/* Of a kind, until ten have failed: how many. The run says -1 of one that has.
 */
typedef int case_run(const struct kase *k, const char *kind, unsigned long n);
unsigned cases_run(unsigned kind, unsigned long cases, uint64_t seed,
		   case_run *run);

/* A program of these: [-n CASES] [-s SEED] [-k KIND], a plan, every kind. */
struct program {
	unsigned long cases; /* unless -n says otherwise */
	unsigned n_kinds;
	const char *(*name)(unsigned kind);
	int (*run)(unsigned kind, unsigned long cases, uint64_t seed);
};
int program_main(const struct program *p, int argc, char **argv);
const char *kind_name(unsigned kind);

#endif
