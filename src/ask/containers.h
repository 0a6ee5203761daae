/* ask/containers.h - containers and strings of C++, as a programmer reads them.
 *
 *	std::vector of length 3 = {1, 2, 3}	"text"
 *	std::map with 2 elements = {[1] = "one", [2] = "two"}
 *	std::optional = nullopt   std::unique_ptr = 0x55d0c0de -> {id = 3}
 *
 * A type is recognised by its name and by the names of its fields in the debug
 * information; where these are not what the library of GNU has, nothing is
 * shown here, and the caller shows the struct. What the fields say is not
 * believed: a container whose parts contradict each other is shown as the
 * struct, with "(damaged)" before it, and lists end where they were to end, or
 * come back to where they were, or lead to what is not known. */
#ifndef ASK_CONTAINERS_H
#define ASK_CONTAINERS_H

#include "ask/show_priv.h"

/* False: t is none; nothing was put. facts: of t. */
bool containers_put(struct shower *w, struct type t,
		    const struct type_facts *facts, const struct show_part *p);

#endif
