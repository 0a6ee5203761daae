/* tests/unit/engine_cache_test.c - regions, blocks, links and the table. */
#include "engine/cache.h"

#include "engine/translate.h"
#include "engine_bench.h"
#include "inside/sys.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { MIB = 1 << 20, TARGETS = 8, GAP = 64 };
static const uint64_t home = 0x300000000000, elsewhere = 0x7a0000000000;

static struct engine *e;
static struct cache *c;
static struct bench_place place, other;

static void open_engine(void)
{
	e = bench_engine(0);
	c = e->cache;
}

/* Code: TARGETS times "jcc to the next; jmp to the first", GAP bytes apart. */
static void write_code(const struct bench_place *p)
{
	for (unsigned i = 0; i < TARGETS; i++) {
		uint8_t *at = p->code + (size_t)GAP * i;

		memcpy(at, (const uint8_t[]){0x74, GAP - 2, 0xe9}, 3);
		memcpy(at + 3, &(int32_t){-(int32_t)(GAP * i) - 7}, 4);
	}
}

static void open_code(void)
{
	open_engine();
	place = bench_place_at(home);
	other = bench_place_at(elsewhere);
	write_code(&place);
	write_code(&other);
}

static uint64_t pc_of(unsigned i)
{
	return (uint64_t)place.code + (uint64_t)GAP * i;
}

static uint32_t make(uint64_t pc, unsigned kind, unsigned indirect)
{
	struct translate_how how = {.pc = pc,
				    .limit = pc + GAP,
				    .kind = (uint8_t)kind,
				    .indirect = (uint8_t)indirect};
	uint32_t number = translate(e, &how);

	ck_assert_uint_ne(0, number);
	return number;
}

/* A block that is only known by its name. */
static uint32_t make_name(uint64_t pc)
{
	uint32_t number = pool_add(&c->blocks);
	struct block *b;

	if (number == 0)
		ck_abort_msg("no memory");
	b = cache_block(c, number);
	b->pc = pc;
	b->indirect = 0x1000 + number;
	b->state = BLOCK_LIVE;
	cache_insert(c, number);
	return number;
}

/* -- Regions --------------------------------------------------------------- */

static void check_region(uint64_t pc)
{
	const struct region *r = cache_region(e, pc, 4096);
	int64_t first, last;

	if (!r)
		ck_abort_msg("no region for %#lx", pc);
	first = (int64_t)(r->base - pc);
	last = (int64_t)(r->base + r->size - pc);
	if (first != (int32_t)first || last != (int32_t)last)
		ck_abort_msg("%#lx is out of reach of %#lx", pc, r->base);
	ck_assert_uint_ge(r->cold - r->hot, 4096);
	ck_assert_ptr_eq(r, cache_region(e, pc, 4096));
}

/* Its shadow, and the memory that it gives out. */
static int is_sanitizers(uint64_t pc)
{
	return BENCH_SHADOW && ((pc >= 0x10000000 && pc < 0x100100000000) ||
				(pc >= 0x5fff00000000 && pc < 0x640100000000));
}

START_TEST(code_anywhere_finds_a_region_within_reach)
{
	static const uint64_t pcs[] = {
	    0x10000,	    0x400000,	    0x7fffffff,
	    0x80000000,	    0xffffffff,	    0x100000000,
	    0x555555554000, 0x7ffff7fc0000, 0x7ffffffff000 - 4096};
	uint64_t seed = 7;

	open_engine();
	if (BENCH_SHADOW)
		fprintf(stderr, "# engine_cache: skipped code from 256 MiB to "
				"16 TiB and around 98 TiB: that is the "
				"sanitizer's\n");
	for (unsigned i = 0; i < sizeof pcs / sizeof pcs[0]; i++)
		if (!is_sanitizers(pcs[i]))
			check_region(pcs[i]);
	for (unsigned i = 0; i < 40; i++) {
		uint64_t pc = bench_random(&seed) >> 17;

		if (!is_sanitizers(pc))
			check_region(pc);
	}
}
END_TEST

static void occupy(uint64_t from, uint64_t to)
{
	void *got = mmap((void *)from, to - from, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
			     MAP_FIXED_NOREPLACE,
			 -1, 0);

	ck_assert_ptr_eq((void *)from, got);
}

/* All within reach is taken but for a hole that may be too small. */
START_TEST(a_region_fits_into_the_only_hole_there_is)
{
	static const uint64_t sizes[] = {64ull * MIB, 16ull * MIB, 1ull * MIB,
					 MIB / 2};
	const uint64_t pc = home;
	uint64_t hole = pc + 0x300ull * MIB;
	struct region *r;

	open_engine();
	occupy(pc - 0x800ull * MIB, hole);
	occupy(hole + sizes[_i], pc + 0x800ull * MIB);
	r = cache_region(e, pc, 4096);
	if (sizes[_i] < MIB) {
		ck_assert_ptr_null(r);
	} else {
		ck_assert_ptr_nonnull(r);
		ck_assert_uint_eq(hole, r->base);
		ck_assert_uint_eq(sizes[_i], r->size);
		ck_assert_uint_eq(r->base + r->size, r->cold);
	}
}
END_TEST

START_TEST(a_full_region_is_followed_by_another)
{
	struct region *r, *next;

	open_engine();
	r = cache_region(e, home, 4096);
	r->hot = r->cold - 4095;
	next = cache_region(e, home, 4096);
	ck_assert_ptr_ne(r, next);
	ck_assert_ptr_nonnull(next);
	ck_assert_uint_eq(2, c->n_regions);
}
END_TEST

START_TEST(a_region_contains_its_first_and_last_byte)
{
	const struct region *r;

	open_engine();
	ck_assert(!cache_contains(c, home));
	r = cache_region(e, home, 4096);
	ck_assert(cache_contains(c, r->base));
	ck_assert(cache_contains(c, r->base + r->size - 1));
	ck_assert(!cache_contains(c, r->base - 1));
	ck_assert(!cache_contains(c, r->base + r->size));
}
END_TEST

/* -- The index ------------------------------------------------------------- */

enum { NAMES = 20000 };
static uint64_t names[NAMES];
static uint32_t numbers[NAMES];

static void check_found(unsigned from, unsigned step)
{
	for (unsigned i = from; i < NAMES; i += step)
		if (cache_find(c, names[i]) != numbers[i])
			ck_abort_msg("%#lx is %u, should be %u", names[i],
				     cache_find(c, names[i]), numbers[i]);
}

START_TEST(blocks_are_found_by_their_pc_until_they_are_killed)
{
	uint64_t seed = 3;

	open_engine();
	ck_assert_uint_eq(0, cache_find(c, 0));
	for (unsigned i = 0; i < NAMES; i++) {
		/* some of them close together, as in a program */
		names[i] = i % 4 ? names[i - 1] + 1 + i % 7
				 : bench_random(&seed) >> 17;
		numbers[i] = make_name(names[i]);
	}
	ck_assert_uint_gt(c->n_slots, 2 * NAMES);
	check_found(0, 1);
	for (unsigned i = 0; i < NAMES; i += 2) {
		cache_kill(c, numbers[i]);
		cache_kill(c, numbers[i]); /* once more does nothing */
		numbers[i] = 0;
	}
	check_found(0, 1);
	for (unsigned i = 0; i < NAMES; i += 4)
		numbers[i] = make_name(names[i]);
	check_found(0, 1);
}
END_TEST

/* Code that changes again and again must not fill the index with the dead. */
START_TEST(the_dead_do_not_make_the_index_grow)
{
	uint64_t seed = 5;

	open_engine();
	for (unsigned i = 0; i < NAMES; i++)
		cache_kill(c, make_name(bench_random(&seed) >> 17));
	ck_assert_uint_le(c->n_slots, 1 << 13);
	ck_assert_uint_lt(c->n_hashed, c->n_slots);
}
END_TEST

/* -- Addresses in the cache ------------------------------------------------ */

START_TEST(a_block_is_found_by_each_byte_of_its_code)
{
	uint32_t made[TARGETS];

	open_code();
	for (unsigned i = 0; i < TARGETS; i++)
		made[i] = make(pc_of(i), BLOCK_LIVE, i % 2);
	for (unsigned i = 0; i < TARGETS; i++) {
		struct block *b = cache_block(c, made[i]);

		ck_assert_uint_gt(b->len, 0);
		for (uint64_t at = b->start; at < b->start + b->len; at++)
			ck_assert_ptr_eq(b, cache_block_at(c, at));
		ck_assert_ptr_ne(b, cache_block_at(c, b->start - 1));
		ck_assert_ptr_ne(b, cache_block_at(c, b->start + b->len));
		ck_assert_uint_ge(b->entry, b->start);
	}
}
END_TEST

START_TEST(there_is_no_block_elsewhere)
{
	struct region *r;

	open_code();
	ck_assert_ptr_null(cache_block_at(c, home));
	r = cache_region(e, pc_of(0), 4096);
	ck_assert_ptr_null(cache_block_at(c, r->base + 64));
	make(pc_of(0), BLOCK_LIVE, 1);
	ck_assert_ptr_null(cache_block_at(c, r->base));
	ck_assert_ptr_null(cache_block_at(c, r->hot));
	ck_assert_ptr_null(cache_block_at(c, r->cold));
	ck_assert_ptr_null(cache_block_at(c, r->base + r->size - 1));
	ck_assert_ptr_null(cache_block_at(c, r->base - 1));
	ck_assert_ptr_null(cache_block_at(c, 0));
}
END_TEST

/* -- Links ----------------------------------------------------------------- */

/* Where the exit's rel32 leads. */
static uint64_t leads_to(uint32_t number)
{
	const struct exit *x = cache_exit(c, number);
	int32_t rel;

	memcpy(&rel, (const void *)x->site, 4);
	return x->site + 4 + (uint64_t)(int64_t)rel;
}

/* The n-th exit to target, from 1. */
static uint32_t exit_to(uint64_t target, unsigned n)
{
	for (uint32_t i = 1; i <= c->exits.n; i++)
		if (cache_exit(c, i)->target == target && --n == 0)
			return i;
	ck_abort_msg("no exit to %#lx", target);
	return 0;
}

START_TEST(an_exit_leads_to_its_stub_until_it_is_linked)
{
	uint32_t a, b, x;

	open_code();
	a = make(pc_of(0), BLOCK_LIVE, 0);
	b = make(pc_of(1), BLOCK_LIVE, 0);
	x = exit_to(pc_of(1), 1);
	ck_assert_uint_eq(cache_exit(c, x)->stub, leads_to(x));
	ck_assert_uint_eq(0, cache_exit(c, x)->site / 8 * 8 -
				 (cache_exit(c, x)->site + 3) / 8 * 8);
	ck_assert_int_eq(0, cache_link(c, x, b));
	ck_assert_uint_eq(cache_block(c, b)->entry, leads_to(x));
	ck_assert_int_eq(0, cache_link(c, x, b)); /* again: no change */
	ck_assert_uint_eq(x, cache_block(c, b)->incoming);
	ck_assert_uint_eq(0, cache_exit(c, x)->next);
	cache_kill(c, a); /* its own exits stay as they are */
	ck_assert_uint_eq(cache_block(c, b)->entry, leads_to(x));
	cache_kill(c, b);
	ck_assert_uint_eq(cache_exit(c, x)->stub, leads_to(x));
	ck_assert_uint_eq(0, cache_exit(c, x)->linked);
}
END_TEST

START_TEST(killing_a_block_cuts_every_link_to_it_and_no_other)
{
	uint32_t first, last;

	open_code();
	first = make(pc_of(0), BLOCK_LIVE, 0);
	for (unsigned i = 1; i < TARGETS; i++)
		last = make(pc_of(i), BLOCK_LIVE, 0);
	for (unsigned i = 1; i <= TARGETS; i++)
		ck_assert_int_eq(0, cache_link(c, exit_to(pc_of(0), i), first));
	ck_assert_int_eq(0,
			 cache_link(c, exit_to(pc_of(TARGETS - 1), 1), last));
	cache_kill(c, first);
	for (unsigned i = 1; i <= TARGETS; i++) {
		uint32_t x = exit_to(pc_of(0), i);

		ck_assert_uint_eq(cache_exit(c, x)->stub, leads_to(x));
	}
	ck_assert_uint_eq(cache_block(c, last)->entry,
			  leads_to(exit_to(pc_of(TARGETS - 1), 1)));
	first = make(pc_of(0), BLOCK_LIVE, 0);
	ck_assert_int_eq(0, cache_link(c, exit_to(pc_of(0), 3), first));
	ck_assert_uint_eq(cache_block(c, first)->entry,
			  leads_to(exit_to(pc_of(0), 3)));
}
END_TEST

START_TEST(what_is_dead_or_out_of_reach_is_not_linked)
{
	uint32_t x, dead, far;

	open_code();
	make(pc_of(0), BLOCK_LIVE, 0);
	x = exit_to(pc_of(1), 1);
	dead = make(pc_of(1), BLOCK_LIVE, 0);
	cache_kill(c, dead);
	far = make((uint64_t)other.code, BLOCK_LIVE, 0);
	ck_assert_int_eq(-1, cache_link(c, x, dead));
	ck_assert_int_eq(-1, cache_link(c, x, far));
	ck_assert_uint_eq(cache_exit(c, x)->stub, leads_to(x));
}
END_TEST

/* -- The table ------------------------------------------------------------- */

static uint64_t entry_for(uint64_t pc)
{
	return c->table[pc & *c->table_mask];
}

START_TEST(what_is_published_is_found_until_it_is_killed)
{
	uint32_t a, b;

	open_engine();
	ck_assert_uint_eq(c->miss_entry, entry_for(0x1234));
	a = make_name(0x1234);
	cache_publish(c, cache_block(c, a));
	ck_assert_uint_eq(cache_block(c, a)->indirect, entry_for(0x1234));
	b = make_name(0x1234 + (1ull << 40)); /* the same place */
	cache_publish(c, cache_block(c, b));
	ck_assert_uint_eq(cache_block(c, b)->indirect, entry_for(0x1234));
	cache_kill(c, a); /* which is not there any more */
	ck_assert_uint_eq(cache_block(c, b)->indirect, entry_for(0x1234));
	cache_kill(c, b);
	ck_assert_uint_eq(c->miss_entry, entry_for(0x1234));
}
END_TEST

/* C1: each entry is the miss, or that of a living block that belongs there. */
static void check_table(const uint32_t *made, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct block *b = cache_block(c, made[i]);
		uint64_t is = entry_for(b->pc);
		uint32_t owner = (uint32_t)(is - 0x1000);

		if (is == c->miss_entry || is == b->indirect)
			continue;
		if ((cache_block(c, owner)->pc ^ b->pc) & *c->table_mask ||
		    cache_block(c, owner)->state != BLOCK_LIVE)
			ck_abort_msg("entry of %#lx is %#lx", b->pc, is);
	}
}

static unsigned n_published(const uint32_t *made, unsigned n)
{
	unsigned found = 0;

	for (unsigned i = 0; i < n; i++)
		found += entry_for(cache_block(c, made[i])->pc) ==
			 cache_block(c, made[i])->indirect;
	return found;
}

START_TEST(the_table_grows_and_keeps_what_is_in_it)
{
	enum { N = 6000 };
	uint64_t seed = 9, mask;

	open_engine();
	mask = *c->table_mask;
	for (unsigned i = 0; i < N; i++) {
		numbers[i] = make_name(bench_random(&seed) >> 17);
		cache_publish(c, cache_block(c, numbers[i]));
	}
	check_table(numbers, N);
	if (c->by_pext)
		ck_assert_uint_gt(*c->table_mask, mask);
	ck_assert_uint_eq((1ull << c->table_bits) - 1, *c->table_mask);
	/* A quarter full at most, so few have lost their place. */
	ck_assert_uint_gt(n_published(numbers, N), N * 8 / 10);
	for (unsigned i = 0; i < N; i++)
		cache_kill(c, numbers[i]);
	/* No thread, with the mask of whatever time, finds a dead one. */
	for (uint64_t i = 0; i < 1ull << c->table_bits; i++)
		if (c->table[i] != c->miss_entry)
			ck_abort_msg("entry %lu is not empty", i);
}
END_TEST

START_TEST(two_blocks_that_displace_each_other_make_the_table_grow)
{
	struct block *a, *b;

	open_engine();
	if (!c->by_pext) {
		fprintf(stderr, "# engine_cache: skipped the table's growth: "
				"this CPU has no fast pext\n");
		return;
	}
	a = cache_block(c, make_name(0x40001234));
	b = cache_block(c, make_name(0x40001234 + *c->table_mask + 1));
	for (unsigned i = 0; i < 100 && c->table_bits < 18; i++)
		cache_publish(c, i % 2 ? a : b);
	cache_publish(c, a);
	cache_publish(c, b);
	ck_assert_uint_eq(a->indirect, entry_for(a->pc));
	ck_assert_uint_eq(b->indirect, entry_for(b->pc));
}
END_TEST

START_TEST(a_block_gets_its_indirect_entry_when_it_is_needed)
{
	struct block *b;

	open_code();
	b = cache_block(c, make(pc_of(0), BLOCK_LIVE, 0));
	ck_assert_uint_eq(0, b->indirect);
	ck_assert_uint_eq(b->start, b->entry);
	ck_assert_int_eq(0, translate_indirect(e, b));
	ck_assert_uint_ne(0, b->indirect);
	ck_assert_uint_eq(pc_of(0), cache_block_at(c, b->indirect)->pc);
	ck_assert_uint_eq(1, cache_find(c, pc_of(0))); /* not the lead */
	b = cache_block(c, make(pc_of(1), BLOCK_LIVE, 1));
	ck_assert_uint_ge(b->indirect, b->start);
	ck_assert_uint_lt(b->indirect, b->entry);
}
END_TEST

/* -- Emptying -------------------------------------------------------------- */

START_TEST(after_a_flush_there_is_nothing_and_all_can_be_made_anew)
{
	struct vcpu *v;
	struct block *b;
	uint64_t start, hot;
	uint32_t x;

	open_code();
	v = bench_vcpu(e);
	hot = cache_region(e, pc_of(0), 4096)->hot;
	b = cache_block(c, make(pc_of(0), BLOCK_LIVE, 1));
	cache_publish(c, b);
	make(pc_of(1), BLOCK_LIVE, 0);
	start = b->start;
	ck_assert_uint_gt(c->used, 0);
	v->enter = 1; /* the caller's own does not count */
	ck_assert_int_eq(0, cache_flush(e, v));
	ck_assert_uint_eq(0, cache_find(c, pc_of(0)));
	ck_assert_uint_eq(0, cache_find(c, pc_of(1)));
	ck_assert_ptr_null(cache_block_at(c, start));
	ck_assert_uint_eq(c->miss_entry, entry_for(pc_of(0)));
	ck_assert_uint_eq(0, c->used);
	ck_assert_uint_eq(1, c->generation);
	ck_assert_uint_eq(1, e->run->stats.flushes);
	ck_assert_uint_eq(hot, cache_region(e, pc_of(0), 4096)->hot);
	b = cache_block(c, make(pc_of(1), BLOCK_LIVE, 1));
	ck_assert_uint_eq(start, b->start); /* the memory is used again */
	ck_assert_ptr_eq(b, cache_block_at(c, start));
	x = exit_to(pc_of(2), 1);
	ck_assert_uint_eq(cache_exit(c, x)->stub, leads_to(x));
	ck_assert_uint_eq(0, b->incoming);
}
END_TEST

START_TEST(nothing_is_flushed_while_another_thread_is_inside)
{
	struct vcpu *v, *inside;
	uint32_t a, x;

	open_code();
	v = bench_vcpu(e);
	inside = bench_vcpu(e);
	inside->enter = 1;
	a = make(pc_of(0), BLOCK_LIVE, 1);
	x = exit_to(pc_of(0), 1);
	ck_assert_int_eq(0, cache_link(c, x, a));
	cache_publish(c, cache_block(c, a));
	ck_assert_int_eq(-1, cache_flush(e, v));
	ck_assert_uint_eq(a, cache_find(c, pc_of(0)));
	ck_assert_uint_eq(BLOCK_LIVE, cache_block(c, a)->state);
	ck_assert_uint_eq(0, c->generation);
	/* But whoever is inside comes out at the next branch. */
	ck_assert_uint_eq(cache_exit(c, x)->stub, leads_to(x));
	ck_assert_uint_eq(c->miss_entry, entry_for(pc_of(0)));
	ck_assert_int_eq(0, cache_link(c, x, a));
	ck_assert_uint_eq(cache_block(c, a)->entry, leads_to(x));
	inside->enter = 0;
	ck_assert_int_eq(0, cache_flush(e, v));
}
END_TEST

static TCase *regions(void)
{
	TCase *t = tcase_create("regions");

	tcase_add_test(t, code_anywhere_finds_a_region_within_reach);
	tcase_add_loop_test(t, a_region_fits_into_the_only_hole_there_is, 0, 4);
	tcase_add_test(t, a_full_region_is_followed_by_another);
	tcase_add_test(t, a_region_contains_its_first_and_last_byte);
	return t;
}

static TCase *blocks(void)
{
	TCase *t = tcase_create("blocks");

	tcase_add_test(t, blocks_are_found_by_their_pc_until_they_are_killed);
	tcase_add_test(t, the_dead_do_not_make_the_index_grow);
	tcase_add_test(t, a_block_is_found_by_each_byte_of_its_code);
	tcase_add_test(t, there_is_no_block_elsewhere);
	tcase_add_test(t, an_exit_leads_to_its_stub_until_it_is_linked);
	tcase_add_test(t, killing_a_block_cuts_every_link_to_it_and_no_other);
	tcase_add_test(t, what_is_dead_or_out_of_reach_is_not_linked);
	return t;
}

Suite *engine_cache_suite(void)
{
	Suite *s = suite_create("engine_cache");
	TCase *t = tcase_create("table");

	tcase_add_test(t, what_is_published_is_found_until_it_is_killed);
	tcase_add_test(t, the_table_grows_and_keeps_what_is_in_it);
	tcase_add_test(t,
		       two_blocks_that_displace_each_other_make_the_table_grow);
	tcase_add_test(t, a_block_gets_its_indirect_entry_when_it_is_needed);
	tcase_add_test(t,
		       after_a_flush_there_is_nothing_and_all_can_be_made_anew);
	tcase_add_test(t, nothing_is_flushed_while_another_thread_is_inside);
	suite_add_tcase(s, regions());
	suite_add_tcase(s, blocks());
	suite_add_tcase(s, t);
	return s;
}
