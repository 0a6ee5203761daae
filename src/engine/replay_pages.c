/* engine/replay_pages.c - shadow and map are all zero again.
 *
 * They are gigabytes, of which a segment touches a few thousand pages. Given
 * back to the kernel, each comes again by a page fault. Whoever replays one
 * segment after the other keeps them: what is in memory is zeroed by hand, and
 * all that lies between is given back.
 *
 * P1  A page that mincore does not tell of (it may have been swapped out) is
 *     given back: all is zero, whatever mincore says. */
#include "engine/replay_priv.h"

#include "engine/shadow.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, KEPT_MOST = (128 << 20) / PAGE };

static void give_back(uint8_t *at, size_t page, size_t n)
{
	if (n > 0)
		shadow_give_back((uint64_t)at, page * PAGE, n * PAGE);
}

/* Which is the next that is in memory? n: none. */
static size_t next_present(const uint8_t *present, size_t i, size_t n)
{
	for (; i < n; i++) {
		uint64_t eight = 0;

		if (i % sizeof eight == 0 && n - i >= sizeof eight) {
			memcpy(&eight, present + i, sizeof eight);
			if ((eight & 0x0101010101010101) == 0) {
				i += sizeof eight - 1;
				continue;
			}
		}
		if (present[i] & 1)
			break;
	}
	return i;
}

void replay_zero(struct replay *r, uint8_t *at)
{
	const size_t n = WIRE_SHADOW_SIZE / PAGE;
	size_t done = SHADOW_AGAIN / PAGE; /* all before has been seen to */
	size_t kept = done;

	if (r->present == NULL || mincore(at, n * PAGE, r->present) < 0) {
		give_back(at, 0, n);
		return;
	}
	give_back(at, 0, done);
	while (kept++ < KEPT_MOST) {
		size_t i = next_present(r->present, done, n);

		give_back(at, done, i - done);
		done = i;
		if (i == n)
			break;
		memset(at + i * PAGE, 0, PAGE);
		done++;
	}
	give_back(at, done, n - done);
}

int replay_keep_pages(struct replay *r)
{
	if (r->present == NULL)
		r->present = malloc(WIRE_SHADOW_SIZE / PAGE);
	return r->present != NULL ? 0 : -1;
}
