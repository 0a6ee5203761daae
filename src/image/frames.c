/* image/frames.c - build the table of call-frame rules of a module.
 *
 * All FDEs are listed and sorted, then run one after the other; each row of
 * theirs becomes a rule, each new rule gets a number. libdw's own lookup
 * (dw_cfi_addrframe) answers for one address at a time: it is the oracle
 * of the tests, and too slow to ask a hundred thousand times (docs/image.md
 * has both figures).
 *
 * B1  Rows are appended in ascending order; an FDE begins where its
 *     predecessor ends at the earliest, so no row is ever inserted.
 * B2  Code between FDEs has rule 0, unless it is a linkage table: not all
 *     linkers write rules for these, and what they do is known. */
#include "image/frames_priv.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum {
	RULES_MAX = 65535,
	GENERALS_MAX = 65535,
	LOOK_BACK = 64,	    /* general rules that a new one is compared with */
	SPAN_PAGES = 65536, /* 4 GiB of code: what 32-bit jumps can reach */
};

/* -- Finding the sections -- */

static int load(struct elf *e, const char *name, struct cfi *out,
		struct hark_err *err)
{
	struct elf_section *s = elf_section(e, name);
	struct bytes *b;

	if (s == NULL || s->h.sh_type == SHT_NOBITS || s->h.sh_size == 0)
		return 0;
	b = elf_contents(e, s, err);
	if (b == NULL)
		return -1;
	out->at = bytes_need(b, 0, b->len, err);
	if (out->at == NULL)
		return -1;
	out->len = b->len;
	out->addr = s->h.sh_addr;
	out->eh = name[1] == 'e';
	out->open_ended = e->made_sections;
	return 0;
}

static int compare_pieces(const void *a, const void *b)
{
	const struct linkage_piece *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void find_pieces(struct elf *e, struct frames_input *in)
{
	for (unsigned i = 0; i < LINKAGE_TABLES; i++)
		in->n_pieces += linkage_pieces(e, linkage_tables[i],
					       &in->piece[in->n_pieces]);
	qsort(in->piece, in->n_pieces, sizeof in->piece[0], compare_pieces);
}

int frames_find(struct elf *e, struct elf *debug, struct frames_input *out,
		struct hark_err *err)
{
	struct frames_input in = {.elf = e, .heap = &e->budget.heap};

	if (elf_sections(e, err) < 0 ||
	    load(e, ".eh_frame", &in.section[0], err) < 0 ||
	    load(e, ".debug_frame", &in.section[1], err) < 0)
		return -1;
	if (in.section[1].at == NULL && debug != NULL &&
	    load(debug, ".debug_frame", &in.section[1], err) < 0)
		return -1;
	if (in.section[0].at == NULL && in.section[1].at == NULL)
		return err_set(err, HARK_ENOENT, 0,
			       "%s: has no call-frame rules", elf_name(e));
	find_pieces(e, &in);
	*out = in;
	return 0;
}

/* -- What they are -- */

enum { PART = 128 << 10 }; /* bytes hashed at a time */

static int hash_contents(struct elf *e, const Elf64_Shdr *h, uint8_t *part,
			 XXH3_state_t *state)
{
	uint64_t at = 0;

	while (at < h->sh_size) {
		uint64_t left = h->sh_size - at;
		size_t len = left < PART ? (size_t)left : PART;

		if (elf_read(e, h->sh_offset + at, part, len, NULL) < 0)
			return -1;
		XXH3_64bits_update(state, part, len);
		at += len;
	}
	return 0;
}

/* A section as it is in the file, packed or not; none at all is one, too. */
static int hash_section(struct elf *e, const char *name, uint8_t *part,
			XXH3_state_t *state)
{
	const struct elf_section *s = elf_section(e, name);
	Elf64_Shdr h = {0};

	if (s != NULL)
		h = s->h;
	h.sh_name = h.sh_link = 0; /* where others are */
	XXH3_64bits_update(state, &h, sizeof h);
	return h.sh_type == SHT_NOBITS ? 0 : hash_contents(e, &h, part, state);
}

int frames_source(struct elf *e, uint64_t *out)
{
	XXH3_state_t *state = XXH3_createState();
	uint8_t *part = malloc(PART);
	int rc = -1;

	if (state == NULL || part == NULL || elf_sections(e, NULL) < 0 ||
	    e->made_sections)
		goto out;
	XXH3_64bits_reset(state);
	XXH3_64bits_update(state, e->ph, e->n_ph * sizeof *e->ph);
	if (hash_section(e, ".eh_frame", part, state) < 0 ||
	    hash_section(e, ".debug_frame", part, state) < 0)
		goto out;
	for (unsigned i = 0; i < LINKAGE_TABLES; i++)
		if (hash_section(e, linkage_tables[i], part, state) < 0)
			goto out;
	*out = XXH3_64bits_digest(state);
	rc = 0;
out:
	free(part);
	XXH3_freeState(state);
	return rc;
}

/* -- Listing the FDEs -- */

static int no_memory(const struct frames_input *in, struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, 0,
		       "%s: no memory for its call-frame rules",
		       elf_name(in->elf));
}

static int compare(const void *a, const void *b)
{
	const struct cfi_fde *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Linkers mostly keep the order of the code. */
static bool is_sorted(const struct frames_list *l)
{
	for (size_t i = 1; i < l->n; i++)
		if (l->at[i - 1].start > l->at[i].start)
			return false;
	return true;
}

/* One round of a sort by digits: equal ones stay in their order. */
enum { DIGIT = 11, DIGITS = 1 << DIGIT };

static void sort_by_digit(const struct cfi_fde *from, size_t n, uint64_t low,
			  unsigned shift, struct cfi_fde *to)
{
	uint32_t at[DIGITS] = {0}, sum = 0;

	for (size_t i = 0; i < n; i++)
		at[(from[i].start - low) >> shift & (DIGITS - 1)]++;
	for (unsigned d = 0; d < DIGITS; d++) {
		uint32_t here = at[d];

		at[d] = sum;
		sum += here;
	}
	for (size_t i = 0; i < n; i++)
		to[at[(from[i].start - low) >> shift & (DIGITS - 1)]++] =
		    from[i];
}

/* By where they start; of those that start together the one that was listed
 * first stays first. Without memory for that it takes longer. */
static void sort(const struct frames_input *in, struct frames_list *l)
{
	size_t len = l->n * sizeof *l->at;
	uint64_t low = UINT64_MAX, high = 0;
	struct cfi_fde *spare, *from = l->at, *to, *other;

	for (size_t i = 0; i < l->n; i++) {
		low = l->at[i].start < low ? l->at[i].start : low;
		high = l->at[i].start > high ? l->at[i].start : high;
	}
	spare = l->n < UINT32_MAX ? heap_take(in->heap, len) : NULL;
	if (spare == NULL) {
		qsort(l->at, l->n, sizeof *l->at, compare);
		return;
	}
	to = spare;
	for (unsigned shift = 0; shift < 64 && (high - low) >> shift != 0;
	     shift += DIGIT) {
		sort_by_digit(from, l->n, low, shift, to);
		other = from;
		from = to;
		to = other;
	}
	if (from != l->at)
		memcpy(l->at, from, len);
	heap_give(in->heap, spare, len);
}

/* Drops what an earlier FDE covers, and cuts what it overlaps. */
static void separate(struct frames_list *l)
{
	uint64_t until = 0;
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct cfi_fde *f = &l->at[i];

		if (f->end <= until)
			continue;
		if (f->start >= until || f->section == 0 || n == 0 ||
		    l->at[n - 1].section != 0)
			l->at[n++] = *f;
		else
			continue; /* .debug_frame only fills gaps */
		until = f->end;
	}
	l->n = n;
}

/* The FDEs of one section; 0, or -1 without memory. */
static int list_fdes(const struct frames_input *in, unsigned section,
		     struct frames_list *l, struct frames_stats *stats)
{
	struct cfi_reader r = {.cfi = &in->section[section]};
	uint64_t offset = 0;
	struct cfi_fde fde, *new;

	while (r.cfi->at != NULL && cfi_next(&r, &offset, &fde)) {
		if (!elf_is_code(in->elf, fde.start) ||
		    !elf_is_code(in->elf, fde.end - 1)) {
			stats->outside++;
			continue;
		}
		new = vec_push(l, in->heap);
		if (new == NULL)
			return -1;
		*new = fde;
		new->section = (uint8_t)section;
	}
	stats->broken += r.skipped;
	return 0;
}

int frames_collect(const struct frames_input *in, struct frames_list *out,
		   struct frames_stats *stats, struct hark_err *err)
{
	struct frames_list l = {0};

	for (unsigned i = 0; i < FRAMES_SECTIONS; i++)
		if (list_fdes(in, i, &l, stats) < 0) {
			vec_free(&l, in->heap);
			return no_memory(in, err);
		}
	if (!is_sorted(&l))
		sort(in, &l);
	separate(&l);
	stats->fdes = l.n;
	*out = l;
	return 0;
}

/* -- Rules -- */

struct build {
	const struct frames_input *in; /* borrowed */
	const struct cfi *cfi;	       /* of the FDE that runs */
	uint64_t base, floor, last;    /* last: address of the newest row */
	struct {
		VEC(struct frame_rule);
	} rules;
	struct {
		VEC(struct frame_general);
	} generals;
	struct {
		VEC(uint32_t);
	} pages;
	struct {
		VEC(struct frame_row);
	} rows;
	struct {
		VEC(uint8_t);
	} exprs;
	struct frame_rule now; /* of the newest row, if plain */
	bool plain;	       /* now is made of registers and slots alone */
	uint16_t *hash;	       /* owned: rule numbers; 0: free */
	size_t hash_len;
	size_t dropped;
};

static const uint8_t *expr_at(const struct build *b, const struct frame_cell *c)
{
	return b->cfi->at + c->value;
}

/* Is it the one operation reg + offset, with or without a load after it? */
static bool is_breg(const struct build *b, const struct frame_cell *c,
		    bool deref, uint8_t *reg, int64_t *offset)
{
	struct cursor code = cursor_of(expr_at(b, c), c->expr_len);
	uint8_t op = cursor_u8(&code);

	if (op < 0x70 || op >= 0x70 + FRAME_REGS)
		return false;
	*reg = (uint8_t)(op - 0x70);
	*offset = cursor_sleb(&code);
	if (deref && cursor_u8(&code) != 0x06)
		return false;
	return !code.bad && cursor_left(&code) == 0;
}

/* What linkers write for the procedure linkage table: the first half of an
 * entry has pushed nothing yet, the second half has. */
static bool is_plt(const struct build *b, const struct frame_cell *c,
		   int32_t *from)
{
	static const uint8_t plt[11] = {0x77, 8,    0x80, 0,	0x3f, 0x1a,
					0x30, 0x2a, 0x33, 0x24, 0x22};
	const uint8_t *at = expr_at(b, c);

	if (c->expr_len != sizeof plt || memcmp(at, plt, 6) != 0 ||
	    memcmp(at + 7, plt + 7, 4) != 0 || at[6] < 0x30 || at[6] > 0x3f)
		return false;
	*from = at[6] - 0x30;
	return true;
}

static bool make_cfa(const struct build *b, const struct frame_general *s,
		     struct frame_rule *r)
{
	int64_t offset;

	if (s->cfa.how == FRAME_REGISTER) {
		r->kind = FRAME_REG;
		r->reg = s->cfa.reg;
		r->cfa = s->cfa.value;
		return true;
	}
	if (s->cfa.how != FRAME_VAL_EXPR)
		return false;
	if (is_plt(b, &s->cfa, &r->cfa)) {
		r->kind = FRAME_PLT;
		return true;
	}
	r->kind = FRAME_DEREF;
	if (!is_breg(b, &s->cfa, true, &r->reg, &offset)) {
		r->kind = FRAME_REG;
		if (!is_breg(b, &s->cfa, false, &r->reg, &offset))
			return false;
	}
	r->cfa = (int32_t)offset;
	return r->cfa == offset;
}

/* ORDER frame_saved */
static const uint8_t saved_reg[FRAME_SAVED] = {FRAME_RBX, FRAME_RBP, 12, 13, 14,
					       15,	  FRAME_RIP};

/* Slots are whole words; anything else needs a general rule. */
static bool make_slot(int64_t offset, int16_t *slot)
{
	*slot = (int16_t)(offset / 8);
	return offset % 8 == 0 && offset / 8 > INT16_MIN &&
	       offset / 8 < FRAME_LOST;
}

/* One saved register. *at_rbp and *at_cfa note what slots count from. */
static bool make_saved(const struct build *b, const struct frame_cell *c,
		       int16_t *slot, bool *at_cfa, bool *at_rbp)
{
	int64_t offset;
	uint8_t reg;

	switch (c->how) {
	case FRAME_SAME:
		*slot = FRAME_KEPT;
		return true;
	case FRAME_UNDEFINED:
		*slot = FRAME_LOST;
		return true;
	case FRAME_OFFSET:
		*at_cfa = true;
		return make_slot(c->value, slot);
	case FRAME_EXPR:
		*at_rbp = true;
		return is_breg(b, c, false, &reg, &offset) &&
		       reg == FRAME_RBP && make_slot(offset, slot);
	default:
		return false;
	}
}

static bool make_rule(const struct build *b, const struct frame_general *s,
		      struct frame_rule *r)
{
	bool at_cfa = false, at_rbp = false, ra_cfa = false, ra_rbp = false;

	*r = (struct frame_rule){.flags = (uint8_t)s->flags};
	if (s->reg[FRAME_RSP].how != FRAME_SAME || !make_cfa(b, s, r))
		return false;
	for (int i = 0; i < FRAME_SAVED_RIP; i++)
		if (!make_saved(b, &s->reg[saved_reg[i]], &r->saved[i], &at_cfa,
				&at_rbp))
			return false;
	if (at_cfa && at_rbp)
		return false;
	r->flags |= at_rbp ? FRAME_AT_RBP : 0;
	if (s->reg[FRAME_RIP].how == FRAME_UNDEFINED)
		r->flags |= FRAME_END;
	return make_saved(b, &s->reg[FRAME_RIP], &r->saved[FRAME_SAVED_RIP],
			  &ra_cfa, &ra_rbp) &&
	       !ra_rbp;
}

/* Where DWARF's registers are in the kernel's sigcontext, in words. */
static const uint8_t context_at[FRAME_REGS] = {13, 12, 14, 11, 9, 8, 10, 15, 0,
					       1,  2,  3,  4,  5, 6, 7,	 16};

/* A C library describes its return from a signal by one expression for each
 * register: all count from rsp, and the stack pointer is the CFA. */
static bool make_context(const struct build *b, const struct frame_general *s,
			 struct frame_rule *r)
{
	int64_t first, offset;
	uint8_t reg;

	if (s->cfa.how != FRAME_VAL_EXPR ||
	    !is_breg(b, &s->cfa, true, &reg, &first) || reg != FRAME_RSP)
		return false;
	first -= context_at[FRAME_RSP] * 8L;
	for (int i = 0; i < FRAME_REGS; i++) {
		const struct frame_cell *c = &s->reg[i];

		if (i == FRAME_RSP && c->how == FRAME_SAME)
			continue;
		if (c->how != FRAME_EXPR ||
		    !is_breg(b, c, false, &reg, &offset) || reg != FRAME_RSP ||
		    offset != first + context_at[i] * 8L)
			return false;
	}
	*r = (struct frame_rule){.kind = FRAME_CONTEXT,
				 .reg = FRAME_RSP,
				 .cfa = (int32_t)first,
				 .flags = (uint8_t)s->flags};
	return r->cfa == first;
}

/* -- Numbering the rules -- */

/* A rule is three words. What is read soon after it was written is read as it
 * was written, a word at a time: a processor that has to put one together from
 * two stores waits for both. */
static uint64_t word_of(const struct frame_rule *r, unsigned i)
{
	uint64_t word;

	memcpy(&word, (const char *)r + i * sizeof word, sizeof word);
	return word;
}

static void set_word(struct frame_rule *r, unsigned i, uint64_t word)
{
	memcpy((char *)r + i * sizeof word, &word, sizeof word);
}

static void set_slot(struct frame_rule *r, unsigned i, int16_t slot)
{
	enum { FIRST = 1, IN_WORD = 4, BITS = 16 };
	unsigned at = FIRST + i / IN_WORD, shift = i % IN_WORD * BITS;

	set_word(r, at,
		 (word_of(r, at) & ~((uint64_t)UINT16_MAX << shift)) |
		     (uint64_t)(uint16_t)slot << shift);
}
_Static_assert(offsetof(struct frame_rule, saved) == 8, "in set_slot");

static void set_cfa(struct frame_rule *r, uint8_t reg, int32_t cfa)
{
	const uint64_t others = 0xff00ffff00000000;
	const unsigned shift = offsetof(struct frame_rule, reg) * 8;

	set_word(r, 0,
		 (word_of(r, 0) & others) | (uint32_t)cfa |
		     (uint64_t)reg << shift);
}
_Static_assert(offsetof(struct frame_rule, reg) == 6, "in set_cfa");

static size_t hash_of(const struct frame_rule *r)
{
	uint64_t h = word_of(r, 0) ^ word_of(r, 1) * 0x9e3779b97f4a7c15 ^
		     word_of(r, 2) * 0xc2b2ae3d27d4eb4f;

	h *= 0xff51afd7ed558ccd;
	return (size_t)(h ^ h >> 32);
}

static bool is_same_rule(const struct frame_rule *a, const struct frame_rule *b)
{
	return word_of(a, 0) == word_of(b, 0) &&
	       word_of(a, 1) == word_of(b, 1) && word_of(a, 2) == word_of(b, 2);
}

static void hash_put(struct build *b, uint16_t number)
{
	size_t i = hash_of(&b->rules.at[number]) & (b->hash_len - 1);

	while (b->hash[i] != 0)
		i = (i + 1) & (b->hash_len - 1);
	b->hash[i] = number;
}

/* At most half full, so that chains stay short. */
static int hash_grow(struct build *b)
{
	size_t len = b->hash_len > 0 ? b->hash_len * 2 : 1024;
	uint16_t *hash = heap_take(b->in->heap, len * sizeof *hash);

	if (hash == NULL)
		return -1;
	memset(hash, 0, len * sizeof *hash);
	heap_give(b->in->heap, b->hash, b->hash_len * sizeof *hash);
	b->hash = hash;
	b->hash_len = len;
	for (size_t i = 1; i < b->rules.n; i++)
		hash_put(b, (uint16_t)i);
	return 0;
}

/* The rule's number, a new one if it is new: -1 if there is no memory, 0 if
 * all numbers are taken. */
static int number_of(struct build *b, const struct frame_rule *r)
{
	size_t i = hash_of(r) & (b->hash_len - 1);
	struct frame_rule *new;

	for (; b->hash[i] != 0; i = (i + 1) & (b->hash_len - 1))
		if (is_same_rule(&b->rules.at[b->hash[i]], r))
			return b->hash[i];
	if (b->rules.n == RULES_MAX) {
		b->dropped++;
		return 0;
	}
	new = vec_push(&b->rules, b->in->heap);
	if (new == NULL)
		return -1;
	*new = *r;
	if (b->rules.n * 2 > b->hash_len) {
		if (hash_grow(b) < 0)
			return -1;
	} else {
		hash_put(b, (uint16_t)(b->rules.n - 1));
	}
	return (int)b->rules.n - 1;
}

/* Copies a cell's expression from the section to the table. */
static int keep_expr(struct build *b, struct frame_cell *c)
{
	if (c->how != FRAME_EXPR && c->how != FRAME_VAL_EXPR)
		return 0;
	if (c->expr_len == 0) {
		c->value = 0;
		return 0;
	}
	if (vec_fit(&b->exprs, c->expr_len, b->in->heap) < 0)
		return -1;
	memcpy(b->exprs.at + b->exprs.n, expr_at(b, c), c->expr_len);
	c->value = (int32_t)b->exprs.n;
	b->exprs.n += c->expr_len;
	return 0;
}

static bool is_same_cell(const struct build *b, const struct frame_cell *kept,
			 const struct frame_cell *c)
{
	if (c->how != FRAME_EXPR && c->how != FRAME_VAL_EXPR)
		return memcmp(kept, c, sizeof *c) == 0;
	return kept->how == c->how && kept->expr_len == c->expr_len &&
	       (c->expr_len == 0 || memcmp(b->exprs.at + kept->value,
					   expr_at(b, c), c->expr_len) == 0);
}

static bool is_same_general(const struct build *b,
			    const struct frame_general *kept,
			    const struct frame_general *s)
{
	if (kept->flags != s->flags || !is_same_cell(b, &kept->cfa, &s->cfa))
		return false;
	for (int i = 0; i < FRAME_REGS; i++)
		if (!is_same_cell(b, &kept->reg[i], &s->reg[i]))
			return false;
	return true;
}

/* A like one among the newest, or b->generals.n. */
static size_t find_general(const struct build *b, const struct frame_general *s)
{
	size_t n = b->generals.n;

	for (size_t i = 1; i <= n && i <= LOOK_BACK; i++)
		if (is_same_general(b, &b->generals.at[n - i], s))
			return n - i;
	return n;
}

/* What fits no ordinary rule. */
static int number_of_general(struct build *b, const struct frame_general *s)
{
	size_t found = find_general(b, s);
	struct frame_rule r = {.kind = FRAME_GENERAL,
			       .flags = (uint8_t)s->flags,
			       .cfa = (int32_t)found};
	struct frame_general *g;

	if (s->reg[FRAME_RIP].how == FRAME_UNDEFINED)
		r.flags |= FRAME_END;
	if (found < b->generals.n)
		return number_of(b, &r);
	if (b->generals.n == GENERALS_MAX || b->rules.n == RULES_MAX ||
	    b->exprs.n > INT32_MAX / 2) {
		b->dropped++;
		return 0;
	}
	g = vec_push(&b->generals, b->in->heap);
	if (g == NULL)
		return -1;
	*g = *s;
	g->offset = 0;
	if (keep_expr(b, &g->cfa) < 0)
		return -1;
	for (int i = 0; i < FRAME_REGS; i++)
		if (keep_expr(b, &g->reg[i]) < 0)
			return -1;
	return number_of(b, &r);
}

/* -- Rows -- */

static int append(struct build *b, uint64_t addr, uint16_t rule)
{
	uint64_t page = (addr - b->base) / FRAME_PAGE;
	struct frame_row *row;
	uint32_t *first;

	if (b->rows.n > 0 && b->last == addr) { /* the newer one counts */
		b->rows.at[b->rows.n - 1].rule = rule;
		return 0;
	}
	if (b->rows.n > 0 && b->rows.at[b->rows.n - 1].rule == rule)
		return 0;
	while (b->pages.n <= page) {
		first = vec_push(&b->pages, b->in->heap);
		if (first == NULL)
			return -1;
		*first = (uint32_t)b->rows.n;
	}
	row = vec_push(&b->rows, b->in->heap);
	if (row == NULL)
		return -1;
	row->low = (uint16_t)addr;
	row->rule = rule;
	b->last = addr;
	return 0;
}

/* Most rows differ from the one before in one or two cells; false if that
 * cannot be said in a plain rule. */
static bool update_rule(struct build *b, uint32_t changed,
			const struct frame_general *s)
{
	struct frame_rule *r = &b->now;

	if (!b->plain || (changed & (1u << FRAME_RSP | 1u << FRAME_RIP)) != 0)
		return false;
	if ((changed & CFI_CFA) != 0) {
		if (s->cfa.how != FRAME_REGISTER)
			return false;
		set_cfa(r, s->cfa.reg, s->cfa.value);
	}
	if ((changed & ~(uint32_t)CFI_CFA) == 0)
		return true;
	for (unsigned i = 0; i < FRAME_SAVED_RIP; i++) {
		const struct frame_cell *c = &s->reg[saved_reg[i]];
		int16_t slot = FRAME_KEPT;

		if ((changed >> saved_reg[i] & 1) == 0)
			continue;
		if (c->how != FRAME_SAME &&
		    (c->how != FRAME_OFFSET || !make_slot(c->value, &slot)))
			return false;
		set_slot(r, i, slot);
	}
	return true;
}

static int take_row(void *ctx, uint64_t addr, uint32_t changed,
		    const struct frame_general *s)
{
	struct build *b = ctx;
	int number;

	if (update_rule(b, changed, s)) {
		number = number_of(b, &b->now);
	} else {
		b->plain = make_rule(b, s, &b->now);
		if (b->plain || make_context(b, s, &b->now))
			number = number_of(b, &b->now);
		else if (s->cfa.how == FRAME_SAME)
			number = 0; /* no CFA was ever defined */
		else
			number = number_of_general(b, s);
		b->plain = b->plain && b->now.kind == FRAME_REG &&
			   (b->now.flags & FRAME_AT_RBP) == 0;
	}
	if (number < 0)
		return -1;
	return append(b, addr > b->floor ? addr : b->floor, (uint16_t)number);
}

static int append_piece(struct build *b, const struct linkage_piece *p)
{
	const bool pushes = p->pushed < 16;
	struct frame_rule r = {.kind = pushes ? FRAME_PLT : FRAME_REG,
			       .reg = pushes ? 0 : FRAME_RSP,
			       .cfa = pushes ? (int32_t)p->pushed
					     : (int32_t)p->words * 8 + 8};
	int number;

	for (unsigned i = 0; i < FRAME_SAVED_RIP; i++)
		r.saved[i] = FRAME_KEPT;
	r.saved[FRAME_SAVED_RIP] = -1;
	number = number_of(b, &r);
	return number < 0 || append(b, p->start, (uint16_t)number) < 0 ||
		       append(b, p->end, 0) < 0
		   ? -1
		   : 0;
}

/* What no FDE speaks of, from b->floor on (B2). */
static int append_gap(struct build *b, uint64_t end)
{
	if (append(b, b->floor, 0) < 0)
		return -1;
	for (unsigned i = 0; i < b->in->n_pieces; i++) {
		const struct linkage_piece *p = &b->in->piece[i];

		if (p->start < b->floor || p->end > end)
			continue;
		if (append_piece(b, p) < 0)
			return -1;
		b->floor = p->end; /* tables that lie can overlap */
	}
	return 0;
}

static int run_all(struct build *b, const struct frames_list *l,
		   struct frames_stats *stats)
{
	struct cfi_sink sink = {take_row, b};
	struct cfi_reader reader[FRAMES_SECTIONS] = {{0}};

	for (size_t i = 0; i < l->n; i++) {
		const struct cfi_fde *f = &l->at[i];
		struct cfi_reader *r = &reader[f->section];
		int rc;

		if (f->start > b->floor && append_gap(b, f->start) < 0)
			return -1;
		b->floor = f->start > b->floor ? f->start : b->floor;
		b->cfi = &b->in->section[f->section];
		b->plain = false;
		r->cfi = b->cfi;
		rc = cfi_run(r, f, &sink);
		if (rc < 0)
			return -1;
		if (rc > 0) {
			uint64_t at = r->stopped;

			stats->broken++;
			at = at > b->floor ? at : b->floor;
			if (at < f->end && append(b, at, 0) < 0)
				return -1;
		}
		b->floor = f->end;
	}
	return append_gap(b, UINT64_MAX);
}

/* -- The block -- */

static void build_fini(struct build *b)
{
	const struct heap *heap = b->in->heap;

	vec_free(&b->rules, heap);
	vec_free(&b->generals, heap);
	vec_free(&b->pages, heap);
	vec_free(&b->rows, heap);
	vec_free(&b->exprs, heap);
	heap_give(heap, b->hash, b->hash_len * sizeof *b->hash);
}

static int build_init(struct build *b, const struct frames_input *in,
		      uint32_t *n_pages, struct hark_err *err)
{
	uint64_t low, high;
	struct frame_rule *none;

	*b = (struct build){.in = in};
	if (!elf_code_span(in->elf, &low, &high))
		return err_set(err, HARK_ENOENT, 0, "%s: has no code",
			       elf_name(in->elf));
	b->base = low / FRAME_PAGE * FRAME_PAGE;
	b->floor = b->base;
	if ((high - b->base) / FRAME_PAGE >= SPAN_PAGES)
		return err_set(err, HARK_EINPUT, 0,
			       "%s: its code is spread over too much",
			       elf_name(in->elf));
	*n_pages = (uint32_t)((high - b->base) / FRAME_PAGE) + 1;
	none = vec_push(&b->rules, in->heap);
	if (none == NULL)
		return no_memory(in, err);
	memset(none, 0, sizeof *none);
	return hash_grow(b) < 0 ? no_memory(in, err) : 0;
}

/* Pages after the last row begin at its end; one more says where all end. */
static int close_pages(struct build *b, uint32_t n_pages)
{
	while (b->pages.n <= n_pages) {
		uint32_t *first = vec_push(&b->pages, b->in->heap);

		if (first == NULL)
			return -1;
		*first = (uint32_t)b->rows.n;
	}
	return 0;
}

static void *put(void *to, const void *from, size_t len)
{
	if (len > 0)
		memcpy(to, from, len);
	return (char *)to + len;
}

static struct frame_table *flatten(const struct build *b, uint32_t n_pages,
				   const uint8_t *id, size_t id_len)
{
	size_t rules = b->rules.n * sizeof *b->rules.at;
	size_t generals = b->generals.n * sizeof *b->generals.at;
	size_t pages = (n_pages + 1ul) * sizeof *b->pages.at;
	size_t rows = b->rows.n * sizeof *b->rows.at;
	size_t len = sizeof(struct frame_table) + rules + generals + pages +
		     rows + b->exprs.n;
	struct frame_table *t = heap_take(b->in->heap, len);
	void *to;

	if (t == NULL)
		return NULL;
	*t = (struct frame_table){
	    .magic = FRAME_MAGIC,
	    .version = FRAME_VERSION,
	    .id_len = (uint16_t)(id_len < FRAME_ID_MAX ? id_len : FRAME_ID_MAX),
	    .len = len,
	    .base = b->base,
	    .n_pages = n_pages,
	    .n_rows = (uint32_t)b->rows.n,
	    .n_rules = (uint32_t)b->rules.n,
	    .n_general = (uint32_t)b->generals.n,
	    .expr_len = (uint32_t)b->exprs.n,
	};
	put(t->id, id, t->id_len);
	to = put(t + 1, b->rules.at, rules);
	to = put(to, b->generals.at, generals);
	to = put(to, b->pages.at, pages);
	to = put(to, b->rows.at, rows);
	put(to, b->exprs.at, b->exprs.n);
	t->sum = frame_table_sum(t);
	return t;
}

int frames_build(const struct frames_input *in, const uint8_t *id,
		 size_t id_len, struct frame_table **out,
		 struct frames_stats *stats, struct hark_err *err)
{
	struct frames_stats counted = {0};
	struct frames_list fdes = {0};
	struct frame_table *t = NULL;
	struct build b;
	uint32_t n_pages = 0;
	int rc = build_init(&b, in, &n_pages, err);

	if (rc < 0 || (rc = frames_collect(in, &fdes, &counted, err)) < 0)
		goto out;
	rc = -1;
	if (run_all(&b, &fdes, &counted) < 0 || close_pages(&b, n_pages) < 0 ||
	    (t = flatten(&b, n_pages, id, id_len)) == NULL) {
		no_memory(in, err);
		goto out;
	}
	counted.dropped = b.dropped;
	*stats = counted;
	*out = t;
	rc = 0;
out:
	vec_free(&fdes, in->heap);
	build_fini(&b);
	return rc;
}
