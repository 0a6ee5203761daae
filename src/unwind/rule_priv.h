/* unwind/rule_priv.h - the tables behind the cache. */
#ifndef UNWIND_RULE_PRIV_H
#define UNWIND_RULE_PRIV_H

#include "unwind/unwind_priv.h"

/* The code that pc is in, or NULL. */
const struct collect_frames *unwind_code(struct unwind_work *w, uint64_t pc);
/* The rule of pc, and whose it is; NULL if there is none. */
const struct frame_rule *unwind_look_up(struct unwind_work *w, uint64_t pc,
					const struct frame_table **table);

#endif
