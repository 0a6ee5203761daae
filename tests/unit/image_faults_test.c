/* tests/unit/image_faults_test.c - any one allocation, open or map may fail.
 *
 * Each scenario is run again and again, the k-th such call failing, for all
 * k there are. It may fail or answer less, but not crash; under the address
 * sanitizer, not leak either. Run without a failure it must succeed. */
#include "image/demangle.h"
#include "image/frames.h"
#include "image/place.h"
#include "image/source.h"
#include "outside/faults.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CALLS_MAX = 100000 };

/* Runs f with the k-th call failing, for every k; returns how many k. */
static long each_fault(int (*f)(void *ctx), void *ctx)
{
	long k;

	for (k = 1; k < CALLS_MAX; k++) {
		int rc, happened;

		faults_set(k);
		rc = f(ctx);
		happened = faults_happened();
		faults_set(0);
		if (!happened) {
			ck_assert_msg(rc == 0, "fails without a fault");
			break;
		}
	}
	ck_assert_int_lt(k, CALLS_MAX);
	return k - 1;
}

/* -- One file -- */

struct seed {
	const char *path;
};

static int visit(void *ctx, const struct symbol *s)
{
	*(uint64_t *)ctx = s->addr;
	return 0;
}

static int visit_site(void *ctx, uint64_t addr)
{
	*(uint64_t *)ctx = addr;
	return 0;
}

/* Everything that can be asked of a file; 0 if symbols and rules came. */
static int ask(struct image_file *f)
{
	struct line_frame frame[4];
	const struct frame_table *t;
	struct symbol s;
	uint64_t addr = 0, site = 0;
	size_t n;
	int rc = symbols_each(f, NULL, visit, &addr, NULL);

	if (symbols_named(f, "_start", &s, NULL) == 0) {
		symbols_pretty(f, &s);
		addr = s.addr;
	}
	symbols_named(f, "deep::f", &s, NULL);
	if (lines_at(f, addr, frame, 4, &n, NULL) == 0 &&
	    frame[n - 1].file != NULL)
		lines_sites(f, frame[n - 1].file, frame[n - 1].line, visit_site,
			    &site, NULL);
	image_file_debug(f);
	return frames_of(f, &t, NULL) < 0 ? -1 : rc;
}

static int open_and_ask(void *ctx)
{
	const struct seed *seed = ctx;
	struct image *im;
	struct image_file *f;
	int rc;

	if (image_new(&im, NULL) < 0)
		return -1;
	rc = image_open(im, seed->path, &f, NULL);
	if (rc == 0) {
		rc = ask(f);
		rc |= ask(f); /* what failed once may be asked again */
	}
	image_free(im);
	return rc;
}

START_TEST(files_survive_every_fault)
{
	static const char *const names[] = {
	    "gcc-dwarf5", "gcc-dwarf4", "clang-dwarf5", "packed",
	    "split",	  "templates",	"mini",		"stripped",
	    "library",	  "debug-frame"};
	char path[4096];
	long n = 0;

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct seed seed = {path};

		snprintf(path, sizeof path, "%.*s/../fuzz/corpus/image_elf/%s",
			 (int)(strrchr(__FILE__, '/') - __FILE__), __FILE__,
			 names[i]);
		ck_assert_msg(access(path, R_OK) == 0, "%s", path);
		n += each_fault(open_and_ask, &seed);
	}
	ck_assert_int_gt(n, 300);
}
END_TEST

/* -- A process -- */

static int list_self(void *ctx)
{
	struct image *im;
	struct modules *m;
	bool changed;
	int rc;

	(void)ctx;
	if (image_new(&im, NULL) < 0)
		return -1;
	rc = modules_of_pid(im, getpid(), &m, NULL);
	if (rc == 0) {
		rc = modules_count(m) > 3 ? 0 : -1;
		if (modules_refresh(m, &changed, NULL) < 0)
			rc = -1;
		modules_free(m);
	}
	image_free(im);
	return rc;
}

START_TEST(modules_survive_every_fault)
{
	ck_assert_int_gt(each_fault(list_self, NULL), 30);
}
END_TEST

START_TEST(a_failed_refresh_keeps_the_old_list)
{
	struct image *im;
	struct modules *m;
	size_t before;
	void *code;
	bool changed = false;

	ck_assert_int_eq(image_new(&im, NULL), 0);
	ck_assert_int_eq(modules_of_pid(im, getpid(), &m, NULL), 0);
	before = modules_count(m);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (long k = 1; k < 1000; k++) {
		int rc;

		faults_set(k);
		rc = modules_refresh(m, &changed, NULL);
		faults_set(0);
		if (rc == 0)
			break;
		ck_assert_uint_eq(modules_count(m), before);
		ck_assert_ptr_nonnull(modules_find(m, (uintptr_t)ask));
	}
	ck_assert(changed);
	ck_assert_uint_eq(modules_count(m), before + 1);
	munmap(code, 4096);
	modules_free(m);
	image_free(im);
}
END_TEST

/* -- Sources -- */

static int read_source(void *ctx)
{
	struct source_line l;
	struct sources *s;
	int rc;

	(void)ctx;
	if (sources_new(&s, NULL) < 0)
		return -1;
	rc = sources_line(s, __FILE__, 1, 0, &l, NULL);
	sources_free(s);
	return rc;
}

START_TEST(sources_survive_every_fault)
{
	ck_assert_int_gt(each_fault(read_source, NULL), 4);
}
END_TEST

/* -- Names -- */

static int demangle_some(void *ctx)
{
	char out[256];

	(void)ctx;
	return demangle("_ZNSt6vectorIiSaIiEE9push_backEOi", DEMANGLE_FULL, out,
			sizeof out) > 0 &&
		       demangle("_RNvCs1234_7mycrate3foo", DEMANGLE_FULL, out,
				sizeof out) > 0
		   ? 0
		   : -1;
}

START_TEST(names_survive_every_fault)
{
	ck_assert_int_ge(each_fault(demangle_some, NULL), 1);
}
END_TEST

Suite *image_faults_suite(void)
{
	Suite *s = suite_create("image_faults");
	TCase *t = tcase_create("faults");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, files_survive_every_fault);
	tcase_add_test(t, modules_survive_every_fault);
	tcase_add_test(t, a_failed_refresh_keeps_the_old_list);
	tcase_add_test(t, sources_survive_every_fault);
	tcase_add_test(t, names_survive_every_fault);
	suite_add_tcase(s, t);
	return s;
}
