/* tests/guests/proc_gaps.c - what /proc/self/maps shows as free is free: every
 * gap can be mapped at its beginning, middle and end. */
#include "guest.h"

int main(void)
{
	static char text[1 << 20];
	FILE *f = fopen("/proc/self/maps", "r");
	uint64_t end = 0x10000, lo, hi;
	size_t n, gaps = 0, failed = 0;

	MUST(f != NULL);
	n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = 0;
	for (char *line = text; line && *line; line = strchr(line, '\n')) {
		if (*line == '\n')
			line++;
		if (sscanf(line, "%lx-%lx", &lo, &hi) != 2 || lo >> 47)
			break;
		uint64_t at[3] = {end, (end + (lo - end) / 2) & ~4095ull,
				  lo - 4096};
		/* beside a stack the kernel keeps a distance */
		char *name = strchr(line, '[');
		char *eol = strchr(line, '\n');
		int stack = name && eol && name < eol &&
			    strncmp(name, "[stack]", 7) == 0;

		for (int k = 0; k < (stack ? 2 : 3) && lo - end >= 3 * 4096;
		     k++) {
			void *p = mmap((void *)at[k], 4096, PROT_READ,
				       MAP_PRIVATE | MAP_ANONYMOUS |
					   MAP_FIXED_NOREPLACE,
				       -1, 0);

			if (p == MAP_FAILED)
				failed++;
			else
				munmap(p, 4096);
			gaps++;
		}
		end = hi;
	}
	CHECK(gaps > 10);
	SAME(failed, 0);
	return guest_end();
}
