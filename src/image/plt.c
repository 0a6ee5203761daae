/* image/plt.c - names for the entries of the procedure linkage tables.
 *
 * Each entry jumps through a slot of the offset table; the relocation of that
 * slot has the name. Layouts differ (with or without endbr64, one table or
 * two, bind now or lazily), but all have one indirect jump an entry:
 *
 *	ff 25 disp32	jmp *disp(%rip)
 *
 * so it is looked for in the bytes, and the slot is computed from it. */
#include "image/symbols_priv.h"

#include "image/cursor_priv.h"
#include "image/linkage_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ENTRIES_MAX = 1 << 20,
	NAME_ROOM = 512, /* longer names are cut: name...@plt */
};

/* A slot and who fills it. */
struct slot {
	uint64_t addr;
	uint32_t symbol; /* 0: the function at target */
	uint64_t target;
};

struct slots {
	VEC(struct slot);
};

struct plt {
	struct symbols *s;
	struct elf *e;
	struct slots slots;
	const uint8_t *syms; /* .dynsym */
	size_t n_syms;
	const char *strings;
	size_t strings_len;
	struct symbol_list *code;
	size_t n_named; /* of code: those that were there before */
};

static int compare(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* -- Slots -- */

static int read_relocations(struct plt *p, const char *section)
{
	struct bytes *b = elf_find(p->e, section, NULL);
	const uint8_t *at = b != NULL ? bytes_need(b, 0, b->len, NULL) : NULL;
	size_t n = at != NULL ? b->len / sizeof(Elf64_Rela) : 0;

	for (size_t i = 0; i < n; i++) {
		Elf64_Rela r;
		uint32_t type;
		struct slot *new;

		memcpy(&r, at + i * sizeof r, sizeof r);
		type = ELF64_R_TYPE(r.r_info);
		if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT &&
		    type != R_X86_64_IRELATIVE)
			continue;
		new = vec_push(&p->slots, p->s->heap);
		if (new == NULL)
			return -1;
		*new = (struct slot){.addr = r.r_offset};
		if (type == R_X86_64_IRELATIVE)
			new->target = (uint64_t)r.r_addend;
		else
			new->symbol = (uint32_t)ELF64_R_SYM(r.r_info);
	}
	return 0;
}

static const struct slot *slot_at(const struct plt *p, uint64_t addr)
{
	struct slot key = {.addr = addr};

	if (p->slots.n == 0)
		return NULL;
	return bsearch(&key, p->slots.at, p->slots.n, sizeof key, compare);
}

static const char *name_of(const struct plt *p, const struct slot *slot)
{
	Elf64_Sym sym;

	if (slot->symbol == 0) {
		for (size_t lo = 0, hi = p->n_named; lo < hi;) {
			size_t mid = (lo + hi) / 2;

			if (p->code->at[mid].addr == slot->target)
				return p->code->at[mid].name;
			if (p->code->at[mid].addr < slot->target)
				lo = mid + 1;
			else
				hi = mid;
		}
		return NULL;
	}
	if (slot->symbol >= p->n_syms)
		return NULL;
	memcpy(&sym, p->syms + slot->symbol * sizeof sym, sizeof sym);
	return sym.st_name < p->strings_len ? p->strings + sym.st_name : NULL;
}

/* -- Entries -- */

/* The slot that an entry jumps through. */
static bool find_jump(const uint8_t *entry, size_t len, uint64_t addr,
		      uint64_t *slot)
{
	for (size_t i = 0; i + 6 <= len; i++) {
		int32_t disp;

		if (entry[i] != 0xff || entry[i + 1] != 0x25)
			continue;
		memcpy(&disp, entry + i + 2, sizeof disp);
		*slot = addr + i + 6 + (uint64_t)(int64_t)disp;
		return true;
	}
	return false;
}

static int add(struct plt *p, uint64_t addr, size_t len, const char *text)
{
	const char *name = arena_text(&p->s->arena, text, strlen(text));
	struct symbol_entry *new =
	    name != NULL ? vec_push(p->code, p->s->heap) : NULL;

	if (new == NULL)
		return -1;
	*new = (struct symbol_entry){.name = name,
				     .addr = addr,
				     .size = len,
				     .kind = SYMBOL_PLT,
				     .binding = SYMBOL_LOCAL,
				     .sized = 1};
	return 0;
}

static int read_entry(struct plt *p, const uint8_t *entry, size_t len,
		      uint64_t addr)
{
	char text[NAME_ROOM];
	const struct slot *slot;
	const char *name;
	uint64_t at;

	if (!find_jump(entry, len, addr, &at))
		return 0;
	slot = slot_at(p, at);
	name = slot != NULL ? name_of(p, slot) : NULL;
	if (name == NULL || name[0] == '\0')
		return 0;
	snprintf(text, sizeof text, "%.*s@plt", NAME_ROOM - 8, name);
	return add(p, addr, len, text);
}

static int read_table(struct plt *p, const char *section)
{
	struct elf_section *s = elf_section(p->e, section);
	struct bytes *b = s != NULL ? elf_contents(p->e, s, NULL) : NULL;
	const uint8_t *at = b != NULL ? bytes_need(b, 0, b->len, NULL) : NULL;
	size_t step;

	if (at == NULL || !elf_is_code(p->e, s->h.sh_addr))
		return 0;
	step = linkage_step(s, at, b->len);
	for (size_t i = 0, n = 0; i + step <= b->len && n < ENTRIES_MAX;
	     i += step, n++) {
		uint64_t addr = s->h.sh_addr + i;

		/* The first of a lazy table pushes and jumps to the loader. */
		if (i == 0 && linkage_is_lazy(at, b->len)) {
			if (add(p, addr, step, section) < 0)
				return -1;
		} else if (read_entry(p, at + i, step, addr) < 0) {
			return -1;
		}
	}
	return 0;
}

int plt_read(struct symbols *s, struct elf *e, struct symbol_list *code,
	     struct hark_err *err)
{
	struct plt p = {.s = s, .e = e, .code = code, .n_named = code->n};
	struct elf_section *sec = elf_section(e, ".dynsym");
	struct bytes *b = sec != NULL ? elf_contents(e, sec, NULL) : NULL;
	int rc;

	p.syms = b != NULL ? bytes_need(b, 0, b->len, NULL) : NULL;
	if (p.syms != NULL)
		p.strings = symtab_strings(e, sec, &p.strings_len, NULL);
	if (p.strings != NULL)
		p.n_syms = b->len / sizeof(Elf64_Sym);
	rc = read_relocations(&p, ".rela.plt") < 0 ||
	     read_relocations(&p, ".rela.dyn") < 0;
	if (rc == 0 && p.slots.n > 0) {
		qsort(p.slots.at, p.slots.n, sizeof *p.slots.at, compare);
		for (unsigned i = 0; i < LINKAGE_TABLES && rc == 0; i++)
			rc = read_table(&p, linkage_tables[i]) < 0;
	}
	vec_free(&p.slots, s->heap);
	return rc == 0 ? 0
		       : err_set(err, HARK_ENOMEM, 0,
				 "%s: no memory for its symbols", elf_name(e));
}
