/* tests/unit/image_demangle_test.c - names become what was written, and
 * crafted ones cannot harm. */
#include "image/demangle.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct {
	const char *name, *full, *shortly;
} names[] = {
    {"_Z3foov", "foo()", "foo"},
    {"_ZN3Foo3barEi", "Foo::bar(int)", "Foo::bar"},
    {"_ZNSt6vectorIiSaIiEE9push_backEOi",
     "std::vector<int, std::allocator<int> >::push_back(int&&)",
     "std::vector<int, std::allocator<int> >::push_back"},
    {"_ZN3FooC4Ev", "Foo::Foo()", "Foo::Foo"},
    {"_ZSt4endlIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_@GLIBCXX_3.4",
     "std::basic_ostream<char, std::char_traits<char> >& std::endl<char, "
     "std::char_traits<char> >(std::basic_ostream<char, "
     "std::char_traits<char> >&)@GLIBCXX_3.4",
     "std::endl<char, std::char_traits<char> >@GLIBCXX_3.4"},
    {"_ZN3foo3barEv.cold", "foo::bar() [clone .cold]", NULL},
    {"_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const", NULL},
    /* Rust, as it was and as it is. */
    {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
     "core::fmt::Formatter::pad", NULL},
    {"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$"
     "$GT$3bar17h930b740aa94f1d3aE",
     "<Test + 'static as foo::Bar<Test>>::bar", NULL},
    {"_RNvCs1234_7mycrate3foo", "mycrate::foo", NULL},
    {"_RNvMNtCsaB_4core3fmtNtB2_9Formatter3pad", "<core::fmt::Formatter>::pad",
     NULL},
    {"_RINvNtC3std3mem8align_ofjdE", "std::mem::align_of::<usize, f64>", NULL},
};

START_TEST(names_are_as_they_were_written)
{
	char out[DEMANGLE_TEXT_MAX];

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		ck_assert_uint_eq(
		    demangle(names[i].name, DEMANGLE_FULL, out, sizeof out),
		    strlen(names[i].full));
		ck_assert_str_eq(out, names[i].full);
		if (names[i].shortly == NULL)
			continue;
		demangle(names[i].name, DEMANGLE_SHORT, out, sizeof out);
		ck_assert_str_eq(out, names[i].shortly);
	}
}
END_TEST

START_TEST(what_is_not_mangled_stays)
{
	static const char *const plain[] = {"main",
					    "",
					    "_",
					    "_Z",
					    "_R",
					    "_ZN",
					    "__libc_start_main",
					    "Z3foov",
					    "_ZN3fooE_",
					    "_init@VERS_1",
					    "@",
					    "_Z@x"};
	char out[64] = "";

	for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
		ck_assert_msg(
		    demangle(plain[i], DEMANGLE_FULL, out, sizeof out) == 0,
		    "%s became %s", plain[i], out);
}
END_TEST

START_TEST(what_does_not_fit_is_not_cut)
{
	char out[DEMANGLE_TEXT_MAX];
	size_t len = strlen("Foo::bar(int)");

	for (size_t size = 0; size <= len; size++)
		ck_assert_uint_eq(
		    demangle("_ZN3Foo3barEi", DEMANGLE_FULL, out, size), 0);
	ck_assert_uint_eq(
	    demangle("_ZN3Foo3barEi", DEMANGLE_FULL, out, len + 1), len);
}
END_TEST

/* -- Bombs -- */

static char bomb[3 * DEMANGLE_NAME_MAX];

static void start(const char *text)
{
	snprintf(bomb, sizeof bomb, "%s", text);
}

static void repeat(const char *text, size_t times)
{
	while (times-- > 0 && strlen(bomb) + strlen(text) < sizeof bomb)
		strcat(bomb, text);
}

/* Substitution i, as the ABI counts them. */
static void substitution(size_t i, char *out)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	if (i == 0)
		strcpy(out, "S_");
	else if (i <= 36)
		sprintf(out, "S%c_", digits[i - 1]);
	else
		sprintf(out, "S%c%c_", digits[(i - 1) / 36],
			digits[(i - 1) % 36]);
}

/* pair<pair<...>, pair<...>>: each level has twice the one before. */
static void doubling(const char *head, size_t levels)
{
	char sub[8], text[32];

	start(head);
	repeat("4pairIiiE", 1);
	for (size_t i = 0; i < levels; i++) {
		substitution(i + 1, sub);
		sprintf(text, "S_I%s%sE", sub, sub);
		repeat(text, 1);
	}
}

/* It may be understood or not, but soon, and within the buffer. */
static void defuse(void)
{
	static char out[DEMANGLE_TEXT_MAX + 1];
	clock_t before = clock();

	out[DEMANGLE_TEXT_MAX] = 'x';
	for (int how = DEMANGLE_FULL; how <= DEMANGLE_SHORT; how++)
		ck_assert_uint_lt(demangle(bomb, how, out, DEMANGLE_TEXT_MAX),
				  DEMANGLE_TEXT_MAX);
	ck_assert_int_eq(out[DEMANGLE_TEXT_MAX], 'x');
	ck_assert_int_lt(clock() - before, CLOCKS_PER_SEC);
}

START_TEST(bombs_do_not_explode)
{
	static const struct {
		const char *head, *body, *tail;
	} rows[] = {
	    {"_Z1f", "P", "i"},
	    {"_Z1f", "DpDp", "T_"},
	    {"_Z", "N", ""},
	    {"_ZN", "1aI", ""},
	    {"_Z1fI", "J", "E"},
	    {"_Z1fI", "1aIiE", "Ev"},
	    {"_Z1fIiEv", "RT_", ""},
	    {"_ZZ", "Z", "v"},
	    {"_Z1fv", "U1a", ""},
	    {"_ZN", "St", "E"},
	    {"_Zdl", "cv", "i"},
	    {"_Z1fM", "M", "1a"},
	    {"_R", "T", ""},
	    {"_RNvC", "1a", ""},
	    {"_RINvC1a1f", "TjB9_B9_", "E"},
	    {"_RY", "Y", ""},
	    {"_RNvC1a", "NvB2_", ""},
	    {"_ZN", "3foo", "17h0123456789abcdefE"},
	    {"_GLOBAL__sub_I_", "_Z", ""},
	    {"_Z1fDTcl", "cl", "E"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		for (size_t n = 1; n <= DEMANGLE_NAME_MAX; n = n * 3 + 1) {
			start(rows[i].head);
			repeat(rows[i].body, n);
			repeat(rows[i].tail, 1);
			defuse();
		}
}
END_TEST

START_TEST(doubling_names_are_measured_first)
{
	for (size_t levels = 1; levels < 200; levels += 13) {
		doubling("_Z1f", levels);
		defuse();
		doubling("_Z1fDp", levels); /* walked without printing */
		defuse();
		doubling("_Z1fIJEEvDp", levels);
		defuse();
	}
}
END_TEST

START_TEST(templates_times_references_fit_the_stack)
{
	start("_Z1fI");
	repeat("1aIiE", 300);
	repeat("Ev", 1);
	repeat("RT_", 800);
	defuse();
}
END_TEST

START_TEST(damaged_names_are_survived)
{
	unsigned seed = 1;

	for (int i = 0; i < 200000; i++) {
		size_t len;

		start(names[i % 12].name);
		len = strlen(bomb);
		for (int k = 0; k < 3; k++) {
			seed = seed * 1103515245 + 12345;
			bomb[2 + seed / 65536 % (len - 2)] =
			    "SITNEDpJXLRPKv0123_$"[seed / 256 % 20];
		}
		if (demangle(bomb, DEMANGLE_FULL, (char[DEMANGLE_TEXT_MAX]){0},
			     DEMANGLE_TEXT_MAX) >= DEMANGLE_TEXT_MAX)
			ck_abort_msg("%s", bomb);
	}
}
END_TEST

Suite *image_demangle_suite(void)
{
	Suite *s = suite_create("image_demangle");
	TCase *t = tcase_create("demangle");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, names_are_as_they_were_written);
	tcase_add_test(t, what_is_not_mangled_stays);
	tcase_add_test(t, what_does_not_fit_is_not_cut);
	tcase_add_test(t, bombs_do_not_explode);
	tcase_add_test(t, doubling_names_are_measured_first);
	tcase_add_test(t, templates_times_references_fit_the_stack);
	tcase_add_test(t, damaged_names_are_survived);
	suite_add_tcase(s, t);
	return s;
}
