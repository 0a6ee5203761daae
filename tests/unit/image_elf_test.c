/* tests/unit/image_elf_test.c - opening ELF files, good and bad ones. */
#include "image/frames.h"
#include "image/image_priv.h"
#include "image/symbols.h"

#include <check.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"

static struct image *im;
static uint8_t *bytes; /* of libc */
static size_t len;

static void setup(void)
{
	int fd = open(LIBC, O_RDONLY);
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	len = (size_t)st.st_size;
	bytes = malloc(len);
	ck_assert_int_eq(read(fd, bytes, len), len);
	close(fd);
	ck_assert_int_eq(image_new(&im, NULL), 0);
}

static void teardown(void)
{
	image_free(im);
	free(bytes);
}

static Elf64_Ehdr *header(void)
{
	return (Elf64_Ehdr *)bytes;
}

/* The code of the error, or HARK_OK. */
static enum hark_code open_bytes(size_t n, struct image_file **out)
{
	struct hark_err err = {0};
	struct image_file *f;

	if (image_open_memory(im, "test", bytes, n, &f, &err) == 0) {
		if (out != NULL)
			*out = f;
		return HARK_OK;
	}
	ck_assert_int_ne(err.code, HARK_OK);
	ck_assert_ptr_nonnull(strstr(err.text, ": "));
	return err.code;
}

START_TEST(what_is_not_a_module_is_refused)
{
	Elf64_Ehdr good = *header();

	ck_assert_int_eq(open_bytes(0, NULL), HARK_EINPUT);
	ck_assert_int_eq(open_bytes(63, NULL), HARK_EINPUT);
	header()->e_ident[0] = 'x';
	ck_assert_int_eq(open_bytes(len, NULL), HARK_EINPUT);
	*header() = good;
	header()->e_ident[EI_CLASS] = ELFCLASS32;
	ck_assert_int_eq(open_bytes(len, NULL), HARK_EINPUT);
	*header() = good;
	header()->e_machine = EM_AARCH64;
	ck_assert_int_eq(open_bytes(len, NULL), HARK_EINPUT);
	*header() = good;
	header()->e_type = ET_CORE;
	ck_assert_int_eq(open_bytes(len, NULL), HARK_EINPUT);
	header()->e_type = ET_REL;
	ck_assert_int_eq(open_bytes(len, NULL), HARK_EINPUT);
	*header() = good;
	ck_assert_int_eq(open_bytes(len, NULL), HARK_OK);
}
END_TEST

START_TEST(program_headers_must_be_there)
{
	Elf64_Ehdr good = *header();

	header()->e_phoff = len - 10;
	ck_assert_int_eq(open_bytes(len, NULL), HARK_EINPUT);
	header()->e_phoff = UINT64_MAX - 10;
	ck_assert_int_eq(open_bytes(len, NULL), HARK_EINPUT);
	*header() = good;
	header()->e_phnum = 60000;
	ck_assert_int_eq(open_bytes(len, NULL), HARK_EINPUT);
	*header() = good;
	header()->e_phentsize = 32;
	ck_assert_int_eq(open_bytes(len, NULL), HARK_EINPUT);
}
END_TEST

START_TEST(paths_that_are_no_files_are_refused)
{
	struct image_file *f;
	struct hark_err err = {0};

	ck_assert_int_eq(image_open(im, "/nonexistent", &f, &err), -1);
	ck_assert_int_eq(err.code, HARK_ENOENT);
	ck_assert_int_eq(image_open(im, "/tmp", &f, &err), -1);
	ck_assert_int_eq(err.code, HARK_EINPUT);
	ck_assert_int_eq(image_open(im, "/dev/zero", &f, &err), -1);
	ck_assert_int_eq(err.code, HARK_EINPUT);
	ck_assert_int_eq(image_open(im, "/etc/passwd", &f, &err), -1);
	ck_assert_int_eq(err.code, HARK_EINPUT);
}
END_TEST

START_TEST(one_file_is_known_once)
{
	struct image_file *a, *b, *c;
	const uint8_t *id;
	size_t id_len;

	ck_assert_int_eq(image_open(im, LIBC, &a, NULL), 0);
	ck_assert_int_eq(image_open(im, "/usr" LIBC, &b, NULL), 0);
	ck_assert_ptr_eq(a, b);
	ck_assert_int_eq(open_bytes(len, &c), HARK_OK);
	ck_assert_ptr_eq(a, c);
	id = image_file_id(a, &id_len);
	ck_assert_uint_eq(id_len, 20);
	ck_assert_ptr_nonnull(id);
	ck_assert_int_gt(image_file_mtime_ns(a), 0);
	/* A stripped copy has the same id, and is not the same file. */
	header()->e_shoff = 0;
	ck_assert_int_eq(open_bytes(len, &c), HARK_OK);
	ck_assert_ptr_ne(a, c);
}
END_TEST

START_TEST(opening_reads_little)
{
	struct image_file *f;

	ck_assert_int_eq(image_open(im, LIBC, &f, NULL), 0);
	ck_assert_uint_lt(image_file_memory(f), 4096);
}
END_TEST

/* -- Without section headers -- */

static struct symbol named(struct image_file *f, const char *name)
{
	struct symbol s = {0};

	ck_assert_msg(symbols_named(f, name, &s, NULL) == 0, "%s", name);
	return s;
}

START_TEST(segments_alone_will_do)
{
	static const char *const names[] = {"malloc", "qsort", "getenv",
					    "memcpy@GLIBC_2.2.5"};
	const struct frame_table *whole, *bare;
	struct image_file *a, *b;

	ck_assert_int_eq(image_open(im, LIBC, &a, NULL), 0);
	header()->e_shoff = 0;
	header()->e_shnum = 0;
	ck_assert_int_eq(open_bytes(len, &b), HARK_OK);
	ck_assert_ptr_ne(a, b);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		ck_assert_uint_eq(named(a, names[i]).addr,
				  named(b, names[i]).addr);
	ck_assert_int_eq(frames_of(a, &whole, NULL), 0);
	ck_assert_int_eq(frames_of(b, &bare, NULL), 0);
	ck_assert_uint_eq(whole->n_rows, bare->n_rows);
	ck_assert_int_eq(memcmp(frame_rows(whole), frame_rows(bare),
				whole->n_rows * sizeof(struct frame_row)),
			 0);
}
END_TEST

START_TEST(a_module_is_read_from_memory)
{
	const struct frame_table *disk, *memory;
	struct image_file *a, *b;
	struct elf_origin o = {.fd = -1};
	struct hark_err err = {0};
	struct symbol s;
	Dl_info info;

	/* The C library, where the loader put it. */
	ck_assert_int_ne(
	    dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &info), 0);
	o.base = (uintptr_t)info.dli_fbase;
	o.mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(image_open(im, LIBC, &a, NULL), 0);
	ck_assert_msg(image_add(im, &o, "memory", &b, &err) == 0, "%s",
		      err.text);
	ck_assert_ptr_ne(a, b);
	ck_assert_int_eq(symbols_named(b, "gnu_get_libc_version", &s, NULL), 0);
	ck_assert_uint_eq(s.addr, named(a, "gnu_get_libc_version").addr);
	ck_assert_int_eq(frames_of(a, &disk, NULL), 0);
	ck_assert_int_eq(frames_of(b, &memory, NULL), 0);
	ck_assert_uint_eq(disk->n_rows, memory->n_rows);
	ck_assert_mem_eq(disk->id, memory->id, 20);
}
END_TEST

START_TEST(damaged_section_headers_are_an_error_later)
{
	struct hark_err err = {0};
	struct image_file *f;
	struct symbol s;

	header()->e_shoff = len - 64;
	ck_assert_int_eq(open_bytes(len, &f), HARK_OK);
	ck_assert_int_eq(symbols_named(f, "malloc", &s, &err), -1);
	ck_assert_int_eq(err.code, HARK_EINPUT);
}
END_TEST

/* -- Descriptors -- */

static int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

START_TEST(many_files_need_few_descriptors)
{
	char dir[] = "/tmp/hark-elf.XXXXXX", path[64], command[64];
	struct image_file *f[200];
	int before;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	before = count_fds();
	for (int i = 0; i < 200; i++) {
		int fd;

		snprintf(path, sizeof path, "%s/%d", dir, i);
		fd = open(path, O_CREAT | O_WRONLY, 0600);
		/* Each another file: the e_flags differ. */
		header()->e_flags = (uint32_t)i + 1;
		ck_assert_int_eq(write(fd, bytes, len), len);
		close(fd);
		ck_assert_int_eq(image_open(im, path, &f[i], NULL), 0);
	}
	ck_assert_int_le(count_fds(), before + 33);
	for (int i = 0; i < 200; i += 50)
		ck_assert_uint_eq(named(f[i], "malloc").addr,
				  named(f[199], "malloc").addr);
	ck_assert_int_le(count_fds(), before + 33);
	snprintf(command, sizeof command, "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(a_file_that_shrinks_is_an_error)
{
	char path[] = "/tmp/hark-elf.XXXXXX";
	int fd = mkstemp(path);
	struct hark_err err = {0};
	struct image_file *f;
	struct symbol s;

	header()->e_flags = 77;
	ck_assert_int_eq(write(fd, bytes, len), len);
	ck_assert_int_eq(image_open(im, path, &f, NULL), 0);
	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	ck_assert_int_eq(symbols_named(f, "malloc", &s, &err), -1);
	close(fd);
	unlink(path);
}
END_TEST

/* How many pieces of code there are; they ascend. */
static unsigned count_code(struct image_file *f, uint64_t *bytes_of)
{
	uint64_t low, high = 0, until = 0;
	unsigned n = 0;

	*bytes_of = 0;
	while (image_file_next_code(f, high, &low, &high)) {
		ck_assert(low >= until && high > low);
		until = high;
		*bytes_of += high - low;
		ck_assert_uint_lt(n++, 1000);
	}
	return n;
}

START_TEST(code_is_what_sections_call_code)
{
	uint64_t of_sections, of_segments, of_odd;
	Elf64_Ehdr good = *header();
	Elf64_Shdr *sh = (Elf64_Shdr *)(bytes + good.e_shoff);
	struct image_file *f;

	ck_assert_int_eq(open_bytes(len, &f), HARK_OK);
	ck_assert_uint_ge(count_code(f, &of_sections), 2);
	header()->e_shnum = 0;
	header()->e_shoff = 0;
	ck_assert_int_eq(open_bytes(len, &f), HARK_OK);
	ck_assert_uint_eq(count_code(f, &of_segments), 1);
	ck_assert_uint_gt(of_segments, of_sections);
	/* Overlapping, empty, up to the end of the address space. */
	*header() = good;
	for (unsigned i = 1; i < good.e_shnum; i++) {
		sh[i].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
		sh[i].sh_type = SHT_PROGBITS;
		sh[i].sh_addr = UINT64_MAX - i * 1000ul;
		sh[i].sh_size = i % 3 * 1000ul;
	}
	header()->e_flags = 1; /* another file */
	ck_assert_int_eq(open_bytes(len, &f), HARK_OK);
	count_code(f, &of_odd);
}
END_TEST

Suite *image_elf_suite(void)
{
	Suite *s = suite_create("image_elf");
	TCase *t = tcase_create("elf");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 30);
	tcase_add_test(t, what_is_not_a_module_is_refused);
	tcase_add_test(t, program_headers_must_be_there);
	tcase_add_test(t, paths_that_are_no_files_are_refused);
	tcase_add_test(t, one_file_is_known_once);
	tcase_add_test(t, opening_reads_little);
	tcase_add_test(t, segments_alone_will_do);
	tcase_add_test(t, a_module_is_read_from_memory);
	tcase_add_test(t, damaged_section_headers_are_an_error_later);
	tcase_add_test(t, code_is_what_sections_call_code);
	tcase_add_test(t, many_files_need_few_descriptors);
	tcase_add_test(t, a_file_that_shrinks_is_an_error);
	suite_add_tcase(s, t);
	return s;
}
