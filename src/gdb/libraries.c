/* gdb/libraries.c - shared libraries, and where threads have their own data.
 *
 * Libraries are whatever ELF files are mapped with their code. The dynamic
 * linker has a list of them, too, but it was written long ago, and reading it
 * means to look through all that happened since. Where gdb asks for the address
 * of an entry of that list, it gets the address at which the library begins,
 * which is as good to identify it.
 *
 * A library that was seen at a later moment stays in the list at earlier ones:
 * where it will be is certain. So breakpoints in it stay what they are on the
 * way to the start and back, and gdb need not read it again. */
#include "gdb/gdb_priv.h"

#include "image/image.h"
#include "image/tls.h"

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
	return code != NULL && code->prot_ever & 4 &&
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

static int read_memory(void *ctx, uint64_t addr, void *out, size_t len)
{
	return gdb_read(ctx, addr, out, len);
}

/* Of the module that begins at `start`; 0: of the program. */
static int find_block(struct gdb *g, uint64_t start, uint64_t *out)
{
	struct tls_place place = {.thread_pointer = g->registers.fs_base,
				  .read = read_memory,
				  .ctx = g};
	const struct hark_mapping *m;
	const struct gdb_bytes *b;
	struct image *im = NULL;
	struct image_file *file;
	struct gdb_elf e, program;
	int rc = -1;

	if (gdb_elf_main(g, &program) < 0)
		return -1;
	m = start == 0 ? program.mapping : gdb_mapping_at(g, start);
	if (m == NULL || m->module < 0 || gdb_elf_at(g, m, &e) < 0)
		return -1;
	b = gdb_module_bytes(g, (unsigned)m->module);
	if (b == NULL || image_new(&im, NULL) < 0)
		return -1;
	place.bias = e.bias;
	place.is_musl = strstr(program.interp, TLS_MUSL) != NULL;
	place.is_program = m->start == program.mapping->start;
	if (image_open_memory(im, m->path, b->bytes, b->len, &file, NULL) == 0)
		rc = tls_block(file, &place, out);
	image_free(im);
	return rc;
}

/* qGetTLSAddr:THREAD,OFFSET,LINK_MAP */
void on_tls(struct gdb *g, struct words *w)
{
	uint64_t offset, lm, block;
	struct words_thread id;
	uint32_t number;

	if (!words_thread(w, &id) || !words_skip(w, ",") ||
	    !words_number(w, &offset) || !words_skip(w, ",") ||
	    !words_number(w, &lm) || g->is_away) {
		gdb_fail(g, GDB_EINVAL);
		return;
	}
	number = gdb_thread_of(g, &id);
	if (number == 0 || gdb_registers(g, number) < 0 ||
	    find_block(g, lm, &block) < 0) {
		gdb_fail(g, GDB_EFAULT);
		return;
	}
	block += offset;
	packet_text(&g->out, "%llx", (unsigned long long)block);
}
