/* image/loader.h - where a process's loader tells debuggers of libraries.
 *
 * It calls an empty function before and after it changes its list of what is
 * loaded, and says in a word beside that list whether it is whole. */
#ifndef IMAGE_LOADER_H
#define IMAGE_LOADER_H

#include "image/modules.h"

#define LOADER_FUNCTION "_dl_debug_state"

struct loader {
	const struct module *module; /* borrowed */
	uint64_t function;	     /* at run time */
	/* Of a uint32_t, which is 0 if the list is whole; 0: not known. */
	uint64_t state;
};

/* False: there is no loader (in a static program), or none that tells. */
bool loader_find(const struct modules *all, struct loader *out);

#endif
