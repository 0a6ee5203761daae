/* record/touched.c - mincore, and the page table where there is swap.
 *
 * T1  A child of fork has a page table of its own: .pid says whose file is
 *     open. In a sandbox there is no fork.
 * T2  Whatever cannot be found out counts as touched. */
#include "record/touched.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

enum { SWAPPED = 62, SOME = 4096 };

static struct {
	pid_t pid;
	int swaps; /* there is swap */
	int table; /* /proc/self/pagemap, or -1 */
} own;

void touched_begin(void)
{
	struct sysinfo s;

	if (own.pid != 0 && own.swaps && own.table >= 0)
		close(own.table);
	own.pid = getpid();
	own.swaps = sysinfo(&s) < 0 || s.totalswap != 0;
	own.table =
	    own.swaps ? open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC) : -1;
}

void touched_add(const uint64_t *entries, size_t n, uint8_t *out)
{
	for (size_t i = 0; i < n; i++)
		out[i] |= (uint8_t)(entries[i] >> SWAPPED & 1);
}

/* -1: it cannot be found out. */
static int add_swapped(const void *at, size_t n, uint8_t *out)
{
	uint64_t entries[SOME];
	uint64_t first = (uint64_t)(uintptr_t)at / TOUCHED_PAGE;

	for (size_t done = 0; done < n;) {
		size_t some = n - done < SOME ? n - done : SOME;
		ssize_t got = pread(own.table, entries, some * sizeof *entries,
				    (off_t)((first + done) * sizeof *entries));

		if (got < (ssize_t)sizeof *entries)
			return -1;
		some = (size_t)got / sizeof *entries;
		touched_add(entries, some, out + done);
		done += some;
	}
	return 0;
}

void touched_pages(const void *at, size_t n, uint8_t *out)
{
	if (own.pid != getpid())
		touched_begin();
	if (mincore((void *)(uintptr_t)at, n * TOUCHED_PAGE, out) < 0 ||
	    (own.swaps && add_swapped(at, n, out) < 0))
		memset(out, 1, n); /* T2 */
}
