/* native/lock.c - mlockall, as the program means it.
 *
 * hark's memory is one block, most of it the board's, of which little is used,
 * and trampolines, which may be locked but are not counted. */
#include "inside/lockall.h"
#include "inside/sys.h"
#include "native/home.h"

static int meets_block(const void *ctx, uint64_t start, uint64_t end,
		       uint64_t out[2])
{
	const struct collect_plan *plan = ctx;
	uint64_t from = plan->self, to = plan->board + plan->board_len;

	if (start >= to || end <= from)
		return 0;
	out[0] = from > start ? from : start;
	out[1] = to;
	return 1;
}

static uint64_t trampoline_bytes(const struct collect_plan *plan)
{
	const struct collect_removal *r =
	    collect_at(plan, __atomic_load_n(&plan->removal, __ATOMIC_ACQUIRE));
	const struct collect_range *range = collect_at(plan, r->ranges.offset);
	uint64_t n = native_home()->ranges, sum = 0;

	for (uint64_t i = 0; i < n && i < r->ranges.n; i++)
		sum += range[i].len;
	return sum;
}

uint64_t native_lockall(uint64_t flags, int64_t *answer)
{
	const struct collect_plan *plan = native_plan();
	const struct lockall l = {
	    .meets = meets_block,
	    .ctx = plan,
	    .own_bytes = plan->board + plan->board_len - plan->self +
			 trampoline_bytes(plan),
	    .is_silent = native_is_filtered(),
	};

	if (!lockall_is_current(flags))
		return 0;
	*answer = lockall(&l, flags & 0xffffffff);
	return 1;
}
