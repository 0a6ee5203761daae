/* script/machine.h - runs one clause of a verified program.
 *
 * The machine computes; all that is outside of it, it asks of a host: the
 * collector in the target, or a test. Nothing is allocated and nothing is
 * kept between two runs but what the host keeps. Pure; general registers
 * only. */
#ifndef SCRIPT_MACHINE_H
#define SCRIPT_MACHINE_H

#include "wire/probe.h"

#include <stdbool.h>
#include <stddef.h>

enum machine_end {
	MACHINE_DONE,
	MACHINE_REFUSED, /* by the predicate */
	MACHINE_DROPPED, /* no room for its output: nothing was done */
	MACHINE_FAULT,	 /* ERROR's business; what was put out is void */
};

/* As DTrace numbers them: arg4 of ERROR. */
enum machine_fault {
	MACHINE_NO_FAULT,
	MACHINE_BAD_ADDRESS,
	MACHINE_DIVISION,
	MACHINE_NO_SCRATCH,
	MACHINE_BAD_REGISTER,
};

struct machine_host {
	const struct probe_program *program; /* verified */

	/* Of the probe that was hit. */
	const uint64_t *args;  /* PROBE_ARGUMENTS */
	const uint64_t *uregs; /* PROBE_UREGS, as words.c numbers them */
	uint64_t (*builtin)(struct machine_host *h, enum probe_builtin what);
	/* Ends with a NUL and stays until the clause is done. */
	const char *(*builtin_text)(struct machine_host *h,
				    enum probe_builtin what);
	/* False if not all of it can be read; out may be written to. */
	bool (*read)(struct machine_host *h, uint64_t addr, void *out,
		     uint32_t len);
	/* At most n return addresses, innermost first; how many. */
	uint32_t (*stack)(struct machine_host *h, uint64_t *out, uint32_t n);
	uint64_t (*random)(struct machine_host *h);

	/* Scalars: program->n_slots[scope] of each, zeroed at first; texts
	 * have machine_text_slot() bytes each. Those of PROBE_THIS are zeroed
	 * whenever a probe is hit. */
	uint64_t *numbers[PROBE_SCOPE_MAX];
	uint8_t *texts[PROBE_SCOPE_MAX];
	/* A cell of an array: 8 bytes or a text's slot, zeroed when created.
	 * NULL: it is not there, or there is no room for it. */
	void *(*cell)(struct machine_host *h, uint32_t variable,
		      const uint8_t *key, uint32_t len, bool create);
	/* The machine is done with the cell; may be NULL. */
	void (*cell_done)(struct machine_host *h);
	void (*forget)(struct machine_host *h, uint32_t variable,
		       const uint8_t *key, uint32_t len);

	void (*aggregate)(struct machine_host *h, uint32_t aggregation,
			  const uint8_t *key, uint32_t len, int64_t value,
			  int64_t weight);

	/* 0: none is free. */
	uint64_t (*speculation)(struct machine_host *h);
	/* Puts the speculation's buffer in place of output. False: there is
	 * no such one, or no room in it for `need` bytes. */
	bool (*speculate)(struct machine_host *h, uint64_t id, uint32_t need);
	void (*commit)(struct machine_host *h, uint64_t id);
	void (*discard)(struct machine_host *h, uint64_t id);

	/* Entries are written here; the host puts a head before them. */
	uint8_t *output; /* at a multiple of 8 */
	uint32_t output_room, output_len;
	uint8_t *scratch; /* at a multiple of 8; its old contents are lost */
	uint32_t scratch_room;

	/* For the host to see when the clause is done. */
	bool wants_stop;
	uint32_t wants_signal; /* or 0 */
	enum machine_fault fault;
	uint64_t fault_address;
	uint32_t fault_insn; /* of the clause */
};

/* The low bits of a number as a whole one: SEXT and ZEXT. */
static inline uint64_t machine_extend(uint64_t value, int32_t bits,
				      bool is_signed)
{
	int shift = 64 - bits;

	value <<= shift;
	return is_signed ? (uint64_t)((int64_t)value >> shift) : value >> shift;
}

/* Bytes of a text variable: one that says whether it is, then the text. */
static inline uint32_t machine_text_slot(const struct probe_program *p)
{
	return p->string_size + 8;
}

enum machine_end machine_run(struct machine_host *h,
			     const struct probe_clause *clause);

#endif
