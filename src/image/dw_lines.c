/* image/dw_lines.c - line programs: which line has which code.
 *
 * A program is a list of instructions to a small machine that walks through
 * the code; now and then it appends a row. Rows come in sequences, each for
 * one stretch of code.
 *
 * L1  An instruction is at least a byte and appends at most one row.
 * L2  Rows of a sequence ascend; one that goes back is dropped. Sequences
 *     are sorted by where they begin, and one that begins inside another
 *     loses the part that overlaps.
 * L3  A table of files or directories has at most as many entries as the
 *     header has bytes, also if an entry is said to have none. */
#include "image/dw_priv.h"

#include <stdlib.h>

enum { LINES_MAX = (1 << 30) - 1 };

struct header {
	struct cursor c; /* from after the lengths to the end */
	const uint8_t *program;
	struct dw_sizes sizes;
	uint8_t min_len, line_range, opcode_base;
	int8_t line_base;
	bool is_stmt;
	uint8_t operands[256];
};

static int damaged(const struct dw *d, struct hark_err *err)
{
	return err_set(err, HARK_EINPUT, 0, "%s: damaged line table",
		       elf_name(d->elf));
}

/* -- Files, up to DWARF 4 -- */

static int add_dir(struct dw *d, struct dw_lines *l, const char *dir)
{
	const char **new = vec_push(&l->dirs, d->heap);

	if (new == NULL)
		return -1;
	*new = dir;
	return 0;
}

static int add_file(struct dw *d, struct dw_lines *l, const char *name,
		    uint64_t dir)
{
	struct dw_file *new = vec_push(&l->files, d->heap);

	if (new == NULL)
		return -1;
	*new = (struct dw_file){
	    .name = name,
	    .dir = (uint32_t)(dir <= UINT32_MAX ? dir : UINT32_MAX)};
	return 0;
}

/* Number 0 is not in the tables: it is the unit's directory and file. */
static int read_old_tables(struct dw_unit *u, struct header *h,
			   struct dw_lines *l)
{
	struct dw *d = u->d;

	if (add_dir(d, l, dw_dir(u)) < 0 ||
	    add_file(d, l, dw_text(u, &u->name_value), 0) < 0)
		return -1;
	for (;;) {
		const char *dir = cursor_text(&h->c);

		if (h->c.bad || dir[0] == '\0')
			break;
		if (add_dir(d, l, dir) < 0)
			return -1;
	}
	for (;;) {
		const char *name = cursor_text(&h->c);
		uint64_t dir;

		if (h->c.bad || name[0] == '\0')
			break;
		dir = cursor_uleb(&h->c);
		cursor_uleb(&h->c); /* when written */
		cursor_uleb(&h->c); /* how long */
		if (add_file(d, l, name, dir) < 0)
			return -1;
	}
	return 0;
}

/* -- Files, from DWARF 5 on -- */

enum { FORMATS = 32 };
enum { LNCT_PATH = 1, LNCT_DIRECTORY = 2 };

struct format {
	uint64_t content[FORMATS], form[FORMATS];
	unsigned n;
};

static void read_format(struct cursor *c, struct format *f)
{
	f->n = cursor_u8(c);
	if (f->n > FORMATS) {
		f->n = 0;
		cursor_fail(c);
	}
	for (unsigned i = 0; i < f->n && !c->bad; i++) {
		f->content[i] = cursor_uleb(c);
		f->form[i] = cursor_uleb(c);
	}
}

/* Files or directories; 0, or -1 without memory. */
static int read_new_table(struct dw_unit *u, struct header *h,
			  struct dw_lines *l, bool dirs)
{
	struct format f = {.n = 0};
	uint64_t n;

	read_format(&h->c, &f);
	n = cursor_uleb(&h->c);
	if (n > cursor_left(&h->c))
		cursor_fail(&h->c); /* L3 */
	for (uint64_t i = 0; i < n && !h->c.bad; i++) {
		const char *path = NULL;
		uint64_t dir = 0;

		if (!dw_spend(u->d, 1 + f.n)) {
			cursor_fail(&h->c);
			break;
		}
		for (unsigned k = 0; k < f.n; k++) {
			struct dw_value v =
			    dw_read(&h->c, f.form[k], 0, h->sizes, 0);

			if (f.content[k] == LNCT_PATH)
				path = dw_text(u, &v);
			else if (f.content[k] == LNCT_DIRECTORY)
				dir = v.u;
		}
		if ((dirs ? add_dir(u->d, l, path)
			  : add_file(u->d, l, path, dir)) < 0)
			return -1;
	}
	return 0;
}

/* -- The header -- */

static bool read_lengths(struct dw_unit *u, uint64_t offset, struct header *h)
{
	struct cursor c = dw_window(u->d, DWARF_LINE, offset, 12);
	uint64_t len = cursor_u32(&c), skip = 4;

	*h = (struct header){.sizes = u->sizes};
	h->sizes.offset = 4;
	if (len == UINT32_MAX) {
		len = cursor_u64(&c);
		skip = 12;
		h->sizes.offset = 8;
	}
	if (c.bad)
		return false;
	h->c = dw_window(u->d, DWARF_LINE, offset + skip, len);
	return len > 0 && cursor_left(&h->c) == len;
}

static bool read_header(struct header *h)
{
	struct cursor *c = &h->c;
	uint16_t version = cursor_u16(c);
	uint64_t len;

	h->sizes.version = (uint8_t)version;
	if (version < 2 || version > 5)
		return false;
	if (version == 5) {
		h->sizes.address = cursor_u8(c);
		cursor_u8(c); /* segments */
	}
	len = cursor_uint(c, h->sizes.offset);
	if (c->bad || len > cursor_left(c))
		return false;
	h->program = c->at + len;
	h->min_len = cursor_u8(c);
	if (version >= 4)
		cursor_u8(c); /* operations an instruction: 1 on x86 */
	h->is_stmt = cursor_u8(c) != 0;
	h->line_base = (int8_t)cursor_u8(c);
	h->line_range = cursor_u8(c);
	h->opcode_base = cursor_u8(c);
	for (unsigned i = 1; i < h->opcode_base; i++)
		h->operands[i] = cursor_u8(c);
	return !c->bad && h->line_range != 0 && h->opcode_base != 0;
}

/* -- The machine -- */

/* ORDER dw_lns: the numbers are DWARF's. */
enum {
	LNS_EXTENDED,
	LNS_COPY,
	LNS_ADVANCE_PC,
	LNS_ADVANCE_LINE,
	LNS_SET_FILE,
	LNS_SET_COLUMN,
	LNS_NEGATE_STMT,
	LNS_BASIC_BLOCK,
	LNS_CONST_ADD_PC,
	LNS_FIXED_ADVANCE_PC,
	LNS_MAX = 13
};
enum { LNE_END_SEQUENCE = 1, LNE_SET_ADDRESS = 2 };

struct machine {
	struct dw *d;
	const struct header *h;
	struct cursor c;
	struct dw_lines *out;
	uint64_t addr, line, file, column;
	bool is_stmt;
	size_t first;	   /* row of this sequence */
	bool out_of_order; /* sequences are not sorted yet */
	uint64_t last_end;
};

static void reset(struct machine *m)
{
	m->addr = 0;
	m->line = 1;
	m->file = 1;
	m->column = 0;
	m->is_stmt = m->h->is_stmt;
	m->first = m->out->rows.n;
}

static int append(struct machine *m, bool end)
{
	size_t n = m->out->rows.n;
	struct dw_row *new;

	if (n > m->first && m->addr < m->out->rows.at[n - 1].addr)
		return 0; /* L2 */
	new = vec_push(&m->out->rows, m->d->heap);
	if (new == NULL)
		return -1;
	*new = (struct dw_row){
	    .addr = m->addr,
	    .line = (uint32_t)(m->line <= LINES_MAX ? m->line : 0) & LINES_MAX,
	    .is_stmt = m->is_stmt,
	    .is_end = end,
	    .file = (uint16_t)(m->file <= UINT16_MAX ? m->file : UINT16_MAX),
	    .column = (uint16_t)(m->column <= UINT16_MAX ? m->column : 0)};
	return 0;
}

/* Keeps the sequence if it is code, and does not end before it begins. */
static int end_sequence(struct machine *m)
{
	struct dw_lines *l = m->out;
	uint64_t start;

	if (append(m, true) < 0)
		return -1;
	start = l->rows.at[m->first].addr;
	if (!l->rows.at[l->rows.n - 1].is_end ||
	    !elf_is_code(m->d->file->elf, start)) {
		l->rows.n = m->first;
	} else {
		m->out_of_order = m->out_of_order || start < m->last_end;
		m->last_end = l->rows.at[l->rows.n - 1].addr;
	}
	reset(m);
	return 0;
}

static int run_extended(struct machine *m)
{
	uint64_t len = cursor_uleb(&m->c);
	struct cursor body = m->c;
	uint8_t op;

	cursor_skip(&m->c, len);
	if (m->c.bad || len == 0)
		return 0;
	body.end = m->c.at;
	op = cursor_u8(&body);
	if (op == LNE_END_SEQUENCE)
		return end_sequence(m);
	if (op == LNE_SET_ADDRESS)
		m->addr = cursor_uint(&body, cursor_left(&body));
	return 0;
}

static void run_standard(struct machine *m, uint8_t op)
{
	const struct header *h = m->h;

	switch (op) {
	case LNS_ADVANCE_PC:
		m->addr += cursor_uleb(&m->c) * h->min_len;
		break;
	case LNS_ADVANCE_LINE:
		m->line += (uint64_t)cursor_sleb(&m->c);
		break;
	case LNS_SET_FILE:
		m->file = cursor_uleb(&m->c);
		break;
	case LNS_SET_COLUMN:
		m->column = cursor_uleb(&m->c);
		break;
	case LNS_NEGATE_STMT:
		m->is_stmt = !m->is_stmt;
		break;
	case LNS_CONST_ADD_PC:
		m->addr += (uint64_t)((255 - h->opcode_base) / h->line_range *
				      h->min_len);
		break;
	case LNS_FIXED_ADVANCE_PC:
		m->addr += cursor_u16(&m->c);
		break;
	default: /* what it is does not matter, how long it is does */
		for (unsigned i = 0; i < h->operands[op]; i++)
			cursor_uleb(&m->c);
	}
}

static int run_one(struct machine *m)
{
	const struct header *h = m->h;
	uint8_t op = *m->c.at++;

	if (op >= h->opcode_base) {
		unsigned adjusted = (unsigned)(op - h->opcode_base);

		m->addr += (uint64_t)(adjusted / h->line_range * h->min_len);
		m->line +=
		    (uint64_t)(h->line_base + (int)(adjusted % h->line_range));
		return append(m, false);
	}
	if (op == LNS_EXTENDED)
		return run_extended(m);
	if (op == LNS_COPY)
		return append(m, false);
	run_standard(m, op);
	return 0;
}

/* -- Sequences in order -- */

struct sequence {
	uint64_t start;
	size_t first, n;
};

struct sequences {
	VEC(struct sequence);
};

static int by_start(const void *a, const void *b)
{
	const struct sequence *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static int list_sequences(struct dw *d, const struct dw_lines *l,
			  struct sequences *out)
{
	for (size_t i = 0, first = 0; i < l->rows.n; i++) {
		struct sequence *new;

		if (!l->rows.at[i].is_end)
			continue;
		new = vec_push(out, d->heap);
		if (new == NULL)
			return -1;
		*new = (struct sequence){l->rows.at[first].addr, first,
					 i + 1 - first};
		first = i + 1;
	}
	return 0;
}

/* Copies the rows in the order of addresses; L2. */
static int sort_rows(struct dw *d, struct dw_lines *l)
{
	struct sequences all = {0};
	struct dw_row *sorted = heap_take(d->heap, l->rows.n * sizeof *sorted);
	uint64_t until = 0;
	size_t n = 0;
	int rc = sorted != NULL ? list_sequences(d, l, &all) : -1;

	if (rc == 0 && all.n > 0) {
		qsort(all.at, all.n, sizeof *all.at, by_start);
		for (size_t i = 0; i < all.n; i++) {
			const struct sequence *s = &all.at[i];

			for (size_t k = 0; k < s->n; k++)
				if (l->rows.at[s->first + k].addr >= until)
					sorted[n++] = l->rows.at[s->first + k];
			until = n > 0 ? sorted[n - 1].addr : 0;
		}
		memcpy(l->rows.at, sorted, n * sizeof *sorted);
	}
	heap_give(d->heap, sorted, l->rows.n * sizeof *sorted);
	l->rows.n = rc == 0 ? n : 0;
	vec_free(&all, d->heap);
	return rc;
}

/* -- Reading -- */

static int read_rows(struct dw_unit *u, const struct header *h,
		     struct dw_lines *l)
{
	struct machine m = {.d = u->d, .h = h, .out = l};

	m.c = cursor_of(h->program, (size_t)(h->c.end - h->program));
	reset(&m);
	while (!m.c.bad && cursor_left(&m.c) > 0)
		if (run_one(&m) < 0)
			return -1;
	l->rows.n = m.first; /* a sequence without an end is none */
	if (m.out_of_order && sort_rows(u->d, l) < 0)
		return -1;
	vec_trim(&l->rows, u->d->heap);
	return 0;
}

static int read_all(struct dw_unit *u, uint64_t offset, bool with_rows,
		    struct dw_lines *l, struct hark_err *err)
{
	struct header h;
	int rc;

	if (!read_lengths(u, offset, &h) || !read_header(&h))
		return damaged(u->d, err);
	l->version = h.sizes.version;
	if (h.sizes.version < 5) {
		rc = read_old_tables(u, &h, l);
	} else {
		rc = read_new_table(u, &h, l, true);
		rc = rc < 0 ? rc : read_new_table(u, &h, l, false);
	}
	if (rc < 0 || (with_rows && read_rows(u, &h, l) < 0))
		return dw_no_memory(u->d, err);
	return 0;
}

void dw_lines_free(struct dw *d, struct dw_lines *l)
{
	if (l == NULL)
		return;
	vec_free(&l->rows, d->heap);
	vec_free(&l->files, d->heap);
	vec_free(&l->dirs, d->heap);
	heap_give(d->heap, l, sizeof *l);
}

struct dw_lines *dw_lines_read(struct dw_unit *u, uint64_t offset,
			       bool with_rows, struct hark_err *err)
{
	struct dw_lines *l = heap_take(u->d->heap, sizeof *l);

	if (l == NULL) {
		dw_no_memory(u->d, err);
		return NULL;
	}
	memset(l, 0, sizeof *l);
	if (read_all(u, offset, with_rows, l, err) < 0) {
		dw_lines_free(u->d, l);
		return NULL;
	}
	return l;
}

struct dw_lines *dw_lines_of(struct dw_unit *u, struct hark_err *err)
{
	if (u->lines == NULL && u->has_lines && !u->lines_bad) {
		u->lines = dw_lines_read(u, u->lines_at, true, err);
		u->lines_bad = u->lines == NULL;
	} else if (u->lines == NULL) {
		err_set(err, HARK_ENOENT, 0, "%s: no lines for this code",
			elf_name(u->d->elf));
	}
	return u->lines;
}

/* Without those of a skeleton. */
static struct dw_lines *own_files(struct dw_unit *u)
{
	/* A split unit may have files of its own, at the section's start. */
	bool own = u->d->split && u->d->section[DWARF_LINE] != NULL;

	if (u->lines != NULL)
		return u->lines;
	if (u->files == NULL && !u->files_bad && (u->has_lines || own)) {
		u->files = dw_lines_read(u, own ? 0 : u->lines_at, false, NULL);
		u->files_bad = u->files == NULL;
	}
	return u->files;
}

struct dw_lines *dw_files_of(struct dw_unit **u)
{
	struct dw_lines *files = own_files(*u);

	if (files == NULL && (*u)->skeleton != NULL) {
		*u = (*u)->skeleton;
		files = own_files(*u);
	}
	return files;
}

/* -- Questions -- */

const struct dw_row *dw_row_at(const struct dw_lines *l, uint64_t addr)
{
	size_t lo = 0, hi = l->rows.n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (l->rows.at[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > 0 && !l->rows.at[lo - 1].is_end ? &l->rows.at[lo - 1]
						    : NULL;
}

/* a/b, or b alone if it is absolute or there is no a. */
static const char *join(struct arena *arena, const char *a, const char *b)
{
	size_t a_len, b_len;
	char *path;

	if (a == NULL || a[0] == '\0' || b[0] == '/')
		return b;
	a_len = strlen(a);
	b_len = strlen(b);
	path = arena_take(arena, a_len + b_len + 2);
	if (path == NULL)
		return NULL;
	memcpy(path, a, a_len);
	path[a_len] = '/';
	memcpy(path + a_len + 1, b, b_len + 1);
	return path;
}

const char *dw_path(struct dw_unit *u, struct dw_lines *l, uint64_t number)
{
	struct arena *arena = &u->d->arena;
	struct dw_file *f;
	const char *dir;

	if (number >= l->files.n)
		return NULL;
	f = &l->files.at[number];
	if (f->path != NULL || f->name == NULL)
		return f->path;
	dir = f->dir < l->dirs.n ? l->dirs.at[f->dir] : NULL;
	if (dir != NULL && f->dir != 0)
		dir = join(arena, dw_dir(u), dir);
	f->path = join(arena, dir, f->name);
	return f->path;
}
