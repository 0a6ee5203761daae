/* tests/unit/site_hooks_test.c - what looks like a system call, and what is
 * one. The code is this program's own. */
#include "site/hooks.h"

#include "image/image.h"
#include "image/modules.h"
#include "image/symbols.h"
#include "native/native.h"
#include "site/listing.h"

#include <check.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Numbers of the same form that no other code has: parts of a file are looked
 * at together, too. */
START_TEST(a_call_is_sought_in_the_whole_file)
{
	ck_assert_int_eq(hooks_sought(self->file, is_1e61, &err), 1);
	ck_assert_int_eq(hooks_sought(self->file, is_1e62, &err), 1);
	ck_assert_int_eq(hooks_sought(self->file, is_1e63, &err), 0);
}
END_TEST

START_TEST(a_call_is_a_hook_where_an_instruction_starts)
{
	ck_assert_int_eq(hooks_survey(s, self->file, is_1e63, 0, &err), 0);
	survey_forget(s);
	ck_assert_int_eq(hooks_survey(s, self->file, is_1e61, 0, &err), 0);
	survey_forget(s);
	ck_assert_int_eq(hooks_survey(s, self->file, is_1e62, 0, &err), 1);
	ck_assert(survey_at(s, linked(hooks_test_call)) & SURVEY_START);
}
END_TEST

/* -- A survey of some functions -- */

/* What another function does to the one that is looked at. */
__asm__(".text\n"
	".type hooks_test_jumper, @function\n"
	"hooks_test_jumper:\n"
	"	test	%edi, %edi\n"
	"	jne	hooks_test_inner\n"
	"	call	hooks_test_second\n"
	"	lea	hooks_test_taken(%rip), %rax\n"
	"	cmpl	$7, hooks_test_read(%rip)\n"
	"	ret\n"
	".size hooks_test_jumper, . - hooks_test_jumper\n"
	".skip 4096, 0xcc\n"
	".type hooks_test_visited, @function\n"
	"hooks_test_visited:\n"
	"	mov	$0x1e64, %eax\n"
	"hooks_test_inner:\n"
	"	syscall\n"
	"	mov	$1, %ecx\n"
	"hooks_test_second:\n"
	"	mov	$2, %ecx\n"
	"hooks_test_taken:\n"
	"	ret\n"
	"hooks_test_read:\n"
	"	.long	0x90909090\n"
	"	ret\n"
	".size hooks_test_visited, . - hooks_test_visited\n"
	".skip 4096, 0xcc\n");
extern const char hooks_test_visited[], hooks_test_inner[], hooks_test_second[],
    hooks_test_taken[], hooks_test_read[];

static bool is_1e64(uint64_t number)
{
	return number == 0x1e64;
}

START_TEST(what_other_functions_do_there_is_known)
{
	uint64_t at = linked(hooks_test_inner);

	ck_assert_int_eq(survey_functions_near(s, self->file, &at, 1, &err), 0);
	ck_assert(survey_at(s, at) & SURVEY_TARGET);
	ck_assert(survey_at(s, linked(hooks_test_second)) & SURVEY_TARGET);
	ck_assert(survey_at(s, linked(hooks_test_taken)) & SURVEY_TARGET);
	ck_assert(survey_at(s, linked(hooks_test_read)) & SURVEY_DATA);
	/* So the number is not: who jumps there may have another one. */
	ck_assert_int_eq(hooks_number(s, at), -1);
	survey_forget(s);
	ck_assert_int_eq(hooks_survey(s, self->file, is_1e64, 0, &err), 1);
	ck_assert_int_eq(hooks_number(s, at), -1);
}
END_TEST

/* No symbols but local ones, which are not in the file. */
__asm__(".text\n"
	".type hooks_test_before, @function\n"
	"hooks_test_before:\n"
	"	mov	$0x1e65, %eax\n"
	".size hooks_test_before, . - hooks_test_before\n"
	".Lhooks_test_beyond:\n"
	"	syscall\n"
	"	ret\n"
	"	.skip 64, 0x06\n" /* no instruction */
	"	mov	$0x1e66, %eax\n"
	".Lhooks_test_lost:\n"
	"	syscall\n"
	"	ret\n"
	"	.skip 64, 0x06\n"
	"	.byte 0x0f, 0x1f, 0x40, 0x00\n" /* a nop that ends in 00 */
	".Lhooks_test_return:\n"
	"	mov	$15, %rax\n"
	"	syscall\n"
	".Lhooks_test_return_end:\n"
	"	.skip 64, 0x06\n"
	".section .eh_frame,\"a\",@progbits\n"
	".Lcie:	.long .Lcie_end - .Lcie_id\n"
	".Lcie_id: .long 0\n"
	"	.byte 1\n"
	"	.string \"zRS\"\n"
	"	.uleb128 1\n"
	"	.sleb128 -8\n"
	"	.byte 16\n"
	"	.uleb128 1\n"
	"	.byte 0x1b\n"
	"	.byte 0x0c, 7, 8, 0x90, 1\n"
	"	.balign 8\n"
	".Lcie_end:\n"
	"	.long .Lfde_end - .Lfde\n"
	".Lfde:	.long .Lfde - .Lcie\n"
	"	.long .Lhooks_test_return - 1 - .\n"
	"	.long .Lhooks_test_return_end - .Lhooks_test_return + 1\n"
	"	.uleb128 0\n"
	"	.balign 8\n"
	".Lfde_end:\n"
	".text\n"
	".section .data.rel.ro,\"aw\"\n"
	"	.balign 8\n"
	"hooks_test_beyond: .quad .Lhooks_test_beyond\n"
	"hooks_test_lost: .quad .Lhooks_test_lost\n"
	"hooks_test_return: .quad .Lhooks_test_return\n"
	".text\n");
extern const char *const hooks_test_beyond, *const hooks_test_lost,
						*const hooks_test_return;

static bool is_1e65(uint64_t number)
{
	return number == 0x1e65;
}

static bool is_1e66(uint64_t number)
{
	return number == 0x1e66;
}

static uint64_t places[4096];
static size_t n_places;
static struct survey *whole;

static int is_near_place(const struct symbol *y)
{
	for (size_t i = 0; i < n_places; i++)
		if (places[i] + SURVEY_NEAR > y->addr &&
		    places[i] < y->addr + y->size + SURVEY_NEAR)
			return 1;
	return 0;
}

/* That an entry is a target, too, makes no difference. */
static unsigned facts_of(const struct survey *v, uint64_t addr)
{
	unsigned facts = survey_at(v, addr);

	return facts & SURVEY_ENTRY ? facts & ~(unsigned)SURVEY_TARGET : facts;
}

static int compare_function(void *ctx, const struct symbol *y)
{
	unsigned *n = ctx;

	if (!is_near_place(y) || y->addr < s->start ||
	    y->addr + y->size > s->start + s->len ||
	    !(survey_at(whole, y->addr) & SURVEY_ENTRY))
		return 0;
	for (uint64_t a = y->addr; a < y->addr + y->size; a++) {
		ck_assert_msg(facts_of(s, a) == facts_of(whole, a),
			      "%s at 0x%lx of %s: %x, not %x", y->name, a,
			      image_file_path(s->ctx), facts_of(s, a),
			      facts_of(whole, a));
		ck_assert_uint_eq(s->shapes[a - s->start] & ~SURVEY_LED,
				  whole->shapes[a - s->start] & ~SURVEY_LED);
	}
	++*n;
	return 0;
}

/* Padding that a patch could hop to. */
static void compare_padding(uint64_t at)
{
	enum { HOP = 132 };

	for (uint64_t a = at - HOP; a < at + HOP; a++)
		ck_assert_uint_eq(survey_at(s, a) & SURVEY_PAD,
				  survey_at(whole, a) & SURVEY_PAD);
}

static void compare_module(const struct module *m)
{
	unsigned n = 0;

	survey_free(s);
	s = NULL;
	ck_assert_int_eq(survey_read(m->file, &s, &err), 0);
	ck_assert_int_eq(survey_read(m->file, &whole, &err), 0);
	ck_assert_int_eq(survey_functions_own(whole, m->file, &err), 0);
	n_places = 0;
	for (uint64_t k = 0; k + 2 <= s->len && n_places < 4096; k++)
		if (s->bytes[k] == 0x0f && s->bytes[k + 1] == 0x05)
			places[n_places++] = s->start + k;
	ck_assert_int_eq(
	    survey_functions_near(s, m->file, places, n_places, &err), 0);
	ck_assert_int_eq(symbols_each_own(m->file, compare_function, &n, &err),
			 0);
	for (size_t i = 0; i < n_places; i++)
		if (survey_at(whole, places[i]) & SURVEY_START)
			compare_padding(places[i]);
	ck_assert(n_places == 0 || n > 0);
	survey_free(whole);
}

/* This program, the C library, the loader, and what else there is. */
START_TEST(a_survey_of_near_functions_is_as_good_as_one_of_all)
{
	size_t n = 0;

	for (size_t i = 0; i < modules_count(modules); i++) {
		const struct module *m = modules_get(modules, i);

		if (m->file == NULL || m->kind == MODULE_VDSO)
			continue;
		compare_module(m);
		n++;
	}
	ck_assert_uint_ge(n, 3);
}
END_TEST

/* -- Code that nothing speaks of -- */

/* A copy of a file without call-frame rules and symbols but the exported ones.
 */
static struct survey *survey_of_stripped(const char *path)
{
	char copy[] = "/tmp/hark-stripped-XXXXXX", command[512];
	int fd = mkstemp(copy);
	struct image_file *f;
	struct survey *out;

	ck_assert_int_ge(fd, 0);
	close(fd);
	snprintf(command, sizeof command,
		 "strip -R .eh_frame -R .eh_frame_hdr -o %s %s", copy, path);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(image_open(im, copy, &f, &err), 0);
	ck_assert_int_eq(survey_read(f, &out, &err), 0);
	ck_assert_int_eq(survey_functions_own(out, f, &err), 0);
	unlink(copy);
	return out;
}

START_TEST(instructions_are_found_where_they_are_without_symbols_and_rules)
{
	const struct module *libc =
	    modules_find(modules, (uint64_t)&gnu_get_libc_version);
	struct survey *stripped = survey_of_stripped(libc->path);
	size_t n = 0, n_known = 0;

	survey_free(s);
	s = NULL;
	ck_assert_int_eq(survey_read(libc->file, &s, &err), 0);
	ck_assert_int_eq(survey_functions_own(s, libc->file, &err), 0);
	ck_assert_uint_eq(s->len, stripped->len);
	for (uint64_t a = s->start; a < s->start + s->len; a++) {
		n_known += (survey_at(s, a) & SURVEY_START) != 0;
		if (!(survey_at(stripped, a) & SURVEY_START))
			continue;
		n++;
		ck_assert_msg(!survey_is_inside(s, a) ||
				  survey_at(s, a) & SURVEY_START,
			      "0x%lx is inside an instruction", a);
	}
	ck_assert_uint_gt(n, n_known * 3 / 4);
	survey_free(stripped);
}
END_TEST

/* As glibc's clone3: its call-frame rules end before the system call. */
START_TEST(code_goes_on_where_call_frame_rules_end)
{
	uint64_t at = linked(hooks_test_beyond);

	ck_assert_int_eq(survey_functions_near(s, self->file, &at, 1, &err), 0);
	ck_assert(survey_at(s, at) & SURVEY_START);
	ck_assert_int_eq(hooks_number(s, at), 0x1e65);
	ck_assert_uint_eq(hooks_unproved(s, is_1e65), 0);
}
END_TEST

/* In front of it there are bytes that are no instruction. */
START_TEST(a_call_that_nothing_leads_to_is_not_proved)
{
	uint64_t at = linked(hooks_test_lost);

	ck_assert_int_eq(hooks_survey(s, self->file, is_1e66, 0, &err), 0);
	ck_assert(!(survey_at(s, at) & SURVEY_START));
	ck_assert_uint_eq(hooks_unproved(s, is_1e66), at);
}
END_TEST

/* The rules of the code that handlers return to begin a byte before it. */
START_TEST(the_return_of_a_signal_begins_with_its_first_instruction)
{
	uint64_t at = linked(hooks_test_return);

	ck_assert_int_eq(survey_functions_near(s, self->file, &at, 1, &err), 0);
	ck_assert(survey_at(s, at) & SURVEY_START);
	ck_assert(!(survey_at(s, at - 1) & SURVEY_START));
	ck_assert_int_eq(hooks_number(s, at + 7), 15);
}
END_TEST

/* -- In a listing -- */

static struct listing *listing_with(bool is_probed)
{
	struct description d = {
	    .module = "libc.so.6", .function = "qsort", .name = "entry"};
	struct listing *l;

	ck_assert_int_eq(listing_new(modules, getpid(), &l, &err), 0);
	if (is_probed)
		ck_assert_int_eq(listing_add(l, &d, NULL, NULL, &err), 0);
	ck_assert_int_eq(listing_add_hooks(l, native_hooks, &err), 0);
	ck_assert_uint_eq(listing_count(l), is_probed);
	if (!is_probed) /* later than the hooks */
		ck_assert_int_eq(listing_add(l, &d, NULL, NULL, &err), 0);
	return l;
}

START_TEST(a_module_with_hooks_may_be_probed)
{
	struct listing *l = listing_with(false);
	struct probe p;

	ck_assert_uint_eq(listing_count(l), 1);
	ck_assert_int_eq(listing_make(l, &err), 0);
	listing_get(l, 0, &p);
	ck_assert_str_eq(p.function, "qsort");
	ck_assert_ptr_nonnull(p.patch);
	listing_free(l);
}
END_TEST

START_TEST(hooks_are_the_same_whatever_is_known_of_other_functions)
{
	struct listing *all = listing_with(true), *some;
	size_t n = listing_hook_count(all);

	ck_assert_int_eq(listing_new(modules, getpid(), &some, &err), 0);
	ck_assert_int_eq(listing_add_hooks(some, native_hooks, &err), 0);
	ck_assert_int_eq(listing_make(some, &err), 0);
	ck_assert_int_eq(listing_make(all, &err), 0);
	ck_assert_uint_gt(n, 20);
	ck_assert_uint_eq(n, listing_hook_count(some));
	for (size_t i = 0; i < n; i++) {
		struct listing_hook a, b;
		bool found = false;

		listing_get_hook(all, i, &a);
		ck_assert_ptr_nonnull(a.patch);
		for (size_t k = 0; k < n && !found; k++) {
			listing_get_hook(some, k, &b);
			found = b.addr == a.addr;
		}
		ck_assert(found);
		ck_assert_ptr_nonnull(b.patch);
		ck_assert_int_eq(a.patch->form, b.patch->form);
	}
	listing_free(some);
	listing_free(all);
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
	tcase_add_test(c, a_call_is_sought_in_the_whole_file);
	tcase_add_test(c, a_call_is_a_hook_where_an_instruction_starts);
	tcase_add_test(c, what_other_functions_do_there_is_known);
	tcase_add_test(c, a_survey_of_near_functions_is_as_good_as_one_of_all);
	tcase_add_test(
	    c, instructions_are_found_where_they_are_without_symbols_and_rules);
	tcase_add_test(c, code_goes_on_where_call_frame_rules_end);
	tcase_add_test(c, a_call_that_nothing_leads_to_is_not_proved);
	tcase_add_test(
	    c, the_return_of_a_signal_begins_with_its_first_instruction);
	tcase_add_test(c, a_module_with_hooks_may_be_probed);
	tcase_add_test(c,
		       hooks_are_the_same_whatever_is_known_of_other_functions);
	suite_add_tcase(suite, c);
	return suite;
}
