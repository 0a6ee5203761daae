/* tests/unit/present_text_test.c - nothing unfit reaches a terminal. */
#include "present/text.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void check_escape(const char *text, size_t len, const char *want)
{
	char out[128];
	size_t n = text_escape(text, len, out, sizeof out);

	ck_assert_str_eq(out, want);
	ck_assert_uint_eq(n, strlen(want));
	ck_assert_uint_eq(text_escape(text, len, NULL, 0), n);
}

START_TEST(decode_takes_every_length_of_utf8)
{
	uint32_t c;

	ck_assert_uint_eq(1, text_decode("A", 1, &c));
	ck_assert_uint_eq('A', c);
	ck_assert_uint_eq(2, text_decode("\xc3\xa9", 2, &c));
	ck_assert_uint_eq(0xe9, c);
	ck_assert_uint_eq(3, text_decode("\xe2\x82\xac", 3, &c));
	ck_assert_uint_eq(0x20ac, c);
	ck_assert_uint_eq(4, text_decode("\xf0\x9f\x98\x80", 4, &c));
	ck_assert_uint_eq(0x1f600, c);
	ck_assert_uint_eq(0, text_decode("", 0, &c));
}
END_TEST

START_TEST(decode_refuses_what_is_no_utf8)
{
	static const char *const bad[] = {
	    "\x80",		/* a second byte first */
	    "\xc0\xaf",		/* not the shortest form */
	    "\xe0\x80\xaf",	/* not the shortest form */
	    "\xed\xa0\x80",	/* half of a pair */
	    "\xf4\x90\x80\x80", /* beyond the last */
	    "\xff",
	    "\xe2\x82", /* cut off */
	    "\xc3(",	/* no second byte */
	};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		uint32_t c = 0;

		ck_assert_uint_eq(1, text_decode(bad[i], strlen(bad[i]), &c));
		ck_assert_uint_eq(TEXT_BAD, c);
	}
}
END_TEST

START_TEST(escape_leaves_words_alone)
{
	check_escape("plain", 5, "plain");
	check_escape("gr\xc3\xbc\xc3\x9f", 6, "gr\xc3\xbc\xc3\x9f");
	check_escape("a\\b", 3, "a\\b");
}
END_TEST

START_TEST(escape_disarms_controls)
{
	check_escape("a\nb\tc\rd", 7, "a\\nb\\tc\\rd");
	check_escape("\033[31mred", 8, "\\x1b[31mred");
	check_escape("\0\x7f", 2, "\\x00\\x7f");
	check_escape("\xc2\x9b", 2, "\\xc2\\x9b"); /* CSI in one character */
	check_escape("\xff\xfe", 2, "\\xff\\xfe");
}
END_TEST

START_TEST(escape_disarms_changes_of_direction)
{
	check_escape("\xe2\x80\xae", 3, "\\xe2\\x80\\xae"); /* U+202E */
	check_escape("\xe2\x81\xa6", 3, "\\xe2\\x81\\xa6"); /* U+2066 */
	check_escape("\xe2\x80\xa8", 3, "\\xe2\\x80\\xa8"); /* U+2028 */
	check_escape("\xef\xbb\xbf", 3, "\\xef\\xbb\\xbf"); /* U+FEFF */
}
END_TEST

START_TEST(escape_never_cuts_a_character)
{
	char out[8];

	for (size_t size = 1; size <= sizeof out; size++) {
		memset(out, 'z', sizeof out);
		ck_assert_uint_eq(
		    8, text_escape("ab\xe2\x82\xac\nc", 7, out, size));
		/* whole pieces: a, b, the sign (3 bytes), \n (2), c */
		ck_assert_str_eq(out, size >= 8	  ? "ab\xe2\x82\xac\\n"
				      : size >= 6 ? "ab\xe2\x82\xac"
				      : size >= 3 ? "ab"
				      : size == 2 ? "a"
						  : "");
	}
}
END_TEST

START_TEST(columns_counts_what_escape_prints)
{
	ck_assert_uint_eq(5, text_columns("plain"));
	ck_assert_uint_eq(4, text_columns("gr\xc3\xbc\xc3\x9f"));
	ck_assert_uint_eq(4 + 2, text_columns("\x1b\n"));
	ck_assert_uint_eq(8, text_columns("\xc2\x9b"));
}
END_TEST

static void check_wrap(const char *text, size_t at, size_t indent, size_t width,
		       const char *want)
{
	char *got = NULL;
	size_t len;
	FILE *out = open_memstream(&got, &len);

	ck_assert_ptr_nonnull(out);
	text_wrap(out, text, at, indent, width);
	fclose(out);
	ck_assert_str_eq(got, want);
	free(got);
}

START_TEST(wrap_breaks_between_words)
{
	check_wrap("one two three", 0, 0, 7, "one two\nthree");
	check_wrap("one two three", 0, 2, 6, "one\n  two\n  three");
	check_wrap("one two", 4, 4, 10, "one\n    two");
	check_wrap("  one   two  ", 0, 0, 80, "one two");
	check_wrap("", 0, 0, 80, "");
	check_wrap("longerthanthat x", 0, 0, 5, "longerthanthat\nx");
	check_wrap("\xc3\xbc\xc3\xbc \xc3\xbc", 0, 0, 4,
		   "\xc3\xbc\xc3\xbc \xc3\xbc");
}
END_TEST

Suite *present_text_suite(void)
{
	Suite *s = suite_create("present_text");
	TCase *t = tcase_create("text");

	tcase_add_test(t, decode_takes_every_length_of_utf8);
	tcase_add_test(t, decode_refuses_what_is_no_utf8);
	tcase_add_test(t, escape_leaves_words_alone);
	tcase_add_test(t, escape_disarms_controls);
	tcase_add_test(t, escape_disarms_changes_of_direction);
	tcase_add_test(t, escape_never_cuts_a_character);
	tcase_add_test(t, columns_counts_what_escape_prints);
	tcase_add_test(t, wrap_breaks_between_words);
	suite_add_tcase(s, t);
	return s;
}
