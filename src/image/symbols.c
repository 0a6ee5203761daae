/* image/symbols.c - what is at this address, and where is that name?
 *
 * Two lists by address, one for code and one for data, hold the best name of
 * each address; a third one, made when a name is first asked for, holds all
 * names in the order of the alphabet. A symbol may lie inside another (a
 * label in a function): each knows the one around it, so that an address
 * behind the inner one's end finds the outer one without a search.
 *
 * Y1  code and data ascend strictly by address.
 * Y2  outer of an entry is 0 or the index + 1 of an earlier entry whose end
 *     is beyond this entry's address. */
#include "image/symbols_priv.h"

#include "image/demangle.h"
#include "image/frames_priv.h"
#include "image/image_priv.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENDS_MAX = 32 };

static int no_memory(const struct image_file *f, struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, 0, "%s: no memory for its symbols",
		       f->name);
}

/* -- Which name is the best -- */

/* ORDER symbol_kind: lower is better. */
static const uint8_t kind_rank[] = {
    [SYMBOL_FUNCTION] = 0, [SYMBOL_IFUNC] = 0, [SYMBOL_PLT] = 1,
    [SYMBOL_LABEL] = 2,	   [SYMBOL_SUB] = 3,   [SYMBOL_OBJECT] = 0};

static int by_worth(const struct symbol_entry *a, const struct symbol_entry *b)
{
	size_t a_len, b_len;

	if (kind_rank[a->kind] != kind_rank[b->kind])
		return kind_rank[a->kind] - kind_rank[b->kind];
	if (a->sized != b->sized)
		return b->sized - a->sized;
	if (a->binding != b->binding)
		return a->binding - b->binding;
	a_len = strlen(a->name);
	b_len = strlen(b->name);
	if (a_len != b_len)
		return a_len < b_len ? -1 : 1;
	return strcmp(a->name, b->name);
}

static int by_address(const void *a, const void *b)
{
	const struct symbol_entry *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return by_worth(x, y);
}

static int by_name(const void *a, const void *b)
{
	const struct symbol_entry *x = ((const struct symbol_name *)a)->of;
	const struct symbol_entry *y = ((const struct symbol_name *)b)->of;
	int order = strcmp(x->name, y->name);

	if (order != 0)
		return order;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return by_address(x, y);
}

static int set_aside(struct symbols *s, const struct symbol_entry *e)
{
	struct symbol_entry *new = vec_push(&s->more, s->heap);

	if (new == NULL)
		return -1;
	*new = *e;
	return 0;
}

static size_t sorted_until(const struct symbol_list *l)
{
	size_t i = 1;

	while (i < l->n && by_address(&l->at[i - 1], &l->at[i]) <= 0)
		i++;
	return i < l->n ? i : l->n;
}

/* What was sorted before has a few new ones behind it: these are sorted, then
 * put between. */
static int sort(struct symbols *s, struct symbol_list *l)
{
	size_t old = sorted_until(l), n = l->n - old, to = l->n;
	size_t len = n * sizeof *l->at;
	struct symbol_entry *new;

	if (n == 0)
		return 0;
	qsort(l->at + old, n, sizeof *l->at, by_address);
	new = heap_take(s->heap, len);
	if (new == NULL)
		return -1;
	memcpy(new, l->at + old, len);
	while (n > 0)
		if (old > 0 && by_address(&l->at[old - 1], &new[n - 1]) > 0)
			l->at[--to] = l->at[--old];
		else
			l->at[--to] = new[--n];
	heap_give(s->heap, new, len);
	return 0;
}

/* Sorts, leaves one an address, and sets the others aside. A label inside a
 * function goes too: who asks for an address wants the function. */
static int choose(struct symbols *s, struct symbol_list *l)
{
	uint64_t until = 0;
	size_t n = 0;

	if (sort(s, l) < 0)
		return -1;
	for (size_t i = 0; i < l->n; i++) {
		struct symbol_entry *e = &l->at[i];
		bool first = n == 0 || l->at[n - 1].addr != e->addr;

		if (first &&
		    (e->kind != SYMBOL_LABEL || e->sized || e->addr >= until)) {
			if (e->kind == SYMBOL_FUNCTION && e->sized &&
			    e->addr + e->size > until)
				until = e->addr + e->size;
			l->at[n++] = *e;
		} else if ((first || strcmp(l->at[n - 1].name, e->name) != 0) &&
			   set_aside(s, e) < 0) {
			return -1;
		}
	}
	l->n = n;
	return 0;
}

/* -- Sizes and nesting -- */

/* Ends of the sections that have code; of real files these are a handful. */
struct ends {
	uint64_t start[ENDS_MAX], end[ENDS_MAX];
	size_t n;
};

static void find_ends(const struct elf *e, struct ends *out)
{
	out->n = 0;
	for (size_t i = 0; i < e->n_sec && out->n < ENDS_MAX; i++) {
		const Elf64_Shdr *h = &e->sec[i].h;

		if ((h->sh_flags & SHF_EXECINSTR) == 0 ||
		    h->sh_addr + h->sh_size < h->sh_addr)
			continue;
		out->start[out->n] = h->sh_addr;
		out->end[out->n++] = h->sh_addr + h->sh_size;
	}
}

/* What has no size ends where the next one begins, or its section ends. */
static void give_sizes(struct symbol_list *l, const struct ends *ends)
{
	for (size_t i = 0; i < l->n; i++) {
		struct symbol_entry *s = &l->at[i];
		uint64_t end;

		if (s->sized)
			continue;
		end = i + 1 < l->n ? l->at[i + 1].addr : s->addr;
		for (size_t k = 0; k < ends->n; k++)
			if (s->addr >= ends->start[k] &&
			    s->addr < ends->end[k] &&
			    (end > ends->end[k] || end == s->addr))
				end = ends->end[k];
		s->size = end > s->addr ? end - s->addr : 1;
	}
}

static void find_outer(struct symbol_list *l)
{
	for (size_t i = 1; i < l->n; i++) {
		size_t o = i; /* index + 1 of the one before */

		while (o > 0 &&
		       l->at[o - 1].addr + l->at[o - 1].size <= l->at[i].addr)
			o = l->at[o - 1].outer;
		l->at[i].outer = (uint32_t)o;
	}
}

static const struct symbol_entry *find(const struct symbol_list *l,
				       uint64_t addr)
{
	size_t lo = 0, hi = l->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (l->at[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	while (lo > 0) {
		const struct symbol_entry *e = &l->at[lo - 1];

		if (addr - e->addr < e->size)
			return e;
		lo = e->outer;
	}
	return NULL;
}

/* -- Code that has no name -- */

/* rt_sigreturn, as C libraries write it: unwinders know it by these bytes. */
static bool is_sigreturn(struct image_file *f, uint64_t addr)
{
	static const uint8_t rax[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 5};
	static const uint8_t eax[] = {0xb8, 15, 0, 0, 0, 0x0f, 5};
	uint8_t bytes[sizeof rax];
	size_t got;

	return image_file_read(f, addr, bytes, sizeof bytes, &got, NULL) == 0 &&
	       ((got >= sizeof rax && memcmp(bytes, rax, sizeof rax) == 0) ||
		(got >= sizeof eax && memcmp(bytes, eax, sizeof eax) == 0));
}

/* Where the code of these rules begins; false: that cannot be known. The rules
 * of the code that signal handlers return to begin one byte before it, because
 * some unwinders look up the address before a return address. */
static bool begin_of(struct image_file *f, const struct cfi_fde *fde,
		     uint64_t *out)
{
	*out = fde->start;
	if (!fde->is_signal || is_sigreturn(f, fde->start))
		return true;
	*out = fde->start + 1;
	return *out < fde->end && is_sigreturn(f, *out);
}

static int add_sub(struct symbols *s, uint64_t start, uint64_t end)
{
	char text[32];
	struct symbol_entry *new;
	const char *name;

	snprintf(text, sizeof text, "sub_%lx", (unsigned long)start);
	name = arena_text(&s->arena, text, strlen(text));
	new = name != NULL ? vec_push(&s->code, s->heap) : NULL;
	if (new == NULL)
		return -1;
	*new = (struct symbol_entry){.name = name,
				     .addr = start,
				     .size = end - start,
				     .kind = SYMBOL_SUB,
				     .binding = SYMBOL_LOCAL,
				     .sized = 1};
	return 0;
}

/* Pieces of code with call-frame rules and without a symbol; and sizes for
 * labels that begin such a piece. */
static int add_subs(struct symbols *s, struct image_file *f)
{
	struct frames_list fdes = {0};
	struct frames_stats stats = {0};
	struct frames_input in;
	size_t n = s->code.n, at = 0;
	struct symbol_list known = s->code;
	int rc = 0;

	if (frames_find(f->elf, NULL, &in, NULL) < 0 ||
	    frames_collect(&in, &fdes, &stats, NULL) < 0)
		return 0; /* no rules: no such code */
	for (size_t i = 0; rc == 0 && i < fdes.n; i++) {
		uint64_t start, end = fdes.at[i].end;

		if (!begin_of(f, &fdes.at[i], &start))
			continue;
		while (at < n && s->code.at[at].addr < start)
			at++;
		if (at < n && s->code.at[at].addr == start) {
			struct symbol_entry *e = &s->code.at[at];

			/* What follows a signal's return is filling. */
			if (!e->sized && !fdes.at[i].is_signal) {
				e->size = end - start;
				e->sized = 1;
			}
			continue;
		}
		known.at = s->code.at;
		if (find(&known, start) == NULL)
			rc = add_sub(s, start, end);
	}
	vec_free(&fdes, in.heap);
	return rc;
}

/* -- Building -- */

static bool has(struct elf *e, const char *name)
{
	struct elf_section *s = e != NULL ? elf_section(e, name) : NULL;

	return s != NULL && s->h.sh_type != SHT_NOBITS && s->h.sh_size > 0;
}

/* One source; a damaged one is passed over unless it was memory. */
static int read_source(struct symbols *s, struct image_file *f, struct elf *e,
		       const char *section, int source, struct hark_err *err)
{
	struct hark_err why = {0};

	if (!has(e, section))
		return 0;
	if (symtab_read(s, e, section, f->elf, &s->code, &s->data, &why) == 0) {
		s->sources |= source;
		return 0;
	}
	if (why.code != HARK_ENOMEM)
		return 0;
	if (err != NULL)
		*err = why;
	return -1;
}

static int read_sources(struct symbols *s, struct image_file *f, bool is_own,
			struct hark_err *err)
{
	if (read_source(s, f, f->elf, ".symtab", SYMBOLS_SYMTAB, err) < 0)
		return -1;
	if ((s->sources & SYMBOLS_SYMTAB) == 0) {
		if (!is_own && read_source(s, f, image_file_separate(f),
					   ".symtab", SYMBOLS_DEBUG, err) < 0)
			return -1;
		if ((s->sources & SYMBOLS_DEBUG) == 0 &&
		    read_source(s, f, image_file_mini(f), ".symtab",
				SYMBOLS_MINI, err) < 0)
			return -1;
	}
	return read_source(s, f, f->elf, ".dynsym", SYMBOLS_DYNSYM, err);
}

void symbols_free(struct symbols *s)
{
	if (s == NULL)
		return;
	heap_give(s->heap, s->pretty, s->code.n * sizeof *s->pretty);
	vec_free(&s->code, s->heap);
	vec_free(&s->data, s->heap);
	vec_free(&s->more, s->heap);
	vec_free(&s->names, s->heap);
	arena_fini(&s->arena);
	heap_give(s->heap, s, sizeof *s);
}

static int build(struct symbols *s, struct image_file *f, bool is_own,
		 struct hark_err *err)
{
	struct ends ends;

	if (elf_sections(f->elf, err) < 0 ||
	    read_sources(s, f, is_own, err) < 0)
		return -1;
	if (choose(s, &s->code) < 0 || choose(s, &s->data) < 0)
		return no_memory(f, err);
	if (plt_read(s, f->elf, &s->code, err) < 0)
		return -1;
	if (choose(s, &s->code) < 0)
		return no_memory(f, err);
	find_outer(&s->code);
	if (add_subs(s, f) < 0 || choose(s, &s->code) < 0)
		return no_memory(f, err);
	find_ends(f->elf, &ends);
	give_sizes(&s->code, &ends);
	ends.n = 0;
	give_sizes(&s->data, &ends);
	for (size_t i = 0; i < s->code.n; i++)
		s->code.at[i].outer = 0;
	find_outer(&s->code);
	find_outer(&s->data);
	if (sort(s, &s->more) < 0)
		return no_memory(f, err);
	vec_trim(&s->code, s->heap);
	vec_trim(&s->data, s->heap);
	vec_trim(&s->more, s->heap);
	return 0;
}

static struct symbols *symbols_make(struct image_file *f, bool is_own,
				    struct hark_err *err)
{
	const struct heap *heap = &f->elf->budget.heap;
	struct symbols *s = heap_take(heap, sizeof *s);

	if (s == NULL) {
		no_memory(f, err);
		return NULL;
	}
	*s = (struct symbols){.heap = heap};
	arena_init(&s->arena, heap);
	if (build(s, f, is_own, err) < 0) {
		symbols_free(s);
		return NULL;
	}
	return s;
}

static struct symbols *symbols_of(struct image_file *f, struct hark_err *err)
{
	if (f->symbols == NULL)
		f->symbols = symbols_make(f, false, err);
	return f->symbols;
}

/* The same table where a separate debug file adds nothing to it. */
static struct symbols *symbols_own(struct image_file *f, struct hark_err *err)
{
	if (f->own_symbols != NULL)
		return f->own_symbols;
	if (f->symbols != NULL && !(f->symbols->sources & SYMBOLS_DEBUG))
		return f->symbols;
	f->own_symbols = symbols_make(f, true, err);
	if (f->own_symbols == NULL || f->symbols != NULL ||
	    !(f->own_symbols->sources & SYMBOLS_SYMTAB))
		return f->own_symbols;
	f->symbols = f->own_symbols;
	f->own_symbols = NULL;
	return f->symbols;
}

int symbols_sources(struct image_file *f, struct hark_err *err)
{
	const struct symbols *s = symbols_of(f, err);

	return s != NULL ? s->sources : -1;
}

/* -- By address -- */

static struct symbol symbol_of(const struct symbol_entry *e)
{
	return (struct symbol){.name = e->name,
			       .addr = e->addr,
			       .size = e->size,
			       .kind = e->kind,
			       .binding = e->binding,
			       .sized = e->sized != 0};
}

static int answer(const struct image_file *f, const struct symbol_entry *e,
		  uint64_t addr, struct symbol *out, struct hark_err *err)
{
	if (e == NULL)
		return err_set(err, HARK_ENOENT, 0, "%s: no symbol at 0x%lx",
			       f->name, (unsigned long)addr);
	*out = symbol_of(e);
	return 0;
}

int symbols_function(struct image_file *f, uint64_t addr, struct symbol *out,
		     struct hark_err *err)
{
	const struct symbols *s = symbols_of(f, err);

	return s != NULL ? answer(f, find(&s->code, addr), addr, out, err) : -1;
}

int symbols_object(struct image_file *f, uint64_t addr, struct symbol *out,
		   struct hark_err *err)
{
	const struct symbols *s = symbols_of(f, err);

	return s != NULL ? answer(f, find(&s->data, addr), addr, out, err) : -1;
}

/* -- By name -- */

static int list_names(struct symbols *s, const struct symbol_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct symbol_name *new = vec_push(&s->names, s->heap);

		if (new == NULL)
			return -1;
		new->of = &l->at[i];
	}
	return 0;
}

static int sort_names(struct symbols *s)
{
	if (s->names.n > 0)
		return 0;
	if (list_names(s, &s->code) < 0 || list_names(s, &s->data) < 0 ||
	    list_names(s, &s->more) < 0) {
		vec_free(&s->names, s->heap);
		return -1;
	}
	if (s->names.n > 0)
		qsort(s->names.at, s->names.n, sizeof *s->names.at, by_name);
	return 0;
}

/* The first of that name as it was linked. */
static const struct symbol_entry *find_linked(const struct symbols *s,
					      const char *name)
{
	size_t lo = 0, hi = s->names.n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (strcmp(s->names.at[mid].of->name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < s->names.n && strcmp(s->names.at[lo].of->name, name) == 0)
		return s->names.at[lo].of;
	return NULL;
}

/* The last identifier of a written name, which is in every mangled form of
 * it: a cheap look before a name is demangled. */
static size_t last_word(const char *name, const char **word)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_";
	size_t end = strcspn(name, "(<"), start;

	for (start = end; start > 0 && strchr(letters, name[start - 1]);)
		start--;
	*word = name + start;
	return end - start;
}

static const struct symbol_entry *find_written(const struct symbols *s,
					       const char *name)
{
	char text[DEMANGLE_TEXT_MAX];
	const struct symbol_entry *best = NULL;
	const char *word;
	size_t len = last_word(name, &word);

	for (size_t i = 0; i < s->names.n; i++) {
		const struct symbol_entry *e = s->names.at[i].of;

		if (memmem(e->name, strlen(e->name), word, len) == NULL)
			continue;
		for (int how = DEMANGLE_FULL; how <= DEMANGLE_SHORT; how++) {
			if (demangle(e->name, how, text, sizeof text) == 0 ||
			    strcmp(text, name) != 0)
				continue;
			if (best == NULL || e->kind < best->kind ||
			    (e->kind == best->kind && by_address(e, best) < 0))
				best = e;
		}
	}
	return best;
}

int symbols_named(struct image_file *f, const char *name, struct symbol *out,
		  struct hark_err *err)
{
	struct symbols *s = symbols_of(f, err);
	const struct symbol_entry *e;

	if (s == NULL)
		return -1;
	if (sort_names(s) < 0)
		return no_memory(f, err);
	e = find_linked(s, name);
	if (e == NULL)
		e = find_written(s, name);
	if (e == NULL)
		return err_set(err, HARK_ENOENT, 0, "%s: no symbol %s", f->name,
			       name);
	*out = symbol_of(e);
	return 0;
}

static bool matches(const char *pattern, const char *name)
{
	char text[DEMANGLE_TEXT_MAX];

	if (pattern == NULL || fnmatch(pattern, name, 0) == 0)
		return true;
	for (int how = DEMANGLE_FULL; how <= DEMANGLE_SHORT; how++)
		if (demangle(name, how, text, sizeof text) > 0 &&
		    fnmatch(pattern, text, 0) == 0)
			return true;
	return false;
}

/* The first name of an entry of the code that matches; other names of it are
 * from `at` on. NULL if none does. */
static const struct symbol_entry *match(const struct symbols *s,
					const struct symbol_entry *e, size_t at,
					const char *pattern)
{
	if (matches(pattern, e->name))
		return e;
	for (; at < s->more.n && s->more.at[at].addr == e->addr; at++)
		if (s->more.at[at].kind != SYMBOL_OBJECT &&
		    matches(pattern, s->more.at[at].name))
			return &s->more.at[at];
	return NULL;
}

static int each(const struct symbols *s, const char *pattern,
		int (*visit)(void *ctx, const struct symbol *s), void *ctx)
{
	size_t at = 0;

	for (size_t i = 0; i < s->code.n; i++) {
		const struct symbol_entry *e = &s->code.at[i], *hit;
		struct symbol symbol;
		int rc;

		while (at < s->more.n && s->more.at[at].addr < e->addr)
			at++;
		hit = match(s, e, at, pattern);
		if (hit == NULL)
			continue;
		symbol = symbol_of(hit);
		symbol.size = e->size; /* an alias may not say */
		symbol.sized = e->sized != 0;
		rc = visit(ctx, &symbol);
		if (rc != 0)
			return rc;
	}
	return 0;
}

int symbols_each(struct image_file *f, const char *pattern,
		 int (*visit)(void *ctx, const struct symbol *s), void *ctx,
		 struct hark_err *err)
{
	const struct symbols *s = symbols_of(f, err);

	return s != NULL ? each(s, pattern, visit, ctx) : -1;
}

int symbols_each_own(struct image_file *f,
		     int (*visit)(void *ctx, const struct symbol *s), void *ctx,
		     struct hark_err *err)
{
	const struct symbols *s = symbols_own(f, err);

	return s != NULL ? each(s, NULL, visit, ctx) : -1;
}

bool symbols_match(struct image_file *f, uint64_t addr, const char *pattern)
{
	const struct symbols *s = symbols_of(f, NULL);
	const struct symbol_entry *e = s != NULL ? find(&s->code, addr) : NULL;
	size_t lo = 0, hi = s != NULL ? s->more.n : 0;

	if (e == NULL || e->addr != addr)
		return false;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (s->more.at[mid].addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return match(s, e, lo, pattern) != NULL;
}

/* -- As written -- */

const char *symbols_pretty(struct image_file *f, const struct symbol *symbol)
{
	struct symbols *s = symbols_of(f, NULL);
	char text[DEMANGLE_TEXT_MAX];
	const struct symbol_entry *e;
	const char *copy;
	size_t len;

	if (s == NULL || symbol->name[0] != '_')
		return symbol->name;
	if (s->pretty == NULL) {
		s->pretty = heap_take(s->heap, s->code.n * sizeof *s->pretty);
		if (s->pretty == NULL)
			return symbol->name;
		memset(s->pretty, 0, s->code.n * sizeof *s->pretty);
	}
	e = find(&s->code, symbol->addr);
	if (e != NULL && e->name == symbol->name &&
	    s->pretty[e - s->code.at] != NULL)
		return s->pretty[e - s->code.at];
	len = demangle(symbol->name, DEMANGLE_FULL, text, sizeof text);
	copy = len > 0 ? arena_text(&s->arena, text, len) : symbol->name;
	if (copy == NULL)
		return symbol->name;
	if (e != NULL && e->name == symbol->name)
		s->pretty[e - s->code.at] = copy;
	return copy;
}
