/* tests/unit/unwind_map_test.c - samples are walks, whatever memory holds.
 *
 * A stack of a made-up program: its code is a table of rules of every kind, its
 * memory an array. Calls are made and left at random, with stale frames
 * between live ones, frames of any size, signals, words overwritten; and after
 * each of these a sample must be what a walk gives. What kinds of steps have
 * been met is counted: a test that met none would prove nothing. */
#include "unwind_self.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum {
	WORDS = 8192, /* of the stack; the outermost frame is at its end */
	RULES = 64,
	ROWS = 256,
	ROW = 16, /* bytes of code */
	DEEP = UNWIND_SELF_DEEP,
	CACHED_GENERATIONS = 1 << 12, /* ORDER unwind_cache */
};

#define BIAS	  0x7f0000000000ull
#define LINKED_AT 0x10000ull
#define CODE	  (BIAS + LINKED_AT)
#define STACK	  0x7ffe00000000ull

static struct {
	uint64_t unused; /* 0 is no offset of a table */
	struct frame_table table;
	struct frame_rule rule[RULES];
	struct frame_general general[1];
	uint32_t page[2];
	struct frame_row row[ROWS];
	uint8_t expr[8];
	uint32_t block[ROWS * ROW / COLLECT_BLOCK + 1];
} code;

static uint64_t memory[WORDS];
static uint64_t low_end; /* words below it cannot be read */
static struct collect_frames frames[1];
static struct unwind_space space;
static struct unwind_maps *maps;
static struct unwind_frame walked[DEEP];
static struct unwind_last last;

static struct {
	long samples, kept, skipped, frames, kinds[FRAME_KINDS], guesses,
	    ends[4], deep, islands, trusted;
} met;

/* What was there at the last look, if anybody looks. */
static struct {
	uint64_t was[WORDS], was_low_end;
	uint32_t page; /* words; 0: nobody does */
	struct unwind_calm calm;
} look;

static uint64_t seed;

static uint32_t any(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % n);
}

static bool read_stack(void *ctx, uint64_t at, void *out, uint32_t len)
{
	(void)ctx;
	if (at - CODE < sizeof code.row * 4 && len <= 16) {
		memset(out, 0xe8, len); /* every place is behind a call */
		return true;
	}
	if (at < STACK + low_end || at > STACK + sizeof memory - len)
		return false;
	memcpy(out, (const uint8_t *)memory + (at - STACK), len);
	return true;
}

/* -- Code -- */

/* A word of the frame, but for the return address. */
static int16_t any_saved(int words)
{
	if (any(20) == 0)
		return FRAME_LOST;
	return words > 1 && any(2) == 0 ? (int16_t) - (2 + any(words - 1))
					: FRAME_KEPT;
}

static struct frame_rule any_rule(void)
{
	struct frame_rule r = {.kind = FRAME_REG, .reg = FRAME_RSP};
	int words = 1 + (int)any(any(6) == 0 ? 40 : 12);

	for (int i = 0; i < FRAME_SAVED_RIP; i++)
		r.saved[i] = any_saved(words);
	if (r.saved[0] == r.saved[FRAME_SAVED_RBP])
		r.saved[0] = FRAME_KEPT;
	r.saved[FRAME_SAVED_RIP] = -1;
	r.cfa = 8 * words;
	switch (any(24)) {
	case 0:
		r.kind = FRAME_DEREF;
		r.reg = FRAME_RBP;
		r.cfa = -8;
		r.flags = FRAME_AT_RBP;
		r.saved[FRAME_SAVED_RBP] = 0;
		break;
	case 1:
		r.kind = FRAME_CONTEXT;
		r.cfa = 40;
		r.flags = FRAME_SIGNAL;
		break;
	case 2:
		r.reg = FRAME_RBX;
		break;
	case 3:
		r.kind = FRAME_GENERAL;
		r.cfa = 0;
		break;
	case 4:
		r.kind = FRAME_NONE;
		break;
	case 5:
		r.kind = FRAME_PLT;
		r.cfa = 11;
		break;
	case 6 ... 13:
		r.reg = FRAME_RBP;
		r.cfa = 16;
		r.saved[0] = any(2) == 0 ? -3 : FRAME_KEPT;
		r.saved[FRAME_SAVED_RBP] = -2;
		break;
	default:
		break;
	}
	return r;
}

/* CFA = rsp + 32 + (rbx & 8), to need what quick steps do not know. */
static void make_general(void)
{
	static const uint8_t expr[] = {0x77, 32, 0x73, 0, 0x38, 0x1a, 0x22};
	struct frame_general *g = &code.general[0];

	memcpy(code.expr, expr, sizeof expr);
	g->cfa.how = FRAME_VAL_EXPR;
	g->cfa.expr_len = sizeof expr;
	g->reg[FRAME_RIP].how = FRAME_OFFSET;
	g->reg[FRAME_RIP].value = -8;
	g->reg[FRAME_RBX].how = FRAME_OFFSET;
	g->reg[FRAME_RBX].value = -24;
	g->reg[FRAME_RBP].how = FRAME_SAME;
}

static void make_code(void)
{
	struct hark_err err = {0};

	memset(&code, 0, sizeof code);
	for (int i = 1; i < RULES; i++)
		code.rule[i] = any_rule();
	code.rule[RULES - 1] = (struct frame_rule){
	    .kind = FRAME_REG, .reg = FRAME_RSP, .flags = FRAME_END};
	make_general();
	for (uint32_t i = 0; i < ROWS; i++)
		code.row[i] = (struct frame_row){
		    (uint16_t)(i * ROW), (uint16_t)(1 + any(RULES - 2))};
	code.row[0].rule = RULES - 1; /* where all begins */
	for (uint32_t i = 0; i < sizeof code.block / 4; i++)
		code.block[i] = i * COLLECT_BLOCK / ROW;
	code.page[1] = ROWS;
	code.table = (struct frame_table){.magic = FRAME_MAGIC,
					  .version = FRAME_VERSION,
					  .base = LINKED_AT,
					  .n_pages = 1,
					  .n_rows = ROWS,
					  .n_rules = RULES,
					  .n_general = 1,
					  .expr_len = sizeof code.expr};
	code.table.len = offsetof(__typeof__(code), block) -
			 offsetof(__typeof__(code), table);
	ck_assert_msg(
	    frame_table_check(&code.table, code.table.len, false, &err) == 0,
	    "%s", err.text);
}

static const struct frame_rule *rule_at(uint64_t pc)
{
	return &code.rule[code.row[(pc - CODE) / ROW].rule];
}

/* -- A program that calls at random -- */

struct level {
	uint64_t pc, sp, rbp, rbx;
};
static struct level level[DEEP];
static uint32_t n_levels;

static void poke(uint64_t at, uint64_t value)
{
	if (at - STACK < sizeof memory)
		memcpy((uint8_t *)memory + (at - STACK), &value, 8);
}

/* Odd things happen once in so many times. */
static uint32_t mildness;

/* A return address whose rule is of some kind that a compiler would make; any
 * kind at all now and then. */
static uint64_t any_pc(void)
{
	for (;;) {
		uint64_t pc = CODE + ROW + any((ROWS - 1) * ROW);
		const struct frame_rule *r = rule_at(pc - 1);

		if ((r->kind == FRAME_REG && r->reg != FRAME_RBX &&
		     r->saved[FRAME_SAVED_RBP] != FRAME_LOST) ||
		    any(mildness) == 0)
			return pc;
	}
}

/* The frame of the code at pc, below the last one. */
static void call(uint64_t pc)
{
	const struct level *up = &level[n_levels - 1];
	struct level *l = &level[n_levels];
	const struct frame_rule *r = rule_at(pc - 1);
	uint64_t cfa = up->sp;

	*l = *up;
	l->pc = pc;
	poke(cfa - 8, up->pc);
	for (int i = 0; i < 2; i++)
		if (r->kind == FRAME_REG && r->saved[i] < 0)
			poke(cfa + (uint64_t)(r->saved[i] * 8l),
			     i == 0 ? up->rbx : up->rbp);
	l->sp = cfa - (uint64_t)r->cfa;
	if (r->kind == FRAME_REG && r->reg == FRAME_RBP) {
		l->rbp = cfa - 16;
		l->sp = cfa - 24 - 8 * any(20);
	} else if (r->kind == FRAME_REG && r->reg == FRAME_RBX) {
		l->rbx = cfa - (uint64_t)r->cfa;
		l->sp = l->rbx - 8 * any(20);
	} else if (r->kind == FRAME_DEREF) {
		l->rbp = cfa - 48;
		poke(l->rbp - 8, cfa);
		poke(l->rbp, up->rbp);
		l->sp = l->rbp - 32;
	} else if (r->kind == FRAME_GENERAL) {
		l->sp = cfa - 32 - (up->rbx & 8);
		poke(cfa - 24, up->rbx);
		l->rbx = up->rbx;
	} else if (r->kind == FRAME_CONTEXT) {
		static const uint8_t at[] = {10, 11, 15, 16};
		uint64_t base = cfa - 400;

		l->sp = base;
		poke(base + 40 + at[0] * 8, up->rbp);
		poke(base + 40 + at[1] * 8, up->rbx);
		poke(base + 40 + at[2] * 8, up->sp);
		poke(base + 40 + at[3] * 8, up->pc - 1);
	} else if (r->kind == FRAME_NONE || r->kind == FRAME_PLT) {
		l->sp = cfa - 16;
		if (any(2) == 0) {
			l->rbp = cfa - 16;
			poke(cfa - 16, up->rbp);
		}
	}
	if (r->kind == FRAME_REG && r->reg == FRAME_RSP &&
	    r->saved[FRAME_SAVED_RBP] < 0)
		l->rbp = any(1000); /* an ordinary register to most */
	n_levels++;
}

static void begin_program(void)
{
	n_levels = 1;
	level[0] = (struct level){CODE + 4, STACK + sizeof memory - 64, 0, 0};
}

static void change_program(void)
{
	uint32_t back = any(25) == 0 ? any(n_levels) : any(6);
	uint32_t forth = any(3) == 0 ? back : any(back + 6);

	n_levels -= back < n_levels ? back : n_levels - 1;
	for (uint32_t i = 0; i < forth; i++)
		if (n_levels < DEEP - 100 &&
		    level[n_levels - 1].sp > STACK + 8192)
			call(any_pc());
	if (any(mildness) == 0) /* damage */
		memory[WORDS - 1 - any(WORDS / 2)] =
		    any(2) == 0 ? any_pc()
				: STACK + 8ul * (WORDS - any(WORDS / 2));
	if (any(mildness) == 0) { /* another site in the middle */
		uint32_t i = any(n_levels);

		if (i + 1 < n_levels)
			poke(level[i].sp - 8, any_pc());
	}
}

/* -- Samples -- */

static void note_kinds(const struct unwind_sample *got)
{
	met.samples++;
	met.frames += got->depth;
	met.kept += got->kept;
	met.skipped += got->depth - got->walked;
	met.trusted += got->trusted;
	met.ends[got->end]++;
	met.guesses += got->worst >= UNWIND_LINK;
	met.deep += got->depth > 100;
	met.islands += got->kept + got->walked + 4 < got->depth;
	for (uint32_t i = 0; i < got->depth; i++)
		if (walked[i].pc - CODE - 1 < ROWS * ROW - 1)
			met.kinds[rule_at(walked[i].pc - 1)->kind]++;
}

static struct frame_cpu cpu_now(void)
{
	const struct level *top = &level[n_levels - 1];
	struct frame_cpu cpu = {.known = (1u << FRAME_REGS) - 1,
				.exact = any(2) == 0};

	cpu.reg[FRAME_RIP] = top->pc - cpu.exact;
	cpu.reg[FRAME_RSP] = top->sp;
	cpu.reg[FRAME_RBP] = top->rbp;
	cpu.reg[FRAME_RBX] = top->rbx;
	if (any(50) == 0)
		cpu.known = 1u << FRAME_RSP | 1u << FRAME_RIP;
	return cpu;
}

static struct unwind_check check_again(const struct frame_cpu *cpu,
				       const struct unwind_sample *got)
{
	struct unwind_space plain = space;
	struct unwind_check check;

	plain.cache = NULL;
	unwind_check(&plain, maps, got, cpu, &check);
	return check;
}

/* A page that was not there then or is not there now is not calm. */
static bool is_calm_page(uint32_t k)
{
	return k * 8ul >= low_end && k * 8ul >= look.was_low_end &&
	       memcmp(&memory[k], &look.was[k], look.page * 8ul) == 0;
}

/* Some looks find nothing out; of some only a part is known. */
static void look_at_pages(void)
{
	struct unwind_calm *c = &look.calm;

	space.calm = NULL;
	if (look.page == 0 || any(20) == 0)
		return;
	space.calm = c;
	c->look++;
	c->n = 0;
	for (uint32_t k = 0; k < WORDS && c->n < UNWIND_CALMS; k += look.page) {
		const uint64_t at = STACK + k * 8ul;

		if (!is_calm_page(k))
			continue;
		if (c->n == 0 || c->range[c->n - 1].to != at)
			c->range[c->n++] = (struct unwind_range){at, at};
		c->range[c->n - 1].to = at + look.page * 8ul;
	}
	memcpy(look.was, memory, sizeof memory);
	look.was_low_end = low_end;
}

/* What was kept is what was there. */
static void check_sample(uint32_t max_depth)
{
	struct frame_cpu cpu = cpu_now();
	struct unwind_sample got;
	enum unwind_end end;
	uint32_t n;

	look_at_pages();
	n = unwind_walk(&space, &cpu, walked, max_depth, &end);
	unwind_sample(&space, maps, &cpu, &got);
	ck_assert_msg(unwind_self_same(maps, &got, walked, n, end),
		      "sample %ld: %u frames, end %d; walked: %u, end %d",
		      met.samples, got.depth, got.end, n, end);
	ck_assert_msg(unwind_self_kept(&last, &got, walked),
		      "sample %ld: not what was kept", met.samples);
	ck_assert(!check_again(&cpu, &got).differs);
	note_kinds(&got);
}

static void setup(void)
{
	memset(&met, 0, sizeof met);
	memset(&last, 0, sizeof last);
	memset(&look, 0, sizeof look);
	space = (struct unwind_space){.code = frames,
				      .n_code = 1,
				      .base = (const uint8_t *)&code,
				      .generation = 1,
				      .cache = calloc(1, unwind_cache_size()),
				      .read = read_stack};
	frames[0] = (struct collect_frames){CODE, CODE + ROWS * ROW, BIAS,
					    offsetof(__typeof__(code), table),
					    offsetof(__typeof__(code), block)};
	low_end = 0;
}

static void teardown(void)
{
	free(space.cache);
	free(maps);
}

static void run_program(uint64_t from, long n, uint32_t max_depth)
{
	seed = from;
	maps = unwind_self_maps(max_depth);
	for (uint32_t i = 0; i < WORDS; i++)
		memory[i] = 0;
	make_code();
	begin_program();
	for (long i = 0; i < n; i++) {
		if (any(1000) == 0)
			begin_program();
		if (i % 1000 == 0)
			mildness = i % 2000 == 0 ? 10 : 400;
		change_program();
		low_end = any(100) == 0 ? 8ul * any(WORDS) : 0;
		if (any(1000) == 0) {
			make_code();
			space.generation++;
			begin_program();
		}
		if (any(2000) == 0) {
			unwind_maps_forget(maps);
			memset(&last, 0, sizeof last);
		}
		check_sample(max_depth);
	}
}

/* An empty slot of the cache is no rule, not even of a pc that is nearly 0, in
 * a generation that is. */
START_TEST(an_empty_slot_is_no_rule)
{
	static const uint64_t generations[] = {0, 1, CACHED_GENERATIONS,
					       3 * CACHED_GENERATIONS};
	struct unwind_space plain;
	struct frame_cpu cpu;
	enum unwind_end end, end_plain;
	uint32_t n, wrong = 0;

	make_code();
	begin_program();
	mildness = UINT32_MAX;
	call(any_pc());
	call(any_pc());
	cpu = cpu_now();
	cpu.exact = false;
	space.generation = generations[_i];
	plain = space;
	plain.cache = NULL;
	for (uint64_t pc = 1; pc < 70000; pc++) {
		poke(level[1].sp - 8, pc);
		n = unwind_walk(&space, &cpu, walked, DEEP, &end);
		wrong +=
		    n >= 4 ||
		    n != unwind_walk(&plain, &cpu, walked, DEEP, &end_plain) ||
		    end != end_plain;
	}
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

static uint64_t hash_of(uint32_t n, enum unwind_end end)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < n; i++)
		hash = unwind_mix(hash, unwind_word(walked[i]));
	return unwind_mix(hash, end);
}

/* A sample that was right, and a walk of what has changed since. */
static void damage_and_check(void)
{
	static struct unwind_frame before[DEEP];
	struct frame_cpu cpu = cpu_now();
	struct unwind_sample got;
	struct unwind_check c;
	enum unwind_end end;
	uint32_t n, same = 0;

	unwind_sample(&space, maps, &cpu, &got);
	for (uint32_t i = 0; i < got.depth; i++)
		before[i] = unwind_at(maps, got.map, got.depth - 1 - i);
	poke(level[any(n_levels)].sp - 8, any_pc());
	n = unwind_walk(&space, &cpu, walked, DEEP, &end);
	while (same < n && same < got.depth &&
	       before[same].pc == walked[same].pc &&
	       before[same].how == walked[same].how)
		same++;
	c = check_again(&cpu, &got);
	ck_assert_uint_eq(c.depth, n);
	ck_assert_uint_eq(c.end, end);
	ck_assert_uint_eq(c.hash, hash_of(n, end));
	ck_assert(c.differs ==
		  (same < n || same < got.depth || got.end != end));
	if (!c.differs)
		return;
	met.samples++;
	ck_assert_uint_eq(c.at, same);
	ck_assert_uint_eq(c.walked[0],
			  same < n ? unwind_word(walked[same]) : 0);
	ck_assert_uint_eq(c.has[0],
			  same < got.depth ? unwind_word(before[same]) : 0);
	if (same > 0)
		ck_assert_uint_eq(c.pc, before[same - 1].pc);
}

START_TEST(a_check_sees_each_difference)
{
	seed = 77;
	space.scan = 256;
	mildness = 400;
	maps = unwind_self_maps(DEEP);
	make_code();
	for (int i = 0; i < 3000; i++) {
		begin_program();
		for (int k = 0; k < 40; k++)
			change_program();
		damage_and_check();
	}
	ck_assert_int_gt(met.samples, 1000);
}
END_TEST

START_TEST(samples_are_walks)
{
	space.scan = 256;
	run_program(0x9e3779b97f4a7c15 + (uint64_t)_i, 30000, DEEP);
	ck_assert_int_gt(met.kept, met.frames / 8);
	for (int i = FRAME_REG; i < FRAME_KINDS; i++)
		ck_assert_msg(met.kinds[i] > 100, "%ld of kind %d",
			      met.kinds[i], i);
	ck_assert_int_gt(met.ends[UNWIND_OUTERMOST], 500);
	ck_assert_int_gt(met.ends[UNWIND_UNREADABLE], 5);
	ck_assert_int_gt(met.guesses, 100);
	ck_assert_int_gt(met.deep, 100);
	ck_assert_int_gt(met.islands, 100);
}
END_TEST

/* Pages that nobody has written are not looked at, and it makes no difference.
 * A page of one word is calm wherever a word is. */
START_TEST(samples_of_calm_memory_are_walks)
{
	look.page = 1u << (2 * _i);
	run_program(77 + (uint64_t)_i, 30000, DEEP);
	ck_assert_int_gt(met.trusted, met.samples);
	ck_assert_int_gt(met.islands, 0);
}
END_TEST

/* The map of a look before the last one is compared: meanwhile that was written
 * which was calm since. */
START_TEST(only_the_map_of_the_last_look_is_trusted)
{
	mildness = UINT32_MAX;
	look.page = 16;
	maps = unwind_self_maps(DEEP);
	make_code();
	begin_program();
	for (int i = 0; i < 3000; i++) {
		change_program();
		check_sample(DEEP);
		if (any(3) != 0)
			continue;
		/* A look that no sample of this stack has seen. */
		if (n_levels > 8)
			poke(level[n_levels - 4].sp - 8, any_pc());
		look_at_pages();
	}
	ck_assert_int_gt(met.trusted, 0);
}
END_TEST

START_TEST(samples_without_guesses_are_walks)
{
	run_program(0x1234 + (uint64_t)_i, 30000, DEEP);
	ck_assert_int_gt(met.ends[UNWIND_LOST], 500);
}
END_TEST

START_TEST(samples_of_few_frames_are_walks)
{
	run_program(0x77 + (uint64_t)_i, 30000, 40);
	ck_assert_int_gt(met.ends[UNWIND_DEEP], 500);
}
END_TEST

START_TEST(samples_need_no_cache)
{
	free(space.cache);
	space.cache = NULL;
	run_program(0x99, 5000, DEEP);
	ck_assert_int_gt(met.kept, met.frames / 8);
}
END_TEST

static void call_anew(uint32_t depth)
{
	begin_program();
	while (n_levels < depth)
		call(any_pc());
}

/* Where all has changed, again and again, the map is not looked at for a while;
 * once the program is calm it is soon found out, and all is exact before and
 * after. */
START_TEST(samples_that_keep_little_are_walks)
{
	uint32_t most = 0;

	seed = 0x4321;
	mildness = UINT32_MAX;
	maps = unwind_self_maps(DEEP);
	for (int round = 0; round < 200; round++) {
		uint32_t in_vain = 0;
		long skipped;

		if (round % 10 == 0)
			make_code();
		space.generation += round % 10 == 0;
		for (uint32_t i = any(40); i > 0; i--) {
			call_anew(60);
			check_sample(DEEP);
		}
		do {
			skipped = met.skipped;
			change_program();
			check_sample(DEEP);
		} while (met.skipped == skipped && ++in_vain < 100);
		most = in_vain > most ? in_vain : most;
		for (uint32_t i = any(20); i > 0; i--) {
			change_program();
			check_sample(DEEP);
		}
	}
	ck_assert_uint_gt(most, 4);
	ck_assert_uint_lt(most, 20);
}
END_TEST

/* Of shallow stacks few frames stay, and those are told, though all of them are
 * walked: to follow so few would cost more. */
START_TEST(few_frames_that_stay_are_told)
{
	seed = 0x5678;
	mildness = UINT32_MAX;
	maps = unwind_self_maps(DEEP);
	make_code();
	call_anew(7);
	for (int i = 0; i < 200; i++) {
		if (i == 20)
			memset(&met, 0, sizeof met);
		n_levels = 7;
		while (n_levels < 17)
			call(any_pc());
		check_sample(DEEP);
	}
	ck_assert_int_ge(met.kept, 5 * met.samples);
	ck_assert_int_lt(met.skipped, 3 * met.samples);
}
END_TEST

/* A rule that has changed is not remembered, however often that happens. */
START_TEST(a_cache_is_of_one_generation)
{
	maps = unwind_self_maps(DEEP);
	seed = 5;
	for (int i = 0; i < 10000; i++) {
		struct unwind_frame out[2];
		struct frame_cpu cpu = {.known = (1u << FRAME_REGS) - 1,
					.exact = true};
		struct unwind_sample got;
		enum unwind_end end;
		int words = 1 + i % 37;

		if (i % 1000 == 0)
			make_code();
		for (int r = 1; r < RULES; r++)
			code.rule[r] = (struct frame_rule){
			    .cfa = 8 * words,
			    .kind = FRAME_REG,
			    .reg = FRAME_RSP,
			    .saved = {[0 ... 5] = FRAME_KEPT, [6] = -1}};
		for (int k = 0; k < 100; k++)
			memory[k] = CODE + 1000 + (uint64_t)k;
		memory[words - 1 + words] = 0;
		cpu.reg[FRAME_RIP] = CODE + 500;
		cpu.reg[FRAME_RSP] = STACK;
		space.generation += i % 3 == 0 ? 4096 : 1;
		ck_assert_uint_eq(unwind_walk(&space, &cpu, out, 2, &end), 2);
		ck_assert_uint_eq(out[1].pc, memory[words - 1]);
		unwind_sample(&space, maps, &cpu, &got);
		ck_assert_uint_eq(got.depth, 2);
		ck_assert_uint_eq(got.kept, 0);
		ck_assert_uint_eq(unwind_at(maps, got.map, 0).pc, out[1].pc);
		memory[words - 1 + words] = 1;
	}
}
END_TEST

Suite *unwind_map_suite(void)
{
	Suite *s = suite_create("unwind_map");
	TCase *c = tcase_create("unwind_map");

	tcase_set_timeout(c, 60);
	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, a_check_sees_each_difference);
	tcase_add_loop_test(c, an_empty_slot_is_no_rule, 0, 4);
	tcase_add_loop_test(c, samples_are_walks, 0, 4);
	tcase_add_loop_test(c, samples_of_calm_memory_are_walks, 0, 4);
	tcase_add_test(c, only_the_map_of_the_last_look_is_trusted);
	tcase_add_loop_test(c, samples_without_guesses_are_walks, 0, 2);
	tcase_add_loop_test(c, samples_of_few_frames_are_walks, 0, 2);
	tcase_add_test(c, samples_that_keep_little_are_walks);
	tcase_add_test(c, few_frames_that_stay_are_told);
	tcase_add_test(c, samples_need_no_cache);
	tcase_add_test(c, a_cache_is_of_one_generation);
	suite_add_tcase(s, c);
	return s;
}
