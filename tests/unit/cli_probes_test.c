/* tests/unit/cli_probes_test.c - what doctor makes of what it reads. */
#include "cli/probes.h"

#include <check.h>
#include <string.h>

START_TEST(field_finds_whole_names)
{
	static const char status[] = "Name:\tx\nSeccomp:\t2\n"
				     "Seccomp_filters:\t1\nEmpty:\n";
	char out[16] = "old";

	ck_assert(probe_field(status, "Seccomp", out, sizeof out));
	ck_assert_str_eq("2", out);
	ck_assert(probe_field(status, "Seccomp_filters", out, sizeof out));
	ck_assert_str_eq("1", out);
	ck_assert(probe_field(status, "Name", out, sizeof out));
	ck_assert_str_eq("x", out);
	ck_assert(probe_field(status, "Empty", out, sizeof out));
	ck_assert_str_eq("", out);
}
END_TEST

START_TEST(field_leaves_out_alone_if_there_is_none)
{
	char out[4] = "old";

	ck_assert(!probe_field("Name:\tx\n", "ame", out, sizeof out));
	ck_assert(!probe_field("Name:\tlonger\n", "Name", out, sizeof out));
	ck_assert(!probe_field("", "Name", out, sizeof out));
	ck_assert_str_eq("old", out);
}
END_TEST

START_TEST(hidepid_is_that_of_the_last_mount)
{
	char out[16] = "old";

	ck_assert(!probe_hidepid("", out, sizeof out));
	ck_assert(!probe_hidepid("proc /mnt/proc proc rw,hidepid=2 0 0\n", out,
				 sizeof out));
	ck_assert_str_eq("old", out);
	ck_assert(probe_hidepid("/dev/x / ext4 rw 0 0\n"
				"proc /proc proc rw,hidepid=2,gid=7 0 0\n",
				out, sizeof out));
	ck_assert_str_eq("2", out);
	ck_assert(probe_hidepid("proc /proc proc rw,hidepid=2 0 0\n"
				"proc /proc proc rw,relatime 0 0\n",
				out, sizeof out));
	ck_assert_str_eq("", out);
	ck_assert(probe_hidepid("proc /proc proc rw,hidepid=invisible 0 0", out,
				sizeof out));
	ck_assert_str_eq("invisible", out);
}
END_TEST

START_TEST(gdb_version_is_the_last_word_of_its_first_line)
{
	char out[8] = "old";

	ck_assert(!probe_gdb_version("", out, sizeof out));
	ck_assert(!probe_gdb_version("GNU gdb\n", out, 3));
	ck_assert(!probe_gdb_version("sh: gdb: broken 1.2\n", out, sizeof out));
	ck_assert(!probe_gdb_version("GNU gdb 12345678.9\n", out, sizeof out));
	ck_assert_str_eq("old", out);
	ck_assert(probe_gdb_version("GNU gdb (Debian 13.1-3) 13.1\nCopyright",
				    out, sizeof out));
	ck_assert_str_eq("13.1", out);
}
END_TEST

START_TEST(every_probe_has_a_name_of_its_own)
{
	size_t n = 0;

	for (; probes[n].key != NULL; n++) {
		ck_assert_ptr_nonnull(probes[n].title);
		ck_assert_ptr_nonnull(probes[n].attempt);
		for (size_t i = 0; i < n; i++)
			ck_assert_str_ne(probes[i].key, probes[n].key);
	}
	ck_assert_uint_ge(n, 15);
	ck_assert_uint_le(n, 22); /* with the verdict: one screen */
}
END_TEST

/* Whatever the machine, a probe says something, and says what to do if it
 * found something wrong. */
START_TEST(every_probe_answers)
{
	for (size_t i = 0; probes[i].key != NULL; i++) {
		struct finding f;

		trial_run(probes[i].attempt, PROBE_LIMIT_MS, &f);
		ck_assert_msg(f.value[0] != '\0', "%s", probes[i].key);
		if (f.state != FINDING_OK)
			ck_assert_msg(f.advice[0] != '\0', "%s: %s",
				      probes[i].key, f.value);
		ck_assert_msg(strstr(f.value, "the trial") == NULL, "%s: %s",
			      probes[i].key, f.value);
	}
}
END_TEST

Suite *cli_probes_suite(void)
{
	Suite *s = suite_create("cli_probes");
	TCase *t = tcase_create("probes");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, field_finds_whole_names);
	tcase_add_test(t, field_leaves_out_alone_if_there_is_none);
	tcase_add_test(t, hidepid_is_that_of_the_last_mount);
	tcase_add_test(t, gdb_version_is_the_last_word_of_its_first_line);
	tcase_add_test(t, every_probe_has_a_name_of_its_own);
	tcase_add_test(t, every_probe_answers);
	suite_add_tcase(s, t);
	return s;
}
