/* present/foreign.h - call stacks, for other people's tools.
 *
 *	folded		a line a stack: flame graph scripts, speedscope, grep
 *	perf_script	what `perf script` prints: all that reads that
 *	speedscope	speedscope's own JSON
 *	pprof		gzip'ed protobuf: pprof, Pyroscope, Parca, speedscope
 *	perfetto	a trace for the Perfetto UI
 *	firefox		for profiler.firefox.com
 *
 * Each writes as it goes. Names may hold anything: what comes out is valid.
 * docs/profile-formats.md says what each keeps and loses. Hosted. */
#ifndef PRESENT_FOREIGN_H
#define PRESENT_FOREIGN_H

#include "present/stacks.h"

int present_folded(const struct stacks *s, FILE *out, struct hark_err *err);
int present_perf_script(const struct stacks *s, FILE *out,
			struct hark_err *err);
int present_speedscope(const struct stacks *s, FILE *out, struct hark_err *err);
int present_pprof(const struct stacks *s, FILE *out, struct hark_err *err);
int present_perfetto(const struct stacks *s, FILE *out, struct hark_err *err);
int present_firefox(const struct stacks *s, FILE *out, struct hark_err *err);

#endif
