/* image/loader.c - by the names that the interface of debuggers has. */
#include "image/loader.h"

#include "image/symbols.h"

enum { STATE_AT = 24 }; /* in struct r_debug */

bool loader_find(const struct modules *all, struct loader *out)
{
	for (size_t i = 0; i < modules_count(all); i++) {
		const struct module *m = modules_get(all, i);
		struct symbol s;

		if (m->kind != MODULE_SO || m->file == NULL ||
		    symbols_named(m->file, LOADER_FUNCTION, &s, NULL) < 0)
			continue;
		*out =
		    (struct loader){.module = m, .function = s.addr + m->bias};
		if (symbols_named(m->file, "_r_debug", &s, NULL) == 0)
			out->state = s.addr + m->bias + STATE_AT;
		return true;
	}
	return false;
}
