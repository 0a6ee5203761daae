/* image/elf_dynamic.c - sections for a file that has no section headers.
 *
 * The loader needs none, so a module read from memory, or one stripped of
 * them, says in its dynamic segment where symbols, strings and relocations
 * are, and in its unwind header where the call-frame rules begin. Where only
 * a begin is known, the end is that of the segment. */
#include "image/elf_priv.h"

#include "image/cursor_priv.h"

#include <string.h>

/* ORDER dynamic */
enum {
	D_SYMTAB,
	D_STRTAB,
	D_STRSZ,
	D_HASH,
	D_GNU_HASH,
	D_VERSYM,
	D_VERDEF,
	D_JMPREL,
	D_PLTRELSZ,
	D_RELA,
	D_RELASZ,
	D_MAX
};
static const int64_t tags[D_MAX] = {
    DT_SYMTAB, DT_STRTAB, DT_STRSZ,    DT_HASH, DT_GNU_HASH, DT_VERSYM,
    DT_VERDEF, DT_JMPREL, DT_PLTRELSZ, DT_RELA, DT_RELASZ};

enum { MADE_MAX = 10, ENTRIES_MAX = 4096 };

/* Where addr lies in the file, and how many bytes follow it in its segment;
 * false if it is in none. A loader may have added the bias. */
static bool offset_of(const struct elf *e, uint64_t addr, uint64_t *offset,
		      uint64_t *left)
{
	for (int relocated = 0; relocated < 2; relocated++) {
		uint64_t a = addr - (relocated ? e->in.bias : 0);
		const Elf64_Phdr *p = NULL;

		while ((p = elf_segment(e, p, PT_LOAD)) != NULL) {
			if (a < p->p_vaddr || a - p->p_vaddr >= p->p_filesz)
				continue;
			*offset = a - p->p_vaddr + p->p_offset;
			*left = p->p_filesz - (a - p->p_vaddr);
			if (*offset >= e->in.src.len)
				return false;
			if (*left > e->in.src.len - *offset)
				*left = e->in.src.len - *offset;
			return true;
		}
	}
	return false;
}

static void read_dynamic(struct elf *e, uint64_t *d)
{
	const Elf64_Phdr *p = elf_segment(e, NULL, PT_DYNAMIC);
	uint64_t n = p != NULL ? p->p_filesz / sizeof(Elf64_Dyn) : 0;
	Elf64_Dyn dyn;

	for (uint64_t i = 0; i < n && i < ENTRIES_MAX; i++) {
		if (elf_read(e, p->p_offset + i * sizeof dyn, &dyn, sizeof dyn,
			     NULL) < 0 ||
		    dyn.d_tag == DT_NULL)
			return;
		for (int k = 0; k < D_MAX; k++)
			if (dyn.d_tag == tags[k])
				d[k] = dyn.d_un.d_val;
	}
}

/* -- How many symbols -- */

static uint32_t u32_at(struct bytes *b, uint64_t offset)
{
	const uint8_t *at = bytes_need(b, offset, sizeof(uint32_t), NULL);
	uint32_t v = 0;

	if (at != NULL)
		memcpy(&v, at, sizeof v);
	return v;
}

/* The last chain of the hash table ends at the last symbol. */
static uint64_t count_by_gnu_hash(struct bytes *b)
{
	uint32_t buckets = u32_at(b, 0), first = u32_at(b, 4);
	uint32_t bloom = u32_at(b, 8), last = 0;
	uint64_t bucket = 16 + (uint64_t)bloom * 8;
	uint64_t chain = bucket + (uint64_t)buckets * 4;

	if (chain > b->len)
		return 0;
	for (uint32_t i = 0; i < buckets; i++) {
		uint32_t v = u32_at(b, bucket + (uint64_t)i * 4);

		last = v > last ? v : last;
	}
	if (last < first)
		return first;
	for (chain += (uint64_t)(last - first) * 4; chain + 4 <= b->len;
	     chain += 4, last++)
		if ((u32_at(b, chain) & 1) != 0)
			return (uint64_t)last + 1;
	return 0;
}

static uint64_t count_by(struct elf *e, uint64_t addr, bool gnu)
{
	uint64_t offset, left, n;
	struct bytes b;

	if (addr == 0 || !offset_of(e, addr, &offset, &left) ||
	    bytes_init(&b, &e->budget.heap, &e->in.src, offset, left, NULL) < 0)
		return 0;
	n = gnu ? count_by_gnu_hash(&b) : u32_at(&b, 4);
	bytes_fini(&b);
	return n;
}

static uint64_t count_symbols(struct elf *e, const uint64_t *d)
{
	uint64_t n = count_by(e, d[D_HASH], false);

	return n > 0 ? n : count_by(e, d[D_GNU_HASH], true);
}

/* -- Making the headers -- */

struct made {
	struct {
		const char *name;
		uint32_t type, link;
		uint64_t addr, offset, len;
	} s[MADE_MAX];
	size_t n;
};

/* len 0: all that follows in the segment. */
static void make(struct made *m, const struct elf *e, const char *name,
		 uint32_t type, uint64_t addr, uint64_t len, bool rest)
{
	uint64_t offset, left;

	if (addr == 0 || (len == 0 && !rest) || m->n == MADE_MAX ||
	    !offset_of(e, addr, &offset, &left))
		return;
	if (rest)
		len = left;
	m->s[m->n].name = name;
	m->s[m->n].type = type;
	m->s[m->n].addr = addr;
	m->s[m->n].offset = offset;
	m->s[m->n++].len = len < left ? len : left;
}

/* The unwind header has, after four bytes of encodings, a pointer to the
 * rules; every linker writes it as 4 bytes relative to itself. */
static void make_frames(struct made *m, struct elf *e)
{
	const Elf64_Phdr *p = elf_segment(e, NULL, PT_GNU_EH_FRAME);
	uint8_t head[8];
	int32_t delta;

	if (p == NULL || p->p_filesz < sizeof head ||
	    elf_read(e, p->p_offset, head, sizeof head, NULL) < 0 ||
	    head[0] != 1 || head[1] != 0x1b)
		return;
	memcpy(&delta, head + 4, sizeof delta);
	make(m, e, ".eh_frame", SHT_PROGBITS,
	     p->p_vaddr + 4 + (uint64_t)(int64_t)delta, 0, true);
}

int elf_make_sections(struct elf *e, struct hark_err *err)
{
	uint64_t d[D_MAX] = {0}, n;
	struct made m = {.n = 1}; /* the first is always empty */

	read_dynamic(e, d);
	n = count_symbols(e, d);
	make(&m, e, ".dynstr", SHT_STRTAB, d[D_STRTAB], d[D_STRSZ], false);
	make(&m, e, ".dynsym", SHT_DYNSYM, d[D_SYMTAB], n * sizeof(Elf64_Sym),
	     false);
	make(&m, e, ".gnu.version", SHT_GNU_versym, d[D_VERSYM],
	     n * sizeof(Elf64_Versym), false);
	make(&m, e, ".gnu.version_d", SHT_GNU_verdef, d[D_VERDEF], 0, true);
	make(&m, e, ".rela.plt", SHT_RELA, d[D_JMPREL], d[D_PLTRELSZ], false);
	make(&m, e, ".rela.dyn", SHT_RELA, d[D_RELA], d[D_RELASZ], false);
	make_frames(&m, e);
	if (elf_take_sections(e, m.n, err) < 0)
		return -1;
	e->made_sections = true;
	for (size_t i = 1; i < m.n; i++) {
		struct elf_section *s = &e->sec[i];

		s->name = m.s[i].name;
		s->h = (Elf64_Shdr){.sh_type = m.s[i].type,
				    .sh_flags = SHF_ALLOC,
				    .sh_addr = m.s[i].addr,
				    .sh_offset = m.s[i].offset,
				    .sh_size = m.s[i].len,
				    .sh_link = 1};
	}
	return 0;
}
