/* gdb/libraries.c - shared libraries, and where threads have their own data.
 *
 * Libraries are what the dynamic linker's list says. Where that is not known
 * (a recording that began in a running process, say) they are taken from the
 * mappings. A thread's data of a module is found through its dtv, as glibc
 * lays it out; which number a module has there, glibc itself tells debuggers
 * by a symbol. */
#include "gdb/gdb_priv.h"

#include "image/image.h"
#include "image/symbols.h"

#include <elf.h>
#include <string.h>

enum { LIBRARIES_MAX = 10000 };

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

static void put_library(struct doc *out, const char *name, uint64_t lm,
			uint64_t addr, uint64_t ld)
{
	doc_text(out, "<library name=\"");
	doc_quoted(out, name);
	doc_text(out,
		 "\" lm=\"0x%llx\" l_addr=\"0x%llx\" l_ld=\"0x%llx\" "
		 "lmid=\"0x0\"/>",
		 (unsigned long long)lm, (unsigned long long)addr,
		 (unsigned long long)ld);
}

static int list_known(struct gdb *g, struct doc *out)
{
	struct link_map map;
	uint64_t lm;

	if (find_list(g, &lm) < 0 || gdb_read(g, lm, &map, sizeof map) < 0)
		return -1;
	doc_text(out, "<library-list-svr4 version=\"1.0\" main-lm=\"0x%llx\">",
		 (unsigned long long)lm);
	for (unsigned i = 0; i < LIBRARIES_MAX && map.next != 0; i++) {
		const struct hark_mapping *m;

		lm = map.next;
		if (gdb_read(g, lm, &map, sizeof map) < 0)
			break;
		m = gdb_mapping_at(g, map.ld);
		if (m != NULL && m->path[0] != '\0')
			put_library(out, m->path, lm, map.addr, map.ld);
	}
	doc_text(out, "</library-list-svr4>");
	return 0;
}

static void list_mapped(struct gdb *g, struct doc *out)
{
	const char *program = gdb_program(g);
	const struct hark_mapping *m;
	struct gdb_elf e;
	unsigned n;

	doc_text(out, "<library-list-svr4 version=\"1.0\">");
	if (gdb_mappings(g, &m, &n) < 0)
		n = 0;
	for (unsigned i = 0; i < n; i++)
		if (m[i].offset == 0 && m[i].path[0] == '/' &&
		    strcmp(m[i].path, program) != 0 &&
		    gdb_elf_at(g, &m[i], &e) == 0 && e.dynamic != 0)
			put_library(out, m[i].path, m[i].start, e.bias,
				    e.dynamic);
	doc_text(out, "</library-list-svr4>");
}

void gdb_libraries_xml(struct gdb *g, struct doc *out)
{
	if (list_known(g, out) == 0)
		return;
	doc_clear(out);
	list_mapped(g, out);
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

/* qGetTLSAddr:THREAD,OFFSET,LINK_MAP */
void on_tls(struct gdb *g, struct words *w)
{
	uint64_t offset, lm, modid = 1, dtv, block;
	struct words_thread id;
	uint32_t number, at;

	if (!words_thread(w, &id) || !words_skip(w, ",") ||
	    !words_number(w, &offset) || !words_skip(w, ",") ||
	    !words_number(w, &lm) || g->is_away) {
		gdb_fail(g, GDB_EINVAL);
		return;
	}
	number = gdb_thread_of(g, &id);
	if (lm != 0 && (modid_offset(g, &at) < 0 ||
			gdb_read(g, lm + at, &modid, sizeof modid) < 0))
		modid = 0;
	if (number == 0 || modid == 0 || gdb_registers(g, number) < 0 ||
	    gdb_read(g, g->registers.fs_base + 8, &dtv, sizeof dtv) < 0 ||
	    gdb_read(g, dtv + 16 * modid, &block, sizeof block) < 0 ||
	    block == UINT64_MAX) {
		gdb_fail(g, GDB_EFAULT);
		return;
	}
	block += offset;
	packet_text(&g->out, "%llx", (unsigned long long)block);
}
