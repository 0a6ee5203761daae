/* site/form.c - chooses the form of a probe, and its bytes.
 *
 * From the first byte of a window on, each of the four bytes behind it is one
 * of: free (inside an instruction that is moved, or padding), a trap (where an
 * instruction that is moved starts), or fixed (from the first byte on that may
 * not change). A jump e9 d0 d1 d2 d3 needs a distance of that shape; whether
 * there is an address for it is what the room says:
 *
 *	push r12	e9 d0		d0 free
 *	push rbp	   d1		a trap
 *	push rbx	   d2		a trap
 *	sub rsp, 8	   d3		a trap; three bytes of it stay, unused
 *
 * Windows that begin at the instruction itself come first, then those that
 * begin before it. If it starts behind the jump, it gets a trap of its own:
 *
 *	add rsp, 0x98	e9 d0 d1 d2 d3 00 00
 *	ret		cc			reached by the copy, as a rule
 */
#include "site/form.h"

#include "site/barred.h"
#include "x86/relocate.h"

#include <string.h>

/* A run of instructions from one address on, as far as they can be moved
 * together. */
struct chain {
	uint64_t start;
	unsigned n, len[FORM_INSNS], off[FORM_INSNS];
	unsigned end;	 /* bytes */
	unsigned can;	 /* bytes behind the first that may change, at most 4 */
	uint8_t kind[4]; /* enum room_byte of those */
};

const char *form_name(enum form f)
{
	static const char names[FORM_MAX][3] = {"-",  "J5", "JW",
						"J2", "JP", "T"};

	return names[f];
}

/* -- Chains -- */

static enum x86_move try_move(const struct survey *s, uint64_t addr,
			      const struct x86_insn *i)
{
	uint8_t bytes[X86_MOVED_LEN];
	struct x86_buf b = {.start = bytes,
			    .at = bytes,
			    .end = bytes + sizeof bytes,
			    .pc = addr};
	struct x86_moved moved;

	return x86_relocate(survey_bytes(s, addr), i, addr, NULL, &b, &moved);
}

const char *form_refusal(const struct survey *s, uint64_t addr)
{
	bool is_known = false;
	struct x86_insn i;
	enum x86_move how;
	const char *why;

	is_known = survey_insn(s, addr, &i);
	why = barred_why(s, addr, is_known ? i.len : 1);
	if (why != NULL)
		return why;
	if (!is_known)
		return "no instruction is known to start there";
	if (survey_is_inside(s, addr))
		return "it is a part of another instruction";
	how = try_move(s, addr, &i);
	return how == X86_MOVE_OK ? NULL : x86_move_text(how);
}

/* May the next instruction be moved along with this one? What comes back from
 * elsewhere (a call, a system call) comes back to the original. */
static bool goes_on(const struct x86_insn *i)
{
	switch (i->row->flow) {
	case X86_NEXT:
	case X86_JCC:
	case X86_LOOP:
		return true;
	default:
		return false;
	}
}

/* What may byte `at` of the chain become? -1: it must stay. */
static int kind_of(const struct survey *s, const struct chain *c, unsigned at)
{
	uint8_t facts = survey_at(s, c->start + at);

	if (facts &
		(SURVEY_TARGET | SURVEY_ENTRY | SURVEY_TAKEN | SURVEY_DATA) ||
	    barred_why(s, c->start + at, 1) != NULL)
		return -1;
	if (at >= c->end)
		return facts & SURVEY_PAD ? ROOM_ANY : -1;
	for (unsigned k = 1; k < c->n; k++)
		if (c->off[k] == at)
			return ROOM_TRAP;
	return facts & SURVEY_START ? -1 : ROOM_ANY;
}

/* The chain from start on, with all that a jump covers and the instruction at
 * addr. */
static bool chain_from(const struct survey *s, uint64_t start, uint64_t addr,
		       struct chain *out)
{
	struct chain c = {.start = start};
	struct x86_insn i;
	bool on = true;
	int kind;

	if (survey_at(s, start) & SURVEY_TAKEN || survey_is_inside(s, start))
		return false;
	while (on && c.n < FORM_INSNS &&
	       (c.end < FORM_LEN || start + c.end <= addr)) {
		uint64_t here = start + c.end;

		if (!survey_insn(s, here, &i) ||
		    barred_why(s, here, i.len) != NULL ||
		    try_move(s, here, &i) != X86_MOVE_OK)
			break;
		if (c.n > 0 &&
		    survey_at(s, here) & (SURVEY_TARGET | SURVEY_TAKEN |
					  SURVEY_ENTRY | SURVEY_DATA))
			break;
		c.off[c.n] = c.end;
		c.len[c.n++] = i.len;
		c.end += i.len;
		on = goes_on(&i);
	}
	if (c.n == 0 || start + c.off[c.n - 1] < addr)
		return false;
	for (; c.can < 4 && (kind = kind_of(s, &c, c.can + 1)) >= 0; c.can++)
		c.kind[c.can] = (uint8_t)kind;
	*out = c;
	return true;
}

/* The one instruction that falls through to addr, or 0. */
static uint64_t before(const struct survey *s, uint64_t addr)
{
	struct x86_insn i;
	uint64_t found = survey_before(s, addr, &i);

	return found != 0 && goes_on(&i) ? found : 0;
}

/* -- Patches -- */

static void mark_taken(struct survey *s, uint64_t addr, unsigned len, bool on)
{
	for (; len > 0 && addr - s->start < s->len; len--, addr++) {
		uint8_t *f = &s->facts[addr - s->start];

		*f = (uint8_t)(on ? *f | SURVEY_TAKEN : *f & ~SURVEY_TAKEN);
	}
}

static unsigned extent(const struct patch *p)
{
	unsigned len = p->len + (unsigned)p->relies;

	return len > p->window ? len : p->window;
}

static void take(const struct former *f, const struct patch *p, bool on)
{
	mark_taken(f->survey, p->at, extent(p), on);
	if (p->hop != 0)
		mark_taken(f->survey, p->hop, FORM_LEN, on);
}

void form_release(const struct former *f, const struct patch *p)
{
	take(f, p, false);
	if (p->entry != 0)
		room_give(f->room, p->entry);
	if (p->code != p->entry)
		room_give(f->room, p->code);
}

/* The instructions of the chain that `len` changed bytes touch, and those up
 * to the one that is asked for. */
static void move_touched(struct patch *p, const struct chain *c, unsigned len,
			 uint64_t addr)
{
	unsigned asked = (unsigned)(addr - c->start);

	p->at = c->start;
	p->len = (uint8_t)(asked < len ? len : asked + 1);
	for (unsigned k = 0; k < c->n && c->off[k] < p->len; k++) {
		p->off[p->n++] = (uint8_t)c->off[k];
		p->window = (uint8_t)(c->off[k] + c->len[k]);
		if (k > 0)
			p->traps |= (uint8_t)(1 << k);
		if (c->off[k] == asked)
			p->probed |= (uint8_t)(1 << k);
	}
}

static void put_jump(uint64_t at, uint64_t target, uint8_t *out)
{
	uint32_t rel = (uint32_t)(target - (at + FORM_LEN));

	out[0] = 0xe9;
	memcpy(out + 1, &rel, sizeof rel);
}

static bool in_bytes(const struct survey *s, uint64_t addr, unsigned len)
{
	return addr - s->start < s->len && s->len - (addr - s->start) >= len;
}

/* Finds a place for the code; where only a slot is free, the code is near. */
static bool place(const struct former *f, struct room_want *w, struct patch *p,
		  struct hark_err *err)
{
	struct room_want any = {.next = w->next, .len = FORM_TRAMPOLINE};

	w->len = p->form == FORM_JP ? FORM_SLOT : FORM_TRAMPOLINE;
	if (!room_take(f->room, w, &p->entry, err)) {
		w->len = FORM_SLOT;
		if (p->form == FORM_JP ||
		    !room_take(f->room, w, &p->entry, err))
			return false;
	}
	p->code = p->entry;
	if (w->len == FORM_TRAMPOLINE)
		return true;
	if (room_take(f->room, &any, &p->code, err))
		return true;
	room_give(f->room, p->entry);
	return false;
}

/* -- J5, JW, JP -- */

static bool jump_over(const struct former *f, const struct chain *c,
		      unsigned change, uint64_t addr, struct patch *out,
		      struct hark_err *err)
{
	struct room_want w = {.next = c->start + f->bias + FORM_LEN};
	struct patch p = {.form = FORM_J5};

	move_touched(&p, c, change + 1, addr);
	if (f->room == NULL || (change < 4 && p.len > change + 1) ||
	    !in_bytes(f->survey, c->start, p.len < FORM_LEN ? FORM_LEN : p.len))
		return false;
	memcpy(p.old, survey_bytes(f->survey, p.at),
	       p.len < FORM_LEN ? FORM_LEN : p.len);
	for (unsigned k = 0; k < 4; k++) {
		w.kind[k] = k < change ? c->kind[k] : ROOM_FIXED;
		w.value[k] = p.old[k + 1];
		if (k >= change &&
		    survey_at(f->survey, p.at + k + 1) & SURVEY_TAKEN)
			return false;
	}
	p.relies = (uint8_t)(4 - change);
	if (change < 4)
		p.form = FORM_JP;
	else if (p.n > 1)
		p.form = FORM_JW;
	if (!place(f, &w, &p, err))
		return false;
	memcpy(p.bytes, p.old, sizeof p.bytes);
	put_jump(p.at + f->bias, p.entry, p.bytes);
	for (unsigned k = 1; k < p.n; k++)
		if (p.off[k] >= FORM_LEN)
			p.bytes[p.off[k]] = 0xcc;
	*out = p;
	return true;
}

/* -- J2 -- */

static bool is_hop(const struct survey *s, uint64_t addr, uint64_t window,
		   unsigned len)
{
	for (unsigned k = 0; k < FORM_LEN; k++)
		if ((survey_at(s, addr + k) & (SURVEY_PAD | SURVEY_TAKEN)) !=
			SURVEY_PAD ||
		    addr + k - window < len)
			return false;
	return barred_why(s, addr, FORM_LEN) == NULL;
}

static bool is_trap(unsigned byte)
{
	return memchr(room_traps, (int)byte, room_n_traps) != NULL;
}

static bool find_hop(const struct former *f, const struct patch *p,
		     unsigned kind, uint64_t *out)
{
	for (int rel = 127; rel >= -128; rel--) {
		uint64_t addr = p->at + 2 + (uint64_t)(int64_t)rel;

		if ((kind == ROOM_ANY || is_trap((uint8_t)rel)) &&
		    is_hop(f->survey, addr, p->at, extent(p))) {
			*out = addr;
			return true;
		}
	}
	return false;
}

static bool hop_over(const struct former *f, const struct chain *c,
		     uint64_t addr, struct patch *out, struct hark_err *err)
{
	struct patch p = {.form = FORM_J2};
	struct room_want w = {.len = FORM_TRAMPOLINE};

	if (f->room == NULL || c->can < 1 || addr - c->start > 1)
		return false;
	move_touched(&p, c, 2, addr);
	if (!find_hop(f, &p, c->kind[0], &p.hop))
		return false;
	w.next = p.hop + f->bias + FORM_LEN;
	if (!room_take(f->room, &w, &p.entry, err))
		return false;
	p.code = p.entry;
	memcpy(p.old, survey_bytes(f->survey, p.at), p.len);
	memcpy(p.hop_old, survey_bytes(f->survey, p.hop), FORM_LEN);
	p.bytes[0] = 0xeb;
	p.bytes[1] = (uint8_t)(p.hop - (p.at + 2));
	put_jump(p.hop + f->bias, p.entry, p.hop_bytes);
	*out = p;
	return true;
}

/* -- The choice -- */

/* The chains that hold addr, the one that begins there first. */
static unsigned chains_of(const struct survey *s, uint64_t addr,
			  uint64_t lowest, struct chain out[FORM_INSNS])
{
	uint64_t start = addr;
	unsigned n = 0;

	while (start != 0 && start >= lowest && n < FORM_INSNS &&
	       addr - start < FORM_BYTES) {
		if (!chain_from(s, start, addr, &out[n]))
			break;
		n++;
		start = before(s, start);
	}
	return n;
}

static bool squeeze(const struct former *f, const struct chain *c,
		    uint64_t addr, struct patch *out, struct hark_err *err)
{
	unsigned can = c->can < 3 ? c->can : 3;

	for (unsigned change = can + 1; change-- > 0;)
		if (jump_over(f, c, change, addr, out, err))
			return true;
	return false;
}

static bool choose_jump(const struct former *f, uint64_t addr, uint64_t lowest,
			struct patch *out, struct hark_err *err)
{
	struct chain c[FORM_INSNS];
	unsigned n = chains_of(f->survey, addr, lowest, c);

	for (unsigned k = 0; k < n; k++)
		if (c[k].can == 4 && jump_over(f, &c[k], 4, addr, out, err))
			return true;
	for (unsigned k = 0; k < n; k++)
		if (hop_over(f, &c[k], addr, out, err))
			return true;
	for (unsigned k = 0; k < n; k++)
		if (squeeze(f, &c[k], addr, out, err))
			return true;
	return false;
}

int form_trap(const struct former *f, uint64_t addr, struct patch *out,
	      struct hark_err *err)
{
	struct room_want w = {.next = addr + f->bias, .len = FORM_TRAMPOLINE};
	const char *why = form_refusal(f->survey, addr);
	struct x86_insn i;
	uint64_t code;

	if (why == NULL && survey_at(f->survey, addr) & SURVEY_TAKEN)
		why = "another probe has changed it";
	if (why != NULL || !survey_insn(f->survey, addr, &i))
		return err_set(err, HARK_EREFUSE, 0, "%s", why ? why : "");
	*out = (struct patch){.at = addr,
			      .form = FORM_T,
			      .len = 1,
			      .window = i.len,
			      .n = 1,
			      .probed = 1,
			      .bytes = {0xcc},
			      .old = {*survey_bytes(f->survey, addr)}};
	if (f->room != NULL && room_take(f->room, &w, &code, err))
		out->code = code;
	take(f, out, true);
	return 0;
}

int form_choose(const struct former *f, uint64_t addr, uint64_t lowest,
		struct patch *out, struct hark_err *err)
{
	const char *why = form_refusal(f->survey, addr);

	if (why != NULL)
		return err_set(err, HARK_EREFUSE, 0, "%s", why);
	if (!choose_jump(f, addr, lowest, out, err))
		return form_trap(f, addr, out, err);
	take(f, out, true);
	return 0;
}
