/* image/types_priv.h - types, as the rest of this folder sees them. */
#ifndef IMAGE_TYPES_PRIV_H
#define IMAGE_TYPES_PRIV_H

#include "image/dw_priv.h"
#include "image/types.h"

struct type type_of_entry(const struct dw_entry *e);
/* The type that an entry, or what it refers to, says it has. */
struct type type_under(const struct dw_entry *e);
bool type_entry(struct type t, struct dw_entry *out);
/* Of types that are of no file: false if t is none of the basic ones; the name
 * of any, "void" if it is none. */
bool type_look_basic(struct type t, struct type_facts *out);
const char *type_basic_name(struct type t);

#endif
