/* image/relocated.c - segments with the relocations of .rela.dyn applied.
 *
 * Packed relative relocations (DT_RELR) need nothing: what they relocate has
 * its link-time address in the file. */
#include "image/relocated.h"

#include "image/image_priv.h"

#include <stdlib.h>
#include <string.h>

struct segment {
	uint64_t addr, len;
	uint8_t *bytes; /* owned */
};

/* The value of a relocation by a symbol of the file; false: it is another's. */
static bool symbol_value(const uint8_t *symbols, uint64_t len, uint64_t number,
			 uint64_t *out)
{
	Elf64_Sym sym;

	if (symbols == NULL || number >= len / sizeof sym)
		return false;
	memcpy(&sym, symbols + number * sizeof sym, sizeof sym);
	if (sym.st_shndx == SHN_UNDEF || sym.st_shndx == SHN_ABS)
		return false;
	*out = sym.st_value;
	return true;
}

static void apply_relocations(struct elf *e, struct segment *s)
{
	uint64_t len, n_symbols;
	const uint8_t *all = elf_whole(e, ".rela.dyn", &len);
	const uint8_t *symbols = elf_whole(e, ".dynsym", &n_symbols);
	Elf64_Rela r;

	for (uint64_t at = 0; all != NULL && len - at >= sizeof r;
	     at += sizeof r) {
		uint64_t base = 0;

		memcpy(&r, all + at, sizeof r);
		if (s->len < sizeof base || r.r_offset < s->addr ||
		    r.r_offset - s->addr > s->len - sizeof base)
			continue;
		if (ELF64_R_TYPE(r.r_info) == R_X86_64_64
			? !symbol_value(symbols, n_symbols,
					ELF64_R_SYM(r.r_info), &base)
			: ELF64_R_TYPE(r.r_info) != R_X86_64_RELATIVE)
			continue;
		base += (uint64_t)r.r_addend;
		memcpy(s->bytes + (r.r_offset - s->addr), &base, sizeof base);
	}
}

int relocated_each(struct image_file *f,
		   int (*visit)(void *ctx, uint64_t addr, const uint8_t *bytes,
				uint64_t len),
		   void *ctx, struct hark_err *err)
{
	enum { LARGEST = 1 << 30 };
	const Elf64_Phdr *ph = NULL;
	int rc = 0;

	while (rc == 0 && (ph = elf_segment(f->elf, ph, PT_LOAD)) != NULL) {
		struct segment s = {.addr = ph->p_vaddr, .len = ph->p_filesz};

		if (s.len == 0 || s.len > LARGEST)
			continue;
		s.bytes = malloc(s.len);
		if (s.bytes == NULL)
			return err_set(err, HARK_ENOMEM, 0, "out of memory");
		rc = elf_read(f->elf, ph->p_offset, s.bytes, s.len, err);
		if (rc == 0) {
			apply_relocations(f->elf, &s);
			rc = visit(ctx, s.addr, s.bytes, s.len);
		}
		free(s.bytes);
	}
	return rc;
}
