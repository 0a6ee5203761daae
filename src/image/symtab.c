/* image/symtab.c - the entries of .symtab and .dynsym.
 *
 * S1  A name is used only if it lies in its string section with its NUL.
 * S2  Code lies in an executable segment of the main file; a symbol that
 *     says otherwise is left out.
 * S3  Strings may overlap, so their sum may be much more than the file has:
 *     it is bounded, since sorting costs as much as the names are long. */
#include "image/symbols_priv.h"

#include "image/cursor_priv.h"

#include <string.h>

enum {
	SYMBOLS_MAX = 1 << 26,
	VERSIONS_MAX = 4096,
	NAME_LEN_MAX = 64 * 1024, /* a longer one is no name */
	OVERLAP = 16,		  /* S3: times the string section, */
	OVERLAP_FREE = 16 << 20,  /* and so many bytes in any case */
};

static int no_memory(struct elf *e, struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, 0, "%s: no memory for its symbols",
		       elf_name(e));
}

const char *symtab_strings(struct elf *e, const struct elf_section *syms,
			   size_t *len, struct hark_err *err)
{
	struct elf_section *s;
	struct bytes *b;
	const uint8_t *at;

	if (syms->h.sh_link >= e->n_sec) {
		err_set(err, HARK_EINPUT, 0, "%s: symbols without names",
			elf_name(e));
		return NULL;
	}
	s = &e->sec[syms->h.sh_link];
	b = elf_contents(e, s, err);
	at = b != NULL ? bytes_need(b, 0, b->len, err) : NULL;
	if (at == NULL)
		return NULL;
	for (*len = b->len; *len > 0 && at[*len - 1] != 0;)
		--*len; /* S1 */
	return (const char *)at;
}

/* -- Versions of dynamic symbols -- */

struct versions {
	const uint8_t *index;	     /* 2 bytes a symbol; NULL: none */
	size_t n;		     /* symbols that have one */
	uint32_t name[VERSIONS_MAX]; /* offset of each version's name */
	unsigned n_names;
};

/* The definitions are a chain; the first auxiliary entry has the name. */
static void read_definitions(struct elf *e, struct versions *v)
{
	struct bytes *b = elf_find(e, ".gnu.version_d", NULL);
	const uint8_t *at = b != NULL ? bytes_need(b, 0, b->len, NULL) : NULL;
	size_t offset = 0;

	for (int i = 0; at != NULL && i < VERSIONS_MAX; i++) {
		Elf64_Verdef def;
		Elf64_Verdaux aux;

		if (offset > b->len || b->len - offset < sizeof def)
			return;
		memcpy(&def, at + offset, sizeof def);
		if (def.vd_aux > b->len - offset ||
		    b->len - offset - def.vd_aux < sizeof aux)
			return;
		memcpy(&aux, at + offset + def.vd_aux, sizeof aux);
		if (def.vd_ndx < VERSIONS_MAX) {
			v->name[def.vd_ndx] = aux.vda_name;
			v->n_names = def.vd_ndx >= v->n_names ? def.vd_ndx + 1u
							      : v->n_names;
		}
		if (def.vd_next == 0)
			return;
		offset += def.vd_next;
	}
}

static void read_versions(struct elf *e, struct versions *v)
{
	struct bytes *b = elf_find(e, ".gnu.version", NULL);

	memset(v, 0, sizeof *v);
	if (b == NULL)
		return;
	v->index = bytes_need(b, 0, b->len, NULL);
	v->n = v->index != NULL ? b->len / sizeof(uint16_t) : 0;
	read_definitions(e, v);
}

/* -- Names -- */

struct names {
	const char *at;
	size_t len;
	uint64_t used; /* S3 */
};

/* The name at offset; NULL if it is none. */
static const char *name_at(struct names *n, uint32_t offset, size_t *len)
{
	const char *name = n->at + offset;

	if (offset >= n->len)
		return NULL;
	*len = strnlen(name, n->len - offset < NAME_LEN_MAX ? n->len - offset
							    : NAME_LEN_MAX);
	n->used += *len;
	return *len > 0 && *len < NAME_LEN_MAX ? name : NULL;
}

/* name@VERSION, if the symbol has a version that is not the default. */
static const char *add_version(struct symbols *s, const struct versions *v,
			       struct names *strings, size_t i,
			       const char *name, size_t len)
{
	uint16_t index;
	const char *version;
	size_t version_len;
	char *made;

	if (i >= v->n)
		return name;
	memcpy(&index, v->index + i * sizeof index, sizeof index);
	if ((index & 0x8000) == 0 || (index &= 0x7fff) >= v->n_names ||
	    v->name[index] == 0)
		return name;
	version = name_at(strings, v->name[index], &version_len);
	if (version == NULL)
		return name;
	made = arena_take(&s->arena, len + version_len + 2);
	if (made == NULL)
		return NULL;
	memcpy(made, name, len);
	made[len] = '@';
	memcpy(made + len + 1, version, version_len);
	made[len + 1 + version_len] = '\0';
	return made;
}

/* .symtab has versions in its names: the default one goes. */
static const char *cut_version(struct symbols *s, const char *name, size_t len)
{
	const char *at = memmem(name, len, "@@", 2);

	if (at == NULL || at == name)
		return name;
	return arena_text(&s->arena, name, (size_t)(at - name));
}

/* -- Symbols -- */

/* Segments may hold more than code, sections do not. */
static bool in_code_section(const struct elf *e, const Elf64_Sym *sym)
{
	return e->made_sections || sym->st_shndx >= e->n_sec ||
	       (e->sec[sym->st_shndx].h.sh_flags & SHF_EXECINSTR) != 0;
}

static bool kind_of(const struct elf *e, const Elf64_Sym *sym,
		    const struct elf *main, enum symbol_kind *kind)
{
	bool code = elf_is_code(main, sym->st_value);

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS ||
	    sym->st_shndx == SHN_COMMON)
		return false;
	switch (ELF64_ST_TYPE(sym->st_info)) {
	case STT_FUNC:
		*kind = SYMBOL_FUNCTION;
		return code; /* S2 */
	case STT_GNU_IFUNC:
		*kind = SYMBOL_IFUNC;
		return code;
	case STT_NOTYPE:
		*kind = SYMBOL_LABEL;
		return code && in_code_section(e, sym);
	case STT_OBJECT:
		*kind = SYMBOL_OBJECT;
		return true;
	default:
		return false;
	}
}

static enum symbol_binding binding_of(const Elf64_Sym *sym)
{
	switch (ELF64_ST_BIND(sym->st_info)) {
	case STB_GLOBAL:
	case STB_GNU_UNIQUE:
		return SYMBOL_GLOBAL;
	case STB_WEAK:
		return SYMBOL_WEAK;
	default:
		return SYMBOL_LOCAL;
	}
}

static int append(struct symbols *s, const Elf64_Sym *sym, const char *name,
		  enum symbol_kind kind, struct symbol_list *to)
{
	struct symbol_entry *new = vec_push(to, s->heap);
	uint64_t size = sym->st_size;

	if (new == NULL || name == NULL)
		return -1;
	/* Nothing reaches beyond the address space. */
	if (size > UINT64_MAX - sym->st_value)
		size = 0;
	*new = (struct symbol_entry){.name = name,
				     .addr = sym->st_value,
				     .size = size & (((uint64_t)1 << 56) - 1),
				     .kind = (uint8_t)kind,
				     .binding = (uint8_t)binding_of(sym),
				     .sized = size > 0};
	return 0;
}

/* One entry; -1 if there is no memory for it. */
static int take(struct symbols *s, const struct elf *e, const Elf64_Sym *sym,
		size_t i, const struct versions *v, struct names *strings,
		const struct elf *main, struct symbol_list *code,
		struct symbol_list *data)
{
	enum symbol_kind kind;
	const char *name;
	size_t len;

	if (!kind_of(e, sym, main, &kind))
		return 0;
	name = name_at(strings, sym->st_name, &len);
	if (name == NULL)
		return 0;
	name = v->index != NULL ? add_version(s, v, strings, i, name, len)
				: cut_version(s, name, len);
	return append(s, sym, name, kind, kind == SYMBOL_OBJECT ? data : code);
}

int symtab_read(struct symbols *s, struct elf *e, const char *section,
		const struct elf *main, struct symbol_list *code,
		struct symbol_list *data, struct hark_err *err)
{
	struct elf_section *sec = elf_section(e, section);
	struct bytes *b = sec != NULL ? elf_contents(e, sec, err) : NULL;
	size_t n = b != NULL ? b->len / sizeof(Elf64_Sym) : 0;
	struct names strings = {0};
	struct versions v;
	const uint8_t *at;

	if (b == NULL)
		return -1;
	strings.at = symtab_strings(e, sec, &strings.len, err);
	at = bytes_need(b, 0, b->len, err);
	if (strings.at == NULL || at == NULL)
		return -1;
	memset(&v, 0, sizeof v);
	if (strcmp(section, ".dynsym") == 0)
		read_versions(e, &v);
	for (size_t i = 1; i < n; i++) {
		Elf64_Sym sym;

		memcpy(&sym, at + i * sizeof sym, sizeof sym);
		if (take(s, e, &sym, i, &v, &strings, main, code, data) < 0)
			return no_memory(e, err);
		if (n > SYMBOLS_MAX ||
		    strings.used >
			OVERLAP_FREE + (uint64_t)strings.len * OVERLAP)
			return err_set(err, HARK_EINPUT, 0,
				       "%s: too many symbols, or too long",
				       elf_name(e));
	}
	return 0;
}
