/* tests/end-to-end/core_reserved.c - address space that is reserved (PROT_NONE)
 * at the same low 32 bits as memory in use, and a reservation of 6 GiB of which
 * parts are made accessible; then it dies. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAPPINGS = 64, PAGE = 4096 };
static const uint64_t reserved = 6ull << 30;

long global = 4711;
char *committed, *read_only;

static int reserve_twin(uint64_t start, uint64_t len)
{
	for (uint64_t k = 1; k < 100; k++)
		if (mmap((void *)(start - (k << 32)), len, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
			     MAP_FIXED_NOREPLACE,
			 -1, 0) != MAP_FAILED)
			return 1;
	return 0;
}

/* Of each mapping that can be written and has a name: of files, the heap, the
 * stack. How many that were. */
static int reserve_twins(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t start[MAPPINGS], end[MAPPINGS];
	char line[512], name[400], w;
	int n = 0, done = 0;

	while (n < MAPPINGS && fgets(line, sizeof line, maps) != NULL)
		if (sscanf(line, "%lx-%lx %*c%c%*s %*s %*s %*s %399s",
			   &start[n], &end[n], &w, name) == 4 &&
		    w == 'w')
			n++;
	fclose(maps);
	for (int i = 0; i < n; i++)
		done += reserve_twin(start[i], end[i] - start[i]);
	return done;
}

int main(void)
{
	char *space;

	global++;
	space = mmap(NULL, reserved, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	committed = space + reserved / 2;
	read_only = committed + 16 * PAGE;
	mprotect(committed, 17 * PAGE, PROT_READ | PROT_WRITE);
	strcpy(committed, "committed");
	strcpy(read_only, "sealed");
	mprotect(read_only, PAGE, PROT_READ);
	printf("%d %lx\n", reserve_twins() > 3, (uint64_t)read_only);
	fflush(stdout);
	abort();
}
