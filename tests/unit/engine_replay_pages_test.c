/* engine/replay_pages.c: what is cleared is zero, and what may be kept is. */
#include "engine/observe.h"
#include "engine/replay.h"
#include "engine/shadow.h"

#include <check.h>
#include <string.h>
#include <sys/mman.h>

Suite *engine_replay_pages_suite(void);

enum { PAGE = 4096, KEPT_MOST = (128 << 20) / PAGE };

static unsigned no_code(void *ctx, uint64_t pc, uint8_t *to, unsigned len)
{
	(void)ctx;
	(void)pc;
	(void)to;
	(void)len;
	return 0;
}

static struct replay *make(int keeps)
{
	const struct observe o = {.touches = OBSERVE_LOADS | OBSERVE_STORES};
	struct replay *r = replay_new(no_code, NULL, WIRE_RECORD_VERSION);

	ck_assert_ptr_nonnull(r);
	ck_assert_int_eq(replay_observe(r, &o), 0);
	if (keeps)
		ck_assert_int_eq(replay_keep_pages(r), 0);
	return r;
}

static int is_in_memory(const uint8_t *at)
{
	unsigned char present = 0;

	ck_assert_int_eq(mincore((void *)((uint64_t)at & ~(uint64_t)(PAGE - 1)),
				 1, &present),
			 0);
	return present & 1;
}

static const uint32_t some[] = {0,	    32,		0x1000,	    0x3fe0,
				0x12345660, 0x7fffffe0, 0x80000000, 0xffffffe0};
enum { SOME = sizeof some / sizeof some[0] };

static const uint8_t *mark_of(const struct replay *r, uint32_t index)
{
	return replay_touched(r) + (uint32_t)(index + OBSERVE_SKEW);
}

static void fill(struct replay *r)
{
	uint8_t bytes[32];

	memset(bytes, 0x5a, sizeof bytes);
	for (unsigned i = 0; i < SOME; i++)
		replay_fill(r, some[i], bytes, sizeof bytes);
}

START_TEST(kept_pages_are_zero_and_in_memory)
{
	struct replay *r = make(1);

	for (int round = 0; round < 3; round++) {
		fill(r);
		ck_assert_int_eq(replay_shadow(r)[some[4]], 0x5a);
		ck_assert_int_eq(*mark_of(r, some[4]), 0xff);
		replay_clear_shadow(r);
		for (unsigned i = 0; i < SOME; i++) {
			ck_assert(is_in_memory(replay_shadow(r) + some[i]));
			ck_assert(is_in_memory(mark_of(r, some[i])));
			for (unsigned k = 0; k < 32; k++) {
				ck_assert_int_eq(replay_shadow(r)[some[i] + k],
						 0);
				ck_assert_int_eq(mark_of(r, some[i])[k], 0);
			}
		}
	}
	replay_free(r);
}
END_TEST

START_TEST(pages_go_back_unless_they_are_to_be_kept)
{
	struct replay *r = make(0);

	fill(r);
	replay_clear_shadow(r);
	for (unsigned i = 0; i < SOME; i++)
		ck_assert_int_eq(is_in_memory(replay_shadow(r) + some[i]),
				 some[i] < SHADOW_AGAIN);
	replay_free(r);
}
END_TEST

START_TEST(no_more_than_so_many_are_kept)
{
	enum { MANY = KEPT_MOST + 1000 };
	struct replay *r = make(1);
	unsigned kept = 0;

	for (unsigned i = 0; i < MANY; i++)
		replay_shadow(r)[(uint64_t)i * PAGE + 7] = 1;
	replay_clear_shadow(r);
	for (unsigned i = 0; i < MANY; i++)
		kept += (unsigned)is_in_memory(replay_shadow(r) +
					       (uint64_t)i * PAGE);
	ck_assert_uint_le(kept, KEPT_MOST);
	for (unsigned i = 0; i < MANY; i++)
		ck_assert_int_eq(replay_shadow(r)[(uint64_t)i * PAGE + 7], 0);
	replay_free(r);
}
END_TEST

Suite *engine_replay_pages_suite(void)
{
	Suite *s = suite_create("engine_replay_pages");
	TCase *t = tcase_create("pages");

	tcase_add_test(t, kept_pages_are_zero_and_in_memory);
	tcase_add_test(t, pages_go_back_unless_they_are_to_be_kept);
	tcase_add_test(t, no_more_than_so_many_are_kept);
	suite_add_tcase(s, t);
	return s;
}
