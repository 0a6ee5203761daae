/* tests/unit/image_names_test.c - a written name means the functions that it
 * should mean. */
#include "image/names.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define POP  "_ZN3app5QueueIiE3popEv"		    /* app::Queue<int>::pop() */
#define PUSH "_ZN3app5QueueISt4pairIicEE4pushES2_i" /* of pair<int, char> */
#define MAX  "_Z3maxIiET_S0_S0_"		    /* int max<int>(int, int) */
#define SIZE "_ZNK3app5Queue4sizeEv" /* app::Queue::size() const */
#define SHIFT                                                          \
	"_ZN3applsERiRKNS_1SE" /* app::operator<<(int&, app::S const&) \
				*/
#define CALL "_ZNK1FclEi"      /* F::operator()(int) const */
#define HIDDEN \
	"_ZN12_GLOBAL__N_16hiddenEv"   /* (anonymous namespace)::hidden() */
#define LAMBDA "_ZZ4mainENKUlvE_clEv"  /* main::{lambda()#1}::operator()() */
#define TAGGED "_ZN3app4nameB5cxx11Ev" /* app::name[abi:cxx11]() */

static const struct {
	const char *linked, *wish;
	bool partly, wholly;
} cases[] = {
    {"pop", "pop", true, true},
    {"popper", "pop", false, false},
    {"pop", "popper", false, false},
    {POP, POP, true, true},
    {POP, "pop", true, false},
    {POP, "Queue::pop", true, false},
    {POP, "Queue<int>::pop", true, false},
    {POP, "Queue< int >::pop", true, false},
    {POP, "Queue<char>::pop", false, false},
    {POP, "app::Queue::pop", true, true},
    {POP, "::app::Queue::pop", true, true},
    {POP, "app::Queue<int>::pop()", true, true},
    {POP, "pop()", true, false},
    {POP, "pop(int)", false, false},
    {POP, "app::pop", false, false},
    {POP, "op", false, false},
    {POP, "Queue", false, false},
    {POP, "a::app::Queue::pop", false, false},
    {PUSH, "Queue<std::pair<int,char>>::push", true, false},
    {PUSH, "push(std::pair<int, char>, int)", true, false},
    {PUSH, "push(std::pair<int, char>)", false, false},
    {MAX, "max", true, true},
    {MAX, "max<int>", true, true},
    {MAX, "max(int, int)", true, true},
    {MAX, "max<char>", false, false},
    {SIZE, "Queue::size", true, false},
    {SIZE, "Queue::size()", true, false},
    {SIZE, "Queue::size() const", true, false},
    {SHIFT, "operator<<", true, false},
    {SHIFT, "app::operator<<", true, true},
    {SHIFT, "operator<", false, false},
    {SHIFT, "operator<<(int&, app::S const&)", true, false},
    {CALL, "operator()", true, false},
    {CALL, "F::operator()", true, true},
    {CALL, "F::operator()(int)", true, true},
    {CALL, "F::operator()(char)", false, false},
    {HIDDEN, "hidden", true, false},
    {HIDDEN, "(anonymous namespace)::hidden", true, true},
    {LAMBDA, "operator()", true, false},
    {TAGGED, "app::name", true, true},
    {"_Z3foov.constprop.0", "foo", true, true},
    {"_Z3foov.isra.0.constprop.1", "foo()", true, true},
    {"_Z3foov.cold", "foo", false, false},
    {"_Z3foov.part.0", "foo", false, false},
    {"foo.constprop.0", "foo", true, true},
    {"foo.constprop.0", "foo.constprop.0", true, true},
    {"foo.cold", "foo", false, false},
    {"foo.cold", "foo.cold", true, true},
    {POP, "", false, false},
    {POP, "::", false, false},
    {POP, "<", false, false},
    {POP, "pop(", false, false},
    {POP, "Queue<int::pop", false, false},
};

START_TEST(written_names_mean_functions)
{
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		ck_assert_msg(names_mean(cases[i].linked, cases[i].wish,
					 false) == cases[i].partly,
			      "%s as a part of %s", cases[i].wish,
			      cases[i].linked);
		ck_assert_msg(names_mean(cases[i].linked, cases[i].wish,
					 true) == cases[i].wholly,
			      "%s as all of %s", cases[i].wish,
			      cases[i].linked);
	}
}
END_TEST

static const char *last(const char *wish)
{
	static char text[64];
	size_t len;
	const char *at = names_last(wish, &len);

	snprintf(text, sizeof text, "%.*s", (int)len, at);
	return text;
}

START_TEST(the_last_part_is_the_plain_name)
{
	ck_assert_str_eq(last("pop"), "pop");
	ck_assert_str_eq(last("app::Queue<a::b>::pop<c::d>(int)"), "pop");
	ck_assert_str_eq(last("operator<<"), "operator<<");
	ck_assert_str_eq(last("F::operator()(int)"), "operator()");
	ck_assert_str_eq(last("operators"), "operators");
	ck_assert_str_eq(last(""), "");
	ck_assert_str_eq(last("a::"), "");
}
END_TEST

Suite *image_names_suite(void)
{
	Suite *s = suite_create("image_names");
	TCase *t = tcase_create("names");

	tcase_add_test(t, written_names_mean_functions);
	tcase_add_test(t, the_last_part_is_the_plain_name);
	suite_add_tcase(s, t);
	return s;
}
