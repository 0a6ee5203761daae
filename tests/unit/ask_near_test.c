/* tests/unit/ask_near_test.c - suggestions are near, or there are none. */
#include "ask/near.h"

#include <check.h>
#include <string.h>

static struct near near;

static const char *text(void)
{
	static char out[NEAR_BEST * (NEAR_NAME + 8)];

	near_text(&near, out, sizeof out);
	return out;
}

static const char *of(const char *name, const char *candidate)
{
	near_begin(&near, name);
	near_offer(&near, candidate, candidate, NEAR_PROGRAM);
	return text();
}

START_TEST(a_slip_is_recognised)
{
	ck_assert_str_eq(of("countr", "counter"), "; near it: 'counter'");
	ck_assert_str_eq(of("coutner", "counter"), "; near it: 'counter'");
	ck_assert_str_eq(of("lft", "left"), "; near it: 'left'");
	ck_assert_str_eq(of("COUNTER", "counter"), "; near it: 'counter'");
	ck_assert_str_eq(of("X", "x"), "; near it: 'x'");
	ck_assert_str_eq(of("parse_heder", "parse_header"),
			 "; near it: 'parse_header'");
}
END_TEST

START_TEST(another_name_is_not_suggested)
{
	ck_assert_str_eq(of("over", "verr"), "");
	ck_assert_str_eq(of("over", "open"), "");
	ck_assert_str_eq(of("twice", "nice"), "");
	ck_assert_str_eq(of("i", "j"), "");
	ck_assert_str_eq(of("id", "ip"), "");
	ck_assert_str_eq(of("", "a"), "");
	ck_assert_str_eq(of("x", ""), "");
	ck_assert_str_eq(of("same", "same"), "");
}
END_TEST

START_TEST(a_library_has_less_to_suggest)
{
	near_begin(&near, "prinft");
	near_offer(&near, "printf", "printf", NEAR_LIBRARY);
	near_offer(&near, "wprintf", "wprintf", NEAR_LIBRARY);
	near_offer(&near, "_prinft", "_prinft", NEAR_LIBRARY);
	ck_assert_str_eq(text(), "; near it: 'printf'");
	near_offer(&near, "prinffs", "prinffs", NEAR_PROGRAM);
	near_offer(&near, "prinff", "prinff", NEAR_PROGRAM);
	ck_assert_str_eq(text(), "; near it: 'prinff', 'prinffs'");
}
END_TEST

START_TEST(the_nearest_come_first)
{
	near_begin(&near, "position");
	near_offer(&near, "positxxn", "positxxn", NEAR_SCOPE);
	near_offer(&near, "positions", "positions", NEAR_PROGRAM);
	near_offer(&near, "positiom", "positiom", NEAR_SCOPE);
	near_offer(&near, "positiom", "positiom", NEAR_PROGRAM);
	near_offer(&near, "position", "app::position", NEAR_PROGRAM);
	ck_assert_str_eq(text(),
			 "; near it: 'app::position', 'positiom', 'positions'");
}
END_TEST

START_TEST(long_names_are_not_compared)
{
	char name[300];

	memset(name, 'a', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	ck_assert_str_eq(of(name, "a"), "");
	ck_assert_str_eq(of("a", name), "");
	near_offer(&near, "b", name, NEAR_SCOPE);
	ck_assert_uint_eq(near.n, 0);
	near_begin(&near, "abc");
	near_offer(&near, "abd", name, NEAR_SCOPE); /* what is shown is cut */
	ck_assert_uint_eq(strlen(near.best[0].name), NEAR_NAME - 1);
}
END_TEST

Suite *ask_near_suite(void)
{
	Suite *s = suite_create("ask_near");
	TCase *t = tcase_create("near");

	tcase_add_test(t, a_slip_is_recognised);
	tcase_add_test(t, another_name_is_not_suggested);
	tcase_add_test(t, a_library_has_less_to_suggest);
	tcase_add_test(t, the_nearest_come_first);
	tcase_add_test(t, long_names_are_not_compared);
	suite_add_tcase(s, t);
	return s;
}
