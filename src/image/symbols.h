/* image/symbols.h - what is at this address, and where is that name?
 *
 * All answers are link-time addresses of one file. Names come from .symtab
 * (of the file, or of its separate debug file), the mini debug info in
 * .gnu_debugdata, and .dynsym; entries of the procedure linkage table are
 * called name@plt; code that only its call-frame rules speak of is called
 * sub_ADDRESS. Where several names mean one address, the one shown is the
 * best by: a function before a label, global before weak before local, the
 * shortest, the first in the alphabet. The others still are found by name.
 *
 * A default version (name@@V) is not part of a name; an old one (name@V) is,
 * since two functions may share the rest. */
#ifndef IMAGE_SYMBOLS_H
#define IMAGE_SYMBOLS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image_file;

enum symbol_kind {
	SYMBOL_FUNCTION,
	SYMBOL_IFUNC, /* its code chooses the function, it is not it */
	SYMBOL_PLT,   /* jumps to a function of another module */
	SYMBOL_LABEL, /* code without a type, as assemblers write */
	SYMBOL_SUB,   /* no name: sub_ADDRESS */
	SYMBOL_OBJECT,
};

enum symbol_binding { SYMBOL_GLOBAL, SYMBOL_WEAK, SYMBOL_LOCAL };

struct symbol {
	const char *name; /* borrowed from the file, as it was linked */
	uint64_t addr, size;
	enum symbol_kind kind;
	enum symbol_binding binding;
	bool sized; /* the file says its size; else it ends at the next */
};

/* The function (or label, or PLT entry) that has addr in it. HARK_ENOENT if
 * there is none. */
int symbols_function(struct image_file *f, uint64_t addr, struct symbol *out,
		     struct hark_err *err);
/* The same for data. */
int symbols_object(struct image_file *f, uint64_t addr, struct symbol *out,
		   struct hark_err *err);

/* By name as linked, or as the programmer wrote it, with or without its
 * parameters. Of several the best, as above; functions before objects. */
int symbols_named(struct image_file *f, const char *name, struct symbol *out,
		  struct hark_err *err);

/* Calls visit for each function with a name that matches a pattern of * ? []
 * (as above: linked, full, or short), in the order of addresses, once an
 * address. A pattern of NULL matches all. A result of visit other than 0
 * ends the tour and is returned; else 0; -1 is an error of the file. */
int symbols_each(struct image_file *f, const char *pattern,
		 int (*visit)(void *ctx, const struct symbol *s), void *ctx,
		 struct hark_err *err);

/* The same of all functions that the file itself speaks of. Separate debug
 * files are not looked for, so the answer depends on the bytes of the file
 * alone. */
int symbols_each_own(struct image_file *f,
		     int (*visit)(void *ctx, const struct symbol *s), void *ctx,
		     struct hark_err *err);

/* Does symbols_each() with that pattern visit a function that begins at addr?
 */
bool symbols_match(struct image_file *f, uint64_t addr, const char *pattern);

/* As the programmer wrote it, with parameters; the name itself if it is not
 * mangled. s must come from f. Never NULL. */
const char *symbols_pretty(struct image_file *f, const struct symbol *s);

/* Where the names came from, for a summary of what was missing. */
enum {
	SYMBOLS_SYMTAB = 1,
	SYMBOLS_DEBUG = 2, /* .symtab of a separate file */
	SYMBOLS_MINI = 4,
	SYMBOLS_DYNSYM = 8,
};
/* A sum of the above; -1 on error. */
int symbols_sources(struct image_file *f, struct hark_err *err);

#endif
