/* tests/unit/probe_errno_test.c - errno, as C libraries find it. */
#include "probe/errno_place.h"

#include <check.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { AT = 0x1000, SLOT = 0x2000, OFFSET = -88 };

static bool word(void *ctx, uint64_t addr, uint64_t *out)
{
	(void)ctx;
	*out = (uint64_t)OFFSET;
	return addr == SLOT;
}

#define PLACE(...)                                     \
	errno_place_of((const uint8_t[]){__VA_ARGS__}, \
		       sizeof((const uint8_t[]){__VA_ARGS__}), AT, word, NULL)
/* mov %fs:0, %rax; add %fs:0, %rax; of rdx */
#define MOV_FS	   0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0
#define ADD_FS	   0x64, 0x48, 0x03, 0x04, 0x25, 0, 0, 0, 0
#define MOV_FS_RDX 0x64, 0x48, 0x8b, 0x14, 0x25, 0, 0, 0, 0
#define RET	   0xc3

START_TEST(a_word_of_the_loader_and_the_base)
{
	/* mov SLOT(%rip), %rax; and with endbr64 and a frame */
	ck_assert_int_eq(
	    OFFSET, PLACE(0x48, 0x8b, 0x05, 0xf9, 0x0f, 0, 0, ADD_FS, RET));
	ck_assert_int_eq(OFFSET, PLACE(0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89,
				       0xe5, 0x48, 0x8b, 0x05, 0xf1, 0x0f, 0, 0,
				       ADD_FS, 0x5d, RET));
	/* mov %fs:0, %rax; add SLOT(%rip), %rax */
	ck_assert_int_eq(
	    OFFSET, PLACE(MOV_FS, 0x48, 0x03, 0x05, 0xf0, 0x0f, 0, 0, RET));
	/* mov SLOT(%rip), %rax; mov %fs:0, %rdx; add %rdx, %rax, lea */
	ck_assert_int_eq(OFFSET, PLACE(0x48, 0x8b, 0x05, 0xf9, 0x0f, 0, 0,
				       MOV_FS_RDX, 0x48, 0x01, 0xd0, RET));
	ck_assert_int_eq(OFFSET,
			 PLACE(0x48, 0x8b, 0x05, 0xf9, 0x0f, 0, 0, MOV_FS_RDX,
			       0x48, 0x8d, 0x04, 0x10, RET));
}
END_TEST

START_TEST(a_constant_and_the_base)
{
	/* mov $-64, %rax; add %fs:0, %rax */
	ck_assert_int_eq(
	    -64, PLACE(0x48, 0xc7, 0xc0, 0xc0, 0xff, 0xff, 0xff, ADD_FS, RET));
	/* add $52, %rax; sub $64, %rax; lea 52(%rax), %rax; the long forms */
	ck_assert_int_eq(52, PLACE(MOV_FS, 0x48, 0x83, 0xc0, 0x34, RET));
	ck_assert_int_eq(-64, PLACE(MOV_FS, 0x48, 0x83, 0xe8, 0x40, RET));
	ck_assert_int_eq(52, PLACE(MOV_FS, 0x48, 0x8d, 0x40, 0x34, RET));
	ck_assert_int_eq(0x134, PLACE(MOV_FS, 0x48, 0x05, 0x34, 1, 0, 0, RET));
	ck_assert_int_eq(-0x134, PLACE(MOV_FS, 0x48, 0x2d, 0x34, 1, 0, 0, RET));
	/* mov %fs:0, %rdx; lea 52(%rdx), %rax */
	ck_assert_int_eq(52, PLACE(MOV_FS_RDX, 0x48, 0x8d, 0x42, 0x34, RET));
}
END_TEST

START_TEST(anything_else_is_not_known)
{
	ck_assert_int_eq(0, PLACE(RET));
	/* no base; two bases; half a base; another segment or place */
	ck_assert_int_eq(0, PLACE(0x48, 0xc7, 0xc0, 0x34, 0, 0, 0, RET));
	ck_assert_int_eq(0, PLACE(MOV_FS, ADD_FS, 0x48, 0x83, 0xc0, 0x34, RET));
	ck_assert_int_eq(0, PLACE(MOV_FS, 0x83, 0xc0, 0x34, RET));
	ck_assert_int_eq(0, PLACE(0x65, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0,
				  0x48, 0x83, 0xc0, 0x34, RET));
	ck_assert_int_eq(0, PLACE(0x64, 0x48, 0x8b, 0x04, 0x25, 8, 0, 0, 0,
				  0x48, 0x83, 0xc0, 0x34, RET));
	/* a word that cannot be read; and, xor with a constant; a call */
	ck_assert_int_eq(
	    0, PLACE(0x48, 0x8b, 0x05, 0xf8, 0x0f, 0, 0, ADD_FS, RET));
	ck_assert_int_eq(0, PLACE(MOV_FS, 0x48, 0x83, 0xe0, 0x34, RET));
	ck_assert_int_eq(0, PLACE(MOV_FS, 0x48, 0x83, 0xf0, 0x34, RET));
	ck_assert_int_eq(
	    0, PLACE(MOV_FS, 0x48, 0x83, 0xc0, 0x34, 0xe8, 0, 0, 0, 0, RET));
	/* cmp changes nothing; xchg does */
	ck_assert_int_eq(52, PLACE(MOV_FS, 0x48, 0x83, 0xc0, 0x34, 0x48, 0x83,
				   0xf8, 0, RET));
	ck_assert_int_eq(
	    0, PLACE(MOV_FS, 0x48, 0x83, 0xc0, 0x34, 0x48, 0x92, RET));
	/* it has no end; no instruction */
	ck_assert_int_eq(0, PLACE(MOV_FS, 0x48, 0x83, 0xc0, 0x34));
	ck_assert_int_eq(0, PLACE(MOV_FS, 0x48, 0x83, 0xc0, 0x34, 0x06, RET));
}
END_TEST

START_TEST(the_errno_of_this_process_is_found)
{
	struct hark_err err = {0};
	struct modules *m;
	struct image *im;
	uint64_t base;

	__asm__("mov %%fs:0, %0" : "=r"(base));
	ck_assert_int_eq(0, image_new(&im, &err));
	ck_assert_int_eq(0, modules_of_pid(im, getpid(), &m, &err));
	ck_assert_int_eq((int64_t)((uint64_t)(uintptr_t)&errno - base),
			 errno_place(m, getpid()));
	modules_free(m);
	image_free(im);
}
END_TEST

Suite *probe_errno_suite(void)
{
	Suite *s = suite_create("probe_errno");
	TCase *t = tcase_create("errno");

	tcase_add_test(t, a_word_of_the_loader_and_the_base);
	tcase_add_test(t, a_constant_and_the_base);
	tcase_add_test(t, anything_else_is_not_known);
	tcase_add_test(t, the_errno_of_this_process_is_found);
	suite_add_tcase(s, t);
	return s;
}
