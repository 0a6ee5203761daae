/* ask/calls.c - every call of a function: arguments and result.
 *
 * Two runs over the recording: one with a breakpoint at the function, and one
 * with a breakpoint at each return address that was seen. Both gather what
 * they see thread by thread (ask/visits.h), and in the end calls are told in
 * the order that all threads agree with.
 *
 * Q1  A thread's calls that have not returned are a stack; what is above one
 *     that returns, or is called with the stack pointer above it, was left
 *     otherwise.
 * Q2  A call that ends in a jump to another one (or itself) returns with it.
 */
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

struct entry {
	struct calls_call call;
	uint64_t rsp;	    /* behind its return */
	struct entry *next; /* of its thread */
	struct entry *down; /* the stack */
};

/* Its calls: all of them, those that the second run has come past, and those
 * of them that have not returned. */
struct thread {
	struct entry *first, *last, *next, *top;
};

struct lister {
	struct ask_pair *p;
	struct ask_source source;
	struct space *space;
	uint64_t function;
	uint64_t most; /* of a single thread */

	struct parameter parameter[PARAMETERS];
	unsigned n;
	bool has_types;
	struct parameter result;

	struct thread *threads; /* owned: by their numbers */
	uint32_t n_threads;
	struct entry **all; /* owned, and what they point to */
	size_t n_all, room;
	size_t n_open; /* not returned, and not left */
	struct hark_registers regs;
	bool no_memory;
};

/* -- What the function takes -- */

struct take {
	struct lister *l;
	struct abi_state state;
};

static char *copy(struct lister *l, const char *text)
{
	char *new = strdup(text != NULL ? text : "");

	l->no_memory = l->no_memory || new == NULL;
	return new;
}

/* The result first: it may take a register. */
static int add_parameter(void *ctx, const struct var *v)
{
	struct take *t = ctx;
	struct parameter *p;

	if (t->l->n == PARAMETERS)
		return 1;
	p = &t->l->parameter[t->l->n++];
	*p = (struct parameter){.name = copy(t->l, v->name), .type = v->type};
	type_text(v->type, p->text, sizeof p->text);
	return 0;
}

static void find_types(struct lister *l)
{
	const struct space_module *m = space_at(l->space, l->function);
	struct take t = {.l = l};
	struct type result;

	if (m == NULL || vars_parameters(m->file, l->function - m->bias,
					 add_parameter, &t, &result, NULL) < 0)
		return;
	l->has_types = true;
	type_begin(result);
	l->result.type = result;
	l->result.place = abi_result(result, &t.state);
	type_text(result, l->result.text, sizeof l->result.text);
	for (unsigned i = 0; i < l->n; i++)
		l->parameter[i].place =
		    abi_argument(l->parameter[i].type, &t.state);
}

/* -- Values -- */

static char *show_place(struct lister *l, const struct parameter *p,
			uint64_t rsp)
{
	struct show s = {.space = l->space, .has_memory = true};
	uint8_t bytes[BYTES_MAX], known[BYTES_MAX];
	uint64_t len = p->place.size < BYTES_MAX ? p->place.size : BYTES_MAX;
	struct prose text;
	char *out;

	prose_init(&text, TEXT_MAX);
	abi_read(&p->place, &l->source, &l->regs, rsp, bytes, known,
		 (size_t)len);
	show_bytes(&s, p->type, bytes, known, len, &text);
	out = copy(l, prose_of(&text));
	prose_fini(&text);
	return out;
}

static void set_arguments(struct lister *l, struct calls_call *c)
{
	static const char *const names[6] = {"rdi", "rsi", "rdx",
					     "rcx", "r8",  "r9"};
	static const uint8_t order[6] = {7, 6, 2, 1, 8, 9};
	unsigned n = l->has_types ? l->n : 6;

	c->arguments = calloc(n + 1u, sizeof *c->arguments);
	if (c->arguments == NULL) {
		l->no_memory = true;
		return;
	}
	c->n = n;
	for (unsigned i = 0; i < n; i++) {
		struct calls_value *v = &c->arguments[i];
		char hex[32];

		if (l->has_types) {
			v->name = l->parameter[i].name;
			v->type = copy(l, l->parameter[i].text);
			v->text =
			    show_place(l, &l->parameter[i], l->regs.gpr[4]);
			continue;
		}
		snprintf(hex, sizeof hex, "0x%llx",
			 (unsigned long long)l->regs.gpr[order[i]]);
		v->name = names[i];
		v->type = copy(l, "");
		v->text = copy(l, hex);
	}
}

static void set_result(struct lister *l, struct calls_call *c)
{
	char hex[32];

	c->has_returned = true;
	c->returned_at = hark_where(l->p->timeline);
	c->result.name = "";
	c->result.type = copy(l, l->result.text);
	if (l->has_types && l->result.place.where == ABI_NONE) {
		c->result.text = copy(l, "");
	} else if (l->has_types) {
		c->result.text = show_place(l, &l->result, 0);
	} else {
		snprintf(hex, sizeof hex, "0x%llx",
			 (unsigned long long)l->regs.gpr[0]);
		c->result.text = copy(l, hex);
	}
}

/* -- The first run: calls -- */

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

static struct thread *thread_of(struct lister *l, uint32_t number)
{
	return number < l->n_threads ? &l->threads[number] : NULL;
}

/* A new one, at the end of its thread's; NULL: no memory. */
static struct entry *add_entry(struct lister *l, struct thread *t)
{
	struct entry *e;

	if (l->n_all == l->room) {
		size_t room = l->room == 0 ? 64 : 2 * l->room;
		struct entry **more =
		    reallocarray(l->all, room, sizeof(struct entry *));

		if (more == NULL)
			return NULL;
		l->all = more;
		l->room = room;
	}
	e = calloc(1, sizeof *e);
	if (e == NULL)
		return NULL;
	l->all[l->n_all++] = e;
	if (t->last == NULL)
		t->first = t->next = e;
	else
		t->last->next = e;
	t->last = e;
	l->n_open++;
	return e;
}

static int on_call(void *ctx, const struct hark_position *at, uint64_t pc)
{
	struct lister *l = ctx;
	struct thread *t = thread_of(l, at->thread);
	uint8_t known[8];
	struct entry *e;

	(void)pc;
	if (t == NULL ||
	    hark_registers(l->p->timeline, at->thread, &l->regs, NULL) < 0)
		return 0;
	e = add_entry(l, t);
	if (e == NULL) {
		l->no_memory = true;
		return 1;
	}
	e->call.at = *at;
	e->rsp = l->regs.gpr[4] + 8;
	if (l->source.read(l->source.ctx, l->regs.gpr[4], 8,
			   (uint8_t *)&e->call.caller, known) != 8)
		e->call.caller = 0;
	set_arguments(l, &e->call);
	return l->no_memory || (l->most != 0 && l->n_all == l->most);
}

/* -- The second run: returns -- */

static void pop(struct lister *l, struct thread *t)
{
	t->top = t->top->down;
	l->n_open--;
}

/* The thread is at this moment. */
static void come_to(struct lister *l, struct thread *t,
		    const struct hark_position *at)
{
	while (t->next != NULL &&
	       visits_compare(l->p->timeline, &t->next->call.at, at) < 0) {
		struct entry *e = t->next;

		while (t->top != NULL && t->top->rsp < e->rsp)
			pop(l, t); /* Q1 */
		e->down = t->top;
		t->top = e;
		t->next = e->next;
	}
}

static bool is_of(const struct entry *e, const struct lister *l)
{
	return e->rsp == l->regs.gpr[4] && e->call.caller == l->regs.rip;
}

static int on_return(void *ctx, const struct hark_position *at, uint64_t pc)
{
	struct lister *l = ctx;
	struct thread *t = thread_of(l, at->thread);
	struct entry *e;

	(void)pc;
	if (t == NULL ||
	    hark_registers(l->p->timeline, at->thread, &l->regs, NULL) < 0)
		return 0;
	come_to(l, t, at);
	for (e = t->top; e != NULL && !is_of(e, l); e = e->down)
		;
	if (e == NULL)
		return 0;
	while (t->top != e)
		pop(l, t);
	while (t->top != NULL && is_of(t->top, l)) { /* Q2 */
		set_result(l, &t->top->call);
		pop(l, t);
	}
	return l->no_memory || l->n_open == 0;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Where they return to; NULL: no memory. */
static uint64_t *find_returns(const struct lister *l, size_t *n)
{
	uint64_t *all = calloc(l->n_all + 1, sizeof *all);
	size_t kept = 0;

	if (all == NULL)
		return NULL;
	for (size_t i = 0; i < l->n_all; i++)
		all[i] = l->all[i]->call.caller;
	qsort(all, l->n_all, sizeof *all, by_number);
	for (size_t i = 0; i < l->n_all; i++)
		if (all[i] != 0 && (kept == 0 || all[i] != all[kept - 1]))
			all[kept++] = all[i];
	*n = kept;
	return all;
}

/* -- All of it -- */

static int by_moment(const void *a, const void *b, void *ctx)
{
	struct entry *const *x = a, *const *y = b;

	return visits_compare(ctx, &(*x)->call.at, &(*y)->call.at);
}

static int gather(struct lister *l, const struct hark_position *from,
		  const struct hark_position *to, struct hark_err *err)
{
	uint64_t *returns;
	size_t n;
	int rc;

	if (visits_gather(l->p, &l->function, 1, from, to, on_call, l, err) < 0)
		return -1;
	returns = find_returns(l, &n);
	l->no_memory = l->no_memory || returns == NULL;
	rc = l->no_memory
		 ? -1
		 : visits_gather(l->p, returns, n, from, to, on_return, l, err);
	free(returns);
	if (l->no_memory)
		return err_set(err, HARK_ENOMEM, 0,
			       "no memory for a list of calls");
	if (rc == 0 && l->n_all > 0)
		qsort_r(l->all, l->n_all, sizeof(struct entry *), by_moment,
			l->p->timeline);
	return rc;
}

static void lister_free(struct lister *l)
{
	for (size_t i = 0; i < l->n_all; i++)
		entry_free(l->all[i]);
	for (unsigned i = 0; i < l->n; i++)
		free(l->parameter[i].name);
	free(l->all);
	free(l->threads);
	free(l);
}

/* Thread numbers are from 1, but a file may say anything. */
static int make_threads(struct lister *l)
{
	unsigned n = hark_n_threads(l->p->timeline);

	for (unsigned i = 0; i < n; i++) {
		uint32_t number = hark_thread(l->p->timeline, i)->number;

		if (number >= l->n_threads && number <= n)
			l->n_threads = number + 1;
	}
	l->threads = calloc(l->n_threads + 1u, sizeof *l->threads);
	return l->threads != NULL ? 0 : -1;
}

int calls_list(struct ask_pair *p, struct space *s, uint64_t function,
	       const struct hark_position *from, const struct hark_position *to,
	       uint64_t most, calls_each *each, void *ctx, struct hark_err *err)
{
	struct lister *l = calloc(1, sizeof *l);
	int rc;

	if (l == NULL)
		return err_set(err, HARK_ENOMEM, 0, "no memory");
	*l = (struct lister){.p = p,
			     .source = ask_source_of(p),
			     .space = s,
			     .function = function,
			     .most =
				 hark_n_threads(p->timeline) == 1 ? most : 0};
	find_types(l);
	rc = make_threads(l) < 0 ? err_set(err, HARK_ENOMEM, 0, "no memory")
				 : gather(l, from, to, err);
	for (size_t i = 0; rc == 0 && i < l->n_all && (most == 0 || i < most);
	     i++)
		if (each(ctx, &l->all[i]->call) != 0)
			break;
	lister_free(l);
	return rc;
}
