/* tests/unit/probe_errno_test.c - where errno is, in this very thread. */
#include "probe/errno_place.h"

#include <check.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

START_TEST(it_is_where_the_library_says)
{
	struct hark_err err;
	struct modules *m;
	struct image *im;
	char *fs;

	__asm__("mov %%fs:0, %0" : "=r"(fs));
	ck_assert_int_eq(0, image_new(&im, &err));
	ck_assert_int_eq(0, modules_of_pid(im, getpid(), &m, &err));
	ck_assert_ptr_eq((char *)&errno, fs + errno_place(m, getpid()));
	modules_free(m);
	image_free(im);
}
END_TEST

static int64_t place_of(const char *bytes, size_t len, int64_t *at)
{
	uint8_t code[ERRNO_CODE] = {0};

	memcpy(code, bytes, len);
	return errno_place_of_code(code, at);
}
#define PLACE(bytes, at) place_of(bytes, sizeof bytes - 1, at)

START_TEST(every_way_to_write_it_is_read)
{
	int64_t at;

	ck_assert_int_eq(0, PLACE("\x48\x8b\x05\x10\0\0\0"
				  "\x64\x48\x03\x04\x25\0\0\0\0\xc3",
				  &at));
	ck_assert_int_eq(0x17, at);
	ck_assert_int_eq(0, PLACE("\xf3\x0f\x1e\xfa\x48\x8b\x05\x10\0\0\0"
				  "\x64\x48\x03\x04\x25\0\0\0\0\xc3",
				  &at));
	ck_assert_int_eq(0x1b, at);
	ck_assert_int_eq(-64, PLACE("\x48\xc7\xc0\xc0\xff\xff\xff"
				    "\x64\x48\x03\x04\x25\0\0\0\0\xc3",
				    &at));
	ck_assert_int_eq(0, at);
	ck_assert_int_eq(0x34, PLACE("\x64\x48\x8b\x04\x25\0\0\0\0"
				     "\x48\x83\xc0\x34\xc3",
				     &at));
	ck_assert_int_eq(-256, PLACE("\x64\x48\x8b\x04\x25\0\0\0\0"
				     "\x48\x05\x00\xff\xff\xff\xc3",
				     &at));
}
END_TEST

START_TEST(other_code_is_not_believed)
{
	int64_t at;

	ck_assert_int_eq(0, PLACE("\x48\x8b\x05\x10\0\0\0\xc3", &at));
	ck_assert_int_eq(0, at);
	ck_assert_int_eq(0, PLACE("\x64\x48\x8b\x04\x25\0\0\0\0\xc3", &at));
	ck_assert_int_eq(0, at);
	ck_assert_int_eq(0, PLACE("\x64\x48\x8b\x04\x25\x08\0\0\0"
				  "\x48\x83\xc0\x34\xc3",
				  &at));
}
END_TEST

Suite *probe_errno_suite(void)
{
	Suite *s = suite_create("probe_errno");
	TCase *t = tcase_create("errno");

	tcase_add_test(t, it_is_where_the_library_says);
	tcase_add_test(t, every_way_to_write_it_is_read);
	tcase_add_test(t, other_code_is_not_believed);
	suite_add_tcase(s, t);
	return s;
}
