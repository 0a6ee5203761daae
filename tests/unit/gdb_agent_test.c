/* tests/unit/gdb_agent_test.c - conditions as gdb compiles them. */
#include "gdb/agent.h"

#include <check.h>
#include <string.h>

static int read_register(void *ctx, unsigned number, uint64_t *out)
{
	(void)ctx;
	if (number > 16)
		return -1;
	*out = number == 6 ? 0x7ffc00000100 : number;
	return 0;
}

/* The byte at an address is its low eight bits; beyond 0x10000 nothing is
 * known, except for the int -7 at 0x7ffc000000ec. */
static int read_memory(void *ctx, uint64_t address, size_t len, uint8_t *out)
{
	const int32_t seven = -7;

	(void)ctx;
	if (address == 0x7ffc000000ec && len == 4) {
		memcpy(out, &seven, 4);
		return 0;
	}
	if (address >= 0x10000)
		return -1;
	for (size_t i = 0; i < len; i++)
		out[i] = (uint8_t)(address + i);
	return 0;
}

static const struct agent_state state = {NULL, read_register, read_memory};

#define RUN(out, ...)                                          \
	({                                                     \
		const uint8_t code_[] = {__VA_ARGS__};         \
		agent_run(code_, sizeof code_, &state, (out)); \
	})

static uint64_t binary(uint8_t op, uint8_t a, uint8_t b)
{
	uint64_t v = 0xdead;

	ck_assert_int_eq(RUN(&v, 0x22, a, 0x16, 8, 0x22, b, 0x16, 8, op, 0x27),
			 0);
	return v;
}

START_TEST(agent_local_variable_is_compared)
{
	uint64_t v;

	/* rbp - 20 as gdb 13 writes it: *(int *)(rbp + -20) == -7 */
	ck_assert_int_eq(RUN(&v, 0x26, 0x00, 0x06, 0x22, 0xec, 0x16, 0x08, 0x02,
			     0x19, 0x16, 0x20, 0x22, 0xf9, 0x16, 0x08, 0x13,
			     0x27),
			 0);
	ck_assert_uint_eq(v, 1);
}
END_TEST

START_TEST(agent_arithmetic)
{
	ck_assert_uint_eq(binary(0x02, 3, 4), 7);
	ck_assert_uint_eq(binary(0x03, 3, 4), UINT64_MAX);
	ck_assert_uint_eq(binary(0x04, 3, 0xfe), (uint64_t)-6);
	ck_assert_uint_eq(binary(0x05, 0xf9, 2), (uint64_t)-3);
	ck_assert_uint_eq(binary(0x06, 0xff, 2), UINT64_MAX / 2);
	ck_assert_uint_eq(binary(0x07, 0xf9, 2), (uint64_t)-1);
	ck_assert_uint_eq(binary(0x08, 9, 4), 1);
	ck_assert_uint_eq(binary(0x09, 1, 5), 32);
	ck_assert_uint_eq(binary(0x0a, 0xf8, 1), (uint64_t)-4);
	ck_assert_uint_eq(binary(0x0b, 0xff, 60), 15);
	ck_assert_uint_eq(binary(0x0f, 6, 3), 2);
	ck_assert_uint_eq(binary(0x10, 6, 3), 7);
	ck_assert_uint_eq(binary(0x11, 6, 3), 5);
	ck_assert_uint_eq(binary(0x13, 6, 6), 1);
	ck_assert_uint_eq(binary(0x14, 0xff, 1), 1);
	ck_assert_uint_eq(binary(0x15, 0xff, 1), 0);
	ck_assert_uint_eq(binary(0x0b, 1, 64), 0);
	ck_assert_uint_eq(binary(0x0a, 0xff, 100), UINT64_MAX);
}
END_TEST

START_TEST(agent_division_never_traps)
{
	uint64_t v;

	ck_assert_int_eq(RUN(&v, 0x22, 1, 0x22, 0, 0x05, 0x27), -1);
	ck_assert_int_eq(RUN(&v, 0x22, 1, 0x22, 0, 0x08, 0x27), -1);
	/* INT64_MIN / -1 */
	ck_assert_int_eq(
	    RUN(&v, 0x22, 1, 0x22, 63, 0x09, 0x22, 0xff, 0x16, 8, 0x05, 0x27),
	    0);
	ck_assert_uint_eq(v, 1ULL << 63);
}
END_TEST

START_TEST(agent_jumps_and_shuffles)
{
	uint64_t v;

	/* if (1) 5 else 9 */
	ck_assert_int_eq(
	    RUN(&v, 0x22, 1, 0x20, 0, 9, 0x22, 9, 0x27, 0, 0x22, 5, 0x27), 0);
	ck_assert_uint_eq(v, 5);
	/* 1 2 3 rot: 3 1 2; pick 2 is 3 */
	ck_assert_int_eq(
	    RUN(&v, 0x22, 1, 0x22, 2, 0x22, 3, 0x33, 0x32, 2, 0x27), 0);
	ck_assert_uint_eq(v, 3);
	ck_assert_int_eq(RUN(&v, 0x22, 1, 0x22, 2, 0x2b, 0x27), 0);
	ck_assert_uint_eq(v, 1);
	ck_assert_int_eq(RUN(&v, 0x22, 4, 0x28, 0x02, 0x0e, 0x12, 0x27), 0);
	ck_assert_uint_eq(v, UINT64_MAX);
	ck_assert_int_eq(
	    RUN(&v, 0x25, 1, 2, 3, 4, 5, 6, 7, 0xff, 0x2a, 9, 0x27), 0);
	ck_assert_uint_eq(v, 0x1ff);
}
END_TEST

START_TEST(agent_damaged_code_is_refused)
{
	uint64_t v;

	ck_assert_int_eq(RUN(&v, 0x27), -1);		    /* nothing on top */
	ck_assert_int_eq(RUN(&v, 0x22, 1), -1);		    /* no end */
	ck_assert_int_eq(RUN(&v, 0x22), -1);		    /* no operand */
	ck_assert_int_eq(RUN(&v, 0x02, 0x27), -1);	    /* nothing to add */
	ck_assert_int_eq(RUN(&v, 0x21, 0, 99, 0x27), -1);   /* out of it */
	ck_assert_int_eq(RUN(&v, 0x21, 0, 0), -1);	    /* for ever */
	ck_assert_int_eq(RUN(&v, 0x22, 1, 0x21, 0, 0), -1); /* too deep */
	ck_assert_int_eq(RUN(&v, 0xee, 0x27), -1);	    /* no such code */
	ck_assert_int_eq(RUN(&v, 0x26, 0, 99, 0x27), -1);   /* register */
	ck_assert_int_eq(RUN(&v, 0x24, 0x7f, 0, 0, 0, 0x17, 0x27), -1);
	ck_assert_int_eq(RUN(&v, 0x22, 1, 0x32, 1, 0x27), -1);
}
END_TEST

Suite *gdb_agent_suite(void)
{
	Suite *s = suite_create("gdb_agent");
	TCase *t = tcase_create("all");

	tcase_add_test(t, agent_local_variable_is_compared);
	tcase_add_test(t, agent_arithmetic);
	tcase_add_test(t, agent_division_never_traps);
	tcase_add_test(t, agent_jumps_and_shuffles);
	tcase_add_test(t, agent_damaged_code_is_refused);
	suite_add_tcase(s, t);
	return s;
}
