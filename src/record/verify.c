/* record/verify.c - does a recording replay as it was recorded? */
#include "record/verify.h"

#include "record/player.h"
#include "record/sandbox.h"

#include <stdlib.h>
#include <unistd.h>

struct verify {
	const struct verify_wish *wish; /* borrowed */
	struct recording *r;		/* borrowed */
	struct player *player;		/* a worker's own */
	unsigned n;
};

static int begin(void *ctx, struct hark_err *err)
{
	struct verify *v = ctx;

	if (player_new(v->r, 1, &v->player, err) < 0)
		return -1;
	sandbox_enter(SANDBOX_GIGABYTES);
	return 0;
}

static int run(void *ctx, unsigned piece, uint64_t *sum, struct hark_err *err)
{
	const struct verify *v = ctx;
	struct player_sum got;

	if (player_segment(v->player, piece, &got, err) < 0)
		return -1;
	*sum = got.instructions;
	return 0;
}

static int progress(void *ctx, unsigned done)
{
	const struct verify *v = ctx;

	v->wish->progress(v->wish->ctx, done, v->n);
	return 0;
}

static unsigned n_cpus(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n > 0 ? (unsigned)n : 1;
}

/* The last segment of a thread ends where the thread did, and may be the
 * longest; the others are about as long as recording meant them to be. So it
 * comes first: one that comes at the end keeps everyone waiting. */
static void put_in_order(const struct recording *r, unsigned first, unsigned n,
			 uint32_t *order)
{
	unsigned k = first;

	for (unsigned last = 2; last-- > 0;)
		for (unsigned i = first; i < first + n; i++)
			if ((recording_segment(r, i)->is_last != 0) == last)
				order[k++] = i;
}

/* Groups are processes: their code is known once. */
static void plan_segments(const struct recording *r, unsigned n,
			  uint32_t *group_of, uint32_t *order)
{
	unsigned first = 0;

	for (unsigned i = 0; i < n; i++) {
		group_of[i] = recording_segment(r, i)->process;
		if (group_of[i] != group_of[first]) {
			put_in_order(r, first, i - first, order);
			first = i;
		}
	}
	put_in_order(r, first, n - first, order);
}

int verify_recording(struct recording *r, const struct verify_wish *wish,
		     struct workers_result *out, struct hark_err *err)
{
	struct verify v = {.wish = wish, .r = r, .n = recording_n_segments(r)};
	uint32_t *group_of = calloc((size_t)v.n + 1, 2 * sizeof *group_of);
	struct workers_plan plan = {
	    .jobs = wish->jobs > 0 ? wish->jobs : n_cpus(),
	    .n = v.n,
	    .group_of = group_of,
	    .order = group_of + v.n,
	    .ctx = &v,
	    .begin = begin,
	    .run = run,
	    .progress = wish->progress != NULL ? progress : NULL,
	};
	int rc;

	if (group_of == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	plan_segments(r, v.n, group_of, group_of + v.n);
	rc = workers_run(&plan, out, err);
	free(group_of);
	return rc;
}
