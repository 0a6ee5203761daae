/* tests/unit/image_needed_test.c - what stays in this process, and what does
 * not. */
#include "image/needed.h"

#include "image/image_priv.h"
#include "outside/faults.h"

#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A part of the C library's package that nobody needs. */
#define SPARE "libanl.so.1"

static struct image *image;
static struct modules *modules;
static bool *stays;

static void look(void)
{
	struct hark_err err;

	ck_assert_int_eq(0, image_new(&image, &err));
	ck_assert_int_eq(0, modules_of_pid(image, getpid(), &modules, &err));
	stays = calloc(modules_count(modules) + 1, sizeof *stays);
	ck_assert_ptr_nonnull(stays);
	ck_assert_int_eq(0, needed_find(modules, stays, &err));
}

static void forget(void)
{
	free(stays);
	modules_free(modules);
	image_free(image);
}

/* 1, 0; -1: it is not there. */
static int does_stay(const char *name)
{
	for (size_t i = 0; i < modules_count(modules); i++)
		if (module_matches(modules_get(modules, i), name))
			return stays[i];
	return -1;
}

START_TEST(the_program_and_what_it_needs_stay)
{
	look();
	ck_assert_int_eq(1, does_stay("a.out"));
	ck_assert_int_eq(1, does_stay("libm.so.6"));
	ck_assert_int_eq(1, does_stay("libc.so.6"));
	ck_assert_int_eq(-1, does_stay(SPARE));
	forget();
}
END_TEST

/* The loader: libc needs it, whatever its file is called. */
START_TEST(what_is_needed_by_what_is_needed_stays)
{
	look();
	ck_assert_int_eq(1, does_stay("ld-linux*"));
	forget();
}
END_TEST

START_TEST(what_was_asked_for_may_go)
{
	void *spare = dlopen(SPARE, RTLD_NOW);

	ck_assert_ptr_nonnull(spare);
	look();
	ck_assert_int_eq(0, does_stay(SPARE));
	ck_assert_int_eq(1, does_stay("libc.so.6"));
	forget();
	dlclose(spare);
}
END_TEST

/* -- Many modules, made up -- */

enum { MANY = 200, NEEDS_MAX = 4, TEXT_LEN = 32 };

/* Module i has the file name file_i, and needs modules by their DT_SONAME. */
struct made_file {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[2];
	Elf64_Dyn dyn[NEEDS_MAX + 3];
	char strings[NEEDS_MAX + 2][TEXT_LEN];
};
static struct made_file made[MANY];
static struct modules *many;
static bool many_stay[MANY];
static size_t n_reads;

static void make_file(size_t i, const size_t *needs, size_t n_needs)
{
	struct made_file *f = &made[i];
	const Elf64_Ehdr eh = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
					   ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			       .e_type = ET_DYN,
			       .e_machine = EM_X86_64,
			       .e_version = EV_CURRENT,
			       .e_phoff = offsetof(struct made_file, ph),
			       .e_ehsize = sizeof(Elf64_Ehdr),
			       .e_phentsize = sizeof(Elf64_Phdr),
			       .e_phnum = 2};

	*f = (struct made_file){.eh = eh};
	f->ph[0] = (Elf64_Phdr){.p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_filesz = sizeof *f,
				.p_memsz = sizeof *f};
	f->ph[1] = (Elf64_Phdr){.p_type = PT_DYNAMIC,
				.p_flags = PF_R,
				.p_offset = offsetof(struct made_file, dyn),
				.p_vaddr = offsetof(struct made_file, dyn),
				.p_filesz = (n_needs + 3) * sizeof(Elf64_Dyn),
				.p_memsz = (n_needs + 3) * sizeof(Elf64_Dyn)};
	f->dyn[0] =
	    (Elf64_Dyn){.d_tag = DT_STRTAB,
			.d_un.d_ptr = offsetof(struct made_file, strings)};
	f->dyn[1] = (Elf64_Dyn){.d_tag = DT_SONAME, .d_un.d_val = TEXT_LEN};
	snprintf(f->strings[1], TEXT_LEN, "libmade.so.%zu", i);
	for (size_t k = 0; k < n_needs; k++) {
		f->dyn[k + 2] = (Elf64_Dyn){.d_tag = DT_NEEDED,
					    .d_un.d_val = (k + 2) * TEXT_LEN};
		snprintf(f->strings[k + 2], TEXT_LEN, "libmade.so.%zu",
			 needs[k]);
	}
}

static int read_counted(void *ctx, uint64_t offset, void *out, size_t len,
			struct hark_err *err)
{
	(void)err;
	n_reads++;
	memcpy(out, (const char *)ctx + offset, len);
	return 0;
}

/* As files that are read from now on, each time they are asked. Module 0 is
 * the program. */
static void list_files(void)
{
	struct module_spec specs[MANY];
	struct module_range ranges[MANY];
	char paths[MANY][TEXT_LEN];

	for (size_t i = 0; i < MANY; i++) {
		uint64_t start = 0x10000 * (MANY - i);

		snprintf(paths[i], TEXT_LEN, "/made/file_%zu", i);
		ranges[i] = (struct module_range){start, start + 0x1000};
		specs[i] = (struct module_spec){.path = paths[i],
						.bias = start,
						.ranges = &ranges[i],
						.n_ranges = 1,
						.kind = MODULE_SO,
						.main = i == 0,
						.bytes = &made[i],
						.len = sizeof made[i]};
	}
	ck_assert_int_eq(0, image_new(&image, NULL));
	ck_assert_int_eq(0, modules_of_list(image, specs, MANY, &many, NULL));
	ck_assert_uint_eq(MANY, modules_count(many));
	for (size_t i = 0; i < MANY; i++) {
		struct image_file *f = modules_get(many, i)->file;
		struct bytes_source *src;

		ck_assert_ptr_nonnull(f);
		src = &f->elf->in.src;
		src->ctx = &made[MANY - 1 - i];
		src->memory = NULL;
		src->read = read_counted;
	}
	n_reads = 0;
}

static bool many_file_stays(size_t i)
{
	return many_stay[MANY - 1 - i];
}

/* Each even module needs the next even ones, and is at a higher address. */
static void make_chain(void)
{
	for (size_t i = 0; i < MANY; i++) {
		size_t needs[NEEDS_MAX], n = 0;

		for (size_t next = i + 2; n < NEEDS_MAX && next < MANY;
		     next += 2)
			needs[n++] = next;
		make_file(i, needs, n);
	}
}

/* Two reads of a dynamic segment, one of each name in it. */
START_TEST(each_name_in_a_dynamic_segment_is_read_once)
{
	make_chain();
	list_files();
	ck_assert_int_eq(0, needed_find(many, many_stay, NULL));
	for (size_t i = 0; i < MANY; i++)
		ck_assert_msg(many_file_stays(i) == (i % 2 == 0), "%zu", i);
	ck_assert_uint_gt(n_reads, MANY);
	ck_assert_uint_le(n_reads, (size_t)MANY * (2 + 1 + NEEDS_MAX));
	modules_free(many);
	image_free(image);
}
END_TEST

START_TEST(modules_that_need_each_other_stay_or_go_together)
{
	for (size_t i = 0; i < MANY; i++)
		make_file(i, (size_t[]){i ^ 1}, 1);
	list_files();
	ck_assert_int_eq(0, needed_find(many, many_stay, NULL));
	for (size_t i = 0; i < MANY; i++)
		ck_assert_msg(many_file_stays(i) == (i < 2), "%zu", i);
	modules_free(many);
	image_free(image);
}
END_TEST

START_TEST(without_memory_nothing_is_claimed)
{
	struct hark_err err = {.code = HARK_OK};
	long k = 1;

	make_chain();
	list_files();
	for (;; k++) {
		int rc, happened;

		memset(many_stay, 0x55, sizeof many_stay);
		faults_set(k);
		rc = needed_find(many, many_stay, &err);
		happened = faults_happened();
		faults_set(0);
		if (!happened)
			break;
		ck_assert_int_eq(-1, rc);
		ck_assert_int_eq(HARK_ENOMEM, err.code);
		for (size_t i = 0; i < sizeof many_stay; i++)
			ck_assert_int_eq(0x55, ((char *)many_stay)[i]);
	}
	ck_assert_int_gt(k, 3);
	modules_free(many);
	image_free(image);
}
END_TEST

Suite *image_needed_suite(void);

Suite *image_needed_suite(void)
{
	Suite *s = suite_create("image_needed");
	TCase *t = tcase_create("needed");

	tcase_add_test(t, the_program_and_what_it_needs_stay);
	tcase_add_test(t, what_is_needed_by_what_is_needed_stays);
	tcase_add_test(t, what_was_asked_for_may_go);
	tcase_add_test(t, each_name_in_a_dynamic_segment_is_read_once);
	tcase_add_test(t, modules_that_need_each_other_stay_or_go_together);
	tcase_add_test(t, without_memory_nothing_is_claimed);
	suite_add_tcase(s, t);
	return s;
}
