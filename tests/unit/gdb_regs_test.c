/* tests/unit/gdb_regs_test.c - registers as gdb numbers them. */
#include "gdb/regs.h"

#include <check.h>
#include <string.h>

static const struct regs_layout none, full = {576, 832, 896, 1408, 2432};
static struct hark_registers from;
static struct regs r;
static uint8_t out[32];

static void setup(void)
{
	memset(&from, 0, sizeof from);
	from.xsave_len = 2440;
	for (unsigned i = 0; i < 16; i++)
		from.gpr[i] = 100 + i;
	from.rip = 0x401000;
	from.rflags = 0x246;
	regs_init(&r, &full);
}

static uint64_t number(unsigned i, unsigned len)
{
	uint64_t value = 0;

	ck_assert_uint_eq(regs_get(&r, &from, i, out), len);
	memcpy(&value, out, len < 8 ? len : 8);
	return value;
}

START_TEST(regs_have_gdb_s_order)
{
	static const unsigned order[] = {0, 3, 1, 2, 6, 7, 5, 4};

	for (unsigned i = 0; i < 8; i++)
		ck_assert_uint_eq(number(i, 8), 100 + order[i]);
	for (unsigned i = 8; i < 16; i++)
		ck_assert_uint_eq(number(i, 8), 100 + i);
	ck_assert_uint_eq(number(REGS_RIP, 8), 0x401000);
	ck_assert_uint_eq(number(17, 4), 0x246);
	ck_assert_uint_eq(number(18, 4), 0x33);
	ck_assert_uint_eq(number(19, 4), 0x2b);
}
END_TEST

START_TEST(regs_initial_states_are_those_of_the_processor)
{
	memset(from.xsave, 0xee, sizeof from.xsave);
	memset(from.xsave + 24, 0, 4);
	ck_assert_uint_eq(number(32, 4), 0x37f);
	ck_assert_uint_eq(number(34, 4), 0xffff);
	ck_assert_uint_eq(number(40, 16), 0); /* xmm0 */
	ck_assert_uint_eq(number(56, 4), 0x1f80);
	ck_assert_uint_eq(number(60, 16), 0); /* ymm0h */
}
END_TEST

START_TEST(regs_extended_state_is_found)
{
	from.xstate_bv = ~0ULL;
	from.xsave[160 + 16 * 3] = 33;	/* xmm3 */
	from.xsave[576 + 16 * 2] = 44;	/* ymm2h */
	from.xsave[832 + 8 * 1] = 55;	/* k1 */
	from.xsave[896 + 32 * 4] = 66;	/* zmm4h */
	from.xsave[1408 + 64 * 5] = 77; /* xmm21 */
	from.xsave[1408 + 64 * 5 + 16] = 78;
	from.xsave[1408 + 64 * 5 + 32] = 79;
	from.xsave[2432] = 88; /* pkru */
	ck_assert_uint_eq(number(43, 16), 33);
	ck_assert_uint_eq(number(62, 16), 44);
	ck_assert_uint_eq(number(76 + 5, 16), 77);
	ck_assert_uint_eq(number(92 + 5, 16), 78);
	ck_assert_uint_eq(number(108 + 1, 8), 55);
	ck_assert_uint_eq(number(116 + 4, 32), 66);
	ck_assert_uint_eq(number(132 + 5, 32), 79);
	ck_assert_uint_eq(number(148, 4), 88);
	ck_assert_uint_eq(regs_get(&r, &from, 149, out), 0);
}
END_TEST

START_TEST(regs_x87_tags_are_widened)
{
	from.xstate_bv = 1;
	from.xsave[3] = 7 << 3;		 /* top is 7 */
	from.xsave[4] = 1 << 7 | 1 << 0; /* st0 and st1 */
	from.xsave[32 + 7] = 0x80;	 /* 1.0 */
	from.xsave[32 + 8] = 0xff;
	from.xsave[32 + 9] = 0x3f;
	ck_assert_uint_eq(number(34, 4), 0x3ffd); /* 7: valid, 0: zero */
}
END_TEST

START_TEST(regs_that_are_not_there_are_not_described)
{
	struct doc d = {0};

	regs_init(&r, &none);
	ck_assert_uint_eq(r.n, 60);
	regs_describe(&r, &d);
	doc_add(&d, "", 1);
	ck_assert_ptr_nonnull(strstr((char *)d.at, "i386.linux"));
	ck_assert_ptr_nonnull(strstr((char *)d.at, "\"orig_rax\""));
	ck_assert_ptr_nonnull(strstr((char *)d.at, "\"xmm15\""));
	ck_assert_ptr_null(strstr((char *)d.at, "avx"));
	ck_assert_ptr_null(strstr((char *)d.at, "pkru"));
	doc_clear(&d);
	regs_init(&r, &full);
	ck_assert_uint_eq(r.n, 149);
	regs_describe(&r, &d);
	doc_add(&d, "", 1);
	ck_assert_ptr_nonnull(strstr((char *)d.at, "\"zmm31h\""));
	ck_assert_ptr_nonnull(strstr((char *)d.at, "\"ymm16h\""));
	ck_assert_ptr_nonnull(strstr((char *)d.at, "\"ymm15h\""));
	ck_assert_ptr_nonnull(strstr((char *)d.at, "i386.avx512"));
	doc_free(&d);
}
END_TEST

Suite *gdb_regs_suite(void)
{
	Suite *s = suite_create("gdb_regs");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, regs_have_gdb_s_order);
	tcase_add_test(t, regs_initial_states_are_those_of_the_processor);
	tcase_add_test(t, regs_extended_state_is_found);
	tcase_add_test(t, regs_x87_tags_are_widened);
	tcase_add_test(t, regs_that_are_not_there_are_not_described);
	suite_add_tcase(s, t);
	return s;
}
