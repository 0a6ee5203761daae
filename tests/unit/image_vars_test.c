/* tests/unit/image_vars_test.c - types, variables and their places.
 *
 * The subject is this very program: the compiler says what its variables hold
 * and where they are, and what is read through the debug information must be
 * the same. */
#include "image/vars.h"

#include "image/frames.h"
#include "image/modules.h"

#include <check.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- Subjects -- */

enum vars_color { VARS_RED = 1, VARS_GREEN = 5, VARS_MINUS = -2 };
typedef unsigned long vars_count_t;

struct vars_shop {
	int id;
	char name[12];
	unsigned low : 3, high : 7;
	signed int minus : 5;
	struct {
		short inner;
	};
	union {
		float real;
		uint32_t bits;
	} either;
	enum vars_color color;
	const struct vars_shop *next;
	double grid[2][3];
	int (*call)(int);
	_Bool open;
	vars_count_t count;
};

static int vars_twice(int x)
{
	return 2 * x;
}

struct vars_shop vars_shop = {.id = -7,
			      .name = "corner",
			      .low = 5,
			      .high = 100,
			      .minus = -3,
			      .inner = 1234,
			      .either.real = 1.5f,
			      .color = VARS_MINUS,
			      .grid = {{1, 2, 3}, {4, 5, 6}},
			      .call = vars_twice,
			      .open = 1,
			      .count = 99};
static volatile int vars_static = 42;
__thread int vars_of_thread = 4711;

/* -- This process -- */

static struct image *im;
static struct modules *list;
static struct image_file *self;
static uint64_t bias;

static void setup(void)
{
	struct hark_err err = {0};

	ck_assert_msg(image_new(&im, &err) == 0, "%s", err.text);
	ck_assert_msg(modules_of_pid(im, getpid(), &list, &err) == 0, "%s",
		      err.text);
	self = modules_find(list, (uintptr_t)setup)->file;
	bias = modules_find(list, (uintptr_t)setup)->bias;
}

static void teardown(void)
{
	modules_free(list);
	image_free(im);
}

/* -- A frame of it -- */

struct vars_cpu {
	uint64_t rbx, rbp, rsp, r12, r13, r14, r15, rip;
};

/* Registers that the caller may rely on, at the place behind the call. */
void vars_capture(struct vars_cpu *out);
__asm__(".text\n"
	".type vars_capture, @function\n"
	"vars_capture:\n"
	"	mov %rbx, 0(%rdi)\n"
	"	mov %rbp, 8(%rdi)\n"
	"	lea 8(%rsp), %rax\n"
	"	mov %rax, 16(%rdi)\n"
	"	mov %r12, 24(%rdi)\n"
	"	mov %r13, 32(%rdi)\n"
	"	mov %r14, 40(%rdi)\n"
	"	mov %r15, 48(%rdi)\n"
	"	mov (%rsp), %rax\n"
	"	mov %rax, 56(%rdi)\n"
	"	ret\n"
	".size vars_capture, . - vars_capture\n");

static void to_frame(const struct vars_cpu *from, struct frame_cpu *out)
{
	*out = (struct frame_cpu){.known = 1 << 3 | 1 << 6 | 1 << 7 |
					   0xf << 12 | 1 << FRAME_RIP};
	out->reg[3] = from->rbx;
	out->reg[6] = from->rbp;
	out->reg[7] = from->rsp;
	memcpy(&out->reg[12], &from->r12, 4 * 8);
	out->reg[FRAME_RIP] = from->rip;
}

static int read_word(void *ctx, uint64_t addr, uint64_t *out)
{
	(void)ctx;
	memcpy(out, (void *)addr, 8); // NOLINT(performance-no-int-to-ptr)
	return 0;
}

static int frame_reg(void *ctx, unsigned n, uint8_t out[16], size_t *len)
{
	const struct frame_cpu *cpu = ctx;

	if (n >= FRAME_REGS || (cpu->known >> n & 1) == 0)
		return -1;
	memcpy(out, &cpu->reg[n], 8);
	*len = 8;
	return 0;
}

static int frame_memory(void *ctx, uint64_t addr, void *out, size_t len)
{
	(void)ctx;
	if (addr < 65536)
		return -1;
	memcpy(out, (void *)addr, len); // NOLINT(performance-no-int-to-ptr)
	return 0;
}

static int frame_cfa(void *ctx, uint64_t *out)
{
	struct frame_cpu cpu = *(struct frame_cpu *)ctx;
	struct frame_memory mem = {read_word, NULL};
	const struct frame_table *t;

	if (frames_of(self, &t, NULL) < 0 ||
	    frame_step(t, bias, &mem, &cpu) != FRAME_STEPPED)
		return -1;
	*out = cpu.reg[FRAME_RSP];
	return 0;
}

static struct expr_frame frame_of(struct frame_cpu *cpu)
{
	return (struct expr_frame){.reg = frame_reg,
				   .memory = frame_memory,
				   .cfa = frame_cfa,
				   .ctx = cpu,
				   .bias = bias,
				   .pc = cpu->reg[FRAME_RIP] - bias - 1};
}

static uint64_t address_of(const struct var *v)
{
	struct frame_cpu cpu = {0};
	struct expr_frame f = frame_of(&cpu);
	struct expr_place p;

	vars_place(v, &f, &p);
	ck_assert_uint_eq(p.n, 1);
	ck_assert_int_eq(p.piece[0].kind, EXPR_MEMORY);
	return p.piece[0].u;
}

static struct var global(const char *name)
{
	struct hark_err err = {0};
	struct var v;

	ck_assert_msg(vars_global(self, name, &v, &err) == 0, "%s", err.text);
	return v;
}

/* -- Globals -- */

START_TEST(a_global_is_where_the_compiler_put_it)
{
	struct var v = global("vars_shop");

	ck_assert_uint_eq(address_of(&v), (uintptr_t)&vars_shop);
	v = global("vars_static");
	ck_assert_uint_eq(address_of(&v), (uintptr_t)&vars_static);
	ck_assert_int_eq(vars_static, 42);
}
END_TEST

START_TEST(a_name_that_is_not_there_is_an_error)
{
	struct hark_err err = {0};
	struct var v = {.name = "as before"};

	ck_assert_int_eq(vars_global(self, "vars_nobody", &v, &err), -1);
	ck_assert_int_eq(err.code, HARK_ENOENT);
	ck_assert_str_eq(v.name, "as before");
	ck_assert_int_eq(vars_global(self, "nobody::vars_shop", &v, NULL), -1);
}
END_TEST

static int tls_here(void *ctx, uint64_t offset, uint64_t *out)
{
	*(uint64_t *)ctx = offset;
	*out = (uintptr_t)&vars_of_thread;
	return 0;
}

START_TEST(a_thread_local_one_is_asked_for_by_its_offset)
{
	struct var v = global("vars_of_thread");
	struct frame_cpu cpu = {0};
	struct expr_frame f = frame_of(&cpu);
	uint64_t offset = UINT64_MAX;
	uint8_t bytes[4], known[4];
	struct expr_place p;

	f.tls = tls_here;
	f.ctx = &offset;
	vars_place(&v, &f, &p);
	ck_assert_uint_lt(offset, 65536);
	ck_assert_uint_eq(expr_read(&p, &f, 0, bytes, known, 4), 4);
	ck_assert_mem_eq(bytes, &vars_of_thread, 4);
	f.tls = NULL;
	vars_place(&v, &f, &p);
	ck_assert_int_eq(p.piece[0].kind, EXPR_NOWHERE);
	ck_assert(p.missing);
}
END_TEST

/* -- Types -- */

#define CHECK_FIELD(member)                                              \
	do {                                                             \
		struct type_facts facts_;                                \
		struct type_field field_;                                \
		ck_assert(type_field(v.type, #member, &field_));         \
		type_look(field_.type, &facts_);                         \
		ck_assert_uint_eq(field_.offset,                         \
				  offsetof(struct vars_shop, member));   \
		ck_assert_uint_eq(facts_.size, sizeof vars_shop.member); \
	} while (0)

START_TEST(fields_are_where_the_compiler_put_them)
{
	struct var v = global("vars_shop");
	struct type_facts facts;

	type_look(v.type, &facts);
	ck_assert_int_eq(facts.kind, TYPE_STRUCT);
	ck_assert_uint_eq(facts.size, sizeof vars_shop);
	ck_assert_str_eq(facts.name, "vars_shop");
	CHECK_FIELD(id);
	CHECK_FIELD(name);
	CHECK_FIELD(inner);
	CHECK_FIELD(either);
	CHECK_FIELD(color);
	CHECK_FIELD(next);
	CHECK_FIELD(grid);
	CHECK_FIELD(call);
	CHECK_FIELD(open);
	CHECK_FIELD(count);
}
END_TEST

static enum type_kind kind_of(struct type t, const char *field)
{
	struct type_facts facts;
	struct type_field f;

	ck_assert(type_field(t, field, &f));
	type_look(f.type, &facts);
	return facts.kind;
}

START_TEST(kinds_are_told_through_typedefs)
{
	struct var v = global("vars_shop");
	struct type_field f;

	ck_assert_int_eq(kind_of(v.type, "id"), TYPE_SIGNED);
	ck_assert_int_eq(kind_of(v.type, "low"), TYPE_UNSIGNED);
	ck_assert_int_eq(kind_of(v.type, "name"), TYPE_ARRAY);
	ck_assert_int_eq(kind_of(v.type, "either"), TYPE_UNION);
	ck_assert_int_eq(kind_of(v.type, "color"), TYPE_ENUM);
	ck_assert_int_eq(kind_of(v.type, "next"), TYPE_POINTER);
	ck_assert_int_eq(kind_of(v.type, "call"), TYPE_POINTER);
	ck_assert_int_eq(kind_of(v.type, "open"), TYPE_BOOL);
	ck_assert_int_eq(kind_of(v.type, "count"), TYPE_UNSIGNED);
	ck_assert(!type_field(v.type, "none", &f));
}
END_TEST

START_TEST(arrays_of_arrays_lose_one_dimension_at_a_time)
{
	struct var v = global("vars_shop");
	struct type_facts facts;
	struct type_field f;

	ck_assert(type_field(v.type, "grid", &f));
	type_look(f.type, &facts);
	ck_assert_uint_eq(facts.count, 2);
	type_look(facts.target, &facts);
	ck_assert_int_eq(facts.kind, TYPE_ARRAY);
	ck_assert_uint_eq(facts.count, 3);
	ck_assert_uint_eq(facts.size, 3 * sizeof(double));
	type_look(facts.target, &facts);
	ck_assert_int_eq(facts.kind, TYPE_FLOAT);
	ck_assert_uint_eq(facts.size, 8);
}
END_TEST

static int64_t bits_of(const char *name)
{
	struct var v = global("vars_shop");
	struct type_field f;
	uint64_t word = 0;

	ck_assert(type_field(v.type, name, &f));
	memcpy(&word, (const char *)&vars_shop + f.offset, 4);
	return (int64_t)(word << (64 - f.bit_size - f.bit_shift)) >>
	       (64 - f.bit_size);
}

START_TEST(bit_fields_have_their_bits)
{
	ck_assert_int_eq(bits_of("low") & 7, 5);
	ck_assert_int_eq(bits_of("high") & 127, 100);
	ck_assert_int_eq(bits_of("minus"), -3);
}
END_TEST

START_TEST(enumerators_have_names)
{
	struct var v = global("vars_shop");
	struct type_field f;
	int64_t value;

	ck_assert(type_field(v.type, "color", &f));
	ck_assert_str_eq(type_enumerator(f.type, VARS_GREEN), "VARS_GREEN");
	ck_assert_str_eq(type_enumerator(f.type, VARS_MINUS), "VARS_MINUS");
	ck_assert_ptr_null(type_enumerator(f.type, 17));
	ck_assert(type_enum_value(f.type, "VARS_RED", &value));
	ck_assert_int_eq(value, 1);
	ck_assert(!type_enum_value(f.type, "VARS_BLUE", &value));
}
END_TEST

static const char *text_of(const char *field)
{
	struct var v = global("vars_shop");
	static char text[128];
	struct type_field f;

	ck_assert(type_field(v.type, field, &f));
	type_text(f.type, text, sizeof text);
	return text;
}

START_TEST(types_are_written_as_in_c)
{
	char text[64];
	struct var v = global("vars_shop");

	type_text(v.type, text, sizeof text);
	ck_assert_str_eq(text, "struct vars_shop");
	ck_assert_str_eq(text_of("id"), "int");
	ck_assert_str_eq(text_of("name"), "char [12]");
	ck_assert_str_eq(text_of("grid"), "double [2][3]");
	ck_assert_str_eq(text_of("color"), "enum vars_color");
	ck_assert_str_eq(text_of("next"), "const struct vars_shop *");
	ck_assert_str_eq(text_of("call"), "int (*)()");
	ck_assert_str_eq(text_of("count"), "vars_count_t");
	for (size_t n = 1; n < 20; n++) { /* cut, never beyond */
		memset(text, '#', sizeof text);
		type_text(v.type, text, n);
		ck_assert_uint_eq(strlen(text), n - 1 < 16 ? n - 1 : 16);
		ck_assert_int_eq(text[n], '#');
	}
}
END_TEST

START_TEST(types_are_found_by_name)
{
	struct type_facts facts;
	struct type t;

	ck_assert_int_eq(type_named(self, "struct vars_shop", &t, NULL), 0);
	type_look(t, &facts);
	ck_assert_uint_eq(facts.size, sizeof vars_shop);
	ck_assert_int_eq(type_named(self, "vars_count_t", &t, NULL), 0);
	ck_assert_int_eq(type_named(self, "union vars_shop", &t, NULL), -1);
}
END_TEST

/* -- Locals -- */

struct seek_local {
	const char *name;
	struct var var;
	int n;
};

static int is_it(void *ctx, const struct var *v)
{
	struct seek_local *s = ctx;

	s->n++;
	if (strcmp(v->name, s->name) != 0)
		return 0;
	s->var = *v;
	return 1;
}

/* Bytes of a local at the place where cpu was captured. */
static int64_t local(const struct vars_cpu *at, const char *name,
		     unsigned inlined, size_t len)
{
	struct seek_local s = {.name = name};
	struct frame_cpu cpu;
	uint8_t known[8];
	int64_t v = 0;
	struct expr_place p;
	struct expr_frame f;

	to_frame(at, &cpu);
	f = frame_of(&cpu);
	ck_assert_int_eq(vars_each_local(self, f.pc, inlined, is_it, &s, NULL),
			 1);
	vars_place(&s.var, &f, &p);
	ck_assert_msg(expr_read(&p, &f, 0, (uint8_t *)&v, known, len) == len,
		      "%s is not known", name);
	return v;
}

/* Sanitizers move locals to where no debugger finds them. */
#define PLAIN __attribute__((noinline, no_sanitize("address", "undefined")))

static PLAIN void outer(int parameter, struct vars_cpu *cpu, volatile int *sink)
{
	volatile int on_stack = parameter * 3;
	long kept = parameter * 5L;

	__asm__ volatile("" : "+r"(kept), "+r"(parameter));
	{
		volatile short in_block = (short)(parameter + 1);

		vars_capture(cpu);
		ck_assert_int_eq(local(cpu, "on_stack", 0, 4), on_stack);
		ck_assert_int_eq(local(cpu, "in_block", 0, 2), in_block);
	}
	ck_assert_int_eq(local(cpu, "kept", 0, 8), kept);
	ck_assert_int_eq(local(cpu, "parameter", 0, 4), parameter);
	__asm__ volatile("" : "+r"(kept), "+r"(parameter));
	*sink = (int)kept + parameter;
}

START_TEST(locals_are_read_from_registers_and_the_stack)
{
	volatile int sink;
	struct vars_cpu cpu;

	for (int i = 0; i < 3; i++)
		outer(1000 + i, &cpu, &sink);
	ck_assert_int_eq(sink, 6 * 1002);
}
END_TEST

static inline
    __attribute__((always_inline, no_sanitize("address", "undefined"))) void
    inlined(struct vars_cpu *cpu)
{
	volatile int of_inlined = 77;

	vars_capture(cpu);
	ck_assert_int_eq(local(cpu, "of_inlined", 0, 4), of_inlined);
	ck_assert_int_eq(local(cpu, "of_outer", 1, 4), 78);
}

static PLAIN int around(struct vars_cpu *cpu)
{
	volatile int of_outer = 78;

	inlined(cpu);
	return of_outer;
}

START_TEST(inlined_functions_have_locals_of_their_own)
{
	struct vars_cpu cpu;
	struct seek_local s = {.name = "of_outer"};

	ck_assert_int_eq(around(&cpu), 78);
	ck_assert_int_eq(
	    vars_each_local(self, cpu.rip - bias - 1, 0, is_it, &s, NULL), 0);
}
END_TEST

static int count_var(void *ctx, const struct var *v)
{
	static const char *const names[] = {"parameter", "cpu", "sink"};
	int *n = ctx;

	ck_assert(v->is_parameter);
	ck_assert_str_eq(v->name, names[*n]);
	++*n;
	return 0;
}

START_TEST(parameters_come_in_their_order)
{
	uint64_t pc = (uintptr_t)outer - bias;
	struct type_facts facts;
	struct type result;
	int n = 0;

	ck_assert_int_eq(
	    vars_parameters(self, pc, count_var, &n, &result, NULL), 0);
	ck_assert_int_eq(n, 3);
	type_look(result, &facts);
	ck_assert_int_eq(facts.kind, TYPE_VOID);
}
END_TEST

START_TEST(nothing_is_known_of_code_without_a_function)
{
	struct seek_local s = {.name = "x"};
	struct hark_err err = {0};

	ck_assert_int_eq(vars_each_local(self, 1, 0, is_it, &s, &err), -1);
	ck_assert_int_eq(err.code, HARK_ENOENT);
}
END_TEST

/* -- Pieces -- */

START_TEST(pieces_are_put_together_bit_by_bit)
{
	static const uint8_t first[] = {0xcd, 0xab};
	struct frame_cpu cpu = {0};
	struct expr_frame f = frame_of(&cpu);
	uint8_t out[4], known[4];
	struct expr_place p = {
	    .n = 3,
	    .piece = {{.kind = EXPR_BYTES,
		       .bytes = first,
		       .bytes_len = 2,
		       .bits = 12,
		       .skip = 4},
		      {.kind = EXPR_VALUE, .u = 0x1234, .bits = 12},
		      {.kind = EXPR_NOWHERE, .bits = 8}}};

	ck_assert_uint_eq(expr_read(&p, &f, 0, out, known, 4), 3);
	ck_assert_uint_eq(out[0], 0xbc);
	ck_assert_uint_eq(out[1], 0x4a);
	ck_assert_uint_eq(out[2], 0x23);
	ck_assert(!known[3]);
	ck_assert_uint_eq(expr_read(&p, &f, 2, out, known, 1), 1);
	ck_assert_uint_eq(out[0], 0x23);
}
END_TEST

Suite *image_vars_suite(void)
{
	Suite *s = suite_create("image_vars");
	TCase *t = tcase_create("vars");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, a_global_is_where_the_compiler_put_it);
	tcase_add_test(t, a_name_that_is_not_there_is_an_error);
	tcase_add_test(t, a_thread_local_one_is_asked_for_by_its_offset);
	tcase_add_test(t, fields_are_where_the_compiler_put_them);
	tcase_add_test(t, kinds_are_told_through_typedefs);
	tcase_add_test(t, arrays_of_arrays_lose_one_dimension_at_a_time);
	tcase_add_test(t, bit_fields_have_their_bits);
	tcase_add_test(t, enumerators_have_names);
	tcase_add_test(t, types_are_written_as_in_c);
	tcase_add_test(t, types_are_found_by_name);
	tcase_add_test(t, locals_are_read_from_registers_and_the_stack);
	tcase_add_test(t, inlined_functions_have_locals_of_their_own);
	tcase_add_test(t, parameters_come_in_their_order);
	tcase_add_test(t, nothing_is_known_of_code_without_a_function);
	tcase_add_test(t, pieces_are_put_together_bit_by_bit);
	suite_add_tcase(s, t);
	return s;
}
