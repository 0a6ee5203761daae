/* tests/unit/present_term_test.c - who gets colour, and how wide it is. */
#include "present/term.h"

#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int terminal; /* the near end of a pseudo-terminal */

static void setup(void)
{
	int far = posix_openpt(O_RDWR | O_NOCTTY);

	ck_assert_int_ge(far, 0);
	ck_assert_int_eq(0, grantpt(far));
	ck_assert_int_eq(0, unlockpt(far));
	terminal = open(ptsname(far), O_RDWR | O_NOCTTY);
	ck_assert_int_ge(terminal, 0);
	unsetenv("NO_COLOR");
	unsetenv("COLUMNS");
	setenv("TERM", "xterm", 1);
}

START_TEST(color_goes_to_terminals_only)
{
	int null = open("/dev/null", O_WRONLY);

	ck_assert(term_is_colored(terminal, TERM_AUTO));
	ck_assert(!term_is_colored(null, TERM_AUTO));
}
END_TEST

START_TEST(color_respects_the_environment)
{
	setenv("NO_COLOR", "1", 1);
	ck_assert(!term_is_colored(terminal, TERM_AUTO));
	setenv("NO_COLOR", "", 1); /* empty counts as unset */
	ck_assert(term_is_colored(terminal, TERM_AUTO));
	setenv("TERM", "dumb", 1);
	ck_assert(!term_is_colored(terminal, TERM_AUTO));
	unsetenv("TERM");
	ck_assert(!term_is_colored(terminal, TERM_AUTO));
}
END_TEST

START_TEST(color_obeys_a_wish_before_all)
{
	int null = open("/dev/null", O_WRONLY);

	setenv("NO_COLOR", "1", 1);
	ck_assert(term_is_colored(null, TERM_ALWAYS));
	unsetenv("NO_COLOR");
	ck_assert(!term_is_colored(terminal, TERM_NEVER));
}
END_TEST

START_TEST(every_style_begins_and_ends)
{
	for (enum term_style s = TERM_PLAIN; s < TERM_STYLE_MAX; s++) {
		bool empty = s == TERM_PLAIN;

		ck_assert_str_eq("", term_on(s, false));
		ck_assert_str_eq("", term_off(s, false));
		ck_assert_int_eq(empty, term_on(s, true)[0] == '\0');
		ck_assert_int_eq(empty, term_off(s, true)[0] == '\0');
	}
}
END_TEST

START_TEST(width_is_the_terminals)
{
	struct winsize size = {.ws_row = 24, .ws_col = 132};

	ck_assert_int_eq(0, ioctl(terminal, TIOCSWINSZ, &size));
	setenv("COLUMNS", "50", 1);
	ck_assert_uint_eq(132, term_width(terminal));
	size.ws_col = 0; /* it does not know */
	ck_assert_int_eq(0, ioctl(terminal, TIOCSWINSZ, &size));
	ck_assert_uint_eq(80, term_width(terminal));
}
END_TEST

START_TEST(width_elsewhere_is_said_or_usual)
{
	int null = open("/dev/null", O_WRONLY);

	ck_assert_uint_eq(80, term_width(null));
	setenv("COLUMNS", "50", 1);
	ck_assert_uint_eq(50, term_width(null));
	setenv("COLUMNS", "-7", 1);
	ck_assert_uint_eq(80, term_width(null));
	setenv("COLUMNS", "three", 1);
	ck_assert_uint_eq(80, term_width(null));
}
END_TEST

Suite *present_term_suite(void)
{
	Suite *s = suite_create("present_term");
	TCase *t = tcase_create("term");

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, color_goes_to_terminals_only);
	tcase_add_test(t, color_respects_the_environment);
	tcase_add_test(t, color_obeys_a_wish_before_all);
	tcase_add_test(t, every_style_begins_and_ends);
	tcase_add_test(t, width_is_the_terminals);
	tcase_add_test(t, width_elsewhere_is_said_or_usual);
	suite_add_tcase(s, t);
	return s;
}
