/* image/loader.c - by the names that the interface of debuggers has. */
#include "image/loader.h"

#include "image/symbols.h"

#include <string.h>

enum { STATE_AT = 24 }; /* in struct r_debug */

/* ld-linux-x86-64.so.2, ld-musl-x86_64.so.1, ld.so. */
static bool is_called_loader(const struct module *m)
{
	const char *slash = strrchr(m->path, '/');

	return strncmp(slash != NULL ? slash + 1 : m->path, "ld", 2) == 0;
}

static bool find_in(const struct module *m, struct loader *out)
{
	struct symbol s;

	if (m->kind != MODULE_SO || m->file == NULL ||
	    symbols_named(m->file, LOADER_FUNCTION, &s, NULL) < 0)
		return false;
	*out = (struct loader){.module = m, .function = s.addr + m->bias};
	if (symbols_named(m->file, "_r_debug", &s, NULL) == 0)
		out->state = s.addr + m->bias + STATE_AT;
	return true;
}

/* To ask a large library for a name, all of its symbols are read and sorted: so
 * it is asked last. */
bool loader_find(const struct modules *all, struct loader *out)
{
	for (int called = 1; called >= 0; called--)
		for (size_t i = 0; i < modules_count(all); i++) {
			const struct module *m = modules_get(all, i);

			if (is_called_loader(m) == called && find_in(m, out))
				return true;
		}
	return false;
}
