/* script/machine_priv.h - a clause while it runs.
 *
 * A register with a text holds its address, or 0 for no text; it lies in the
 * program, in the host's built-ins or in scratch. The verifier knows which
 * registers these are, so no number is ever taken for one. */
#ifndef SCRIPT_MACHINE_PRIV_H
#define SCRIPT_MACHINE_PRIV_H

#include "script/machine.h"

struct machine {
	struct machine_host *h;
	const struct probe_clause *clause;
	/* A call may look at more than it was given. */
	uint64_t r[PROBE_REGISTERS + PROBE_SIGNATURE_MAX];
	uint32_t used;	/* of scratch */
	uint32_t key;	/* where the tuple begins in scratch */
	uint32_t entry; /* where the open entry begins in output */
};

static inline const char *machine_text(uint64_t value)
{
	return value != 0 ? (const char *)(uintptr_t)value : "";
}

/* Each returns false after it has noted a fault. */
bool machine_fail(struct machine *m, enum machine_fault fault, uint64_t addr);
/* NULL: no room. Never moves what was taken before. */
uint8_t *machine_take(struct machine *m, uint32_t len);
bool machine_read(struct machine *m, uint64_t addr, void *out, uint32_t len);
/* At most as long as texts may be, without the NUL. */
uint32_t machine_text_len(const struct machine *m, const char *text);

/* Calls a function that deals with texts or memory: arguments in arg. */
bool machine_call(struct machine *m, enum probe_function function,
		  const uint64_t *arg, uint64_t *out);

#endif
