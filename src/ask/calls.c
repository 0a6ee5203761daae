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

struct entry {
	struct calls_call call;
	uint64_t rsp; /* after its return */
	bool has_ended;
	struct entry *next; /* of the queue */
	struct entry *down; /* of its thread's stack */
};

struct lister {
	struct ask_pair *p;
	struct ask_source source;
	struct space *space;
	uint64_t function;
	uint64_t most; /* calls; 0: all */

	struct parameter parameter[PARAMETERS];
	unsigned n;
	bool has_types;
	struct parameter result;

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
	abi_read(&p->place, &l->source, l->regs, rsp, bytes, known,
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
			    show_place(l, &l->parameter[i], l->regs->gpr[4]);
			continue;
		}
		snprintf(hex, sizeof hex, "0x%llx",
			 (unsigned long long)l->regs->gpr[order[i]]);
		v->name = names[i];
		v->type = copy(l, "");
		v->text = copy(l, hex);
	}
}

static void set_result(struct lister *l, const struct hark_position *at,
		       struct calls_call *c)
{
	char hex[32];

	c->has_returned = true;
	c->returned_at = *at;
	c->result.name = "";
	c->result.type = copy(l, l->result.text);
	if (l->has_types && l->result.place.where == ABI_NONE) {
		c->result.text = copy(l, "");
	} else if (l->has_types) {
		c->result.text = show_place(l, &l->result, 0);
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

/* Of calls that are not shown nothing is kept: what returns is told from them
 * by its stack pointer. */
static void see_call(struct lister *l, const struct hark_position *at,
		     struct entry **top)
{
	uint64_t rsp = l->regs->gpr[4] + 8;
	struct entry *e;

	while (*top != NULL && (*top)->rsp < rsp)
		pop(top); /* CALLS-1 */
	if (l->most != 0 && l->n_seen == l->most)
		return;
	e = add_entry(l);
	if (e == NULL)
		return;
	e->call.at = *at;
	e->rsp = rsp;
	e->call.caller = read_caller(l);
	set_arguments(l, &e->call);
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
		set_result(l, at, &(*top)->call);
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
	if (regs->rip == l->function)
		see_call(l, at, &l->stacks[at->thread]);
	give_calls(l, false);
	return l->no_memory || l->is_enough ||
	       (l->most != 0 && l->n_seen == l->most && l->first == NULL);
}

/* -- All of it -- */

static void lister_free(struct lister *l)
{
	while (l->first != NULL) {
		struct entry *next = l->first->next;

		entry_free(l->first);
		l->first = next;
	}
	for (unsigned i = 0; i < l->n; i++)
		free(l->parameter[i].name);
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

int calls_list(struct ask_pair *p, struct space *s, uint64_t function,
	       const struct hark_position *from, const struct hark_position *to,
	       uint64_t most, calls_each *each, void *ctx, struct hark_err *err)
{
	struct lister *l = calloc(1, sizeof *l);
	int rc = -1;

	if (l == NULL)
		return err_set(err, HARK_ENOMEM, 0, "no memory");
	*l = (struct lister){.p = p,
			     .source = ask_source_of(p),
			     .space = s,
			     .function = function,
			     .most = most,
			     .each = each,
			     .ctx = ctx};
	find_types(l);
	l->no_memory = l->no_memory || make_stacks(l) < 0;
	if (!l->no_memory)
		rc = visits_list(p, &function, 1, HARK_WITH_RETURNS, from, to,
				 on_visit, l, err);
	if (l->no_memory)
		rc = err_set(err, HARK_ENOMEM, 0,
			     "no memory for a list of calls");
	if (rc == 0)
		give_calls(l, true);
	lister_free(l);
	return rc;
}
