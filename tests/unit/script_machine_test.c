/* tests/unit/script_machine_test.c - clauses that are compiled, verified and
 * run against a host made for the test.
 *
 * The host keeps what C would: arrays in a short list, aggregations in cells,
 * records in a buffer. Memory is this process's own, read by the kernel: past
 * the end of a text, up to the next multiple of 64, is no fault. */
#include "script/aggregate.h"
#include "script/machine.h"
#include "script/script.h"
#include "script/verify.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CELLS = 64, KEY_MAX = 512, BAD = 0x10 };

struct cell {
	uint32_t variable, len;
	uint8_t key[KEY_MAX];
	uint64_t value[600 / 8];
};

struct sum {
	uint32_t aggregation, len;
	uint8_t key[KEY_MAX];
	uint64_t cells[AGGREGATE_QUANTIZE];
};

static struct {
	struct machine_host h;
	struct script *s;
	const struct probe_program *p;
	uint64_t args[PROBE_ARGUMENTS], uregs[PROBE_UREGS];
	uint64_t numbers[PROBE_SCOPE_MAX][32];
	uint8_t texts[PROBE_SCOPE_MAX][32 * 512];
	struct cell cells[CELLS];
	struct sum sums[CELLS];
	size_t n_cells, n_sums;
	uint64_t time, speculating, committed, discarded;
	uint64_t output[8192], side[1024], scratch[1024];
	struct verify_room room;
} t;

/* -- The host -- */

static uint64_t builtin(struct machine_host *h, enum probe_builtin what)
{
	(void)h;
	return what == PROBE_BUILTIN_TIMESTAMP ? t.time : 1000 + what;
}

static const char *builtin_text(struct machine_host *h, enum probe_builtin what)
{
	(void)h;
	return what == PROBE_BUILTIN_PROBEFUNC ? "malloc" : "text";
}

static bool read_memory(struct machine_host *h, uint64_t addr, void *out,
			uint32_t len)
{
	struct iovec to = {.iov_base = out, .iov_len = len};
	struct iovec from = {.iov_base = (void *)(uintptr_t)addr,
			     .iov_len = len};

	(void)h;
	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)len;
}

static uint32_t stack(struct machine_host *h, uint64_t *out, uint32_t n)
{
	(void)h;
	for (uint32_t i = 0; i < n && i < 3; i++)
		out[i] = 0xa0 + i;
	return n < 3 ? n : 3;
}

static uint64_t number(struct machine_host *h)
{
	(void)h;
	return 4;
}

static void *cell(struct machine_host *h, uint32_t variable, const uint8_t *key,
		  uint32_t len, bool create)
{
	struct cell *c;

	(void)h;
	for (size_t i = 0; i < t.n_cells; i++)
		if (t.cells[i].variable == variable && t.cells[i].len == len &&
		    memcmp(t.cells[i].key, key, len) == 0)
			return t.cells[i].value;
	if (!create)
		return NULL;
	ck_assert_uint_lt(t.n_cells, CELLS);
	c = &t.cells[t.n_cells++];
	c->variable = variable;
	c->len = len;
	memcpy(c->key, key, len);
	memset(c->value, 0, sizeof c->value);
	return c->value;
}

static void forget(struct machine_host *h, uint32_t variable,
		   const uint8_t *key, uint32_t len)
{
	uint64_t *value = cell(h, variable, key, len, false);

	if (value != NULL)
		memset(value, 0, 600);
}

static void aggregate(struct machine_host *h, uint32_t aggregation,
		      const uint8_t *key, uint32_t len, int64_t value,
		      int64_t weight)
{
	const struct probe_aggregation *a =
	    &probe_aggregations(t.p)[aggregation];
	struct sum *s;
	size_t i = 0;

	(void)h;
	while (i < t.n_sums &&
	       (t.sums[i].aggregation != aggregation || t.sums[i].len != len ||
		memcmp(t.sums[i].key, key, len) != 0))
		i++;
	s = &t.sums[i];
	if (i == t.n_sums) {
		t.n_sums++;
		s->aggregation = aggregation;
		s->len = len;
		memcpy(s->key, key, len);
		aggregate_init(a, s->cells);
	}
	aggregate_update(a, s->cells, value, weight);
}

static bool speculate(struct machine_host *h, uint64_t id, uint32_t need)
{
	(void)need;
	t.speculating = id;
	h->output = (uint8_t *)t.side;
	h->output_len = 0;
	h->output_room = sizeof t.side;
	return id != 0;
}

static void commit(struct machine_host *h, uint64_t id)
{
	(void)h;
	t.committed = id;
}

static void discard(struct machine_host *h, uint64_t id)
{
	(void)h;
	t.discarded = id;
}

/* -- Types, as debug information would tell them -- */

struct node {
	int32_t id;
	uint16_t flags;
	struct node *next;
	char name[8];
	struct {
		int64_t x, y;
	} at;
	unsigned low : 3, high : 7;
	int minus : 4;
};

static int type_named(void *ctx, const char *name, struct script_type *out)
{
	(void)ctx;
	if (strcmp(name, "struct node") != 0 && strcmp(name, "node_t") != 0)
		return -1;
	*out = (struct script_type){.kind = SCRIPT_STRUCT,
				    .size = sizeof(struct node)};
	return 0;
}

static int type_member(void *ctx, const struct script_type *of,
		       const char *name, struct script_member *out)
{
	const struct script_type point = {
	    .kind = SCRIPT_STRUCT, .size = 16, .from = "point"};
	const struct {
		const char *name;
		struct script_member m;
	} members[] = {
	    {"id", {{SCRIPT_INT, true, 0, 0, 4, 0, NULL}, 0, 0, 0}},
	    {"flags", {{SCRIPT_INT, false, 0, 0, 2, 0, NULL}, 4, 0, 0}},
	    {"next", {{SCRIPT_STRUCT, false, 1, 0, 48, 0, NULL}, 8, 0, 0}},
	    {"name", {{SCRIPT_INT, true, 0, 0, 1, 8, NULL}, 16, 0, 0}},
	    {"at", {point, 24, 0, 0}},
	    {"y", {{SCRIPT_INT, true, 0, 0, 8, 0, NULL}, 8, 0, 0}},
	    {"high", {{SCRIPT_INT, false, 0, 0, 4, 0, NULL}, 40, 3, 7}},
	    {"minus", {{SCRIPT_INT, true, 0, 0, 4, 0, NULL}, 40, 10, 4}},
	};

	(void)ctx;
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		if (strcmp(members[i].name, name) == 0 &&
		    (of->from != NULL) == (strcmp(name, "y") == 0)) {
			*out = members[i].m;
			return 0;
		}
	return -1;
}

/* The one argument that has a name is the second. */
static int type_argument(void *ctx, const char *const parts[4],
			 const char *name, unsigned *index,
			 struct script_type *out)
{
	if (name != NULL && strcmp(name, "head") != 0)
		return -1;
	if (strcmp(parts[3], "BEGIN") != 0)
		return -1;
	if (name != NULL)
		*index = 1;
	type_named(ctx, "struct node", out);
	out->stars = 1;
	return 0;
}

static const struct script_types types = {
    .named = type_named, .member = type_member, .argument = type_argument};

static void begin(const char *text)
{
	struct script_settings settings = {
	    .target = "1", .may_destroy = true, .types = &types};
	struct hark_err err;
	const struct script_mistake *m;
	char said[600];
	const char *why;
	size_t n;

	memset(&t, 0, sizeof t);
	t.s = script_compile(text, strlen(text), &settings, &err);
	m = script_mistakes(t.s, &n);
	if (n > 0) {
		script_say(t.s, m, said, sizeof said);
		ck_abort_msg("%s: %s", text, said);
	}
	t.p = script_program(t.s);
	why = verify_program(t.p, t.p->size, &t.room);
	if (why != NULL)
		ck_abort_msg("%s: %s", text, why);
	t.h = (struct machine_host){.program = t.p,
				    .args = t.args,
				    .uregs = t.uregs,
				    .builtin = builtin,
				    .builtin_text = builtin_text,
				    .read = read_memory,
				    .stack = stack,
				    .random = number,
				    .cell = cell,
				    .forget = forget,
				    .aggregate = aggregate,
				    .speculation = number,
				    .speculate = speculate,
				    .commit = commit,
				    .discard = discard,
				    .scratch = (uint8_t *)t.scratch,
				    .scratch_room = sizeof t.scratch};
	for (unsigned i = 0; i < PROBE_SCOPE_MAX; i++) {
		t.h.numbers[i] = t.numbers[i];
		t.h.texts[i] = t.texts[i];
	}
}

static enum machine_end run(unsigned clause)
{
	t.h.output = (uint8_t *)t.output;
	t.h.output_len = 0;
	t.h.output_room = sizeof t.output;
	return machine_run(&t.h, &probe_clauses(t.p)[clause]);
}

static void end(void)
{
	script_free(t.s);
	t.s = NULL;
}

/* The n-th argument that was put out, if all of them have 8 bytes. */
static int64_t out(unsigned n)
{
	return (int64_t)t.output[1 + n];
}

/* -- Values -- */

static int64_t value_with(const char *expression, uint64_t arg0, uint64_t arg1)
{
	char text[512];
	int64_t value;

	snprintf(text, sizeof text, "BEGIN { trace(%s); }", expression);
	begin(text);
	t.args[0] = arg0;
	t.args[1] = arg1;
	ck_assert_msg(run(0) == MACHINE_DONE, "%s", expression);
	ck_assert_uint_eq(t.h.output_len, 16);
	value = out(0);
	end();
	return value;
}

static int64_t value_of(const char *expression)
{
	return value_with(expression, 7, (uint64_t)-3);
}

/* The point is what no parentheses mean. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wparentheses"
START_TEST(operators_bind_as_in_C)
{
#define SAME(expression) ck_assert_int_eq(value_of(#expression), expression)
	SAME(1 + 2 * 3);
	SAME((1 + 2) * 3);
	SAME(10 - 4 - 3);
	SAME(100 / 7 % 5);
	SAME(1 << 2 + 3);
	SAME(7 & 3 == 3);
	SAME(6 ^ 3 | 8 & 12);
	SAME(1 || 0 && 0);
	SAME(!5 + ~3);
	SAME(-7 / 2);
	SAME(-7 % 3);
	SAME(1 < 2 == 1 > 0);
	SAME(5 ? 6 : 7 ? 8 : 9);
	SAME(0 ? 6 : 0 ? 8 : 9);
	SAME(-8 >> 1);
	SAME(0x7fffffffffffffff + 0);
	SAME('a');
#undef SAME
	ck_assert_int_eq(value_of("1 ^^ 1"), 0);
	ck_assert_int_eq(value_of("4 ^^ 0"), 1);
}
END_TEST
#pragma GCC diagnostic pop

START_TEST(signs_are_those_of_C)
{
	ck_assert_int_eq(value_of("arg1 < arg0"), 1);
	ck_assert_int_eq(value_of("(uint64_t)arg1 < arg0"), 0);
	ck_assert_int_eq(value_of("(uint64_t)arg1 >> 63"), 1);
	ck_assert_int_eq(value_of("arg1 / 2"), -1);
	ck_assert_int_eq(value_of("(unsigned char)arg1"), 253);
	ck_assert_int_eq(value_of("(char)0x1ff"), -1);
	ck_assert_int_eq(value_with("(int)arg1 < 0", 0, 0xffffffff), 1);
	ck_assert_int_eq(value_with("arg1 < 0", 0, 0xffffffff), 0);
	ck_assert_int_eq(value_of("(unsigned char)1 - 2 < 0"), 1);
	ck_assert_int_eq(value_of("sizeof(long) + sizeof(char *)"), 16);
}
END_TEST

START_TEST(the_second_half_of_a_logical_may_not_run)
{
	ck_assert_int_eq(value_of("0 && 1 / (arg0 - 7)"), 0);
	ck_assert_int_eq(value_of("5 || 1 / (arg0 - 7)"), 1);
	ck_assert_int_eq(value_of("arg0 == 7 ? 3 : 1 / (arg0 - 7)"), 3);
}
END_TEST

START_TEST(memory_is_read_through_types)
{
	int numbers[3] = {5, -6, 7};
	int *pointer = &numbers[1];

	ck_assert_int_eq(value_with("*(int *)arg0", (uint64_t)&numbers[1], 0),
			 -6);
	ck_assert_int_eq(
	    value_with("*(uint32_t *)arg0", (uint64_t)&numbers[1], 0),
	    0xfffffffa);
	ck_assert_int_eq(value_with("((int *)arg0)[2]", (uint64_t)numbers, 0),
			 7);
	ck_assert_int_eq(value_with("*((int *)arg0 + 1)", (uint64_t)numbers, 0),
			 -6);
	ck_assert_int_eq(value_with("*(1 + (int *)arg0)", (uint64_t)numbers, 0),
			 -6);
	ck_assert_int_eq(value_with("**(int **)arg0", (uint64_t)&pointer, 0),
			 -6);
	ck_assert_int_eq(
	    value_with("*(int *)copyin(arg0, 4)", (uint64_t)&numbers[2], 0), 7);
}
END_TEST

START_TEST(members_are_found_by_their_types)
{
	struct node second = {.id = -9, .name = "second"};
	struct node first = {.id = 3,
			     .flags = 0xffff,
			     .next = &second,
			     .name = "first",
			     .at = {11, 12},
			     .low = 7,
			     .high = 0x55,
			     .minus = -3};
	uint64_t p = (uint64_t)&first;

	ck_assert_int_eq(value_with("((struct node *)arg0)->id", p, 0), 3);
	ck_assert_int_eq(value_with("((node_t *)arg0)->flags", p, 0), 0xffff);
	ck_assert_int_eq(value_with("((node_t *)arg0)->next->id", p, 0), -9);
	ck_assert_int_eq(value_with("(*(node_t *)arg0).at.y", p, 0), 12);
	ck_assert_int_eq(value_with("((node_t *)arg0)->name[1]", p, 0), 'i');
	ck_assert_int_eq(value_with("((node_t *)arg0)->high", p, 0), 0x55);
	ck_assert_int_eq(value_with("((node_t *)arg0)->minus", p, 0), -3);
	ck_assert_int_eq(
	    value_with("stringof(head->next->name) == \"second\"", 0, p), 1);
	ck_assert_int_eq(value_with("args[1]->at.y", 0, p), 12);
	ck_assert_int_eq(value_with("(long)&head->at.y - (long)head", 0, p),
			 32);
	ck_assert_int_eq(value_with("(long)((node_t *)0 + 2)", 0, 0),
			 2 * sizeof(struct node));
}
END_TEST

START_TEST(texts_have_functions)
{
	ck_assert_int_eq(value_of("strlen(\"hello\")"), 5);
	ck_assert_int_eq(value_of("strlen(strjoin(\"ab\", \"cde\"))"), 5);
	ck_assert_int_eq(value_of("strjoin(\"a\", \"b\") == \"ab\""), 1);
	ck_assert_int_eq(value_of("\"abc\" < \"abd\""), 1);
	ck_assert_int_eq(value_of("\"b\" > \"abd\""), 1);
	ck_assert_int_eq(value_of("substr(\"hello\", 1, 3) == \"ell\""), 1);
	ck_assert_int_eq(value_of("substr(\"hello\", -3) == \"llo\""), 1);
	ck_assert_int_eq(value_of("substr(\"hello\", 1, -1) == \"ell\""), 1);
	ck_assert_int_eq(value_of("strstr(\"hello\", \"ll\") == \"llo\""), 1);
	ck_assert_int_eq(value_of("strstr(\"hello\", \"x\") == NULL"), 1);
	ck_assert_int_eq(value_of("strchr(\"hello\", 'l') == \"llo\""), 1);
	ck_assert_int_eq(value_of("strrchr(\"hello\", 'l') == \"lo\""), 1);
	ck_assert_int_eq(value_of("index(\"hello\", \"l\")"), 2);
	ck_assert_int_eq(value_of("index(\"hello\", \"l\", 3)"), 3);
	ck_assert_int_eq(value_of("rindex(\"hello\", \"l\")"), 3);
	ck_assert_int_eq(value_of("index(\"hello\", \"z\")"), -1);
	ck_assert_int_eq(value_of("toupper(\"aZ1\") == \"AZ1\""), 1);
	ck_assert_int_eq(value_of("tolower(\"aZ1\") == \"az1\""), 1);
	ck_assert_int_eq(value_of("basename(\"/a/b/\") == \"b\""), 1);
	ck_assert_int_eq(value_of("basename(\"/\") == \"/\""), 1);
	ck_assert_int_eq(value_of("dirname(\"/a/b\") == \"/a\""), 1);
	ck_assert_int_eq(value_of("dirname(\"/a\") == \"/\""), 1);
	ck_assert_int_eq(value_of("dirname(\"a\") == \".\""), 1);
	ck_assert_int_eq(value_of("strtoll(\"-12\")"), -12);
	ck_assert_int_eq(value_of("strtoll(\"0x1f\", 16)"), 31);
	ck_assert_int_eq(value_of("lltostr(-12) == \"-12\""), 1);
	ck_assert_int_eq(value_of("lltostr(31, 16) == \"0x1f\""), 1);
	ck_assert_int_eq(value_of("htons(0x1234)"), 0x3412);
	ck_assert_int_eq(
	    value_with("strlen(copyinstr(arg0))", (uint64_t) "four", 0), 4);
	ck_assert_int_eq(
	    value_with("copyinstr(arg0, 2) == \"fo\"", (uint64_t) "four", 0),
	    1);
	ck_assert_int_eq(
	    value_with("stringof(arg0) == \"four\"", (uint64_t) "four", 0), 1);
}
END_TEST

/* -- Variables -- */

START_TEST(variables_keep_their_values)
{
	begin("BEGIN { x += 3; self->y = x * 2; this->z = self->y++; "
	      "trace(this->z); trace(++x); trace(x--); }");
	ck_assert_int_eq(run(0), MACHINE_DONE);
	ck_assert_int_eq((int64_t)t.output[1], 6);
	ck_assert_int_eq((int64_t)t.output[3], 4);
	ck_assert_int_eq((int64_t)t.output[5], 4);
	ck_assert_int_eq(run(0), MACHINE_DONE);
	ck_assert_int_eq((int64_t)t.output[1], 12);
	end();
}
END_TEST

START_TEST(declared_variables_have_their_size)
{
	begin("char c; uint16_t u; BEGIN { c = 0x1ff; u = -1; trace(c); "
	      "trace(u); }");
	ck_assert_int_eq(run(0), MACHINE_DONE);
	ck_assert_int_eq((int64_t)t.output[1], -1);
	ck_assert_int_eq((int64_t)t.output[3], 65535);
	end();
}
END_TEST

START_TEST(arrays_are_indexed_by_tuples)
{
	begin("BEGIN { a[1, \"x\"] = 5; a[1, \"y\"] = 6; a[1, \"x\"] += 10; "
	      "trace(a[1, \"x\"]); trace(a[2, \"x\"]); a[1, \"x\"]++; "
	      "trace(a[1, \"x\"]); b[a[1, \"y\"]] = \"text\"; "
	      "trace(b[6] == \"text\"); b[6] = 0; trace(b[6] == NULL); }");
	ck_assert_int_eq(run(0), MACHINE_DONE);
	ck_assert_int_eq((int64_t)t.output[1], 15);
	ck_assert_int_eq((int64_t)t.output[3], 0);
	ck_assert_int_eq((int64_t)t.output[5], 16);
	ck_assert_int_eq((int64_t)t.output[7], 1);
	ck_assert_int_eq((int64_t)t.output[9], 1);
	end();
}
END_TEST

START_TEST(a_text_variable_may_be_nothing)
{
	begin("BEGIN /self->p == NULL/ { self->p = \"abc\"; } "
	      "END /self->p != NULL/ { trace(strlen(self->p)); self->p = 0; }");
	ck_assert_int_eq(run(1), MACHINE_REFUSED);
	ck_assert_int_eq(run(0), MACHINE_DONE);
	ck_assert_int_eq(run(0), MACHINE_REFUSED);
	ck_assert_int_eq(run(1), MACHINE_DONE);
	ck_assert_int_eq(out(0), 3);
	ck_assert_int_eq(run(1), MACHINE_REFUSED);
	end();
}
END_TEST

START_TEST(if_chooses_statements)
{
	begin("BEGIN { if (arg0 > 5) { trace(1); x = 1; } else if (arg0 > 3) "
	      "trace(2); else { trace(3); } }");
	for (unsigned i = 0; i < 3; i++) {
		t.args[0] = 6 - 2 * i;
		ck_assert_int_eq(run(0), MACHINE_DONE);
		ck_assert_int_eq(out(0), 1 + (int)i);
		ck_assert_uint_eq(t.h.output_len, 16);
	}
	end();
}
END_TEST

/* -- Faults, output, speculations -- */

START_TEST(faults_tell_what_and_where)
{
	begin("BEGIN { trace(copyinstr(arg0)); }");
	t.args[0] = BAD;
	ck_assert_int_eq(run(0), MACHINE_FAULT);
	ck_assert_int_eq(t.h.fault, MACHINE_BAD_ADDRESS);
	ck_assert_uint_eq(t.h.fault_address, BAD);
	end();
	begin("BEGIN { x = 1 / arg0; }");
	ck_assert_int_eq(run(0), MACHINE_FAULT);
	ck_assert_int_eq(t.h.fault, MACHINE_DIVISION);
	end();
	begin("BEGIN { x = uregs[99]; }");
	ck_assert_int_eq(run(0), MACHINE_FAULT);
	ck_assert_int_eq(t.h.fault, MACHINE_BAD_REGISTER);
	end();
	begin("BEGIN { x = *(char *)copyin(arg0, 9000); }");
	t.args[0] = (uint64_t)&t;
	ck_assert_int_eq(run(0), MACHINE_FAULT);
	ck_assert_int_eq(t.h.fault, MACHINE_NO_SCRATCH);
	end();
	ck_assert_int_eq(value_with("arg0 / arg1", (uint64_t)INT64_MIN, -1ULL),
			 INT64_MIN);
	ck_assert_int_eq(value_with("arg0 % arg1", (uint64_t)INT64_MIN, -1ULL),
			 0);
}
END_TEST

START_TEST(without_room_nothing_is_done)
{
	begin("BEGIN { x = 1; trace(5); }");
	t.h.output = (uint8_t *)t.output;
	t.h.output_len = 0;
	t.h.output_room = 15;
	ck_assert_int_eq(machine_run(&t.h, probe_clauses(t.p)),
			 MACHINE_DROPPED);
	ck_assert_uint_eq(t.numbers[PROBE_GLOBAL][0], 0);
	t.h.output_room = 16;
	ck_assert_int_eq(machine_run(&t.h, probe_clauses(t.p)), MACHINE_DONE);
	ck_assert_uint_eq(t.numbers[PROBE_GLOBAL][0], 1);
	end();
}
END_TEST

START_TEST(entries_are_laid_out_as_documented)
{
	const uint8_t *o = (const uint8_t *)t.output;

	begin("BEGIN { printf(\"%s %d %k\", \"hello\", 7, ustack(2)); "
	      "tracemem(arg0, 5); }");
	t.args[0] = (uint64_t) "bytes";
	ck_assert_int_eq(run(0), MACHINE_DONE);
	ck_assert_uint_eq((uint32_t)t.output[0], 0);
	ck_assert_uint_eq(t.output[0] >> 32, 8 + 16 + 8 + 24);
	ck_assert_uint_eq((uint32_t)t.output[1], 5);
	ck_assert_str_eq((const char *)o + 12, "hello");
	ck_assert_uint_eq(t.output[3], 7);
	ck_assert_uint_eq(t.output[4], 2);
	ck_assert_uint_eq(t.output[6], 0xa1);
	ck_assert_uint_eq((uint32_t)t.output[7], 1);
	ck_assert_str_eq((const char *)(t.output + 8), "bytes");
	ck_assert_uint_eq(t.h.output_len, 56 + 16);
	end();
}
END_TEST

START_TEST(speculations_have_their_own_buffer)
{
	begin("a { self->s = speculation(); speculate(self->s); "
	      "trace(arg0); } b { commit(self->s); } c { discard(self->s); }");
	t.args[0] = 77;
	ck_assert_int_eq(run(0), MACHINE_DONE);
	ck_assert_uint_eq(t.speculating, 4);
	ck_assert_uint_eq(t.side[1], 77);
	ck_assert_uint_eq(t.h.output_len, 16);
	ck_assert_int_eq(run(1), MACHINE_DONE);
	ck_assert_uint_eq(t.committed, 4);
	ck_assert_int_eq(run(2), MACHINE_DONE);
	ck_assert_uint_eq(t.discarded, 4);
	end();
}
END_TEST

START_TEST(stops_and_signals_are_wishes)
{
	begin("BEGIN { stop(); raise(15); }");
	ck_assert_int_eq(run(0), MACHINE_DONE);
	ck_assert(t.h.wants_stop);
	ck_assert_uint_eq(t.h.wants_signal, 15);
	end();
}
END_TEST

/* -- One-liners -- */

START_TEST(latency_is_quantized)
{
	begin("f:entry { self->t = timestamp; } f:return /self->t/ "
	      "{ @[\"ns\"] = quantize(timestamp - self->t); self->t = 0; }");
	ck_assert_int_eq(run(1), MACHINE_REFUSED);
	t.time = 1000;
	ck_assert_int_eq(run(0), MACHINE_DONE);
	t.time = 1300;
	ck_assert_int_eq(run(1), MACHINE_DONE);
	ck_assert_int_eq(run(1), MACHINE_REFUSED);
	ck_assert_uint_eq(t.n_sums, 1);
	ck_assert_uint_eq(t.sums[0].cells[AGGREGATE_ZERO + 1 + 8], 1);
	ck_assert_str_eq((const char *)t.sums[0].key + 4, "ns");
	end();
}
END_TEST

START_TEST(failed_opens_are_printed)
{
	begin("open*:return /(int)arg1 < 0/ { printf(\"%s errno %d\\n\", "
	      "self->p, errno); } open*:entry { self->p = copyinstr(arg0); }");
	t.args[0] = (uint64_t) "/no/file";
	ck_assert_int_eq(run(1), MACHINE_DONE);
	t.args[1] = 3;
	ck_assert_int_eq(run(0), MACHINE_REFUSED);
	t.args[1] = 0xffffffff;
	ck_assert_int_eq(run(0), MACHINE_DONE);
	ck_assert_str_eq((const char *)t.output + 12, "/no/file");
	end();
}
END_TEST

START_TEST(keys_may_be_stacks_and_numbers)
{
	begin("f:entry { @[arg0, ustack(4)] = sum(arg1); } "
	      "g:entry { @b[probefunc] = count(); } "
	      "h { @c[uregs[R_RAX]] = lquantize(uregs[R_RCX], 0, 100, 10); }");
	t.args[0] = 9;
	t.args[1] = 5;
	ck_assert_int_eq(run(0), MACHINE_DONE);
	ck_assert_int_eq(run(0), MACHINE_DONE);
	ck_assert_uint_eq(t.n_sums, 1);
	ck_assert_uint_eq(t.sums[0].cells[0], 10);
	ck_assert_uint_eq(t.sums[0].len, 8 + 8 + 3 * 8);
	ck_assert_int_eq(run(1), MACHINE_DONE);
	ck_assert_str_eq((const char *)t.sums[1].key + 4, "malloc");
	t.uregs[0] = 11;
	t.uregs[2] = 25;
	ck_assert_int_eq(run(2), MACHINE_DONE);
	ck_assert_uint_eq(t.sums[2].key[0], 11);
	ck_assert_uint_eq(t.sums[2].cells[3], 1);
	end();
}
END_TEST

/* -- The verifier -- */

static const char *damaged(uint32_t at, uint8_t op, uint8_t a, int32_t imm)
{
	struct probe_program *copy = malloc(t.p->size);
	struct probe_insn *i;
	const char *why;

	memcpy(copy, t.p, t.p->size);
	i = (struct probe_insn *)(void *)((uint8_t *)copy + copy->code.offset) +
	    at;
	i->op = op;
	i->a = a;
	i->imm = imm;
	why = verify_program(copy, copy->size, &t.room);
	free(copy);
	return why;
}

START_TEST(unsafe_code_is_refused)
{
	/* ARG, IMM, ADD, PUT, RET */
	begin("BEGIN { x = arg0 + 1; }");
	ck_assert_ptr_null(damaged(0, PROBE_ARG, 0, 9));
	ck_assert_ptr_nonnull(damaged(0, PROBE_ARG, 0, 10));
	ck_assert_ptr_nonnull(damaged(0, PROBE_MOVE, 5, 0));
	ck_assert_ptr_nonnull(damaged(0, PROBE_TEXT, 0, 0));
	ck_assert_ptr_nonnull(damaged(1, PROBE_JUMP, 0, -1));
	ck_assert_ptr_nonnull(damaged(1, PROBE_JUMP, 0, 3));
	ck_assert_ptr_nonnull(damaged(1, PROBE_CONST, 0, 0));
	ck_assert_ptr_nonnull(damaged(3, PROBE_PUT, 0, 1));
	ck_assert_ptr_nonnull(damaged(3, PROBE_PUT, 16, 0));
	ck_assert_ptr_nonnull(damaged(4, PROBE_IMM, 0, 0));
	ck_assert_ptr_nonnull(damaged(2, PROBE_OP_MAX, 0, 0));
	ck_assert_ptr_nonnull(damaged(2, PROBE_EMIT, 0, 0));
	ck_assert_ptr_nonnull(damaged(2, PROBE_AGGREGATE, 0, 0));
	end();
}
END_TEST

START_TEST(cut_programs_are_refused)
{
	begin("BEGIN { @[tid, execname] = llquantize(arg0, 10, 0, 6, 20); "
	      "printf(\"%d\", a[1]); a[1] = 2; }");
	for (uint32_t n = 0; n < t.p->size; n++)
		ck_assert_ptr_nonnull(verify_program(t.p, n, &t.room));
	end();
}
END_TEST

Suite *script_machine_suite(void)
{
	Suite *s = suite_create("probe_machine");
	TCase *c = tcase_create("machine");

	tcase_add_test(c, operators_bind_as_in_C);
	tcase_add_test(c, signs_are_those_of_C);
	tcase_add_test(c, the_second_half_of_a_logical_may_not_run);
	tcase_add_test(c, memory_is_read_through_types);
	tcase_add_test(c, members_are_found_by_their_types);
	tcase_add_test(c, texts_have_functions);
	tcase_add_test(c, variables_keep_their_values);
	tcase_add_test(c, declared_variables_have_their_size);
	tcase_add_test(c, arrays_are_indexed_by_tuples);
	tcase_add_test(c, a_text_variable_may_be_nothing);
	tcase_add_test(c, if_chooses_statements);
	tcase_add_test(c, faults_tell_what_and_where);
	tcase_add_test(c, without_room_nothing_is_done);
	tcase_add_test(c, entries_are_laid_out_as_documented);
	tcase_add_test(c, speculations_have_their_own_buffer);
	tcase_add_test(c, stops_and_signals_are_wishes);
	tcase_add_test(c, latency_is_quantized);
	tcase_add_test(c, failed_opens_are_printed);
	tcase_add_test(c, keys_may_be_stacks_and_numbers);
	tcase_add_test(c, unsafe_code_is_refused);
	tcase_add_test(c, cut_programs_are_refused);
	suite_add_tcase(s, c);
	return s;
}
