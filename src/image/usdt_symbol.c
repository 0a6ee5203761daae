/* image/usdt_symbol.c - what a name in an argument means.
 *
 * The compiler wrote the name for the assembler, so it is that of a variable
 * (or a function) of the file, local or not. symbols.h is about what people ask
 * for; here every symbol of the name counts, since two files of a program may
 * each have a variable of that name: then nobody can tell which is meant. */
#include "image/usdt.h"

#include "image/image_priv.h"
#include "image/symbols_priv.h"

#include <string.h>

struct search {
	const char *name;
	size_t len;
	bool is_tls;
	unsigned n; /* different addresses; 2 is enough */
	uint64_t addr;
};

static bool is_meant(const struct search *s, const Elf64_Sym *sym)
{
	unsigned type = ELF64_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS ||
	    sym->st_shndx == SHN_COMMON)
		return false;
	if (s->is_tls)
		return type == STT_TLS;
	return type == STT_OBJECT || type == STT_NOTYPE || type == STT_FUNC;
}

/* A version may be behind it. */
static bool is_named(const struct search *s, const char *names, size_t len,
		     uint32_t offset)
{
	const char *name = names + offset;

	return offset < len && s->len < len - offset &&
	       memcmp(name, s->name, s->len) == 0 &&
	       (name[s->len] == '\0' || name[s->len] == '@');
}

/* False: there is no such section, or it is damaged. */
static bool look_in(struct search *s, struct elf *e, const char *section)
{
	struct elf_section *sec = e != NULL ? elf_section(e, section) : NULL;
	struct bytes *b = sec != NULL && sec->h.sh_type != SHT_NOBITS
			      ? elf_contents(e, sec, NULL)
			      : NULL;
	const uint8_t *at = b != NULL ? bytes_need(b, 0, b->len, NULL) : NULL;
	const char *names;
	size_t len;

	names = at != NULL ? symtab_strings(e, sec, &len, NULL) : NULL;
	if (names == NULL)
		return false;
	for (size_t i = 1; i < b->len / sizeof(Elf64_Sym); i++) {
		Elf64_Sym sym;

		memcpy(&sym, at + i * sizeof sym, sizeof sym);
		if (!is_meant(s, &sym) ||
		    !is_named(s, names, len, sym.st_name) ||
		    (s->n > 0 && s->addr == sym.st_value))
			continue;
		s->addr = sym.st_value;
		s->n++;
	}
	return true;
}

static enum usdt_why find(struct image_file *f, struct search *s)
{
	bool has_all = look_in(s, f->elf, ".symtab") ||
		       look_in(s, image_file_separate(f), ".symtab");

	look_in(s, f->elf, ".dynsym");
	if (s->n == 1)
		return USDT_KNOWN;
	if (s->n > 1)
		return USDT_SEVERAL;
	return has_all ? USDT_ABSENT : USDT_STRIPPED;
}

/* A program's thread-local block ends where fs points to. */
static enum usdt_why find_tls(struct image_file *f, bool is_program,
			      struct search *s)
{
	uint64_t addr, len, align;
	enum usdt_why why;

	if (!is_program || !image_file_tls(f, &addr, &len, &align))
		return USDT_APART;
	why = find(f, s);
	align = align > 0 ? align : 1;
	s->addr -= (len + align - 1) / align * align;
	return why;
}

void usdt_resolve(struct image_file *f, bool is_program, struct usdt_arg *a)
{
	struct search s = {
	    .name = a->symbol, .len = a->symbol_len, .is_tls = a->is_tpoff};

	if (a->kind == USDT_UNKNOWN || a->symbol == NULL)
		return;
	a->why = a->is_tpoff ? find_tls(f, is_program, &s) : find(f, &s);
	if (a->why != USDT_KNOWN) {
		a->kind = USDT_UNKNOWN;
		return;
	}
	a->value = (int64_t)((uint64_t)a->value + s.addr);
	a->is_linked = !a->is_tpoff;
	a->symbol = NULL;
	if (a->base == USDT_RIP)
		a->base = USDT_NOREG;
}
