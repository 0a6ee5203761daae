/* image/tls.c - where a thread has the thread-local variables of a module.
 *
 * The program's own block ends at the thread pointer. The loader chooses where
 * the blocks of libraries are, and writes that into the words of a library that
 * have these relocations, as the ABI defines them; so no debug information is
 * needed:
 *
 *	R_X86_64_TPOFF64	the word is the distance of a variable from the
 *				thread pointer
 *	R_X86_64_DTPMOD64	the word is the number of the module, by which
 *				the thread's vector of blocks (dtv, whose
 *				address is the second word at the thread
 *				pointer) has the block
 *	R_X86_64_TLSDESC	the second word is such a distance, which is
 *				negative, or the address of such a number */
#include "image/tls.h"

#include "image/image_priv.h"

#include <string.h>

/* -- Relocations -- */

/* A word that the loader has written, and the offset in its block of the
 * variable that it is about. */
struct word {
	unsigned type; /* 0: there is none */
	uint64_t at;
	uint64_t offset;
};

struct symbols {
	const uint8_t *at;
	uint64_t len;
};

/* Of a variable of this very module: its offset. */
static bool is_own(const struct symbols *s, uint64_t number, uint64_t *offset)
{
	Elf64_Sym sym;

	*offset = 0;
	if (number == 0)
		return true;
	if (s->at == NULL || number >= s->len / sizeof sym)
		return false;
	memcpy(&sym, s->at + number * sizeof sym, sizeof sym);
	*offset = sym.st_value;
	return sym.st_shndx != SHN_UNDEF && sym.st_shndx != SHN_ABS;
}

static bool is_about_blocks(unsigned type)
{
	return type == R_X86_64_TPOFF64 || type == R_X86_64_DTPMOD64 ||
	       type == R_X86_64_TLSDESC;
}

/* In a table of relocations. Those without a symbol are the module's own for
 * sure: a symbol may be another's of the same name. */
static void look_in(struct elf *e, const char *table,
		    const struct symbols *symbols, struct word *best)
{
	uint64_t len;
	const uint8_t *all = elf_whole(e, table, &len);
	Elf64_Rela r;

	for (uint64_t at = 0; all != NULL && len - at >= sizeof r;
	     at += sizeof r) {
		uint64_t offset;
		bool is_sure;

		memcpy(&r, all + at, sizeof r);
		is_sure = ELF64_R_SYM(r.r_info) == 0;
		if (!is_about_blocks((unsigned)ELF64_R_TYPE(r.r_info)) ||
		    (best->type != 0 && !is_sure) ||
		    !is_own(symbols, ELF64_R_SYM(r.r_info), &offset))
			continue;
		*best =
		    (struct word){(unsigned)ELF64_R_TYPE(r.r_info), r.r_offset,
				  offset + (uint64_t)r.r_addend};
		if (is_sure)
			return;
	}
}

static struct word find_word(struct elf *e)
{
	struct symbols symbols;
	struct word best = {0};

	symbols.at = elf_whole(e, ".dynsym", &symbols.len);
	look_in(e, ".rela.dyn", &symbols, &best);
	if (best.type == 0)
		look_in(e, ".rela.plt", &symbols, &best);
	return best;
}

/* -- Blocks -- */

bool tls_is_musl(struct image_file *program)
{
	const Elf64_Phdr *ph = elf_segment(program->elf, NULL, PT_INTERP);
	char path[256] = "";
	struct hark_err ignored;

	return ph != NULL && ph->p_filesz < sizeof path &&
	       elf_read(program->elf, ph->p_offset, path, ph->p_filesz,
			&ignored) == 0 &&
	       strstr(path, TLS_MUSL) != NULL;
}

static int read_word(const struct tls_place *p, uint64_t addr, uint64_t *out)
{
	return p->read(p->ctx, addr, out, sizeof *out);
}

/* glibc has two words for each block; all ones: the thread has none yet. */
static int by_number(const struct tls_place *p, uint64_t number, uint64_t *out)
{
	uint64_t entry = p->is_musl ? 8 : 16, dtv;

	if (number == 0 || read_word(p, p->thread_pointer + 8, &dtv) < 0 ||
	    read_word(p, dtv + number * entry, out) < 0)
		return -1;
	return *out == UINT64_MAX || *out == 0 ? -1 : 0;
}

static int of_library(struct image_file *f, const struct tls_place *p,
		      uint64_t *out)
{
	struct word w = find_word(f->elf);
	uint64_t value;

	if (w.type == R_X86_64_TLSDESC)
		w.at += sizeof value;
	if (w.type == 0 || read_word(p, p->bias + w.at, &value) < 0)
		return -1;
	if (w.type == R_X86_64_DTPMOD64)
		return by_number(p, value, out);
	if (w.type == R_X86_64_TLSDESC && (int64_t)value >= 0)
		return read_word(p, value, &value) < 0
			   ? -1
			   : by_number(p, value, out);
	*out = p->thread_pointer + value - w.offset;
	return 0;
}

int tls_block(struct image_file *f, const struct tls_place *p, uint64_t *out)
{
	uint64_t from, len, align;

	if (!image_file_tls(f, &from, &len, &align))
		return -1;
	if (!p->is_program)
		return of_library(f, p, out);
	if (align > 1)
		len = (len + align - 1) / align * align;
	*out = p->thread_pointer - len;
	return 0;
}
