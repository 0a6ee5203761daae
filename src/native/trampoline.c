/* native/trampoline.c - saves, calls, restores, and runs what was moved.
 *
 *	lea  -LOWER(%rsp), %rsp		below the red zone, no flag changes
 *	mov  %r.., ..(%rsp)		fifteen registers
 *	lahf; seto %al; mov %rax, ..	flags
 *	...				rsp, pc
 *	mov  %rsp, %rbx; and $-16, %rsp
 *	call handler
 *	mov  %rbx, %rsp
 *	add  $127, %al; sahf		overflow comes back by overflowing
 *	mov  ..(%rsp), %r..		what a C function may change, and rbx
 *	lea  LOWER(%rsp), %rsp
 *
 * One that counts by itself (T4), before any register but three is saved:
 *
 *	lea, mov rax, rcx, rdx; lahf; seto; mov
 *	mov $table, %rcx; cmp $0, waiting; jne slow; cmp $0, has_self; je slow
 *	mov %fs:0, %rax; ...hash it to %rdx
 *	cmp %rax, who(%rcx, %rdx); jne slow; mov area(%rcx, %rdx), %rdx
 *	...its area is there, not busy, without tokens
 *	mov part(%rdx), %rdx; ...the slot counts; or slow
 *	incq counted(%rdx)		a signal comes before it, or after
 *	(flags, rax, rcx, rdx, rsp come back); jmp end
 * slow: mov %r.., ..(%rsp)		the other twelve, and on as above
 *
 * T4  Whoever is interrupted before the inc has done nothing: it begins again
 *     (and finds another area, if it is a child by then). After the inc the
 *     probe has fired. Nothing else is written but the frame.
 *
 * A conditional jump that is a return only if it is taken:
 *
 *	jcc! over; (the above); jmp target; over:
 *
 * A hooked system call: what the hook said is kept in rcx, which a jump can
 * look at without flags:
 *
 *	... call hook; mov %rbx, %rsp; mov %rax, %rcx; (restore all but rcx)
 *	jrcxz make
 *	mov ..(%rsp), %rcx; lea LOWER(%rsp), %rsp; jmp past
 * make: mov ..(%rsp), %rcx; lea LOWER(%rsp), %rsp
 *	syscall
 * past:
 *
 * A system call that is known to be exit (it writes nothing to the stack):
 *
 *	mov $pc, %r9; mov %rdi, %r8; jmp leave
 */
#include "native/trampoline.h"

#include "wire/collect.h"

#include <stddef.h>

struct builder {
	const struct trampoline_want *want; /* borrowed */
	struct x86_buf *out;		    /* borrowed */
	struct trampoline t;
	uint8_t *start; /* borrowed: in out */
};

static uint16_t offset_now(const struct builder *b)
{
	return (uint16_t)(b->out->at - b->start);
}

static struct x86_mem slot(unsigned field)
{
	return x86_mem_at(X86_RSP, (int64_t)field);
}

static struct x86_mem slot_of(unsigned reg)
{
	return slot((unsigned)offsetof(struct probe_frame, gpr) + 8 * reg);
}

enum {
	FLAGS = offsetof(struct probe_frame, flags),
	PC = offsetof(struct probe_frame, pc),
	HOW = offsetof(struct probe_frame, how),
};

/* What a C function may change, and rbx, which keeps the stack pointer. */
enum {
	CHANGED = 1 << X86_RAX | 1 << X86_RCX | 1 << X86_RDX | 1 << X86_RBX |
		  1 << X86_RSI | 1 << X86_RDI | 1 << X86_R8 | 1 << X86_R9 |
		  1 << X86_R10 | 1 << X86_R11,
};

/* -- Flags -- */

/* DF stays as it is: pushf and popf would take longer than all the rest. */
static void save_flags(struct builder *b)
{
	emit_plain(b->out, EMIT_LAHF);
	emit_setcc_r(b->out, X86_CC_O, X86_RAX);
	emit_mr(b->out, EMIT_MOV, 8, slot(FLAGS), X86_RAX);
}

static void restore_flags(struct builder *b)
{
	emit_rm(b->out, EMIT_MOV, 8, X86_RAX, slot(FLAGS));
	emit_ri(b->out, EMIT_ADD, 1, X86_RAX, 127);
	emit_plain(b->out, EMIT_SAHF);
}

/* -- The call -- */

static void lower_stack(struct builder *b, struct trampoline_fire *f)
{
	f->start = offset_now(b);
	emit_rm(b->out, EMIT_LEA, 8, X86_RSP,
		x86_mem_at(X86_RSP, -TRAMPOLINE_LOWER));
	f->lowered = offset_now(b);
}

static void store(struct builder *b, unsigned registers)
{
	for (unsigned r = 0; r < 16; r++)
		if (r != X86_RSP && registers >> r & 1)
			emit_mr(b->out, EMIT_MOV, 8, slot_of(r), r);
}

static void load(struct builder *b, unsigned registers)
{
	for (unsigned r = 0; r < 16; r++)
		if (registers >> r & 1)
			emit_rm(b->out, EMIT_MOV, 8, r, slot_of(r));
}

/* Unless a few and the flags are there already. */
static void save(struct builder *b, unsigned k, struct trampoline_fire *f)
{
	if (f->few == 0) {
		lower_stack(b, f);
		store(b, 0xffff);
		f->saved = offset_now(b);
		save_flags(b);
		f->flagged = offset_now(b);
	} else {
		store(b, 0xffff & ~TRAMPOLINE_FEW);
		f->saved = offset_now(b);
	}
	emit_rm(b->out, EMIT_LEA, 8, X86_RAX,
		x86_mem_at(X86_RSP, TRAMPOLINE_LOWER));
	emit_mr(b->out, EMIT_MOV, 8, slot_of(X86_RSP), X86_RAX);
	emit_set(b->out, X86_RAX, b->want->at + b->t.off[k]);
	emit_mr(b->out, EMIT_MOV, 8, slot(PC), X86_RAX);
	emit_mi(b->out, EMIT_MOV, 8, slot(HOW), b->want->flags[k]);
}

static void call(struct builder *b, struct trampoline_fire *f, uint64_t handler,
		 uint64_t cookie)
{
	emit_rr(b->out, EMIT_MOV, 8, X86_RBX, X86_RSP);
	f->based = offset_now(b);
	emit_rr(b->out, EMIT_MOV, 8, X86_RDI, X86_RSP);
	emit_set(b->out, X86_RSI, cookie);
	emit_ri(b->out, EMIT_AND, 8, X86_RSP, -16);
	if (emit_reaches(b->out, 5, handler)) {
		emit_call(b->out, handler);
	} else {
		emit_set(b->out, X86_RAX, handler);
		emit_r(b->out, EMIT_CALL, 8, X86_RAX);
	}
	f->called = offset_now(b);
	emit_rr(b->out, EMIT_MOV, 8, X86_RSP, X86_RBX);
	f->unbased = offset_now(b);
}

static void restore(struct builder *b, unsigned changed)
{
	restore_flags(b);
	load(b, changed);
}

static void raise_stack(struct builder *b)
{
	emit_rm(b->out, EMIT_LEA, 8, X86_RSP,
		x86_mem_at(X86_RSP, TRAMPOLINE_LOWER));
}

/* -- Counting by itself -- */

enum {
	WHO_FS = offsetof(struct collect_table, who) +
		 offsetof(struct collect_who, fs),
	WHO_AREA = offsetof(struct collect_table, who) +
		   offsetof(struct collect_who, area),
	ENTRY = sizeof(struct collect_who),
	HASH_SHIFT = 52 - 4, /* collect_first(), times ENTRY */
	LAST_ENTRY = (COLLECT_ENTRIES - 1) * sizeof(struct collect_who),
	SLOT_HOW = offsetof(struct collect_slot, how),
	SLOT_COUNTED = offsetof(struct collect_slot, counted),
};
_Static_assert(ENTRY == 1 << 4 && COLLECT_ENTRIES == 1 << 12, "HASH_SHIFT");
_Static_assert(offsetof(struct collect_area, n_tokens) ==
		   offsetof(struct collect_area, busy) + 4,
	       "looked at at once");

/* Is memory 0, or a small number? */
static void look(struct builder *b, struct x86_mem at, unsigned width,
		 int value, enum x86_cc not, struct emit_label *slow)
{
	emit_mi(b->out, EMIT_CMP, width, at, value);
	emit_jcc_label(b->out, not, slow);
}

/* rdx = what the thread is found by; rax = its fs base. */
static void hash_self(struct builder *b, struct trampoline_fire *f,
		      struct emit_label *hash)
{
	struct x86_buf *out = b->out;

	f->self = offset_now(b);
	emit_rm(out, EMIT_MOV, 8, X86_RAX, x86_mem_seg(X86_FS, 0));
	emit_rr(out, EMIT_MOV, 8, X86_RDX, X86_RAX);
	emit_ri(out, EMIT_SHR, 8, X86_RDX, 6);
	emit_rm_label(out, EMIT_IMUL, 8, X86_RDX, hash);
	emit_ri(out, EMIT_SHR, 8, X86_RDX, HASH_SHIFT);
	emit_ri(out, EMIT_AND, 4, X86_RDX, LAST_ENTRY);
}

/* rdx = the thread's area. */
static void find_area(struct builder *b, struct trampoline_fire *f,
		      struct emit_label *hash, struct emit_label *slow)
{
	struct x86_buf *out = b->out;
	int64_t waiting = (int64_t)(b->want->waiting - b->want->table);

	emit_set(out, X86_RCX, b->want->table);
	look(b, x86_mem_at(X86_RCX, waiting), 4, 0, X86_CC_NE, slow);
	look(b, x86_mem_at(X86_RCX, offsetof(struct collect_table, has_self)),
	     4, 0, X86_CC_E, slow);
	hash_self(b, f, hash);
	emit_mr(out, EMIT_CMP, 8, x86_mem_index(X86_RCX, X86_RDX, 0, WHO_FS),
		X86_RAX);
	emit_jcc_label(out, X86_CC_NE, slow);
	emit_rm(out, EMIT_MOV, 8, X86_RDX,
		x86_mem_index(X86_RCX, X86_RDX, 0, WHO_AREA));
	emit_rr(out, EMIT_TEST, 8, X86_RDX, X86_RDX);
	emit_jcc_label(out, X86_CC_E, slow);
	look(b, x86_mem_at(X86_RDX, offsetof(struct collect_area, busy)), 8, 0,
	     X86_CC_NE, slow);
}

static void count(struct builder *b, unsigned k, struct trampoline_fire *f,
		  struct emit_label *end)
{
	struct x86_buf *out = b->out;
	int64_t at = b->want->slot[k];
	struct emit_label hash = {0}, slow = {0};

	lower_stack(b, f);
	store(b, TRAMPOLINE_FEW);
	f->few = offset_now(b);
	save_flags(b);
	f->flagged = offset_now(b);
	find_area(b, f, &hash, &slow);
	emit_rm(out, EMIT_MOV, 8, X86_RDX,
		x86_mem_at(X86_RDX, offsetof(struct collect_area, part)));
	look(b, x86_mem_at(X86_RDX, at + SLOT_HOW), 4, SLOT_COUNT, X86_CC_NE,
	     &slow);
	emit_m(out, EMIT_INC, 8, x86_mem_at(X86_RDX, at + SLOT_COUNTED));
	f->counted = offset_now(b);
	restore_flags(b);
	load(b, TRAMPOLINE_FEW);
	f->back = offset_now(b);
	raise_stack(b);
	f->leave = offset_now(b);
	emit_jmp_label(out, end);
	emit_bind(out, &hash);
	emit_quad(out, COLLECT_HASH);
	emit_bind(out, &slow);
	f->slow = offset_now(b);
}

static void fire(struct builder *b, unsigned k, int may_count)
{
	struct trampoline_fire *f = &b->t.fire[k];
	struct emit_label end = {0};

	f->cookie = b->want->cookie[k];
	if (may_count && b->want->slot[k] != 0)
		count(b, k, f, &end);
	save(b, k, f);
	call(b, f, b->want->handler, b->want->cookie[k]);
	restore(b, CHANGED);
	f->restored = offset_now(b);
	raise_stack(b);
	emit_bind(b->out, &end);
	f->end = offset_now(b);
}

/* jrcxz over the answered way, whose length is known. */
static void ask_hook(struct builder *b, unsigned k, struct emit_label *past)
{
	struct trampoline_fire *f = &b->t.hook;
	struct x86_buf *out = b->out;
	uint8_t *distance;

	b->t.hooked = (uint8_t)k;
	save(b, k, f);
	call(b, f, b->want->hook, b->want->hook_cookie);
	emit_rr(out, EMIT_MOV, 8, X86_RCX, X86_RAX);
	restore(b, CHANGED & ~(1u << X86_RCX));
	emit_bytes(out, (const uint8_t[]){0xe3, 0}, 2);
	distance = out->at - 1;
	emit_rm(out, EMIT_MOV, 8, X86_RCX, slot_of(X86_RCX));
	raise_stack(b);
	b->t.answered = offset_now(b);
	emit_jmp_label(out, past);
	if (!out->bad)
		*distance = (uint8_t)(out->at - distance - 1);
	emit_rm(out, EMIT_MOV, 8, X86_RCX, slot_of(X86_RCX));
	f->restored = offset_now(b);
	raise_stack(b);
	f->end = offset_now(b);
}

/* -- The instructions -- */

static void jump(struct x86_buf *out, uint64_t target)
{
	if (emit_reaches(out, 5, target))
		emit_jmp(out, target);
	else
		emit_jmp_far(out, target);
}

/* The moved form of a jump that only counts when taken is written by hand: the
 * handler stands in its way. It does not count by itself, or it would be longer
 * than moved code may be. */
static void fire_if_taken(struct builder *b, unsigned k,
			  const struct x86_insn *i, const uint8_t *code)
{
	uint64_t from = b->want->at + b->t.off[k];
	struct emit_label over = {0};
	struct x86_moved *m = &b->t.moved[k];

	*m = (struct x86_moved){.from = from,
				.next = from + i->len,
				.target = x86_target(code, i, from),
				.falls = 1,
				.n = 1};
	b->t.moved_at[k] = offset_now(b);
	emit_jcc_label(b->out, (i->opcode & 15) ^ 1, &over);
	fire(b, k, 0);
	m->point[m->n++] = (struct x86_point){
	    .off = (uint8_t)(offset_now(b) - b->t.moved_at[k]),
	    .pc = X86_PC_TARGET};
	jump(b->out, m->target);
	emit_bind(b->out, &over);
	m->len = (uint8_t)(offset_now(b) - b->t.moved_at[k]);
}

static void add_point(struct builder *b, struct x86_moved *m, unsigned k)
{
	m->point[m->n++] = (struct x86_point){
	    .off = (uint8_t)(offset_now(b) - b->t.moved_at[k]),
	    .pc = X86_PC_FROM};
}

/* r8 and r9 are not put back for a handler: the thread is about to end. */
static void leave(struct builder *b, unsigned k, const struct x86_insn *i)
{
	uint64_t from = b->want->at + b->t.off[k];
	struct x86_moved *m = &b->t.moved[k];

	*m = (struct x86_moved){.from = from, .next = from + i->len};
	b->t.moved_at[k] = offset_now(b);
	add_point(b, m, k);
	emit_set(b->out, X86_R9, from);
	add_point(b, m, k);
	emit_rr(b->out, EMIT_MOV, 8, X86_R8, X86_RDI);
	add_point(b, m, k);
	jump(b->out, b->want->leave);
	m->len = (uint8_t)(offset_now(b) - b->t.moved_at[k]);
}

static enum x86_move put(struct builder *b, unsigned k, int *falls)
{
	const uint8_t *code = b->want->bytes + b->t.off[k];
	unsigned left = b->want->window - b->t.off[k];
	int hooked = (b->want->hooked >> k & 1) != 0;
	struct emit_label past = {0};
	struct x86_insn i;
	enum x86_move how;

	if (x86_decode(code, left, &i) != X86_OK)
		return X86_MOVE_UD;
	if (hooked && (i.row->flow != X86_SYSCALL || b->t.hook.end != 0))
		return X86_MOVE_ODD;
	b->t.resume[k] = offset_now(b);
	if (b->want->taken >> k & 1 && i.row->flow == X86_JCC) {
		fire_if_taken(b, k, &i, code);
		*falls = 1;
		return X86_MOVE_OK;
	}
	if (b->want->probed >> k & 1)
		fire(b, k, 1);
	if (hooked && b->want->leaves >> k & 1) {
		leave(b, k, &i);
		*falls = 0;
		return X86_MOVE_OK;
	}
	if (hooked)
		ask_hook(b, k, &past);
	b->t.moved_at[k] = offset_now(b);
	how = x86_relocate(code, &i, b->want->at + b->t.off[k], b->want->how,
			   b->out, &b->t.moved[k]);
	*falls = b->t.moved[k].falls;
	if (hooked)
		emit_bind(b->out, &past);
	return how;
}

enum x86_move trampoline_build(const struct trampoline_want *want,
			       struct x86_buf *out, struct trampoline *info)
{
	struct builder b = {.want = want, .out = out, .start = out->at};
	enum x86_move how = X86_MOVE_OK;
	int falls = 1;

	b.t.at = want->at;
	b.t.n = (uint8_t)want->n;
	b.t.window = (uint8_t)want->window;
	for (unsigned k = 0; k < want->n; k++)
		b.t.off[k] = want->off[k];
	for (unsigned k = 0; k < want->n && how == X86_MOVE_OK; k++)
		how = put(&b, k, &falls);
	if (how == X86_MOVE_OK && falls)
		jump(out, want->at + want->window);
	if (how == X86_MOVE_OK && out->bad)
		how = out->bad & X86_BUF_FULL ? X86_MOVE_FULL : X86_MOVE_FAR;
	if (how != X86_MOVE_OK) {
		out->at = b.start;
		out->bad = 0;
		return how;
	}
	b.t.len = offset_now(&b);
	*info = b.t;
	return X86_MOVE_OK;
}

/* -- And back -- */

static uint64_t status_of(const struct probe_frame *frame, uint64_t now)
{
	uint64_t status = frame->flags >> 8 & 0xd5;

	return (now & ~(uint64_t)X86_FLAGS_STATUS) | status |
	       (frame->flags & 1 ? X86_OF : 0);
}

uint64_t trampoline_flags(const struct probe_frame *frame, uint64_t now)
{
	return status_of(frame, now) |
	       (frame->how == TRAMPOLINE_DOWN ? X86_DF : 0);
}

/* Where the frame is. */
static uint64_t frame_at(const struct trampoline_fire *f, unsigned offset,
			 const uint64_t gpr[16])
{
	if (offset >= f->based && offset < f->unbased)
		return gpr[X86_RBX];
	return gpr[X86_RSP];
}

/* Which registers are in the frame, of a probe that is there. */
static unsigned kept(const struct trampoline_fire *f, unsigned offset)
{
	if (offset >= f->restored ||
	    (f->few != 0 && offset >= f->back && offset < f->slow))
		return 0;
	if (offset >= f->saved)
		return 0xffff;
	return f->few != 0 && offset >= f->few ? TRAMPOLINE_FEW : 0;
}

static void undo(const struct trampoline_fire *f, unsigned offset,
		 uint64_t gpr[16], uint64_t *flags)
{
	unsigned in_frame = kept(f, offset);
	uint64_t base = frame_at(f, offset, gpr);
	const struct probe_frame *frame =
	    (const struct probe_frame *)(uintptr_t)base;

	if (offset == f->start || (f->few != 0 && offset == f->leave))
		return;
	for (unsigned r = 0; r < 16; r++)
		if (in_frame >> r & 1)
			gpr[r] = frame->gpr[r];
	if (in_frame != 0 && offset >= f->flagged)
		*flags = status_of(frame, *flags);
	gpr[X86_RSP] = base + TRAMPOLINE_LOWER;
}

/* In the hook: the answer is in the frame, and the pc too. */
static void undo_hook(const struct trampoline *t, unsigned offset,
		      uint64_t gpr[16], uint64_t *flags, uint64_t *pc)
{
	const struct trampoline_fire *f = &t->hook;
	struct trampoline_fire all = *f;
	uint64_t base = frame_at(f, offset, gpr);

	*pc = t->moved[t->hooked].from;
	if (offset == t->answered) {
		*pc = t->moved[t->hooked].next;
		return;
	}
	if (offset >= f->called)
		*pc = ((const struct probe_frame *)(uintptr_t)base)->pc;
	all.restored = f->end;
	undo(&all, offset, gpr, flags);
}

/* The jump back behind the last instruction is no part of it. */
static int behind(const struct trampoline *t, unsigned offset, uint64_t *pc)
{
	unsigned last = t->n - 1u;

	if (!t->moved[last].falls ||
	    offset != (unsigned)t->moved_at[last] + t->moved[last].len)
		return -1;
	*pc = t->at + t->window;
	return 0;
}

int trampoline_native(const struct trampoline *t, unsigned offset,
		      uint64_t gpr[16], uint64_t *flags, uint64_t *pc)
{
	for (unsigned k = 0; k < t->n; k++) {
		const struct trampoline_fire *f = &t->fire[k];
		unsigned end = k + 1u < t->n ? t->resume[k + 1] : t->len;

		if (offset < t->resume[k] || offset >= end)
			continue;
		if (offset >= f->start && offset < f->end) {
			*pc = t->moved[k].from;
			undo(f, offset, gpr, flags);
			return 0;
		}
		if (offset >= t->hook.start && offset < t->hook.end) {
			undo_hook(t, offset, gpr, flags, pc);
			return 0;
		}
		if (offset < t->moved_at[k])
			continue;
		if (x86_moved_native(&t->moved[k], offset - t->moved_at[k], 0,
				     gpr, pc) == 0)
			return 0;
	}
	return behind(t, offset, pc);
}

void trampoline_frame_native(const struct probe_frame *frame, uint64_t gpr[16],
			     uint64_t *flags, uint64_t *pc)
{
	for (unsigned r = 0; r < 16; r++)
		gpr[r] = frame->gpr[r];
	*flags = trampoline_flags(frame, *flags);
	*pc = frame->pc;
}

/* The instruction that an offset belongs to. */
static unsigned insn_at(const struct trampoline *t, unsigned offset)
{
	unsigned k = 0;

	while (k + 1u < t->n && offset >= t->resume[k + 1])
		k++;
	return k;
}

int trampoline_fired(const struct trampoline *t, unsigned offset, uint64_t pc)
{
	unsigned k = insn_at(t, offset);
	const struct trampoline_fire *f = &t->fire[k];

	if (f->end == 0 || pc != t->moved[k].from)
		return 0;
	return offset >= f->called ||
	       (f->few != 0 && offset >= f->counted && offset < f->slow);
}

int trampoline_firing(const struct trampoline *t, unsigned offset)
{
	unsigned k = insn_at(t, offset);
	const struct trampoline_fire *f = &t->fire[k];

	return f->end != 0 && offset >= f->start && offset < f->called ? (int)k
								       : -1;
}

unsigned trampoline_mended(const struct trampoline *t, unsigned offset)
{
	const struct trampoline_fire *f = &t->fire[insn_at(t, offset)];

	return f->few != 0 && offset == f->self ? f->slow : 0;
}

void trampoline_of_jump(uint64_t at, unsigned len, struct trampoline *info)
{
	*info = (struct trampoline){.at = at, .len = (uint16_t)len, .n = 1};
	info->moved[0] = (struct x86_moved){.from = at, .next = at, .n = 1};
}
