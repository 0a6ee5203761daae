/* site/survey.c - follows the code of every function, once.
 *
 * A function is followed from its entry along all direct branches, as a
 * processor would. What is left between (targets of jump tables, landing pads
 * of exceptions, code behind calls that never return) is decoded in a line,
 * and believed only if the line ends exactly where the next known instruction
 * starts, and nothing in it is read as data.
 *
 * Jump tables as compilers write them for position-independent code (a table
 * of 32-bit distances from its own begin, whose address an lea takes) are read
 * as far as their entries stay within the function. Where a table ends is not
 * known, and what stands behind it may look like more of it: so its entries
 * are targets, but no proof that an instruction starts there.
 *
 * A stripped file does not name all of its functions, and call-frame rules may
 * end in the middle of one (glibc's clone3, where the child has no caller).
 * Code outside of all known functions is followed from where known code calls
 * it, jumps to it, or falls through to it. What is left there (functions that
 * are called through pointers) is decoded in a line, but believed only from
 * where on the line is the same wherever it begins: for nobody says where it
 * does.
 *
 * What an lea names is data, as a rule: a table, or a constant between the
 * functions. It is code if the register is jumped through before anything else
 * is done with it, and if what is there can be followed. */
#include "site/survey_priv.h"

#include "image/image.h"
#include "image/symbols.h"
#include "site/hooks.h"

#include <stdlib.h>
#include <string.h>

enum { TABLE_MAX = 4096, TABLES_MAX = 64, LABELS_MAX = 64, NEAR = 16 };

/* The walk over one function. */
struct walk {
	struct survey *s; /* borrowed */
	uint64_t start, end;
	uint64_t *todo; /* owned */
	size_t n, room;
	uint64_t table[TABLES_MAX]; /* addresses that an lea took */
	unsigned n_tables;
	uint64_t label[LABELS_MAX]; /* the same, to jump there: not looked at */
	unsigned n_labels;
	bool jumps_indirectly, failed;
	bool is_gap;   /* no known function, perhaps several unknown ones */
	bool is_swept; /* what is looked at is not proved to be code */
};

/* -- Facts -- */

static uint8_t *fact(struct survey *s, uint64_t addr)
{
	return &s->facts[addr - s->start];
}

static bool is_code(const struct survey *s, uint64_t addr)
{
	return addr - s->start < s->len;
}

static void mark(struct survey *s, uint64_t addr, unsigned what)
{
	if (is_code(s, addr))
		*fact(s, addr) |= (uint8_t)what;
}

/* Where more bytes are there than an instruction can have, the decoder need not
 * look how many they are. */
static bool decode_in(const struct survey *s, uint64_t addr, uint64_t end,
		      struct x86_insn *out)
{
	enum { PLENTY = 64 };
	uint64_t left = end - addr;

	return x86_decode(survey_bytes(s, addr),
			  left < PLENTY ? (unsigned)left : PLENTY,
			  out) == X86_OK;
}

/* -- What starts where -- */

static void start(struct survey *s, uint64_t addr, const struct x86_insn *i)
{
	*fact(s, addr) |= SURVEY_START;
	s->shapes[addr - s->start] =
	    (uint8_t)((s->shapes[addr - s->start] & SURVEY_LED) | i->len |
		      (x86_falls_through(i) ? 0 : SURVEY_ENDS));
}

/* Of the instruction that starts there; 0: none. */
static unsigned len_at(const struct survey *s, uint64_t addr)
{
	return survey_at(s, addr) & SURVEY_START
		   ? s->shapes[addr - s->start] & (unsigned)SURVEY_LEN
		   : 0;
}

bool survey_insn(const struct survey *s, uint64_t addr, struct x86_insn *out)
{
	return survey_at(s, addr) & SURVEY_START &&
	       decode_in(s, addr, s->start + s->len, out);
}

uint64_t survey_before(const struct survey *s, uint64_t addr,
		       struct x86_insn *out)
{
	uint64_t found = 0;

	if (survey_at(s, addr) & (SURVEY_TARGET | SURVEY_ENTRY))
		return 0;
	for (unsigned k = 1; k <= X86_MAX_LEN && addr - k >= s->start; k++) {
		if (len_at(s, addr - k) != k)
			continue;
		if (found != 0)
			return 0;
		found = addr - k;
	}
	return found != 0 && survey_insn(s, found, out) ? found : 0;
}

bool survey_is_inside(const struct survey *s, uint64_t addr)
{
	for (unsigned k = 1; k < X86_MAX_LEN && addr - k >= s->start; k++)
		if (len_at(s, addr - k) > k)
			return true;
	return false;
}

/* -- Following -- */

static void later(struct walk *w, uint64_t addr)
{
	uint64_t *more;

	if (addr < w->start || addr >= w->end ||
	    (survey_at(w->s, addr) & (SURVEY_START | SURVEY_SWEPT)) ==
		SURVEY_START)
		return;
	if (w->n == w->room) {
		w->room = w->room ? w->room * 2 : 64;
		more = realloc(w->todo, w->room * sizeof *more);
		if (more == NULL) {
			w->failed = true;
			return;
		}
		w->todo = more;
	}
	w->todo[w->n++] = addr;
}

static bool is_followed(const struct survey *s, uint64_t addr)
{
	return (survey_at(s, addr) & (SURVEY_START | SURVEY_SWEPT)) ==
	       SURVEY_START;
}

/* Known code leads out of the function. Which addresses are in other functions
 * is known when all of them have been followed. */
static void reach(struct walk *w, uint64_t addr)
{
	struct survey_list *l = &w->s->reached;
	uint64_t *more;

	if (w->is_swept || !is_code(w->s, addr) ||
	    survey_at(w->s, addr) & SURVEY_ENTRY || is_followed(w->s, addr))
		return;
	if (l->n == l->room) {
		l->room = l->room ? l->room * 2 : 64;
		more = reallocarray(l->at, l->room, sizeof *more);
		if (more == NULL) {
			w->failed = true;
			return;
		}
		l->at = more;
	}
	l->at[l->n++] = addr;
}

static bool is_lea(const struct x86_insn *i)
{
	return i->space == X86_SPACE_LEGACY && i->opcode == 0x8d;
}

/* Is the register jumped through, from addr on, and used for nothing else
 * before? */
static bool is_jumped_through(const struct walk *w, uint64_t addr, unsigned reg)
{
	struct x86_insn i;

	for (unsigned n = 0; n < NEAR && addr < w->end; n++, addr += i.len) {
		if (!decode_in(w->s, addr, w->end, &i))
			return false;
		if (i.row->flow == X86_JMP_IND || i.row->flow == X86_CALL_IND)
			return !i.is_mem && i.rm == reg;
		if (((i.gpr_read | i.gpr_write) >> reg & 1) ||
		    i.row->flow == X86_CALL || !x86_falls_through(&i))
			return false;
	}
	return false;
}

static void mark_data(struct walk *w, uint64_t addr)
{
	if (is_code(w->s, addr) && !(survey_at(w->s, addr) & SURVEY_ENTRY))
		mark(w->s, addr, SURVEY_DATA);
}

static void note_operand(struct walk *w, const struct x86_insn *i,
			 uint64_t next)
{
	uint64_t addr = next + (uint64_t)i->disp;

	if (!x86_uses_rip(i))
		return;
	if (is_lea(i) && addr >= w->start && addr < w->end &&
	    w->n_labels < LABELS_MAX && is_jumped_through(w, next, i->reg)) {
		w->label[w->n_labels++] = addr;
		return;
	}
	mark_data(w, addr);
	if (is_lea(i) && w->n_tables < TABLES_MAX)
		w->table[w->n_tables++] = addr;
}

/* What one instruction tells; where it may go on is put on the list. */
static void learn(struct walk *w, uint64_t addr, const struct x86_insn *i)
{
	uint64_t next = addr + i->len, target;
	unsigned flow = i->row->flow;

	note_operand(w, i, next);
	if (flow == X86_JMP_IND)
		w->jumps_indirectly = true;
	if (flow == X86_CALL || flow == X86_CALL_IND)
		mark(w->s, next, SURVEY_TARGET);
	if (!x86_is_direct(i))
		return;
	target = x86_target(survey_bytes(w->s, addr), i, addr);
	mark(w->s, target, SURVEY_TARGET);
	if (is_code(w->s, target))
		w->s->shapes[target - w->s->start] |= SURVEY_LED;
	if (target < w->start || target >= w->end)
		reach(w, target);
	else if (flow != X86_CALL || w->is_gap)
		later(w, target);
}

/* A call at the end of a function may be one that never returns. */
static bool surely_falls_through(const struct x86_insn *i)
{
	return x86_falls_through(i) && i->row->flow != X86_CALL &&
	       i->row->flow != X86_CALL_IND;
}

/* A call over data: what stands behind it is not returned to, its address is
 * popped at the target. */
static bool is_over_data(struct walk *w, uint64_t addr,
			 const struct x86_insn *call)
{
	uint64_t next = addr + call->len, target;
	struct x86_insn i;

	if (call->row->flow != X86_CALL)
		return false;
	target = x86_target(survey_bytes(w->s, addr), call, addr);
	if (target <= next || target >= w->end ||
	    !decode_in(w->s, target, w->end, &i) ||
	    i.space != X86_SPACE_LEGACY || (i.opcode & 0xf8) != 0x58)
		return false;
	mark_data(w, next);
	later(w, target);
	return true;
}

/* A system call that does not return: hand-written programs end so, and have
 * their constants behind it. */
static bool is_last_call(const struct survey *s, uint64_t addr,
			 const struct x86_insn *i)
{
	enum { SIGRETURN = 15, EXIT = 60, EXIT_GROUP = 231 };
	int64_t number;

	if (i->row->flow != X86_SYSCALL)
		return false;
	number = hooks_number(s, addr);
	return number == SIGRETURN || number == EXIT || number == EXIT_GROUP;
}

/* Is the instruction behind this one executed after it? */
static bool goes_on(struct walk *w, uint64_t addr, const struct x86_insn *i)
{
	if (!x86_falls_through(i) || is_over_data(w, addr, i) ||
	    is_last_call(w->s, addr, i))
		return false;
	return !w->s->is_strict ||
	       !(survey_at(w->s, addr + i->len) & SURVEY_DATA);
}

static void follow(struct walk *w, uint64_t addr)
{
	struct x86_insn i;

	while (addr >= w->start && addr < w->end) {
		uint8_t *f = fact(w->s, addr);

		if ((*f & (SURVEY_START | SURVEY_SWEPT)) == SURVEY_START ||
		    !decode_in(w->s, addr, w->end, &i))
			return;
		*f &= (uint8_t)~SURVEY_SWEPT;
		start(w->s, addr, &i);
		learn(w, addr, &i);
		if (!goes_on(w, addr, &i))
			return;
		addr += i.len;
		if (addr >= w->end && surely_falls_through(&i))
			reach(w, addr);
	}
}

static void follow_all(struct walk *w)
{
	while (w->n > 0)
		follow(w, w->todo[--w->n]);
}

/* -- Labels -- */

/* Can addr be followed, as far as the line goes, without a contradiction to
 * what is known? */
static bool is_line(const struct walk *w, uint64_t addr)
{
	struct x86_insn i;

	do {
		if (survey_at(w->s, addr) & SURVEY_START)
			return true;
		if (addr >= w->end || survey_is_inside(w->s, addr) ||
		    !decode_in(w->s, addr, w->end, &i))
			return false;
		for (unsigned k = 0; k < i.len; k++)
			if (survey_at(w->s, addr + k) & SURVEY_DATA ||
			    (k > 0 && survey_at(w->s, addr + k) & SURVEY_START))
				return false;
		addr += i.len;
	} while (x86_falls_through(&i));
	return true;
}

/* When all else that can be followed is known. */
static void follow_labels(struct walk *w)
{
	while (w->n_labels > 0) {
		uint64_t addr = w->label[--w->n_labels];

		if (!is_line(w, addr)) {
			mark_data(w, addr);
			continue;
		}
		mark(w->s, addr, SURVEY_TARGET);
		later(w, addr);
		follow_all(w);
	}
}

/* -- Jump tables -- */

static void read_table(struct walk *w, uint64_t table)
{
	for (unsigned k = 0; k < TABLE_MAX; k++) {
		uint64_t target, at = table + 4ull * k;
		int32_t entry;

		if (w->s->read == NULL ||
		    w->s->read(w->s->ctx, at, &entry, sizeof entry) <
			sizeof entry)
			return;
		target = table + (uint64_t)(int64_t)entry;
		if (target < w->start || target >= w->end)
			return;
		mark(w->s, target, SURVEY_TARGET);
	}
}

/* Who knows the address of an instruction may jump there. */
static void read_tables(struct walk *w)
{
	for (unsigned k = 0; k < w->n_tables; k++)
		if ((survey_at(w->s, w->table[k]) &
		     (SURVEY_START | SURVEY_SWEPT)) == SURVEY_START)
			mark(w->s, w->table[k], SURVEY_TARGET);
	for (unsigned k = 0; w->jumps_indirectly && k < w->n_tables; k++)
		read_table(w, w->table[k]);
}

/* -- The rest -- */

static bool is_padding_insn(const struct survey *s, uint64_t addr,
			    const struct x86_insn *i)
{
	return i->row->special == X86_NOP || i->row->flow == X86_INT3 ||
	       (i->len == 2 && survey_bytes(s, addr)[0] == 0x66 &&
		survey_bytes(s, addr)[1] == 0x90);
}

/* Does decoding from addr in a line arrive exactly at end? */
static bool line_fits(const struct survey *s, uint64_t addr, uint64_t end)
{
	struct x86_insn i;

	while (addr < end) {
		if (!decode_in(s, addr, end, &i))
			return false;
		for (unsigned k = 0; k < i.len; k++)
			if (survey_at(s, addr + k) & SURVEY_DATA)
				return false;
		addr += i.len;
	}
	return true;
}

static void sweep_line(struct walk *w, uint64_t addr, uint64_t end)
{
	struct x86_insn i;

	w->is_swept = true;
	for (; addr < end && decode_in(w->s, addr, end, &i); addr += i.len) {
		*fact(w->s, addr) |= SURVEY_SWEPT;
		start(w->s, addr, &i);
		learn(w, addr, &i);
	}
	w->is_swept = false;
}

static void sweep(struct walk *w)
{
	uint64_t addr = w->start, gap;

	while (addr < w->end) {
		unsigned len = len_at(w->s, addr);

		if (len > 0) {
			addr += len;
			continue;
		}
		for (gap = addr; addr < w->end; addr++)
			if (survey_at(w->s, addr) & SURVEY_START)
				break;
		if (line_fits(w->s, gap, addr))
			sweep_line(w, gap, addr);
	}
}

static int end_walk(struct walk *w, struct hark_err *err)
{
	free(w->todo);
	return w->failed ? err_set(err, HARK_ENOMEM, 0, "out of memory") : 0;
}

int survey_function(struct survey *s, uint64_t start, uint64_t end,
		    struct hark_err *err)
{
	struct walk w = {.s = s, .start = start, .end = end};

	if (!is_code(s, start) || end <= start || end - s->start > s->len)
		return 0;
	for (uint64_t a = start; a < end; a++)
		*fact(s, a) |= SURVEY_INSIDE;
	mark(s, start, SURVEY_ENTRY);
	follow(&w, start);
	follow_all(&w);
	follow_labels(&w);
	if (!s->is_strict)
		sweep(&w);
	follow_all(&w);
	follow_labels(&w);
	read_tables(&w);
	return end_walk(&w, err);
}

/* -- Code outside of known functions -- */

static const struct survey_gap *gap_at(const struct survey_gap *gap, size_t n,
				       uint64_t addr)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (gap[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && gap[low].start <= addr ? &gap[low] : NULL;
}

static int follow_gap(struct survey *s, const struct survey_gap *gap,
		      uint64_t addr, struct hark_err *err)
{
	struct walk w = {
	    .s = s, .start = gap->start, .end = gap->end, .is_gap = true};

	follow(&w, addr);
	follow_all(&w);
	follow_labels(&w);
	read_tables(&w);
	return end_walk(&w, err);
}

int survey_reach(struct survey *s, uint64_t addr, struct hark_err *err)
{
	struct walk w = {.s = s};

	reach(&w, addr);
	return end_walk(&w, err);
}

/* The function around an address, if that was looked at. What has no size ends
 * at the next symbol, and there may be other functions in between. */
static bool find_function(const struct survey *s, uint64_t addr,
			  struct survey_gap *out)
{
	uint64_t start = addr, end = addr + 1;

	if (!(survey_at(s, addr) & SURVEY_INSIDE))
		return false;
	while (start > s->start && survey_at(s, start - 1) & SURVEY_INSIDE &&
	       !(survey_at(s, start) & SURVEY_ENTRY))
		start--;
	while ((survey_at(s, end) & (SURVEY_INSIDE | SURVEY_ENTRY)) ==
	       SURVEY_INSIDE)
		end++;
	*out = (struct survey_gap){start, end};
	return true;
}

/* All that is reached; the list grows meanwhile. */
static int follow_reached(struct survey *s, const struct survey_gap *gap,
			  size_t n, struct hark_err *err)
{
	s->is_strict = true;
	for (size_t i = 0; i < s->reached.n; i++) {
		uint64_t addr = s->reached.at[i];
		const struct survey_gap *g = gap_at(gap, n, addr);
		struct survey_gap around;

		if (is_followed(s, addr))
			continue;
		if (g == NULL && !find_function(s, addr, &around))
			continue;
		if (follow_gap(s, g != NULL ? g : &around, addr, err) < 0)
			return -1;
	}
	s->reached.n = 0;
	return 0;
}

/* Zeros fill up to the next page, and are no code that a compiler makes. What
 * an lea names may be a function where nothing falls through to it. */
static bool may_be_code(const struct survey *s, uint64_t addr, uint64_t end)
{
	bool may_begin = true;
	struct x86_insn i;

	for (; addr < end; addr += i.len) {
		if (!decode_in(s, addr, end, &i) ||
		    (survey_bytes(s, addr)[0] == 0 &&
		     survey_bytes(s, addr)[1] == 0))
			return false;
		for (unsigned k = 0; k < i.len; k++)
			if (survey_at(s, addr + k) & SURVEY_DATA &&
			    (k > 0 || !may_begin))
				return false;
		may_begin = !surely_falls_through(&i) ||
			    (may_begin && is_padding_insn(s, addr, &i));
	}
	return true;
}

/* The first instruction that decoding from addr and decoding from `other` have
 * in common; addr if what is at `other` cannot be decoded up to there. */
static uint64_t meet(const struct survey *s, uint64_t addr, uint64_t other,
		     uint64_t end)
{
	uint64_t first = addr;
	struct x86_insn i;

	while (addr != other) {
		uint64_t *lower = addr < other ? &addr : &other;

		if (!decode_in(s, *lower, end, &i))
			return lower == &other ? first : end;
		*lower += i.len;
	}
	return addr;
}

/* It is not known whether an instruction begins at addr. Decoding from each of
 * the next bytes arrives at the same instructions after a while: these are
 * right wherever the first one begins. */
static uint64_t where_lines_meet(const struct survey *s, uint64_t addr,
				 uint64_t end)
{
	uint64_t last = addr;

	for (unsigned k = 1; k < X86_MAX_LEN && addr + k < end; k++) {
		uint64_t at = meet(s, addr, addr + k, end);

		last = at > last ? at : last;
	}
	return last;
}

/* What is left between known instructions, if it is no padding. */
static void sweep_unknown(struct walk *w, uint64_t addr, uint64_t end)
{
	if (may_be_code(w->s, addr, end))
		sweep_line(w, where_lines_meet(w->s, addr, end), end);
}

/* Functions that are called through pointers only, and those that are never
 * called. */
static int sweep_between(struct survey *s, const struct survey_gap *gap,
			 struct hark_err *err)
{
	struct walk w = {
	    .s = s, .start = gap->start, .end = gap->end, .is_gap = true};
	uint64_t addr = gap->start, from;

	while (addr < gap->end) {
		unsigned len = len_at(s, addr);

		if (len > 0) {
			addr += len;
			continue;
		}
		for (from = addr; addr < gap->end; addr++)
			if (survey_at(s, addr) & SURVEY_START)
				break;
		sweep_unknown(&w, from, addr);
	}
	follow_all(&w);
	follow_labels(&w);
	read_tables(&w);
	return end_walk(&w, err);
}

int survey_follow_gaps(struct survey *s, const struct survey_gap *gap, size_t n,
		       struct hark_err *err)
{
	if (follow_reached(s, gap, n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (sweep_between(s, &gap[i], err) < 0)
			return -1;
	return 0;
}

/* -- Padding -- */

/* Bytes behind an instruction that does not fall through, as far as they are
 * filling and nothing is known to lead there. */
static void pad(struct survey *s, uint64_t addr)
{
	uint64_t end = s->start + s->len;
	struct x86_insn i;

	while (addr < end && decode_in(s, addr, end, &i) &&
	       is_padding_insn(s, addr, &i)) {
		if ((survey_at(s, addr) & (SURVEY_START | SURVEY_SWEPT)) ==
		    SURVEY_START)
			return;
		for (unsigned k = 0; k < i.len; k++)
			if (survey_at(s, addr + k) &
			    (SURVEY_TARGET | SURVEY_DATA | SURVEY_ENTRY))
				return;
		for (unsigned k = 0; k < i.len; k++)
			mark(s, addr + k, SURVEY_PAD);
		addr += i.len;
	}
}

void survey_padding_in(struct survey *s, uint64_t start, uint64_t end)
{
	for (uint64_t a = start; a < end; a++)
		if (s->shapes[a - s->start] & SURVEY_ENDS)
			pad(s, a + len_at(s, a));
}

void survey_padding(struct survey *s)
{
	survey_padding_in(s, s->start, s->start + s->len);
}

/* -- The whole -- */

void survey_free(struct survey *s)
{
	if (s == NULL)
		return;
	free(s->bytes);
	free(s->facts);
	free(s->shapes);
	free(s->reached.at);
	free(s->barred);
	free(s);
}

/* With room for bytes; NULL with err. */
static struct survey *survey_new(uint64_t start, uint64_t len,
				 struct hark_err *err)
{
	struct survey *s = calloc(1, sizeof *s);

	if (s != NULL) {
		s->start = start;
		s->len = len;
		s->bytes = calloc(len + X86_MAX_LEN, 1);
		s->facts = calloc(len + X86_MAX_LEN, 1);
		s->shapes = calloc(len + X86_MAX_LEN, 1);
	}
	if (s == NULL || s->bytes == NULL || s->facts == NULL ||
	    s->shapes == NULL) {
		survey_free(s);
		err_set(err, HARK_ENOMEM, 0, "out of memory");
		return NULL;
	}
	return s;
}

int survey_of_bytes(const uint8_t *bytes, uint64_t start, uint64_t len,
		    struct survey **out, struct hark_err *err)
{
	struct survey *s = survey_new(start, len, err);

	if (s == NULL)
		return -1;
	memcpy(s->bytes, bytes, len);
	*out = s;
	return 0;
}

static size_t read_file(void *ctx, uint64_t addr, void *out, size_t len)
{
	size_t got = 0;

	if (image_file_read(ctx, addr, out, len, &got, NULL) < 0)
		return 0;
	return got;
}

static int fill(struct survey *s, struct image_file *f, struct hark_err *err)
{
	uint64_t at = 0;
	size_t got;

	while (at < s->len) {
		if (image_file_read(f, s->start + at, s->bytes + at,
				    s->len - at, &got, err) < 0)
			return -1;
		at += got ? got : 1; /* nothing is loaded there */
	}
	return 0;
}

struct tour {
	struct survey *s;     /* borrowed */
	struct hark_err *err; /* borrowed */
};

static int mark_entry(void *ctx, const struct symbol *y)
{
	struct tour *t = ctx;

	if (y->kind != SYMBOL_LABEL)
		mark(t->s, y->addr, SURVEY_ENTRY);
	return 0;
}

static int look_at(void *ctx, const struct symbol *y)
{
	struct tour *t = ctx;

	if (y->kind == SYMBOL_LABEL)
		return 0;
	t->s->is_strict = survey_is_strict(y);
	return survey_function(t->s, y->addr, y->addr + y->size, t->err);
}

int survey_read(struct image_file *f, struct survey **out, struct hark_err *err)
{
	struct survey *s;
	uint64_t low, high;

	if (!image_file_code_span(f, &low, &high) || high - low > 1u << 30)
		return err_set(err, HARK_EINPUT, 0, "%s: no code in it",
			       image_file_path(f));
	s = survey_new(low, high - low, err);
	if (s == NULL)
		return -1;
	s->read = read_file;
	s->ctx = f;
	if (fill(s, f, err) < 0) {
		survey_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

/* All that is part of no function; owned by the caller. */
static int list_gaps(const struct survey *s, struct survey_gap **out, size_t *n,
		     struct hark_err *err)
{
	struct survey_gap *gap = NULL, *more;
	size_t room = 0;

	*n = 0;
	for (uint64_t k = 0, end; k < s->len; k = end + 1) {
		for (end = k; end < s->len; end++)
			if (s->facts[end] & SURVEY_INSIDE)
				break;
		if (end == k)
			continue;
		if (*n == room) {
			room = room ? room * 2 : 64;
			more = reallocarray(gap, room, sizeof *more);
			if (more == NULL) {
				free(gap);
				return err_set(err, HARK_ENOMEM, 0,
					       "out of memory");
			}
			gap = more;
		}
		gap[(*n)++] = (struct survey_gap){s->start + k, s->start + end};
	}
	*out = gap;
	return 0;
}

static int look_outside(struct survey *s, struct image_file *f,
			struct hark_err *err)
{
	struct survey_gap *gap = NULL;
	size_t n;
	int rc;

	if (survey_reach(s, image_file_entry(f), err) < 0)
		return -1;
	rc = list_gaps(s, &gap, &n, err) < 0
		 ? -1
		 : survey_follow_gaps(s, gap, n, err);
	free(gap);
	return rc;
}

static int each_of_all(struct image_file *f,
		       int (*visit)(void *ctx, const struct symbol *y),
		       void *ctx, struct hark_err *err)
{
	return symbols_each(f, NULL, visit, ctx, err);
}

static int look_at_each(struct survey *s, struct image_file *f,
			survey_each *each, struct hark_err *err)
{
	struct tour t = {.s = s, .err = err};

	if (each(f, mark_entry, &t, err) < 0 || each(f, look_at, &t, err) < 0 ||
	    survey_labels(s, f, each, err) < 0 || look_outside(s, f, err) < 0)
		return -1;
	survey_padding(s);
	return 0;
}

int survey_functions(struct survey *s, struct image_file *f,
		     struct hark_err *err)
{
	return look_at_each(s, f, each_of_all, err);
}

int survey_functions_own(struct survey *s, struct image_file *f,
			 struct hark_err *err)
{
	return look_at_each(s, f, symbols_each_own, err);
}

void survey_forget(struct survey *s)
{
	memset(s->facts, 0, s->len);
	memset(s->shapes, 0, s->len);
	s->reached.n = 0;
	free(s->barred);
	s->barred = NULL;
}

int survey_of_file(struct image_file *f, struct survey **out,
		   struct hark_err *err)
{
	struct survey *s = NULL;

	if (survey_read(f, &s, err) < 0 || s == NULL)
		return -1;
	if (survey_functions(s, f, err) < 0) {
		survey_free(s);
		return -1;
	}
	*out = s;
	return 0;
}
