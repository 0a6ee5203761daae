/* What was touched is known, whether it is in memory or in swap. */
#include "record/touched.h"

#include <check.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGES = 40 };

static uint8_t *pages(void)
{
	uint8_t *at =
	    mmap(NULL, (size_t)PAGES * TOUCHED_PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ck_assert(at != MAP_FAILED);
	madvise(at, (size_t)PAGES * TOUCHED_PAGE, MADV_NOHUGEPAGE);
	return at;
}

static void expect(const uint8_t *at, const char *want)
{
	uint8_t out[PAGES];
	char got[PAGES + 1] = "";

	memset(out, 0xee, sizeof out);
	touched_pages(at, PAGES, out);
	for (int i = 0; i < PAGES; i++)
		got[i] = (out[i] & 1) ? 'x' : '.';
	ck_assert_str_eq(got, want);
}

START_TEST(what_is_written_is_touched)
{
	uint8_t *at = pages();

	expect(at, "........................................");
	at[3 * TOUCHED_PAGE + 5] = 1;
	at[39 * TOUCHED_PAGE] = 1;
	expect(at, "...x...................................x");
	madvise(at + 3 * TOUCHED_PAGE, TOUCHED_PAGE, MADV_DONTNEED);
	expect(at, ".......................................x");
	munmap(at, (size_t)PAGES * TOUCHED_PAGE);
}
END_TEST

/* Where there is no swap, the kernel keeps them: the same is to be seen. */
START_TEST(what_is_in_swap_is_touched)
{
	uint8_t *at = pages();

	at[7 * TOUCHED_PAGE] = at[8 * TOUCHED_PAGE] = 1;
	madvise(at, (size_t)PAGES * TOUCHED_PAGE, MADV_PAGEOUT);
	expect(at, ".......xx...............................");
	munmap(at, (size_t)PAGES * TOUCHED_PAGE);
}
END_TEST

START_TEST(a_child_looks_at_its_own)
{
	uint8_t *at = pages();
	int status;
	pid_t child;

	at[1 * TOUCHED_PAGE] = 1;
	expect(at, ".x......................................");
	child = fork();
	if (child == 0) {
		at[2 * TOUCHED_PAGE] = 1;
		madvise(at, (size_t)PAGES * TOUCHED_PAGE, MADV_PAGEOUT);
		expect(at, ".xx.....................................");
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	expect(at, ".x......................................");
	munmap(at, (size_t)PAGES * TOUCHED_PAGE);
}
END_TEST

START_TEST(an_entry_of_a_page_in_swap_says_so)
{
	const uint64_t entries[] = {0,		1ull << 63, 1ull << 62,
				    1ull << 61, 1ull << 55, 3ull << 62 | 12345};
	uint8_t out[] = {0, 0, 0, 1, 0, 0};

	touched_add(entries, 6, out);
	ck_assert_int_eq(0, memcmp(out, (uint8_t[]){0, 0, 1, 1, 0, 1}, 6));
}
END_TEST

Suite *record_touched_suite(void)
{
	Suite *s = suite_create("record_touched");
	TCase *t = tcase_create("touched");

	tcase_add_test(t, what_is_written_is_touched);
	tcase_add_test(t, what_is_in_swap_is_touched);
	tcase_add_test(t, a_child_looks_at_its_own);
	tcase_add_test(t, an_entry_of_a_page_in_swap_says_so);
	suite_add_tcase(s, t);
	return s;
}
