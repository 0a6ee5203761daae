/* tests/unit/outside_file_test.c - chunk files: whole, cut, and damaged. */
#include "outside/file.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNKS = 6 };

/* A small file with plain and packed chunks, and one without payload. */
static uint8_t *sample(size_t *len)
{
	int fd = memfd_create("sample", 0);
	struct file_writer *w = NULL;
	struct hark_err err;
	char text[2000];
	uint8_t *bytes;
	off_t end;

	memset(text, 'a', sizeof text);
	ck_assert_int_eq(file_create_fd(fd, "sample", &w, &err), 0);
	file_put(w, WIRE_CHUNK_META, 0, 0, "kind=test\n", 10, &err);
	file_put(w, WIRE_CHUNK_DATA, 1, 1, "abc", 3, &err);
	file_put(w, WIRE_CHUNK_DATA, 1, 2, text, sizeof text, &err);
	file_put(w, WIRE_CHUNK_DATA, 1, 1, "", 0, &err);
	file_put(w, WIRE_CHUNK_DATA, 2, 3, "defghijk", 8, &err);
	file_put(w, WIRE_CHUNK_END, 0, 0, "exit=0\n", 7, &err);
	end = lseek(fd, 0, SEEK_END);
	ck_assert_uint_eq((uint64_t)end, file_written(w));
	file_writer_close(w);
	bytes = malloc((size_t)end);
	ck_assert_int_eq(pread(fd, bytes, (size_t)end, 0), end);
	close(fd);
	*len = (size_t)end;
	return bytes;
}

struct outcome {
	int opened, chunks;
	enum file_status status;
	uint64_t position;
};

static struct outcome read_bytes(const uint8_t *bytes, size_t len)
{
	int fd = memfd_create("read", 0);
	struct outcome o = {0};
	struct file_reader *r;
	struct file_chunk c;
	struct hark_err err;

	ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
	lseek(fd, 0, SEEK_SET);
	if (file_open_fd(fd, "read", &r, &err) == 0) {
		o.opened = 1;
		while ((o.status = file_next(r, &c, &err)) == FILE_CHUNK)
			o.chunks++;
		o.position = file_position(r);
		file_reader_close(r);
	}
	close(fd);
	return o;
}

START_TEST(file_gives_back_what_was_put)
{
	struct outcome o;
	size_t len;
	uint8_t *bytes = sample(&len);

	o = read_bytes(bytes, len);
	ck_assert_int_eq(o.opened, 1);
	ck_assert_int_eq(o.chunks, CHUNKS);
	ck_assert_int_eq(o.status, FILE_END);
	ck_assert_uint_eq(o.position, len);
	free(bytes);
}
END_TEST

START_TEST(file_cut_anywhere_is_readable_to_its_last_whole_chunk)
{
	size_t len;
	uint8_t *bytes = sample(&len);
	int before = 0;

	for (size_t cut = 0; cut < len; cut++) {
		struct outcome o = read_bytes(bytes, cut);

		if (cut < sizeof(struct wire_file)) {
			ck_assert_int_eq(o.opened, 0);
			continue;
		}
		ck_assert_int_eq(o.status, FILE_CUT);
		ck_assert_int_ge(o.chunks, before);
		ck_assert_int_lt(o.chunks, CHUNKS);
		ck_assert_uint_le(o.position, cut);
		before = o.chunks;
	}
	ck_assert_int_eq(before, CHUNKS - 1);
	free(bytes);
}
END_TEST

START_TEST(file_every_flipped_bit_is_noticed)
{
	size_t len;
	uint8_t *bytes = sample(&len);

	for (size_t at = 0; at < len; at++)
		for (int bit = 0; bit < 8; bit++) {
			struct outcome o;

			bytes[at] ^= (uint8_t)(1 << bit);
			o = read_bytes(bytes, len);
			bytes[at] ^= (uint8_t)(1 << bit);
			if (o.opened)
				ck_assert_msg(o.status == FILE_DAMAGED,
					      "byte %zu bit %d: status %d", at,
					      bit, o.status);
		}
	free(bytes);
}
END_TEST

START_TEST(file_with_something_after_its_end_is_damaged)
{
	size_t len;
	uint8_t *bytes = sample(&len), more[4096];

	ck_assert_uint_lt(len + 1, sizeof more);
	memcpy(more, bytes, len);
	more[len] = 0;
	ck_assert_int_eq(read_bytes(more, len + 1).status, FILE_DAMAGED);
	free(bytes);
}
END_TEST

START_TEST(file_is_private_and_never_replaces_unasked)
{
	char dir[] = "/tmp/hark-file-XXXXXX", path[64], link[64];
	struct file_writer *w = NULL;
	struct hark_err err;
	struct stat st;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/a.hark", dir);
	snprintf(link, sizeof link, "%s/link", dir);
	umask(0);
	ck_assert_int_eq(file_create(path, 0, &w, &err), 0);
	file_writer_close(w);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	ck_assert_int_eq(file_create(path, 0, &w, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "--force"));
	ck_assert_int_eq(file_create(path, 1, &w, &err), 0);
	file_writer_close(w);
	ck_assert_int_eq(symlink("/nowhere/at/all", link), 0);
	ck_assert_int_eq(file_create(link, 0, &w, &err), -1);
	ck_assert_int_eq(file_create(dir, 1, &w, &err), -1);
	unlink(path);
	unlink(link);
	rmdir(dir);
}
END_TEST

START_TEST(file_text_keeps_every_byte_but_nul)
{
	char all[256], key[8], value[300];
	struct file_text t = {0};
	struct file_chunk c;
	size_t at = 0;

	for (int i = 1; i < 256; i++)
		all[i - 1] = (char)i;
	all[255] = '\0';
	file_text_add(&t, "arg", all);
	file_text_number(&t, "n", -5);
	c = (struct file_chunk){.bytes = (uint8_t *)t.at, .len = t.len};
	ck_assert_int_eq(1, file_text_next(&c, &at, key, 8, value, 300));
	ck_assert_str_eq(key, "arg");
	ck_assert_str_eq(value, all);
	ck_assert_int_eq(1, file_text_next(&c, &at, key, 8, value, 300));
	ck_assert_str_eq(value, "-5");
	ck_assert_int_eq(0, file_text_next(&c, &at, key, 8, value, 300));
	file_text_free(&t);
}
END_TEST

Suite *outside_file_suite(void)
{
	Suite *s = suite_create("outside_file");
	TCase *t = tcase_create("file");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, file_gives_back_what_was_put);
	tcase_add_test(t,
		       file_cut_anywhere_is_readable_to_its_last_whole_chunk);
	tcase_add_test(t, file_every_flipped_bit_is_noticed);
	tcase_add_test(t, file_with_something_after_its_end_is_damaged);
	tcase_add_test(t, file_is_private_and_never_replaces_unasked);
	tcase_add_test(t, file_text_keeps_every_byte_but_nul);
	suite_add_tcase(s, t);
	return s;
}
