/* tests/unit/present_say_test.c - hark's words harm nobody. */
#include "present/say.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Standard error becomes a pipe; each test has a process of its own. */
static int from;

static void setup(void)
{
	int ends[2];

	ck_assert_int_eq(0, pipe2(ends, O_NONBLOCK));
	from = ends[0];
	ck_assert_int_eq(STDERR_FILENO, dup2(ends[1], STDERR_FILENO));
	close(ends[1]);
	say_quiet(false);
}

static void check_said(const char *want)
{
	char got[8192];
	ssize_t n = read(from, got, sizeof got - 1);

	got[n > 0 ? n : 0] = '\0';
	ck_assert_str_eq(got, want);
}

START_TEST(say_prefixes_one_line)
{
	say("%s is %d", "x", 7);
	say_error("bad");
	check_said("hark: x is 7\nhark: bad\n");
}
END_TEST

START_TEST(say_stays_one_line_whatever_it_says)
{
	say("a\nhark: forged %s", "\033]0;title\a");
	check_said("hark: a\\nhark: forged \\x1b]0;title\\x07\n");
}
END_TEST

START_TEST(say_quiet_leaves_errors)
{
	say_quiet(true);
	say("unheard");
	say_error("heard");
	check_said("hark: heard\n");
}
END_TEST

START_TEST(say_cuts_what_is_too_long)
{
	char much[5000], got[8192];
	ssize_t n;

	memset(much, '\001', sizeof much - 1); /* four letters each */
	much[sizeof much - 1] = '\0';
	say("%s", much);
	n = read(from, got, sizeof got);
	ck_assert_int_gt(n, 1000);
	ck_assert_int_le(n, 4096);
	ck_assert_int_eq('\n', got[n - 1]);
	ck_assert_ptr_null(memchr(got, '\n', (size_t)n - 1));
}
END_TEST

START_TEST(say_survives_a_reader_that_has_gone)
{
	sigset_t pending;

	close(from);
	say("to nobody"); /* SIGPIPE has its deadly default here */
	sigpending(&pending);
	ck_assert_int_eq(0, sigismember(&pending, SIGPIPE));
}
END_TEST

START_TEST(say_keeps_a_signal_that_was_there_before)
{
	sigset_t pipe, pending;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigprocmask(SIG_BLOCK, &pipe, NULL);
	raise(SIGPIPE);
	close(from);
	say("to nobody");
	sigpending(&pending);
	ck_assert_int_eq(1, sigismember(&pending, SIGPIPE));
}
END_TEST

START_TEST(say_survives_a_closed_stderr)
{
	close(STDERR_FILENO);
	errno = 42;
	say("to nobody");
	ck_assert_int_eq(42, errno);
}
END_TEST

START_TEST(say_gives_up_on_a_full_pipe)
{
	char block[4096] = {0};

	fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK);
	while (write(STDERR_FILENO, block, sizeof block) > 0)
		continue;
	say("no room");
}
END_TEST

Suite *present_say_suite(void)
{
	Suite *s = suite_create("present_say");
	TCase *t = tcase_create("say");

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, say_prefixes_one_line);
	tcase_add_test(t, say_stays_one_line_whatever_it_says);
	tcase_add_test(t, say_quiet_leaves_errors);
	tcase_add_test(t, say_cuts_what_is_too_long);
	tcase_add_test(t, say_survives_a_reader_that_has_gone);
	tcase_add_test(t, say_keeps_a_signal_that_was_there_before);
	tcase_add_test(t, say_survives_a_closed_stderr);
	tcase_add_test(t, say_gives_up_on_a_full_pipe);
	suite_add_tcase(s, t);
	return s;
}
