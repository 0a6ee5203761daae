/* cli/run_stats.c - what the virtual processor counted. */
#include "cli/run_stats.h"

#include "present/json.h"
#include "present/say.h"

#include <stdio.h>
#include <string.h>

/* ORDER wire_exit */
static const char *const exit_names[] = {
    "link", "indirect", "syscall", "signal", "fault", "step", "check",
};
_Static_assert(sizeof exit_names / sizeof exit_names[0] == WIRE_EXIT_MAX,
	       "ORDER wire_exit");

/* What the counting instrument counts. */
static const struct {
	const char *key, *title;
	size_t at;
} executed[] = {
    {"superblocks", "superblocks", offsetof(struct wire_stats, ran_blocks)},
    {"instructions", "instructions",
     offsetof(struct wire_stats, ran_instructions)},
    {"loads", "loads", offsetof(struct wire_stats, ran_loads)},
    {"stores", "stores", offsetof(struct wire_stats, ran_stores)},
    {"calls", "calls", offsetof(struct wire_stats, ran_calls)},
    {"returns", "returns", offsetof(struct wire_stats, ran_returns)},
    {"branches", "branches", offsetof(struct wire_stats, ran_branches)},
    {"system_calls", "system calls", offsetof(struct wire_stats, ran_syscalls)},
};
enum { N_EXECUTED = sizeof executed / sizeof executed[0] };

static uint64_t executed_of(const struct wire_stats *s, size_t i)
{
	uint64_t n;

	memcpy(&n, (const uint8_t *)s + executed[i].at, sizeof n);
	return n;
}

static double ns_per_instruction(const struct wire_stats *s)
{
	return s->instructions == 0
		   ? 0
		   : (double)s->translate_ns / (double)s->instructions;
}

/* -- For people -- */

static const char *s_of(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void tell_exits(const struct wire_stats *s)
{
	char text[400];
	size_t at = 0;

	for (int i = 0; i < WIRE_EXIT_MAX; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "%s%s %lu",
				       i == 0 ? "" : ", ", exit_names[i],
				       (unsigned long)s->exits[i]);
	say("%-12s%s", "exits", text);
}

static void tell_executed(const struct wire_stats *s)
{
	char text[400];
	size_t at = 0;

	for (size_t i = 0; i < N_EXECUTED; i++)
		at += (size_t)snprintf(
		    text + at, sizeof text - at, "%s%lu %s", i == 0 ? "" : ", ",
		    (unsigned long)executed_of(s, i), executed[i].title);
	say("%-12s%s", "executed", text);
}

static void tell_people(const struct run_totals *t, int64_t wall_ns,
			uint32_t flags)
{
	const struct wire_stats *s = &t->stats;

	say("%-12s%lu program%s, %lu process%s, %lu thread%s, %lu signal%s; "
	    "%.3f ms",
	    "run", (unsigned long)t->programs, s_of(t->programs),
	    (unsigned long)s->processes, s->processes == 1 ? "" : "es",
	    (unsigned long)s->threads, s_of(s->threads),
	    (unsigned long)s->signals, s_of(s->signals), (double)wall_ns / 1e6);
	if (t->let_go > 0)
		say("%-12s%lu program%s executed natively", "not run",
		    (unsigned long)t->let_go, s_of(t->let_go));
	say("%-12s%lu superblock%s, %lu instruction%s; %lu bytes into %lu",
	    "translated", (unsigned long)s->blocks, s_of(s->blocks),
	    (unsigned long)s->instructions, s_of(s->instructions),
	    (unsigned long)s->guest_bytes, (unsigned long)s->code_bytes);
	say("%-12s%.3f ms, %.0f ns an instruction", "translating",
	    (double)s->translate_ns / 1e6, ns_per_instruction(s));
	say("%-12s%lu superblock%s discarded, %lu flush%s", "cache",
	    (unsigned long)s->discarded, s_of(s->discarded),
	    (unsigned long)s->flushes, s->flushes == 1 ? "" : "es");
	tell_exits(s);
	if ((flags & WIRE_RUN_COUNT) != 0)
		tell_executed(s);
}

/* -- For programs -- */

static void tell_counts(struct json *j, const struct wire_stats *s,
			uint32_t flags)
{
	json_object(j, "exits");
	for (int i = 0; i < WIRE_EXIT_MAX; i++)
		json_number(j, exit_names[i], s->exits[i]);
	json_end(j);
	if ((flags & WIRE_RUN_COUNT) == 0) {
		json_null(j, "executed");
		return;
	}
	json_object(j, "executed");
	for (size_t i = 0; i < N_EXECUTED; i++)
		json_number(j, executed[i].key, executed_of(s, i));
	json_end(j);
}

static void tell_programs(const struct run_totals *t, int64_t wall_ns,
			  uint32_t flags)
{
	const struct wire_stats *s = &t->stats;
	struct json j;

	json_init(&j, stderr);
	json_object(&j, NULL);
	json_text(&j, "kind", "translated");
	json_real(&j, "milliseconds", (double)wall_ns / 1e6);
	json_number(&j, "programs", t->programs);
	json_number(&j, "programs_native", t->let_go);
	json_number(&j, "processes", s->processes);
	json_number(&j, "threads", s->threads);
	json_number(&j, "signals", s->signals);
	json_number(&j, "superblocks", s->blocks);
	json_number(&j, "instructions", s->instructions);
	json_number(&j, "program_bytes", s->guest_bytes);
	json_number(&j, "cache_bytes", s->code_bytes);
	json_number(&j, "translate_ns", s->translate_ns);
	json_real(&j, "ns_per_instruction", ns_per_instruction(s));
	json_number(&j, "discarded", s->discarded);
	json_number(&j, "flushes", s->flushes);
	tell_counts(&j, s, flags);
	json_end(&j);
}

void run_stats_tell(const struct run_totals *t, int64_t wall_ns, uint32_t flags,
		    bool as_json)
{
	if (as_json)
		tell_programs(t, wall_ns, flags);
	else
		tell_people(t, wall_ns, flags);
}
