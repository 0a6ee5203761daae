/* tests/unit/image_usdt_test.c - argument specifications, and the notes of a
 * library that has some. */
#include "image/usdt.h"

#include "image/image.h"

#include <check.h>
#include <stdlib.h>
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
}
END_TEST

START_TEST(names_are_kept_for_the_file_to_tell)
{
	struct usdt_arg a = parse("8@table-8+0x18(%rip)");

	ck_assert_int_eq(USDT_MEMORY, a.kind);
	ck_assert_int_eq(USDT_RIP, a.base);
	ck_assert_uint_eq(5, a.symbol_len);
	ck_assert_mem_eq("table", a.symbol, 5);
	ck_assert_int_eq(16, a.value);
	a = parse("-4@counter.0(,%rcx,4)");
	ck_assert_int_eq(USDT_NOREG, a.base);
	ck_assert_int_eq(1, a.index);
	ck_assert_uint_eq(9, a.symbol_len);
	a = parse("8@$_ZN1a1bE+4");
	ck_assert_int_eq(USDT_CONSTANT, a.kind);
	ck_assert_int_eq(4, a.value);
	ck_assert_ptr_nonnull(a.symbol);
	a = parse("4@%fs:x@tpoff+8(%rax)");
	ck_assert_int_eq(USDT_FS, a.segment);
	ck_assert(a.is_tpoff);
	ck_assert_uint_eq(1, a.symbol_len);
	ck_assert_int_eq(8, a.value);
	ck_assert_int_eq(0, a.base);
	ck_assert_ptr_null(parse("4@%gs:0x10").symbol);
	ck_assert_int_eq(USDT_GS, parse("4@%gs:0x10").segment);
}
END_TEST

START_TEST(constants_are_as_large_as_their_size)
{
	static const struct {
		const char *text;
		int64_t value;
	} all[] = {
	    {"-4@$-5", -5},
	    {"4@$-5", 0xfffffffb},
	    {"1@$-1", 255},
	    {"-1@$200", -56},
	    {"8@$18446744073709551615", -1},
	    {"-8@$-9223372036854775808", INT64_MIN},
	    {"2@$0x10001", 1},
	    {"$7", 7},
	};

	for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
		struct usdt_arg a = parse(all[i].text);

		ck_assert_int_eq(USDT_CONSTANT, a.kind);
		ck_assert_int_eq(all[i].value, a.value);
	}
}
END_TEST

START_TEST(a_register_ends_where_its_name_says)
{
	ck_assert_int_eq(1, parse("4@%al").size);
	ck_assert_int_eq(1, parse("-8@%bh").size);
	ck_assert_int_eq(2, parse("-4@%r10w").size);
	ck_assert_int_eq(4, parse("8@%r10d").size);
	ck_assert_int_eq(1, parse("1@%rax").size);
}
END_TEST

/* What is wrong, and what is said of it. */
static const struct {
	const char *text;
	enum usdt_why why;
} malformed[] = {
    {"-3@%rax", USDT_SIZE},
    {"0@%rax", USDT_SIZE},
    {"16@%xmm0", USDT_SIZE},
    {"99999999999999999999@%rax", USDT_ODD},
    {"8@%xmm0", USDT_VECTOR},
    {"8@%zmm31", USDT_VECTOR},
    {"8f@%xmm0", USDT_FRACTION},
    {"-4f@8(%rsp)", USDT_FRACTION},
    {"16f@8(%rsp)", USDT_FRACTION},
    {"8@x@GOTPCREL(%rip)", USDT_LOADER},
    {"8@x@gottpoff(%rip)", USDT_LOADER},
    {"4@", USDT_ODD},
    {"@", USDT_ODD},
    {"4", USDT_KNOWN}, /* memory at 4: no size */
    {"-", USDT_ODD},
    {"4@$", USDT_ODD},
    {"4@$$5", USDT_ODD},
    {"4@$5x", USDT_ODD},
    {"4@$08", USDT_ODD},
    {"4@$99999999999999999999", USDT_ODD},
    {"4@$x@tpoff", USDT_ODD},
    {"4@%", USDT_ODD},
    {"4@%rax%rax", USDT_ODD},
    {"4@%r", USDT_ODD},
    {"4@%r7", USDT_ODD},
    {"4@%r16", USDT_ODD},
    {"4@%r08", USDT_ODD},
    {"4@%r9x", USDT_ODD},
    {"4@%r9dd", USDT_ODD},
    {"4@%rip", USDT_ODD},
    {"4@%fs", USDT_ODD},
    {"4@%fs:", USDT_ODD},
    {"4@%cs:8", USDT_ODD},
    {"4@%fs:x", USDT_ODD},
    {"4@x@tpoff(%rip)", USDT_ODD},
    {"4@%fs:x@tpoff(%rip)", USDT_ODD},
    {"4@(", USDT_ODD},
    {"4@()", USDT_ODD},
    {"4@(%rax", USDT_ODD},
    {"4@(%rax,)", USDT_ODD},
    {"4@(%rax,%rcx,)", USDT_ODD},
    {"4@(%rax,%rcx,3)", USDT_ODD},
    {"4@(%rax,%rcx,16)", USDT_ODD},
    {"4@(%rax,%rsp,1)", USDT_ODD},
    {"4@(%rax,%rip,1)", USDT_ODD},
    {"4@x(%rip,%rax,1)", USDT_ODD},
    {"4@(%eax)", USDT_ODD},
    {"4@(%rax,%ecx,4)", USDT_ODD},
    {"4@8(%rip)", USDT_ODD},
    {"4@x+y(%rip)", USDT_ODD},
    {"4@8-x(%rip)", USDT_ODD},
    {"4@8+(%rax)", USDT_ODD},
    {"4@8(%rax)z", USDT_ODD},
    {"4@\"x\"(%rip)", USDT_ODD},
    {"x4@%rax", USDT_LOADER}, /* a name, and what to make of it */
};

START_TEST(what_is_odd_is_unknown_and_says_why)
{
	for (unsigned i = 0; i < sizeof malformed / sizeof *malformed; i++) {
		struct usdt_arg a = parse(malformed[i].text);

		ck_assert_msg(malformed[i].why == a.why, "%s: %s",
			      malformed[i].text, usdt_why(a.why));
		ck_assert_int_eq(a.why != USDT_KNOWN, a.kind == USDT_UNKNOWN);
	}
}
END_TEST

START_TEST(what_is_odd_is_passed_over)
{
	const char *text = " 4@nothing@ 8@%xmm0\t4@(%rax,%rcx,3) 4@ 4@$-7 ";
	struct usdt_arg a;

	for (unsigned i = 0; i < 4; i++) {
		ck_assert(usdt_parse(&text, &a));
		ck_assert_int_eq(USDT_UNKNOWN, a.kind);
	}
	ck_assert_mem_eq("4@", a.text, 2);
	ck_assert_uint_eq(2, a.text_len);
	ck_assert(usdt_parse(&text, &a));
	ck_assert_int_eq(USDT_CONSTANT, a.kind);
	ck_assert(!usdt_parse(&text, &a));
}
END_TEST

/* In memory of just that size, so that a sanitizer sees who reads on. */
static void parse_all(const char *text, size_t len)
{
	char *copy = malloc(len + 1);
	const char *at = copy;
	struct usdt_arg a;

	memcpy(copy, text, len);
	copy[len] = '\0';
	while (usdt_parse(&at, &a))
		ck_assert(a.kind <= USDT_MEMORY && a.scale < 4 &&
			  a.segment <= USDT_GS &&
			  (a.kind == USDT_UNKNOWN) == (a.why != USDT_KNOWN));
	ck_assert_ptr_eq(copy + len, at + strspn(at, " \t"));
	free(copy);
}

START_TEST(nothing_that_is_written_there_does_harm)
{
	static const char right[] =
	    "-4@%esi 8@-24(%rbp) 4@$7 8@table+8(%rip) 2@(%rax,%rcx,2) "
	    "4@%fs:x@tpoff+8(%r9) 8f@%xmm0 1@%ah -8@$-9223372036854775808";
	static const char others[] = " \t@%$(),-+.:0123456789abfrxz_\x80\xff";
	char text[sizeof right];

	for (size_t len = 0; len < sizeof right; len++)
		parse_all(right, len);
	for (size_t i = 0; i + 1 < sizeof right; i++)
		for (const char *c = others; *c != '\0'; c++) {
			memcpy(text, right, sizeof right);
			text[i] = *c;
			parse_all(text, sizeof right - 1);
		}
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
	tcase_add_test(t, names_are_kept_for_the_file_to_tell);
	tcase_add_test(t, constants_are_as_large_as_their_size);
	tcase_add_test(t, a_register_ends_where_its_name_says);
	tcase_add_test(t, what_is_odd_is_unknown_and_says_why);
	tcase_add_test(t, what_is_odd_is_passed_over);
	tcase_add_test(t, nothing_that_is_written_there_does_harm);
	tcase_add_test(t, the_probes_of_libstdcxx_are_found);
	suite_add_tcase(s, t);
	return s;
}
