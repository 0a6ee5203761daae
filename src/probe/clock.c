/* probe/clock.c - two looks at two clocks. */
#include "probe/clock.h"

#include <cpuid.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

enum { NS = 1000000000, APART_NS = 20 * 1000 * 1000, LOOKS = 8 };

static uint64_t now_ns(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (uint64_t)t.tv_sec * NS + (uint64_t)t.tv_nsec;
}

/* The counter between two looks at the kernel's clock; of several the one
 * that took the shortest. */
void clock_look(struct clock_look *out)
{
	uint64_t best = UINT64_MAX;

	for (unsigned i = 0; i < LOOKS; i++) {
		uint64_t before = now_ns(CLOCK_MONOTONIC);
		uint64_t tsc = __rdtsc();
		uint64_t after = now_ns(CLOCK_MONOTONIC);

		if (after - before < best) {
			best = after - before;
			*out = (struct clock_look){
			    .tsc = tsc, .ns = before + (after - before) / 2};
		}
	}
}

/* Does it count at one rate, on all processors, whatever they do? */
static bool is_invariant(void)
{
	enum { POWER = 0x80000007, INVARIANT = 1 << 8 };
	unsigned a, b, c, d;

	return __get_cpuid(POWER, &a, &b, &c, &d) && (d & INVARIANT) != 0;
}

/* Those of the kernel's clocks that are made from the counter. */
static bool is_trusted(void)
{
	static const char *const made_from_it[] = {
	    "tsc\n", "kvm-clock\n", "hyperv_clocksource_tsc_page\n"};
	char name[64] = "";
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/"
			"current_clocksource",
			"re");

	if (f == NULL)
		return false;
	if (fgets(name, sizeof name, f) == NULL)
		name[0] = '\0';
	fclose(f);
	for (size_t i = 0; i < sizeof made_from_it / sizeof *made_from_it; i++)
		if (strcmp(name, made_from_it[i]) == 0)
			return true;
	return false;
}

void clock_calibrate(const struct clock_look *first, struct collect_clock *out)
{
	struct clock_look last;
	uint64_t ns;

	*out = (struct collect_clock){
	    .wall_ns =
		(int64_t)(now_ns(CLOCK_REALTIME) - now_ns(CLOCK_MONOTONIC))};
	if (!is_invariant() || !is_trusted())
		return;
	clock_look(&last);
	ns = last.ns - first->ns;
	if (ns < APART_NS) {
		const struct timespec nap = {.tv_nsec = (long)(APART_NS - ns)};

		nanosleep(&nap, NULL);
		clock_look(&last);
	}
	if (last.tsc <= first->tsc || last.ns <= first->ns)
		return;
	out->base_tsc = last.tsc;
	out->base_ns = last.ns;
	out->mult =
	    (uint64_t)(((unsigned __int128)(last.ns - first->ns) << 32) /
		       (last.tsc - first->tsc));
}
