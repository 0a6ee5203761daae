/* tests/unit/image_modules_test.c - which code is where in a process. */
#include "image/modules.h"

#include "image/frames.h"
#include "image/maps_priv.h"
#include "image/symbols.h"

#include <check.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct image *im;
static struct modules *list;

static void setup(void)
{
	struct hark_err err = {0};

	ck_assert_int_eq(image_new(&im, NULL), 0);
	ck_assert_msg(modules_of_pid(im, getpid(), &list, &err) == 0, "%s",
		      err.text);
}

static void teardown(void)
{
	modules_free(list);
	image_free(im);
}

static const struct module *find(const void *addr)
{
	return modules_find(list, (uintptr_t)addr);
}

START_TEST(this_process_is_as_it_is)
{
	const struct module *me = find(setup),
			    *libc = find(gnu_get_libc_version);
	const struct module *vdso =
	    modules_find(list, getauxval(AT_SYSINFO_EHDR) + 64);
	struct symbol s;
	char path[4096] = "";

	ck_assert_int_gt(readlink("/proc/self/exe", path, sizeof path - 1), 0);
	ck_assert_str_eq(me->path, path);
	ck_assert(me->main);
	ck_assert(!me->deleted);
	ck_assert(me->kind == MODULE_PIE || me->kind == MODULE_EXEC);
	ck_assert_ptr_nonnull(me->file);
	ck_assert_ptr_null(me->why);
	ck_assert_uint_eq(me->id_len, 20);
	ck_assert_int_eq(libc->kind, MODULE_SO);
	ck_assert_str_eq(libc->name, "libc.so.6");
	ck_assert(!libc->main);
	ck_assert_int_eq(vdso->kind, MODULE_VDSO);
	ck_assert_int_eq(
	    symbols_named(vdso->file, "__vdso_clock_gettime", &s, NULL), 0);
	ck_assert_ptr_eq(modules_find(list, s.addr + vdso->bias), vdso);
}
END_TEST

START_TEST(the_vdso_has_rules_too)
{
	const struct module *vdso =
	    modules_find(list, getauxval(AT_SYSINFO_EHDR) + 64);
	const struct frame_table *t;

	ck_assert_int_eq(frames_of(vdso->file, &t, NULL), 0);
	ck_assert_uint_gt(t->n_rows, 5);
}
END_TEST

START_TEST(ranges_ascend_and_find_their_module)
{
	uint64_t last = 0;

	for (size_t i = 0; i < modules_count(list); i++) {
		const struct module *m = modules_get(list, i);

		for (size_t k = 0; k < m->n_ranges; k++) {
			ck_assert_uint_ge(m->ranges[k].start, k > 0 ? last : 0);
			ck_assert_uint_lt(m->ranges[k].start, m->ranges[k].end);
			last = m->ranges[k].end;
			ck_assert_ptr_eq(modules_find(list, m->ranges[k].start),
					 m);
			ck_assert_ptr_eq(modules_find(list, last - 1), m);
		}
	}
	ck_assert_ptr_null(modules_find(list, 0));
	ck_assert_ptr_null(modules_find(list, 0x1000));
	ck_assert_ptr_null(modules_find(list, (uintptr_t)&last));
	ck_assert_ptr_null(modules_get(list, modules_count(list)));
}
END_TEST

START_TEST(changes_are_seen)
{
	bool changed = true;
	void *dl, *code;

	ck_assert_int_eq(modules_refresh(list, &changed, NULL), 0);
	ck_assert(!changed);
	dl = dlopen("libutil.so.1", RTLD_NOW);
	ck_assert_ptr_nonnull(dl);
	ck_assert_int_eq(modules_refresh(list, &changed, NULL), 0);
	ck_assert(changed);
	code = mmap(NULL, 8192, PROT_READ | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_null(find(code));
	ck_assert_int_eq(modules_refresh(list, &changed, NULL), 0);
	ck_assert(changed);
	ck_assert_int_eq(find(code)->kind, MODULE_ANON);
	ck_assert_str_eq(find(code)->path, "[anon]");
	ck_assert_ptr_null(find(code)->file);
	ck_assert_ptr_nonnull(find(code)->why);
	munmap(code, 8192);
	ck_assert_int_eq(modules_refresh(list, &changed, NULL), 0);
	ck_assert(changed);
	ck_assert_ptr_null(find(code));
}
END_TEST

/* -- Another process, from a copy that goes away -- */

/* Copies the true sleep, runs it, and waits until it sleeps. */
static pid_t start_copy(const char *path)
{
	char command[256], name[64], call[8] = "";
	pid_t pid;

	snprintf(command, sizeof command, "cp /bin/sleep %s", path);
	ck_assert_int_eq(system(command), 0);
	pid = fork();
	if (pid == 0) {
		execl(path, path, "600", (char *)NULL);
		_exit(127);
	}
	snprintf(name, sizeof name, "/proc/%d/syscall", pid);
	while (strtol(call, NULL, 10) != SYS_clock_nanosleep) {
		FILE *f = fopen(name, "r");

		ck_assert_ptr_nonnull(f);
		if (fgets(call, sizeof call, f) == NULL)
			call[0] = '\0';
		fclose(f);
		usleep(1000);
	}
	return pid;
}

static const struct module *main_of(struct modules *m)
{
	for (size_t i = 0; i < modules_count(m); i++)
		if (modules_get(m, i)->main)
			return modules_get(m, i);
	ck_abort_msg("no main module");
}

static void check_deleted(const char *path, pid_t pid)
{
	const struct frame_table *t;
	struct modules *m;
	const struct module *p;

	ck_assert_int_eq(modules_of_pid(im, pid, &m, NULL), 0);
	p = main_of(m);
	ck_assert(p->deleted);
	ck_assert_str_eq(p->path, path);
	ck_assert_ptr_nonnull(p->file);
	ck_assert_int_eq(p->kind, MODULE_PIE);
	ck_assert_int_eq(frames_of(p->file, &t, NULL), 0);
	ck_assert_uint_gt(t->n_rows, 100);
	modules_free(m);
}

START_TEST(deleted_and_replaced_files_are_still_read)
{
	char dir[] = "/tmp/hark-mod.XXXXXX", path[64], cmd[200];
	pid_t pid;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/sleeper", dir);
	pid = start_copy(path);
	ck_assert_int_eq(unlink(path), 0);
	check_deleted(path, pid);
	/* Another program takes its place. */
	snprintf(cmd, sizeof cmd, "cp /bin/true %s", path);
	ck_assert_int_eq(system(cmd), 0);
	check_deleted(path, pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
	ck_assert_int_eq(system(cmd), 0);
}
END_TEST

START_TEST(processes_that_are_gone_are_told)
{
	struct hark_err err = {0};
	struct modules *m;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	ck_assert_int_eq(modules_of_pid(im, pid, &m, &err), -1);
	ck_assert_int_eq(err.code, HARK_EGONE);
}
END_TEST

/* -- Lists -- */

START_TEST(one_file_is_a_list)
{
	struct modules *m;
	const struct module *p;

	ck_assert_int_eq(modules_of_file(im, "/bin/true", 0x10000000, &m, NULL),
			 0);
	ck_assert_uint_eq(modules_count(m), 1);
	p = modules_get(m, 0);
	ck_assert_int_eq(p->kind, MODULE_PIE);
	ck_assert(p->main);
	ck_assert_uint_ge(p->n_ranges, 1);
	ck_assert_uint_ge(p->ranges[0].start, 0x10000000);
	ck_assert_ptr_eq(modules_find(m, p->ranges[0].start), p);
	modules_free(m);
}
END_TEST

START_TEST(recorded_modules_need_no_process)
{
	const struct module *libc = find(gnu_get_libc_version);
	uint8_t wrong[20] = {1, 2, 3};
	const struct module_range one = {0x1000, 0x2000};
	const struct module_spec specs[] = {
	    {.path = libc->path,
	     .id = libc->id,
	     .id_len = libc->id_len,
	     .bias = 0x7000000,
	     .ranges = (struct module_range[]){{0x7001000, 0x7100000},
					       {0x7200000, 0x7300000}},
	     .n_ranges = 2,
	     .kind = MODULE_SO},
	    {.path = libc->path,
	     .id = wrong,
	     .id_len = 20,
	     .ranges = (struct module_range[]){{0x9000000, 0x9001000}},
	     .n_ranges = 1,
	     .kind = MODULE_SO},
	    {.path = "JIT", .ranges = &one, .n_ranges = 1, .kind = MODULE_ANON},
	    {.path = "/gone",
	     .id = wrong,
	     .id_len = 20,
	     .ranges = (struct module_range[]){{0xa000000, 0xa001000}},
	     .n_ranges = 1,
	     .kind = MODULE_PIE,
	     .main = true,
	     .bytes = "not ELF",
	     .len = 7},
	};
	struct modules *m;

	ck_assert_int_eq(modules_of_list(im, specs, 4, &m, NULL), 0);
	ck_assert_uint_eq(modules_count(m), 4);
	ck_assert_int_eq(modules_find(m, 0x1800)->kind, MODULE_ANON);
	ck_assert_ptr_eq(modules_find(m, 0x7001000)->file, libc->file);
	ck_assert_ptr_eq(modules_find(m, 0x7200000),
			 modules_find(m, 0x7001000));
	ck_assert_ptr_null(modules_find(m, 0x7100000));
	ck_assert_ptr_null(modules_find(m, 0x9000000)->file);
	ck_assert_ptr_nonnull(modules_find(m, 0x9000000)->why);
	ck_assert_mem_eq(modules_find(m, 0x9000000)->id, wrong, 20);
	ck_assert_ptr_null(modules_find(m, 0xa000000)->file);
	modules_free(m);
}
END_TEST

START_TEST(modules_go_by_several_names)
{
	const struct module *libc = find(gnu_get_libc_version),
			    *me = find(setup);

	ck_assert(module_matches(libc, "libc"));
	ck_assert(module_matches(libc, "libc.so.6"));
	ck_assert(module_matches(libc, "lib[a-c]*"));
	ck_assert(module_matches(libc, libc->path));
	ck_assert(module_matches(libc, "*"));
	ck_assert(!module_matches(libc, "a.out"));
	ck_assert(!module_matches(libc, "libm"));
	ck_assert(!module_matches(libc, "so"));
	ck_assert(module_matches(me, "a.out"));
	ck_assert(module_matches(me, me->name));
}
END_TEST

/* -- Text of maps -- */

static void *resize(void *ctx, void *old, size_t old_len, size_t n)
{
	(void)ctx;
	(void)old_len;
	if (n > 0)
		return realloc(old, n);
	free(old);
	return NULL;
}

START_TEST(odd_lines_are_understood_or_passed_over)
{
	static const struct heap heap = {resize, NULL};
	char text[] =
	    "1000-2000 r-xp 00003000 fe:01 1234   /a b/c\\012d (deleted)\n"
	    "garbage\n"
	    "\n"
	    "2000-1000 r-xp 0 0:0 0\n"
	    "zzzz-3000 r-xp 00000000 00:00 0\n"
	    "3000-4000 r-x\n"
	    "5000-6000 rw-p 00000000 00:00 0 \n"
	    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0   "
	    "[vsyscall]";
	struct maps maps = {0};
	struct arena arena;

	arena_init(&arena, &heap);
	ck_assert_int_eq(maps_parse(text, &arena, &maps, NULL), 0);
	ck_assert_uint_eq(maps.n, 3);
	ck_assert_str_eq(maps.at[0].path, "/a b/c\nd (deleted)");
	ck_assert_uint_eq(maps.at[0].offset, 0x3000);
	ck_assert_uint_eq(maps.at[0].ino, 1234);
	ck_assert(maps.at[0].exec);
	ck_assert_str_eq(maps.at[1].path, "");
	ck_assert(!maps.at[1].exec);
	ck_assert_str_eq(maps.at[2].path, "[vsyscall]");
	vec_free(&maps, &heap);
	arena_fini(&arena);
}
END_TEST

Suite *image_modules_suite(void)
{
	Suite *s = suite_create("image_modules");
	TCase *t = tcase_create("modules");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 20);
	tcase_add_test(t, this_process_is_as_it_is);
	tcase_add_test(t, the_vdso_has_rules_too);
	tcase_add_test(t, ranges_ascend_and_find_their_module);
	tcase_add_test(t, changes_are_seen);
	tcase_add_test(t, deleted_and_replaced_files_are_still_read);
	tcase_add_test(t, processes_that_are_gone_are_told);
	tcase_add_test(t, one_file_is_a_list);
	tcase_add_test(t, recorded_modules_need_no_process);
	tcase_add_test(t, modules_go_by_several_names);
	tcase_add_test(t, odd_lines_are_understood_or_passed_over);
	suite_add_tcase(s, t);
	return s;
}
