/* gdb/libraries.c - shared libraries, and where threads have their own data.
 *
 * Libraries are whatever ELF files are mapped with their code. The dynamic
 * linker has a list of them, too, but it was written long ago, and reading it
 * means to look through all that happened since; so it is only read for what
 * mappings cannot tell. Where gdb wants to know where an entry of that list is,
 * it is told where the library begins, which it can tell apart as well.
 *
 * A library that was seen at a later moment stays in the list at earlier ones:
 * where it will be is certain. So breakpoints in it stay what they are on the
 * way to the start and back, and gdb need not read it again.
 *
 * A thread's data of a module is found through its dtv, as glibc
 * lays it out; which number a module has there, glibc itself tells debuggers
 * by a symbol. */
#include "gdb/gdb_priv.h"

#include "image/image.h"
#include "image/symbols.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { LIBRARIES_MAX = 10000 };

/* -- What is mapped now -- */

/* Is it mapped to be executed, or just to be read? */
static bool is_library(struct gdb *g, const struct hark_mapping *m,
		       struct gdb_elf *e)
{
	const struct hark_mapping *code;

	if (m->offset != 0 || m->path[0] != '/' || gdb_elf_at(g, m, e) < 0 ||
	    e->dynamic == 0 || e->code == 0)
		return false;
	code = gdb_mapping_at(g, e->code);
	return code != NULL && code->prot & 4 &&
	       strcmp(code->path, m->path) == 0;
}

static struct gdb_library *find_seen(struct gdb *g, const char *path,
				     uint64_t start)
{
	for (unsigned i = 0; i < g->n_libraries; i++)
		if (g->libraries[i].start == start &&
		    strcmp(g->libraries[i].path, path) == 0)
			return &g->libraries[i];
	return NULL;
}

static struct gdb_library *add_seen(struct gdb *g, const struct gdb_elf *e)
{
	struct gdb_library *more, *l;
	char *path;

	if (g->n_libraries == LIBRARIES_MAX)
		return NULL;
	more = reallocarray(g->libraries, g->n_libraries + 1, sizeof *more);
	if (more == NULL)
		return NULL;
	g->libraries = more;
	path = strdup(e->mapping->path);
	if (path == NULL)
		return NULL;
	l = &more[g->n_libraries++];
	*l = (struct gdb_library){.path = path,
				  .start = e->mapping->start,
				  .end = e->end,
				  .bias = e->bias,
				  .dynamic = e->dynamic,
				  .module = e->mapping->module,
				  .seen = g->api->f_where(g->t)};
	return l;
}

/* Those of this moment are marked. In the order in which they were mapped,
 * mostly: downwards. */
static void see_mapped(struct gdb *g)
{
	struct hark_position now = g->api->f_where(g->t);
	const char *program = gdb_program(g);
	const struct hark_mapping *m;
	struct gdb_elf e;
	unsigned n;

	for (unsigned i = 0; i < g->n_libraries; i++)
		g->libraries[i].is_mapped = false;
	if (gdb_mappings(g, &m, &n) < 0)
		return;
	for (unsigned i = n; i-- > 0;) {
		struct gdb_library *l;

		if (strcmp(m[i].path, program) == 0 ||
		    !is_library(g, &m[i], &e))
			continue;
		l = find_seen(g, m[i].path, m[i].start);
		if (l == NULL)
			l = add_seen(g, &e);
		if (l == NULL)
			continue;
		l->is_mapped = true;
		if (g->api->f_position_compare(g->t, &now, &l->seen) > 0)
			l->seen = now;
	}
}

/* -- What will be -- */

/* At an earlier moment it will be mapped, if nothing is in its place. */
static bool will_be(struct gdb *g, const struct gdb_library *l)
{
	struct hark_position now = g->api->f_where(g->t);
	const struct hark_mapping *m;
	unsigned n;

	if (g->api->f_position_compare(g->t, &now, &l->seen) >= 0 ||
	    gdb_mappings(g, &m, &n) < 0)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (m[i].start < l->end && l->start < m[i].end)
			return false;
	return true;
}

const struct gdb_library *gdb_library_later(struct gdb *g, uint64_t address)
{
	for (unsigned i = 0; i < g->n_libraries; i++) {
		const struct gdb_library *l = &g->libraries[i];

		if (l->start <= address && address < l->end && will_be(g, l))
			return l;
	}
	return NULL;
}

static void put_library(struct doc *out, const struct gdb_library *l)
{
	doc_text(out, "<library name=\"");
	doc_quoted(out, l->path);
	doc_text(out,
		 "\" lm=\"0x%llx\" l_addr=\"0x%llx\" l_ld=\"0x%llx\" "
		 "lmid=\"0x0\"/>",
		 (unsigned long long)l->start, (unsigned long long)l->bias,
		 (unsigned long long)l->dynamic);
}

static bool is_interp(const char *interp, const char *path)
{
	const char *a = strrchr(interp, '/'), *b = strrchr(path, '/');

	return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* The dynamic linker itself, which came first, is its own list's last. */
void gdb_libraries_xml(struct gdb *g, struct doc *out)
{
	struct gdb_elf main = {0};

	see_mapped(g);
	doc_text(out, "<library-list-svr4 version=\"1.0\"");
	if (gdb_elf_main(g, &main) == 0)
		doc_text(out, " main-lm=\"0x%llx\"",
			 (unsigned long long)main.mapping->start);
	doc_text(out, ">");
	for (int last = 0; last < 2; last++)
		for (unsigned i = 0; i < g->n_libraries; i++) {
			const struct gdb_library *l = &g->libraries[i];

			if (is_interp(main.interp, l->path) == last &&
			    (l->is_mapped || will_be(g, l)))
				put_library(out, l);
		}
	doc_text(out, "</library-list-svr4>");
}

void gdb_libraries_forget(struct gdb *g)
{
	for (unsigned i = 0; i < g->n_libraries; i++)
		free(g->libraries[i].path);
	free(g->libraries);
	g->libraries = NULL;
	g->n_libraries = 0;
}

/* -- Thread-local data -- */

/* The value of a 32-bit word of data that a mapped file exports, at `index`
 * of it. */
static int read_symbol(struct gdb *g, const struct hark_mapping *m,
		       const char *name, unsigned index, uint32_t *out)
{
	const struct gdb_bytes *b;
	struct image_file *file;
	struct image *im = NULL;
	struct gdb_elf e;
	struct symbol s;
	int rc = -1;

	if (m->module < 0 || gdb_elf_at(g, m, &e) < 0)
		return -1;
	b = gdb_module_bytes(g, (unsigned)m->module);
	if (b == NULL || image_new(&im, NULL) < 0)
		return -1;
	if (image_open_memory(im, m->path, b->bytes, b->len, &file, NULL) ==
		0 &&
	    symbols_named(file, name, &s, NULL) == 0)
		rc = gdb_read(g, e.bias + s.addr + index * sizeof *out, out,
			      sizeof *out);
	image_free(im);
	return rc;
}

/* Where a link_map has the number of its module's thread-local data. */
static int modid_offset(struct gdb *g, uint32_t *out)
{
	static const char name[] = "_thread_db_link_map_l_tls_modid";
	const struct hark_mapping *m;
	unsigned n;

	if (gdb_mappings(g, &m, &n) < 0)
		return -1;
	for (unsigned i = 0; i < n; i++)
		if (m[i].offset == 0 &&
		    (strstr(m[i].path, "/libc.so") != NULL ||
		     strstr(m[i].path, "/libc-") != NULL ||
		     strstr(m[i].path, "/libpthread") != NULL ||
		     strstr(m[i].path, "/ld-") != NULL) &&
		    read_symbol(g, &m[i], name, 2, out) == 0)
			return 0;
	return -1;
}

struct link_map { /* of the dynamic linker, in the program's memory */
	uint64_t addr, name, ld, next;
};

static int find_list(struct gdb *g, uint64_t *out)
{
	struct gdb_elf e;
	uint64_t debug = 0;

	if (gdb_elf_main(g, &e) < 0 || e.dynamic == 0)
		return -1;
	for (unsigned i = 0; i < 256 && debug == 0; i++) {
		Elf64_Dyn d;

		if (gdb_read(g, e.dynamic + i * sizeof d, &d, sizeof d) < 0 ||
		    d.d_tag == DT_NULL)
			return -1;
		if (d.d_tag == DT_DEBUG)
			debug = d.d_un.d_ptr;
	}
	if (debug == 0 || gdb_read(g, debug + 8, out, sizeof *out) < 0)
		return -1;
	return *out == 0 ? -1 : 0;
}

/* The dynamic linker's entry for what is mapped at an address; or -1. */
static int find_entry(struct gdb *g, uint64_t start, uint64_t *out)
{
	const struct hark_mapping *m = gdb_mapping_at(g, start);
	struct link_map map;
	struct gdb_elf e;
	uint64_t lm;

	if (m == NULL || gdb_elf_at(g, m, &e) < 0 || find_list(g, &lm) < 0)
		return -1;
	for (unsigned i = 0; i < LIBRARIES_MAX && lm != 0; i++) {
		if (gdb_read(g, lm, &map, sizeof map) < 0)
			return -1;
		if (map.ld == e.dynamic) {
			*out = lm;
			return 0;
		}
		lm = map.next;
	}
	return -1;
}

/* Which number its thread-local data has. */
static int find_module(struct gdb *g, uint64_t start, uint64_t *out)
{
	struct gdb_elf e;
	uint64_t lm;
	uint32_t at;

	if (start == 0 ||
	    (gdb_elf_main(g, &e) == 0 && e.mapping->start == start)) {
		*out = 1;
		return 0;
	}
	return find_entry(g, start, &lm) < 0 || modid_offset(g, &at) < 0
		   ? -1
		   : gdb_read(g, lm + at, out, sizeof *out);
}

/* qGetTLSAddr:THREAD,OFFSET,LINK_MAP */
void on_tls(struct gdb *g, struct words *w)
{
	uint64_t offset, lm, modid = 0, dtv, block;
	struct words_thread id;
	uint32_t number;

	if (!words_thread(w, &id) || !words_skip(w, ",") ||
	    !words_number(w, &offset) || !words_skip(w, ",") ||
	    !words_number(w, &lm) || g->is_away) {
		gdb_fail(g, GDB_EINVAL);
		return;
	}
	number = gdb_thread_of(g, &id);
	if (number == 0 || find_module(g, lm, &modid) < 0 || modid == 0 ||
	    gdb_registers(g, number) < 0 ||
	    gdb_read(g, g->registers.fs_base + 8, &dtv, sizeof dtv) < 0 ||
	    gdb_read(g, dtv + 16 * modid, &block, sizeof block) < 0 ||
	    block == UINT64_MAX) {
		gdb_fail(g, GDB_EFAULT);
		return;
	}
	block += offset;
	packet_text(&g->out, "%llx", (unsigned long long)block);
}
