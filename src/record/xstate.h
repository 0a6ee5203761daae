/* record/xstate.h - extended registers (x87, SSE, AVX...) as recordings hold
 * them, compared.
 *
 * wire/record.h says how they lie. A component that is not there is in its
 * initial state, so "not there" and "there, and initial" are the same. What no
 * program can rely on is not compared: the addresses of the last x87
 * instruction and its operand, its opcode, and reserved bytes. Hosted. */
#ifndef RECORD_XSTATE_H
#define RECORD_XSTATE_H

#include "record/recording.h"

#include <stddef.h>
#include <stdint.h>

enum { XSTATE_COMPONENTS = 63 }; /* 0 and 1 are what fxsave stores */

struct xstate_layout {
	uint16_t size[XSTATE_COMPONENTS]; /* bytes; 0: there is none */
	uint32_t mxcsr; /* bits that may be set; others fault */
};

/* As CPUID tells. */
void xstate_layout_here(struct xstate_layout *out);
/* As a recording tells. */
void xstate_layout_of(const struct recording *r, struct xstate_layout *out);

/* 0, or -1 if these cannot be extended registers of this layout. */
int xstate_check(const struct xstate_layout *l, const uint8_t *bytes,
		 uint32_t len);

/* 0: the same. 1: not; the first difference is put into text. Both have been
 * checked. */
int xstate_compare(const struct xstate_layout *l, const uint8_t *recorded,
		   const uint8_t *replayed, char *text, size_t size);

#endif
