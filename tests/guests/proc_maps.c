/* tests/guests/proc_maps.c - /proc/self/maps: the program finds its own text,
 * its heap, its stack and a mapping it makes, with the right permissions and
 * names. */
#include "guest.h"
#include <limits.h>

static int find(const void *at, char perms[5], char *name)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[PATH_MAX + 100];
	int found = 0;

	MUST(f != NULL);
	while (!found && fgets(line, sizeof line, f)) {
		uint64_t lo, hi;

		name[0] = 0;
		if (sscanf(line, "%lx-%lx %4s %*s %*s %*s %[^\n]", &lo, &hi,
			   perms, name) >= 3)
			found = (uint64_t)at >= lo && (uint64_t)at < hi;
	}
	fclose(f);
	return found;
}

int main(void)
{
	char perms[5], name[PATH_MAX], exe[PATH_MAX] = "", local;
	void *brk_at = sbrk(4096);
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
	MUST(find((void *)main, perms, name));
	CHECK(strcmp(perms, "r-xp") == 0);
	CHECK(strcmp(name, exe) == 0);
	MUST(find(&local, perms, name));
	CHECK(strcmp(name, "[stack]") == 0);
	CHECK(strncmp(perms, "rw-p", 4) == 0);
	MUST(brk_at != (void *)-1 && find(brk_at, perms, name));
	CHECK(strcmp(name, "[heap]") == 0);
	MUST(mprotect(p + 4096, 4096, PROT_NONE) == 0);
	MUST(find(p, perms, name));
	CHECK(strcmp(perms, "rw-p") == 0);
	MUST(find(p + 4096, perms, name));
	CHECK(strcmp(perms, "---p") == 0);
	munmap(p, 8192);
	CHECK(!find(p, perms, name));
	MUST(find((void *)puts, perms, name));
	CHECK(strstr(name, "libc") != NULL);
	return guest_end();
}
