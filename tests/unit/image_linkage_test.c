/* tests/unit/image_linkage_test.c - linkage tables that the linker has written
 * no call-frame rules for.
 *
 * GNU ld writes them, unless it is told not to or the program is static: where
 * it does, they are what ours must be. */
#include "image/frames.h"
#include "image/modules.h"
#include "image/symbols.h"

#include <check.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[64];

static void setup(void)
{
	strcpy(dir, "/tmp/hark-unit.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void teardown(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}

/* A program of these flags: its path. */
static const char *build(const char *name, const char *flags)
{
	static char path[2][96];
	static unsigned n;
	char *to = path[n++ % 2], command[512];

	snprintf(to, sizeof path[0], "%s/%s", dir, name);
	snprintf(command, sizeof command,
		 "echo '#include <stdio.h>\n#include <string.h>\n"
		 "int main(int n, char **v) { return puts(v[0]) + "
		 "(int)strlen(v[0]) + !memchr(v[0], n, 1); }'"
		 "| gcc -xc -O1 -fno-builtin %s - -o %s",
		 flags, to);
	ck_assert_msg(system(command) == 0, "%s", command);
	return to;
}

/* -- What is in a file -- */

struct file {
	struct image *im;
	struct image_file *f;
	const struct frame_table *rules;
	const char *path;
};

static struct file file_of(const char *path)
{
	struct file out = {.path = path};
	struct hark_err err = {0};

	ck_assert_int_eq(image_new(&out.im, &err), 0);
	ck_assert_msg(image_open(out.im, path, &out.f, &err) == 0, "%s",
		      err.text);
	ck_assert_msg(frames_of(out.f, &out.rules, &err) == 0, "%s", err.text);
	ck_assert_int_eq(
	    frame_table_check(out.rules, out.rules->len, true, &err), 0);
	return out;
}

static void section_of(const char *path, const char *name, GElf_Shdr *out)
{
	int fd = open(path, O_RDONLY);
	Elf_Scn *scn = NULL;
	size_t names;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	ck_assert_int_eq(elf_getshdrstrndx(elf, &names), 0);
	memset(out, 0, sizeof *out);
	while ((scn = elf_nextscn(elf, scn)) != NULL) {
		GElf_Shdr h;

		gelf_getshdr(scn, &h);
		if (strcmp(elf_strptr(elf, names, h.sh_name), name) == 0)
			*out = h;
	}
	elf_end(elf);
	close(fd);
}

/* -- Rules -- */

enum { STACK = 0x7000 };

static int read_itself(void *ctx, uint64_t addr, uint64_t *out)
{
	(void)ctx;
	*out = addr;
	return 0;
}

/* Where the return address is, above the stack pointer; -1: nobody knows. */
static long return_at(const struct file *f, uint64_t pc)
{
	const struct frame_memory memory = {read_itself, NULL};
	struct frame_cpu cpu = {.known = (1u << FRAME_REGS) - 1, .exact = true};

	cpu.reg[FRAME_RSP] = STACK;
	cpu.reg[FRAME_RBP] = 17;
	cpu.reg[FRAME_RIP] = pc;
	if (frame_step(f->rules, 0, &memory, &cpu) != FRAME_STEPPED)
		return -1;
	ck_assert_uint_eq(cpu.reg[FRAME_RBP], 17);
	ck_assert_uint_eq(cpu.reg[FRAME_RSP], cpu.reg[FRAME_RIP] + 8);
	return (long)cpu.reg[FRAME_RIP] - STACK;
}

static void compare(const char *flags, const char *section)
{
	char without[128];
	GElf_Shdr x, y;
	struct file a, b;

	snprintf(without, sizeof without,
		 "%s -Wl,--no-ld-generated-unwind-info", flags);
	a = file_of(build("a", flags));
	b = file_of(build("b", without));
	section_of(a.path, section, &x);
	section_of(b.path, section, &y);
	ck_assert_msg(y.sh_size >= 8, "%s: no %s", flags, section);
	ck_assert_uint_eq(x.sh_size, y.sh_size);
	for (uint64_t i = 0; i < x.sh_size; i++) {
		long want = return_at(&a, x.sh_addr + i);

		ck_assert_int_ge(want, 0);
		ck_assert_msg(return_at(&b, y.sh_addr + i) == want,
			      "%s: %s+%lu: %ld instead of %ld", flags, section,
			      i, return_at(&b, y.sh_addr + i), want);
	}
	image_free(a.im);
	image_free(b.im);
}

START_TEST(rules_of_a_lazy_table_are_the_linkers)
{
	compare("-Wl,-z,lazy", ".plt");
	compare("-no-pie -Wl,-z,lazy", ".plt");
}
END_TEST

START_TEST(rules_of_a_table_for_indirect_branch_tracking_are_the_linkers)
{
	compare("-Wl,-z,lazy,-z,ibtplt", ".plt");
	compare("-Wl,-z,lazy,-z,ibtplt", ".plt.sec");
}
END_TEST

START_TEST(rules_of_a_table_that_is_filled_at_once_are_the_linkers)
{
	compare("-Wl,-z,now", ".plt.got");
}
END_TEST

START_TEST(a_static_program_has_rules_for_its_table)
{
	struct file f = file_of(build("s", "-static"));
	GElf_Shdr h;

	section_of(f.path, ".plt", &h);
	ck_assert_uint_ge(h.sh_size, 16);
	for (uint64_t i = 0; i < h.sh_size; i++)
		ck_assert_int_eq(return_at(&f, h.sh_addr + i), 0);
	image_free(f.im);
}
END_TEST

/* -- Names -- */

/* Its entries have 8 bytes; each has a name of its own. */
START_TEST(each_entry_of_a_static_program_has_its_name)
{
	struct file f = file_of(build("s", "-static"));
	struct hark_err err = {0};
	bool has_strlen = false;
	char before[64] = "";
	GElf_Shdr h;

	section_of(f.path, ".plt", &h);
	for (uint64_t i = 0; i < h.sh_size; i += 8) {
		struct symbol s;

		ck_assert_msg(symbols_function(f.f, h.sh_addr + i, &s, &err) ==
				  0,
			      "entry %lu: %s", i / 8, err.text);
		ck_assert_uint_eq(s.addr, h.sh_addr + i);
		ck_assert_uint_eq(s.size, 8);
		ck_assert_str_ne(s.name, before);
		snprintf(before, sizeof before, "%s", s.name);
		has_strlen = has_strlen || strcmp(s.name, "strlen@plt") == 0;
	}
	ck_assert(has_strlen);
	image_free(f.im);
}
END_TEST

Suite *image_linkage_suite(void)
{
	Suite *s = suite_create("image_linkage");
	TCase *t = tcase_create("tables");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, rules_of_a_lazy_table_are_the_linkers);
	tcase_add_test(
	    t, rules_of_a_table_for_indirect_branch_tracking_are_the_linkers);
	tcase_add_test(t,
		       rules_of_a_table_that_is_filled_at_once_are_the_linkers);
	tcase_add_test(t, a_static_program_has_rules_for_its_table);
	tcase_add_test(t, each_entry_of_a_static_program_has_its_name);
	suite_add_tcase(s, t);
	return s;
}
