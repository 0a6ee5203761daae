/* ask/space.c - which code and data is where, at one moment?
 *
 * S1  A module is read from the recording when it is first seen mapped as
 *     code, and kept; what is not an ELF file is not asked again.
 * S2  Two loads of one file are two modules with one file behind them. */
#include "ask/space.h"

#include "image/demangle.h"
#include "image/lines.h"
#include "image/names.h"
#include "image/symbols.h"
#include "image/vars.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PLACED_MAX = 4096 };

struct loaded {
	struct image_file *file; /* NULL: none, or no ELF file */
	uint8_t *bytes, *debug;	 /* owned */
	bool is_tried;
};

struct space {
	const struct ask_source *src; /* borrowed */
	struct image *im;
	struct loaded *loaded; /* owned: one a module of the recording */
	unsigned n_loaded;
	struct space_module *placed; /* owned */
	size_t n;
};

static int no_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, 0, "no memory for a list of modules");
}

const struct ask_source *space_source(const struct space *s)
{
	return s->src;
}

int space_new(const struct ask_source *src, struct space **out,
	      struct hark_err *err)
{
	struct space *s = calloc(1, sizeof *s);

	if (s == NULL)
		return no_memory(err);
	s->src = src;
	s->n_loaded = src->n_modules(src->ctx);
	s->loaded = calloc(s->n_loaded + 1u, sizeof *s->loaded);
	s->placed = calloc(PLACED_MAX, sizeof *s->placed);
	if (s->loaded == NULL || s->placed == NULL) {
		space_free(s);
		return no_memory(err);
	}
	if (image_new(&s->im, err) < 0 || space_refresh(s, err) < 0) {
		space_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

void space_free(struct space *s)
{
	if (s == NULL)
		return;
	image_free(s->im);
	for (unsigned i = 0; s->loaded != NULL && i < s->n_loaded; i++) {
		free(s->loaded[i].bytes);
		free(s->loaded[i].debug);
	}
	free(s->loaded);
	free(s->placed);
	free(s);
}

/* -- Modules -- */

/* Debug information that was put into the recording for this path. */
static void load_debug(struct space *s, struct loaded *l, const char *path)
{
	const struct ask_source *src = s->src;
	size_t len;

	for (unsigned i = 0; i < s->n_loaded; i++) {
		const struct hark_module *m = src->module(src->ctx, i);

		if (m->debug_of[0] == '\0' || strcmp(m->debug_of, path) != 0 ||
		    src->read_module(src->ctx, i, &l->debug, &len, NULL) < 0)
			continue;
		if (image_file_give_debug(l->file, l->debug, len, NULL) == 0)
			return;
		free(l->debug);
		l->debug = NULL;
	}
}

/* S1 */
static struct image_file *load(struct space *s, unsigned i)
{
	const struct ask_source *src = s->src;
	const struct hark_module *m = src->module(src->ctx, i);
	struct loaded *l = &s->loaded[i];
	size_t len = 0;

	if (l->is_tried)
		return l->file;
	l->is_tried = true;
	if (m->debug_of[0] != '\0' || m->len == 0 ||
	    src->read_module(src->ctx, i, &l->bytes, &len, NULL) < 0)
		return NULL;
	if (image_open_memory(s->im, m->path, l->bytes, len, &l->file, NULL) <
	    0) {
		l->file = NULL;
		return NULL;
	}
	load_debug(s, l, m->path);
	return l->file;
}

static bool is_placed(const struct space *s, int module, uint64_t bias)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->placed[i].module == module && s->placed[i].bias == bias)
			return true;
	return false;
}

static void place(struct space *s, const struct hark_mapping *map)
{
	const struct hark_module *m;
	struct space_module *to;
	struct image_file *f;
	uint64_t bias, low, high;

	if (map->module < 0 || (unsigned)map->module >= s->n_loaded ||
	    (map->prot_ever & PROT_EXEC) == 0 || s->n == PLACED_MAX)
		return;
	f = load(s, (unsigned)map->module);
	if (f == NULL || !image_file_bias(f, map->start, map->offset, &bias) ||
	    !image_file_span(f, &low, &high) || is_placed(s, map->module, bias))
		return;
	m = s->src->module(s->src->ctx, (unsigned)map->module);
	to = &s->placed[s->n++];
	*to =
	    (struct space_module){.file = f,
				  .path = m->path,
				  .bias = bias,
				  .low = low + bias,
				  .high = high + bias,
				  .module = map->module,
				  .is_program = strstr(m->path, ".so") == NULL};
}

int space_refresh(struct space *s, struct hark_err *err)
{
	const struct hark_mapping *maps = NULL;
	unsigned n = 0;

	if (s->src->mappings(s->src->ctx, &maps, &n, err) < 0)
		return -1;
	s->n = 0;
	for (unsigned i = 0; i < n; i++)
		place(s, &maps[i]);
	return 0;
}

size_t space_count(const struct space *s)
{
	return s->n;
}

const struct space_module *space_get(const struct space *s, size_t i)
{
	return &s->placed[i];
}

const struct space_module *space_at(const struct space *s, uint64_t addr)
{
	for (size_t i = 0; i < s->n; i++)
		if (addr >= s->placed[i].low && addr < s->placed[i].high)
			return &s->placed[i];
	return NULL;
}

/* -- Names that are alike -- */

struct offering {
	struct near *near;
	enum near_rank rank;
	size_t parts; /* that the name has which was written */
};

/* A C++ function by as many parts of its name as were written. */
static int offer_function(void *ctx, const struct symbol *s)
{
	const struct offering *o = ctx;
	char text[DEMANGLE_TEXT_MAX], part[NEAR_NAME], whole[NEAR_NAME];

	if (s->kind == SYMBOL_SUB || s->kind == SYMBOL_PLT)
		return 0;
	if (o->rank != NEAR_PROGRAM ||
	    demangle(s->name, DEMANGLE_SHORT, text, sizeof text) == 0) {
		near_offer(o->near, s->name, s->name, o->rank);
		return 0;
	}
	names_plain(text, o->parts, part, sizeof part);
	names_plain(text, SIZE_MAX, whole, sizeof whole);
	near_offer(o->near, part, whole, o->rank);
	return 0;
}

static int offer_variable(void *ctx, const struct var *v)
{
	const struct offering *o = ctx;

	near_offer(o->near, v->name, v->name, o->rank);
	return 0;
}

static void offer_enumerator(void *ctx, const char *name)
{
	const struct offering *o = ctx;

	near_offer(o->near, name, name, o->rank);
}

void space_offer(const struct space *s, struct near *near)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct space_module *m = &s->placed[i];
		struct offering o = {
		    near, m->is_program ? NEAR_PROGRAM : NEAR_LIBRARY,
		    names_parts(near->name)};

		symbols_each(m->file, NULL, offer_function, &o, NULL);
		vars_each_global(m->file, "*", offer_variable, &o, NULL);
		type_each_enumerator_name(m->file, offer_enumerator, &o);
	}
}

static int unknown(const struct space *s, const char *name,
		   struct hark_err *err)
{
	char text[NEAR_BEST * (NEAR_NAME + 8)];
	struct near near;

	near_begin(&near, name);
	space_offer(s, &near);
	near_text(&near, text, sizeof text);
	return err_set(err, HARK_ENOENT, 0, "there is no '%.200s'%s", name,
		       text);
}

/* -- Symbols -- */

bool space_has_symbol(const struct space *s, const char *name,
		      struct space_symbol *out)
{
	struct symbol sym;

	for (size_t i = 0; i < s->n; i++) {
		const struct space_module *m = &s->placed[i];

		if (symbols_named(m->file, name, &sym, NULL) < 0 ||
		    sym.kind == SYMBOL_PLT)
			continue;
		*out =
		    (struct space_symbol){.module = m,
					  .addr = sym.addr + m->bias,
					  .size = sym.sized ? sym.size : 0,
					  .is_code = sym.kind != SYMBOL_OBJECT};
		return true;
	}
	return false;
}

int space_symbol(struct space *s, const char *name, struct space_symbol *out,
		 struct hark_err *err)
{
	return space_has_symbol(s, name, out) ? 0 : unknown(s, name, err);
}

void space_name(const struct space *s, uint64_t addr, char *out, size_t size)
{
	const struct space_module *m = space_at(s, addr);
	struct symbol sym;
	uint64_t off;

	if (size > 0)
		out[0] = '\0';
	if (m == NULL ||
	    (symbols_object(m->file, addr - m->bias, &sym, NULL) < 0 &&
	     symbols_function(m->file, addr - m->bias, &sym, NULL) < 0))
		return;
	off = addr - m->bias - sym.addr;
	if (off == 0)
		snprintf(out, size, "%s", symbols_pretty(m->file, &sym));
	else
		snprintf(out, size, "%s+0x%" PRIx64,
			 symbols_pretty(m->file, &sym), off);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

void space_code(const struct space *s, uint64_t pc, bool is_return, char *out,
		size_t size)
{
	const struct space_module *m = space_at(s, pc - is_return);
	struct line_frame line[LINES_DEPTH];
	const struct line_frame *last;
	size_t n = 0;

	space_name(s, pc, out, size);
	if (m == NULL) {
		snprintf(out, size, "0x%" PRIx64, pc);
		return;
	}
	if (lines_at(m->file, pc - is_return - m->bias, line, LINES_DEPTH, &n,
		     NULL) < 0 ||
	    n == 0) {
		size_t len = strlen(out);

		snprintf(out + len, size - len, "%s%s", len > 0 ? " in " : "",
			 last_part(m->path));
		return;
	}
	last = &line[n - 1];
	if (last->function != NULL)
		snprintf(out, size, "%s", last->function);
	if (last->file != NULL && strlen(out) < size)
		snprintf(out + strlen(out), size - strlen(out), " at %s:%u",
			 last_part(last->file), last->line);
}
