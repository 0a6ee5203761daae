/* tests/unit/site_choice_test.c - what the loader may choose, read from the
 * code that chooses; of small pieces of code, and of the C library. */
#include "site/choice.h"
#include "site/listing.h"

#include <check.h>
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

/* -- Pieces of code: functions of 16 bytes from 0x1000 on -- */

enum { EACH = 16, N = 6, AT = 0x1000, SLOT = 0x8000 };

static bool function(void *ctx, uint64_t addr, struct symbol *out)
{
	(void)ctx;
	if (addr < AT || addr >= AT + N * EACH || addr % EACH != 0)
		return false;
	*out = (struct symbol){.name = "f", .addr = addr, .size = EACH};
	return true;
}

static uint64_t slot(void *ctx, uint64_t addr)
{
	(void)ctx;
	return addr == SLOT ? AT + 4 * EACH : 0;
}

/* The first function has that code, the second one the other. */
static void choose(const uint8_t first[EACH], const uint8_t second[EACH],
		   bool is_fixed, struct choice *out)
{
	uint8_t code[N * EACH];
	struct choice_ask a = {
	    .is_fixed = is_fixed, .function = function, .slot = slot};
	struct hark_err err;
	struct symbol y;
	struct survey *s;

	memset(code, 0xc3, sizeof code);
	memcpy(code, first, EACH);
	memcpy(code + EACH, second, EACH);
	ck_assert_int_eq(0, survey_of_bytes(code, AT, sizeof code, &s, &err));
	for (unsigned i = 0; i < N; i++)
		s->facts[i * EACH] |= SURVEY_ENTRY;
	for (unsigned i = 0; i < N; i++)
		ck_assert_int_eq(0, survey_function(s, AT + i * EACH,
						    AT + (i + 1) * EACH, &err));
	a.survey = s;
	ck_assert(function(NULL, AT, &y));
	y.kind = SYMBOL_IFUNC;
	choice_of(&a, &y, out);
	survey_free(s);
}

static const uint8_t nothing[EACH] = {0xc3, 0xc3};
/* In the second: lea f3(%rip), %rax; ret */
static const uint8_t names_3[EACH] = {0x48, 0x8d, 0x05, 0x19, 0, 0, 0, 0xc3};

static void is_one(const struct choice *c, unsigned f)
{
	ck_assert_uint_eq(1, c->n);
	ck_assert_uint_eq(AT + f * EACH, c->of[0].addr);
}

START_TEST(what_it_takes_the_address_of_it_may_return)
{
	/* lea f2(%rip), %rdx; lea f3(%rip), %rax; ret */
	static const uint8_t two[EACH] = {0x48, 0x8d, 0x15, 0x19, 0,
					  0,	0,    0x48, 0x8d, 0x05,
					  0x22, 0,    0,    0,	  0xc3};
	struct choice c;

	choose(two, nothing, false, &c);
	ck_assert_uint_eq(2, c.n);
	ck_assert_uint_eq(AT + 2 * EACH, c.of[0].addr);
	ck_assert_uint_eq(AT + 3 * EACH, c.of[1].addr);
}
END_TEST

START_TEST(addresses_of_no_function_are_none)
{
	/* lea f3+1(%rip), %rax; ret */
	static const uint8_t inside[EACH] = {0x48, 0x8d, 0x05, 0x2a,
					     0,	   0,	 0,    0xc3};
	struct choice c;

	choose(inside, nothing, true, &c);
	ck_assert_uint_eq(0, c.n);
	choose(nothing, names_3, true, &c);
	ck_assert_uint_eq(0, c.n);
}
END_TEST

START_TEST(a_number_is_an_address_where_code_is_fixed)
{
	/* mov $f3, %eax; ret; mov $f3, %rax; ret */
	static const uint8_t narrow[EACH] = {0xb8, 0x30, 0x10, 0, 0, 0xc3};
	static const uint8_t wide[EACH] = {0x48, 0xc7, 0xc0, 0x30,
					   0x10, 0,    0,    0xc3};
	struct choice c;

	choose(narrow, nothing, true, &c);
	is_one(&c, 3);
	choose(wide, nothing, true, &c);
	is_one(&c, 3);
	choose(narrow, nothing, false, &c);
	ck_assert_uint_eq(0, c.n);
}
END_TEST

START_TEST(the_loader_may_have_put_it_in_a_slot)
{
	/* mov SLOT(%rip), %rax; ret */
	static const uint8_t loads[EACH] = {0x48, 0x8b, 0x05, 0xf9,
					    0x6f, 0,	0,    0xc3};
	struct choice c;

	choose(loads, nothing, false, &c);
	is_one(&c, 4);
}
END_TEST

START_TEST(who_calls_through_a_pointer_may_ask_others)
{
	/* call *%rax; lea f3(%rip), %rax; ret */
	static const uint8_t asks[EACH] = {0xff, 0xd0, 0x48, 0x8d, 0x05,
					   0x27, 0,    0,    0,	   0xc3};
	struct choice c;

	choose(asks, nothing, false, &c);
	is_one(&c, 3);
	ck_assert(c.may_ask);
	choose(nothing, asks, false, &c);
	ck_assert(!c.may_ask);
}
END_TEST

START_TEST(another_function_may_choose_for_it)
{
	/* jmp f1; call f1, ret; lea f2, %rax, call f1, ret */
	static const uint8_t jumps[EACH] = {0xe9, 0x0b, 0, 0, 0};
	static const uint8_t calls[EACH] = {0xe8, 0x0b, 0, 0, 0, 0xc3};
	static const uint8_t itself[EACH] = {0x48, 0x8d, 0x05, 0x19, 0, 0,   0,
					     0xe8, 0x04, 0,    0,    0, 0xc3};
	static const uint8_t again[EACH] = {0xe9, 0xeb, 0xff, 0xff, 0xff};
	struct choice c;

	choose(jumps, names_3, false, &c);
	is_one(&c, 3);
	choose(calls, names_3, false, &c);
	is_one(&c, 3);
	choose(itself, names_3, false, &c);
	is_one(&c, 2);
	/* In a circle. */
	choose(jumps, again, false, &c);
	ck_assert_uint_eq(0, c.n);
}
END_TEST

/* -- The C library -- */

static struct image *im;
static struct modules *mods;
static const struct module *libc;

static void open_libc(void)
{
	struct hark_err err;

	ck_assert_int_eq(0, image_new(&im, &err));
	ck_assert_int_eq(0, modules_of_pid(im, getpid(), &mods, &err));
	libc = NULL;
	for (size_t i = 0; i < modules_count(mods); i++)
		if (module_matches(modules_get(mods, i), "libc.so.6"))
			libc = modules_get(mods, i);
	ck_assert_ptr_nonnull(libc);
}

static void close_libc(void)
{
	modules_free(mods);
	image_free(im);
}

static int list(const char *function, const char *name, struct listing **out,
		struct hark_err *err)
{
	struct description d = {
	    .module = "libc.so.6", .function = function, .name = name};

	ck_assert_int_eq(0, listing_new(mods, getpid(), out, err));
	return listing_add(*out, &d, NULL, NULL, err);
}

static bool is_in_libc(uint64_t addr)
{
	for (size_t i = 0; i < libc->n_ranges; i++)
		if (addr >= libc->ranges[i].start && addr < libc->ranges[i].end)
			return true;
	return false;
}

/* What libc's name is bound to; 0: it is not for others. */
static uint64_t in_libc(const char *name)
{
	void *lib = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);

	ck_assert_ptr_nonnull(lib);
	return (uint64_t)(uintptr_t)dlsym(lib, name);
}

static size_t n_ifuncs, n_local;

static bool is_kernels(const char *name)
{
	return strcmp(name, "time") == 0 ||
	       strcmp(name + strspn(name, "_"), "gettimeofday") == 0;
}

/* What the loader really has chosen is among those that are probed. */
static int check_ifunc(void *ctx, const struct symbol *y)
{
	uint64_t chosen = in_libc(y->name);
	struct hark_err err = {0};
	struct listing *l;
	struct probe p;
	size_t found = 0;

	(void)ctx;
	if (y->kind != SYMBOL_IFUNC || is_kernels(y->name) ||
	    strchr(y->name, '@') != NULL ||
	    strcmp(y->name, "__x86_cacheinfo") == 0) /* chooses NULL */
		return 0;
	ck_assert_msg(list(y->name, "entry", &l, &err) == 0, "%s: %s", y->name,
		      err.text);
	ck_assert_uint_gt(listing_count(l), 0);
	for (size_t i = 0; i < listing_count(l); i++) {
		listing_get(l, i, &p);
		ck_assert_str_eq(y->name, p.function);
		ck_assert_ptr_nonnull(p.chosen);
		found += p.addr == chosen || p.addr == chosen + 4; /* endbr64 */
	}
	listing_free(l);
	n_ifuncs++;
	ck_assert(chosen == 0 || is_in_libc(chosen));
	ck_assert_msg(chosen == 0 || found == 1, "%s: %zu", y->name, found);
	n_local += chosen == 0;
	return 0;
}

START_TEST(every_ifunc_of_libc_is_read)
{
	struct hark_err err;

	open_libc();
	ck_assert_int_eq(
	    0, symbols_each(libc->file, NULL, check_ifunc, NULL, &err));
	ck_assert_uint_gt(n_ifuncs, 30);
	ck_assert_uint_le(n_local, n_ifuncs / 3);
	close_libc();
}
END_TEST

/* How many of a pattern have been chosen, and how many have not. */
static void count_chosen(const char *pattern, size_t *yes, size_t *no)
{
	struct hark_err err = {0};
	struct listing *l;
	struct probe p;

	*yes = *no = 0;
	ck_assert_int_eq(0, list(pattern, "entry", &l, &err));
	for (size_t i = 0; i < listing_count(l); i++) {
		listing_get(l, i, &p);
		++*(p.chosen != NULL ? yes : no);
	}
	listing_free(l);
}

START_TEST(a_pattern_means_each_function_once)
{
	size_t yes, no;

	open_libc();
	count_chosen("memcpy", &yes, &no);
	ck_assert_uint_gt(yes, 0);
	ck_assert_uint_eq(0, no);
	count_chosen("mem*", &yes, &no);
	ck_assert_uint_gt(yes, 0);
	ck_assert_uint_gt(no, 0);
	count_chosen("*", &yes, &no);
	ck_assert_uint_eq(0, yes);
	count_chosen("", &yes, &no);
	ck_assert_uint_eq(0, yes);
	close_libc();
}
END_TEST

START_TEST(entries_come_before_returns)
{
	struct hark_err err = {0};
	struct listing *l;
	struct probe p;
	bool has_left = false;

	open_libc();
	ck_assert_int_eq(0, list("memcpy", "", &l, &err));
	for (size_t i = 0; i < listing_count(l); i++) {
		listing_get(l, i, &p);
		ck_assert(p.kind != SITE_ENTRY || !has_left);
		has_left |= p.kind != SITE_ENTRY;
	}
	ck_assert(has_left);
	listing_free(l);
	close_libc();
}
END_TEST

static void refused(const char *function, const char *name, const char *with,
		    const char *without)
{
	struct hark_err err = {0};
	struct listing *l;

	ck_assert_int_eq(-1, list(function, name, &l, &err));
	ck_assert_int_eq(HARK_ENOENT, err.code);
	ck_assert_msg(strstr(err.text, with) != NULL, "%s", err.text);
	ck_assert_msg(strstr(err.text, without) == NULL, "%s", err.text);
	listing_free(l);
}

START_TEST(an_offset_has_no_meaning_in_several_functions)
{
	open_libc();
	refused("memcpy", "1f", "memcpy:1f: an offset needs one function",
		"there is");
	close_libc();
}
END_TEST

/* Where the kernel has no time(), libc's own is chosen. */
START_TEST(what_the_kernel_has_is_refused)
{
	struct hark_err err = {0};
	struct listing *l;

	open_libc();
	if (is_in_libc(in_libc("time"))) {
		ck_assert_int_eq(0, list("time", "entry", &l, &err));
		listing_free(l);
	} else {
		refused("time", "entry",
			"time:entry: the kernel's own function is chosen",
			"there is");
	}
	close_libc();
}
END_TEST

START_TEST(what_was_refused_is_not_offered)
{
	open_libc();
	refused("memcpz", "entry", "; there is memcpy", "memcpz,");
	refused("mem[c]pz", "entry", "no function matches 'mem[c]pz'",
		"is mem[");
	refused("qsort", "nosuch", "qsort:nosuch: no such probe", "there is");
	close_libc();
}
END_TEST

START_TEST(linkage_tables_are_asked_for_their_own_names)
{
	struct description d = {.provider = PROVIDER_PLT,
				.module = "libc.so.6",
				.function = "qsort",
				.name = "entry"};
	struct hark_err err = {0};
	struct listing *l;

	open_libc();
	ck_assert_int_eq(0, listing_new(mods, getpid(), &l, &err));
	ck_assert_int_eq(-1, listing_add(l, &d, NULL, NULL, &err));
	ck_assert_str_eq("no call out of it matches 'qsort'", err.text);
	listing_free(l);
	close_libc();
}
END_TEST

Suite *site_choice_suite(void)
{
	Suite *s = suite_create("site_choice");
	TCase *t = tcase_create("choice");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, what_it_takes_the_address_of_it_may_return);
	tcase_add_test(t, addresses_of_no_function_are_none);
	tcase_add_test(t, a_number_is_an_address_where_code_is_fixed);
	tcase_add_test(t, the_loader_may_have_put_it_in_a_slot);
	tcase_add_test(t, who_calls_through_a_pointer_may_ask_others);
	tcase_add_test(t, another_function_may_choose_for_it);
	tcase_add_test(t, every_ifunc_of_libc_is_read);
	tcase_add_test(t, a_pattern_means_each_function_once);
	tcase_add_test(t, entries_come_before_returns);
	tcase_add_test(t, an_offset_has_no_meaning_in_several_functions);
	tcase_add_test(t, what_the_kernel_has_is_refused);
	tcase_add_test(t, what_was_refused_is_not_offered);
	tcase_add_test(t, linkage_tables_are_asked_for_their_own_names);
	suite_add_tcase(s, t);
	return s;
}
