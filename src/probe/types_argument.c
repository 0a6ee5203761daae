/* probe/types_argument.c - which argN is a parameter of a function?
 *
 * At the first instruction of a function its parameters are where the calling
 * convention puts them: integers and pointers are arg0 to arg5 in registers,
 * and from arg6 on 8 bytes each on the stack. Fractions and structs by value
 * take places too, but no probe can read them: they are hidden.
 *
 * Compilers may change functions that only they see. Where the debug
 * information says in which register a parameter is at the entry, that is
 * believed; where it says nothing, the convention is, except of what is a
 * clone by its name.
 *
 * A pattern may stand for many functions; the first that has debug information
 * speaks for all. */
#include "image/abi.h"
#include "image/symbols.h"
#include "image/vars.h"
#include "probe/types_priv.h"
#include "wire/probe.h"

#include <stdlib.h>
#include <string.h>

enum { IN_REGISTERS = 6 };

/* -- Where a parameter is -- */

/* Nothing is known of a frame but its pc. */
static int no_register(void *ctx, unsigned number, uint8_t out[16], size_t *len)
{
	(void)ctx, (void)number;
	memset(out, 0, 16);
	*len = 0;
	return -1;
}

static int no_memory(void *ctx, uint64_t addr, void *out, size_t len)
{
	(void)ctx, (void)addr, (void)out, (void)len;
	return -1;
}

static int no_address(void *ctx, uint64_t offset, uint64_t *out)
{
	(void)ctx, (void)offset;
	*out = 0;
	return -1;
}

static int no_frame(void *ctx, uint64_t *out)
{
	(void)ctx;
	*out = 0;
	return -1;
}

static int no_entry(void *ctx, unsigned number, uint64_t *out)
{
	(void)ctx, (void)number;
	*out = 0;
	return -1;
}

/* What the debug information says of it at the entry. */
static struct expr_place place_at(const struct var *v, uint64_t pc)
{
	struct expr_frame frame = {no_register, no_memory, no_address, no_frame,
				   no_entry,	NULL,	   0,	       pc};
	struct expr_place place;

	vars_place(v, &frame, &place);
	return place;
}

static bool order_of(unsigned reg, const uint8_t order[IN_REGISTERS],
		     unsigned *out)
{
	for (unsigned i = 0; i < IN_REGISTERS; i++)
		if (order[i] == reg) {
			*out = i;
			return true;
		}
	return false;
}

/* By DWARF's numbers, and by the hardware's. */
static const uint8_t dwarf_order[IN_REGISTERS] = {5, 4, 1, 2, 8, 9};
static const uint8_t order[IN_REGISTERS] = {7, 6, 2, 1, 8, 9};

static bool number_of(const struct abi_place *p, unsigned *out)
{
	switch (p->where) {
	case ABI_REGISTERS:
		return p->n_regs == 1 && order_of(p->reg[0], order, out);
	case ABI_POINTER:
		if (p->n_regs == 1)
			return order_of(p->reg[0], order, out);
		break;
	case ABI_STACK:
		if (p->size > 8)
			return false;
		break;
	default:
		return false;
	}
	*out = (unsigned)(IN_REGISTERS + (p->offset - 8) / 8);
	return true;
}

/* -- One function -- */

struct listing {
	struct types *types;
	struct types_function *function;
	uint64_t pc;
	bool is_clone;
	struct type type[TYPES_ARGUMENTS];
	struct expr_place place[TYPES_ARGUMENTS];
	bool failed;
};

static int list_parameter(void *ctx, const struct var *v)
{
	struct listing *l = ctx;
	struct types_function *f = l->function;

	if (f->n == TYPES_ARGUMENTS)
		return 0;
	if (v->name != NULL) {
		f->argument[f->n].name = strdup(v->name);
		l->failed = l->failed || f->argument[f->n].name == NULL;
	}
	l->type[f->n] = v->type;
	l->place[f->n] = place_at(v, l->pc);
	f->n++;
	return 0;
}

static bool is_value(const struct script_type *t)
{
	return t->stars > 0 || t->kind == SCRIPT_INT;
}

/* The convention is told of it in any case: it may take a place. */
static int set_argument(struct listing *l, unsigned i, struct abi_state *state)
{
	struct types_argument *a = &l->function->argument[i];
	const struct expr_piece *at = &l->place[i].piece[0];
	struct abi_place p;

	type_begin(l->type[i]);
	p = abi_argument(l->type[i], state);
	if (types_convert(l->types, l->type[i], &a->type) < 0)
		return -1;
	if (p.where == ABI_POINTER)
		a->type.stars++;
	a->hidden = !is_value(&a->type) || !number_of(&p, &a->number);
	if (l->place[i].n == 1 && at->kind == EXPR_REGISTER)
		a->hidden = a->hidden ||
			    !order_of((unsigned)at->u, dwarf_order, &a->number);
	else if (l->is_clone)
		a->hidden = true;
	a->hidden = a->hidden || a->number >= PROBE_ARGUMENTS;
	return 0;
}

static int set_result(struct listing *l, struct type result,
		      struct abi_state *state)
{
	struct types_argument *a = &l->function->result;
	struct abi_place p;

	type_begin(result);
	p = abi_result(result, state);
	l->function->returns = p.where != ABI_NONE;
	if (types_convert(l->types, result, &a->type) < 0)
		return -1;
	a->number = 1;
	a->hidden = !is_value(&a->type) || p.where != ABI_REGISTERS ||
		    p.n_regs != 1 || p.reg[0] != 0;
	return 0;
}

static void forget_arguments(struct types_function *f)
{
	for (unsigned i = 0; i < f->n; i++)
		free(f->argument[i].name);
	f->n = 0;
}

/* 1: it has debug information. */
static int read_function(struct types *t, const struct module *m,
			 const struct symbol *s, struct types_function *f)
{
	struct listing *l = calloc(1, sizeof *l);
	struct abi_state state = {0};
	struct type result;
	int rc = 0;

	if (l == NULL)
		return -1;
	l->types = t;
	l->function = f;
	l->pc = s->addr;
	l->is_clone = strchr(s->name, '.') != NULL;
	if (vars_parameters(m->file, s->addr, list_parameter, l, &result,
			    NULL) == 0) {
		rc = l->failed ? -1 : set_result(l, result, &state);
		for (unsigned i = 0; i < f->n && rc == 0; i++)
			rc = set_argument(l, i, &state);
		rc = rc == 0 ? 1 : -1;
	}
	if (rc < 0)
		forget_arguments(f);
	free(l);
	return rc;
}

/* -- Which function -- */

struct tour {
	struct types *types;
	struct types_function *function;
	const struct module *module;
};

static int visit_symbol(void *ctx, const struct symbol *s)
{
	struct tour *t = ctx;

	if (s->kind != SYMBOL_FUNCTION && s->kind != SYMBOL_LABEL)
		return 0;
	return read_function(t->types, t->module, s, t->function);
}

static int visit_module(void *ctx, const struct module *m)
{
	struct tour *t = ctx;
	const char *module = t->function->module;
	const char *function = t->function->function;
	int rc;

	if (module[0] != '\0' && !module_matches(m, module))
		return 0;
	t->module = m;
	rc = symbols_each(m->file, function[0] != '\0' ? function : NULL,
			  visit_symbol, t, NULL);
	return rc > 0; /* what cannot be read has no functions */
}

static void forget(struct types_function *f)
{
	forget_arguments(f);
	free(f->module);
	free(f->function);
	free(f);
}

void types_forget_functions(struct types *t)
{
	while (t->functions != NULL) {
		struct types_function *next = t->functions->next;

		forget(t->functions);
		t->functions = next;
	}
}

static struct types_function *function_of(struct types *t, const char *module,
					  const char *function)
{
	struct types_function *f;
	struct tour tour = {.types = t};

	for (f = t->functions; f != NULL; f = f->next)
		if (strcmp(f->module, module) == 0 &&
		    strcmp(f->function, function) == 0)
			return f;
	f = calloc(1, sizeof *f);
	if (f == NULL)
		return NULL;
	f->module = strdup(module);
	f->function = strdup(function);
	if (f->module == NULL || f->function == NULL) {
		forget(f);
		return NULL;
	}
	tour.function = f;
	f->found = types_each_file(t, visit_module, &tour) > 0;
	f->next = t->functions;
	t->functions = f;
	return f;
}

/* -- What scripts ask -- */

static const struct types_argument *argument_of(const struct types_function *f,
						bool at_return,
						const char *name,
						unsigned index)
{
	if (at_return)
		return name == NULL && index == 1 && f->returns ? &f->result
								: NULL;
	for (unsigned i = 0; i < f->n; i++)
		if (name == NULL ? i == index
				 : f->argument[i].name != NULL &&
				       strcmp(f->argument[i].name, name) == 0)
			return &f->argument[i];
	return NULL;
}

int types_argument(void *ctx, const char *const parts[4], const char *name,
		   unsigned *index, struct script_type *out)
{
	bool is_plt = strncmp(parts[0], "plt", 3) == 0;
	bool at_return = strcmp(parts[3], "return") == 0;
	const struct types_argument *a;
	const struct types_function *f;

	if ((parts[0][0] != '\0' && !is_plt &&
	     strncmp(parts[0], "pid", 3) != 0) ||
	    (!at_return && strcmp(parts[3], "entry") != 0))
		return -1;
	/* Of a linkage table the module is the one that calls. */
	f = function_of(ctx, is_plt ? "" : parts[1], parts[2]);
	if (f == NULL || !f->found)
		return -1;
	a = argument_of(f, at_return, name, *index);
	if (a == NULL)
		return -1;
	if (a->hidden)
		return -2;
	*index = a->number;
	*out = a->type;
	return 0;
}
