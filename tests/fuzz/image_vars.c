/* tests/fuzz/image_vars.c - types, variables and locations of any bytes.
 *
 * Everything that hark ask would ask of a module is asked of them: all
 * globals, what is in scope at each function, where it is and what type it
 * has. What the program's registers and memory hold is made up. */
#include "image/image.h"
#include "image/symbols.h"
#include "image/vars.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ADDRESSES = 16, VARS = 200, FIELDS = 64, DEPTH = 4, READ = 300 };

static int reg(void *ctx, unsigned number, uint8_t out[16], size_t *len)
{
	(void)ctx;
	memset(out, (int)number, 16);
	*len = number < 17 ? 8 : 16;
	return number == 5 ? -1 : 0;
}

static int memory(void *ctx, uint64_t addr, void *out, size_t len)
{
	(void)ctx;
	memset(out, (int)(addr * 37), len);
	return (addr & 0xf00) == 0xf00 ? -1 : 0;
}

static int tls(void *ctx, uint64_t offset, uint64_t *out)
{
	(void)ctx;
	*out = 0x700000 - offset;
	return 0;
}

static int cfa(void *ctx, uint64_t *out)
{
	(void)ctx;
	*out = 0x7ffff000;
	return 0;
}

static int entry(void *ctx, unsigned number, uint64_t *out)
{
	(void)ctx;
	*out = number;
	return 0;
}

struct tour {
	struct image_file *f; /* borrowed */
	uint64_t pc;
	uint64_t addr[ADDRESSES];
	size_t n;
	unsigned vars, fields, depth;
};

static void look(struct tour *t, struct type type);

static int see_field(void *ctx, const struct type_field *f)
{
	struct tour *t = ctx;

	if (t->fields++ == FIELDS)
		return 1;
	look(t, f->type);
	return 0;
}

static void look(struct tour *t, struct type type)
{
	struct type_facts facts;
	struct type_field f;
	char text[64];
	int64_t value;

	type_look(type, &facts);
	type_text(type, text, sizeof text);
	type_enumerator(type, 3);
	type_enum_value(type, "RED", &value);
	type_field(type, "next", &f);
	if (t->depth == DEPTH)
		return;
	t->depth++;
	type_each_field(type, see_field, t);
	look(t, facts.target);
	t->depth--;
}

static int see_var(void *ctx, const struct var *v)
{
	struct tour *t = ctx;
	struct expr_frame f = {.reg = reg,
			       .memory = memory,
			       .tls = tls,
			       .cfa = cfa,
			       .entry = entry,
			       .bias = 0x1000,
			       .pc = t->pc};
	uint8_t bytes[READ], known[READ];
	struct expr_place p;
	size_t n;

	vars_place(v, &f, &p);
	n = expr_read(&p, &f, 0, bytes, known, sizeof bytes);
	for (size_t i = 0; i < sizeof bytes; i++)
		n -= known[i] != 0;
	if (n != 0)
		abort(); /* it counts what it says */
	t->fields = 0;
	look(t, v->type);
	return t->vars++ == VARS;
}

static int see_function(void *ctx, const struct symbol *s)
{
	struct tour *t = ctx;

	t->addr[t->n++] = s->addr;
	return t->n == ADDRESSES;
}

static void ask_function(struct tour *t, uint64_t addr)
{
	struct expr_frame f = {.reg = reg, .memory = memory, .cfa = cfa};
	struct type result;
	uint64_t value;

	for (uint64_t at = 0; at < 64; at += 9) {
		t->pc = f.pc = addr + at;
		for (unsigned i = 0; i < 3; i++) {
			t->vars = 0;
			vars_each_local(t->f, t->pc, i, see_var, t, NULL);
		}
		vars_passed(t->f, t->pc, 5, &f, &value);
	}
	t->vars = 0;
	vars_parameters(t->f, addr, see_var, t, &result, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image *im = NULL;
	struct tour t = {.n = 0};
	struct type type;
	struct var v;

	if (image_new(&im, NULL) < 0)
		return 0;
	if (image_open_memory(im, "fuzzed", data, size, &t.f, NULL) == 0) {
		vars_global(t.f, "shop", &v, NULL);
		vars_global(t.f, "ns::count", &v, NULL);
		vars_each_global(t.f, "*", see_var, &t, NULL);
		type_named(t.f, "struct shop", &type, NULL);
		symbols_each(t.f, NULL, see_function, &t, NULL);
		for (size_t i = 0; i < t.n; i++)
			ask_function(&t, t.addr[i]);
	}
	image_free(im);
	return 0;
}
