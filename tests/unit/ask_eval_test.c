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
		m->prot = strchr(prot, 'x') != NULL ? PROT_EXEC : 0;
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
	SAYS("ask_first.nme", "!there is no field 'nme' in 'struct ask_node'");
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
	SAYS("in_frame_1 + 1", "0xd");
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
