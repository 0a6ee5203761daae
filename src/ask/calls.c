/* ask/calls.c - every call of a function: arguments and result.
 *
 * One run over the recording, with a breakpoint at the function and one at
 * each return address that was seen. All work is done in their conditions,
 * which let the run go on; it stops only where a breakpoint is to be added.
 *
 * Q1  Calls wait in a queue in their order. The first is told when it has
 *     returned, or never will.
 * Q2  A thread whose stack pointer is above a call's frame has left it. */
#include "ask/calls.h"

#include "ask/abi.h"
#include "ask/show.h"
#include "image/vars.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS = 64, TEXT_MAX = 4096, RETURNS_MAX = 65536 };
enum { BYTES_MAX = 4096 };

struct parameter {
	char *name; /* owned */
	struct type type;
	struct abi_place place;
	char text[96]; /* of its type */
};

struct waiting {
	struct waiting *next;
	struct calls_call call;
	uint64_t rsp; /* behind its return */
	bool is_over;
};

struct lister {
	struct ask_pair *p;
	struct ask_source source;
	struct space *space;
	uint64_t function;
	const struct hark_position *from, *to;
	calls_each *each;
	void *ctx;

	struct parameter parameter[PARAMETERS];
	unsigned n;
	bool has_types;
	struct parameter result;

	uint64_t *returns; /* owned: where breakpoints are */
	size_t n_returns;
	uint64_t wanted; /* where one is to be added; 0: nowhere */
	struct waiting *first, **last;
	struct hark_registers regs;
	bool no_memory, is_done;
	int rc;
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

/* -- The queue -- */

static void waiting_free(struct waiting *w)
{
	for (unsigned i = 0; i < w->call.n; i++) {
		free(w->call.arguments[i].type);
		free(w->call.arguments[i].text);
	}
	free(w->call.arguments);
	free(w->call.result.type);
	free(w->call.result.text);
	free(w);
}

/* Tells those at the head that are over; all of them, at the end. */
static void flush(struct lister *l, bool all)
{
	while (l->first != NULL && (all || l->first->is_over)) {
		struct waiting *w = l->first;

		l->first = w->next;
		if (l->first == NULL)
			l->last = &l->first;
		if (l->rc == 0 && !l->no_memory)
			l->rc = l->each(l->ctx, &w->call);
		waiting_free(w);
	}
}

/* Q2 */
static void leave(struct lister *l, uint32_t thread, uint64_t rsp)
{
	for (struct waiting *w = l->first; w != NULL; w = w->next)
		if (w->call.at.thread == thread && w->rsp < rsp)
			w->is_over = true;
}

static bool is_new_return(const struct lister *l, uint64_t addr)
{
	for (size_t i = 0; i < l->n_returns; i++)
		if (l->returns[i] == addr)
			return false;
	return true;
}

/* -- What the run meets -- */

static bool read_here(struct lister *l, struct hark_position *at)
{
	struct hark_timeline *t = l->p->timeline;

	*at = hark_where(t);
	if (hark_position_compare(t, at, l->to) > 0) {
		l->is_done = true;
		return false;
	}
	return hark_registers(t, at->thread, &l->regs, NULL) == 0;
}

/* 1: a breakpoint is to be added, or that is all. */
static int on_call(void *ctx, struct hark_timeline *t)
{
	struct lister *l = ctx;
	struct hark_position at;
	struct waiting *w;
	uint8_t known[8];

	(void)t;
	if (!read_here(l, &at))
		return l->is_done;
	w = calloc(1, sizeof *w);
	if (w == NULL) {
		l->no_memory = true;
		return 1;
	}
	leave(l, at.thread, l->regs.gpr[4] + 8);
	w->call.at = at;
	w->rsp = l->regs.gpr[4] + 8;
	if (l->source.read(l->source.ctx, l->regs.gpr[4], 8,
			   (uint8_t *)&w->call.caller, known) != 8)
		w->call.caller = 0;
	set_arguments(l, &w->call);
	*l->last = w;
	l->last = &w->next;
	flush(l, false);
	if (w->call.caller != 0 && is_new_return(l, w->call.caller))
		l->wanted = w->call.caller;
	return l->wanted != 0 || l->no_memory || l->rc != 0;
}

static int on_return(void *ctx, struct hark_timeline *t)
{
	struct lister *l = ctx;
	struct waiting *found = NULL;
	struct hark_position at;

	(void)t;
	if (!read_here(l, &at))
		return l->is_done;
	for (struct waiting *w = l->first; w != NULL; w = w->next)
		if (!w->is_over && w->call.at.thread == at.thread &&
		    w->rsp == l->regs.gpr[4] && w->call.caller == l->regs.rip)
			found = w;
	if (found == NULL)
		return 0;
	set_result(l, &found->call);
	found->is_over = true;
	flush(l, false);
	return l->no_memory || l->rc != 0;
}

static int add_return(struct lister *l, struct hark_err *err)
{
	uint64_t *more;

	if (l->n_returns == RETURNS_MAX)
		return 0; /* that many callers are enough */
	more = reallocarray(l->returns, l->n_returns + 1, sizeof *more);
	if (more == NULL)
		return err_set(err, HARK_ENOMEM, 0, "no memory");
	l->returns = more;
	l->returns[l->n_returns++] = l->wanted;
	hark_break(l->p->timeline, l->wanted, HARK_ANY_THREAD, on_return, l);
	l->wanted = 0;
	return 0;
}

static int run(struct lister *l, struct hark_err *err)
{
	struct hark_timeline *t = l->p->timeline;
	struct hark_stopped stop = {.why = HARK_STOP_STEP};
	struct hark_position at = *l->from;
	struct hark_error e = {0};

	if (hark_seek(t, &at, &e) < 0)
		return ask_error(&e, err);
	hark_break(t, l->function, HARK_ANY_THREAD, on_call, l);
	while (!l->is_done && l->rc == 0) {
		if (hark_run(t, HARK_FORWARD, &stop, &e) < 0)
			return ask_error(&e, err);
		if (stop.why == HARK_STOP_END)
			break;
		if (l->no_memory)
			return err_set(err, HARK_ENOMEM, 0,
				       "no memory for a list of calls");
		if (l->wanted != 0 && add_return(l, err) < 0)
			return -1;
	}
	return 0;
}

int calls_list(struct ask_pair *p, struct space *s, uint64_t function,
	       const struct hark_position *from, const struct hark_position *to,
	       calls_each *each, void *ctx, struct hark_err *err)
{
	struct lister *l = calloc(1, sizeof *l);
	int rc;

	if (l == NULL)
		return err_set(err, HARK_ENOMEM, 0, "no memory");
	*l = (struct lister){.p = p,
			     .source = ask_source_of(p),
			     .space = s,
			     .function = function,
			     .from = from,
			     .to = to,
			     .each = each,
			     .ctx = ctx};
	l->last = &l->first;
	find_types(l);
	rc = run(l, err);
	flush(l, true);
	for (unsigned i = 0; i < l->n; i++)
		free(l->parameter[i].name);
	free(l->returns);
	free(l);
	return rc;
}
