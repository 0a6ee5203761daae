/* tests/end-to-end/probe_first.c - a library whose initialiser loads another
 * one, probe_plugin.c. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

static uint64_t calls;

uint64_t first_calls(void);

uint64_t first_calls(void)
{
	return calls;
}

__attribute__((constructor)) static void begin(void)
{
	void *lib = dlopen("./plugin.so", RTLD_NOW);
	uint64_t (*work)(uint64_t), (*slow)(uint64_t);

	if (lib == NULL)
		abort();
	*(void **)&work = dlsym(lib, "plugin_work");
	*(void **)&slow = dlsym(lib, "plugin_trapped");
	for (uint64_t k = 0; k < 7; k++, calls++)
		if (work(k) != 2 * k + 1 || slow(k) != 2 * k + 1)
			abort();
	dlclose(lib);
}
