/* tests/unit/script_show_test.c - what is printed, letter by letter.
 *
 * Scripts are compiled for their tables; the bytes of records are made here
 * by hand. */
#include "script/aggregate.h"
#include "script/script.h"
#include "script/show.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct script *s;
static struct show show;
static uint64_t record[128];
static char *said;
static size_t said_len;

static FILE *fresh_stream(void)
{
	free(said);
	said = NULL;
	return open_memstream(&said, &said_len);
}

static void name(void *ctx, enum probe_kind how, uint64_t addr, char *out,
		 size_t size)
{
	(void)ctx;
	snprintf(out, size, "%s%llx", how == PROBE_ADDRESS ? "a`" : "f`",
		 (unsigned long long)addr);
}

static void compile(const char *text)
{
	struct script_settings settings = {.target = "1"};
	struct hark_err err;

	s = script_compile(text, strlen(text), &settings, &err);
	ck_assert_ptr_nonnull(script_program(s));
	show = (struct show){.program = script_program(s), .name = name};
}

static const char *says(const char *text, const uint64_t *words, unsigned n)
{
	struct probe_entry *e = (struct probe_entry *)(void *)record;
	FILE *f = fresh_stream();
	int rc;

	compile(text);
	e->action = 0;
	e->size = 8 + 8 * n;
	memcpy(record + 1, words, 8 * n);
	rc = show_entry(&show, e, e->size, f);
	fclose(f);
	script_free(s);
	return rc == 0 ? said : "(refused)";
}

static const char *number(const char *format, int64_t value)
{
	char text[200];

	snprintf(text, sizeof text, "BEGIN { printf(\"%s\", arg0); }", format);
	return says(text, (const uint64_t *)&value, 1);
}

START_TEST(numbers_are_formatted_as_by_printf)
{
	ck_assert_str_eq(number("%d", -5), "-5");
	ck_assert_str_eq(number("<%5d>", 42), "<   42>");
	ck_assert_str_eq(number("<%-5d>", 42), "<42   >");
	ck_assert_str_eq(number("<%05d>", 42), "<00042>");
	ck_assert_str_eq(number("%+d", 42), "+42");
	ck_assert_str_eq(number("%x", 255), "ff");
	ck_assert_str_eq(number("%#X", 255), "0XFF");
	ck_assert_str_eq(number("%o", 8), "10");
	ck_assert_str_eq(number("%u", -1), "18446744073709551615");
	ck_assert_str_eq(number("%lld%%", 7), "7%");
	ck_assert_str_eq(number("%c", 'q'), "q");
	ck_assert_str_eq(number("%p", 0x1f), "0x1f");
	ck_assert_str_eq(number("<%8a>", 0x1f), "<    a`1f>");
	ck_assert_str_eq(number("%A", 0x1f), "f`1f");
}
END_TEST

START_TEST(a_number_has_the_size_of_its_type)
{
	uint64_t minus = (uint64_t)-1;

	ck_assert_str_eq(
	    says("BEGIN { printf(\"%x\", (int)arg0); }", &minus, 1),
	    "ffffffff");
	ck_assert_str_eq(
	    says("BEGIN { trace((unsigned char)arg0); }", &minus, 1), "255");
	ck_assert_str_eq(says("BEGIN { trace(arg0); }", &minus, 1), "-1");
	ck_assert_str_eq(says("BEGIN { trace(timestamp); }", &minus, 1),
			 "18446744073709551615");
}
END_TEST

START_TEST(texts_have_widths_and_escapes)
{
	uint64_t words[2] = {0};

	words[0] = 3 | (uint64_t)'a' << 32 |
		   (uint64_t)'\n'
		       << 40 |
		   (uint64_t)0x80 << 48;
	ck_assert_str_eq(
	    says("BEGIN { printf(\"<%5s>\", execname); }", words, 1),
	    "<  a\n\x80>");
	ck_assert_str_eq(
	    says("BEGIN { printf(\"<%-4.1s>\", execname); }", words, 1),
	    "<a   >");
	ck_assert_str_eq(says("BEGIN { printf(\"%S\", execname); }", words, 1),
			 "a\\n\\200");
	ck_assert_str_eq(says("BEGIN { trace(execname); }", words, 1),
			 "a\n\x80");
}
END_TEST

START_TEST(stars_take_arguments)
{
	uint64_t words[3] = {6, 2, 5};

	ck_assert_str_eq(
	    says("BEGIN { printf(\"<%*.*d>\", arg0, arg1, arg2); }", words, 3),
	    "<    05>");
}
END_TEST

START_TEST(times_stacks_and_memory_are_shown)
{
	uint64_t ns = 1000000000ULL * 86399, stack[3] = {2, 0x10, 0x20};
	uint64_t bytes[1];

	setenv("TZ", "UTC", 1);
	tzset();
	ck_assert_str_eq(
	    says("BEGIN { printf(\"%Y\", walltimestamp); }", &ns, 1),
	    "1970 Jan  1 23:59:59");
	ck_assert_str_eq(says("BEGIN { ustack(4); }", stack, 3),
			 "\n              a`10\n              a`20\n");
	memcpy(bytes, "hi\0there", 8);
	ck_assert_str_eq(
	    says("BEGIN { tracemem(arg0, 3); }", bytes, 1),
	    "\n             0  1  2  3  4  5  6  7  8  9  a  b  c  "
	    "d  e  f  0123456789abcdef\n         0: 68 69 00      "
	    "                                   hi.\n");
}
END_TEST

START_TEST(damaged_entries_are_not_shown)
{
	uint64_t words[3] = {1000, 0, 0};

	ck_assert_str_eq(says("BEGIN { trace(execname); }", words, 3),
			 "(refused)");
	ck_assert_str_eq(says("BEGIN { ustack(4); }", words, 3), "(refused)");
	ck_assert_str_eq(says("BEGIN { trace(arg0); }", words, 3), "(refused)");
	ck_assert_str_eq(says("BEGIN { trace(arg0); }", words, 0), "(refused)");
}
END_TEST

/* -- Aggregations -- */

static uint64_t cells[AGGREGATE_CELLS_MAX];

static const char *row(const char *format, const uint64_t *key, uint32_t words,
		       int64_t normal)
{
	struct show_row r = {
	    .key = (const uint8_t *)key, .key_len = 8 * words, .cells = cells};
	FILE *f = fresh_stream();

	ck_assert_int_eq(
	    show_row(&show, &(struct show_column){0, normal}, 1, &r, format, f),
	    0);
	fclose(f);
	return said;
}

static void add(int64_t value)
{
	aggregate_update(probe_aggregations(show.program), cells, value, 1);
}

static void fresh(const char *text)
{
	compile(text);
	aggregate_init(probe_aggregations(show.program), cells);
}

START_TEST(a_quantize_is_a_picture)
{
	static const int values[] = {26, 24, 51, 77, 21};

	fresh("BEGIN { @ = quantize(arg0); }");
	for (unsigned i = 0; i < 5; i++)
		add(values[i]);
	ck_assert_str_eq(
	    row("", NULL, 0, 1),
	    " \n           value  ------------- Distribution ------------- "
	    "count    \n"
	    "               8 |                                         0      "
	    "  "
	    "\n"
	    "              16 |@@@@@@@@@@@@@@@@@@@@@@@@                 3      "
	    "  "
	    "\n"
	    "              32 |@@@@@@@@                                 1      "
	    "  "
	    "\n"
	    "              64 |@@@@@@@@                                 1      "
	    "  "
	    "\n"
	    "             128 |                                         0      "
	    "  "
	    "\n\n");
	script_free(s);
}
END_TEST

START_TEST(an_lquantize_names_what_is_beyond)
{
	fresh("BEGIN { @ = lquantize(arg0, 2, 10, 2); }");
	add(0x1080000000);
	ck_assert_str_eq(
	    row("", NULL, 0, 1),
	    " \n           value  ------------- Distribution ------------- "
	    "count    \n"
	    "               8 |                                         0      "
	    "  "
	    "\n"
	    "           >= 10 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 1      "
	    "  "
	    "\n\n");
	aggregate_init(probe_aggregations(show.program), cells);
	add(-5);
	ck_assert_ptr_nonnull(
	    strstr(row("", NULL, 0, 1), "             < 2 |@"));
	script_free(s);
}
END_TEST

START_TEST(rows_have_keys_and_formats)
{
	uint64_t key[2] = {2 | (uint64_t)'l' << 32 | (uint64_t)'s' << 40, 7};

	fresh("BEGIN { @[execname, arg0] = sum(arg1); }");
	add(2500);
	ck_assert_str_eq(row("", key, 2, 1),
			 "  ls                                                "
			 "                7             2500\n");
	ck_assert_str_eq(row("%s/%d = %@d!\n", key, 2, 1), "ls/7 = 2500!\n");
	ck_assert_str_eq(row("%-4s|%@5d", key, 2, 1000), "ls  |    2");
	ck_assert_str_eq(row("%@x", key, 2, 0), "9c4");
	script_free(s);
}
END_TEST

START_TEST(rows_are_sorted_by_value)
{
	uint64_t value[3] = {30, 10, 20};
	struct show_row rows[3];

	fresh("BEGIN { @ = sum(arg0); }");
	for (unsigned i = 0; i < 3; i++)
		rows[i] = (struct show_row){.cells = &value[i]};
	show_sort(show.program, 0, (struct show_order){0}, rows, 3);
	ck_assert_ptr_eq(rows[0].cells, &value[1]);
	ck_assert_ptr_eq(rows[1].cells, &value[2]);
	ck_assert_ptr_eq(rows[2].cells, &value[0]);
	script_free(s);
}
END_TEST

START_TEST(rows_are_sorted_by_keys)
{
	uint64_t one = 1;
	int64_t keys[3][2] = {{1, 256}, {0, -3}, {1, 2}};
	struct show_row rows[3];

	fresh("BEGIN { @[arg0, (int)arg1] = count(); }");
	for (unsigned i = 0; i < 3; i++)
		rows[i] = (struct show_row){.key = (const uint8_t *)keys[i],
					    .key_len = sizeof keys[i],
					    .cells = &one};
	show_sort(show.program, 0, (struct show_order){0}, rows, 3);
	ck_assert_ptr_eq(rows[0].key, keys[1]);
	ck_assert_ptr_eq(rows[1].key, keys[2]);
	ck_assert_ptr_eq(rows[2].key, keys[0]);
	show_sort(show.program, 0, (struct show_order){.is_reversed = true},
		  rows, 3);
	ck_assert_ptr_eq(rows[0].key, keys[0]);
	show_sort(show.program, 0, (struct show_order){.first_key = 1}, rows,
		  3);
	ck_assert_ptr_eq(rows[0].key, keys[1]);
	ck_assert_ptr_eq(rows[2].key, keys[0]);
	rows[1].key_len = 8; /* damaged: anyhow, but to the end */
	show_sort(show.program, 0, (struct show_order){.by_key = true}, rows,
		  3);
	script_free(s);
}
END_TEST

Suite *script_show_suite(void)
{
	Suite *suite = suite_create("probe_show");
	TCase *t = tcase_create("show");

	tcase_add_test(t, numbers_are_formatted_as_by_printf);
	tcase_add_test(t, a_number_has_the_size_of_its_type);
	tcase_add_test(t, texts_have_widths_and_escapes);
	tcase_add_test(t, stars_take_arguments);
	tcase_add_test(t, times_stacks_and_memory_are_shown);
	tcase_add_test(t, damaged_entries_are_not_shown);
	tcase_add_test(t, a_quantize_is_a_picture);
	tcase_add_test(t, an_lquantize_names_what_is_beyond);
	tcase_add_test(t, rows_have_keys_and_formats);
	tcase_add_test(t, rows_are_sorted_by_value);
	tcase_add_test(t, rows_are_sorted_by_keys);
	suite_add_tcase(suite, t);
	return suite;
}
