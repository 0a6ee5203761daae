/* image/symbols_priv.h - the symbol tables of a file, for this folder. */
#ifndef IMAGE_SYMBOLS_PRIV_H
#define IMAGE_SYMBOLS_PRIV_H

#include "base/arena.h"
#include "base/vec.h"
#include "image/elf_priv.h"
#include "image/symbols.h"

/* Four words, since a big library has a quarter of a million. */
struct symbol_entry {
	const char *name; /* borrowed from string sections or the arena */
	uint64_t addr, size;
	uint32_t outer; /* index + 1 of the one around it */
	uint8_t kind, binding, sized, zero;
};

struct symbol_list {
	VEC(struct symbol_entry);
};

struct symbol_name {
	const struct symbol_entry *of; /* borrowed from one of the lists */
};

struct symbols {
	const struct heap *heap; /* borrowed: the file's */
	struct arena arena;	 /* made names */
	struct symbol_list code; /* one an address, ascending */
	struct symbol_list data; /* the same */
	struct symbol_list more; /* other names of those, by address */
	const char **pretty;	 /* owned: one for each of code, or NULL */
	struct {
		VEC(struct symbol_name);
	} names; /* all of them, by name; made when first needed */
	int sources;
};

void symbols_free(struct symbols *s);

/* symtab.c: appends what a section of e names. main says what is code. */
int symtab_read(struct symbols *s, struct elf *e, const char *section,
		const struct elf *main, struct symbol_list *code,
		struct symbol_list *data, struct hark_err *err);
/* plt.c: appends name@plt for each entry of the linkage tables; code is
 * sorted, and gives names to entries that only have an address. */
int plt_read(struct symbols *s, struct elf *e, struct symbol_list *code,
	     struct hark_err *err);

/* symtab.c: the string section that belongs to a symbol section, ready to be
 * read up to *len, the end of its last whole string; NULL with err. */
const char *symtab_strings(struct elf *e, const struct elf_section *syms,
			   size_t *len, struct hark_err *err);

#endif
