/* tests/unit/probe_options_test.c - what -x takes, and what it says to what it
 * does not take. */
#include "probe/options.h"

#include <check.h>
#include <string.h>

static struct options o;
static struct hark_err err;

static void setup(void)
{
	options_init(&o);
	err = (struct hark_err){0};
}

static void takes(const char *text)
{
	ck_assert_msg(options_parse(&o, text, &err) == 0, "%s: %s", text,
		      err.text);
}

static void refuses(const char *text, const char *why)
{
	struct options before = o;

	ck_assert_int_eq(-1, options_parse(&o, text, &err));
	ck_assert_int_eq(HARK_EINPUT, err.code);
	ck_assert_msg(strstr(err.text, why) != NULL, "%s: %s", text, err.text);
	ck_assert_int_eq(0, memcmp(&before, &o, sizeof o));
}

START_TEST(sizes_have_units)
{
	takes("bufsize=64k");
	ck_assert_uint_eq(64 << 10, o.bufsize);
	takes("bufsize=1G");
	ck_assert_uint_eq(1 << 30, o.bufsize);
	takes("aggsize=0x10000");
	ck_assert_uint_eq(65536, o.aggsize);
	takes("strsize=512");
	ck_assert_uint_eq(512, o.strsize);
	takes("nspec=3");
	ck_assert_uint_eq(3, o.nspec);
}
END_TEST

START_TEST(what_is_no_size_is_refused)
{
	static const char *const bad[] = {"bufsize=",
					  "bufsize=4x",
					  "bufsize=4mm",
					  "bufsize=-4m",
					  "bufsize=1",
					  "bufsize=2g",
					  "bufsize=99999999999999999999",
					  "strsize=8",
					  "strsize=8k",
					  "nspec=0",
					  "nspec=1k",
					  "specsize=m"};

	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
		refuses(bad[i], "it is a number");
}
END_TEST

START_TEST(rates_are_periods)
{
	takes("switchrate=10hz");
	ck_assert_uint_eq(100000000, o.switchrate);
	takes("switchrate=5ms");
	ck_assert_uint_eq(5000000, o.switchrate);
	takes("switchrate=2s");
	ck_assert_uint_eq(2000000000, o.switchrate);
	takes("switchrate=20");
	ck_assert_uint_eq(50000000, o.switchrate);
	refuses("switchrate=0hz", "it is a rate");
	refuses("switchrate=1ns", "it is a rate");
	refuses("switchrate=1d", "it is a rate");
	refuses("switchrate=fast", "it is a rate");
}
END_TEST

START_TEST(policies_have_names)
{
	takes("bufpolicy=ring");
	ck_assert_int_eq(COLLECT_RING, o.bufpolicy);
	takes("bufpolicy=fill");
	ck_assert_int_eq(COLLECT_FILL, o.bufpolicy);
	takes("bufpolicy=switch");
	ck_assert_int_eq(COLLECT_SWITCH, o.bufpolicy);
	refuses("bufpolicy=rings", "switch, fill or ring");
	ck_assert_uint_eq(EVALTIME_EXEC, o.evaltime);
	takes("evaltime=main");
	ck_assert_uint_eq(EVALTIME_MAIN, o.evaltime);
	takes("evaltime=preinit");
	ck_assert_uint_eq(EVALTIME_PREINIT, o.evaltime);
	takes("aggsortkey");
	takes("aggsortkeypos=11");
	ck_assert(o.order.by_key && !o.order.is_reversed);
	ck_assert_uint_eq(11, o.order.first_key);
	refuses("aggsortkeypos=12", "from 0 to 11");
	refuses("evaltime=", "exec, preinit, postinit or main");
	refuses("bufpolicy", "needs a value");
}
END_TEST

START_TEST(flags_need_no_value)
{
	takes("quiet");
	takes("flowindent=1");
	takes("destructive");
	ck_assert(o.quiet && o.flowindent && o.destructive);
	takes("quiet=0");
	ck_assert(!o.quiet);
	refuses("quiet=yes", "takes no value");
	refuses("bufsize", "needs a value");
}
END_TEST

START_TEST(unknown_names_are_told_what_there_is)
{
	char long_name[300];

	refuses("bufsiez=1m", "there are bufsize, bufpolicy, aggsize");
	refuses("", "there are bufsize");
	refuses("=1", "there are bufsize");
	refuses("buf", "destructive");
	memset(long_name, 'a', sizeof long_name);
	long_name[sizeof long_name - 1] = '\0';
	refuses(long_name, "there are bufsize");
}
END_TEST

START_TEST(the_board_is_divided_by_them)
{
	struct collect_geometry g;

	takes("bufsize=1m");
	takes("aggsize=2m");
	takes("dynvarsize=64k");
	takes("nspec=7");
	takes("specsize=8k");
	takes("bufpolicy=ring");
	options_geometry(&o, &g);
	ck_assert_uint_eq(1 << 20, g.ring_size);
	ck_assert_uint_eq(2 << 20, g.aggregation_size);
	ck_assert_uint_eq(64 << 10, g.array_size);
	ck_assert_uint_eq(7, g.n_speculations);
	ck_assert_uint_eq(8 << 10, g.speculation_size);
	ck_assert_uint_eq(COLLECT_RING, g.policy);
	ck_assert_uint_gt(g.max_threads, 0);
}
END_TEST

Suite *probe_options_suite(void)
{
	Suite *s = suite_create("probe_options");
	TCase *t = tcase_create("options");

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, sizes_have_units);
	tcase_add_test(t, what_is_no_size_is_refused);
	tcase_add_test(t, rates_are_periods);
	tcase_add_test(t, policies_have_names);
	tcase_add_test(t, flags_need_no_value);
	tcase_add_test(t, unknown_names_are_told_what_there_is);
	tcase_add_test(t, the_board_is_divided_by_them);
	suite_add_tcase(s, t);
	return s;
}
