/* tests/unit/probe_types_test.c - scripts know the program's types.
 *
 * A function is really called, with a trap at its first instruction; what the
 * trap finds in registers and on the stack are the arguments of a script that
 * is compiled with the types of this process and run. What it computes must be
 * what C says. The functions are optimised ones of this program, the same
 * again without optimisation, and some of C++. */
#include "probe/types.h"

#include "outside/faults.h"
#include "script/machine.h"
#include "script/verify.h"
#include "types_guest.h"

#include <check.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#define GUEST_SOURCE "tests/unit/types_guest.c"

static struct image *im;
static struct modules *modules;
static struct types *types;

/* -- Objects that are made here -- */

static char dir[] = "/tmp/hark-types-XXXXXX";

static const char cxx_source[] =
    "struct base_a { virtual ~base_a() {} int a = 1; };\n"
    "struct base_b { long b = 2; };\n"
    "class both : public base_a, public base_b {\n"
    "public:\n"
    "	int own = 3;\n"
    "	static int shared;\n"
    "	base_b &other = *this;\n"
    "	int method(int x, double y);\n"
    "};\n"
    "int both::shared = 9;\n"
    "int both::method(int x, double y) { return own + x + (int)y; }\n"
    "struct heavy { int w = 11; heavy() {} heavy(const heavy &) {}\n"
    "	~heavy() {} };\n"
    "struct part { int k = 12; heavy h[2]; };\n"
    "struct with_virtual { virtual int f() { return 0; } int v = 13; };\n"
    "struct light { long w[3]; light() = default;\n"
    "	light(const light &) = default; ~light() = default; };\n"
    "namespace space { struct inner { int z = 21; }; }\n"
    "extern \"C\" {\n"
    "both object;\n"
    "space::inner inner_object;\n"
    "long by_reference(const both &r, int x) { return r.own + x; }\n"
    "long by_value(heavy h, int x) { return h.w + x; }\n"
    "long in_space(space::inner *p) { return p->z; }\n"
    "long call_method(int x, double y) { return object.method(x, y); }\n"
    "long call_reference(int x) { return by_reference(object, x); }\n"
    "long call_value(int x) { heavy h; return by_value(h, x); }\n"
    "heavy made(int x) { heavy h; h.w = x; return h; }\n"
    "long call_made(int x) { return made(x).w; }\n"
    "long by_part(part p, int x) { return p.k + x; }\n"
    "long call_part(int x) { part p; return by_part(p, x); }\n"
    "long by_virtual(with_virtual v, int x) { return v.v + x; }\n"
    "long call_virtual(int x) { with_virtual v; return by_virtual(v, x); }\n"
    "long by_copy(light l, int x) { return l.w[2] + x; }\n"
    "long call_copy(int x) { light l; return by_copy(l, x); }\n"
    "long call_inner() { return in_space(&inner_object); }\n"
    "}\n";

/* Knows guest_hidden by name only. */
static const char far_source[] =
    "struct guest_hidden;\n"
    "struct far_box { int n; struct guest_hidden *p; };\n"
    "long far_boxed(struct far_box *b) { return b->n; }\n";

static void make(const char *name, const char *source, const char *how)
{
	char path[128], command[1024];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(source, f);
	fclose(f);
	snprintf(command, sizeof command, "%s %s", how, path);
	ck_assert_msg(system(command) == 0, "%s", command);
}

static void make_all(void)
{
	char how[512];

	snprintf(how, sizeof how,
		 "gcc -std=gnu17 -O0 -g -shared -fPIC " GUEST_SOURCE
		 " -o %s/libplain.so && true",
		 dir);
	make("plain", "", how);
	snprintf(how, sizeof how, "g++ -O0 -g -shared -fPIC -o %s/libcxx.so",
		 dir);
	make("cxx.cc", cxx_source, how);
	snprintf(how, sizeof how, "gcc -O2 -g -shared -fPIC -o %s/libfar.so",
		 dir);
	make("far.c", far_source, how);
	snprintf(how, sizeof how, "gcc -O2 -s -shared -fPIC -o %s/libbare.so",
		 dir);
	make("bare.c", far_source, how);
}

static void *load(const char *name)
{
	char path[128];
	void *lib;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(lib != NULL, "%s", dlerror());
	return lib;
}

static void *plain, *cxx, *far, *bare;

static void once(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	make_all();
}

static void once_more(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}

static void setup(void)
{
	struct hark_err err = {0};

	plain = load("libplain.so");
	cxx = load("libcxx.so");
	far = load("libfar.so");
	bare = load("libbare.so");
	ck_assert_int_eq(image_new(&im, &err), 0);
	ck_assert_msg(modules_of_pid(im, getpid(), &modules, &err) == 0, "%s",
		      err.text);
	ck_assert_msg(types_new(modules, &types, &err) == 0, "%s", err.text);
}

static void teardown(void)
{
	types_free(types);
	modules_free(modules);
	image_free(im);
}

/* -- Scripts -- */

static struct script *compile(const char *text)
{
	struct script_settings settings = {.target = "1",
					   .types = types_for_script(types)};
	struct hark_err err;
	struct script *s = script_compile(text, strlen(text), &settings, &err);

	ck_assert_ptr_nonnull(s);
	return s;
}

static const char *first_mistake(const char *text)
{
	static char said[600];
	struct script *s = compile(text);
	size_t n;
	const struct script_mistake *m = script_mistakes(s, &n);

	snprintf(said, sizeof said, "none");
	if (n > 0)
		script_say(s, m, said, sizeof said);
	script_free(s);
	return said;
}

static bool read_memory(struct machine_host *h, uint64_t addr, void *out,
			uint32_t len)
{
	struct iovec to = {out, len}, from = {(void *)(uintptr_t)addr, len};

	(void)h;
	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)len;
}

static uint64_t args[PROBE_ARGUMENTS];

/* What the expression is at that probe, with args. */
static int64_t value(const char *probe, const char *expression)
{
	static uint64_t scratch[1024], output[64];
	static struct verify_room room;
	uint64_t numbers[PROBE_SCOPE_MAX][8] = {{0}}, uregs[PROBE_UREGS] = {0};
	char text[512];
	struct script *s;
	const struct probe_program *p;
	struct machine_host h;

	snprintf(text, sizeof text, "%s { result = %s; }", probe, expression);
	s = compile(text);
	p = script_program(s);
	if (p == NULL) {
		script_free(s);
		ck_abort_msg("%s: %s", text, first_mistake(text));
	}
	ck_assert_ptr_null(verify_program(p, p->size, &room));
	h = (struct machine_host){.program = p,
				  .args = args,
				  .uregs = uregs,
				  .read = read_memory,
				  .output = (uint8_t *)output,
				  .output_room = sizeof output,
				  .scratch = (uint8_t *)scratch,
				  .scratch_room = sizeof scratch};
	for (int i = 0; i < PROBE_SCOPE_MAX; i++)
		h.numbers[i] = numbers[i];
	ck_assert_msg(machine_run(&h, probe_clauses(p)) == MACHINE_DONE, "%s",
		      text);
	script_free(s);
	return (int64_t)numbers[PROBE_GLOBAL][0];
}

/* -- Calls that are caught -- */

static uint8_t *caught_at, caught_byte;
static int caught;

static void on_trap(int number, siginfo_t *info, void *context)
{
	static const int order[6] = {REG_RDI, REG_RSI, REG_RDX,
				     REG_RCX, REG_R8,  REG_R9};
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)number, (void)info;
	for (int i = 0; i < 6; i++)
		args[i] = (uint64_t)r[order[i]];
	/* By the kernel: it may be a red zone of a sanitizer's. */
	read_memory(NULL, (uint64_t)r[REG_RSP] + 8, args + 6,
		    sizeof args - 6 * sizeof *args);
	*caught_at = caught_byte;
	r[REG_RIP]--;
	caught++;
}

/* The next call of the function is caught. */
static void catch_next(const void *function)
{
	struct sigaction a = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	uintptr_t page = (uintptr_t)function & -4096ul;

	ck_assert_int_eq(sigaction(SIGTRAP, &a, NULL), 0);
	ck_assert_int_eq(
	    mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC),
	    0);
	caught_at = (uint8_t *)(uintptr_t)function;
	caught_byte = *caught_at;
	*caught_at = 0xcc;
	caught = 0;
	memset(args, 0x5a, sizeof args);
}

static const void *function(void *lib, const char *name)
{
	const void *f = dlsym(lib, name);

	ck_assert_msg(f != NULL, "%s", name);
	return f;
}

/* Calls a guest's function, the optimised (a.out) or the plain one. */
#define CALL(is_plain, name, ...)                                         \
	do {                                                              \
		__typeof__(guest_##name) *volatile called = guest_##name; \
                                                                          \
		if (is_plain)                                             \
			called = (__typeof__(called))(uintptr_t)function( \
			    plain, "guest_" #name);                       \
		catch_next((const void *)(uintptr_t)called);              \
		called(__VA_ARGS__);                                      \
		ck_assert_int_eq(caught, 1);                              \
	} while (0)

static const char *at(bool is_plain, const char *name)
{
	static char probe[128];

	snprintf(probe, sizeof probe, "pid$target:%s:guest_%s:entry",
		 is_plain ? "libplain" : "a.out", name);
	return probe;
}

static guest_node_t other = {.value = -5, .name = "other", .where = {31, 32}};
static guest_node_t node = {
    .value = 42,
    .name = "first",
    .next = &other,
    .low = 5,
    .high = 100,
    .minus = -3,
    .wide = 0x8123456789ul,
    .inner = -1234,
    .word = 0xfedcba98,
    .where = {-1, 17},
    .path = {{1, 2}, {3, 4}, {5, 6}, {7, 8}},
    .kids = {NULL, &other, NULL},
    .color = GUEST_MINUS,
    .open = true,
    .text = "hark",
    .real = 1.5,
    .table = {{1, 2, 3}, {4, 5, 6}},
    .total = ~0ul,
};

/* -- Members -- */

START_TEST(members_have_their_values)
{
	static const struct {
		const char *text;
		int64_t value;
	} cases[] = {
	    {"args[0]->value", 42},
	    {"head->value", 42},
	    {"((struct guest_node *)arg0)->next->value", -5},
	    {"((guest_node_t *)arg0)->next->where.y", 32},
	    {"*(char *)head->name", 'f'},
	    {"head->low", 5},
	    {"head->high", 100},
	    {"head->minus", -3},
	    {"head->wide", 0x8123456789},
	    {"head->inner", -1234},
	    {"head->word", 0xfedcba98},
	    {"head->byte", 0x98},
	    {"head->where.x", -1},
	    {"head->path[2].y", 6},
	    {"head->path[depth].x", 7},
	    {"(&head->path[1])->y", 4},
	    {"head->kids[1]->value", -5},
	    {"head->kids[0] == NULL", 1},
	    {"head->color", -2},
	    {"head->open", 1},
	    {"head->text[3]", 'k'},
	    {"head->total == (guest_total_t)-1", 1},
	    {"head->hidden->secret", 77},
	    {"head->hidden->where.y", 8},
	    {"(unsigned long)&head->real - (unsigned long)head",
	     offsetof(guest_node_t, real)},
	    {"(unsigned long)&head->table[1] - (unsigned long)head",
	     offsetof(guest_node_t, table[1])},
	    {"(unsigned long)head->tail - (unsigned long)head",
	     offsetof(guest_node_t, tail)},
	    {"(unsigned long)(head + 1) - (unsigned long)head",
	     sizeof(guest_node_t)},
	    {"head->any == NULL && head->call == NULL", 1},
	    {"args[1]", 3},
	    {"c", 200},
	};

	for (int is_plain = 0; is_plain < 2; is_plain++) {
		node.hidden = guest_hide();
		CALL(is_plain, plain, &node, 3, 200);
		for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
			ck_assert_msg(value(at(is_plain, "plain"),
					    cases[i].text) == cases[i].value,
				      "%s", cases[i].text);
	}
}
END_TEST

/* -- Arguments -- */

#define IS(is_plain, name, text, wanted)                                    \
	ck_assert_msg(value(at(is_plain, name), text) == (int64_t)(wanted), \
		      "%s of %s is %ld", text, at(is_plain, name),          \
		      (long)value(at(is_plain, name), text))

static void check_hidden(int is_plain, const char *name, const char *text)
{
	char script[256];

	snprintf(script, sizeof script, "%s { x = %s; }", at(is_plain, name),
		 text);
	ck_assert_msg(strstr(first_mistake(script),
			     "[ARG_TYPE] this argument cannot be read") != NULL,
		      "%s: %s", script, first_mistake(script));
}

START_TEST(arguments_are_where_the_convention_puts_them)
{
	const struct guest_big big = {{101, 102, 103}};
	const __int128 huge = 5;

	for (int p = 0; p < 2; p++) {
		CALL(p, floats, 1.5, -7, 2.5f, 1234567890123);
		IS(p, "floats", "b", -7);
		IS(p, "floats", "args[1]", -7);
		IS(p, "floats", "d", 1234567890123);
		IS(p, "floats", "args[3]", 1234567890123);
		check_hidden(p, "floats", "a");
		check_hidden(p, "floats", "args[0]");
		check_hidden(p, "floats", "args[2] + 1");

		CALL(p, big, big, -9, &node);
		IS(p, "big", "c", -9);
		IS(p, "big", "n->value", 42);
		check_hidden(p, "big", "args[0]");

		CALL(p, small, (struct guest_small){1, 2},
		     (struct guest_pair){3, 4}, (struct guest_mixed){5, 6}, 7);
		IS(p, "small", "c", 7);
		IS(p, "small", "args[3]", 7);
		check_hidden(p, "small", "s.a");
		check_hidden(p, "small", "p");

		CALL(p, many, -1, -2, -3, 4000000000u, -5, true, -7, 250, &node,
		     -10, -11);
		IS(p, "many", "a", -1);
		IS(p, "many", "b", -2);
		IS(p, "many", "c", -3);
		IS(p, "many", "d", 4000000000u);
		IS(p, "many", "e", -5);
		IS(p, "many", "f", 1);
		IS(p, "many", "g", -7);
		IS(p, "many", "h", 250);
		IS(p, "many", "i->next->value", -5);
		IS(p, "many", "j", -10);
		check_hidden(p, "many", "k"); /* arg10: there is none */

		CALL(p, returns_big, 55, &node);
		IS(p, "returns_big", "a", 55);
		IS(p, "returns_big", "args[1]->value", 42);

		CALL(p, stack, 1, 2, 3, 4, 5, 6, big, 77);
		IS(p, "stack", "f", 6);
		IS(p, "stack", "g", 77);
		check_hidden(p, "stack", "s");

		CALL(p, wide, 1, 2, 3, 4, huge, 7, 8);
		IS(p, "wide", "d", 4);
		IS(p, "wide", "g", 7);
		IS(p, "wide", "h", 8);
		check_hidden(p, "wide", "f");

		CALL(p, kinds, GUEST_MINUS, 1ul << 63, &node,
		     (int[]){11, 12, 13});
		IS(p, "kinds", "c", GUEST_MINUS);
		IS(p, "kinds", "t > 5", 1);
		IS(p, "kinds", "n->where.y", 17);
		IS(p, "kinds", "numbers[2]", 13);
	}
}
END_TEST

START_TEST(a_return_has_the_type_of_the_result)
{
	char text[128];

	args[0] = 0x10;
	args[1] = (uintptr_t)&node;
	ck_assert_int_eq(
	    value("pid$target:libplain:guest_pointer:return", "args[1]->value"),
	    42);
	ck_assert_int_eq(
	    value("pid$target:libplain:guest_pointer:return", "args[0]"), 0x10);
	args[1] = 0xfffffffe; /* the upper half is not the result's */
	ck_assert_int_eq(
	    value("pid$target:libplain:guest_kinds:return", "args[1]"), -2);
	ck_assert_ptr_nonnull(
	    strstr(first_mistake("pid$target:libplain:guest_real:return"
				 "{ x = args[1]; }"),
		   "1:48: [ARG_TYPE]"));
	/* Parameters are gone then. */
	snprintf(text, sizeof text, "pid$target::guest_%s:return { x = a; }",
		 "pointer");
	ck_assert_ptr_nonnull(strstr(first_mistake(text), "[IDENT_UNDEF]"));
	ck_assert_ptr_nonnull(
	    strstr(first_mistake("pid$target::guest_pointer:0 { x = a; }"),
		   "[IDENT_UNDEF]"));
}
END_TEST

START_TEST(a_pattern_is_its_first_function_with_debug_information)
{
	CALL(true, plain, &node, 3, 200);
	ck_assert_int_eq(value("pid$target:libpl*:guest_pl*:entry", "depth"),
			 3);
	ck_assert_int_eq(value("pid*::guest_plai[n]:entry", "head->low"), 5);
	ck_assert_int_eq(value("guest_plain:entry", "head->low"), 5);
	/* The module of a linkage table is the one that calls. */
	ck_assert_int_eq(value("plt$target:libfar:guest_plain:entry", "depth"),
			 3);
	/* No function, no debug information: arguments as they are. */
	ck_assert_int_eq(value("pid$target:libbare:far_boxed:entry", "args[1]"),
			 3);
	ck_assert_int_eq(value("pid$target::no_such_thing:entry", "args[1]"),
			 3);
	ck_assert_ptr_nonnull(
	    strstr(first_mistake("pid$target:libbare:far_boxed:entry"
				 "{ x = b->n; }"),
		   "1:41: [IDENT_UNDEF]"));
}
END_TEST

/* -- Types by name -- */

START_TEST(types_are_found_by_name)
{
	const char *p = "BEGIN";

	args[0] = (uintptr_t)&node;
	ck_assert_int_eq(value(p, "((struct guest_node *)arg0)->low"), 5);
	ck_assert_int_eq(value(p, "(enum guest_color)-2"), -2);
	ck_assert_int_eq(value(p, "(guest_total_t)-1 > 5"), 1);
	ck_assert_int_eq(value(p, "(guest_count_t)arg0 == arg0"), 1);
	ck_assert_int_eq(
	    value(p, "(long)((struct guest_point *)arg0 + 1) - arg0"), 8);
	/* Only declared where it is used, in another library. */
	ck_assert_ptr_nonnull(far);
	args[0] = (uintptr_t)(uint64_t[]){5, (uintptr_t)guest_hide()};
	ck_assert_int_eq(value(p, "((struct far_box *)arg0)->p->secret"), 77);
	ck_assert_int_eq(value(p, "((struct far_box *)arg0)->n"), 5);
}
END_TEST

/* In C "guest_point" alone is no type: a variable may be called so. */
START_TEST(structs_of_c_need_their_keyword)
{
	ck_assert_ptr_nonnull(strstr(
	    first_mistake("BEGIN { x = (guest_point *)arg0; }"), "[SYNTAX]"));
	ck_assert_str_eq(first_mistake("BEGIN { guest_point = 3;"
				       "x = (guest_point) + 1; }"),
			 "none");
}
END_TEST

/* -- C++ -- */

typedef long call1(int x);
typedef long call2(int x, double y);

static void call_caught(const char *name, const char *caller, int x)
{
	catch_next(function(cxx, name));
	((call1 *)(uintptr_t)function(cxx, caller))(x);
	ck_assert_int_eq(caught, 1);
}

START_TEST(classes_and_references)
{
	const char *p = "pid$target:libcxx:_ZN4both6methodEid:entry";

	catch_next(function(cxx, "_ZN4both6methodEid"));
	((call2 *)(uintptr_t)function(cxx, "call_method"))(123, 4.0);
	ck_assert_int_eq(caught, 1);
	ck_assert_int_eq(value(p, "args[0]->own"), 3);
	ck_assert_int_eq(value(p, "args[0]->a"), 1);
	ck_assert_int_eq(value(p, "args[0]->b"), 2);
	ck_assert_int_eq(value(p, "args[0]->other->b"), 2);
	ck_assert_int_eq(value(p, "args[1]"), 123);
	ck_assert_int_eq(value(p, "((struct both *)arg0)->own"), 3);
	ck_assert_int_eq(value(p, "((both *)arg0)->own"), 3);

	call_caught("by_reference", "call_reference", 9);
	ck_assert_int_eq(
	    value("pid$target:libcxx:by_reference:entry", "r->b + x"), 11);

	/* What is not just copied is passed by its address. */
	call_caught("by_value", "call_value", 10);
	args[0] = (uintptr_t)(int[]){11};
	ck_assert_int_eq(value("pid$target:libcxx:by_value:entry", "h->w + x"),
			 21);
	call_caught("made", "call_made", 14);
	ck_assert_int_eq(value("pid$target:libcxx:made:entry", "x"), 14);
	call_caught("by_part", "call_part", 15);
	args[0] = (uintptr_t)(int[]){16};
	ck_assert_int_eq(value("pid$target:libcxx:by_part:entry", "p->k + x"),
			 31);
	call_caught("by_virtual", "call_virtual", 17);
	ck_assert_int_eq(value("pid$target:libcxx:by_virtual:entry", "x"), 17);
	call_caught("by_copy", "call_copy", 18);
	ck_assert_int_eq(value("pid$target:libcxx:by_copy:entry", "x"), 18);

	call_caught("in_space", "call_inner", 0);
	ck_assert_int_eq(value("pid$target:libcxx:in_space:entry", "p->z"), 21);
}
END_TEST

/* -- Mistakes -- */

START_TEST(mistakes_have_their_place)
{
	static const struct {
		const char *text, *said;
	} cases[] = {
	    {"guest_plain:entry { x = args[0]->valu; }",
	     "1:32: [MEMBER] there is no member 'valu'"},
	    {"guest_plain:entry { x = args[0]->where.z; }",
	     "1:39: [MEMBER] there is no member 'z'"},
	    {"guest_plain:entry { x = args[0]->value.z; }",
	     "1:39: [MEMBER] 'z' is sought in what is no struct"},
	    {"guest_plain:entry { x = args[0].value; }",
	     "1:32: [MEMBER] 'value' is sought in what is no struct"},
	    {"guest_plain:entry { x = args[0]->real + 1; }", "1:39: [OP_TYPE]"},
	    {"guest_plain:entry { x = args[0]->table[1] + 1; }",
	     "1:43: [OP_TYPE]"},
	    {"guest_plain:entry { x = args[0]->where + 1; }",
	     "1:40: [OP_TYPE]"},
	    {"guest_plain:entry { x = *args[0]->any; }", "1:25: [DEREF]"},
	    {"guest_plain:entry { x = args[0]->real.z; }",
	     "1:38: [MEMBER] there is no member 'z'"},
	    {"BEGIN { x = ((struct no_such *)arg0)->y; }",
	     "1:15: [TYPE_UNKNOWN] 'struct no_such' is not known"},
	    {"BEGIN { x = ((union guest_node *)arg0)->value; }",
	     "1:15: [TYPE_UNKNOWN]"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_msg(
		    strstr(first_mistake(cases[i].text), cases[i].said) != NULL,
		    "%s: %s", cases[i].text, first_mistake(cases[i].text));
}
END_TEST

static struct module_spec spec_of(const char *name, uint64_t start, bool main)
{
	static struct module_range ranges[2];
	static char paths[2][128];
	struct module_range *r = &ranges[main];
	struct module_spec s = {.path = paths[main],
				.ranges = r,
				.n_ranges = 1,
				.bias = start,
				.kind = main ? MODULE_PIE : MODULE_SO,
				.main = main};
	FILE *f;

	*r = (struct module_range){start, start + 0x10000};
	snprintf(paths[main], sizeof paths[main], "%s/%s", dir, name);
	f = fopen(s.path, "r");
	ck_assert_ptr_nonnull(f);
	fseek(f, 0, SEEK_END);
	s.len = (size_t)ftell(f);
	s.bytes = mmap(NULL, s.len, PROT_READ, MAP_PRIVATE, fileno(f), 0);
	ck_assert_ptr_ne(s.bytes, MAP_FAILED);
	fclose(f);
	return s;
}

/* The program itself has none; what its libraries have is still used. */
START_TEST(a_program_without_debug_information_is_told)
{
	struct module_spec specs[2] = {
	    spec_of("libbare.so", 0x100000, true),
	    spec_of("libfar.so", 0x200000, false),
	};
	struct modules *few;

	types_free(types);
	types = NULL;
	ck_assert_int_eq(modules_of_list(im, specs, 2, &few, NULL), 0);
	ck_assert_int_eq(types_new(few, &types, NULL), 0);
	ck_assert_ptr_nonnull(
	    strstr(first_mistake("BEGIN { x = ((struct box *)arg0)->n; }"),
		   "1:15: [TYPE_UNKNOWN] 'struct box' is not known: libbare.so "
		   "has no debug information"));
	ck_assert_ptr_nonnull(strstr(
	    first_mistake("pid$target:a.out:far_boxed:entry"
			  "{ x = args[0]->n; }"),
	    "1:46: [MEMBER] 'n' is sought in what is no pointer to a struct: "
	    "libbare.so has no debug information"));
	ck_assert_str_eq(
	    first_mistake("BEGIN { x = ((struct far_box *)arg0)->n; }"),
	    "none");
	types_free(types);
	types = NULL;
	modules_free(few);
}
END_TEST

/* -- Memory -- */

START_TEST(any_allocation_may_fail)
{
	static const char text[] = "guest_plain:entry { x = head->next->value +"
				   "((struct far_box *)arg0)->n; }";
	int happened = 1, failed = 0;

	for (int k = 1; happened; k++) {
		struct types *t = NULL;
		struct script_settings settings = {.target = "1"};
		struct hark_err err = {0};
		struct script *s = NULL;
		size_t n = 0;

		faults_set(k);
		if (types_new(modules, &t, &err) == 0) {
			settings.types = types_for_script(t);
			s = script_compile(text, strlen(text), &settings, &err);
		}
		happened = faults_happened();
		faults_set(0);
		if (s != NULL)
			script_mistakes(s, &n);
		ck_assert(happened || (s != NULL && n == 0));
		failed += s == NULL || n > 0;
		script_free(s);
		types_free(t);
	}
	ck_assert_int_gt(failed, 10);
}
END_TEST

Suite *probe_types_suite(void)
{
	Suite *s = suite_create("probe_types");
	TCase *c = tcase_create("probe_types");

	tcase_add_unchecked_fixture(c, once, once_more);
	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, members_have_their_values);
	tcase_add_test(c, arguments_are_where_the_convention_puts_them);
	tcase_add_test(c, a_return_has_the_type_of_the_result);
	tcase_add_test(c,
		       a_pattern_is_its_first_function_with_debug_information);
	tcase_add_test(c, types_are_found_by_name);
	tcase_add_test(c, structs_of_c_need_their_keyword);
	tcase_add_test(c, classes_and_references);
	tcase_add_test(c, mistakes_have_their_place);
	tcase_add_test(c, a_program_without_debug_information_is_told);
	tcase_add_test(c, any_allocation_may_fail);
	suite_add_tcase(s, c);
	return s;
}
