/* tests/unit/image_usdt_test.c - argument specifications, and the notes of a
 * library that has some. */
#include "image/usdt.h"

#include "image/image.h"

#include <check.h>
#include <string.h>

static struct usdt_arg parse(const char *text)
{
	struct usdt_arg a;

	ck_assert(usdt_parse(&text, &a));
	return a;
}

START_TEST(registers_of_all_widths_are_known)
{
	struct usdt_arg a = parse("-4@%esi");

	ck_assert_int_eq(USDT_REGISTER, a.kind);
	ck_assert_int_eq(6, a.base);
	ck_assert_int_eq(4, a.size);
	ck_assert(a.is_signed);
	a = parse("1@%bh");
	ck_assert_int_eq(3, a.base);
	ck_assert_int_eq(1, a.high);
	ck_assert(!a.is_signed);
	a = parse("2@%r13w");
	ck_assert_int_eq(13, a.base);
	ck_assert_int_eq(USDT_REGISTER, parse("8@%r8").kind);
	ck_assert_int_eq(USDT_UNKNOWN, parse("8@%r16").kind);
	ck_assert_int_eq(USDT_UNKNOWN, parse("16@%xmm0").kind);
}
END_TEST

START_TEST(memory_operands_are_taken_apart)
{
	struct usdt_arg a = parse("8@-24(%rbp)");

	ck_assert_int_eq(USDT_MEMORY, a.kind);
	ck_assert_int_eq(5, a.base);
	ck_assert_int_eq(USDT_NOREG, a.index);
	ck_assert_int_eq(-24, a.value);
	a = parse("2@(%rax,%rcx,2)");
	ck_assert_int_eq(0, a.base);
	ck_assert_int_eq(1, a.index);
	ck_assert_int_eq(1, a.scale);
	a = parse("4@0x10(,%r9,8)");
	ck_assert_int_eq(USDT_NOREG, a.base);
	ck_assert_int_eq(9, a.index);
	ck_assert_int_eq(3, a.scale);
	ck_assert_int_eq(16, a.value);
	ck_assert_int_eq(USDT_RIP, parse("4@8(%rip)").base);
}
END_TEST

START_TEST(what_is_odd_is_unknown_and_passed_over)
{
	const char *text = "8@name+4(%rip) -3@%rax 4@(%rax,%rcx,3) 4@ 4@$-7";
	struct usdt_arg a;

	for (unsigned i = 0; i < 4; i++) {
		ck_assert(usdt_parse(&text, &a));
		ck_assert_int_eq(USDT_UNKNOWN, a.kind);
	}
	ck_assert(usdt_parse(&text, &a));
	ck_assert_int_eq(USDT_CONSTANT, a.kind);
	ck_assert_int_eq(-7, a.value);
	ck_assert(!usdt_parse(&text, &a));
}
END_TEST

static int count(void *ctx, const struct usdt *u)
{
	unsigned *n = ctx;

	ck_assert_str_eq("libstdcxx", u->provider);
	ck_assert_uint_ne(0, u->addr);
	*n += strcmp(u->name, "throw") == 0 || strcmp(u->name, "catch") == 0 ||
	      strcmp(u->name, "rethrow") == 0;
	return 0;
}

START_TEST(the_probes_of_libstdcxx_are_found)
{
	struct hark_err err = {0};
	struct image_file *f;
	struct image *im;
	unsigned n = 0;

	ck_assert_int_eq(0, image_new(&im, &err));
	ck_assert_int_eq(
	    0, image_open(im, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", &f,
			  &err));
	ck_assert_int_eq(0, usdt_each(f, count, &n, &err));
	ck_assert_uint_ge(n, 3);
	image_free(im);
}
END_TEST

Suite *image_usdt_suite(void)
{
	Suite *s = suite_create("image_usdt");
	TCase *t = tcase_create("usdt");

	tcase_add_test(t, registers_of_all_widths_are_known);
	tcase_add_test(t, memory_operands_are_taken_apart);
	tcase_add_test(t, what_is_odd_is_unknown_and_passed_over);
	tcase_add_test(t, the_probes_of_libstdcxx_are_found);
	suite_add_tcase(s, t);
	return s;
}
