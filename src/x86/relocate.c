/* x86/relocate.c - one instruction, executed somewhere else.
 *
 * Most instructions do not know where they are: they are copied. The rest:
 *
 *	rip-relative	 the same address from the new place
 *	  out of reach	 lea -> mov imm; mov rax -> its 64-bit form; else a
 *			 register is borrowed, and kept in the cell meanwhile
 *	jcc, jmp, xbegin rel32 to the target, or over a constant beyond 2 GiB
 *	loop, jrcxz	 loop 1f; jmp 2f; 1: jmp target; 2:
 *	call		 push next (as it is in memory); jmp target
 *	call *reg	 push next; jmp *reg
 *	call *mem	 push mem; pop cell; push next; jmp *cell
 *	  without cell	 push next; jmp *mem (rsp counted from below)
 *	syscall		 syscall; mov rcx, next
 *	ret, jmp *	 copied
 *	traps, far	 refused
 *
 * `push [rip+constant]` is what makes calls exact: one instruction, no
 * register, no flag, and only the eight bytes that the call itself writes.
 *
 * M1  No flag changes, except by the instruction itself.
 * M2  No memory changes but the cell and what the instruction writes. (The
 *     eight bytes that a call pushes may change before the call counts as
 *     done, and have changed if it faults.)
 * M3  Every written instruction starts at a point, and at a point the
 *     program's registers and pc are known (x86_moved_native).
 * M4  A fault happens at a point whose pc is .from, with nothing else done
 *     than the point's fix undoes.
 * M5  On failure nothing is written.
 *
 * A thread with a shadow stack (CET) must not run the calls written here:
 * they push without calling. */
#include "x86/relocate.h"

struct mover {
	const uint8_t *code;		/* borrowed */
	const struct x86_insn *insn;	/* borrowed */
	const struct x86_move_how *how; /* borrowed */
	struct x86_buf *out;		/* borrowed */
	uint8_t *start;			/* borrowed: in out */
	struct x86_moved info;
};

/* -- Small parts ---------------------------------------------------------- */

static unsigned offset_now(const struct mover *m)
{
	return (unsigned)(m->out->at - m->start);
}

/* Announces the next written instruction. */
static void point(struct mover *m, enum x86_pc pc, enum x86_fix fix,
		  unsigned reg)
{
	m->info.point[m->info.n++] = (struct x86_point){
	    .off = (uint8_t)offset_now(m),
	    .pc = (uint8_t)pc,
	    .fix = (uint8_t)fix,
	    .reg = (uint8_t)reg,
	};
}

static uint64_t routed(const struct mover *m)
{
	return m->how->route ? m->how->route(m->how->ctx, m->info.target)
			     : m->info.target;
}

/* The rel32 that the last instruction ended with leads to the target. */
static void note_rel32(struct mover *m)
{
	m->info.rel32 = (uint8_t)(offset_now(m) - 4);
}

static void put_jump(struct mover *m, uint64_t target)
{
	point(m, X86_PC_TARGET, X86_FIX_NONE, 0);
	if (!emit_reaches(m->out, 5, target)) {
		emit_jmp_far(m->out, target);
		return;
	}
	emit_jmp(m->out, target);
	note_rel32(m);
}

/* Pushes what the call would have pushed. A constant that does not fit the
 * instruction stands behind the code: put_constant(). */
static void push_next(struct mover *m, struct emit_label *constant)
{
	int64_t next = (int64_t)m->info.next;

	point(m, X86_PC_FROM, X86_FIX_NONE, 0);
	if (next == (int32_t)next)
		emit_push_i(m->out, (int32_t)next);
	else
		emit_m_label(m->out, EMIT_PUSH, constant);
}

static void put_constant(struct mover *m, struct emit_label *constant)
{
	if (!constant->chain32)
		return;
	emit_bind(m->out, constant);
	emit_quad(m->out, m->info.next);
}

static int had_notrack(const struct mover *m)
{
	for (unsigned i = 0; i < m->insn->opcode_off; i++)
		if (m->code[i] == 0x3e)
			return !m->insn->seg;
	return 0;
}

/* -- Rip-relative operands ------------------------------------------------ */

static uint64_t operand_address(const struct mover *m)
{
	return m->info.next + (uint64_t)m->insn->disp;
}

static unsigned width_of(const struct x86_insn *i)
{
	return i->rex & 8 ? 8 : i->prefixes & X86_P_66 ? 2 : 4;
}

static int is_lea(const struct x86_insn *i)
{
	return i->space == X86_SPACE_LEGACY && i->opcode == 0x8d;
}

/* mov between memory and al, ax, eax, rax has a form with any address. */
static int is_mov_rax(const struct x86_insn *i)
{
	return i->space == X86_SPACE_LEGACY && i->opcode >= 0x88 &&
	       i->opcode <= 0x8b && i->reg == X86_RAX &&
	       !(i->prefixes & (X86_P_F2 | X86_P_F3 | X86_P_LOCK));
}

static void put_lea(struct mover *m)
{
	unsigned width = width_of(m->insn), reg = m->insn->reg;
	uint64_t address = operand_address(m);

	point(m, X86_PC_FROM, X86_FIX_NONE, 0);
	if (width == 2)
		emit_ri(m->out, EMIT_MOV, 2, reg, (uint16_t)address);
	else
		emit_set(m->out, reg, width == 4 ? (uint32_t)address : address);
}

static void put_mov_rax(struct mover *m)
{
	unsigned width = m->insn->opcode & 1 ? width_of(m->insn) : 1;

	point(m, X86_PC_FROM, X86_FIX_NONE, 0);
	if (m->insn->opcode & 2)
		emit_load_abs(m->out, m->insn->seg, width, operand_address(m));
	else
		emit_store_abs(m->out, m->insn->seg, width, operand_address(m));
}

/* The same instruction on [reg]; 0 if its prefix cannot say so. */
static unsigned rebase(const struct mover *m, unsigned reg, uint8_t *bytes)
{
	const struct x86_insn *i = m->insn;
	unsigned high = reg >> 3, len = i->modrm_off + 1u;
	uint8_t *escape = bytes + i->opcode_off;

	for (unsigned k = 0; k < i->modrm_off; k++)
		bytes[k] = m->code[k];
	if (i->space >= X86_SPACE_VEX && *escape != 0xc5)
		escape[1] = (uint8_t)((escape[1] & ~0x20) | !high << 5);
	else if (i->space < X86_SPACE_VEX && i->rex)
		escape[-1] = (uint8_t)((escape[-1] & ~1) | high);
	else if (high)
		return 0;
	bytes[i->modrm_off] = (uint8_t)((i->modrm & 0x38) | (reg & 7));
	for (unsigned k = i->imm_off; k < i->len; k++)
		bytes[len++] = m->code[k];
	return len;
}

/* [rsp], [rbp], [r12] and [r13] would need more bytes. */
static int is_plain_base(unsigned reg)
{
	return (reg & 7) != 4 && (reg & 7) != 5;
}

/* A register that the instruction has nothing to do with, or X86_NOREG. */
static unsigned unused_register(const struct x86_insn *i)
{
	for (unsigned r = 0; r < 8; r++)
		if (is_plain_base(r) &&
		    !((i->gpr_read | i->gpr_write) >> r & 1))
			return r;
	return X86_NOREG;
}

static enum x86_move put_borrowed(struct mover *m)
{
	const struct x86_mem *cell = m->how->cell;
	unsigned reg = unused_register(m->insn), len;
	uint8_t bytes[X86_MAX_LEN + 1];

	/* mov gs, [rip+disp] would take the cell away from under our feet. */
	if (reg == X86_NOREG || m->insn->row->special == X86_SETSEG)
		return X86_MOVE_FAR;
	len = rebase(m, reg, bytes);
	point(m, X86_PC_FROM, X86_FIX_NONE, 0);
	emit_mr(m->out, EMIT_MOV, 8, *cell, reg);
	point(m, X86_PC_FROM, X86_FIX_NONE, 0);
	emit_set(m->out, reg, operand_address(m));
	point(m, X86_PC_FROM, X86_FIX_REG, reg);
	emit_bytes(m->out, bytes, len);
	point(m, X86_PC_NEXT, X86_FIX_REG, reg);
	emit_rm(m->out, EMIT_MOV, 8, reg, *cell);
	return X86_MOVE_OK;
}

/* The destination of a load can hold the address until it is loaded. */
static enum x86_move put_lost(struct mover *m)
{
	const struct x86_insn *i = m->insn;
	unsigned reg = i->reg, len;
	unsigned killed = i->gpr_kill & ~i->gpr_read;
	uint8_t bytes[X86_MAX_LEN + 1];

	if (i->row->mem != X86_M_READ || !(i->row->role[0] & X86_R_KILL) ||
	    !(killed >> reg & 1) || !is_plain_base(reg))
		return X86_MOVE_FAR;
	len = rebase(m, reg, bytes);
	if (len == 0)
		return X86_MOVE_FAR;
	point(m, X86_PC_FROM, X86_FIX_NONE, 0);
	emit_set(m->out, reg, operand_address(m));
	point(m, X86_PC_FROM, X86_FIX_LOST, reg);
	emit_bytes(m->out, bytes, len);
	return X86_MOVE_OK;
}

static enum x86_move put_far_operand(struct mover *m)
{
	if (is_lea(m->insn)) {
		put_lea(m);
		return X86_MOVE_OK;
	}
	if (is_mov_rax(m->insn)) {
		put_mov_rax(m);
		return X86_MOVE_OK;
	}
	if (m->how->cell)
		return put_borrowed(m);
	return m->how->may_lose ? put_lost(m) : X86_MOVE_FAR;
}

/* Does [rip+disp] reach from anywhere in what may be written? 67h counts
 * modulo 4 GiB and always does. */
static int operand_reaches(const struct mover *m)
{
	uint64_t address = operand_address(m);

	return m->insn->base != X86_RIP || m->insn->prefixes & X86_P_67 ||
	       (emit_reaches(m->out, 0, address) &&
		emit_reaches(m->out, X86_MOVED_LEN, address));
}

static enum x86_move put_copy(struct mover *m)
{
	const struct x86_insn *i = m->insn;
	uint32_t rel;

	if (!operand_reaches(m))
		return put_far_operand(m);
	point(m, X86_PC_FROM, X86_FIX_NONE, 0);
	emit_bytes(m->out, m->code, i->len);
	if (i->base == X86_RIP && !m->out->bad) {
		rel = (uint32_t)(operand_address(m) - emit_pc(m->out));
		__builtin_memcpy(m->out->at - i->len + i->disp_off, &rel,
				 sizeof rel);
	}
	return X86_MOVE_OK;
}

/* -- Transfers ------------------------------------------------------------ */

static void put_jcc(struct mover *m)
{
	uint64_t target = routed(m);
	unsigned cc = m->insn->opcode & 15;
	struct emit_label over = {0};

	point(m, X86_PC_FROM, X86_FIX_NONE, 0);
	if (emit_reaches(m->out, 6, target)) {
		emit_jcc(m->out, cc, target);
		note_rel32(m);
		return;
	}
	emit_jcc8_label(m->out, cc ^ 1, &over);
	put_jump(m, target);
	emit_bind(m->out, &over);
}

/* loop, loope, loopne and jrcxz have a rel8 and no opposite. */
static void put_loop(struct mover *m)
{
	uint64_t target = routed(m);
	struct emit_label over = {0};
	uint8_t bytes[3] = {0x67, m->insn->opcode, 2};
	unsigned short_form = !(m->insn->prefixes & X86_P_67);

	point(m, X86_PC_FROM, X86_FIX_NONE, 0);
	emit_bytes(m->out, bytes + short_form, 3 - short_form);
	point(m, X86_PC_NEXT, X86_FIX_NONE, 0);
	emit_jmp8_label(m->out, &over);
	put_jump(m, target);
	emit_bind(m->out, &over);
}

static void put_xbegin(struct mover *m)
{
	uint64_t target = routed(m);
	uint8_t bytes[6] = {0xc7, 0xf8, 2, 0, 0, 0};
	struct emit_label over = {0};
	uint32_t rel = (uint32_t)(target - (emit_pc(m->out) + 6));

	point(m, X86_PC_FROM, X86_FIX_NONE, 0);
	if (emit_reaches(m->out, 6, target)) {
		__builtin_memcpy(bytes + 2, &rel, sizeof rel);
		emit_bytes(m->out, bytes, sizeof bytes);
		note_rel32(m);
		return;
	}
	emit_bytes(m->out, bytes, sizeof bytes);
	point(m, X86_PC_NEXT, X86_FIX_NONE, 0);
	emit_jmp8_label(m->out, &over);
	put_jump(m, target);
	emit_bind(m->out, &over);
}

static void put_call(struct mover *m)
{
	uint64_t target = routed(m);
	struct emit_label constant = {0};

	push_next(m, &constant);
	put_jump(m, target);
	put_constant(m, &constant);
}

/* The jump itself may fault (a target that is no address): so the call counts
 * as not yet done, and is done again. */
static void jump_through_cell(struct mover *m, int is_call)
{
	point(m, X86_PC_FROM, is_call ? X86_FIX_RSP : X86_FIX_NONE, 0);
	if (had_notrack(m))
		emit_plain(m->out, EMIT_NOTRACK);
	emit_m(m->out, EMIT_JMP, 8, *m->how->cell);
}

/* [rip+disp] beyond 2 GiB: rax can load from anywhere. */
static enum x86_move put_far_indirect(struct mover *m, int is_call)
{
	struct emit_label constant = {0};

	if (!m->how->cell)
		return X86_MOVE_FAR;
	point(m, X86_PC_FROM, X86_FIX_NONE, 0);
	emit_mr(m->out, EMIT_MOV, 8, *m->how->cell, X86_RAX);
	point(m, X86_PC_FROM, X86_FIX_NONE, 0);
	emit_load_abs(m->out, m->insn->seg, 8, operand_address(m));
	point(m, X86_PC_FROM, X86_FIX_REG, X86_RAX);
	emit_mr(m->out, EMIT_XCHG, 8, *m->how->cell, X86_RAX);
	if (is_call)
		push_next(m, &constant);
	jump_through_cell(m, is_call);
	put_constant(m, &constant);
	return X86_MOVE_OK;
}

static void put_call_reg(struct mover *m)
{
	struct emit_label constant = {0};

	push_next(m, &constant);
	point(m, X86_PC_FROM, X86_FIX_RSP, 0);
	if (had_notrack(m))
		emit_plain(m->out, EMIT_NOTRACK);
	emit_r(m->out, EMIT_JMP, 8, m->insn->rm);
	put_constant(m, &constant);
}

/* The operand is read once, before anything changes: exact even if it lies
 * where the return address goes, or is rsp itself. */
static void put_call_by_cell(struct mover *m)
{
	struct emit_label constant = {0};

	point(m, X86_PC_FROM, X86_FIX_NONE, 0);
	if (m->insn->is_mem)
		emit_m(m->out, EMIT_PUSH, 8, x86_mem_of(m->insn, m->info.from));
	else
		emit_r(m->out, EMIT_PUSH, 8, m->insn->rm);
	point(m, X86_PC_FROM, X86_FIX_RSP, 0);
	emit_m(m->out, EMIT_POP, 8, *m->how->cell);
	push_next(m, &constant);
	jump_through_cell(m, 1);
	put_constant(m, &constant);
}

/* Whether [rsp+disp] can be seen to lie apart from, or on, the eight bytes
 * below rsp. Other operands keep their secret. */
static int is_own_stack(const struct x86_mem *mem)
{
	return mem->base == X86_RSP && mem->index == X86_NOREG && !mem->seg &&
	       !mem->addr32;
}

static enum x86_move put_call_mem(struct mover *m)
{
	struct x86_mem mem = x86_mem_of(m->insn, m->info.from);
	struct emit_label constant = {0};

	if (is_own_stack(&mem) && mem.disp > -16 && mem.disp < 0)
		return X86_MOVE_CELL;
	if (!is_own_stack(&mem) && mem.base != X86_RIP)
		m->info.notes |= X86_MOVED_APART;
	if (mem.base == X86_RSP)
		mem.disp += 8;
	push_next(m, &constant);
	point(m, X86_PC_FROM, X86_FIX_RSP, 0);
	if (had_notrack(m))
		emit_plain(m->out, EMIT_NOTRACK);
	emit_m(m->out, EMIT_JMP, 8, mem);
	put_constant(m, &constant);
	return X86_MOVE_OK;
}

static enum x86_move put_call_indirect(struct mover *m)
{
	int by_rsp = !m->insn->is_mem && m->insn->rm == X86_RSP;

	if (!operand_reaches(m))
		return put_far_indirect(m, 1);
	if (m->how->cell && (m->insn->is_mem || by_rsp)) {
		put_call_by_cell(m);
		return X86_MOVE_OK;
	}
	if (m->insn->is_mem)
		return put_call_mem(m);
	if (by_rsp)
		return X86_MOVE_CELL;
	put_call_reg(m);
	return X86_MOVE_OK;
}

static void put_syscall(struct mover *m)
{
	point(m, X86_PC_FROM, X86_FIX_NONE, 0);
	emit_bytes(m->out, m->code, m->insn->len);
	point(m, X86_PC_NEXT, X86_FIX_RCX, 0);
	emit_set(m->out, X86_RCX, m->info.next);
	m->info.notes |= X86_MOVED_RCX;
}

/* -- The whole ------------------------------------------------------------ */

/* What is never moved, by the way it transfers control. */
static const uint8_t refusal_of[X86_FLOW_MAX] = {
    [X86_INT3] = X86_MOVE_INT3, [X86_INT] = X86_MOVE_INT,
    [X86_UD] = X86_MOVE_UD,	[X86_HLT] = X86_MOVE_HLT,
    [X86_IRET] = X86_MOVE_IRET, [X86_FAR] = X86_MOVE_FARCALL,
    [X86_ODD] = X86_MOVE_ODD,	[X86_SYSENTER] = X86_MOVE_SYSENTER,
};

enum { FALLS = 1, DIRECT = 2 };
static const uint8_t traits[X86_FLOW_MAX] = {
    [X86_NEXT] = FALLS,		 [X86_JCC] = FALLS | DIRECT,
    [X86_LOOP] = FALLS | DIRECT, [X86_XBEGIN] = FALLS | DIRECT,
    [X86_JMP] = DIRECT,		 [X86_CALL] = DIRECT,
    [X86_SYSCALL] = FALLS,	 [X86_XEND] = FALLS,
};

static enum x86_move refused(const struct x86_insn *i)
{
	if (refusal_of[i->row->flow])
		return refusal_of[i->row->flow];
	return i->row->attr & X86_A_VENDOR ? X86_MOVE_VENDOR : X86_MOVE_OK;
}

static enum x86_move put_moved(struct mover *m)
{
	switch (m->insn->row->flow) {
	case X86_JCC:
		put_jcc(m);
		return X86_MOVE_OK;
	case X86_LOOP:
		put_loop(m);
		return X86_MOVE_OK;
	case X86_XBEGIN:
		put_xbegin(m);
		return X86_MOVE_OK;
	case X86_JMP:
		put_jump(m, routed(m));
		return X86_MOVE_OK;
	case X86_CALL:
		put_call(m);
		return X86_MOVE_OK;
	case X86_CALL_IND:
		return put_call_indirect(m);
	case X86_JMP_IND:
		return operand_reaches(m) ? put_copy(m)
					  : put_far_indirect(m, 0);
	case X86_SYSCALL:
		put_syscall(m);
		return X86_MOVE_OK;
	default:
		return put_copy(m);
	}
}

/* A cell that hangs on a register is somebody else's memory sooner or later. */
static int cell_is_sound(const struct x86_mem *cell)
{
	return (cell->base == X86_NOREG || cell->base == X86_RIP) &&
	       cell->index == X86_NOREG;
}

enum x86_move x86_relocate(const uint8_t *code, const struct x86_insn *insn,
			   uint64_t from, const struct x86_move_how *how,
			   struct x86_buf *out, struct x86_moved *info)
{
	static const struct x86_move_how plain;
	struct mover m = {.code = code,
			  .insn = insn,
			  .how = how ? how : &plain,
			  .out = out,
			  .start = out->at,
			  .info = {.from = from, .next = from + insn->len}};
	enum x86_move status = refused(insn);

	if (status == X86_MOVE_OK && m.how->cell && !cell_is_sound(m.how->cell))
		return X86_MOVE_CELL;
	if (status != X86_MOVE_OK || out->bad)
		return status ? status : X86_MOVE_FULL;
	if (traits[insn->row->flow] & DIRECT)
		m.info.target = x86_target(code, insn, from);
	if (insn->row->attr & X86_A_X87)
		m.info.notes |= X86_MOVED_FIP;
	status = put_moved(&m);
	if (status == X86_MOVE_OK && out->bad)
		status = out->bad & X86_BUF_FULL ? X86_MOVE_FULL : X86_MOVE_FAR;
	if (status != X86_MOVE_OK) {
		out->at = m.start;
		out->bad = 0;
		return status;
	}
	m.info.falls = !!(traits[insn->row->flow] & FALLS);
	m.info.len = (uint8_t)offset_now(&m);
	*info = m.info;
	return X86_MOVE_OK;
}

/* -- And back ------------------------------------------------------------- */

const struct x86_point *x86_moved_point(const struct x86_moved *info,
					unsigned offset,
					struct x86_point *storage)
{
	for (unsigned i = 0; i < info->n; i++)
		if (info->point[i].off == offset)
			return &info->point[i];
	if (!info->falls || offset != info->len)
		return 0;
	*storage = (struct x86_point){.off = info->len, .pc = X86_PC_NEXT};
	return storage;
}

int x86_moved_native(const struct x86_moved *info, unsigned offset,
		     uint64_t cell, uint64_t gpr[16], uint64_t *pc)
{
	struct x86_point storage;
	const struct x86_point *p = x86_moved_point(info, offset, &storage);

	if (!p)
		return -1;
	if (p->pc == X86_PC_FROM)
		*pc = info->from;
	else
		*pc = p->pc == X86_PC_NEXT ? info->next : info->target;
	if (p->fix == X86_FIX_RSP)
		gpr[X86_RSP] += 8;
	else if (p->fix == X86_FIX_REG)
		gpr[p->reg] = cell;
	else if (p->fix == X86_FIX_RCX)
		gpr[X86_RCX] = info->next;
	return 0;
}

/* ORDER x86_move. Rows of characters, not pointers: those would have to be
 * relocated inside the target. */
static const char texts[X86_MOVE_MAX][56] = {
    [X86_MOVE_OK] = "moved",
    [X86_MOVE_FULL] = "no room for the moved instruction",
    [X86_MOVE_FAR] = "its operand is more than 2 GiB away",
    [X86_MOVE_CELL] = "its own push would change its operand",
    [X86_MOVE_INT3] = "a breakpoint instruction",
    [X86_MOVE_INT] = "a software interrupt",
    [X86_MOVE_UD] = "an undefined instruction",
    [X86_MOVE_HLT] = "hlt",
    [X86_MOVE_IRET] = "iret",
    [X86_MOVE_FARCALL] = "a far transfer",
    [X86_MOVE_SYSENTER] = "sysenter",
    [X86_MOVE_ODD] = "it changes rip in a way of its own",
    [X86_MOVE_VENDOR] = "Intel and AMD read it differently",
};

const char *x86_move_text(enum x86_move why)
{
	return (unsigned)why < X86_MOVE_MAX ? texts[why] : "unknown";
}
