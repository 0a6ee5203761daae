/* tests/unit/present_grid_test.c - columns stand under each other. */
#include "present/grid.h"

#include "outside/faults.h"

#include <check.h>
#include <stdlib.h>

static char *printed(const struct grid *g, bool colored, size_t width)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	ck_assert_ptr_nonnull(out);
	grid_print(g, out, colored, width);
	fclose(out);
	return text;
}

static void check_printed(const struct grid *g, bool colored, size_t width,
			  const char *want)
{
	char *text = printed(g, colored, width);

	ck_assert_str_eq(text, want);
	free(text);
}

static int add(struct grid *g, const char *text)
{
	return grid_cell(g, TERM_PLAIN, NULL, "%s", text);
}

START_TEST(grid_aligns_columns)
{
	static const enum grid_align align[] = {GRID_LEFT, GRID_RIGHT,
						GRID_LEFT};
	struct grid *g = NULL;

	ck_assert_int_eq(0, grid_new(3, align, &g, NULL));
	add(g, "name"), add(g, "7"), add(g, "x");
	add(g, "n"), add(g, "1234"), add(g, "yy");
	check_printed(g, false, 80, "name     7  x\nn     1234  yy\n");
	grid_free(g);
}
END_TEST

START_TEST(grid_breaks_the_last_column)
{
	struct grid *g = NULL;

	ck_assert_int_eq(0, grid_new(2, NULL, &g, NULL));
	add(g, "ab"), add(g, "one two three four five six seven");
	check_printed(g, false, 24,
		      "ab  one two three four\n    five six seven\n");
	/* too narrow a terminal is no reason to print one word a line */
	check_printed(g, false, 5,
		      "ab  one two three four\n    five six seven\n");
	grid_free(g);
}
END_TEST

START_TEST(grid_escapes_and_still_aligns)
{
	struct grid *g = NULL;

	ck_assert_int_eq(0, grid_new(2, NULL, &g, NULL));
	add(g, "a\033b"), add(g, "1");
	add(g, "\xc3\xbc"), add(g, "2");
	check_printed(g, false, 80, "a\\x1bb  1\n\xc3\xbc       2\n");
	grid_free(g);
}
END_TEST

START_TEST(grid_colors_cells_but_not_gaps)
{
	struct grid *g = NULL;

	ck_assert_int_eq(0, grid_new(2, NULL, &g, NULL));
	grid_cell(g, TERM_GOOD, NULL, "ok"), add(g, "1");
	grid_cell(g, TERM_BAD, NULL, "%s", "bad"), add(g, "2");
	check_printed(g, true, 80,
		      "\033[32mok\033[0m   1\n\033[1;31mbad\033[0m  2\n");
	grid_free(g);
}
END_TEST

START_TEST(grid_without_rows_prints_nothing)
{
	struct grid *g = NULL;

	ck_assert_int_eq(0, grid_new(2, NULL, &g, NULL));
	check_printed(g, false, 80, "");
	grid_free(g);
	grid_free(NULL);
}
END_TEST

START_TEST(grid_survives_every_failed_allocation)
{
	long k;
	int rc = -1;

	for (k = 1; rc < 0; k++) {
		struct grid *g = NULL;
		struct hark_err err = {0};

		ck_assert_int_lt(k, 100);
		faults_set(k);
		rc = grid_new(1, NULL, &g, &err);
		for (int i = 0; rc == 0 && i < 20; i++)
			rc = grid_cell(g, TERM_PLAIN, &err, "%d", i);
		faults_set(0);
		ck_assert_int_eq(rc == 0 ? HARK_OK : HARK_ENOMEM, err.code);
		grid_free(g);
	}
	ck_assert_int_gt(k, 20);
}
END_TEST

Suite *present_grid_suite(void)
{
	Suite *s = suite_create("present_grid");
	TCase *t = tcase_create("grid");

	tcase_add_test(t, grid_aligns_columns);
	tcase_add_test(t, grid_breaks_the_last_column);
	tcase_add_test(t, grid_escapes_and_still_aligns);
	tcase_add_test(t, grid_colors_cells_but_not_gaps);
	tcase_add_test(t, grid_without_rows_prints_nothing);
	tcase_add_test(t, grid_survives_every_failed_allocation);
	suite_add_tcase(s, t);
	return s;
}
