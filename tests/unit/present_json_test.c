/* tests/unit/present_json_test.c - what is written is JSON. */
#include "present/json.h"

#include <check.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static char *text;
static size_t text_len;
static FILE *out;

static void setup(void)
{
	out = open_memstream(&text, &text_len);
	ck_assert_ptr_nonnull(out);
}

static void teardown(void)
{
	fclose(out);
	free(text);
}

static void check_text(const char *want)
{
	fflush(out);
	ck_assert_str_eq(text, want);
}

START_TEST(json_nests_and_separates)
{
	struct json j;

	json_init(&j, out);
	json_object(&j, NULL);
	json_number(&j, "a", 1);
	json_array(&j, "b");
	json_end(&j);
	json_array(&j, "c");
	json_signed(&j, NULL, -1);
	json_object(&j, NULL);
	json_null(&j, "d");
	json_end(&j);
	json_bool(&j, NULL, true);
	json_end(&j);
	json_bool(&j, "e", false);
	json_end(&j);
	check_text("{\"a\":1,\"b\":[],\"c\":[-1,{\"d\":null},true],"
		   "\"e\":false}\n");
}
END_TEST

START_TEST(json_puts_one_value_on_each_line)
{
	struct json j;

	json_init(&j, out);
	json_number(&j, NULL, 1);
	json_object(&j, NULL);
	json_end(&j);
	json_text(&j, NULL, NULL);
	check_text("1\n{}\nnull\n");
}
END_TEST

START_TEST(json_escapes_text)
{
	struct json j;

	json_init(&j, out);
	json_text(&j, NULL, "a\"b\\c/d\n\t\r\x01\x7f");
	json_text(&j, NULL, "\xc3\xa9\xf0\x9f\x98\x80");
	json_text(&j, NULL, "\xff|\xe2\x82|\xed\xa0\x80");
	json_text(&j, NULL, "\xe2\x80\xa8");
	json_bytes(&j, NULL, "a\0b", 3);
	check_text("\"a\\\"b\\\\c/d\\n\\t\\u000d\\u0001\\u007f\"\n"
		   "\"\xc3\xa9\xf0\x9f\x98\x80\"\n"
		   "\"\\ufffd|\\ufffd\\ufffd|\\ufffd\\ufffd\\ufffd\"\n"
		   "\"\\u2028\"\n"
		   "\"a\\u0000b\"\n");
}
END_TEST

START_TEST(json_escapes_keys_too)
{
	struct json j;

	json_init(&j, out);
	json_object(&j, NULL);
	json_number(&j, "a\"\n", 1);
	json_end(&j);
	check_text("{\"a\\\"\\n\":1}\n");
}
END_TEST

START_TEST(json_writes_numbers_in_full)
{
	struct json j;

	json_init(&j, out);
	json_number(&j, NULL, UINT64_MAX);
	json_signed(&j, NULL, INT64_MIN);
	json_real(&j, NULL, 0.25);
	json_real(&j, NULL, 1e300);
	json_real(&j, NULL, (double)NAN);
	json_real(&j, NULL, (double)-INFINITY);
	check_text("18446744073709551615\n-9223372036854775808\n0.25\n"
		   "1e+300\nnull\nnull\n");
}
END_TEST

START_TEST(json_in_a_page_has_no_markup)
{
	struct json j;

	json_init(&j, out);
	j.is_in_page = true;
	json_text(&j, NULL, "</script>&amp;");
	check_text("\"\\u003c/script\\u003e\\u0026amp;\"\n");
}
END_TEST

START_TEST(json_wants_a_key_in_an_object)
{
	struct json j;

	json_init(&j, out);
	json_object(&j, NULL);
	json_number(&j, NULL, 1);
}
END_TEST

START_TEST(json_wants_no_key_in_an_array)
{
	struct json j;

	json_init(&j, out);
	json_array(&j, NULL);
	json_number(&j, "a", 1);
}
END_TEST

Suite *present_json_suite(void)
{
	Suite *s = suite_create("present_json");
	TCase *t = tcase_create("json");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, json_nests_and_separates);
	tcase_add_test(t, json_puts_one_value_on_each_line);
	tcase_add_test(t, json_escapes_text);
	tcase_add_test(t, json_escapes_keys_too);
	tcase_add_test(t, json_writes_numbers_in_full);
	tcase_add_test(t, json_in_a_page_has_no_markup);
	tcase_add_test_raise_signal(t, json_wants_a_key_in_an_object, SIGABRT);
	tcase_add_test_raise_signal(t, json_wants_no_key_in_an_array, SIGABRT);
	suite_add_tcase(s, t);
	return s;
}
