/* ask/functions.c - which functions are called so? */
#include "ask/functions.h"

#include "image/demangle.h"
#include "image/lines.h"
#include "image/names.h"
#include "image/symbols.h"

#include <stdlib.h>
#include <string.h>

enum { FUNCTIONS_MAX = 4096 };

void functions_fini(struct functions *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->at[i].name);
	free(f->at);
	*f = (struct functions){0};
}

static int no_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, 0,
		       "no memory for a list of functions");
}

struct search {
	const char *wish;
	const char *last; /* of it */
	size_t last_len;
	bool is_whole;	  /* only what the name is the whole one of */
	bool is_exported; /* only what other modules may call */
	uint64_t bias;
	struct functions found;
	size_t room;
	bool no_memory;
};

static char *name_of(const char *linked)
{
	char text[DEMANGLE_TEXT_MAX];

	if (demangle(linked, DEMANGLE_SHORT, text, sizeof text) > 0)
		return strdup(text);
	return strdup(linked);
}

static bool is_there(const struct functions *f, uint64_t addr, bool is_inlined)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->at[i].addr == addr && f->at[i].is_inlined == is_inlined)
			return true;
	return false;
}

/* Not 0: no memory, or enough. */
static int add_place(struct search *s, const struct lines_inlined *at,
		     bool is_inlined)
{
	uint64_t addr = at->addr + s->bias;
	struct function_place *more, *p;

	if (is_there(&s->found, addr, is_inlined))
		return 0;
	if (s->found.n == s->room) {
		s->room = s->room == 0 ? 8 : 2 * s->room;
		more = reallocarray(s->found.at, s->room, sizeof *more);
		if (more == NULL) {
			s->no_memory = true;
			return 1;
		}
		s->found.at = more;
	}
	p = &s->found.at[s->found.n++];
	*p = (struct function_place){.addr = addr,
				     .name = name_of(at->linked),
				     .is_inlined = is_inlined,
				     .caller = at->caller,
				     .file = at->file,
				     .line = at->line};
	s->no_memory = p->name == NULL;
	return s->no_memory || s->found.n == FUNCTIONS_MAX;
}

/* -- Symbols -- */

/* A cheap look: what is mangled has each of its words in it. */
static int see_symbol(void *ctx, const struct symbol *sym)
{
	struct search *s = ctx;
	struct lines_inlined at = {.addr = sym->addr, .linked = sym->name};
	size_t len = s->last_len;

	if (sym->kind == SYMBOL_PLT || sym->kind == SYMBOL_OBJECT ||
	    (s->is_exported && sym->binding == SYMBOL_LOCAL))
		return 0;
	if (strcmp(sym->name, s->wish) != 0 &&
	    strncmp(s->last, "operator", len < 8 ? len : 8) != 0 &&
	    s->last[0] != '~' &&
	    memmem(sym->name, strlen(sym->name), s->last, len) == NULL)
		return 0;
	if (!names_mean(sym->name, s->wish, s->is_whole))
		return 0;
	return add_place(s, &at, false);
}

/* Of a symbol with several names one is shown, but each may be asked for. */
static void see_named(struct search *s, const struct space_module *m)
{
	struct symbol sym;

	if (symbols_named(m->file, s->wish, &sym, NULL) == 0)
		see_symbol(s, &sym);
}

static void find_symbols(struct space *space, struct search *s, bool is_program)
{
	for (size_t i = 0; i < space_count(space); i++) {
		const struct space_module *m = space_get(space, i);

		if (m->is_program != is_program)
			continue;
		s->bias = m->bias;
		if (s->is_whole)
			see_named(s, m);
		symbols_each(m->file, NULL, see_symbol, s, NULL);
	}
}

/* -- Inlined ones -- */

static int see_inlined(void *ctx, const struct lines_inlined *at)
{
	struct search *s = ctx;

	if (!names_mean(at->linked, s->wish, s->is_whole))
		return 0;
	return add_place(s, at, true);
}

static void find_inlined(struct space *space, struct search *s, bool is_program)
{
	for (size_t i = 0; i < space_count(space); i++) {
		const struct space_module *m = space_get(space, i);

		if (m->is_program != is_program)
			continue;
		s->bias = m->bias;
		lines_inlined(m->file, s->last, s->last_len, see_inlined, s,
			      NULL);
	}
}

/* -- All -- */

static int by_address(const void *a, const void *b)
{
	const struct function_place *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->is_inlined - y->is_inlined;
}

/* In this order; the first turn that finds anything ends it. */
static const struct {
	bool is_program, is_whole, is_exported;
} turns[] = {
    {true, true, false},   /* a function of the program, by its whole name */
    {false, true, true},   /* what libraries offer */
    {true, false, false},  /* a method of the program */
    {false, true, false},  /* what libraries have */
    {false, false, false}, /* methods of libraries */
};

int functions_find(struct space *space, const char *wish, struct functions *out,
		   struct hark_err *err)
{
	struct search s = {.wish = wish};

	s.last = names_last(wish, &s.last_len);
	*out = (struct functions){0};
	if (s.last_len == 0)
		return 0;
	for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++) {
		if (s.found.n > 0)
			break;
		s.is_whole = turns[i].is_whole;
		s.is_exported = turns[i].is_exported;
		find_symbols(space, &s, turns[i].is_program);
		if (!s.no_memory && !s.is_exported)
			find_inlined(space, &s, turns[i].is_program);
		if (s.no_memory) {
			functions_fini(&s.found);
			return no_memory(err);
		}
	}
	if (s.found.n == FUNCTIONS_MAX) {
		functions_fini(&s.found);
		return err_set(err, HARK_EINPUT, 0,
			       "'%s' is the name of %d functions or more", wish,
			       FUNCTIONS_MAX);
	}
	if (s.found.n > 0)
		qsort(s.found.at, s.found.n, sizeof *s.found.at, by_address);
	*out = s.found;
	return 0;
}

int functions_at(uint64_t addr, const char *name, struct functions *out,
		 struct hark_err *err)
{
	struct search s = {.wish = name};
	struct lines_inlined at = {.addr = addr, .linked = name};

	add_place(&s, &at, false);
	if (s.no_memory) {
		functions_fini(&s.found);
		return no_memory(err);
	}
	*out = s.found;
	return 0;
}
