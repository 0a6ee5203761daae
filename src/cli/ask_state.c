/* cli/ask_state.c - hark ask value, regs, stack: one moment. */
#include "cli/ask_answers.h"

#include "ask/show.h"
#include "image/lines.h"
#include "image/vars.h"
#include "present/json.h"
#include "present/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 1 << 20, LOCAL_MAX = 2000, CODE_LEN = 512 };

static void put_hex(struct json *j, const char *key, uint64_t v)
{
	char text[32];

	snprintf(text, sizeof text, "0x%" PRIx64, v);
	json_text(j, key, text);
}

static void begin_json(struct json *j, struct ask *a)
{
	char text[64];

	json_init(j, stdout);
	json_object(j, NULL);
	hark_position_text(&a->at, text, sizeof text);
	json_text(j, "position", text);
}

/* -- Values -- */

/* All bytes, with ?? for those that are not known. */
static void put_bytes(struct json *j, struct ask *a, const struct value *v)
{
	uint64_t len = v->len < SHOW_LEN_MAX ? v->len : SHOW_LEN_MAX;
	uint8_t *bytes = calloc(2, (size_t)len + 1);
	char *hex = calloc(2, (size_t)len + 1);
	size_t known = 0;

	if (bytes != NULL && hex != NULL) {
		known =
		    eval_read(&a->eval, v, 0, bytes, bytes + len, (size_t)len);
		for (size_t i = 0; i < len; i++)
			if (bytes[len + i])
				snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
			else
				snprintf(hex + 2 * i, 3, "%s", "??");
		json_text(j, "bytes", hex);
		json_bool(j, "known", known == len);
	}
	free(bytes);
	free(hex);
}

static void value_json(struct ask *a, const char *what, const struct value *v,
		       const char *text)
{
	char type[256] = "";
	struct json j;
	uint64_t addr;
	int64_t n;

	begin_json(&j, a);
	json_text(&j, "what", what);
	if (v->is_typed)
		type_text(v->type, type, sizeof type);
	json_text(&j, "type", type);
	json_number(&j, "size", v->len);
	if (eval_address(v, &addr))
		put_hex(&j, "address", addr);
	json_text(&j, "value", text);
	if (eval_number(&a->eval, v, &n) == 0)
		json_signed(&j, "number", n);
	put_bytes(&j, a, v);
	json_end(&j);
}

int answer_value(struct ask *a, const char *what, struct hark_err *err)
{
	struct prose text;
	struct value v;
	int rc;

	if (eval_text(&a->eval, what, &v, err) < 0)
		return -1;
	if (v.is_number && !v.is_address) { /* what lies there */
		v = eval_at((struct type){0}, v.place.piece[0].u, 8);
		v.is_typed = false;
	}
	prose_init(&text, TEXT_MAX);
	rc = show_value(&a->eval, &v, &text, err);
	if (rc == 0 && args_flag(a->args, "all"))
		rc = answer_possible(a, what, &v, prose_of(&text), err);
	else if (rc == 0 && a->json)
		value_json(a, what, &v, prose_of(&text));
	else if (rc == 0)
		text_print("%s = %s\n", what, prose_of(&text));
	prose_fini(&text);
	return rc < 0 ? -1 : 1;
}

/* -- Registers -- */

static const char *const names[] = {
    "rax", "rbx", "rcx", "rdx",	   "rsi",     "rdi",	"rbp",
    "rsp", "r8",  "r9",	 "r10",	   "r11",     "r12",	"r13",
    "r14", "r15", "rip", "rflags", "fs_base", "gs_base"};

static void print_registers(struct ask *a, struct json *j)
{
	uint8_t bytes[16];
	char name[8], hex[40];
	uint64_t word, high;
	size_t len;

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (unwind_register(a->u, a->eval.frame, names[i], bytes,
				    &len) < 0)
			continue;
		memcpy(&word, bytes, sizeof word);
		space_name(a->space, word, hex, sizeof hex);
		if (a->json)
			put_hex(j, names[i], word);
		else
			text_print("%-8s 0x%016" PRIx64 "%s%s\n", names[i],
				   word, hex[0] != '\0' ? "  " : "", hex);
	}
	for (unsigned i = 0; i < 16; i++) {
		snprintf(name, sizeof name, "xmm%u", i % 100);
		if (unwind_register(a->u, a->eval.frame, name, bytes, &len) < 0)
			continue;
		memcpy(&word, bytes, 8);
		memcpy(&high, bytes + 8, 8);
		snprintf(hex, sizeof hex, "0x%016" PRIx64 "%016" PRIx64, high,
			 word);
		if (a->json)
			json_text(j, name, hex);
		else
			text_print("%-8s %s\n", name, hex);
	}
}

int answer_registers(struct ask *a, struct hark_err *err)
{
	struct json j;

	(void)err;
	if (a->json) {
		begin_json(&j, a);
		json_object(&j, "registers");
	}
	print_registers(a, &j);
	if (a->json) {
		json_end(&j);
		json_end(&j);
	}
	return 1;
}

/* -- The stack -- */

struct locals {
	struct ask *a;
	struct json *j;
	unsigned frame;
};

static int print_local(void *ctx, const struct var *v)
{
	struct locals *l = ctx;
	struct eval e = l->a->eval;
	struct prose text;
	struct value value;
	char type[256];

	e.frame = l->frame;
	eval_var(&e, v, l->frame, NULL, &value);
	prose_init(&text, LOCAL_MAX);
	if (value.len == 0 || show_value(&e, &value, &text, NULL) < 0)
		prose_put(&text, "??");
	if (l->a->json) {
		type_text(v->type, type, sizeof type);
		json_object(l->j, NULL);
		json_text(l->j, "name", v->name);
		json_text(l->j, "type", type);
		json_bool(l->j, "parameter", v->is_parameter);
		json_text(l->j, "value", prose_of(&text));
		json_end(l->j);
	} else {
		text_print("        %s = %s\n", v->name, prose_of(&text));
	}
	prose_fini(&text);
	return 0;
}

static void print_locals(struct ask *a, struct json *j, unsigned frame,
			 unsigned inlined)
{
	const struct unwind_frame *f = &a->u->frame[frame];
	struct locals l = {.a = a, .j = j, .frame = frame};

	if (a->json)
		json_array(j, "locals");
	if (f->module != NULL)
		vars_each_local(f->module->file,
				f->pc - f->is_return - f->module->bias, inlined,
				print_local, &l, NULL);
	if (a->json)
		json_end(j);
}

static void print_frame(struct ask *a, struct json *j, unsigned frame,
			const struct line_frame *line, unsigned number)
{
	const struct unwind_frame *f = &a->u->frame[frame];
	char name[CODE_LEN];

	space_name(a->space, f->pc - f->is_return, name, sizeof name);
	if (line != NULL && line->function != NULL)
		snprintf(name, sizeof name, "%s", line->function);
	else if (name[0] == '\0')
		snprintf(name, sizeof name, "??");
	if (a->json) {
		json_number(j, "frame", frame);
		put_hex(j, "pc", f->pc);
		json_text(j, "function", name);
		json_bool(j, "inlined", line != NULL && line->inlined);
		if (line != NULL && line->file != NULL) {
			json_text(j, "file", line->file);
			json_number(j, "line", line->line);
		}
		if (f->module != NULL)
			json_text(j, "module", f->module->path);
		return;
	}
	text_print("#%-3u 0x%016" PRIx64 " %s", number, f->pc, name);
	if (line != NULL && line->file != NULL)
		text_print(" at %s:%u", line->file, line->line);
	else if (f->module != NULL)
		text_print(" in %s", f->module->path);
	if (line != NULL && line->inlined)
		text_print(" (inlined)");
	putchar('\n');
}

/* A frame is as many calls as were inlined into it; innermost first. */
static void print_calls(struct ask *a, struct json *j, unsigned frame,
			unsigned *number)
{
	const struct unwind_frame *f = &a->u->frame[frame];
	struct line_frame lines[LINES_DEPTH];
	size_t n = 0;

	if (f->module == NULL ||
	    lines_at(f->module->file, f->pc - f->is_return - f->module->bias,
		     lines, LINES_DEPTH, &n, NULL) < 0)
		n = 0;
	for (size_t i = 0; i < n || i == 0; i++) {
		const struct line_frame *line =
		    n > 0 ? &lines[n - 1 - i] : NULL;

		if (a->json)
			json_object(j, NULL);
		print_frame(a, j, frame, line, *number);
		print_locals(a, j, frame, (unsigned)i);
		if (a->json)
			json_end(j);
		++*number;
	}
}

int answer_stack(struct ask *a, struct hark_err *err)
{
	const char *why = unwind_why(a->u);
	unsigned number = 0;
	struct json j;

	(void)err;
	if (a->json) {
		begin_json(&j, a);
		json_array(&j, "frames");
	}
	for (unsigned i = 0; i < a->u->n; i++)
		print_calls(a, &j, i, &number);
	if (a->json) {
		json_end(&j);
		json_bool(&j, "whole", why == NULL);
		json_end(&j);
	} else if (why != NULL) {
		text_print("     (the stack ends here: %s)\n", why);
	}
	return 1;
}
