/* site/choice.c - reads the code that chooses a function. */
#include "site/choice.h"

enum { READ_MAX = 8 }; /* functions */

struct reading {
	const struct choice_ask *a; /* borrowed */
	struct choice *out;	    /* borrowed */
	struct symbol todo[READ_MAX];
	unsigned n, done;
};

/* -- What it may return -- */

static void add(struct reading *r, uint64_t addr)
{
	struct choice *c = r->out;
	struct symbol y;

	for (unsigned i = 0; i < c->n; i++)
		if (c->of[i].addr == addr)
			return;
	if (c->n < CHOICE_MAX && survey_at(r->a->survey, addr) & SURVEY_ENTRY &&
	    r->a->function(r->a->ctx, addr, &y) && y.kind != SYMBOL_IFUNC &&
	    y.kind != SYMBOL_PLT)
		c->of[c->n++] = y;
}

/* mov $imm to a register of 32 or 64 bits. */
static bool is_constant(const struct x86_insn *i)
{
	if (i->space != X86_SPACE_LEGACY || i->prefixes & X86_P_66)
		return false;
	return (i->opcode & 0xf8) == 0xb8 ||
	       (i->opcode == 0xc7 && !i->is_mem && (i->modrm >> 3 & 7) == 0);
}

/* The immediate as the register has it. */
static uint64_t constant_of(const uint8_t *code, const struct x86_insn *i)
{
	uint64_t v = (uint64_t)x86_imm(code, i);

	return i->rex & 8 ? v : (uint32_t)v;
}

static void look_at(struct reading *r, uint64_t addr, const struct x86_insn *i)
{
	const uint8_t *code = survey_bytes(r->a->survey, addr);
	uint64_t operand = addr + i->len + (uint64_t)i->disp;

	if (x86_uses_rip(i) && i->space == X86_SPACE_LEGACY) {
		if (i->opcode == 0x8d)
			add(r, operand);
		else if (i->opcode == 0x8b && r->a->slot != NULL)
			add(r, r->a->slot(r->a->ctx, operand));
	}
	if (r->a->is_fixed && is_constant(i))
		add(r, constant_of(code, i));
}

/* -- Where it goes on -- */

static void later(struct reading *r, uint64_t addr)
{
	struct symbol y;

	if (r->n == READ_MAX || !r->a->function(r->a->ctx, addr, &y) ||
	    y.kind == SYMBOL_PLT)
		return;
	for (unsigned i = 0; i < r->n; i++)
		if (r->todo[i].addr == addr)
			return;
	r->todo[r->n++] = y;
}

static bool is_in(const struct symbol *y, uint64_t addr)
{
	return addr - y->addr < y->size;
}

/* Reads one function; those that it calls, or jumps to, are put on the list. */
static void read_one(struct reading *r, const struct symbol *y, bool calls)
{
	const struct survey *s = r->a->survey;
	struct x86_insn i;

	for (uint64_t a = y->addr; is_in(y, a); a++) {
		uint64_t target;

		if (!survey_insn(s, a, &i))
			continue;
		if (!calls)
			look_at(r, a, &i);
		if (i.row->flow == X86_CALL_IND)
			r->out->may_ask = true;
		if (!x86_is_direct(&i))
			continue;
		target = x86_target(survey_bytes(s, a), &i, a);
		if (!is_in(y, target) && (i.row->flow == X86_CALL) == calls)
			later(r, target);
	}
}

static void read_all(struct reading *r)
{
	while (r->done < r->n) {
		struct symbol y = r->todo[r->done++];

		read_one(r, &y, false);
	}
}

void choice_of(const struct choice_ask *a, const struct symbol *chooser,
	       struct choice *out)
{
	struct reading r = {.a = a, .out = out, .todo = {*chooser}, .n = 1};

	out->n = 0;
	out->may_ask = false;
	read_all(&r);
	if (out->n > 0)
		return;
	read_one(&r, chooser, true);
	read_all(&r);
}
