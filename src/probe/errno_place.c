/* probe/errno_place.c - reads __errno_location.
 *
 *	glibc		mov slot(%rip), %rax; add %fs:0, %rax; ret
 *	or		mov %fs:0, %rax; add slot(%rip), %rax; ret
 *	linked static	mov $-64, %rax; add %fs:0, %rax; ret
 *	musl		mov %fs:0, %rax; add $52, %rax; ret
 *
 * Of each register is known: nothing, a constant, or the fs base (which lies
 * at %fs:0, too) and a constant. Whatever else an instruction does to one makes
 * it unknown, so no instruction is misunderstood. */
#include "probe/errno_place.h"

#include "image/symbols.h"
#include "x86/decode.h"

#include <sys/uio.h>

enum { INSNS_MAX = 16, CODE_MAX = 64, FS = 0x64 };

struct value {
	bool is_known;
	unsigned bases; /* how often the fs base is in it */
	uint64_t constant;
};

struct reading {
	struct value reg[16];
	uint64_t next; /* address of the next instruction */
	bool (*word)(void *ctx, uint64_t addr, uint64_t *out);
	void *ctx; /* borrowed */
};

static struct value constant(uint64_t v)
{
	return (struct value){.is_known = true, .constant = v};
}

static struct value sum(struct value a, struct value b)
{
	return (struct value){.is_known = a.is_known && b.is_known,
			      .bases = a.bases + b.bases,
			      .constant = a.constant + b.constant};
}

static struct value load(const struct reading *r, const struct x86_insn *i)
{
	struct value unknown = {0};
	uint64_t v;

	if (i->index != X86_NOREG || i->prefixes & X86_P_67)
		return unknown;
	if (i->seg == FS && i->base == X86_NOREG && i->disp == 0)
		return (struct value){.is_known = true, .bases = 1};
	if (i->seg == 0 && i->base == X86_RIP &&
	    r->word(r->ctx, r->next + (uint64_t)i->disp, &v))
		return constant(v);
	return unknown;
}

/* What lea computes. */
static struct value address(const struct reading *r, const struct x86_insn *i)
{
	struct value v = constant((uint64_t)i->disp);

	if (i->base == X86_RIP || i->prefixes & X86_P_67 || i->scale != 0)
		return (struct value){0};
	if (i->base != X86_NOREG)
		v = sum(v, r->reg[i->base]);
	if (i->index != X86_NOREG)
		v = sum(v, r->reg[i->index]);
	return v;
}

static struct value operand(const struct reading *r, const struct x86_insn *i)
{
	return i->is_mem ? load(r, i) : r->reg[i->rm];
}

/* What the instruction makes of the one register that it writes. */
static struct value result(const struct reading *r, const uint8_t *code,
			   const struct x86_insn *i, unsigned reg)
{
	struct value old = r->reg[reg],
		     imm = constant((uint64_t)x86_imm(code, i));
	bool wide = i->rex & 8;
	struct value unknown = {0};

	if (i->space != X86_SPACE_LEGACY || i->prefixes & X86_P_66)
		return unknown;
	if (!wide) /* mov $imm32, %eax: the other half is 0 */
		return i->opcode >= 0xb8 && i->opcode <= 0xbf
			   ? constant((uint32_t)imm.constant)
			   : unknown;
	switch (i->opcode) {
	case 0x01: /* add reg, reg */
		return i->is_mem ? unknown : sum(old, r->reg[i->reg]);
	case 0x03:
		return sum(old, operand(r, i));
	case 0x05: /* add imm, %rax */
		return sum(old, imm);
	case 0x2d: /* sub imm, %rax */
		return sum(old, constant(-imm.constant));
	case 0x81:
	case 0x83:
		if ((i->modrm >> 3 & 7) == 0)
			return sum(old, imm);
		if ((i->modrm >> 3 & 7) == 5)
			return sum(old, constant(-imm.constant));
		return unknown;
	case 0x89: /* mov reg, reg */
		return i->is_mem ? unknown : r->reg[i->reg];
	case 0x8b:
		return operand(r, i);
	case 0x8d:
		return address(r, i);
	case 0xb8 ... 0xbf:
	case 0xc7:
		return imm;
	default:
		return unknown;
	}
}

static void execute(struct reading *r, const uint8_t *code,
		    const struct x86_insn *i)
{
	unsigned written = i->gpr_write;
	struct value v = {0};

	if (written != 0 && (written & (written - 1)) == 0)
		v = result(r, code, i, (unsigned)__builtin_ctz(written));
	for (unsigned k = 0; k < 16; k++)
		if (written >> k & 1)
			r->reg[k] = v;
}

int64_t errno_place_of(const uint8_t *code, size_t len, uint64_t at,
		       bool (*word)(void *ctx, uint64_t addr, uint64_t *out),
		       void *ctx)
{
	struct reading r = {.word = word, .ctx = ctx};
	const struct value *rax = &r.reg[X86_RAX];
	size_t done = 0;
	struct x86_insn i;

	for (unsigned n = 0; n < INSNS_MAX; n++) {
		if (x86_decode(code + done, (unsigned)(len - done), &i) !=
		    X86_OK)
			return 0;
		if (i.row->flow == X86_RET)
			return rax->is_known && rax->bases == 1
				   ? (int64_t)rax->constant
				   : 0;
		if (i.row->flow != X86_NEXT)
			return 0;
		r.next = at + done + i.len;
		execute(&r, code + done, &i);
		done += i.len;
	}
	return 0;
}

/* -- In a process -- */

static bool read_word(void *ctx, uint64_t addr, uint64_t *out)
{
	const int *pid = ctx;
	uint64_t word;
	struct iovec to = {&word, sizeof word},
		     from = {(void *)(uintptr_t)addr, sizeof word}; // NOLINT

	if (process_vm_readv(*pid, &to, 1, &from, 1, 0) != sizeof word)
		return false;
	*out = word;
	return true;
}

static int64_t place_in(const struct module *m, int pid)
{
	uint8_t code[CODE_MAX];
	struct symbol y;
	size_t len;

	if (symbols_named(m->file, "__errno_location", &y, NULL) < 0 ||
	    y.kind != SYMBOL_FUNCTION ||
	    image_file_read(m->file, y.addr, code, sizeof code, &len, NULL) < 0)
		return 0;
	return errno_place_of(code, len, y.addr + m->bias, read_word, &pid);
}

int64_t errno_place(struct modules *modules, int pid)
{
	int64_t found = 0;

	for (size_t i = 0; i < modules_count(modules) && found == 0; i++) {
		const struct module *m = modules_get(modules, i);

		if (m->file != NULL && m->kind != MODULE_VDSO)
			found = place_in(m, pid);
	}
	return found;
}
