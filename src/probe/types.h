/* probe/types.h - types and arguments of the program for scripts, from its
 * debug information. Hosted. */
#ifndef PROBE_TYPES_H
#define PROBE_TYPES_H

#include "image/modules.h"
#include "script/script.h"

struct types;

/* Of all modules; borrowed. */
int types_new(struct modules *modules, struct types **out,
	      struct hark_err *err);
void types_free(struct types *t);
/* For script_settings.types; stays as long as t. */
const struct script_types *types_for_script(struct types *t);

#endif
