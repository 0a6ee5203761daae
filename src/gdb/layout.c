/* gdb/layout.c - what is mapped where, and the auxiliary vector.
 *
 * gdb relocates a program by its auxiliary vector. If it is not known (early.c)
 * the entries that gdb needs are worked out from the mappings. What ELF headers
 * say is read from the files. */
#include "gdb/gdb_priv.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

void gdb_maps_free(struct gdb *g)
{
	for (unsigned i = 0; i < g->maps.n; i++)
		free((char *)(uintptr_t)g->maps.at[i].path);
	free(g->maps.at);
	g->maps = (struct gdb_maps){0};
}

static int copy_maps(struct gdb *g, const struct hark_mapping *from, unsigned n)
{
	gdb_maps_free(g);
	g->maps.at = reallocarray(NULL, n + 1, sizeof *g->maps.at);
	if (g->maps.at == NULL)
		return -1;
	for (; g->maps.n < n; g->maps.n++) {
		char *path = strdup(from[g->maps.n].path);

		if (path == NULL)
			return -1;
		g->maps.at[g->maps.n] = from[g->maps.n];
		g->maps.at[g->maps.n].path = path;
	}
	return 0;
}

int gdb_mappings(struct gdb *g, const struct hark_mapping **out, unsigned *n)
{
	struct hark_position now = g->api->f_where(g->t);
	const struct hark_mapping *from;
	unsigned n_from;

	if (!g->maps.is_valid || !gdb_is_same(&now, &g->maps.when)) {
		if (g->api->f_mappings(g->t, &from, &n_from, NULL) < 0 ||
		    copy_maps(g, from, n_from) < 0)
			return -1;
		g->maps.when = now;
		g->maps.is_valid = true;
	}
	*out = g->maps.at;
	*n = g->maps.n;
	return 0;
}

const struct hark_mapping *gdb_mapping_at(struct gdb *g, uint64_t address)
{
	const struct hark_mapping *m;
	unsigned n;

	if (gdb_mappings(g, &m, &n) < 0)
		return NULL;
	for (unsigned i = 0; i < n; i++)
		if (m[i].start <= address && address < m[i].end)
			return &m[i];
	return NULL;
}

const char *gdb_program(struct gdb *g)
{
	const struct hark_process *p = g->process;
	unsigned n = g->api->f_n_processes(g->recording);

	/* A child that executed nothing has its parent's; parents may not go
	 * round in circles. */
	for (unsigned turns = 0; p->program[0] == '\0' && turns < n; turns++) {
		const struct hark_process *parent = p;

		for (unsigned i = 0; i < n; i++) {
			parent = g->api->f_process(g->recording, i);
			if (parent->number == p->parent)
				break;
		}
		if (parent->number != p->parent)
			break;
		p = parent;
	}
	return p->program;
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

const char *gdb_short_name(struct gdb *g)
{
	return last_component(gdb_program(g));
}

/* -- ELF files where they are mapped -- */

static int read_file(const struct gdb_bytes *b, uint64_t at, void *out,
		     size_t len)
{
	if (at > b->len || len > b->len - at)
		return -1;
	memcpy(out, b->bytes + at, len);
	return 0;
}

static void read_interp(const struct gdb_bytes *b, const Elf64_Phdr *p,
			char *out, size_t size)
{
	size_t len = p->p_filesz < size ? (size_t)p->p_filesz : size - 1;

	if (read_file(b, p->p_offset, out, len) < 0)
		len = 0;
	out[len] = '\0';
}

static void see_segment(const struct gdb_bytes *b, const Elf64_Phdr *p,
			struct gdb_elf *e)
{
	switch (p->p_type) {
	case PT_DYNAMIC:
		e->dynamic = e->bias + p->p_vaddr;
		e->dynamic_offset = p->p_offset;
		e->dynamic_len = p->p_filesz;
		return;
	case PT_INTERP:
		read_interp(b, p, e->interp, sizeof e->interp);
		return;
	case PT_LOAD:
		if (e->bias + p->p_vaddr + p->p_memsz > e->end)
			e->end = e->bias + p->p_vaddr + p->p_memsz;
		if (p->p_flags & PF_X && e->code == 0)
			e->code = e->bias + p->p_vaddr;
		return;
	default:
		return;
	}
}

int gdb_elf_at(struct gdb *g, const struct hark_mapping *m, struct gdb_elf *out)
{
	struct gdb_elf e = {.mapping = m};
	const struct gdb_bytes *b =
	    m->module < 0 ? NULL : gdb_module_bytes(g, (unsigned)m->module);
	uint64_t first = UINT64_MAX;
	Elf64_Phdr p[64];
	Elf64_Ehdr h;

	if (m->offset != 0 || b == NULL || read_file(b, 0, &h, sizeof h) < 0 ||
	    memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
	    h.e_phentsize != sizeof p[0] || h.e_phnum > 64 ||
	    read_file(b, h.e_phoff, p, h.e_phnum * sizeof p[0]) < 0)
		return -1;
	for (unsigned i = 0; i < h.e_phnum; i++)
		if (p[i].p_type == PT_LOAD && p[i].p_vaddr < first)
			first = p[i].p_vaddr;
	if (first == UINT64_MAX)
		return -1;
	e.bias = m->start - (first & ~4095ULL);
	e.phdr = m->start + h.e_phoff;
	e.n_phdr = h.e_phnum;
	e.entry = e.bias + h.e_entry;
	for (unsigned i = 0; i < h.e_phnum; i++)
		see_segment(b, &p[i], &e);
	*out = e;
	return 0;
}

int gdb_elf_main(struct gdb *g, struct gdb_elf *out)
{
	const char *program = gdb_program(g);
	const struct hark_mapping *m;
	unsigned n;

	if (gdb_mappings(g, &m, &n) < 0)
		return -1;
	for (unsigned i = 0; i < n; i++)
		if (m[i].offset == 0 && strcmp(m[i].path, program) == 0 &&
		    gdb_elf_at(g, &m[i], out) == 0)
			return 0;
	return -1;
}

/* -- The auxiliary vector -- */

static void put_entry(struct doc *out, uint64_t type, uint64_t value)
{
	uint64_t pair[2] = {type, value};

	doc_add(out, pair, sizeof pair);
}

static void auxv_from_mappings(struct gdb *g, struct doc *out)
{
	const struct hark_mapping *m;
	struct gdb_elf e;
	unsigned n;

	if (gdb_mappings(g, &m, &n) < 0)
		n = 0;
	if (gdb_elf_main(g, &e) == 0) {
		const char *interp = last_component(e.interp);

		put_entry(out, AT_PHDR, e.phdr);
		put_entry(out, AT_PHENT, sizeof(Elf64_Phdr));
		put_entry(out, AT_PHNUM, e.n_phdr);
		put_entry(out, AT_ENTRY, e.entry);
		for (unsigned i = 0; i < n && *interp != '\0'; i++)
			if (m[i].offset == 0 &&
			    strcmp(last_component(m[i].path), interp) == 0) {
				put_entry(out, AT_BASE, m[i].start);
				break;
			}
	}
	for (unsigned i = 0; i < n; i++)
		if (strcmp(m[i].path, "[vdso]") == 0)
			put_entry(out, AT_SYSINFO_EHDR, m[i].start);
	put_entry(out, AT_PAGESZ, 4096);
	put_entry(out, AT_NULL, 0);
}

void gdb_auxv(struct gdb *g, struct doc *out)
{
	if (g->early.n_auxv > 0)
		doc_add(out, g->early.auxv,
			g->early.n_auxv * sizeof g->early.auxv[0]);
	else
		auxv_from_mappings(g, out);
}
