/* image/frame_rows.h - call-frame rules as one flat block of bytes.
 *
 * For every code address of a module: where the caller's frame begins (its
 * CFA), and where the caller's registers are. The block can be written to
 * disk, mapped, and used inside the target as it is:
 *
 *	header | rules | general rules | pages | rows | expressions
 *
 * A row is 4 bytes: the low 16 bits of the address at which it begins, and
 * the number of its rule. A page of 64 KiB of code knows its first row. Rules
 * are few, since functions are alike (see docs/image.md for counts), so each
 * distinct one is stored once, with all callee-saved registers in it: an
 * unwinder that follows them all can also leave the rare frame whose CFA is
 * in rbx or r12. What does not fit a rule is a general rule with DWARF
 * expressions, some 1 in 10^5 rows.
 *
 * R1  Rows ascend strictly, in pages and within them. The rule of an address
 *     is that of the last row at or before it, which may be in an earlier
 *     page; no such row: rule 0.
 * R2  Rule 0 is FRAME_NONE: nothing is known, which is not a guess.
 * R3  frame_table_check has accepted the block before anyone else looks.
 *
 * Registers have DWARF's numbers. Pure: no libc, no writable globals. */
#ifndef IMAGE_FRAME_ROWS_H
#define IMAGE_FRAME_ROWS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FRAME_RBX = 3,
	FRAME_RBP = 6,
	FRAME_RSP = 7,
	FRAME_RIP = 16,
	FRAME_REGS = 17,
};

/* -- What a rule says -- */

enum frame_kind {
	FRAME_NONE,    /* no rule */
	FRAME_REG,     /* CFA = reg + cfa */
	FRAME_DEREF,   /* CFA = *(reg + cfa) */
	FRAME_PLT,     /* CFA = rsp + 8, + 8 when (pc & 15) >= cfa */
	FRAME_CONTEXT, /* all registers are in a sigcontext at reg + cfa */
	FRAME_GENERAL, /* number cfa of the general rules */
	FRAME_KINDS
};

enum {
	FRAME_END = 1,	  /* no caller: the return address is undefined */
	FRAME_SIGNAL = 2, /* the caller was interrupted, it did not call */
	FRAME_AT_RBP = 4, /* saved[0..5] count from rbp, not from the CFA */
};

/* ORDER frame_saved: rbx rbp r12 r13 r14 r15, then the return address,
 * which always counts from the CFA. */
enum { FRAME_SAVED_RBP = 1, FRAME_SAVED_RIP = 6, FRAME_SAVED = 7 };
enum {
	FRAME_KEPT = INT16_MAX,	    /* the register still has its value */
	FRAME_LOST = INT16_MAX - 1, /* nobody knows it any more */
};

struct frame_rule {
	int32_t cfa;
	uint8_t kind, flags, reg, zero;
	int16_t saved[FRAME_SAVED]; /* in units of 8 bytes, or KEPT, LOST */
	int16_t zero2;
};
_Static_assert(sizeof(struct frame_rule) == 24, "on disk");

struct frame_row {
	uint16_t low, rule;
};

/* One register of a general rule, or its CFA. */
enum frame_how {
	FRAME_SAME,
	FRAME_UNDEFINED,
	FRAME_OFFSET,	  /* at CFA + value */
	FRAME_VAL_OFFSET, /* is CFA + value */
	FRAME_REGISTER,	  /* in reg (+ value, for the CFA) */
	FRAME_EXPR,	  /* at the address that the expression computes */
	FRAME_VAL_EXPR,	  /* is what the expression computes */
	FRAME_HOWS
};

struct frame_cell {
	uint8_t how, reg;
	uint16_t expr_len;
	int32_t value; /* offset, or where the expression begins */
};

struct frame_general {
	struct frame_cell cfa; /* FRAME_REGISTER or FRAME_VAL_EXPR */
	struct frame_cell reg[FRAME_REGS];
	uint32_t flags;
	int32_t offset; /* for who makes them: the last one from a register */
};
_Static_assert(sizeof(struct frame_general) == 152, "on disk");

/* -- The block -- */

#define FRAME_MAGIC 0x454d4652u /* "RFME" */
enum {
	FRAME_VERSION = 1,
	FRAME_PAGE = 65536,
	FRAME_ID_MAX = 32, /* of a build-id, its first bytes */
};

struct frame_table {
	uint32_t magic;
	uint16_t version, id_len;
	uint8_t id[FRAME_ID_MAX];
	uint64_t len;  /* of the whole block */
	uint64_t sum;  /* of all bytes but these */
	uint64_t base; /* link-time address of the first page */
	uint32_t n_pages, n_rows, n_rules, n_general, expr_len, zero;
};
_Static_assert(sizeof(struct frame_table) == 88, "on disk");

/* Is this a table that obeys R1 and R2, with every index inside it? If sum
 * is false the check sum is not looked at. */
int frame_table_check(const void *block, size_t len, bool sum,
		      struct hark_err *err);
uint64_t frame_table_sum(const struct frame_table *t);

static inline const struct frame_rule *frame_rules(const struct frame_table *t)
{
	return (const struct frame_rule *)(t + 1);
}

static inline const struct frame_general *
frame_generals(const struct frame_table *t)
{
	return (const struct frame_general *)(frame_rules(t) + t->n_rules);
}

/* n_pages + 1 of them. */
static inline const uint32_t *frame_pages(const struct frame_table *t)
{
	return (const uint32_t *)(frame_generals(t) + t->n_general);
}

static inline const struct frame_row *frame_rows(const struct frame_table *t)
{
	return (const struct frame_row *)(frame_pages(t) + t->n_pages + 1);
}

static inline const uint8_t *frame_exprs(const struct frame_table *t)
{
	return (const uint8_t *)(frame_rows(t) + t->n_rows);
}

/* Rows from first to last are of one page: the first of them that begins
 * behind low, or last. No branch depends on what is found: nobody could
 * predict it. */
static inline uint32_t frame_rows_among(const struct frame_row *row,
					uint32_t first, uint32_t last,
					uint16_t low)
{
	uint32_t n = last - first;

	while (n > 1) {
		uint32_t half = n / 2;

		first += row[first + half - 1].low <= low ? half : 0;
		n -= half;
	}
	return first + (n > 0 && row[first].low <= low);
}

/* The number of rows at or before addr; the last of them has its rule. */
static inline uint32_t frame_rows_until(const struct frame_table *t,
					uint64_t addr)
{
	uint64_t page = (addr - t->base) / FRAME_PAGE;

	if (page >= t->n_pages)
		return 0;
	return frame_rows_among(frame_rows(t), frame_pages(t)[page],
				frame_pages(t)[page + 1], (uint16_t)addr);
}

/* The rule of a link-time address; never NULL. */
static inline const struct frame_rule *frame_find(const struct frame_table *t,
						  uint64_t addr)
{
	uint32_t n = frame_rows_until(t, addr);

	return &frame_rules(t)[n > 0 ? frame_rows(t)[n - 1].rule : 0];
}

/* -- One step outwards -- */

struct frame_cpu {
	uint64_t reg[FRAME_REGS];
	uint32_t known; /* a bit for each register that is */
	bool exact;	/* reg[RIP] is where it stopped, not a return address */
};

struct frame_memory {
	/* 8 bytes at a run-time address; 0 or -1. */
	int (*read)(void *ctx, uint64_t addr, uint64_t *out);
	void *ctx; /* borrowed */
};

enum frame_result {
	FRAME_STEPPED,
	FRAME_OUTERMOST,  /* there is no caller */
	FRAME_UNKNOWN,	  /* no rule, or one that needs a lost register */
	FRAME_UNREADABLE, /* memory that the rule names is not there */
};

/* From the registers of a frame to those of its caller. Registers that the
 * caller may not rely on become unknown. On any result but FRAME_STEPPED
 * cpu is as before. bias is added to link-time addresses of the module. */
enum frame_result frame_step(const struct frame_table *t, uint64_t bias,
			     const struct frame_memory *mem,
			     struct frame_cpu *cpu);
/* The same for a rule found already. */
enum frame_result frame_apply(const struct frame_table *t,
			      const struct frame_rule *rule,
			      const struct frame_memory *mem,
			      struct frame_cpu *cpu);

#endif
