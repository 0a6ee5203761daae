/* bench/million.c - a profile of many samples, made up.
 *
 *	million SAMPLES DEPTH CHANGED PLACES FILE
 *
 * Stacks of DEPTH frames, each at one of PLACES in this program's own code,
 * which is full of inlined calls; from sample to sample up to CHANGED of the
 * inner frames become other ones. What hark show makes of it is timed by
 * bench/showing. */
#include "image/modules.h"
#include "profile/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DEEP = 20000, PERIOD = 1000000 };

extern const char __etext[], _start[]; /* of the linker's */

static struct profile_frame frames[DEEP];
static uint64_t n_places;

static uint64_t any(uint64_t n)
{
	static uint64_t seed = 88172645463325252u;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

static void check(int rc, const struct hark_err *err)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "million: %s\n", err->text);
	exit(125);
}

/* Some places are met much more often than others. */
static uint64_t any_place(void)
{
	uint64_t len = (uint64_t)__etext - (uint64_t)_start;
	uint64_t k = any(4) ? any(n_places / 64 + 1) : any(n_places);

	return (uint64_t)_start + k * (len / n_places);
}

static void put_all(struct profile_writer *w, uint64_t samples, uint32_t depth,
		    uint32_t changed)
{
	struct hark_err err = {0};

	for (uint64_t i = 0; i < samples; i++) {
		uint32_t n = i == 0 ? depth : 1 + (uint32_t)any(changed);
		struct profile_sample s = {.pid = getpid(),
					   .tid = getpid(),
					   .time_ns = i * PERIOD,
					   .weight = 1,
					   .kept = depth - n,
					   .frames = frames,
					   .n = n};

		for (uint32_t k = 0; k < n; k++)
			frames[k] = (struct profile_frame){
			    .pc = any_place(), .is_return = k + 1 < n};
		check(profile_put(w, &s, &err), &err);
	}
}

int main(int argc, char **argv)
{
	struct profile_plan plan = {
	    .argv = argv, .clock = PROFILE_CPU, .period_ns = PERIOD};
	struct profile_ending end = {.has_status = true};
	struct profile_writer *w = NULL;
	struct modules *modules = NULL;
	struct image *im = NULL;
	struct hark_err err = {0};
	uint32_t depth, changed;

	if (argc != 6)
		return 125;
	depth = (uint32_t)strtoul(argv[2], NULL, 10);
	changed = (uint32_t)strtoul(argv[3], NULL, 10);
	n_places = strtoul(argv[4], NULL, 10);
	if (depth > DEEP || changed == 0 || changed > depth || n_places == 0)
		return 125;
	check(image_new(&im, &err), &err);
	check(modules_of_pid(im, getpid(), &modules, &err), &err);
	check(file_create(argv[5], 1, &plan.file, &err), &err);
	check(profile_create(&plan, &w, &err), &err);
	check(profile_maps(w, getpid(), modules, &err), &err);
	end.ended_ns = strtoull(argv[1], NULL, 10) * PERIOD;
	end.cpu_user_ns = end.ended_ns;
	put_all(w, end.ended_ns / PERIOD, depth, changed);
	check(profile_finish(w, &end, &err), &err);
	profile_close(w);
	modules_free(modules);
	image_free(im);
	return 0;
}
