/* tests/guests/code_maps.c - what /proc/self/maps says of a page that is
 * written and run by turns stays what the program asked for, in one line, and
 * its neighbours are not split. */
#include "guest.h"

static int find(const void *at, char *perms, uint64_t *lo, uint64_t *hi)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[4200];
	int found = 0;

	MUST(f != NULL);
	while (!found && fgets(line, sizeof line, f))
		found = sscanf(line, "%lx-%lx %4s", lo, hi, perms) == 3 &&
			(uint64_t)at >= *lo && (uint64_t)at < *hi;
	fclose(f);
	return found;
}

int main(void)
{
	uint8_t *room = mmap(NULL, 16 * 4096, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		*p = room + 4096;
	uint64_t lo, hi;
	char perms[8];

	MUST(room != MAP_FAILED);
	MUST(mprotect(p, 8 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
	for (uint32_t i = 0; i < 10; i++) {
		uint8_t *at = p + i % 8 * 4096;

		memcpy(at, "\xb8\0\0\0\0\xc3", 6);
		memcpy(at + 1, &i, 4);
		SAME(((uint32_t(*)(void))at)(), i);
		MUST(find(at, perms, &lo, &hi));
		CHECK(strcmp(perms, "rwxp") == 0);
		SAME(lo, p);
		SAME(hi, p + 8 * 4096);
	}
	MUST(find(room, perms, &lo, &hi));
	CHECK(strcmp(perms, "---p") == 0);
	return guest_end();
}
