/* tests/guests/proc_mlock_limit.c - mlockall, as far as the limit of locked
 * memory lets it: what it answers, and that memory is locked then, that which
 * comes later included. */
#include "guest.h"
#include <sys/mman.h>

enum { SIZE = 1 << 20 };

static long locked_kib(void)
{
	char line[200];
	long kib = -1;
	FILE *f = fopen("/proc/self/status", "r");

	MUST(f != NULL);
	while (kib < 0 && fgets(line, sizeof line, f) != NULL)
		if (sscanf(line, "VmLck: %ld", &kib) != 1)
			kib = -1;
	fclose(f);
	return kib;
}

static int is_there(const char *at)
{
	unsigned char pages[SIZE / 4096];

	MUST(mincore((void *)at, SIZE, pages) == 0);
	for (unsigned i = 0; i < sizeof pages; i++)
		if (!(pages[i] & 1))
			return 0;
	return 1;
}

static char *map_more(void)
{
	char *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(at != MAP_FAILED);
	return at;
}

static void try_flags(const char *name, int flags)
{
	char *before = map_more(), *later;
	int answer, why;

	errno = 0;
	answer = mlockall(flags);
	why = errno;
	later = map_more();
	printf("%s: %d, %s, locked %d, before %d, later %d\n", name, answer,
	       why == 0 ? "good" : strerror(why), locked_kib() > 0,
	       is_there(before), is_there(later));
	MUST(munlockall() == 0);
	SAME(locked_kib(), 0);
	munmap(before, SIZE);
	munmap(later, SIZE);
}

int main(void)
{
	try_flags("current", MCL_CURRENT);
	try_flags("current, on fault", MCL_CURRENT | MCL_ONFAULT);
	try_flags("future", MCL_FUTURE);
	try_flags("future, on fault", MCL_FUTURE | MCL_ONFAULT);
	try_flags("both", MCL_CURRENT | MCL_FUTURE);
	try_flags("none", 0);
	try_flags("unknown", 8);
	return guest_end();
}
