/* gdb/agent.h - conditions of breakpoints, as gdb compiles them.
 *
 * gdb's agent expressions: bytecode for a machine with a stack of 64-bit
 * numbers. Registers and memory come from the caller; nothing can be written.
 * Code is not trusted: it may be damaged, or never end. Pure. */
#ifndef GDB_AGENT_H
#define GDB_AGENT_H

#include <stddef.h>
#include <stdint.h>

struct agent_state {
	void *ctx;
	/* 0, or -1 if there is none, or it is not known. */
	int (*read_register)(void *ctx, unsigned number, uint64_t *out);
	int (*read_memory)(void *ctx, uint64_t address, size_t len,
			   uint8_t *out);
};

/* 0 and the value on top at the end, or -1: it has none. */
int agent_run(const uint8_t *code, size_t len, const struct agent_state *state,
	      uint64_t *out);

#endif
