/* tests/unit/ask_eval_test.c - expressions, values and stacks of this program.
 *
 * The test is its own recording: its memory is read as one, with some bytes
 * declared unknown, and what is shown is compared with what C says. */
#include "ask/eval.h"

#include "ask/show.h"
#include "image/lines.h"

#include <check.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

/* -- Subjects -- */

enum ask_kind { ASK_NONE, ASK_SOME = 7 };

struct ask_node {
	int id;
	const char *name;
	struct ask_node *next;
};

struct ask_all {
	signed char letter;
	unsigned char small;
	short numbers[3];
	unsigned a : 3, b : 9;
	int minus : 4;
	float real;
	double wide;
	enum ask_kind kind, odd;
	_Bool yes;
	char text[8];
	union {
		int as_int;
		unsigned char as_bytes[4];
	};
	int (*function)(int);
	struct ask_node *list;
	void *nothing;
	long double long_real;
	int zeros[50];
	unsigned long big;
};

static int ask_function(int x)
{
	return x + 1;
}

struct ask_node ask_second = {2, "second\n", NULL};
struct ask_node ask_first = {1, "first \"one\"", &ask_second};
struct ask_all ask_all = {.letter = 'q',
			  .small = 200,
			  .numbers = {-1, 2, 300},
			  .a = 5,
			  .b = 300,
			  .minus = -3,
			  .real = 0.1f,
			  .wide = 2.5e300,
			  .kind = ASK_SOME,
			  .odd = (enum ask_kind)3,
			  .yes = 1,
			  .text = "abc",
			  .as_int = 0x01020304,
			  .function = ask_function,
			  .list = &ask_first,
			  .long_real = 1.25L,
			  .big = UINT64_MAX};
struct ask_node ask_array[4] = {{.id = 10}, {.id = 11}, {.id = 12}, {.id = 13}};
int ask_index = 2;
unsigned char ask_raw[16] = {0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4};
__thread int ask_of_thread;

struct ask_numbers {
	signed char sc;
	unsigned char uc;
	short s;
	unsigned short us;
	int i, minus;
	unsigned u;
	long l;
	unsigned long ul;
	float f;
	double d;
	long double ld;
	_Bool b;
	char c;
	unsigned bits : 5;
	int sbits : 6;
	unsigned wide : 32;
	int *p, *q;
	struct ask_node *node;
	int array[8];
	char text[8];
} ask_n = {.sc = -100,
	   .uc = 200,
	   .s = -30000,
	   .us = 60000,
	   .i = 77,
	   .minus = -9,
	   .u = 4000000000,
	   .l = -5000000000,
	   .ul = 0xffffffffffffff00,
	   .f = 0.1f,
	   .d = 2.7,
	   .ld = 1.25L,
	   .b = 1,
	   .c = 'x',
	   .bits = 30,
	   .sbits = -20,
	   .wide = 4000000000,
	   .p = &ask_n.array[2],
	   .q = &ask_n.array[7],
	   .node = ask_array,
	   .array = {10, 11, 12, 13, 14, 15, 16, 17},
	   .text = "text"};

/* -- This process, as a source -- */

static struct hark_module self_module;
static struct hark_mapping maps[512];
static unsigned n_maps;
static ucontext_t context;
static uint64_t hidden, hidden_len; /* is not known */

static size_t self_read(void *ctx, uint64_t addr, size_t len, uint8_t *out,
			uint8_t *known)
{
	size_t n = 0;

	(void)ctx;
	for (size_t i = 0; i < len; i++) {
		struct iovec to = {&out[i], 1}, from;

		from.iov_base = (void *)(addr + i); // NOLINT
		from.iov_len = 1;
		known[i] =
		    !(addr + i >= hidden && addr + i < hidden + hidden_len) &&
		    process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1;
		n += known[i];
	}
	return n;
}

static int self_registers(void *ctx, uint32_t thread,
			  struct hark_registers *out, struct hark_err *err)
{
	static const int from[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX,
				     REG_RSP, REG_RBP, REG_RSI, REG_RDI,
				     REG_R8,  REG_R9,  REG_R10, REG_R11,
				     REG_R12, REG_R13, REG_R14, REG_R15};

	(void)ctx;
	(void)thread;
	(void)err;
	memset(out, 0, sizeof *out);
	for (int i = 0; i < 16; i++)
		out->gpr[i] = (uint64_t)context.uc_mcontext.gregs[from[i]];
	out->rip = (uint64_t)context.uc_mcontext.gregs[REG_RIP];
	__asm__("mov %%fs:0, %0" : "=r"(out->fs_base));
	return 0;
}

static int self_mappings(void *ctx, const struct hark_mapping **out,
			 unsigned *n, struct hark_err *err)
{
	(void)ctx;
	(void)err;
	*out = maps;
	*n = n_maps;
	return 0;
}

static unsigned self_n_modules(void *ctx)
{
	(void)ctx;
	return 1;
}

static const struct hark_module *self_module_at(void *ctx, unsigned i)
{
	(void)ctx;
	(void)i;
	return &self_module;
}

static int self_read_module(void *ctx, unsigned i, uint8_t **out, size_t *len,
			    struct hark_err *err)
{
	FILE *f = fopen("/proc/self/exe", "re");

	(void)ctx;
	(void)i;
	(void)err;
	ck_assert_ptr_nonnull(f);
	*len = self_module.len;
	*out = malloc(*len);
	ck_assert_uint_eq(fread(*out, 1, *len, f), *len);
	fclose(f);
	return 0;
}

static const struct ask_source source = {.read = self_read,
					 .registers = self_registers,
					 .mappings = self_mappings,
					 .n_modules = self_n_modules,
					 .module = self_module_at,
					 .read_module = self_read_module};

static void read_maps(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512], exe[256], path[256], prot[8];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

	ck_assert_ptr_nonnull(f);
	exe[n] = '\0';
	n_maps = 0;
	while (fgets(line, sizeof line, f) != NULL && n_maps < 512) {
		struct hark_mapping *m = &maps[n_maps++];

		path[0] = '\0';
		sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &m->start,
		       &m->end, prot, &m->offset, path);
		m->module = strcmp(path, exe) == 0 ? 0 : -1;
		m->prot_ever = strchr(prot, 'x') != NULL ? PROT_EXEC : 0;
		m->path = "";
	}
	fclose(f);
}

static struct space *space;
static struct eval e;

static void setup(void)
{
	struct hark_err err = {0};
	FILE *f = fopen("/proc/self/exe", "re");

	ck_assert_ptr_nonnull(f);
	fseek(f, 0, SEEK_END);
	self_module = (struct hark_module){.path = "/nowhere/unit",
					   .build_id = "",
					   .debug_of = "",
					   .len = (uint64_t)ftell(f)};
	fclose(f);
	hidden = hidden_len = 0;
	read_maps();
	getcontext(&context);
	ck_assert_msg(space_new(&source, &space, &err) == 0, "%s", err.text);
	e = (struct eval){.space = space};
	ck_assert_msg(unwind_new(space, 1, UINT_MAX, &e.u, &err) == 0, "%s",
		      err.text);
}

static void teardown(void)
{
	free(e.u);
	space_free(space);
}

/* What hark says of WHAT; "!..." is an error. */
static const char *says(const char *what)
{
	static char out[4096];
	struct hark_err err = {0};
	struct value v;
	struct prose t;

	if (eval_text(&e, what, &v, &err) < 0) {
		snprintf(out, sizeof out, "!%s", err.text);
		return out;
	}
	prose_init(&t, sizeof out - 8);
	ck_assert_int_eq(show_value(&e, &v, &t, &err), 0);
	snprintf(out, sizeof out, "%s", prose_of(&t));
	prose_fini(&t);
	return out;
}

#define SAYS(what, expected) ck_assert_str_eq(says(what), expected)

/* -- Kinds -- */

START_TEST(numbers_are_shown_as_written)
{
	SAYS("ask_all.letter", "113 'q'");
	SAYS("ask_all.small", "200 '\\310'");
	SAYS("ask_all.numbers", "{-1, 2, 300}");
	SAYS("ask_all.numbers[2]", "300");
	SAYS("ask_all.a", "5");
	SAYS("ask_all.b", "300");
	SAYS("ask_all.minus", "-3");
	SAYS("ask_all.real", "0.1");
	SAYS("ask_all.wide", "2.5e+300");
	SAYS("ask_all.long_real", "1.25");
	SAYS("ask_all.kind", "ASK_SOME");
	SAYS("ask_all.odd", "3");
	SAYS("ask_all.yes", "true");
	SAYS("ask_all.text", "\"abc\"");
	SAYS("ask_all.as_int", "16909060");
	SAYS("ask_all.as_bytes[0]", "4 '\\004'");
	SAYS("ask_all.nothing", "0x0");
	SAYS("ask_all.zeros", "{0 <50 times>}");
	SAYS("ask_all.big", "18446744073709551615");
}
END_TEST

START_TEST(pointers_are_followed)
{
	char text[128];

	SAYS("ask_all.list->id", "1");
	SAYS("ask_all.list->next->id", "2");
	SAYS("*ask_all.list->next",
	     says("ask_second")); /* the same thing, whatever the way */
	SAYS("ask_first.next->next", "0x0");
	snprintf(text, sizeof text, "%p \"first \\\"one\\\"\"",
		 (const void *)ask_first.name);
	SAYS("ask_first.name", text);
	snprintf(text, sizeof text, "%p <ask_second>", (void *)&ask_second);
	SAYS("ask_first.next", text);
	snprintf(text, sizeof text, "0x%lx <ask_function>",
		 (unsigned long)(uintptr_t)ask_function);
	SAYS("ask_all.function", text);
	SAYS("*ask_first.name", "102 'f'");
	SAYS("ask_first.name[1]", "105 'i'");
	ck_assert_ptr_nonnull(strstr(says("ask_second.next->id"), "!") != NULL
				  ? "error"
				  : strstr(says("ask_second.next->id"), "??"));
}
END_TEST

START_TEST(arrays_are_indexed_by_expressions)
{
	SAYS("ask_array[1].id", "11");
	SAYS("ask_array[ask_index].id", "12");
	SAYS("ask_array[ask_index+1].id", "13");
	SAYS("ask_array[ask_index - 2].id", "10");
	SAYS("(ask_array)[1].id", "11");
	SAYS("(&ask_array[1])->id", "11");
	SAYS("*&ask_index", "2");
	SAYS("(*ask_array).id", "10");
	SAYS("*ask_all.text@2", "\"ab\"");
	SAYS("&*ask_all.list->next", says("ask_all.list->next"));
}
END_TEST

START_TEST(addresses_are_bytes)
{
	char what[64], text[64];

	SAYS("ask_raw:5", "de ad be ef 01");
	SAYS("ask_raw+4", "0x4030201");
	snprintf(what, sizeof what, "0x%lx:4", (unsigned long)&ask_raw);
	SAYS(what, "0xefbeadde");
	snprintf(what, sizeof what, "0x%lx:3", (unsigned long)&ask_raw);
	SAYS(what, "de ad be");
	snprintf(what, sizeof what, "((struct ask_node *)0x%lx)->id",
		 (unsigned long)&ask_second);
	SAYS(what, "2");
	snprintf(what, sizeof what, "*(short *)0x%lx",
		 (unsigned long)&ask_all.numbers[2]);
	SAYS(what, "300");
	SAYS("*ask_first.name@5", "\"first\"");
	SAYS("ask_array[1].id@1", "{11}");
	snprintf(text, sizeof text, "0x%lx", (unsigned long)&ask_index);
	ck_assert(strncmp(says("&ask_index"), text, strlen(text)) == 0);
	SAYS("(unsigned char)-1", "255 '\\377'");
}
END_TEST

START_TEST(what_is_not_known_is_never_guessed)
{
	hidden = (uintptr_t)&ask_all.numbers[1];
	hidden_len = 1;
	SAYS("ask_all.numbers", "{-1, ??, 300}");
	SAYS("ask_all.numbers[1]", "??");
	hidden = (uintptr_t)&ask_raw[1];
	SAYS("ask_raw:4", "de ?? be ef");
	hidden = (uintptr_t)&ask_all.text[1];
	SAYS("ask_all.text", "\"a\"?\?\"c\"");
	hidden = (uintptr_t)&ask_all.list;
	SAYS("ask_all.list", "??");
	SAYS("ask_all.list->id", "!'ask_all.list->id' is no pointer, or is not "
				 "known at this moment");
	hidden = (uintptr_t)&ask_all.real + 3;
	SAYS("ask_all.real", "??");
	SAYS("0x10", "0x10");
	SAYS("0x10:8", "?? ?? ?? ?? ?? ?? ?? ??");
}
END_TEST

START_TEST(wrong_words_are_told)
{
	ck_assert_ptr_nonnull(strstr(says("ask_indx"), "'ask_index'"));
	ck_assert_ptr_nonnull(strstr(says("ask_frist"), "'ask_first'"));
	SAYS("ask_first.nme", "!there is no field 'nme' in 'struct ask_node'; "
			      "near it: 'name'; it has id, name, next");
	SAYS("ask_first.zip", "!there is no field 'zip' in 'struct ask_node'; "
			      "it has id, name, next");
	ck_assert_ptr_nonnull(
	    strstr(says("ask_all.as_byte"), "near it: 'as_bytes'"));
	ck_assert_ptr_nonnull(strstr(says("ask_all.z"), "it has letter, small, "
							"numbers, a, b, "));
	ck_assert_ptr_nonnull(strstr(says("ask_all.z"), ", ..."));
	ck_assert_ptr_nonnull(strstr(says("ASK_SOMEE"), "'ASK_SOME'"));
	ck_assert_int_eq(says("ask_first.")[0], '!');
	ck_assert_int_eq(says("ask_array[")[0], '!');
	ck_assert_int_eq(says("ask_array[1")[0], '!');
	ck_assert_int_eq(says("ask_index ask_index")[0], '!');
	ck_assert_int_eq(says("")[0], '!');
	ck_assert_int_eq(says("(((((")[0], '!');
	ck_assert_int_eq(says("99999999999999999999999")[0], '!');
	ck_assert_int_eq(says("$nothing")[0], '!');
	ck_assert_int_eq(says("&$rax")[0], '!');
	ck_assert_int_eq(says("&ask_all.a")[0], '!');
	SAYS("ask_index.x", "!there is no field 'x' in 'int'");
}
END_TEST

START_TEST(deep_nesting_ends)
{
	char text[4096];

	for (size_t i = 0; i < sizeof text - 2; i++)
		text[i] = '(';
	text[sizeof text - 1] = '\0';
	text[sizeof text - 2] = '1';
	ck_assert_ptr_nonnull(strstr(says(text), "nested too deeply"));
	memset(text, '*', sizeof text - 2);
	ck_assert_ptr_nonnull(strstr(says(text), "nested too deeply"));
	memset(text, '-', sizeof text - 2);
	ck_assert_ptr_nonnull(strstr(says(text), "nested too deeply"));
}
END_TEST

START_TEST(registers_have_names)
{
	char text[64];

	snprintf(text, sizeof text, "0x%lx",
		 (unsigned long)context.uc_mcontext.gregs[REG_RSP]);
	SAYS("$rsp", text);
	SAYS("$sp", text);
	snprintf(text, sizeof text, "0x%lx",
		 (unsigned long)context.uc_mcontext.gregs[REG_RIP]);
	SAYS("$rip", text);
}
END_TEST

/* -- Operators -- */

/* What C itself makes of an expression: its type, and its value as text. */
struct as_c {
	const char *type;
	char text[64];
};

static struct as_c of_long(const char *type, long v)
{
	struct as_c c = {.type = type};

	snprintf(c.text, sizeof c.text, "%ld", v);
	return c;
}

static struct as_c of_int(int v)
{
	return of_long("int", v);
}

static struct as_c of_slong(long v)
{
	return of_long("long", v);
}

static struct as_c of_ulong(unsigned long v)
{
	struct as_c c = {.type = "unsigned long"};

	snprintf(c.text, sizeof c.text, "%lu", v);
	return c;
}

static struct as_c of_uint(unsigned v)
{
	struct as_c c = of_ulong(v);

	c.type = "unsigned int";
	return c;
}

/* Digits as few as lead back to it are not what is tested here. */
static struct as_c of_float(const char *type, const void *bytes, size_t len)
{
	struct as_c c = {.type = type};

	ck_assert_uint_le(len, 16);
	for (size_t i = 0; i < len; i++)
		snprintf(c.text + 2 * i, 3, "%02x",
			 ((const uint8_t *)bytes)[i]);
	return c;
}

static struct as_c of_single(float v)
{
	return of_float("float", &v, sizeof v);
}

static struct as_c of_double(double v)
{
	return of_float("double", &v, sizeof v);
}

static struct as_c of_ldouble(long double v)
{
	return of_float("long double", &v, 10);
}

static struct as_c of_pointer(const volatile void *v)
{
	struct as_c c = {.type = ""};

	snprintf(c.text, sizeof c.text, "%p", (const void *)v);
	return c;
}

static void compare_with_c(const char *what, struct as_c c)
{
	struct hark_err err = {0};
	char type[64], text[64] = "";
	uint8_t bytes[16], known[16];
	struct value v;

	ck_assert_msg(eval_text(&e, what, &v, &err) == 0, "%s", err.text);
	type_text(v.type, type, sizeof type);
	if (c.type[0] != '\0')
		ck_assert_msg(strcmp(type, c.type) == 0, "%s is %s, not %s",
			      what, type, c.type);
	if (strstr(c.type, "float") == NULL &&
	    strstr(c.type, "double") == NULL) {
		ck_assert_msg(strncmp(says(what), c.text, strlen(c.text)) == 0,
			      "%s is %s, not %s", what, says(what), c.text);
		return;
	}
	eval_read(&e, &v, 0, bytes, known, sizeof bytes);
	for (size_t i = 0; 2 * i < strlen(c.text); i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	ck_assert_msg(strcmp(text, c.text) == 0, "%s is %s, not %s", what, text,
		      c.text);
}

#define AS_C(...)                                                       \
	compare_with_c(#__VA_ARGS__, _Generic((__VA_ARGS__), int        \
					      : of_int, unsigned        \
					      : of_uint, long           \
					      : of_slong, unsigned long \
					      : of_ulong, float         \
					      : of_single, double       \
					      : of_double, long double  \
					      : of_ldouble, default     \
					      : of_pointer)(__VA_ARGS__))

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wparentheses"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wbitwise-op-parentheses"
#pragma GCC diagnostic ignored "-Wlogical-op-parentheses"
#pragma GCC diagnostic ignored "-Wtautological-compare"
#pragma GCC diagnostic ignored "-Wshift-op-parentheses"
#else
#pragma GCC diagnostic ignored "-Wlogical-op"
#pragma GCC diagnostic ignored "-Wbool-compare"
#pragma GCC diagnostic ignored "-Wduplicated-cond"
#endif

/* clang-format off */
/* Every pair of numbers, with every operator. */
#define PAIR_FLOAT(x, y) \
	AS_C(x + y); AS_C(x - y); AS_C(x * y); AS_C(x / y); \
	AS_C(x == y); AS_C(x != y); AS_C(x < y); AS_C(x <= y); AS_C(x > y); \
	AS_C(x >= y); AS_C(x && y); AS_C(x || y)
#define PAIR(x, y) \
	PAIR_FLOAT(x, y); AS_C(x % y); AS_C(x & y); AS_C(x | y); AS_C(x ^ y)
#define PAIRS(x) \
	PAIR(x, ask_n.sc); PAIR(x, ask_n.us); PAIR(x, ask_n.minus); \
	PAIR(x, ask_n.u); PAIR(x, ask_n.l); PAIR(x, ask_n.ul); \
	PAIR(x, ask_n.b); PAIR(x, ask_n.bits); PAIR(x, ask_n.sbits); \
	PAIR(x, ask_n.wide); PAIR(x, 'a'); PAIR(x, 3000000000u)
#define PAIRS_FLOAT(x) \
	PAIR_FLOAT(x, ask_n.sc); PAIR_FLOAT(x, ask_n.us); \
	PAIR_FLOAT(x, ask_n.minus); PAIR_FLOAT(x, ask_n.u); \
	PAIR_FLOAT(x, ask_n.l); PAIR_FLOAT(x, ask_n.ul); \
	PAIR_FLOAT(x, ask_n.f); PAIR_FLOAT(x, ask_n.d); \
	PAIR_FLOAT(x, ask_n.ld); PAIR_FLOAT(x, 1.5); PAIR_FLOAT(x, 0.1f); \
	PAIR_FLOAT(x, 1e3L); PAIR_FLOAT(x, ask_n.sbits)

#define NO_OVERFLOW __attribute__((no_sanitize("undefined")))

NO_OVERFLOW START_TEST(operators_convert_as_in_c)
{
	PAIRS(ask_n.s); PAIRS(ask_n.uc); PAIRS(ask_n.u); PAIRS(ask_n.l);
	PAIRS(ask_n.ul); PAIRS(ask_n.bits); PAIRS(ask_n.i);
	PAIRS_FLOAT(ask_n.f); PAIRS_FLOAT(ask_n.d); PAIRS_FLOAT(ask_n.ld);
	PAIRS_FLOAT(ask_n.ul);
}
END_TEST

START_TEST(unary_operators_are_those_of_c)
{
	AS_C(-ask_n.sc); AS_C(~ask_n.uc); AS_C(!ask_n.s); AS_C(-ask_n.u);
	AS_C(~ask_n.ul); AS_C(+ask_n.us); AS_C(-ask_n.f); AS_C(!ask_n.d);
	AS_C(!ask_n.p); AS_C(!!ask_n.i); AS_C(-ask_n.ld); AS_C(-1);
	AS_C(~0); AS_C(!0); AS_C(- -3); AS_C(~ask_n.bits); AS_C(-ask_n.b);
	AS_C(*&ask_n.i + 1); AS_C(-ask_n.array[3]); AS_C(!ask_n.text[4]);
}
END_TEST

START_TEST(operators_bind_as_in_c)
{
	AS_C(ask_n.i + 2 * 3); AS_C((ask_n.i + 2) * 3);
	AS_C(ask_n.i - 2 - 3); AS_C(ask_n.i / 2 / 3 * 4 % 5);
	AS_C(ask_n.i & 7 == 5); AS_C((ask_n.i & 7) == 5);
	AS_C(ask_n.i | 8 ^ 3 & 6); AS_C(1 << ask_n.i % 8 + 1);
	AS_C(ask_n.i < 80 == 1); AS_C(ask_n.i > 3 && ask_n.s < 0 || 0);
	AS_C(0 && 1 || 1); AS_C(ask_n.i>>2<<1); AS_C(-ask_n.i+~ask_n.minus);
	AS_C(ask_n.u >> 31); AS_C(ask_n.minus >> 2); AS_C(ask_n.l >> 40);
	AS_C(ask_n.i << 3 >> 2); AS_C(ask_n.ul << 4); AS_C(1UL << 63);
	AS_C(ask_n.i==77); AS_C(ask_n.i!=77); AS_C(ask_n.i<=77);
	AS_C(ask_n.array[ask_n.i - 75] * 2); AS_C(ask_array[1 + 1].id - 1);
}
END_TEST

START_TEST(literals_are_those_of_c)
{
	AS_C(0x10 * 1); AS_C(010 * 1); AS_C(0b101 * 1); AS_C(017ul * 1);
	AS_C(2147483647 * 1); AS_C(2147483648 * 1); AS_C(0xffffffff * 1);
	AS_C(0x100000000 * 1); AS_C(4294967295 * 1); AS_C(1u * 1);
	AS_C(0xffffffffffffffff * 1); AS_C(1L * 1); AS_C(0777LU * 1);
	AS_C('a' + 0); AS_C('\n' + 0); AS_C('\'' + 0); AS_C('\\' + 0);
	AS_C('\x41' + 0); AS_C('\101' + 0); AS_C('\0' + 0); AS_C('"' + 0);
	AS_C('\xff' + 0);
	AS_C(1.5); AS_C(1e3); AS_C(.5); AS_C(2.); AS_C(1.5f); AS_C(1e-2L);
	AS_C(0x1.8p3); AS_C(1E+2 + 1); AS_C(0x1p-2f);
}
END_TEST

START_TEST(pointers_are_counted_in_what_they_point_to)
{
	AS_C(ask_n.p + 1); AS_C(ask_n.p - 2); AS_C(1 + ask_n.p);
	AS_C(ask_n.q - ask_n.p); AS_C(ask_n.p == ask_n.q);
	AS_C(ask_n.p < ask_n.q); AS_C(ask_n.p != 0); AS_C(ask_n.p && 1);
	AS_C(*(ask_n.p + 1) + 0); AS_C(*(ask_n.array + 3) + 0);
	AS_C(ask_n.node + 2); AS_C((ask_n.node + 2)->id + 0);
	AS_C((ask_array + 3)->id + 0); AS_C(ask_n.p[-1] + 0);
	AS_C(&ask_n.array[5] - ask_n.array); AS_C(ask_n.array == ask_n.p - 2);
	AS_C(ask_n.text + 1 == &ask_n.text[1]); AS_C(*(ask_n.text + 1) + 0);
	AS_C(&ask_n.i + 1); AS_C((char *)ask_n.p + 1);
	AS_C(ask_all.function == ask_function); AS_C((long)ask_n.p & 7);
}
END_TEST

START_TEST(casts_convert_as_in_c)
{
	AS_C((signed char)ask_n.uc + 0); AS_C((unsigned char)ask_n.sc + 0);
	AS_C((unsigned long)ask_n.minus); AS_C((unsigned)ask_n.l);
	AS_C((int)ask_n.d); AS_C((long)-2.9); AS_C((double)ask_n.i / 2);
	AS_C((float)ask_n.ul); AS_C((double)ask_n.ul); AS_C((_Bool)ask_n.d + 0);
	AS_C((short)ask_n.us + 0); AS_C((unsigned short)70000 + 0);
	AS_C((long double)ask_n.f); AS_C((float)ask_n.d * ask_n.f);
	AS_C((int)'a'); AS_C((long int)1); AS_C((long unsigned)1);
	AS_C((enum ask_kind)7 == ASK_SOME); AS_C(ask_all.kind == ASK_SOME);
	AS_C(ASK_SOME + 1); AS_C(ask_all.kind != ASK_NONE);
	AS_C(*(const unsigned char *)&ask_n.i + 0);
}
END_TEST

START_TEST(sizeof_is_that_of_c)
{
	AS_C(sizeof(int)); AS_C(sizeof ask_n); AS_C(sizeof(struct ask_all));
	AS_C(sizeof ask_n.array); AS_C(sizeof ask_n.array[0]);
	AS_C(sizeof ask_n.array / sizeof *ask_n.array);
	AS_C(sizeof(ask_n.c + 1)); AS_C(sizeof(char *)); AS_C(sizeof(1L));
	AS_C(sizeof ask_first.next->next->next->next->id);
	AS_C(sizeof(long double)); AS_C(sizeof(ask_n.f * 2.0));
	AS_C(sizeof(unsigned long) + 1); AS_C(sizeof 1); AS_C(sizeof(ask_n));
}
END_TEST
/* clang-format on */
#pragma GCC diagnostic pop

START_TEST(what_is_not_known_makes_unknown_results)
{
	hidden = (uintptr_t)&ask_n.i + 3;
	hidden_len = 1;
	SAYS("ask_n.i + 1", "??");
	SAYS("1 + ask_n.i * 2", "??");
	SAYS("-ask_n.i", "??");
	SAYS("!ask_n.i", "??");
	SAYS("ask_n.i == 77", "??");
	SAYS("ask_n.i && 1", "??");
	SAYS("(long)ask_n.i", "??");
	SAYS("ask_n.p + ask_n.i", "??");
	SAYS("ask_n.s + 1", "-29999");
	SAYS("0 && ask_n.i", "0");
	SAYS("1 || ask_n.i", "1");
	SAYS("1 && ask_n.i", "??");
	SAYS("0 || ask_n.i", "??");
	SAYS("7 / ask_n.i", "??");
	SAYS("7 << ask_n.i", "??");
	SAYS("sizeof ask_n.i", "4");
	SAYS("(unsigned char)ask_n.i", "??");
	hidden = (uintptr_t)&ask_n.d;
	SAYS("ask_n.d * 2", "??");
	SAYS("ask_n.d < 2", "??");
}
END_TEST

START_TEST(a_decided_condition_follows_no_pointer)
{
	SAYS("ask_second.next != 0 && ask_second.next->id == 1", "0");
	SAYS("ask_second.next == 0 || ask_second.next->next->next->id", "1");
	SAYS("0 && 1 / 0", "0");
	SAYS("1 || ask_second.next->next->name[3]", "1");
	SAYS("0 && (*&*ask_second.next->next).id", "0");
	SAYS("ask_first.next && ask_first.next->id == 2", "1");
}
END_TEST

START_TEST(operations_without_an_answer_are_refused)
{
	SAYS("ask_n.i / 0", "!'ask_n.i / 0' divides by zero");
	SAYS("1 + 7 % ask_second.next->id",
	     "??"); /* what is at 0 is not known */
	SAYS("7 % (ask_n.i - 77)", "!'7 % (ask_n.i - 77)' divides by zero");
	SAYS("ask_n.d / 0", "inf");
	ck_assert_ptr_nonnull(strstr(says("1 << 32"), "shifts by"));
	ck_assert_ptr_nonnull(strstr(says("1 << -1"), "shifts by"));
	ck_assert_ptr_nonnull(strstr(says("ask_n + ask_n"), "ask for one of"));
	ck_assert_ptr_nonnull(strstr(says("ask_n * 2"), "ask for one of its"));
	ck_assert_ptr_nonnull(strstr(says("ask_n.p * 2"), "pointers"));
	ck_assert_ptr_nonnull(strstr(says("~ask_n.d"), "wants an integer"));
	ck_assert_ptr_nonnull(strstr(says("ask_n.d % 2"), "wants integers"));
	ck_assert_ptr_nonnull(strstr(says("ask_n.q - ask_n.node"), "sizes"));
	ck_assert_ptr_nonnull(strstr(says("(int)1e30"), "does not fit"));
	ck_assert_ptr_nonnull(strstr(says("ask_n.i = 3"), "be changed"));
	ck_assert_ptr_nonnull(strstr(says("ask_n.i += 3"), "be changed"));
	ck_assert_ptr_nonnull(strstr(says("ask_n.i++"), "be changed"));
	ck_assert_ptr_nonnull(strstr(says("ask_n.i <<= 3"), "be changed"));
	ck_assert_int_eq(says("08 + 1")[0], '!');
	ck_assert_int_eq(says("'ab'")[0], '!');
	ck_assert_int_eq(says("''")[0], '!');
	ck_assert_int_eq(says("'")[0], '!');
	ck_assert_int_eq(says("'\\'")[0], '!');
	ck_assert_int_eq(says("1e")[0], '!');
	SAYS("(0xe+1) * 1", "15"); /* C would refuse that */
	ck_assert_int_eq(says("1.2.3")[0], '!');
	ck_assert_int_eq(says("ask_n.i +")[0], '!');
	ck_assert_int_eq(says("&(ask_n.i + 1)")[0], '!');
	ck_assert_int_eq(says("(ask_n.i + 1)@2")[0], '!');
	ck_assert_int_eq(says("(ask_n.i + 1):2")[0], '!');
	ck_assert_int_eq(says("sizeof")[0], '!');
	ck_assert_int_eq(says("sizeof ask_all.a")[0], '!');
}
END_TEST

START_TEST(sums_of_places_and_bytes_are_places)
{
	char what[96];

	SAYS("ask_n.array + 4", "0xc0000000b");
	SAYS("ask_n.array + 4:4", "0xb");
	SAYS("ask_n.array + 4 + 4:4", "0xc");
	SAYS("(ask_n.array + 8):4", "0xc");
	SAYS("ask_n.array + 8 - 4:4", "0xb");
	SAYS("ask_raw+4@1", "0x4030201");
	snprintf(what, sizeof what, "0x%lx + 4:4",
		 (unsigned long)&ask_n.array[0]);
	SAYS(what, "0xb");
	snprintf(what, sizeof what, "%lu - 4:4",
		 (unsigned long)&ask_n.array[2]);
	SAYS(what, "0xb");
	SAYS("ask_array + 0:4", "0xa");
	SAYS("0x10 + 1", "0x11");
}
END_TEST

START_TEST(a_long_text_ends_in_a_message)
{
	char *text = calloc(1, 40000);

	ck_assert_ptr_nonnull(text);
	for (size_t i = 0; i + 2 < 40000; i += 2)
		memcpy(text + i, "1+", 2);
	ck_assert_ptr_nonnull(strstr(says(text), "too long"));
	text[16001] = '\0';
	ck_assert_str_eq(says(text), "0x1f41");
	free(text);
}
END_TEST

/* -- Frames -- */

__attribute__((noinline)) static void unwind_some(unsigned most)
{
	struct hark_err err = {0};

	free(e.u);
	e.u = NULL;
	ck_assert_msg(unwind_new(space, 1, most, &e.u, &err) == 0, "%s",
		      err.text);
}

START_TEST(no_more_frames_are_looked_for_than_wanted)
{
	getcontext(&context);
	for (unsigned most = 1; most <= 3; most++) {
		unwind_some(most);
		ck_assert_uint_eq(e.u->n, most);
		ck_assert_str_eq(unwind_why(e.u), "there are more");
		ck_assert(!e.u->frame[most - 1].has_cfa);
		ck_assert(most == 1 || e.u->frame[most - 2].has_cfa);
	}
}
END_TEST

/* Sanitizers move locals to where no debugger finds them. */
#define PLAIN __attribute__((noinline, no_sanitize("address", "undefined")))

static PLAIN void inner(int depth, volatile int *sink)
{
	volatile int inner_mine = depth * 10;
	char text[32];

	getcontext(&context);
	unwind_some(UINT_MAX);
	snprintf(text, sizeof text, "%d", depth * 10);
	SAYS("inner_mine", text);
	*sink = inner_mine;
}

static PLAIN void middle(int depth, volatile int *sink)
{
	volatile struct ask_node own = {.id = depth, .name = "own"};

	inner(depth, sink);
	*sink += own.id;
}

START_TEST(the_stack_leads_to_the_callers_locals)
{
	volatile int sink = 0;
	char name[256];

	middle(33, &sink);
	ck_assert_int_eq(sink, 363);
	middle(34, &sink);
	ck_assert_uint_ge(e.u->n, 3);
	space_code(space, e.u->frame[0].pc, false, name, sizeof name);
	ck_assert_ptr_nonnull(strstr(name, "inner at ask_eval_test.c:"));
	space_code(space, e.u->frame[1].pc, true, name, sizeof name);
	ck_assert_ptr_nonnull(strstr(name, "middle at ask_eval_test.c:"));
	space_code(space, e.u->frame[2].pc, true, name, sizeof name);
	ck_assert_ptr_nonnull(strstr(name, "the_stack_leads_to"));
}
END_TEST

static PLAIN int from_outside(volatile int *sink)
{
	volatile struct ask_node own = {.id = 4711, .name = "own"};
	volatile int in_frame_1 = 12;

	inner(1, sink);
	e.frame = 1;
	SAYS("own.id", "4711");
	SAYS("in_frame_1 + 1", "13");
	ck_assert_msg(
	    strncmp(says("inner_mine"), "!there is no 'inner_mine'", 25) == 0,
	    "%s", says("inner_mine"));
	return own.id + in_frame_1;
}

START_TEST(an_outer_frame_has_its_own_scope)
{
	volatile int sink;

	ck_assert_int_eq(from_outside(&sink), 4723);
}
END_TEST

START_TEST(a_call_to_nowhere_has_a_caller)
{
	uint64_t stack[4] = {(uintptr_t)ask_function + 1, 0, 0, 0};

	context.uc_mcontext.gregs[REG_RIP] = 0;
	context.uc_mcontext.gregs[REG_RSP] = (greg_t)(uintptr_t)stack;
	unwind_some(UINT_MAX);
	ck_assert_uint_ge(e.u->n, 2);
	ck_assert_ptr_null(e.u->frame[0].module);
	ck_assert_uint_eq(e.u->frame[1].pc, (uintptr_t)ask_function + 1);
	ck_assert(e.u->frame[1].is_return);
}
END_TEST

START_TEST(an_unknown_stack_ends_the_frames)
{
	hidden = (uint64_t)context.uc_mcontext.gregs[REG_RSP];
	hidden_len = 1 << 20;
	unwind_some(UINT_MAX);
	ck_assert_uint_eq(e.u->n, 1);
	ck_assert_int_eq(e.u->end, UNWIND_NO_MEMORY);
	ck_assert_ptr_nonnull(unwind_why(e.u));
}
END_TEST

START_TEST(thread_locals_are_below_the_thread_pointer)
{
	ask_of_thread = 815;
	SAYS("ask_of_thread", "815");
}
END_TEST

/* -- Paths -- */

static const char *path(uint64_t offset, uint64_t len)
{
	static char out[128];
	struct hark_err err = {0};
	struct value v;
	struct prose t;

	ck_assert_int_eq(eval_text(&e, "ask_all", &v, &err), 0);
	prose_init(&t, 100);
	show_path(v.type, offset, len, &t);
	snprintf(out, sizeof out, "%s", prose_of(&t));
	prose_fini(&t);
	return out;
}

START_TEST(a_written_part_has_a_path)
{
	ck_assert_str_eq(path(offsetof(struct ask_all, numbers[2]), 2),
			 ".numbers[2]");
	ck_assert_str_eq(path(offsetof(struct ask_all, wide), 8), ".wide");
	ck_assert_str_eq(path(offsetof(struct ask_all, numbers), 6),
			 ".numbers");
	ck_assert_str_eq(path(0, sizeof(struct ask_all)), "");
	ck_assert_str_eq(path(0, 8), "");
}
END_TEST

Suite *ask_eval_suite(void)
{
	Suite *s = suite_create("ask_eval");
	TCase *t = tcase_create("eval");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, numbers_are_shown_as_written);
	tcase_add_test(t, pointers_are_followed);
	tcase_add_test(t, arrays_are_indexed_by_expressions);
	tcase_add_test(t, addresses_are_bytes);
	tcase_add_test(t, what_is_not_known_is_never_guessed);
	tcase_add_test(t, wrong_words_are_told);
	tcase_add_test(t, deep_nesting_ends);
	tcase_add_test(t, registers_have_names);
	tcase_add_test(t, operators_convert_as_in_c);
	tcase_add_test(t, unary_operators_are_those_of_c);
	tcase_add_test(t, operators_bind_as_in_c);
	tcase_add_test(t, literals_are_those_of_c);
	tcase_add_test(t, pointers_are_counted_in_what_they_point_to);
	tcase_add_test(t, casts_convert_as_in_c);
	tcase_add_test(t, sizeof_is_that_of_c);
	tcase_add_test(t, what_is_not_known_makes_unknown_results);
	tcase_add_test(t, a_decided_condition_follows_no_pointer);
	tcase_add_test(t, operations_without_an_answer_are_refused);
	tcase_add_test(t, sums_of_places_and_bytes_are_places);
	tcase_add_test(t, a_long_text_ends_in_a_message);
	tcase_add_test(t, the_stack_leads_to_the_callers_locals);
	tcase_add_test(t, an_outer_frame_has_its_own_scope);
	tcase_add_test(t, no_more_frames_are_looked_for_than_wanted);
	tcase_add_test(t, a_call_to_nowhere_has_a_caller);
	tcase_add_test(t, an_unknown_stack_ends_the_frames);
	tcase_add_test(t, thread_locals_are_below_the_thread_pointer);
	tcase_add_test(t, a_written_part_has_a_path);
	suite_add_tcase(s, t);
	return s;
}
