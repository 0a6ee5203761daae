/* tests/unit/probe_hooks_test.c - what looks like a system call, and what is
 * one. The code is this program's own. */
#include "site/hooks.h"

#include "image/modules.h"

#include <check.h>
#include <unistd.h>

/* Numbers that no system call has: nothing else in this program looks like
 * these. The first one's bytes are part of another instruction. */
__asm__(".text\n"
	".type hooks_test_no_call, @function\n"
	"hooks_test_no_call:\n"
	"	mov	$0x1e61, %eax\n"
	"	mov	$0x11050f11, %ecx\n"
	"	ret\n"
	".size hooks_test_no_call, . - hooks_test_no_call\n"
	".skip 64, 0xcc\n"
	".type hooks_test_call, @function\n"
	"hooks_test_call:\n"
	"	mov	$0x1e62, %eax\n"
	"	syscall\n"
	"	ret\n"
	".size hooks_test_call, . - hooks_test_call\n");
extern const char hooks_test_no_call[], hooks_test_call[];

enum { NO_CALL_AT = 7, CALL_AT = 5 }; /* bytes into each of them */

static struct image *im;
static struct modules *modules;
static const struct module *self;
static struct survey *s;
static struct hark_err err;

static void setup(void)
{
	ck_assert_int_eq(image_new(&im, &err), 0);
	ck_assert_int_eq(modules_of_pid(im, getpid(), &modules, &err), 0);
	self = modules_find(modules, (uint64_t)hooks_test_call);
	ck_assert_ptr_nonnull(self);
	ck_assert_int_eq(survey_read(self->file, &s, &err), 0);
}

static void teardown(void)
{
	survey_free(s);
	modules_free(modules);
	image_free(im);
}

static uint64_t linked(const char *at)
{
	return (uint64_t)at - self->bias;
}

static bool is_1e61(uint64_t number)
{
	return number == 0x1e61;
}

static bool is_1e62(uint64_t number)
{
	return number == 0x1e62;
}

static bool is_1e63(uint64_t number)
{
	return number == 0x1e63;
}

START_TEST(a_call_is_likely_by_its_bytes)
{
	uint64_t at = s->start;

	ck_assert(hooks_likely(s, is_1e61, &at));
	ck_assert_uint_eq(at, linked(hooks_test_no_call) + NO_CALL_AT);
	at++;
	ck_assert(!hooks_likely(s, is_1e61, &at));
	at = s->start;
	ck_assert(hooks_likely(s, is_1e62, &at));
	ck_assert_uint_eq(at, linked(hooks_test_call) + CALL_AT);
	at = s->start;
	ck_assert(!hooks_likely(s, is_1e63, &at));
}
END_TEST

/* Wherever it lies: blocks of bytes are looked at together. */
START_TEST(a_call_is_likely_at_every_place)
{
	uint8_t bytes[200] = {0};
	struct survey *made;

	for (uint64_t k = 5; k + 2 <= sizeof bytes; k++) {
		uint64_t at = 0x1000;

		for (size_t i = 0; i < sizeof bytes; i++)
			bytes[i] = i % 2 == 0 ? 0x0f : 0x90;
		bytes[k - 5] = 0xb8;
		bytes[k - 4] = 0x62;
		bytes[k - 3] = 0x1e;
		bytes[k - 2] = bytes[k - 1] = 0;
		bytes[k] = 0x0f;
		bytes[k + 1] = 0x05;
		ck_assert_int_eq(
		    survey_of_bytes(bytes, 0x1000, sizeof bytes, &made, &err),
		    0);
		ck_assert(hooks_likely(made, is_1e62, &at));
		ck_assert_uint_eq(at, 0x1000 + k);
		survey_free(made);
	}
}
END_TEST

START_TEST(a_call_is_possible_where_an_instruction_starts)
{
	uint64_t known = 0;

	ck_assert_int_eq(hooks_possible(s, self->file, is_1e63, &err), 0);
	ck_assert_int_eq(hooks_possible(s, self->file, is_1e61, &err), 0);
	survey_forget(s);
	ck_assert_int_eq(hooks_possible(s, self->file, is_1e62, &err), 1);
	/* Nothing is known any more: what was looked at was not all. */
	for (uint64_t k = 0; k < s->len; k++)
		known += s->facts[k] != 0 || s->shapes[k] != 0;
	ck_assert_uint_eq(known, 0);
}
END_TEST

START_TEST(a_survey_of_some_functions_has_these)
{
	uint64_t at[2] = {linked(hooks_test_no_call) + NO_CALL_AT,
			  linked(hooks_test_call) + CALL_AT};

	ck_assert_uint_lt(at[0], at[1]);
	ck_assert_int_eq(survey_functions_with(s, self->file, at + 1, 1, &err),
			 0);
	ck_assert(survey_at(s, at[1]) & SURVEY_START);
	ck_assert_int_eq(survey_at(s, at[0]) & SURVEY_INSIDE, 0);
	survey_forget(s);
	ck_assert_int_eq(survey_functions_with(s, self->file, at, 2, &err), 0);
	ck_assert(survey_at(s, at[1]) & SURVEY_START);
	ck_assert_int_eq(survey_at(s, at[0]) & SURVEY_START, 0);
	ck_assert(survey_at(s, at[0]) & SURVEY_INSIDE);
	ck_assert(survey_at(s, linked(hooks_test_no_call)) & SURVEY_START);
}
END_TEST

Suite *site_hooks_suite(void)
{
	Suite *suite = suite_create("site_hooks");
	TCase *c = tcase_create("probe_hooks");

	tcase_set_timeout(c, 60);
	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, a_call_is_likely_by_its_bytes);
	tcase_add_test(c, a_call_is_likely_at_every_place);
	tcase_add_test(c, a_call_is_possible_where_an_instruction_starts);
	tcase_add_test(c, a_survey_of_some_functions_has_these);
	suite_add_tcase(suite, c);
	return suite;
}
