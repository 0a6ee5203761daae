/* tests/end-to-end/unwind_preload.c - the checks of unwind_sampled.c in any
 * program: LD_PRELOAD it. The first thread is sampled; what was seen goes to
 * the file $UNWIND_OUT when the program ends. */
#define UNWIND_PRELOADED
#include "unwind_sampled.c"

#include <limits.h>

static struct thread *first;
static void *(*real_dlopen)(const char *name, int flags);

/* Other code is mapped then. */
__attribute__((visibility("default"))) void *dlopen(const char *name, int flags)
{
	void *library;

	if (real_dlopen == NULL)
		*(void **)&real_dlopen = dlsym(RTLD_NEXT, "dlopen");
	library = real_dlopen(name, flags);
	if (mine == NULL || done)
		return library;
	mine->is_off = 1;
	unwind_self_close(&space);
	unwind_self_open(&space);
	unwind_maps_forget(mine->maps);
	memset(mine->n_last, 0, sizeof mine->n_last);
	mine->is_off = 0;
	return library;
}

__attribute__((constructor)) static void enter(void)
{
	if (getenv("UNWIND_OUT") == NULL)
		return;
	wanted = LONG_MAX;
	first = calloc(1, sizeof *first);
	first->maps = unwind_self_maps(DEEP);
	begin();
	start(first);
}

__attribute__((destructor)) static void leave(void)
{
	FILE *out = first != NULL ? fopen(getenv("UNWIND_OUT"), "w") : NULL;

	done = 1;
	if (out != NULL) {
		report(first, out);
		fclose(out);
	}
}
