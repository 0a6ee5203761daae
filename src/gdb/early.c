/* gdb/early.c - what the dynamic linker had read before the program began.
 *
 * gdb asks for two things whenever it connects: the auxiliary vector, and the
 * program's dynamic section. Both were read at the very beginning, and whether
 * something has touched them since can only be told by looking through all that
 * happened since. But nothing has: the vector is never written, and the section
 * is read-only once the program begins. So both are read once, at that moment.
 *
 * The same goes for what no store can reach: segments of a file that are mapped
 * without leave to write. */
#include "gdb/gdb_priv.h"

#include <elf.h>
#include <string.h>
#include <time.h>

enum {
	WORDS_MAX = 65536,   /* arguments and variables */
	STATIC_COUNT = 3000, /* a static program has read its vector by then */
	PATIENCE_MS = 300,
};

/* -- The moment at which the program begins -- */

/* Did this process begin by executing a program? */
static bool is_executed(struct gdb *g, uint64_t pc)
{
	const struct hark_mapping *m;
	struct gdb_elf e;
	unsigned n;

	if (gdb_mappings(g, &m, &n) < 0)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (m[i].offset == 0 && m[i].path[0] == '/' &&
		    gdb_elf_at(g, &m[i], &e) == 0 && e.entry == pc)
			return true;
	return false;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * (int64_t)1000 + t.tv_nsec / 1000000;
}

/* Constructors of libraries come before it, and may take any time. */
static int is_late(void *ctx, uint64_t done, uint64_t total)
{
	const int64_t *end = ctx;

	(void)done;
	(void)total;
	return now_ms() > *end;
}

static int go_to_entry(struct gdb *g, uint64_t entry)
{
	int64_t end = now_ms() + PATIENCE_MS;
	uint32_t id = g->api->f_break(g->t, entry, HARK_ANY_THREAD, NULL, NULL);
	struct hark_stopped s = {0};
	int rc;

	if (id == 0)
		return -1;
	g->api->f_on_progress(g->t, is_late, &end);
	rc = g->api->f_run(g->t, HARK_FORWARD, &s, NULL);
	g->api->f_on_progress(g->t, NULL, NULL);
	g->api->f_forget_stop(g->t, id);
	return rc < 0 || s.why != HARK_STOP_BREAKPOINT ? -1 : 0;
}

static int go_on(struct gdb *g)
{
	struct hark_position to = g->api->f_where(g->t);

	to.count += STATIC_COUNT;
	to.step = 0;
	return g->api->f_seek(g->t, &to, NULL);
}

/* -- The vector -- */

/* As it lies on the stack: how many words; 0: it is not known. */
static unsigned read_auxv(struct gdb *g, uint64_t at, uint64_t *out)
{
	uint64_t argc, word = 1;
	bool has_entry = false;
	unsigned n = 0;

	if (gdb_read(g, at, &argc, sizeof argc) < 0 || argc > WORDS_MAX)
		return 0;
	at += 8 * (argc + 2); /* behind the arguments and their NULL */
	for (unsigned i = 0; i < WORDS_MAX && word != 0; i++, at += 8)
		if (gdb_read(g, at, &word, sizeof word) < 0)
			return 0;
	do {
		if (n == GDB_AUXV_MAX || gdb_read(g, at, out + n, 16) < 0)
			return 0;
		has_entry |= out[n] == AT_ENTRY;
		at += 16;
		n += 2;
	} while (out[n - 2] != AT_NULL);
	return has_entry ? n : 0;
}

void gdb_early_find(struct gdb *g)
{
	struct gdb_early *early = &g->early;
	uint64_t rsp = g->registers.gpr[4], pc = g->registers.rip;
	struct gdb_elf e;

	*early = (struct gdb_early){0};
	if (!is_executed(g, pc) || gdb_elf_main(g, &e) < 0 ||
	    (e.entry == pc ? go_on(g) : go_to_entry(g, e.entry)) < 0)
		return;
	early->at = g->api->f_where(g->t);
	early->n_auxv = read_auxv(g, rsp, early->auxv);
	if (e.entry != pc && e.dynamic_len <= sizeof early->bytes &&
	    gdb_read(g, e.dynamic, early->bytes, (size_t)e.dynamic_len) == 0) {
		early->dynamic = e.dynamic;
		early->len = (size_t)e.dynamic_len;
	}
}

/* -- What is always the same -- */

static bool is_early(struct gdb *g, uint64_t address, size_t len)
{
	const struct gdb_early *e = &g->early;
	struct hark_position now;

	if (address < e->dynamic || len > e->len ||
	    address - e->dynamic > e->len - len)
		return false;
	now = g->api->f_where(g->t);
	return g->api->f_position_compare(g->t, &now, &e->at) >= 0;
}

/* The segment that is never written to, and has such bytes of the file (or, by
 * addresses, of memory). Whole pages are mapped. */
static bool find_segment(const struct gdb_bytes *b, uint64_t at, size_t len,
			 bool by_address, Elf64_Phdr *out)
{
	Elf64_Ehdr h;
	Elf64_Phdr p;

	if (b->len < sizeof h)
		return false;
	memcpy(&h, b->bytes, sizeof h);
	if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
	    h.e_phentsize != sizeof p || h.e_phoff > b->len ||
	    h.e_phnum * sizeof p > b->len - h.e_phoff)
		return false;
	for (unsigned i = 0; i < h.e_phnum; i++) {
		uint64_t start, end, offset;

		memcpy(&p, b->bytes + h.e_phoff + i * sizeof p, sizeof p);
		offset = by_address ? at - p.p_vaddr + p.p_offset : at;
		start = p.p_offset & ~4095ULL;
		end = (p.p_offset + p.p_filesz + 4095) & ~4095ULL;
		end = end < b->len ? end : b->len;
		if (p.p_type == PT_LOAD && !(p.p_flags & PF_W) &&
		    offset >= start && offset <= end && len <= end - offset) {
			*out = p;
			return true;
		}
	}
	return false;
}

/* The dynamic linker changes code that has relocations in it. */
static bool has_fixed_code(const struct gdb_bytes *b, const struct gdb_elf *e)
{
	Elf64_Dyn d;

	for (uint64_t at = 0; at + sizeof d <= e->dynamic_len; at += sizeof d) {
		if (e->dynamic_offset > b->len ||
		    b->len - e->dynamic_offset < at + sizeof d)
			return false;
		memcpy(&d, b->bytes + e->dynamic_offset + at, sizeof d);
		if (d.d_tag == DT_TEXTREL ||
		    (d.d_tag == DT_FLAGS && d.d_un.d_val & DF_TEXTREL))
			return false;
	}
	return true;
}

/* Of a library that is not mapped yet gdb reads code, for breakpoints. */
static int read_later(struct gdb *g, uint64_t address, size_t len, uint8_t *out)
{
	const struct gdb_library *l = gdb_library_later(g, address);
	const struct gdb_bytes *b;
	Elf64_Phdr p;

	if (l == NULL || l->module < 0)
		return 0;
	b = gdb_module_bytes(g, (unsigned)l->module);
	if (b == NULL || !find_segment(b, address - l->bias, len, true, &p))
		return 0;
	memcpy(out, b->bytes + (address - l->bias - p.p_vaddr + p.p_offset),
	       len);
	return 1;
}

int gdb_read_fixed(struct gdb *g, uint64_t address, size_t len, uint8_t *out)
{
	const struct hark_mapping *m;
	const struct gdb_bytes *b;
	struct hark_mapping whole = {0};
	struct gdb_elf e;
	Elf64_Phdr p;
	uint64_t offset;

	if (is_early(g, address, len)) {
		memcpy(out, g->early.bytes + (address - g->early.dynamic), len);
		return 1;
	}
	m = gdb_mapping_at(g, address);
	if (m == NULL)
		return read_later(g, address, len, out);
	if (m->module < 0 || m->prot_ever & 2 || len > m->end - address)
		return 0;
	b = gdb_module_bytes(g, (unsigned)m->module);
	offset = address - m->start + m->offset;
	if (b == NULL || !find_segment(b, offset, len, false, &p))
		return 0;
	whole.module = m->module;
	whole.path = m->path;
	if (gdb_elf_at(g, &whole, &e) < 0 || !has_fixed_code(b, &e))
		return 0;
	memcpy(out, b->bytes + offset, len);
	return 1;
}
