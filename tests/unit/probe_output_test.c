/* tests/unit/probe_output_test.c - records as lines; and records that no clause
 * can have written. */
#include "probe/output.h"
#include "script/script.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Actions: printf, then exit. */
static const char text[] = "BEGIN { printf(\"%d|\", 1); exit(3); }";
static const struct output_site sites[] = {
    {"work", "entry", FLOW_ENTRY},
    {"work", "return", FLOW_RETURN},
};

static struct script *script;
static struct output *output;
static struct hark_err err;
static FILE *out;
static char *shown;
static size_t shown_len;
static unsigned faults;

static int take_fault(void *ctx, const struct board_record *r,
		      struct hark_err *e)
{
	(void)ctx;
	(void)r;
	(void)e;
	faults++;
	return 0;
}

static void make(bool quiet, bool flow)
{
	struct script_settings settings = {.target = "1"};
	struct output_plan plan = {.sites = sites,
				   .n_sites = 2,
				   .quiet = quiet,
				   .flowindent = flow,
				   .fault = take_fault};

	script = script_compile(text, sizeof text - 1, &settings, &err);
	plan.program = script_program(script);
	ck_assert_ptr_nonnull(plan.program);
	ck_assert_uint_eq(2, plan.program->actions.n);
	plan.out = out = open_memstream(&shown, &shown_len);
	ck_assert_int_eq(0, output_new(&plan, &output, &err));
	faults = 0;
}

static void teardown(void)
{
	output_free(output);
	script_free(script);
	fclose(out);
	free(shown);
}

static void show(uint32_t site, const void *entries, uint32_t len)
{
	struct board_record r = {
	    .pid = 1, .tid = 7, .site = site, .entries = entries, .len = len};

	ck_assert_int_eq(0, output_record(output, &r, &err));
	ck_assert_int_eq(0, output_flush(output, &err));
}

struct entry {
	struct probe_entry head;
	uint64_t value;
};

static void show_one(uint32_t action, uint32_t size, uint64_t value)
{
	struct entry e = {{action, size}, value};

	show(0, &e, sizeof e);
}

START_TEST(quiet_is_what_the_script_says)
{
	make(true, false);
	show_one(0, 16, 42);
	show_one(0, 16, 43);
	ck_assert_str_eq("42|43|", shown);
}
END_TEST

START_TEST(else_lines_say_where_it_comes_from)
{
	make(false, false);
	show_one(0, 16, 42);
	ck_assert_str_eq(
	    "    TID     ID                    FUNCTION:NAME\n"
	    "      7      0                       work:entry 42|\n",
	    shown);
}
END_TEST

START_TEST(or_they_are_indented)
{
	struct entry e = {{0, 16}, 1};

	make(false, true);
	show(0, &e, sizeof e);
	show(0, &e, sizeof e);
	show(1, &e, sizeof e);
	ck_assert_str_eq(
	    "    TID FUNCTION\n"
	    "      7 -> work                                   1|\n"
	    "      7   -> work                                 1|\n"
	    "      7   <- work                                 1|\n",
	    shown);
}
END_TEST

START_TEST(damaged_records_are_counted)
{
	static const struct {
		uint32_t action, size;
	} bad[] = {{0, 0},  {0, 4},	      {0, 15},	       {0, 24}, {0, 8},
		   {2, 16}, {UINT32_MAX, 16}, {0, UINT32_MAX}, {0, ~7U}};
	struct entry e = {{0, 16}, 1};

	make(true, false);
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
		show_one(bad[i].action, bad[i].size, 1);
	show(2, &e, sizeof e);
	show(UINT32_MAX, &e, sizeof e);
	show(0, &e, 7);
	show(0, &e, 9);
	ck_assert_str_eq("", shown);
	ck_assert_uint_ge(output_totals(output).damaged,
			  sizeof bad / sizeof *bad + 4);
}
END_TEST

START_TEST(behind_exit_nothing_is_shown_but_END)
{
	int status = -1;

	make(true, false);
	show_one(0, 16, 1);
	ck_assert(!output_has_exit(output, &status));
	show_one(1, 16, 259);
	ck_assert(output_has_exit(output, &status));
	ck_assert_int_eq(3, status);
	show_one(0, 16, 2);
	show_one(1, 16, 4);
	ck_assert_uint_eq(2, output_totals(output).late);
	output_after_exit(output);
	show_one(0, 16, 3);
	show_one(1, 16, 5);
	ck_assert(output_has_exit(output, &status));
	ck_assert_int_eq(3, status);
	ck_assert_str_eq("1|3|", shown);
}
END_TEST

START_TEST(faults_are_passed_on)
{
	struct board_record r = {.is_fault = 1};

	make(true, false);
	output_record(output, &r, &err);
	r.site = 9;
	output_record(output, &r, &err);
	ck_assert_uint_eq(1, faults);
}
END_TEST

Suite *probe_output_suite(void)
{
	Suite *s = suite_create("probe_output");
	TCase *t = tcase_create("output");

	tcase_add_checked_fixture(t, NULL, teardown);
	tcase_add_test(t, quiet_is_what_the_script_says);
	tcase_add_test(t, else_lines_say_where_it_comes_from);
	tcase_add_test(t, or_they_are_indented);
	tcase_add_test(t, damaged_records_are_counted);
	tcase_add_test(t, behind_exit_nothing_is_shown_but_END);
	tcase_add_test(t, faults_are_passed_on);
	suite_add_tcase(s, t);
	return s;
}
