/* tests/unit/site_match_test.c - clauses and the probes that they mean, in
 * this very process. */
#include "script/script.h"
#include "site/match.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct image *image;
static struct modules *modules;
static struct listing *listing;
static struct script *script;
static struct match *match;
static struct hark_err err;

static void setup(void)
{
	ck_assert_int_eq(0, image_new(&image, &err));
	ck_assert_int_eq(0, modules_of_pid(image, getpid(), &modules, &err));
	ck_assert_int_eq(0, listing_new(modules, getpid(), &listing, &err));
}

static void teardown(void)
{
	match_free(match);
	script_free(script);
	listing_free(listing);
	modules_free(modules);
	image_free(image);
	match = NULL;
	script = NULL;
}

static int make(const char *text)
{
	char target[16];
	struct script_settings settings = {.target = target};

	snprintf(target, sizeof target, "%d", getpid());
	script = script_compile(text, strlen(text), &settings, &err);
	ck_assert_ptr_nonnull(script_program(script));
	return match_new(script_program(script), getpid(), listing, &match,
			 &err);
}

/* The clauses of the probe of that name: "0 2 ". */
static const char *clauses_of(const char *function, const char *name)
{
	static char text[256];
	struct probe p;
	uint32_t all[8];

	text[0] = '\0';
	for (size_t i = 0; i < listing_count(listing); i++) {
		size_t n;

		listing_get(listing, i, &p);
		if (strcmp(p.function, function) != 0 ||
		    strcmp(p.name, name) != 0)
			continue;
		ck_assert_str_eq("", text); /* it is there once */
		n = match_clauses(match, i, all, 8);
		ck_assert_uint_le(n, 8);
		for (size_t k = 0; k < n; k++)
			snprintf(text + strlen(text),
				 sizeof text - strlen(text), "%u ", all[k]);
	}
	return text;
}

START_TEST(clauses_keep_the_order_of_the_script)
{
	ck_assert_msg(
	    make("libc:qsort:entry { x = 1; } libc:qsort_r:entry { x = 2; } "
		 "pid$target:libc:qsort*:entry { x = 3; } "
		 "libc:qsort:entry { x = 4; }") == 0,
	    "%s", err.text);
	ck_assert_str_eq("0 2 3 ", clauses_of("qsort", "entry"));
	ck_assert_str_eq("1 2 ", clauses_of("qsort_r", "entry"));
}
END_TEST

START_TEST(a_clause_runs_once_a_hit)
{
	ck_assert_int_eq(0, make("libc:qsort:entry, libc:qs*:entry, "
				 "libc:qsort:entry { x = 1; }"));
	ck_assert_str_eq("0 ", clauses_of("qsort", "entry"));
}
END_TEST

START_TEST(another_name_is_another_probe)
{
	ck_assert_int_eq(0, make("libc:qsort:entry { x = 1; } libc:qsort:0 "
				 "{ x = 2; }"));
	ck_assert_str_eq("0 ", clauses_of("qsort", "entry"));
	ck_assert_str_eq("1 ", clauses_of("qsort", "0"));
	ck_assert_uint_eq(2, listing_count(listing));
}
END_TEST

START_TEST(clauses_without_an_instruction_are_passed_over)
{
	ck_assert_int_eq(0, make("BEGIN { x = 1; } tick-1s { x = 2; } "
				 "libc:qsort:entry, END { x = 3; }"));
	ck_assert_uint_eq(1, listing_count(listing));
	ck_assert_str_eq("2 ", clauses_of("qsort", "entry"));
}
END_TEST

START_TEST(as_many_as_there_is_room_for_but_all_are_counted)
{
	uint32_t one = 77;

	ck_assert_int_eq(0, make("libc:qsort:entry { x = 1; } "
				 "libc:qsort:entry { x = 2; }"));
	ck_assert_uint_eq(2, match_clauses(match, 0, &one, 1));
	ck_assert_uint_eq(0, one);
	ck_assert_uint_eq(0, match_clauses(match, 1, &one, 1));
}
END_TEST

START_TEST(one_description_that_names_nothing_is_an_error)
{
	ck_assert_int_eq(-1, make("libc:qsort:entry, libc:qsrot:entry { x = 1; "
				  "}"));
	ck_assert_int_eq(HARK_ENOENT, err.code);
	ck_assert_ptr_nonnull(strstr(err.text, "qsort"));
}
END_TEST

/* A function that is one trap of its own. */
__asm__(".text\n"
	".type probe_match_trap, @function\n"
	"probe_match_trap: int3\n"
	"ret\n"
	".size probe_match_trap, . - probe_match_trap\n");

START_TEST(what_cannot_be_probed_says_why)
{
	size_t refused;

	ck_assert_msg(make("libc:qsort:entry { x = 1; } "
			   "a.out:probe_match_trap:entry { x = 2; }") == 0,
		      "%s", err.text);
	ck_assert_int_eq(0, listing_make(listing, &err));
	ck_assert_int_eq(-1, match_check(match, listing, &refused, &err));
	ck_assert_ptr_nonnull(
	    strstr(err.text, "probe_match_trap:entry cannot be probed: "));
}
END_TEST

START_TEST(some_of_many_may_be_impossible)
{
	size_t refused;

	ck_assert_msg(make("a.out:probe_match_trap: { x = 1; }") == 0, "%s",
		      err.text);
	ck_assert_int_eq(0, listing_make(listing, &err));
	ck_assert_msg(match_check(match, listing, &refused, &err) == 0, "%s",
		      err.text);
	ck_assert_uint_eq(1, refused);
}
END_TEST

Suite *site_match_suite(void)
{
	Suite *s = suite_create("site_match");
	TCase *t = tcase_create("match");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, clauses_keep_the_order_of_the_script);
	tcase_add_test(t, a_clause_runs_once_a_hit);
	tcase_add_test(t, another_name_is_another_probe);
	tcase_add_test(t, clauses_without_an_instruction_are_passed_over);
	tcase_add_test(t, as_many_as_there_is_room_for_but_all_are_counted);
	tcase_add_test(t, one_description_that_names_nothing_is_an_error);
	tcase_add_test(t, what_cannot_be_probed_says_why);
	tcase_add_test(t, some_of_many_may_be_impossible);
	suite_add_tcase(s, t);
	return s;
}
