/* ask/source.h - one moment of a process, as questions need it.
 *
 * What a timeline says of the moment it is put to; the unit tests put
 * themselves in its place. Functions return as those of hark/recording.h. */
#ifndef ASK_SOURCE_H
#define ASK_SOURCE_H

#include "base/err.h"

#include <hark/recording.h>

struct ask_source {
	size_t (*read)(void *ctx, uint64_t addr, size_t len, uint8_t *out,
		       uint8_t *known);
	int (*registers)(void *ctx, uint32_t thread, struct hark_registers *out,
			 struct hark_err *err);
	int (*mappings)(void *ctx, const struct hark_mapping **out, unsigned *n,
			struct hark_err *err);
	unsigned (*n_modules)(void *ctx);
	const struct hark_module *(*module)(void *ctx, unsigned i);
	int (*read_module)(void *ctx, unsigned i, uint8_t **out, size_t *len,
			   struct hark_err *err);
	void *ctx; /* borrowed */
};

/* A timeline and the recording it is of. */
struct ask_pair {
	struct hark_recording *recording; /* borrowed */
	struct hark_timeline *timeline;	  /* borrowed */
};
struct ask_source ask_source_of(struct ask_pair *p);

/* What the selected thread is about to execute; 0: it is not known. */
uint64_t ask_pc(struct hark_timeline *t);

/* What the public errors mean here; always -1. */
int ask_error(const struct hark_error *from, struct hark_err *err);

#endif
