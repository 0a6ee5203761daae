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

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, KEPT_MOST = (128 << 20) / PAGE };

static void give_back(uint8_t *at, size_t len)
{
	if (len > 0)
		madvise(at, len, MADV_DONTNEED);
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

void replay_zero(struct replay *r, uint8_t *at, size_t len)
{
	const size_t n = len / PAGE;
	size_t done = 0, kept = 0; /* what lies before has been seen to */

	if (r->present == NULL || len > MAP_LEN ||
	    mincore(at, len, r->present) < 0) {
		give_back(at, len);
		return;
	}
	while (kept++ < KEPT_MOST) {
		size_t i = next_present(r->present, done, n);

		give_back(at + done * PAGE, (i - done) * PAGE);
		done = i;
		if (i == n)
			break;
		memset(at + i * PAGE, 0, PAGE);
		done++;
	}
	give_back(at + done * PAGE, len - done * PAGE);
}

int replay_keep_pages(struct replay *r)
{
	if (r->present == NULL)
		r->present = malloc(MAP_LEN / PAGE);
	return r->present != NULL ? 0 : -1;
}
