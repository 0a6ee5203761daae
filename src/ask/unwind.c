/* ask/unwind.c - the frames of a thread, at one moment. */
#include "ask/unwind.h"

#include "image/frames.h"
#include "image/tls.h"
#include "image/vars.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* DWARF counts rax rdx rcx rbx rsi rdi rbp rsp; the processor counts rax rcx
 * rdx rbx rsp rbp rsi rdi. */
static const uint8_t hardware[8] = {0, 2, 1, 3, 6, 7, 5, 4};

static unsigned hardware_of(unsigned dwarf)
{
	return dwarf < 8 ? hardware[dwarf] : dwarf;
}

static int read_word(void *ctx, uint64_t addr, uint64_t *out)
{
	const struct ask_source *src = space_source(ctx);
	uint8_t known[8];

	return src->read(src->ctx, addr, 8, (uint8_t *)out, known) == 8 ? 0
									: -1;
}

static void first_frame(struct unwind *u)
{
	struct unwind_frame *f = &u->frame[0];

	*f = (struct unwind_frame){.pc = u->regs.rip};
	for (unsigned i = 0; i < 16; i++)
		f->cpu.reg[i] = u->regs.gpr[hardware_of(i)];
	f->cpu.reg[FRAME_RIP] = u->regs.rip;
	f->cpu.known = (1u << FRAME_REGS) - 1;
	f->cpu.exact = true;
	f->module = space_at(u->space, f->pc);
	u->n = 1;
}

/* A call to where no code is: its return address is on top of the stack. */
static bool step_back(struct unwind *u, struct frame_cpu *cpu)
{
	uint64_t pc;

	if (u->n != 1 || u->frame[0].module != NULL ||
	    read_word(u->space, cpu->reg[FRAME_RSP], &pc) < 0 ||
	    space_at(u->space, pc) == NULL)
		return false;
	cpu->reg[FRAME_RSP] += 8;
	cpu->reg[FRAME_RIP] = pc;
	cpu->exact = false;
	return true;
}

static enum unwind_end end_of(enum frame_result r)
{
	switch (r) {
	case FRAME_OUTERMOST:
		return UNWIND_WHOLE;
	case FRAME_UNREADABLE:
		return UNWIND_NO_MEMORY;
	default:
		return UNWIND_NO_RULE;
	}
}

/* From the last frame to its caller; false: u->end says why not. */
static bool step(struct unwind *u)
{
	struct unwind_frame *f = &u->frame[u->n - 1];
	struct frame_memory mem = {read_word, u->space};
	const struct frame_table *t = NULL;
	struct frame_cpu cpu = f->cpu;
	enum frame_result r = FRAME_UNKNOWN;

	if (f->module != NULL && frames_of(f->module->file, &t, NULL) == 0)
		r = frame_step(t, f->module->bias, &mem, &cpu);
	if (r != FRAME_STEPPED && !step_back(u, &cpu)) {
		u->end = end_of(r);
		return false;
	}
	f->cfa = cpu.reg[FRAME_RSP];
	f->has_cfa = true;
	u->end = UNWIND_WHOLE;
	if (cpu.reg[FRAME_RIP] == 0)
		return false;
	u->end = UNWIND_WENT_ASTRAY;
	if (cpu.reg[FRAME_RSP] <= f->cpu.reg[FRAME_RSP] && !cpu.exact)
		return false;
	u->end = UNWIND_TOO_MANY;
	if (u->n == UNWIND_MAX)
		return false;
	u->frame[u->n++] = (struct unwind_frame){
	    .cpu = cpu,
	    .pc = cpu.reg[FRAME_RIP],
	    .is_return = !cpu.exact,
	    .module = space_at(u->space, cpu.reg[FRAME_RIP] - !cpu.exact)};
	return true;
}

int unwind_new(struct space *s, uint32_t thread, unsigned most,
	       struct unwind **out, struct hark_err *err)
{
	const struct ask_source *src = space_source(s);
	struct unwind *u = calloc(1, sizeof *u);

	if (u == NULL)
		return err_set(err, HARK_ENOMEM, 0, "no memory for a stack");
	u->space = s;
	if (src->registers(src->ctx, thread, &u->regs, err) < 0) {
		free(u);
		return -1;
	}
	first_frame(u);
	u->end = UNWIND_TOO_MANY;
	while (u->n < most && step(u))
		;
	*out = u;
	return 0;
}

const char *unwind_why(const struct unwind *u)
{
	switch (u->end) {
	case UNWIND_NO_RULE:
		return "no call-frame rule is known for the last one";
	case UNWIND_NO_MEMORY:
		return "the memory that holds the next one is not known";
	case UNWIND_TOO_MANY:
		return "there are more";
	case UNWIND_WENT_ASTRAY:
		return "the stack leads nowhere";
	default:
		return NULL;
	}
}

/* -- For locations -- */

enum { XMM_AT = 160, DWARF_XMM0 = 17, DWARF_XMM15 = 32 };

/* Vector registers are the callee's to change: known in the first frame. */
static int read_xmm(const struct unwind *u, unsigned i, unsigned number,
		    uint8_t out[16])
{
	bool is_set = (u->regs.xstate_bv & 2) != 0;

	if (i != 0 || u->regs.xsave_len < XMM_AT + 16 * (number + 1))
		return -1;
	memset(out, 0, 16);
	if (is_set)
		memcpy(out, u->regs.xsave + XMM_AT + (size_t)16 * number, 16);
	return 0;
}

static int expr_reg(void *ctx, unsigned number, uint8_t out[16], size_t *len)
{
	const struct unwind_context *c = ctx;
	const struct frame_cpu *cpu = &c->u->frame[c->i].cpu;

	if (number >= DWARF_XMM0 && number <= DWARF_XMM15) {
		*len = 16;
		return read_xmm(c->u, c->i, number - DWARF_XMM0, out);
	}
	if (number >= FRAME_REGS || (cpu->known >> number & 1) == 0)
		return -1;
	memcpy(out, &cpu->reg[number], 8);
	*len = 8;
	return 0;
}

static int expr_memory(void *ctx, uint64_t addr, void *out, size_t len)
{
	const struct unwind_context *c = ctx;
	const struct ask_source *src = space_source(c->u->space);
	uint8_t known[256];
	uint8_t *to = out;

	while (len > 0) {
		size_t n = len < sizeof known ? len : sizeof known;

		if (src->read(src->ctx, addr, n, to, known) != n)
			return -1;
		addr += n;
		to += n;
		len -= n;
	}
	return 0;
}

static int expr_cfa(void *ctx, uint64_t *out)
{
	const struct unwind_context *c = ctx;

	if (!c->u->frame[c->i].has_cfa)
		return -1;
	*out = c->u->frame[c->i].cfa;
	return 0;
}

static bool is_musl(const struct space *s)
{
	for (size_t i = 0; i < space_count(s); i++)
		if (space_get(s, i)->is_program)
			return tls_is_musl(space_get(s, i)->file);
	return false;
}

static int expr_tls(void *ctx, uint64_t offset, uint64_t *out)
{
	const struct unwind_context *c = ctx;
	const struct space_module *m = c->module;
	struct tls_place place = {.thread_pointer = c->u->regs.fs_base,
				  .is_musl = is_musl(c->u->space),
				  .read = expr_memory,
				  .ctx = ctx};
	uint64_t from, len, align;

	if (m == NULL || !image_file_tls(m->file, &from, &len, &align))
		return -1;
	/* gcc has the address instead in split debug information. */
	if (offset >= len && offset >= from)
		offset -= from;
	if (offset >= len)
		return -1;
	place.bias = m->bias;
	place.is_program = m->is_program;
	if (tls_block(m->file, &place, out) < 0)
		return -1;
	*out += offset;
	return 0;
}

static int expr_entry(void *ctx, unsigned number, uint64_t *out)
{
	const struct unwind_context *c = ctx;
	struct unwind_context room;
	const struct unwind_frame *caller;
	struct expr_frame f;

	if (c->i + 1 >= c->u->n)
		return -1;
	caller = &c->u->frame[c->i + 1];
	if (caller->module == NULL || !caller->is_return)
		return -1;
	f = unwind_expr(c->u, c->i + 1, &room);
	f.entry = NULL; /* one call back is far enough */
	return vars_passed(caller->module->file,
			   caller->pc - caller->module->bias, number, &f, out);
}

struct expr_frame unwind_expr(const struct unwind *u, unsigned i,
			      struct unwind_context *room)
{
	const struct unwind_frame *f = &u->frame[i];
	uint64_t bias = f->module != NULL ? f->module->bias : 0;

	*room = (struct unwind_context){u, i, f->module};
	return (struct expr_frame){.reg = expr_reg,
				   .memory = expr_memory,
				   .tls = expr_tls,
				   .cfa = expr_cfa,
				   .entry = expr_entry,
				   .ctx = room,
				   .bias = bias,
				   .pc = f->pc - f->is_return - bias};
}

struct expr_frame unwind_global(const struct unwind *u, unsigned i,
				const struct space_module *m,
				struct unwind_context *room)
{
	struct expr_frame f = unwind_expr(u, i, room);

	room->module = m;
	f.bias = m->bias;
	return f;
}

/* -- By name -- */

static const char *const names[FRAME_REGS] = {
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
    "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};

static int give(uint64_t v, uint8_t out[16], size_t *len)
{
	memcpy(out, &v, 8);
	*len = 8;
	return 0;
}

int unwind_register(const struct unwind *u, unsigned i, const char *name,
		    uint8_t out[16], size_t *len)
{
	struct unwind_context c = {u, i, NULL};
	char *end;

	for (unsigned k = 0; k < FRAME_REGS; k++)
		if (strcmp(names[k], name) == 0)
			return expr_reg(&c, k, out, len);
	if (strcmp(name, "pc") == 0)
		return give(u->frame[i].pc, out, len);
	if (strcmp(name, "sp") == 0)
		return expr_reg(&c, FRAME_RSP, out, len);
	if (strcmp(name, "fs_base") == 0)
		return give(u->regs.fs_base, out, len);
	if (strcmp(name, "gs_base") == 0)
		return give(u->regs.gs_base, out, len);
	if (i == 0 &&
	    (strcmp(name, "eflags") == 0 || strcmp(name, "rflags") == 0))
		return give(u->regs.rflags, out, len);
	if (strncmp(name, "xmm", 3) == 0 && isdigit((unsigned char)name[3])) {
		unsigned long number = strtoul(name + 3, &end, 10);

		if (*end == '\0' && number < 16)
			return expr_reg(&c, DWARF_XMM0 + (unsigned)number, out,
					len);
	}
	return -1;
}
