/* tests/end-to-end/probe_modules.c - a library that comes and goes.
 *
 *	probe_modules LIBRARY TIMES
 *
 * Loads it, calls plugin_work of it 50 times with the ordinals that follow, and
 * unloads it; so often. While it is away, something else may be where it was.
 */
#include "guest.h"
#include <dlfcn.h>

int main(int argc, char **argv)
{
	uint64_t n = 0;

	MUST(argc == 3);
	for (int i = atoi(argv[2]); i > 0; i--) {
		void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), *other;
		uint64_t (*work)(uint64_t), (*slow)(uint64_t);

		if (lib == NULL) {
			printf("%s\n", dlerror());
			return 1;
		}
		*(void **)&work = dlsym(lib, "plugin_work");
		*(void **)&slow = dlsym(lib, "plugin_trapped");
		MUST(work != NULL && slow != NULL);
		for (int k = 0; k < 50; k++, n++) {
			SAME(work(n), 2 * n + 1);
			SAME(slow(n), 2 * n + 1);
		}
		dlclose(lib);
		other = mmap((void *)((uintptr_t)work & -4096), 4096,
			     PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		MUST(other != MAP_FAILED);
		for (int k = 0; k < 4096; k++)
			CHECK(((char *)other)[k] == 0);
		if (i % 2)
			munmap(other, 4096);
	}
	printf("hit plugin_work %lu\nhit plugin_trapped %lu\n", n, n);
	return guest_end();
}
