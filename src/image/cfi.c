/* image/cfi.c - read .eh_frame and .debug_frame.
 *
 * C1  Every entry is longer than zero bytes, so walking the list ends.
 * C2  A program's rows ascend; it cannot tell more rows than it has bytes.
 * C3  State remembered is bounded (REMEMBERED); one level deeper is an error
 *     of that FDE, as is an instruction that is not known: its length is not
 *     known either, and the rest would be noise.
 * C4  A CIE is short: FDEs may refer to two of them in turn, and each turn
 *     reads one again. */
#include "image/cfi_priv.h"

enum {
	REMEMBERED = 16,
	EXPR_LEN_MAX = 256, /* real ones have some 20 bytes */
	CIE_LEN_MAX = 1024, /* C4; real ones have some 30 */
};

/* Pointer encodings. ORDER dw_pe: the numbers are the ABI's. */
enum {
	PE_ABSPTR = 0x00,
	PE_ULEB = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_PCREL = 0x10,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

/* -- Entries -- */

struct entry {
	struct cursor body; /* after the CIE pointer */
	uint64_t offset, next;
	uint64_t cie; /* offset of its CIE; of itself, if it is one */
	bool is_cie, wide;
};

static uint64_t offset_in(const struct cfi *cfi, const uint8_t *at)
{
	return (uint64_t)(at - cfi->at);
}

/* A CIE pointer: .eh_frame counts back from itself and marks a CIE by 0;
 * .debug_frame counts from the section's begin and marks it by all ones. */
static void classify(const struct cfi *cfi, struct entry *e, uint64_t at,
		     uint64_t pointer)
{
	uint64_t ones = e->wide ? UINT64_MAX : UINT32_MAX;

	e->is_cie = pointer == (cfi->eh ? 0 : ones);
	if (e->is_cie)
		e->cie = e->offset;
	else
		e->cie = cfi->eh ? at - pointer : pointer;
}

/* Empty entries are fillers, unless nothing else says where the list ends. */
static uint64_t skip_empty(const struct cfi *cfi, uint64_t offset)
{
	uint32_t len = 0;

	while (!cfi->open_ended && offset + sizeof len <= cfi->len) {
		memcpy(&len, cfi->at + offset, sizeof len);
		if (len != 0)
			break;
		offset += sizeof len;
	}
	return offset;
}

/* 1, or 0 at the end of the list. */
static int read_entry(const struct cfi *cfi, uint64_t offset, struct entry *e)
{
	struct cursor c;
	uint64_t len, at;

	if (offset >= cfi->len)
		return 0;
	c = cursor_of(cfi->at + offset, cfi->len - (size_t)offset);
	*e = (struct entry){.offset = offset};
	len = cursor_u32(&c);
	if (len == UINT32_MAX) {
		e->wide = true;
		len = cursor_u64(&c);
	}
	if (c.bad || len == 0 || len > cursor_left(&c))
		return 0;
	e->next = offset_in(cfi, c.at) + len;
	c.end = c.at + len;
	at = offset_in(cfi, c.at);
	classify(cfi, e, at,
		 e->wide && !cfi->eh ? cursor_u64(&c) : cursor_u32(&c));
	if (c.bad)
		return 0;
	e->body = c;
	return 1;
}

/* An address or length in one of the ABI's encodings. Relative to nothing,
 * or to itself; the others never occur in these sections. */
static uint64_t read_pointer(const struct cfi *cfi, struct cursor *c,
			     uint8_t encoding)
{
	uint64_t at = cfi->addr + offset_in(cfi, c->at), v;

	if ((encoding & PE_INDIRECT) != 0 ||
	    ((encoding & 0x70) != 0 && (encoding & 0x70) != PE_PCREL)) {
		cursor_fail(c);
		return 0;
	}
	switch (encoding & 0x0f) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		v = cursor_u64(c);
		break;
	case PE_ULEB:
		v = cursor_uleb(c);
		break;
	case PE_SLEB:
		v = (uint64_t)cursor_sleb(c);
		break;
	case PE_UDATA2:
		v = cursor_u16(c);
		break;
	case PE_SDATA2:
		v = (uint64_t)(int16_t)cursor_u16(c);
		break;
	case PE_UDATA4:
		v = cursor_u32(c);
		break;
	case PE_SDATA4:
		v = (uint64_t)(int64_t)(int32_t)cursor_u32(c);
		break;
	default:
		cursor_fail(c);
		return 0;
	}
	return (encoding & 0x70) == PE_PCREL ? v + at : v;
}

/* -- Programs -- */

/* ORDER dw_cfa: the numbers are DWARF's. */
enum {
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE1 = 0x02,
	CFA_ADVANCE2 = 0x03,
	CFA_ADVANCE4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE = 0x2f,
	CFA_ADVANCE = 0x40, /* the high two bits, from here on */
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
};

struct program {
	const struct cfi *cfi;
	const struct cfi_cie *cie;
	struct cursor c;
	struct frame_general now;
	struct frame_general kept[REMEMBERED];
	unsigned n_kept;
	uint64_t addr, end;
	const struct cfi_sink *sink; /* NULL: the program of a CIE */
	uint32_t changed;	     /* in now, and not told yet */
	bool stopped;		     /* by the sink */
};

/* A vector register's rule is read and dropped: nobody unwinds by it. */
static struct frame_cell *cell_of(struct program *p, uint64_t reg,
				  struct frame_cell *sink)
{
	if (reg >= FRAME_REGS)
		return sink;
	p->changed |= 1u << reg;
	return &p->now.reg[reg];
}

static void set(struct program *p, uint64_t reg, enum frame_how how,
		int64_t value)
{
	struct frame_cell unused;

	if (value < INT32_MIN || value > INT32_MAX)
		cursor_fail(&p->c);
	*cell_of(p, reg, &unused) =
	    (struct frame_cell){.how = (uint8_t)how, .value = (int32_t)value};
}

/* Factored offsets: how far a hostile factor takes them is of no interest,
 * only that the product is defined. */
static int64_t scaled(const struct program *p, uint64_t factored)
{
	return (int64_t)(factored * (uint64_t)p->cie->data_align);
}

static void set_saved(struct program *p, uint64_t reg, enum frame_how how,
		      uint64_t factored)
{
	set(p, reg, how, scaled(p, factored));
}

static void set_expression(struct program *p, struct frame_cell *cell,
			   enum frame_how how)
{
	uint64_t len = cursor_uleb(&p->c);
	uint64_t offset = offset_in(p->cfi, p->c.at);

	if (len > EXPR_LEN_MAX || offset > INT32_MAX)
		cursor_fail(&p->c);
	cursor_skip(&p->c, len);
	*cell = (struct frame_cell){.how = (uint8_t)how,
				    .expr_len = (uint16_t)len,
				    .value = (int32_t)offset};
}

static void set_cfa(struct program *p, uint64_t reg, int64_t offset)
{
	if (reg >= FRAME_REGS || offset < INT32_MIN || offset > INT32_MAX) {
		cursor_fail(&p->c);
		return;
	}
	p->now.cfa = (struct frame_cell){.how = FRAME_REGISTER,
					 .reg = (uint8_t)reg,
					 .value = (int32_t)offset};
	p->now.offset = (int32_t)offset;
	p->changed |= CFI_CFA;
}

/* DWARF forbids both of these where an expression is in force; programs do it
 * (libgcrypt's assembler), and the compilers' own unwinder lets them: it
 * remembers the offset, and a register makes it count again. */
static void set_cfa_offset(struct program *p, int64_t offset)
{
	if (p->now.cfa.how == FRAME_REGISTER)
		set_cfa(p, p->now.cfa.reg, offset);
	else if (p->now.cfa.how == FRAME_VAL_EXPR && offset >= INT32_MIN &&
		 offset <= INT32_MAX)
		p->now.offset = (int32_t)offset;
	else
		cursor_fail(&p->c);
}

static void set_cfa_register(struct program *p, uint64_t reg)
{
	if (p->now.cfa.how == FRAME_SAME)
		cursor_fail(&p->c);
	else
		set_cfa(p, reg, p->now.offset);
}

static void set_register(struct program *p, uint64_t reg, uint64_t from)
{
	struct frame_cell unused;

	*cell_of(p, reg, &unused) = (struct frame_cell){
	    .how = from < FRAME_REGS ? FRAME_REGISTER : FRAME_UNDEFINED,
	    .reg = from < FRAME_REGS ? (uint8_t)from : 0};
}

static void restore_register(struct program *p, uint64_t reg)
{
	struct frame_cell unused;

	if (p->sink == NULL) /* a CIE has nothing to restore from */
		cursor_fail(&p->c);
	else
		*cell_of(p, reg, &unused) =
		    p->cie->initial.reg[reg < FRAME_REGS ? reg : 0];
}

static void remember(struct program *p)
{
	if (p->n_kept == REMEMBERED)
		cursor_fail(&p->c);
	else
		p->kept[p->n_kept++] = p->now;
}

static void recall(struct program *p)
{
	if (p->n_kept == 0) {
		cursor_fail(&p->c);
		return;
	}
	p->now = p->kept[--p->n_kept];
	p->changed = CFI_ALL;
}

static void tell(struct program *p)
{
	if (p->changed != 0 && p->addr < p->end &&
	    p->sink->row(p->sink->ctx, p->addr, p->changed, &p->now) < 0)
		p->stopped = true;
	p->changed = 0;
}

static void go_to(struct program *p, uint64_t addr)
{
	if (p->sink == NULL || addr < p->addr) {
		cursor_fail(&p->c);
		return;
	}
	if (addr > p->addr)
		tell(p);
	p->addr = addr;
}

static void advance(struct program *p, uint64_t delta)
{
	uint64_t by = delta * p->cie->code_align;

	if (by > p->end - p->addr)
		by = p->end - p->addr; /* what follows is not ours */
	go_to(p, p->addr + by);
}

/* The rules of registers. */
static bool run_register(struct program *p, uint8_t op)
{
	struct frame_cell unused, *cell;
	uint64_t reg;

	if ((op < CFA_OFFSET_EXTENDED || op > CFA_REGISTER) &&
	    op != CFA_EXPRESSION && op != CFA_OFFSET_EXTENDED_SF &&
	    !(op >= CFA_VAL_OFFSET && op <= CFA_VAL_EXPRESSION) &&
	    op != CFA_GNU_NEGATIVE)
		return false;
	reg = cursor_uleb(&p->c);
	switch (op) {
	case CFA_OFFSET_EXTENDED:
		set_saved(p, reg, FRAME_OFFSET, cursor_uleb(&p->c));
		break;
	case CFA_OFFSET_EXTENDED_SF:
		set_saved(p, reg, FRAME_OFFSET, (uint64_t)cursor_sleb(&p->c));
		break;
	case CFA_GNU_NEGATIVE:
		set_saved(p, reg, FRAME_OFFSET, -cursor_uleb(&p->c));
		break;
	case CFA_VAL_OFFSET:
		set_saved(p, reg, FRAME_VAL_OFFSET, cursor_uleb(&p->c));
		break;
	case CFA_VAL_OFFSET_SF:
		set_saved(p, reg, FRAME_VAL_OFFSET,
			  (uint64_t)cursor_sleb(&p->c));
		break;
	case CFA_RESTORE_EXTENDED:
		restore_register(p, reg);
		break;
	case CFA_UNDEFINED:
		set(p, reg, FRAME_UNDEFINED, 0);
		break;
	case CFA_SAME:
		set(p, reg, FRAME_SAME, 0);
		break;
	case CFA_REGISTER:
		set_register(p, reg, cursor_uleb(&p->c));
		break;
	default:
		cell = cell_of(p, reg, &unused);
		set_expression(p, cell,
			       op == CFA_EXPRESSION ? FRAME_EXPR
						    : FRAME_VAL_EXPR);
	}
	return true;
}

/* The CFA, the address, and the rest. */
static void run_other(struct program *p, uint8_t op)
{
	uint64_t a;

	switch (op) {
	case CFA_NOP:
		break;
	case CFA_SET_LOC:
		a = read_pointer(p->cfi, &p->c, p->cie->fde_encoding);
		go_to(p, a < p->end ? a : p->end);
		break;
	case CFA_ADVANCE1:
		advance(p, cursor_u8(&p->c));
		break;
	case CFA_ADVANCE2:
		advance(p, cursor_u16(&p->c));
		break;
	case CFA_ADVANCE4:
		advance(p, cursor_u32(&p->c));
		break;
	case CFA_REMEMBER:
		remember(p);
		break;
	case CFA_RESTORE_STATE:
		recall(p);
		break;
	case CFA_DEF_CFA:
		a = cursor_uleb(&p->c);
		set_cfa(p, a, (int64_t)cursor_uleb(&p->c));
		break;
	case CFA_DEF_CFA_SF:
		a = cursor_uleb(&p->c);
		set_cfa(p, a, scaled(p, (uint64_t)cursor_sleb(&p->c)));
		break;
	case CFA_DEF_CFA_REGISTER:
		set_cfa_register(p, cursor_uleb(&p->c));
		break;
	case CFA_DEF_CFA_OFFSET:
		set_cfa_offset(p, (int64_t)cursor_uleb(&p->c));
		break;
	case CFA_DEF_CFA_OFFSET_SF:
		set_cfa_offset(p, scaled(p, (uint64_t)cursor_sleb(&p->c)));
		break;
	case CFA_DEF_CFA_EXPRESSION:
		set_expression(p, &p->now.cfa, FRAME_VAL_EXPR);
		p->changed |= CFI_CFA;
		break;
	case CFA_GNU_ARGS_SIZE:
		cursor_uleb(&p->c);
		break;
	default:
		cursor_fail(&p->c);
	}
}

/* 0, 1 if it is not understood, -1 if the sink has had enough. */
static int run(struct program *p)
{
	while (!p->c.bad && !p->stopped && cursor_left(&p->c) > 0) {
		uint8_t op = *p->c.at++, low = op & 0x3f;

		switch (op & 0xc0) {
		case CFA_ADVANCE:
			advance(p, low);
			break;
		case CFA_OFFSET:
			set_saved(p, low, FRAME_OFFSET, cursor_uleb(&p->c));
			break;
		case CFA_RESTORE:
			restore_register(p, low);
			break;
		default:
			if (!run_register(p, op))
				run_other(p, op);
		}
	}
	if (p->stopped)
		return -1;
	return p->c.bad ? 1 : 0;
}

/* -- CIEs -- */

/* The letters after 'z' describe the augmentation data. */
static void read_augmentation(const struct cfi *cfi, struct cfi_cie *cie,
			      const char *letters, struct cursor *c)
{
	uint64_t len = cursor_uleb(c);
	struct cursor data = *c;

	cursor_skip(c, len);
	if (c->bad)
		return;
	data.end = c->at;
	for (; *letters != '\0' && !data.bad; letters++) {
		if (*letters == 'R')
			cie->fde_encoding = cursor_u8(&data);
		else if (*letters == 'S')
			cie->signal = true;
		else if (*letters == 'L')
			cursor_u8(&data);
		else if (*letters == 'P')
			read_pointer(cfi, &data,
				     cursor_u8(&data) & (0x0f | 0x70));
		else if (*letters != 'B')
			return; /* unknown: z says where the data ends */
	}
	if (data.bad)
		cursor_fail(c);
}

static void run_initial(const struct cfi *cfi, struct cfi_cie *cie,
			struct cursor *c)
{
	struct program p = {.cfi = cfi, .cie = cie, .c = *c, .end = UINT64_MAX};

	for (int i = 0; i < FRAME_REGS; i++)
		p.now.reg[i].how = FRAME_SAME;
	if (run(&p) != 0)
		cursor_fail(c);
	p.now.flags = cie->signal ? FRAME_SIGNAL : 0;
	cie->initial = p.now;
}

static bool read_cie(const struct cfi *cfi, uint64_t offset,
		     struct cfi_cie *cie)
{
	struct entry e;
	const char *letters;
	uint8_t version;

	*cie = (struct cfi_cie){.offset = offset, .address_len = 8};
	if (!read_entry(cfi, offset, &e) || !e.is_cie ||
	    cursor_left(&e.body) > CIE_LEN_MAX)
		return false;
	version = cursor_u8(&e.body);
	letters = cursor_text(&e.body);
	if (version == 4) {
		cie->address_len = cursor_u8(&e.body);
		if (cursor_u8(&e.body) != 0) /* segments: not here */
			return false;
	}
	if ((version != 1 && version != 3 && version != 4) ||
	    cie->address_len != 8)
		return false;
	cie->code_align = cursor_uleb(&e.body);
	cie->data_align = cursor_sleb(&e.body);
	if ((version == 1 ? cursor_u8(&e.body) : cursor_uleb(&e.body)) !=
	    FRAME_RIP)
		return false;
	if (letters[0] == 'z') {
		cie->has_z = true;
		read_augmentation(cfi, cie, letters + 1, &e.body);
	} else if (letters[0] != '\0') {
		return false;
	}
	run_initial(cfi, cie, &e.body);
	return !e.body.bad;
}

/* The CIE of an FDE, mostly the one that was needed last. */
static const struct cfi_cie *cie_of(struct cfi_reader *r, uint64_t offset)
{
	if (!r->has_cie || r->cie.offset != offset)
		r->has_cie = read_cie(r->cfi, offset, &r->cie);
	return r->has_cie ? &r->cie : NULL;
}

/* -- FDEs -- */

/* Its begin and end; the program is what is left of the body. */
static bool read_fde(const struct cfi *cfi, const struct cfi_cie *cie,
		     struct entry *e, struct cfi_fde *out)
{
	uint64_t len;

	out->start = read_pointer(cfi, &e->body, cie->fde_encoding);
	len = read_pointer(cfi, &e->body, cie->fde_encoding & 0x0f);
	if (cie->has_z)
		cursor_skip(&e->body, cursor_uleb(&e->body));
	out->end = out->start + len;
	out->offset = e->offset;
	out->is_signal = cie->signal;
	return !e->body.bad && len > 0 && out->end > out->start;
}

int cfi_next(struct cfi_reader *r, uint64_t *offset, struct cfi_fde *out)
{
	struct entry e;

	for (;;) {
		const struct cfi_cie *cie;

		if (!read_entry(r->cfi, skip_empty(r->cfi, *offset), &e))
			return 0;
		*offset = e.next;
		if (e.is_cie)
			continue;
		cie = cie_of(r, e.cie);
		if (cie != NULL && read_fde(r->cfi, cie, &e, out))
			return 1;
		r->skipped++;
	}
}

int cfi_run(struct cfi_reader *r, const struct cfi_fde *fde,
	    const struct cfi_sink *sink)
{
	const struct cfi_cie *cie;
	struct cfi_fde same;
	struct program p;
	struct entry e;
	int rc;

	r->stopped = fde->start;
	if (!read_entry(r->cfi, fde->offset, &e) || e.is_cie)
		return 1;
	cie = cie_of(r, e.cie);
	if (cie == NULL || !read_fde(r->cfi, cie, &e, &same))
		return 1;
	p.cfi = r->cfi;
	p.cie = cie;
	p.c = e.body;
	p.now = cie->initial;
	p.n_kept = 0;
	p.addr = fde->start;
	p.end = fde->end;
	p.sink = sink;
	p.changed = CFI_ALL;
	p.stopped = false;
	rc = run(&p);
	r->stopped = p.addr;
	if (rc == 0) {
		tell(&p);
		rc = p.stopped ? -1 : 0;
	}
	return rc;
}
