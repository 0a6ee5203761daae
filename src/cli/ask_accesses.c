/* cli/ask_accesses.c - hark ask last-write, writes, reads, calls: lists of
 * moments. */
#include "cli/ask_answers.h"

#include "ask/calls.h"
#include "ask/show.h"
#include "ask/visits.h"
#include "image/lines.h"
#include "present/json.h"
#include "present/say.h"
#include "present/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 1 << 16, CODE_LEN = 512, SHOWN = 64 };

/* -- Moments -- */

void answer_put_position(struct json *j, const char *key,
			 const struct hark_position *at)
{
	char text[64];

	hark_position_text(at, text, sizeof text);
	json_text(j, key, text);
}

void answer_put_code(struct json *j, struct ask *a, uint64_t pc)
{
	const struct space_module *m = space_at(a->space, pc);
	struct line_frame lines[LINES_DEPTH];
	char text[CODE_LEN];
	size_t n = 0;

	snprintf(text, sizeof text, "0x%" PRIx64, pc);
	json_text(j, "pc", text);
	space_name(a->space, pc, text, sizeof text);
	json_text(j, "symbol", text);
	if (m == NULL ||
	    lines_at(m->file, pc - m->bias, lines, LINES_DEPTH, &n, NULL) < 0)
		return;
	if (lines[n - 1].function != NULL)
		json_text(j, "function", lines[n - 1].function);
	if (lines[n - 1].file != NULL) {
		json_text(j, "file", lines[n - 1].file);
		json_number(j, "line", lines[n - 1].line);
	}
}

/* -- What an access did to a value -- */

struct part {
	uint64_t low, high;  /* run-time addresses */
	struct prose path;   /* of the field, "" if it is the whole */
	struct prose before; /* as text */
	struct prose after;
};

static void part_fini(struct part *p)
{
	prose_fini(&p->path);
	prose_fini(&p->before);
	prose_fini(&p->after);
}

/* Bytes [low, high) of the access, as the part of v that they are. */
static void show_side(struct ask *a, const struct value *v, uint64_t addr,
		      const struct hark_access *x, const struct part *p,
		      const uint8_t *bytes, const uint8_t *known,
		      struct prose *out)
{
	uint64_t skip = p->low - x->address, len = p->high - p->low, at = 0;
	struct show s = {.space = a->space};
	struct type_facts f;
	struct type t;

	if (skip >= SHOWN) {
		prose_put(out, "??");
		return;
	}
	len = len < SHOWN - skip ? len : SHOWN - skip;
	if (v->is_typed && v->bit_size != 0) {
		/* Of bytes that the access is not to nothing is known here. */
		if (addr < x->address)
			prose_put(out, "??");
		else
			show_bits(&s, v, bytes + (addr - x->address),
				  known + (addr - x->address),
				  SHOWN - (addr - x->address), out);
		return;
	}
	if (v->is_typed && v->repeated == 0 && v->bit_size == 0) {
		t = show_type_at(v->type, p->low - addr, len, &at);
		type_look(t, &f);
		if (addr + at == p->low && f.size == len) {
			show_bytes(&s, t, bytes + skip, known + skip, len, out);
			return;
		}
	}
	show_raw(bytes + skip, known + skip, len, out);
}

static void find_part(struct ask *a, const struct value *v, uint64_t addr,
		      const struct hark_access *x, struct part *p)
{
	uint8_t after[SHOWN], before[SHOWN];
	uint64_t end = addr + v->len, high = x->address + x->size;

	for (unsigned i = 0; i < SHOWN; i++) {
		bool is_in = i < x->size;

		before[i] = is_in && (x->before_known >> i & 1) != 0;
		after[i] = is_in && (x->after_known >> i & 1) != 0;
	}
	*p = (struct part){.low = addr > x->address ? addr : x->address,
			   .high = end < high ? end : high};
	prose_init(&p->path, TEXT_MAX);
	prose_init(&p->before, TEXT_MAX);
	prose_init(&p->after, TEXT_MAX);
	if (p->low >= p->high)
		return; /* not what was asked for */
	if (v->is_typed && v->repeated == 0 && v->bit_size == 0)
		show_path(v->type, p->low - addr, p->high - p->low, &p->path);
	show_side(a, v, addr, x, p, x->before, before, &p->before);
	show_side(a, v, addr, x, p, x->after, after, &p->after);
}

/* -- Accesses -- */

struct list {
	struct ask *a;
	const char *what;
	struct value v;
	uint64_t addr;
	uint64_t n;
};

static void access_json(struct list *l, const struct hark_access *x,
			const struct part *p)
{
	char text[64];
	struct json j;

	json_init(&j, stdout);
	json_object(&j, NULL);
	answer_put_position(&j, "position", &x->at);
	json_number(&j, "thread", x->at.thread);
	answer_put_code(&j, l->a, x->pc);
	snprintf(text, sizeof text, "0x%" PRIx64, x->address);
	json_text(&j, "address", text);
	json_number(&j, "size", x->size);
	json_bool(&j, "write", x->is_write != 0);
	json_text(&j, "part", prose_of(&p->path));
	if (x->is_write) {
		json_text(&j, "before", prose_of(&p->before));
		json_text(&j, "after", prose_of(&p->after));
	}
	json_text(&j, "value", prose_of(x->is_write ? &p->after : &p->before));
	json_end(&j);
}

static void access_text(struct list *l, const struct hark_access *x,
			const struct part *p)
{
	char position[64], code[CODE_LEN];

	hark_position_text(&x->at, position, sizeof position);
	space_code(l->a->space, x->pc, false, code, sizeof code);
	if (x->is_write)
		text_print("%-16s %s%s: %s -> %s  (%s)\n", position, l->what,
			   prose_of(&p->path), prose_of(&p->before),
			   prose_of(&p->after), code);
	else
		text_print("%-16s %s%s: %s  (%s)\n", position, l->what,
			   prose_of(&p->path), prose_of(&p->before), code);
}

static int print_access(void *ctx, const struct hark_access *x)
{
	struct list *l = ctx;
	struct part p;

	find_part(l->a, &l->v, l->addr, x, &p);
	if (l->a->json)
		access_json(l, x, &p);
	else
		access_text(l, x, &p);
	part_fini(&p);
	l->n++;
	return l->a->limit != 0 && l->n == l->a->limit;
}

/* The thing in memory that WHAT names; a pointer by & is what it points to. */
static int find_thing(struct ask *a, const char *what, struct list *out,
		      struct hark_err *err)
{
	struct type_facts f;
	int64_t addr;

	*out = (struct list){.a = a, .what = what};
	if (eval_text(&a->eval, what, &out->v, err) < 0)
		return -1;
	if (what[0] == '&' && out->v.is_typed &&
	    eval_number(&a->eval, &out->v, &addr) == 0) {
		type_look(out->v.type, &f);
		out->v = eval_at(f.target, (uint64_t)addr, 0);
		out->what++;
	} else if (out->v.is_number) {
		out->v = eval_at((struct type){0}, out->v.place.piece[0].u, 8);
		out->v.is_typed = false;
	}
	if (!eval_address(&out->v, &out->addr))
		return err_set(err, HARK_EINPUT, 0,
			       "'%s' is not in memory at this moment", what);
	if (out->v.len == 0)
		return err_set(err, HARK_EINPUT, 0,
			       "the size of '%s' is not known; say how many "
			       "bytes, as in '%s:8'",
			       what, what);
	return 0;
}

int answer_last_write(struct ask *a, const char *what, struct hark_err *err)
{
	struct hark_error e = {0};
	struct hark_access x;
	struct list l;
	int rc;

	if (find_thing(a, what, &l, err) < 0)
		return -1;
	rc = hark_last_write(a->m->pair.timeline, l.addr, l.v.len, &x, &e);
	moment_hush(a->m);
	if (rc < 0)
		return ask_error(&e, err);
	if (rc == 1)
		print_access(&l, &x);
	else
		say("nothing in the recording has written '%s' before", what);
	return rc;
}

int answer_accesses(struct ask *a, const char *what, unsigned on,
		    struct hark_err *err)
{
	struct hark_error e = {0};
	struct list l;
	int rc;

	if (find_thing(a, what, &l, err) < 0)
		return -1;
	rc = hark_accesses(a->m->pair.timeline, l.addr, l.v.len, on, &a->from,
			   &a->to, print_access, &l, &e);
	moment_hush(a->m);
	if (rc < 0)
		return ask_error(&e, err);
	if (l.n == 0)
		say("nothing %s '%s' there",
		    on == HARK_ON_WRITE ? "wrote" : "read", what);
	return l.n > 0;
}

/* -- Calls -- */

static void inlined_json(struct json *j, const struct function_place *f)
{
	json_object(j, "caller");
	if (f->caller != NULL)
		json_text(j, "function", f->caller);
	if (f->file != NULL) {
		json_text(j, "file", f->file);
		json_number(j, "line", f->line);
	}
	json_end(j);
}

static void called_json(struct ask *a, struct json *j,
			const struct calls_call *c)
{
	json_array(j, "arguments");
	for (unsigned i = 0; i < c->n; i++) {
		json_object(j, NULL);
		json_text(j, "name", c->arguments[i].name);
		json_text(j, "type", c->arguments[i].type);
		json_text(j, "value", c->arguments[i].text);
		json_end(j);
	}
	json_end(j);
	json_object(j, "caller");
	answer_put_code(j, a, c->caller);
	json_end(j);
	json_bool(j, "returned", c->has_returned);
	if (c->has_returned) {
		answer_put_position(j, "returned_at", &c->returned_at);
		json_text(j, "type", c->result.type);
		json_text(j, "value", c->result.text);
	}
}

static void call_json(struct ask *a, const struct calls_call *c)
{
	const struct function_place *f = c->function;
	struct json j;

	json_init(&j, stdout);
	json_object(&j, NULL);
	answer_put_position(&j, "position", &c->at);
	json_number(&j, "thread", c->at.thread);
	json_text(&j, "function", f->name);
	json_bool(&j, "inlined", f->is_inlined);
	if (f->is_inlined)
		inlined_json(&j, f);
	else
		called_json(a, &j, c);
	json_end(&j);
}

static const char *file_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static void inlined_text(const struct function_place *f)
{
	text_print("%s inlined", f->name);
	if (f->caller != NULL && f->file != NULL)
		text_print("  (in %s at %s:%u)", f->caller, file_of(f->file),
			   f->line);
	else if (f->caller != NULL)
		text_print("  (in %s)", f->caller);
	putchar('\n');
}

static void call_text(struct ask *a, const char *name,
		      const struct calls_call *c)
{
	char position[64], code[CODE_LEN];

	hark_position_text(&c->at, position, sizeof position);
	text_print("%-16s ", position);
	if (c->function->is_inlined) {
		inlined_text(c->function);
		return;
	}
	text_print("%s(", name);
	for (unsigned i = 0; i < c->n; i++)
		text_print("%s%s = %s", i > 0 ? ", " : "", c->arguments[i].name,
			   c->arguments[i].text);
	text_print(")");
	if (!c->has_returned)
		text_print(" does not return");
	else if (c->result.text[0] != '\0')
		text_print(" = %s", c->result.text);
	if (c->caller != 0) {
		space_code(a->space, c->caller, true, code, sizeof code);
		text_print("  (from %s)", code);
	}
	putchar('\n');
}

static int print_call(void *ctx, const struct calls_call *c)
{
	struct list *l = ctx;

	if (l->a->json)
		call_json(l->a, c);
	else
		call_text(l->a, c->function->name, c);
	l->n++;
	return l->a->limit != 0 && l->n == l->a->limit;
}

/* Any expression that is an address of code. */
static int function_by_address(struct ask *a, const char *what,
			       struct functions *out, struct hark_err *err)
{
	struct space_symbol sym;
	struct value v;
	uint64_t addr;
	int64_t n;

	if (space_symbol(a->space, what, &sym, err) == 0 && !sym.is_code)
		return err_set(err, HARK_EINPUT, 0, "'%s' is no function",
			       what);
	if (eval_text(&a->eval, what, &v, NULL) < 0)
		return -1; /* err has near names */
	if (v.is_code && eval_address(&v, &addr))
		return functions_at(addr, what, out, err);
	if (eval_number(&a->eval, &v, &n) < 0)
		return err_set(err, HARK_EINPUT, 0, "'%s' is no function",
			       what);
	return functions_at((uint64_t)n, what, out, err);
}

static int find_functions(struct ask *a, const char *what,
			  struct functions *out, struct hark_err *err)
{
	if (functions_find(a->space, what, out, err) < 0)
		return -1;
	return out->n > 0 ? 0 : function_by_address(a, what, out, err);
}

static void explain_inlined(const struct functions *f, const char *what)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		n += f->at[i].is_inlined;
	if (n > 0)
		say("'%s' is inlined at %zu place%s; it is not called there, "
		    "so there are no arguments and no result: each time that "
		    "its code begins is listed",
		    what, n, n == 1 ? "" : "s");
}

/* -- Lines -- */

static int print_visit(void *ctx, const struct hark_position *at,
		       const struct hark_registers *regs)
{
	const uint64_t pc = regs->rip;
	struct list *l = ctx;
	char position[64], code[CODE_LEN];
	struct json j;

	if (l->a->json) {
		json_init(&j, stdout);
		json_object(&j, NULL);
		answer_put_position(&j, "position", at);
		json_number(&j, "thread", at->thread);
		answer_put_code(&j, l->a, pc);
		json_end(&j);
	} else {
		hark_position_text(at, position, sizeof position);
		space_code(l->a->space, pc, false, code, sizeof code);
		text_print("%-16s %s\n", position, code);
	}
	l->n++;
	return l->a->limit != 0 && l->n == l->a->limit;
}

static int answer_visits(struct ask *a, const char *what, const char *file,
			 uint32_t line, struct hark_err *err)
{
	struct list l = {.a = a, .what = what};
	uint64_t *sites;
	size_t n;
	int rc;

	if (visits_sites(a->space, file, line, &sites, &n, err) < 0)
		return -1;
	rc = visits_list(&a->m->pair, sites, n, 0, &a->from, &a->to,
			 print_visit, &l, err);
	free(sites);
	moment_hush(a->m);
	if (rc < 0)
		return -1;
	if (l.n == 0)
		say("'%s' is not executed there", what);
	return l.n > 0;
}

int answer_calls(struct ask *a, const char *function, struct hark_err *err)
{
	struct list l = {.a = a, .what = function};
	struct functions found = {0};
	struct calls_wish wish = {.from = a->from,
				  .to = a->to,
				  .most = a->limit,
				  .is_raw = a->eval.is_raw};
	char file[CODE_LEN];
	uint32_t line;
	int rc;

	if (visits_parse(function, file, sizeof file, &line))
		return answer_visits(a, function, file, line, err);
	if (find_functions(a, function, &found, err) < 0)
		return -1;
	explain_inlined(&found, function);
	rc = calls_list(&a->m->pair, a->space, &found, &wish, print_call, &l,
			err);
	functions_fini(&found);
	moment_hush(a->m);
	if (rc < 0)
		return -1;
	if (l.n == 0)
		say("'%s' is not called there", function);
	return l.n > 0;
}
