/* tests/unit/image_lines_test.c - lines and inlined calls of this program.
 *
 * The compiler says what line it is; libdw, which reads the same debug
 * information, says the rest. */
#include "image/lines.h"

#include "image/place.h"

#include <check.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* -- What the compiler says -- */

static __attribute__((noinline)) uint64_t here(void)
{
	return (uintptr_t)__builtin_return_address(0);
}

static int call_line;

static inline __attribute__((always_inline)) uint64_t innermost(void)
{
	uint64_t pc = (call_line = __LINE__, here());

	__asm__ volatile("" : "+r"(pc));
	return pc;
}

static inline __attribute__((always_inline)) uint64_t middle(int *line)
{
	uint64_t pc = (*line = __LINE__, innermost());

	__asm__ volatile("" : "+r"(pc));
	return pc;
}

START_TEST(inlined_calls_are_told_outermost_first)
{
	struct place p;
	int middle_line, line;
	uint64_t pc = (line = __LINE__, middle(&middle_line));

	place_of(list, pc - 1, &p);
	ck_assert_uint_eq(p.n, 3);
	ck_assert_ptr_nonnull(strstr(p.frame[0].function,
				     "inlined_calls_are_told_outermost_first"));
	ck_assert_uint_eq(p.frame[0].line, line);
	ck_assert(!p.frame[0].inlined);
	ck_assert_str_eq(p.frame[1].function, "middle");
	ck_assert_uint_eq(p.frame[1].line, middle_line);
	ck_assert(p.frame[1].inlined);
	ck_assert_str_eq(p.frame[2].function, "innermost");
	ck_assert_uint_eq(p.frame[2].line, call_line);
	for (size_t i = 0; i < p.n; i++)
		ck_assert_ptr_nonnull(
		    strstr(p.frame[i].file, "image_lines_test.c"));
	ck_assert(p.has_symbol);
	ck_assert_uint_eq(p.symbol.addr + p.offset + bias, pc - 1);
}
END_TEST

START_TEST(a_short_answer_keeps_the_inner_frames)
{
	struct line_frame f[2];
	int line;
	uint64_t pc = middle(&line);
	size_t n;

	ck_assert_int_eq(lines_at(self, pc - 1 - bias, f, 2, &n, NULL), 0);
	ck_assert_uint_eq(n, 2);
	ck_assert_str_eq(f[0].function, "middle");
	ck_assert_str_eq(f[1].function, "innermost");
}
END_TEST

START_TEST(what_is_nowhere_is_not_found)
{
	struct line_frame f[1];
	struct hark_err err = {0};
	size_t n = 77;

	ck_assert_int_eq(lines_at(self, 1, f, 1, &n, &err), -1);
	ck_assert_int_eq(err.code, HARK_ENOENT);
	ck_assert_uint_eq(n, 77);
}
END_TEST

/* -- From lines to code -- */

struct site {
	uint64_t addr;
	size_t n;
};

static int count(void *ctx, uint64_t addr)
{
	struct site *s = ctx;

	if (s->n++ == 0)
		s->addr = addr;
	return 0;
}

struct named {
	size_t n;
	int has_dir;
};

static int see_file(void *ctx, const char *path, const char *dir)
{
	static const char name[] = "tests/unit/image_lines_test.c";
	struct named *s = ctx;
	size_t len = strlen(path);

	if (len < sizeof name ||
	    strcmp(path + len + 1 - sizeof name, name) != 0)
		return 0;
	s->n++;
	s->has_dir |= dir != NULL && dir[0] == '/';
	return 0;
}

static int stop_at_once(void *ctx, const char *path, const char *dir)
{
	(void)path;
	(void)dir;
	++*(int *)ctx;
	return 7;
}

START_TEST(all_files_are_listed)
{
	struct named s = {0};
	int n = 0;

	ck_assert_int_eq(lines_files(self, see_file, &s, NULL), 0);
	ck_assert_uint_ge(s.n, 1);
	ck_assert(s.has_dir);
	ck_assert_int_eq(lines_files(self, stop_at_once, &n, NULL), 7);
	ck_assert_int_eq(n, 1);
}
END_TEST

START_TEST(files_are_named_by_their_last_parts)
{
	struct site s = {0};
	uint32_t next;
	int line;

	middle(&line);
	ck_assert_int_eq(lines_sites(self, "image_lines_test.c",
				     (uint32_t)call_line, count, &s, NULL),
			 0);
	ck_assert_uint_ge(s.n, 3); /* once in each test above */
	s.n = 0;
	ck_assert_int_eq(lines_sites(self, "unit/image_lines_test.c",
				     (uint32_t)call_line, count, &s, NULL),
			 0);
	ck_assert_uint_ge(s.n, 3);
	ck_assert_int_eq(lines_sites(self, "age_lines_test.c",
				     (uint32_t)call_line, count, &s, NULL),
			 -1);
	ck_assert_int_eq(
	    lines_sites(self, "image_lines_test.c", 1, count, &s, NULL), -1);
	ck_assert_int_eq(lines_next(self, "image_lines_test.c", 1, &next, NULL),
			 0);
	ck_assert_uint_gt(next, 1);
	ck_assert_int_eq(
	    lines_next(self, "image_lines_test.c", 100000, &next, NULL), -1);
}
END_TEST

/* -- What libdw says -- */

#define WANT(claim, ...)                           \
	do {                                       \
		if (!(claim))                      \
			ck_abort_msg(__VA_ARGS__); \
	} while (0)

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute a;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &a) != NULL)
		return dwarf_formstring(&a);
	return dwarf_diename(die);
}

/* The functions around an address, innermost first, as libdw has them. */
static void compare_chain(Dwarf_Die *cu, uint64_t addr,
			  const struct line_frame *f, size_t n)
{
	Dwarf_Die *inner = NULL, *scopes = NULL;
	int all = dwarf_getscopes(cu, addr, &inner);
	size_t depth = 0;

	/* From an inlined call on, the first has what surrounds the function
	 * in the source; the second has who calls it. */
	if (all > 0)
		all = dwarf_getscopes_die(&inner[0], &scopes);
	free(inner);
	for (int i = 0; i < all; i++) {
		int tag = dwarf_tag(&scopes[i]);
		const char *want, *got;

		if (tag != DW_TAG_subprogram &&
		    tag != DW_TAG_inlined_subroutine)
			continue;
		WANT(depth < n, "0x%lx: %zu frames", addr, n);
		want = name_of(&scopes[i]);
		got = f[n - 1 - depth].linked;
		WANT((want == NULL) == (got == NULL) &&
			 (want == NULL || strcmp(want, got) == 0),
		     "0x%lx: %s, libdw has %s", addr, got, want);
		depth++;
		if (tag == DW_TAG_subprogram)
			break;
	}
	WANT(depth == n || (depth == 0 && n == 1 && f[0].linked == NULL),
	     "0x%lx: %zu frames, libdw has %zu", addr, n, depth);
	free(scopes);
}

/* libdw does not always add the directory. */
static bool ends_with(const char *path, const char *end)
{
	size_t a = strlen(path), b = strlen(end);

	return a >= b && strcmp(path + a - b, end) == 0;
}

static void compare_row(Dwarf_Die *cu, uint64_t addr, bool chain)
{
	struct line_frame f[LINES_DEPTH];
	Dwarf_Line *l = dwarf_getsrc_die(cu, addr);
	int line = 0, column = 0;
	const char *path;
	size_t n = 0;

	WANT(lines_at(self, addr, f, LINES_DEPTH, &n, NULL) == 0,
	     "0x%lx: not found", addr);
	if (l == NULL)
		return;
	dwarf_lineno(l, &line);
	dwarf_linecol(l, &column);
	path = dwarf_linesrc(l, NULL, NULL);
	WANT(f[n - 1].line == (unsigned)line &&
		 f[n - 1].column == (unsigned)column,
	     "0x%lx: %u:%u, libdw has %d:%d", addr, f[n - 1].line,
	     f[n - 1].column, line, column);
	WANT(ends_with(f[n - 1].file, path), "0x%lx: %s, libdw has %s", addr,
	     f[n - 1].file, path);
	if (chain)
		compare_chain(cu, addr, f, n);
}

/* All rows of a unit; chains for each 17th. */
static size_t compare_unit(Dwarf_Die *cu)
{
	Dwarf_Lines *lines;
	size_t n, done = 0;

	if (dwarf_getsrclines(cu, &lines, &n) != 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		Dwarf_Line *l = dwarf_onesrcline(lines, i);
		Dwarf_Addr addr = 0;
		bool end = false;

		dwarf_lineaddr(l, &addr);
		dwarf_lineendsequence(l, &end);
		/* A row of another unit's code: discarded by the linker. */
		if (end || dwarf_haspc(cu, addr) <= 0)
			continue;
		compare_row(cu, addr, done++ % 17 == 0);
	}
	return done;
}

/* -- Sites -- */

struct check {
	Dwarf_Lines *lines;
	size_t n, sites;
	unsigned line;
};

/* Is there a statement of the line at that address? */
static int check_site(void *ctx, uint64_t addr)
{
	struct check *c = ctx;

	c->sites++;
	for (size_t i = 0; i < c->n; i++) {
		Dwarf_Line *l = dwarf_onesrcline(c->lines, i);
		Dwarf_Addr at = 0;
		bool begins = false;
		int line = 0;

		dwarf_lineaddr(l, &at);
		dwarf_lineno(l, &line);
		dwarf_linebeginstatement(l, &begins);
		if (at == addr && begins && (unsigned)line == c->line &&
		    ends_with(dwarf_linesrc(l, NULL, NULL),
			      "image_lines_test.c"))
			return 0;
	}
	ck_abort_msg("line %u: no statement at 0x%lx", c->line, addr);
}

/* Each line that has a statement has sites, and all of them are statements
 * of it. */
static void compare_sites(Dwarf_Die *cu)
{
	struct check c = {.line = 0};
	bool has[1000] = {false};

	ck_assert_int_eq(dwarf_getsrclines(cu, &c.lines, &c.n), 0);
	for (size_t i = 0; i < c.n; i++) {
		Dwarf_Line *l = dwarf_onesrcline(c.lines, i);
		bool begins = false, end = false;
		int line = 0;

		dwarf_lineno(l, &line);
		dwarf_linebeginstatement(l, &begins);
		dwarf_lineendsequence(l, &end);
		if (begins && !end && line > 0 && line < 1000 &&
		    ends_with(dwarf_linesrc(l, NULL, NULL),
			      "image_lines_test.c"))
			has[line] = true;
	}
	for (c.line = 1; c.line < 1000; c.line++) {
		int rc = lines_sites(self, "image_lines_test.c", c.line,
				     check_site, &c, NULL);

		WANT((rc == 0) == has[c.line], "line %u: %d", c.line, rc);
	}
	ck_assert_uint_gt(c.sites, 100);
}

static bool is_wanted(Dwarf_Die *cu, const char *const *names)
{
	const char *name = dwarf_diename(cu);

	for (; name != NULL && *names != NULL; names++)
		if (strstr(name, *names) != NULL)
			return true;
	return false;
}

START_TEST(every_line_of_these_files_is_libdws)
{
	static const char *const names[] = {"src/image/", "image_lines_test.c",
					    "src/base/", NULL};
	int fd = open(image_file_path(self), O_RDONLY);
	Dwarf *d = dwarf_begin(fd, DWARF_C_READ);
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die die, sub;
	size_t n = 0, units = 0;

	ck_assert_ptr_nonnull(d);
	while (dwarf_get_units(d, cu, &cu, &version, &type, &die, &sub) == 0)
		if (is_wanted(&die, names)) {
			n += compare_unit(&die);
			units++;
			if (strstr(dwarf_diename(&die), "image_lines_test"))
				compare_sites(&die);
		}
	dwarf_end(d);
	close(fd);
	ck_assert_uint_gt(units, 15);
	ck_assert_uint_gt(n, 10000);
}
END_TEST

Suite *image_lines_suite(void)
{
	Suite *s = suite_create("image_lines");
	TCase *t = tcase_create("lines");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, inlined_calls_are_told_outermost_first);
	tcase_add_test(t, a_short_answer_keeps_the_inner_frames);
	tcase_add_test(t, what_is_nowhere_is_not_found);
	tcase_add_test(t, all_files_are_listed);
	tcase_add_test(t, files_are_named_by_their_last_parts);
	tcase_add_test(t, every_line_of_these_files_is_libdws);
	suite_add_tcase(s, t);
	return s;
}
