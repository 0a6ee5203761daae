/* cli/probes.h - what this machine lets hark do: one probe a thing. */
#ifndef CLI_PROBES_H
#define CLI_PROBES_H

#include "cli/trial.h"

#include <stdbool.h>
#include <stddef.h>

enum { PROBE_MAX = 32, PROBE_LIMIT_MS = 3000 };

struct probe {
	const char *key;   /* in JSON: stable */
	const char *title; /* for people */
	bool essential;	   /* without it hark can do nothing */
	trial_fn *attempt;
};

/* In the order in which they are shown; behind the last is one without key. */
extern const struct probe probes[];

/* -- For tests: what the probes make of what they read -- */

/* The words behind `Name:` in a text like /proc/self/status, up to the end of
 * the line; false if there is none or no room. */
bool probe_field(const char *text, const char *name, char *out, size_t size);

/* The last hidepid= of a mounted /proc in a text like /proc/self/mounts; out is
 * empty if there is none. False if /proc is not in it. */
bool probe_hidepid(const char *mounts, char *out, size_t size);

/* The version in `GNU gdb (Debian 13.1-3) 13.1`: its last word. False if the
 * text is not gdb's. */
bool probe_gdb_version(const char *text, char *out, size_t size);

#endif
