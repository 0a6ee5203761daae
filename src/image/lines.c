/* image/lines.c - which source line is this code, and where is that line? */
#include "image/lines.h"

#include "image/dw_priv.h"

#include <stdlib.h>

enum { LOOK_AHEAD = 64 }; /* rows at one address */

static struct dw *begin(struct image_file *f, struct hark_err *err)
{
	dw_begin(f);
	return dw_of(f, err);
}

/* -- From addresses to lines -- */

static int nothing(const struct image_file *f, uint64_t addr,
		   struct hark_err *err)
{
	return err_set(err, HARK_ENOENT, 0, "%s: no line for 0x%lx", f->name,
		       (unsigned long)addr);
}

/* The scopes around an address, innermost first, up to the function that is
 * not inlined. */
static size_t climb(const struct dw_scopes *s, uint64_t addr, uint32_t *chain)
{
	uint32_t i = dw_owner_at(&s->steps, addr);
	size_t n = 0;

	while (i < s->all.n && n < LINES_DEPTH) {
		chain[n++] = i;
		if (!s->all.at[i].inlined)
			break;
		i = s->all.at[i].outer;
	}
	return n;
}

/* Where the scope was called from. */
static void set_call(struct dw_unit *u, const struct dw_scope *s,
		     struct line_frame *frame)
{
	struct dw_lines *files = dw_files_of(&u);

	frame->line = s->line;
	frame->column = s->column;
	frame->file = files != NULL ? dw_path(u, files, s->file) : NULL;
}

int lines_at(struct image_file *f, uint64_t addr, struct line_frame *out,
	     size_t max, size_t *n, struct hark_err *err)
{
	struct dw *d = begin(f, err);
	struct dw_unit *u = d != NULL ? dw_unit_at(d, addr) : NULL, *full;
	struct line_frame here = {0};
	struct dw_lines *lines;
	struct dw_scopes *scopes;
	const struct dw_row *row;
	uint32_t chain[LINES_DEPTH];
	size_t depth;

	if (d == NULL)
		return -1;
	if (u == NULL || max == 0)
		return nothing(f, addr, err);
	lines = dw_lines_of(u, NULL);
	row = lines != NULL ? dw_row_at(lines, addr) : NULL;
	if (row != NULL) {
		here.file = dw_path(u, lines, row->file);
		here.line = row->line;
		here.column = row->column;
	}
	full = dw_full(u);
	scopes = dw_scopes_of(full, NULL);
	depth = scopes != NULL ? climb(scopes, addr, chain) : 0;
	if (depth == 0 && row == NULL)
		return nothing(f, addr, err);
	if (depth == 0) {
		out[0] = here;
		*n = 1;
		return 0;
	}
	*n = depth < max ? depth : max;
	for (size_t i = 0; i < *n; i++) {
		struct dw_scope *s = &scopes->all.at[chain[i]];
		struct line_frame *to = &out[*n - 1 - i];

		*to = here;
		dw_scope_name(full, s);
		to->function = s->pretty;
		to->linked = s->name;
		to->inlined = s->inlined;
		set_call(full, s, &here); /* of the one around it */
	}
	return 0;
}

/* -- From lines to addresses -- */

struct sites {
	VEC(uint64_t);
};

/* Is path the file that was meant: the whole of it, or its last parts? */
static bool is_meant(const char *path, const char *file)
{
	size_t path_len = strlen(path), len = strlen(file);

	if (len > path_len || strcmp(path + path_len - len, file) != 0)
		return false;
	return len == path_len || file[0] == '/' ||
	       path[path_len - len - 1] == '/';
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* Paths are only made for files that may be it. */
static bool is_file(struct dw_unit *u, struct dw_lines *l, size_t number,
		    const char *file)
{
	const char *name = l->files.at[number].name, *path;

	if (name == NULL || strcmp(last_part(name), last_part(file)) != 0)
		return false;
	path = dw_path(u, l, number);
	return path != NULL && is_meant(path, file);
}

static bool has_file(struct dw_unit *u, const char *file)
{
	struct dw_lines *l = u->lines;
	bool found = false;

	if (l == NULL)
		l = dw_lines_read(u, u->lines_at, false, NULL);
	for (size_t i = 0; l != NULL && i < l->files.n && !found; i++)
		found = is_file(u, l, i, file);
	if (l != u->lines)
		dw_lines_free(u->d, l);
	return found;
}

/* Does the row begin a stretch of its line? before is the statement in front
 * of it, or NULL. */
static bool is_start(const struct dw_row *before, const struct dw_row *r)
{
	if (r->is_end || !r->is_stmt || r->line == 0)
		return false;
	return before == NULL || before->is_end || before->line != r->line ||
	       before->file != r->file;
}

/* Several statements may begin at one address, where the optimizer left no
 * code to all but the last: the others are hollow, and answer only if their
 * line has no better place. */
static bool is_hollow(const struct dw_lines *l, size_t i)
{
	const struct dw_row *r = &l->rows.at[i];

	for (size_t k = i + 1; k < l->rows.n && k <= i + LOOK_AHEAD; k++) {
		const struct dw_row *next = &l->rows.at[k];

		if (next->addr != r->addr || next->is_end)
			return false;
		if (next->is_stmt)
			return true;
	}
	return false;
}

struct search {
	const struct heap *heap;
	const char *file;
	uint32_t line, next; /* next: the best so far, 0: none */
	struct sites sites, hollow;
};

/* Calls take for each row of the file that begins a line; 0 or -1. */
static int each_row(struct dw_unit *u, struct dw_lines *l,
		    int (*take)(struct search *s, const struct dw_row *row,
				bool hollow),
		    struct search *s)
{
	const struct dw_row *before = NULL;

	for (size_t i = 0; i < l->rows.n; i++) {
		const struct dw_row *r = &l->rows.at[i];

		if (is_start(before, r) && r->file < l->files.n &&
		    is_file(u, l, r->file, s->file) &&
		    take(s, r, is_hollow(l, i)) < 0)
			return -1;
		if (r->is_end || (r->is_stmt && !is_hollow(l, i)))
			before = r;
	}
	return 0;
}

static int each_start(struct image_file *f,
		      int (*take)(struct search *s, const struct dw_row *row,
				  bool hollow),
		      struct search *s, struct hark_err *err)
{
	struct dw *d = begin(f, err);

	if (d == NULL)
		return -1;
	for (size_t i = 0; i < d->units.n; i++) {
		struct dw_unit *u = &d->units.at[i];
		struct dw_lines *l;

		if (!u->has_lines || !has_file(u, s->file))
			continue;
		l = dw_lines_of(u, NULL);
		if (l != NULL && each_row(u, l, take, s) < 0)
			return dw_no_memory(d, err);
	}
	return 0;
}

static int take_site(struct search *s, const struct dw_row *row, bool hollow)
{
	uint64_t *new;

	if (row->line != s->line)
		return 0;
	new = vec_push(hollow ? &s->hollow : &s->sites, s->heap);
	if (new == NULL)
		return -1;
	*new = row->addr;
	return 0;
}

static int take_next(struct search *s, const struct dw_row *row, bool hollow)
{
	(void)hollow;
	if (row->line >= s->line && (s->next == 0 || row->line < s->next))
		s->next = row->line;
	return 0;
}

static int no_line(const struct image_file *f, const char *file, uint32_t line,
		   struct hark_err *err)
{
	return err_set(err, HARK_ENOENT, 0, "%s: no code for %s:%u", f->name,
		       file, line);
}

static int by_address(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int lines_sites(struct image_file *f, const char *file, uint32_t line,
		int (*visit)(void *ctx, uint64_t addr), void *ctx,
		struct hark_err *err)
{
	struct search s = {
	    .heap = &f->elf->budget.heap, .file = file, .line = line};
	int rc = each_start(f, take_site, &s, err);
	struct sites *all = s.sites.n > 0 ? &s.sites : &s.hollow;

	if (rc == 0 && all->n == 0)
		rc = no_line(f, file, line, err);
	else if (rc == 0)
		qsort(all->at, all->n, sizeof *all->at, by_address);
	for (size_t i = 0; rc == 0 && i < all->n; i++)
		if (i == 0 || all->at[i] != all->at[i - 1])
			rc = visit(ctx, all->at[i]);
	vec_free(&s.sites, s.heap);
	vec_free(&s.hollow, s.heap);
	return rc;
}

int lines_next(struct image_file *f, const char *file, uint32_t line,
	       uint32_t *out, struct hark_err *err)
{
	struct search s = {.file = file, .line = line};

	if (each_start(f, take_next, &s, err) < 0)
		return -1;
	if (s.next == 0)
		return no_line(f, file, line, err);
	*out = s.next;
	return 0;
}

/* -- Inlined functions -- */

static bool is_called(const char *plain, const char *name, size_t len)
{
	return plain != NULL && strncmp(plain, name, len) == 0 &&
	       (plain[len] == '\0' || plain[len] == '<');
}

/* Of a scope that is inlined. */
static struct lines_inlined inlined_of(struct dw_unit *u, struct dw_scopes *all,
				       struct dw_scope *s)
{
	struct line_frame call = {0};
	struct lines_inlined out = {.addr = s->entry};

	dw_scope_name(u, s);
	out.linked = s->name;
	set_call(u, s, &call);
	out.file = call.file;
	out.line = call.line;
	if (s->outer < all->all.n) {
		struct dw_scope *outer = &all->all.at[s->outer];

		dw_scope_name(u, outer);
		out.caller = outer->pretty;
	}
	return out;
}

static int visit_inlined(struct dw_unit *u, const char *name, size_t len,
			 int (*visit)(void *ctx,
				      const struct lines_inlined *at),
			 void *ctx)
{
	struct dw_scopes *all = dw_scopes_of(u, NULL);
	struct lines_inlined at;
	int rc = 0;

	for (size_t i = 0; all != NULL && i < all->all.n && rc == 0; i++) {
		struct dw_scope *s = &all->all.at[i];

		if (!s->inlined || !is_called(dw_scope_plain(u, s), name, len))
			continue;
		at = inlined_of(u, all, s);
		if (at.linked != NULL)
			rc = visit(ctx, &at);
	}
	return rc;
}

int lines_inlined(struct image_file *f, const char *name, size_t len,
		  int (*visit)(void *ctx, const struct lines_inlined *at),
		  void *ctx, struct hark_err *err)
{
	struct dw *d = begin(f, err);
	int rc = 0;

	if (d == NULL)
		return -1;
	for (size_t i = 0; i < d->units.n && rc == 0; i++)
		rc = visit_inlined(dw_full(&d->units.at[i]), name, len, visit,
				   ctx);
	return rc;
}

/* -- Files -- */

static int visit_files(struct dw_unit *u,
		       int (*visit)(void *ctx, const char *path,
				    const char *dir),
		       void *ctx)
{
	struct dw_lines *l = dw_lines_read(u, u->lines_at, false, NULL);
	int rc = 0;

	for (size_t i = 0; l != NULL && i < l->files.n && rc == 0; i++) {
		const char *path = dw_path(u, l, i);

		if (path != NULL)
			rc = visit(ctx, path, dw_dir(u));
	}
	if (l != NULL)
		dw_lines_free(u->d, l);
	return rc;
}

int lines_files(struct image_file *f,
		int (*visit)(void *ctx, const char *path, const char *dir),
		void *ctx, struct hark_err *err)
{
	struct dw *d = begin(f, err);
	int rc = 0;

	if (d == NULL)
		return -1;
	for (size_t i = 0; i < d->units.n && rc == 0; i++)
		if (d->units.at[i].has_lines)
			rc = visit_files(&d->units.at[i], visit, ctx);
	return rc;
}
