/* ask/space.h - which code and data is where, at one moment?
 *
 * The modules that are mapped then, with what hark knows of their files: the
 * bytes are the recording's own, so that it does not matter what is installed
 * here. Separate debug information comes from the recording too, if it was
 * bundled, else it is looked for by build-id as everywhere (image/image.h). */
#ifndef ASK_SPACE_H
#define ASK_SPACE_H

#include "ask/near.h"
#include "ask/source.h"
#include "image/image.h"

struct space;

struct space_module {
	struct image_file *file;
	const char *path;
	uint64_t bias;
	uint64_t low, high; /* run-time addresses of all that is loaded */
	int module;	    /* of the recording */
	bool is_program;    /* not a library */
};

/* src is borrowed. */
int space_new(const struct ask_source *src, struct space **out,
	      struct hark_err *err);
void space_free(struct space *s);
const struct ask_source *space_source(const struct space *s);

/* Looks at the mappings again: the moment is another one. Pointers to modules
 * are no longer valid then; files are. */
int space_refresh(struct space *s, struct hark_err *err);
size_t space_count(const struct space *s);
const struct space_module *space_get(const struct space *s, size_t i);
/* The one with this address in it, or NULL. */
const struct space_module *space_at(const struct space *s, uint64_t addr);

struct space_symbol {
	const struct space_module *module;
	uint64_t addr, size; /* 0: not known */
	bool is_code;
};
/* By name, in the program before its libraries. If there is none, err names
 * some that are alike. */
int space_symbol(struct space *s, const char *name, struct space_symbol *out,
		 struct hark_err *err);
bool space_has_symbol(const struct space *s, const char *name,
		      struct space_symbol *out);
/* Offers the names of all functions, globals and enumerators. */
void space_offer(const struct space *s, struct near *near);
/* "name+0x8" of what is at addr, or "". */
void space_name(const struct space *s, uint64_t addr, char *out, size_t size);
/* "function at file:line", as far as it is known; of a return address the
 * call. */
void space_code(const struct space *s, uint64_t pc, bool is_return, char *out,
		size_t size);

#endif
