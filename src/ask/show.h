/* ask/show.h - values as a programmer writes them.
 *
 *	-7   'a'   true   1.5   VARS_GREEN   "corner"   0x4010 <table+16>
 *	{id = 3, next = 0x0, grid = {{1, 2}, {3, 4}}}
 *	@0x7ffe1230: {x = 1}	a reference: where it leads, and what is there
 *
 * A byte that is not known makes ?? of the number it is part of, and of
 * nothing else. Long arrays, texts and deep structs are cut, with "...". */
#ifndef ASK_SHOW_H
#define ASK_SHOW_H

#include "ask/eval.h"
#include "ask/prose.h"

enum { SHOW_LEN_MAX = 1 << 20 }; /* bytes of one value that are looked at */

struct show {
	const struct space *space; /* borrowed: names of what is pointed to */
	bool has_memory; /* texts that are pointed to may be read: it is the
			  * moment of the value */
	bool is_raw;	 /* containers of C++ are structs as any other */
};

/* Bytes of a type; bytes behind len are not known. */
void show_bytes(const struct show *s, struct type t, const uint8_t *bytes,
		const uint8_t *known, uint64_t len, struct prose *out);
/* The bit-field v, of the bytes from its address on. */
void show_bits(const struct show *s, const struct value *v,
	       const uint8_t *bytes, const uint8_t *known, uint64_t len,
	       struct prose *out);
/* Bytes without a type. */
void show_raw(const uint8_t *bytes, const uint8_t *known, uint64_t len,
	      struct prose *out);
/* What v is at the moment of e; -1: no memory. */
int show_value(const struct eval *e, const struct value *v, struct prose *out,
	       struct hark_err *err);
/* The field, or fields, of t that [offset, offset + len) touches: ".a.b[3]".
 * "" if it is all of t. */
void show_path(struct type t, uint64_t offset, uint64_t len, struct prose *out);
/* The type and place that such a path leads to. */
struct type show_type_at(struct type t, uint64_t offset, uint64_t len,
			 uint64_t *part_offset);

#endif
