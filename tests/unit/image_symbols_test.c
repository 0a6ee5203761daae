/* tests/unit/image_symbols_test.c - names of addresses, addresses of names.
 *
 * The program under test is this one, and its libraries: the linker and the
 * loader say where things are. */
#include "image/symbols.h"

#include "image/modules.h"

#include <check.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Names that the tests look for. */
int image_test_global(int x);
int image_test_other_name(int x);
int image_test_weak(int x);
int image_test_data[5] = {1, 2, 3};

__attribute__((noinline)) int image_test_global(int x)
{
	return x * 3 + image_test_data[x & 3];
}
int image_test_other_name(int x)
    __attribute__((weak, alias("image_test_global")));
int image_test_weak(int x) __attribute__((weak, alias("image_test_global")));

static struct image *im;
static struct modules *list;

static void setup(void)
{
	struct hark_err err = {0};

	ck_assert_msg(image_new(&im, &err) == 0, "%s", err.text);
	ck_assert_msg(modules_of_pid(im, getpid(), &list, &err) == 0, "%s",
		      err.text);
}

static void teardown(void)
{
	modules_free(list);
	image_free(im);
}

static const struct module *module_of(const void *addr)
{
	const struct module *m = modules_find(list, (uintptr_t)addr);

	ck_assert_ptr_nonnull(m);
	ck_assert_ptr_nonnull(m->file);
	return m;
}

static const struct module *libc_module(void)
{
	for (size_t i = 0; i < modules_count(list); i++)
		if (module_matches(modules_get(list, i), "libc"))
			return modules_get(list, i);
	ck_abort_msg("no libc");
}

static struct symbol at(const void *addr)
{
	const struct module *m = module_of(addr);
	struct hark_err err = {0};
	struct symbol s = {0};

	ck_assert_msg(
	    symbols_function(m->file, (uintptr_t)addr - m->bias, &s, &err) == 0,
	    "%s", err.text);
	return s;
}

START_TEST(the_best_of_several_names_is_shown)
{
	struct symbol s = at((const char *)image_test_global + 2);

	ck_assert_str_eq(s.name, "image_test_global");
	ck_assert_int_eq(s.kind, SYMBOL_FUNCTION);
	ck_assert_int_eq(s.binding, SYMBOL_GLOBAL);
	ck_assert(s.sized);
	ck_assert_uint_eq(s.addr + module_of(image_test_global)->bias,
			  (uintptr_t)image_test_global);
}
END_TEST

START_TEST(every_name_is_found)
{
	static const char *const names[] = {
	    "image_test_global", "image_test_weak", "image_test_other_name"};
	const struct module *m = module_of(image_test_global);
	struct symbol s;

	for (size_t i = 0; i < 3; i++) {
		ck_assert_int_eq(symbols_named(m->file, names[i], &s, NULL), 0);
		ck_assert_str_eq(s.name, names[i]);
		ck_assert_uint_eq(s.addr + m->bias,
				  (uintptr_t)image_test_global);
	}
	ck_assert_int_eq(symbols_named(m->file, "no_such_name", &s, NULL), -1);
}
END_TEST

START_TEST(data_has_names_too)
{
	const struct module *m = module_of(image_test_global);
	struct symbol s;
	uint64_t addr;

	ck_assert_int_eq(symbols_named(m->file, "image_test_data", &s, NULL),
			 0);
	ck_assert_int_eq(s.kind, SYMBOL_OBJECT);
	ck_assert_uint_eq(s.size, sizeof image_test_data);
	addr = (uintptr_t)image_test_data - m->bias;
	ck_assert_uint_eq(s.addr, addr);
	ck_assert_int_eq(symbols_object(m->file, addr + 19, &s, NULL), 0);
	ck_assert_str_eq(s.name, "image_test_data");
	ck_assert_int_eq(symbols_function(m->file, addr, &s, NULL), -1);
}
END_TEST

/* -- What the loader says -- */

START_TEST(libc_agrees_with_the_loader)
{
	static const char *const names[] = {"malloc", "printf", "qsort",
					    "pthread_create", "getenv"};
	const struct module *m = libc_module();
	struct symbol s;

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		void *addr = dlsym(RTLD_DEFAULT, names[i]);

		ck_assert_int_eq(symbols_named(m->file, names[i], &s, NULL), 0);
		if (modules_find(list, (uintptr_t)addr) == m)
			ck_assert_uint_eq(s.addr + m->bias, (uintptr_t)addr);
	}
}
END_TEST

START_TEST(ifuncs_and_old_versions_are_told)
{
	const struct module *m = libc_module();
	struct symbol now, old;

	ck_assert_int_eq(symbols_named(m->file, "memcpy", &now, NULL), 0);
	ck_assert_int_eq(now.kind, SYMBOL_IFUNC);
	ck_assert_int_eq(
	    symbols_named(m->file, "memcpy@GLIBC_2.2.5", &old, NULL), 0);
	ck_assert_uint_ne(now.addr, old.addr);
}
END_TEST

/* -- Globs -- */

struct tour {
	size_t n;
	uint64_t last;
	bool ascending, unsized;
	char names[4096];
};

static int visit(void *ctx, const struct symbol *s)
{
	struct tour *t = ctx;

	t->ascending = t->ascending && (t->n == 0 || s->addr > t->last);
	t->unsized = t->unsized || s->size == 0;
	t->last = s->addr;
	t->n++;
	if (strlen(t->names) + strlen(s->name) + 2 < sizeof t->names) {
		strcat(t->names, s->name);
		strcat(t->names, " ");
	}
	return 0;
}

static struct tour tour(struct image_file *f, const char *pattern)
{
	struct tour t = {.ascending = true};

	ck_assert_int_eq(symbols_each(f, pattern, visit, &t, NULL), 0);
	ck_assert(t.ascending);
	ck_assert(!t.unsized);
	return t;
}

START_TEST(globs_find_each_address_once)
{
	struct image_file *f = module_of(image_test_global)->file;

	ck_assert_str_eq(tour(f, "image_test_[gow]*").names,
			 "image_test_global ");
	ck_assert_str_eq(tour(f, "image_test_?ther_name").names,
			 "image_test_other_name ");
	ck_assert_uint_eq(tour(f, "image_test_nothing*").n, 0);
	ck_assert_uint_gt(tour(f, NULL).n, 100);
}
END_TEST

static int stop_at_third(void *ctx, const struct symbol *s)
{
	(void)s;
	return ++*(int *)ctx == 3 ? 42 : 0;
}

START_TEST(a_tour_ends_when_the_visitor_says_so)
{
	int n = 0;

	ck_assert_int_eq(
	    symbols_each(libc_module()->file, NULL, stop_at_third, &n, NULL),
	    42);
	ck_assert_int_eq(n, 3);
}
END_TEST

START_TEST(written_names_are_found)
{
	static const char path[] = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6";
	struct image_file *f;
	struct symbol s;

	ck_assert_int_eq(image_open(im, path, &f, NULL), 0);
	ck_assert_int_eq(symbols_named(f, "std::terminate", &s, NULL), 0);
	ck_assert_str_eq(s.name, "_ZSt9terminatev");
	ck_assert_str_eq(symbols_pretty(f, &s), "std::terminate()");
	ck_assert_ptr_eq(symbols_pretty(f, &s), symbols_pretty(f, &s));
	ck_assert_int_eq(symbols_named(f, "std::terminate()", &s, NULL), 0);
	ck_assert_str_eq(s.name, "_ZSt9terminatev");
	ck_assert_uint_eq(tour(f, "std::terminate").n, 1);
	ck_assert_uint_eq(tour(f, "std::termin*()").n, 1);
	ck_assert_int_eq(symbols_named(f, "__cxa_throw", &s, NULL), 0);
	ck_assert_str_eq(symbols_pretty(f, &s), "__cxa_throw");
}
END_TEST

START_TEST(linkage_table_entries_are_named)
{
	struct tour t = tour(libc_module()->file, "*@plt");

	ck_assert_uint_gt(t.n, 5);
	ck_assert_ptr_nonnull(strstr(t.names, "realloc@plt"));
}
END_TEST

Suite *image_symbols_suite(void)
{
	Suite *s = suite_create("image_symbols");
	TCase *t = tcase_create("symbols");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 20);
	tcase_add_test(t, the_best_of_several_names_is_shown);
	tcase_add_test(t, every_name_is_found);
	tcase_add_test(t, data_has_names_too);
	tcase_add_test(t, libc_agrees_with_the_loader);
	tcase_add_test(t, ifuncs_and_old_versions_are_told);
	tcase_add_test(t, globs_find_each_address_once);
	tcase_add_test(t, a_tour_ends_when_the_visitor_says_so);
	tcase_add_test(t, written_names_are_found);
	tcase_add_test(t, linkage_table_entries_are_named);
	suite_add_tcase(s, t);
	return s;
}
