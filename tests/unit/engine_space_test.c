/* tests/unit/engine_space_test.c - guest memory that is code: S1 of space.h. */
#include "engine/space.h"

#include "engine/block.h"
#include "engine_bench.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 64, STEPS = 3000 };

static struct engine *e;
static struct vcpu *v;
static uint8_t *arena; /* PAGES of them, mapped with all rights */
static int zero = -1;

static void open_space(void)
{
	e = bench_engine(0);
	v = bench_vcpu(e);
	bench_open();
	arena =
	    mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(MAP_FAILED, arena);
	memset(arena, 0x90, (size_t)PAGES * PAGE);
	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(zero, 0);
}

static uint64_t page(unsigned n)
{
	return (uint64_t)arena + (uint64_t)n * PAGE;
}

/* Asked of the kernel: the byte becomes 0 if it is. */
static int is_writable(uint64_t address)
{
	ssize_t got = read(zero, (void *)address, 1);

	ck_assert(got == 1 || errno == EFAULT);
	return got == 1;
}

static struct translate_how prepare(uint64_t pc)
{
	struct translate_how how = {.pc = pc};

	ck_assert_int_eq(0, space_prepare(e, &how));
	return how;
}

/* A block at pc, made as the dispatcher makes one. */
static struct block *make(uint64_t pc)
{
	struct translate_how how = prepare(pc);
	uint32_t number = translate(e, &how);

	ck_assert_uint_ne(0, number);
	ck_assert_int_eq(0, space_cover(e, number));
	ck_assert_uint_eq(number, cache_find(e->cache, pc));
	return cache_block(e->cache, number);
}

/* -- Ranges ---------------------------------------------------------------- */

/* The naive model: of each page, which addition it belongs to. */
static unsigned owner[PAGES], flags_of[PAGES];

static uint64_t end_of_range(unsigned n)
{
	unsigned end = n;

	while (end < PAGES && owner[end] == owner[n])
		end++;
	return page(end);
}

static void check_page(unsigned n, uint64_t offset)
{
	struct translate_how how = {.pc = page(n) + offset, .limit = 1};
	int rc = space_prepare(e, &how);

	if (rc != (owner[n] ? 0 : -1))
		ck_abort_msg("page %u: %d", n, rc);
	if (rc < 0)
		return;
	if (how.limit != end_of_range(n))
		ck_abort_msg("page %u ends at %#lx, should be %#lx", n,
			     how.limit, end_of_range(n));
	if (how.kind !=
	    (flags_of[n] & SPACE_SHARED ? BLOCK_CHECKED : BLOCK_LIVE))
		ck_abort_msg("page %u is of kind %u", n, how.kind);
}

static void change(unsigned from, unsigned to, unsigned number, unsigned flags)
{
	/* Anything within the page is the page. */
	uint64_t start = page(from) + number % PAGE;
	uint64_t end = page(to) - number % 77;

	if (number != 0)
		space_add(e, start, end, flags);
	else
		space_forget(e, start, end);
	for (unsigned i = from; i < to; i++) {
		owner[i] = number;
		flags_of[i] = flags;
	}
}

START_TEST(ranges_in_any_order_are_what_a_table_of_pages_says)
{
	uint64_t seed = 11;

	open_space();
	for (unsigned i = 1; i < STEPS; i++) {
		unsigned from = (unsigned)(bench_random(&seed) % PAGES);
		unsigned len = 1 + (unsigned)(bench_random(&seed) % 20);
		unsigned to = from + len < PAGES ? from + len : PAGES;
		unsigned n = (unsigned)(bench_random(&seed) % PAGES);

		change(from, to, bench_random(&seed) % 3 ? i : 0,
		       bench_random(&seed) % 2 ? SPACE_SHARED : 0);
		check_page(n, bench_random(&seed) % PAGE);
		if (i % 50 == 0)
			for (n = 0; n < PAGES; n++)
				check_page(n, 0);
	}
}
END_TEST

START_TEST(there_is_room_for_many_ranges)
{
	enum { MANY = 5000 };
	const uint64_t base = 0x100000000000;
	struct translate_how how = {0};

	open_space();
	for (uint64_t i = 0; i < MANY; i++)
		space_add(e, base + 2 * i * PAGE, base + (2 * i + 1) * PAGE, 0);
	for (uint64_t i = 0; i < MANY; i++) {
		how.pc = base + 2 * i * PAGE;
		ck_assert_int_eq(0, space_prepare(e, &how));
		ck_assert_uint_eq(how.pc + PAGE, how.limit);
		how.pc += PAGE;
		ck_assert_int_eq(-1, space_prepare(e, &how));
	}
	space_forget(e, base + PAGE, base + 2ull * MANY * PAGE);
	how.pc = base;
	ck_assert_int_eq(0, space_prepare(e, &how));
	how.pc = base + 4ull * PAGE;
	ck_assert_int_eq(-1, space_prepare(e, &how));
}
END_TEST

START_TEST(nothing_is_nothing)
{
	struct translate_how how = {.pc = page(1)};

	open_space();
	how.pc = page(1);
	space_add(e, page(1), page(1), 0);
	ck_assert_int_eq(-1, space_prepare(e, &how));
	space_add(e, page(1), page(2), 0);
	space_forget(e, page(1), page(1));
	ck_assert_int_eq(0, space_prepare(e, &how));
}
END_TEST

START_TEST(code_that_ran_natively_is_code_that_may_change)
{
	struct translate_how how = {0};

	open_space();
	space_add(e, page(5), page(6), 0);
	space_learn(e, page(3) + 77, space_now(e));
	space_learn(e, page(5) + 77, space_now(e)); /* known already */
	ck_assert_uint_eq(BLOCK_CHECKED, prepare(page(3)).kind);
	ck_assert_uint_eq(page(4), prepare(page(3)).limit);
	ck_assert_uint_eq(BLOCK_LIVE, prepare(page(5)).kind);
	space_learn(e, 0xffffffffff600000, space_now(e));
	how.pc = 0xffffffffff600000;
	ck_assert_int_eq(-1, space_prepare(e, &how));
}
END_TEST

/* -- Code that goes away --------------------------------------------------- */

START_TEST(what_is_forgotten_has_no_blocks)
{
	struct block *before, *across, *behind;

	open_space();
	space_add(e, page(0), page(4), 0);
	before = make(page(0));
	across = make(page(2) - 10); /* its last bytes are in page 2 */
	behind = make(page(3));
	space_forget(e, page(2), page(3));
	ck_assert_uint_eq(BLOCK_LIVE, before->state);
	ck_assert_uint_eq(BLOCK_DEAD, across->state);
	ck_assert_uint_eq(BLOCK_LIVE, behind->state);
	ck_assert_uint_eq(0, cache_find(e->cache, across->pc));
	ck_assert_uint_eq(1, e->run->stats.discarded);
}
END_TEST

START_TEST(a_block_dies_with_either_of_its_pages)
{
	struct block *b;

	open_space();
	space_add(e, page(0), page(4), 0);
	b = make(page(1) - 10);
	space_forget(e, page(0) + 5, page(0) + 6);
	ck_assert_uint_eq(BLOCK_DEAD, b->state);
	space_add(e, page(0), page(4), 0);
	b = make(page(1) - 10);
	space_forget(e, page(1) + 5, page(1) + 6);
	ck_assert_uint_eq(BLOCK_DEAD, b->state);
}
END_TEST

START_TEST(everything_can_be_forgotten_at_once)
{
	struct block *a, *b;

	open_space();
	space_add(e, page(0), page(PAGES), 0);
	a = make(page(0));
	b = make(page(PAGES - 1));
	space_forget(e, 0, 0x7ffffffff000);
	ck_assert_uint_eq(BLOCK_DEAD, a->state);
	ck_assert_uint_eq(BLOCK_DEAD, b->state);
}
END_TEST

START_TEST(after_a_flush_no_page_remembers_its_blocks)
{
	struct block *b;

	open_space();
	space_add(e, page(0), page(1), 0);
	make(page(0));
	ck_assert_int_eq(0, cache_flush(e, v));
	space_uncover(e);
	b = make(page(0) + 8); /* takes the number of the first */
	ck_assert_uint_eq(0, b->page_next[0]);
	space_forget(e, page(0), page(1));
	ck_assert_uint_eq(BLOCK_DEAD, b->state);
}
END_TEST

START_TEST(blocks_in_many_pages_are_all_known)
{
	enum { MANY = 5000 };
	const uint64_t len = (uint64_t)MANY * PAGE;
	uint8_t *code;

	open_space();
	code = mmap(NULL, len, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(MAP_FAILED, code);
	space_add(e, (uint64_t)code, (uint64_t)code + len, 0);
	for (uint64_t i = 0; i < MANY; i++) {
		code[i * PAGE] = 0xc3;
		make((uint64_t)code + i * PAGE);
	}
	for (uint64_t i = 0; i < MANY; i++) {
		uint64_t pc = (uint64_t)code + i * PAGE;

		space_forget(e, pc, pc + PAGE);
		ck_assert_uint_eq(0, cache_find(e->cache, pc));
		if (i + 1 < MANY)
			ck_assert_uint_ne(0, cache_find(e->cache, pc + PAGE));
	}
}
END_TEST

/* What was executed may be gone by the time that it is learnt. */
START_TEST(what_is_forgotten_meanwhile_is_not_learnt)
{
	struct translate_how how = {0};
	uint64_t then;

	open_space();
	then = space_now(e);
	space_forget(e, page(7), page(8));
	space_learn(e, page(3), then);
	how.pc = page(3);
	ck_assert_int_eq(-1, space_prepare(e, &how));
	space_learn(e, page(3), space_now(e));
	ck_assert_int_eq(0, space_prepare(e, &how));
}
END_TEST

/* -- Writing to code ------------------------------------------------------- */

START_TEST(code_that_can_be_written_or_is_shared_is_compared)
{
	open_space();
	space_add(e, page(0), page(1), 0);
	space_add(e, page(1), page(2), SPACE_WRITE);
	space_add(e, page(2), page(3), SPACE_SHARED);
	ck_assert_uint_eq(BLOCK_LIVE, make(page(0))->state);
	ck_assert_uint_eq(BLOCK_CHECKED, make(page(1))->state);
	ck_assert_uint_eq(BLOCK_CHECKED, make(page(2))->state);
	for (unsigned i = 0; i < 3; i++) /* and the pages are left alone */
		ck_assert(is_writable(page(i)));
}
END_TEST

START_TEST(stores_end_blocks_of_code_that_can_be_written)
{
	open_space();
	space_add(e, page(0), page(1), 0);
	space_add(e, page(1), page(2), SPACE_WRITE);
	space_add(e, page(2), page(3), SPACE_SHARED);
	ck_assert(!(prepare(page(0)).block_flags & BLOCK_ENDS_AT_STORES));
	ck_assert(prepare(page(1)).block_flags & BLOCK_ENDS_AT_STORES);
	ck_assert(!(prepare(page(2)).block_flags & BLOCK_ENDS_AT_STORES));
}
END_TEST

START_TEST(a_stack_far_from_the_code_is_apart)
{
	enum { FAR = 64 << 20 };
	static const int64_t near[] = {0, 4096, FAR, -FAR};
	static const int64_t apart[] = {FAR + 1, -FAR - 1, 1ll << 40,
					-(1ll << 40)};

	open_space();
	space_add(e, page(1), page(2), SPACE_WRITE);
	for (unsigned i = 0; i < 4; i++) {
		struct translate_how how = {.pc = page(1)};

		how.sp = how.pc + (uint64_t)near[i];
		ck_assert_int_eq(0, space_prepare(e, &how));
		ck_assert(!(how.block_flags & BLOCK_STACK_APART));
		how = (struct translate_how){.pc = page(1)};
		how.sp = how.pc + (uint64_t)apart[i];
		ck_assert_int_eq(0, space_prepare(e, &how));
		ck_assert(how.block_flags & BLOCK_STACK_APART);
	}
}
END_TEST

/* -- Comparing ------------------------------------------------------------- */

START_TEST(a_checked_block_is_still_so_until_its_code_changes)
{
	struct block *b;

	open_space();
	space_add(e, page(0), page(4), SPACE_SHARED);
	arena[100] = 0xc3;
	b = make(page(0) + 60);
	ck_assert_uint_eq(BLOCK_CHECKED, b->state);
	ck_assert_uint_eq(41, b->guest_len);
	ck_assert(is_writable(page(0)));
	ck_assert_int_eq(1, space_still(b));
	arena[59] = arena[101] = 0x0b; /* not of it */
	ck_assert_int_eq(1, space_still(b));
	for (unsigned i = 60; i <= 100; i++) {
		arena[i] ^= 1;
		ck_assert_int_eq(0, space_still(b));
		arena[i] ^= 1;
	}
	ck_assert_int_eq(1, space_still(b));
	munmap(arena, PAGE);
	ck_assert_int_eq(0, space_still(b));
}
END_TEST

static TCase *ranges(void)
{
	TCase *t = tcase_create("ranges");

	tcase_add_test(t, ranges_in_any_order_are_what_a_table_of_pages_says);
	tcase_add_test(t, there_is_room_for_many_ranges);
	tcase_add_test(t, nothing_is_nothing);
	tcase_add_test(t, code_that_ran_natively_is_code_that_may_change);
	tcase_add_test(t, what_is_forgotten_has_no_blocks);
	tcase_add_test(t, a_block_dies_with_either_of_its_pages);
	tcase_add_test(t, everything_can_be_forgotten_at_once);
	tcase_add_test(t, after_a_flush_no_page_remembers_its_blocks);
	tcase_add_test(t, blocks_in_many_pages_are_all_known);
	return t;
}

Suite *engine_space_suite(void)
{
	Suite *s = suite_create("engine_space");
	TCase *t = tcase_create("writing");

	tcase_add_test(t, what_is_forgotten_meanwhile_is_not_learnt);
	tcase_add_test(t, code_that_can_be_written_or_is_shared_is_compared);
	tcase_add_test(t, stores_end_blocks_of_code_that_can_be_written);
	tcase_add_test(t, a_stack_far_from_the_code_is_apart);
	tcase_add_test(t, a_checked_block_is_still_so_until_its_code_changes);
	suite_add_tcase(s, ranges());
	suite_add_tcase(s, t);
	return s;
}
