/* tests/unit/x86_tables_test.c - the generated tables hang together.
 *
 * The core follows indices without looking; so none may point outside, and no
 * row may promise what the core cannot keep. */
#include "x86/tables.h"

#include <check.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static unsigned variants_of(unsigned space)
{
	if (space < X86_SPACE_VEX)
		return 12;
	return space < X86_SPACE_EVEX ? 16 : 64;
}

START_TEST(tables_are_named)
{
	ck_assert(x86_tables_id == X86_TABLES_ID);
	ck_assert(x86_tables_id != 0);
}
END_TEST

START_TEST(tables_no_page_ends_outside)
{
	for (unsigned s = 0; s < X86_SPACE_MAX; s++)
		for (unsigned b = 0; b < 256; b++)
			ck_assert_uint_le(x86_op[s][b] + variants_of(s),
					  COUNT(x86_var));
}
END_TEST

START_TEST(tables_no_leaf_ends_outside)
{
	static const unsigned size[] = {1, 2, 16, 72}; /* ORDER x86_leaf_kind */

	for (size_t k = 0; k < COUNT(x86_var); k++) {
		unsigned kind = x86_var[k] >> 14, at = x86_var[k] & 0x3fff;

		if (kind)
			ck_assert_uint_le(at + size[kind], COUNT(x86_leaf));
		else
			ck_assert_uint_lt(at, COUNT(x86_rows));
	}
	for (size_t k = 0; k < COUNT(x86_leaf); k++)
		ck_assert_uint_lt(x86_leaf[k], COUNT(x86_rows));
}
END_TEST

START_TEST(tables_row_0_is_invalid)
{
	struct x86_row none = {0};

	ck_assert_mem_eq(&x86_rows[0], &none, sizeof none);
	for (size_t k = 1; k < COUNT(x86_rows); k++)
		ck_assert(x86_rows[k].attr & X86_A_VALID);
}
END_TEST

START_TEST(tables_rows_differ)
{
	for (size_t k = 0; k < COUNT(x86_rows); k++)
		for (size_t j = 0; j < k; j++)
			ck_assert(memcmp(&x86_rows[k], &x86_rows[j],
					 sizeof x86_rows[k]) != 0);
}
END_TEST

static void check_masks(const struct x86_row *r)
{
	ck_assert_uint_eq(0, r->gpr_kill & ~r->gpr_write);
	ck_assert_uint_eq(0, r->flag_undef & ~r->flag_write);
	for (unsigned k = 0; k < 4; k++) {
		ck_assert(!(r->role[k] & X86_R_KILL) ||
			  r->role[k] & X86_R_WRITE);
		ck_assert(!(r->role[k] & X86_R_BYTE) ||
			  !(r->role[k] & X86_R_KILL));
	}
}

static void check_memory(const struct x86_row *r)
{
	unsigned both = X86_M_READ | X86_M_WRITE;

	ck_assert(!(r->mem & X86_M_AGEN) || !(r->mem & both));
	ck_assert(!(r->mem & both) || r->mem_size || r->must & X86_C_SIB);
	ck_assert(!r->imem[1] || r->imem[0]);
	for (unsigned k = 0; k < 2; k++)
		ck_assert(!r->imem[k] ||
			  (r->imem[k] & X86_I_PRESENT && r->imem_size[k]));
	/* what forms an implicit address is read */
	for (unsigned k = 0; k < 2; k++)
		ck_assert(!r->imem[k] || r->gpr_read >> (r->imem[k] & 15) & 1);
}

START_TEST(tables_rows_are_sound)
{
	for (size_t k = 1; k < COUNT(x86_rows); k++) {
		const struct x86_row *r = &x86_rows[k];

		ck_assert_uint_lt(r->flow, X86_FLOW_MAX);
		ck_assert_uint_lt(r->special, X86_SPECIAL_MAX);
		ck_assert_uint_le(r->imm, 8);
		ck_assert_uint_ne(r->imm, 5);
		ck_assert_uint_ne(r->imm, 6);
		ck_assert_uint_ne(r->imm, 7);
		ck_assert_uint_le(r->disp8_shift, 6);
		ck_assert_uint_eq(0, r->pad);
		check_masks(r);
		check_memory(r);
	}
}
END_TEST

START_TEST(tables_a_3dnow_suffix_for_each)
{
	unsigned n = 0;

	for (size_t k = 0; k < COUNT(x86_3dnow); k++)
		n += (unsigned)__builtin_popcount(x86_3dnow[k]);
	ck_assert_uint_eq(24, n); /* 19 of the first set, 5 of the second */
}
END_TEST

Suite *x86_tables_suite(void)
{
	Suite *s = suite_create("x86_tables");
	TCase *t = tcase_create("tables");

	tcase_add_test(t, tables_are_named);
	tcase_add_test(t, tables_no_page_ends_outside);
	tcase_add_test(t, tables_no_leaf_ends_outside);
	tcase_add_test(t, tables_row_0_is_invalid);
	tcase_add_test(t, tables_rows_differ);
	tcase_add_test(t, tables_rows_are_sound);
	tcase_add_test(t, tables_a_3dnow_suffix_for_each);
	suite_add_tcase(s, t);
	return s;
}
