/* image/linkage_priv.h - how is a procedure linkage table laid out?
 *
 * An entry jumps through a slot of the offset table. Entries of tables that
 * are filled lazily can also push a number and jump to the first, which pushes
 * a word more and jumps to the loader. */
#ifndef IMAGE_LINKAGE_PRIV_H
#define IMAGE_LINKAGE_PRIV_H

#include "image/elf_priv.h"

enum { LINKAGE_TABLES = 4, LINKAGE_PIECES = 3 };

/* The names of sections that may have such a table. */
extern const char *const linkage_tables[LINKAGE_TABLES];

/* Bytes of an entry. */
size_t linkage_step(const struct elf_section *s, const uint8_t *at, size_t len);

/* Does a lazy table begin here? */
bool linkage_is_lazy(const uint8_t *at, size_t len);

/* Code in which the return address is at a known place. */
struct linkage_piece {
	uint64_t start, end;
	uint32_t words;	 /* that were pushed after it */
	uint32_t pushed; /* if (pc & 15) >= pushed it is one more */
};

/* Those of one table, ascending: how many. What is not understood, and all
 * that follows it, is left out. */
unsigned linkage_pieces(struct elf *e, const char *table,
			struct linkage_piece out[LINKAGE_PIECES]);

#endif
