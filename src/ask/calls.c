/* ask/calls.c - every call of a function: arguments and result.
 *
 * One pass over the visits to the function and to the addresses that it returns
 * to, in the order of all threads (ask/visits.h). Calls wait in a queue, in
 * that order, and leave it when it is known how they ended: so the list begins
 * at once, and memory holds the calls that have not ended and those after them.
 *
 * CALLS-1  A thread's calls that have not returned are a stack; what is above
 *          one that returns, or is called with the stack pointer above it, was
 *          left otherwise.
 * CALLS-2  A call that ends in a jump to another one (or itself) returns with
 *          it. */
#include "ask/calls.h"

#include "ask/abi_read.h"
#include "ask/show.h"
#include "ask/visits.h"
#include "image/vars.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS = 64, TEXT_MAX = 4096 };
enum { BYTES_MAX = 4096 };

struct parameter {
	char *name; /* owned */
	struct type type;
	struct abi_place place;
	char text[96]; /* of its type */
};

/* One of those whose calls are listed. */
struct function {
	const struct function_place *place; /* borrowed */
	struct parameter *parameter;	    /* owned */
	unsigned n;
	bool has_types;
	struct parameter result;
};

struct entry {
	struct calls_call call;
	const struct function *function; /* borrowed from the lister */
	uint64_t rsp;			 /* after its return */
	bool has_ended;
	struct entry *next; /* of the queue */
	struct entry *down; /* of its thread's stack */
};

struct lister {
	struct ask_pair *p;
	struct ask_source source;
	struct space *space;
	uint64_t most; /* calls; 0: all */
	bool is_raw;

	struct function *functions; /* owned; by address */
	size_t n_functions;

	struct entry **stacks; /* owned: their tops, by thread numbers */
	uint32_t n_threads;
	struct entry *first, *last; /* owned: the queue */
	uint64_t n_seen;	    /* calls, in the queue or before */
	calls_each *each;
	void *ctx;
	const struct hark_registers *regs; /* borrowed: of the visit */
	bool no_memory, is_enough;
};

/* -- What the function takes -- */

struct take {
	struct lister *l;
	struct function *f;
	struct abi_state state;
};

static char *copy(struct lister *l, const char *text)
{
	char *new = strdup(text != NULL ? text : "");

	l->no_memory = l->no_memory || new == NULL;
	return new;
}

static int add_parameter(void *ctx, const struct var *v)
{
	struct take *t = ctx;
	struct function *f = t->f;
	struct parameter *p =
	    reallocarray(f->parameter, f->n + 1, sizeof *f->parameter);

	if (p == NULL) {
		t->l->no_memory = true;
		return 1;
	}
	f->parameter = p;
	p += f->n++;
	*p = (struct parameter){.name = copy(t->l, v->name), .type = v->type};
	type_text(v->type, p->text, sizeof p->text);
	return f->n == PARAMETERS;
}

/* The result first: it may take a register. */
static void find_types(struct lister *l, struct function *f)
{
	uint64_t addr = f->place->addr;
	const struct space_module *m = space_at(l->space, addr);
	struct take t = {.l = l, .f = f};
	struct type result;

	if (m == NULL || f->place->is_inlined ||
	    vars_parameters(m->file, addr - m->bias, add_parameter, &t, &result,
			    NULL) < 0)
		return;
	f->has_types = true;
	type_begin(result);
	f->result.type = result;
	f->result.place = abi_result(result, &t.state);
	type_text(result, f->result.text, sizeof f->result.text);
	for (unsigned i = 0; i < f->n; i++)
		f->parameter[i].place =
		    abi_argument(f->parameter[i].type, &t.state);
}

/* -- Values -- */

static char *show_place(struct lister *l, const struct parameter *p,
			uint64_t rsp)
{
	struct show s = {
	    .space = l->space, .has_memory = true, .is_raw = l->is_raw};
	uint8_t bytes[BYTES_MAX], known[BYTES_MAX];
	uint64_t len = p->place.size < BYTES_MAX ? p->place.size : BYTES_MAX;
	struct prose text;
	char *out;

	prose_init(&text, TEXT_MAX);
	abi_read(&p->place, &l->source, l->regs, rsp, bytes, known,
		 (size_t)len);
	show_bytes(&s, p->type, bytes, known, len, &text);
	out = copy(l, prose_of(&text));
	prose_fini(&text);
	return out;
}

static void set_arguments(struct lister *l, const struct function *f,
			  struct calls_call *c)
{
	static const char *const names[6] = {"rdi", "rsi", "rdx",
					     "rcx", "r8",  "r9"};
	static const uint8_t order[6] = {7, 6, 2, 1, 8, 9};
	unsigned n = f->has_types ? f->n : 6;

	c->arguments = calloc(n + 1u, sizeof *c->arguments);
	if (c->arguments == NULL) {
		l->no_memory = true;
		return;
	}
	c->n = n;
	for (unsigned i = 0; i < n; i++) {
		struct calls_value *v = &c->arguments[i];
		char hex[32];

		if (f->has_types) {
			v->name = f->parameter[i].name;
			v->type = copy(l, f->parameter[i].text);
			v->text =
			    show_place(l, &f->parameter[i], l->regs->gpr[4]);
			continue;
		}
		snprintf(hex, sizeof hex, "0x%llx",
			 (unsigned long long)l->regs->gpr[order[i]]);
		v->name = names[i];
		v->type = copy(l, "");
		v->text = copy(l, hex);
	}
}

static void set_result(struct lister *l, const struct function *f,
		       const struct hark_position *at, struct calls_call *c)
{
	char hex[32];

	c->has_returned = true;
	c->returned_at = *at;
	c->result.name = "";
	c->result.type = copy(l, f->result.text);
	if (f->has_types && f->result.place.where == ABI_NONE) {
		c->result.text = copy(l, "");
	} else if (f->has_types) {
		c->result.text = show_place(l, &f->result, 0);
	} else {
		snprintf(hex, sizeof hex, "0x%llx",
			 (unsigned long long)l->regs->gpr[0]);
		c->result.text = copy(l, hex);
	}
}

/* -- The queue of calls -- */

static void entry_free(struct entry *e)
{
	for (unsigned i = 0; i < e->call.n; i++) {
		free(e->call.arguments[i].type);
		free(e->call.arguments[i].text);
	}
	free(e->call.arguments);
	free(e->call.result.type);
	free(e->call.result.text);
	free(e);
}

/* Gives away the calls at the head of the queue that have ended, or all. */
static void give_calls(struct lister *l, bool is_over)
{
	while (l->first != NULL && !l->is_enough &&
	       (is_over || l->first->has_ended)) {
		struct entry *e = l->first;

		l->is_enough = l->each(l->ctx, &e->call) != 0;
		l->first = e->next;
		entry_free(e);
	}
}

/* A new one, at the end of the queue; NULL: no memory. */
static struct entry *add_entry(struct lister *l)
{
	struct entry *e = calloc(1, sizeof *e);

	if (e == NULL) {
		l->no_memory = true;
		return NULL;
	}
	if (l->first == NULL)
		l->first = e;
	else
		l->last->next = e;
	l->last = e;
	l->n_seen++;
	return e;
}

static void pop(struct entry **top)
{
	(*top)->has_ended = true;
	*top = (*top)->down;
}

static uint64_t read_caller(struct lister *l)
{
	uint8_t known[8];
	uint64_t caller;

	if (l->source.read(l->source.ctx, l->regs->gpr[4], 8,
			   (uint8_t *)&caller, known) != 8)
		return 0;
	return caller;
}

static bool is_enough(const struct lister *l)
{
	return l->no_memory || (l->most != 0 && l->n_seen == l->most);
}

/* Of calls that are not shown nothing is kept: what returns is told from them
 * by its stack pointer. */
static void see_call(struct lister *l, const struct function *f,
		     const struct hark_position *at, struct entry **top)
{
	uint64_t rsp = l->regs->gpr[4] + 8;
	struct entry *e;

	while (!f->place->is_inlined && *top != NULL && (*top)->rsp < rsp)
		pop(top); /* CALLS-1 */
	if (is_enough(l))
		return;
	e = add_entry(l);
	if (e == NULL)
		return;
	e->function = f;
	e->call.function = f->place;
	e->call.at = *at;
	if (f->place->is_inlined) { /* nothing returns */
		e->has_ended = true;
		return;
	}
	e->rsp = rsp;
	e->call.caller = read_caller(l);
	set_arguments(l, f, &e->call);
	e->down = *top;
	*top = e;
}

static bool is_of(const struct entry *e, const struct lister *l)
{
	return e->rsp == l->regs->gpr[4] && e->call.caller == l->regs->rip;
}

static void see_return(struct lister *l, const struct hark_position *at,
		       struct entry **top)
{
	struct entry *e = *top;

	while (e != NULL && !is_of(e, l))
		e = e->down;
	if (e == NULL)
		return;
	while (*top != e)
		pop(top);
	while (*top != NULL && is_of(*top, l)) { /* CALLS-2 */
		set_result(l, (*top)->function, at, &(*top)->call);
		pop(top);
	}
}

static int on_visit(void *ctx, const struct hark_position *at,
		    const struct hark_registers *regs)
{
	struct lister *l = ctx;

	if (at->thread >= l->n_threads)
		return 0;
	l->regs = regs;
	see_return(l, at, &l->stacks[at->thread]);
	for (size_t i = 0; i < l->n_functions; i++)
		if (l->functions[i].place->addr == regs->rip)
			see_call(l, &l->functions[i], at,
				 &l->stacks[at->thread]);
	give_calls(l, false);
	return l->no_memory || l->is_enough ||
	       (is_enough(l) && l->first == NULL);
}

/* -- All of it -- */

static void lister_free(struct lister *l)
{
	while (l->first != NULL) {
		struct entry *next = l->first->next;

		entry_free(l->first);
		l->first = next;
	}
	for (size_t i = 0; i < l->n_functions; i++) {
		for (unsigned k = 0; k < l->functions[i].n; k++)
			free(l->functions[i].parameter[k].name);
		free(l->functions[i].parameter);
	}
	free(l->functions);
	free(l->stacks);
	free(l);
}

/* Thread numbers are from 1, but a file may say anything. */
static int make_stacks(struct lister *l)
{
	unsigned n = hark_n_threads(l->p->timeline);

	for (unsigned i = 0; i < n; i++) {
		uint32_t number = hark_thread(l->p->timeline, i)->number;

		if (number >= l->n_threads && number <= n)
			l->n_threads = number + 1;
	}
	l->stacks = calloc(l->n_threads + 1u, sizeof(struct entry *));
	return l->stacks != NULL ? 0 : -1;
}

static int make_functions(struct lister *l, const struct functions *f)
{
	l->functions = calloc(f->n + 1, sizeof *l->functions);
	if (l->functions == NULL)
		return -1;
	for (; l->n_functions < f->n; l->n_functions++) {
		struct function *new = &l->functions[l->n_functions];

		new->place = &f->at[l->n_functions];
		find_types(l, new);
	}
	return l->no_memory ? -1 : 0;
}

/* Where they begin, each address once: first the n_called of functions that are
 * called, then of inlined ones. NULL: no memory. */
static uint64_t *find_sites(const struct lister *l, size_t *n, size_t *n_called)
{
	uint64_t *all = calloc(l->n_functions + 1, sizeof *all);

	*n = *n_called = 0;
	for (int inlined = 0; all != NULL && inlined < 2; inlined++) {
		const size_t first = *n;

		for (size_t i = 0; i < l->n_functions; i++) {
			const struct function_place *f = l->functions[i].place;

			if (f->is_inlined == (inlined != 0) &&
			    (*n == first || all[*n - 1] != f->addr))
				all[(*n)++] = f->addr;
		}
		if (!inlined)
			*n_called = *n;
	}
	return all;
}

static int list_calls(struct lister *l, const struct hark_position *from,
		      const struct hark_position *to, struct hark_err *err)
{
	size_t n, n_called;
	uint64_t *sites = find_sites(l, &n, &n_called);
	int rc = -1;

	l->no_memory = l->no_memory || sites == NULL;
	if (!l->no_memory)
		rc = visits_list(l->p, sites, n, n_called, from, to, on_visit,
				 l, err);
	free(sites);
	if (l->no_memory)
		return err_set(err, HARK_ENOMEM, 0,
			       "no memory for a list of calls");
	if (rc == 0)
		give_calls(l, true);
	return rc;
}

int calls_list(struct ask_pair *p, struct space *s,
	       const struct functions *functions, const struct calls_wish *wish,
	       calls_each *each, void *ctx, struct hark_err *err)
{
	struct lister *l = calloc(1, sizeof *l);
	int rc;

	if (l == NULL)
		return err_set(err, HARK_ENOMEM, 0, "no memory");
	*l = (struct lister){.p = p,
			     .source = ask_source_of(p),
			     .space = s,
			     .most = wish->most,
			     .is_raw = wish->is_raw,
			     .each = each,
			     .ctx = ctx};
	l->no_memory = make_stacks(l) < 0 || make_functions(l, functions) < 0;
	rc = list_calls(l, &wish->from, &wish->to, err);
	lister_free(l);
	return rc;
}
