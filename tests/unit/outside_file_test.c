/* tests/unit/outside_file_test.c - chunk files: whole, cut, and damaged. */
#include "outside/file.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

/* -- Into pipes -- */

/* As on kernels where pwritev2 cannot be asked not to wait. */
static void forbid_nowait(void)
{
	struct sock_filter filter[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		     offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwritev2, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, filter};

	ck_assert_int_eq(0, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	ck_assert_int_eq(0,
			 prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

enum { LONG = 1 << 20 };

struct pipe_end {
	int fd;
	struct file_writer *w;
	unsigned stuck, on; /* how often it was told */
	int rc;
	struct hark_err err;
};

/* Nothing that could be pressed. */
static uint8_t long_byte(uint32_t i)
{
	i ^= i >> 16;
	i *= 0x7feb352d;
	i ^= i >> 15;
	i *= 0x846ca68b;
	return (uint8_t)(i >> 20);
}

static void told(void *ctx, int stuck)
{
	struct pipe_end *p = ctx;

	__atomic_add_fetch(stuck ? &p->stuck : &p->on, 1, __ATOMIC_RELEASE);
}

static void *put_long(void *arg)
{
	struct pipe_end *p = arg;
	uint8_t *bytes = malloc(LONG);

	for (unsigned i = 0; i < LONG; i++)
		bytes[i] = long_byte(i);
	p->rc = file_put(p->w, WIRE_CHUNK_DATA, 1, 1, bytes, LONG, &p->err);
	free(bytes);
	file_put(p->w, WIRE_CHUNK_END, 0, 0, "", 0, NULL);
	close(p->fd);
	return NULL;
}

static pthread_t begin_writing(struct pipe_end *p, int fds[2], int socket)
{
	pthread_t t;

	if (socket)
		ck_assert_int_eq(0, socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	else
		ck_assert_int_eq(0, pipe(fds));
	p->fd = fds[1];
	ck_assert_int_eq(0, file_create_fd(p->fd, "pipe", &p->w, &p->err));
	file_writer_watch(p->w, told, p);
	ck_assert_int_eq(0, pthread_create(&t, NULL, put_long, p));
	return t;
}

static void wait_until_told(const struct pipe_end *p)
{
	while (__atomic_load_n(&p->stuck, __ATOMIC_ACQUIRE) == 0)
		usleep(10000);
}

/* i: pipe or socket; the kernel can tell, or cannot. */
START_TEST(a_late_reader_finds_everything)
{
	struct pipe_end p = {0};
	struct file_reader *r = NULL;
	struct file_chunk c;
	struct hark_err err = {0};
	int fds[2], late = _i == 0 || _i == 3;
	unsigned wrong = 0;
	pthread_t t;

	if (_i >= 2)
		forbid_nowait();
	t = begin_writing(&p, fds, _i % 2);
	if (late)
		wait_until_told(&p);
	ck_assert_int_eq(0, file_open_fd(fds[0], "pipe", &r, &err));
	ck_assert_int_eq(FILE_CHUNK, file_next(r, &c, &err));
	ck_assert_uint_eq(LONG, c.len);
	for (unsigned i = 0; i < LONG; i++)
		wrong += c.bytes[i] != long_byte(i);
	ck_assert_uint_eq(0, wrong);
	ck_assert_int_eq(FILE_CHUNK, file_next(r, &c, &err));
	ck_assert_int_eq(WIRE_CHUNK_END, c.type);
	pthread_join(t, NULL);
	ck_assert_int_eq(0, p.rc);
	ck_assert_uint_eq(late, p.stuck);
	ck_assert_uint_eq(late, p.on);
	file_reader_close(r);
	file_writer_close(p.w);
}
END_TEST

START_TEST(who_waits_for_a_reader_can_be_called_off)
{
	struct pipe_end p = {0};
	int fds[2];
	pthread_t t;

	if (_i >= 2)
		forbid_nowait();
	t = begin_writing(&p, fds, _i % 2);
	usleep(50000);
	file_writer_abandon(p.w);
	pthread_join(t, NULL);
	ck_assert_int_eq(-1, p.rc);
	ck_assert_str_eq("pipe: nobody reads it", p.err.text);
	file_writer_close(p.w);
}
END_TEST

START_TEST(a_full_pipe_at_the_beginning_does_not_hold_signals_up)
{
	char bytes[4096] = {0};
	struct file_writer *w;
	struct hark_err err = {0};
	sigset_t term;
	int fds[2];

	ck_assert_int_eq(0, pipe(fds));
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	while (write(fds[1], bytes, sizeof bytes) > 0)
		continue;
	fcntl(fds[1], F_SETFL, 0);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	kill(getpid(), SIGTERM);
	ck_assert_int_eq(-1, file_create_fd(fds[1], "pipe", &w, &err));
	ck_assert_str_eq("pipe: nobody reads it", err.text);
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
	tcase_add_loop_test(t, a_late_reader_finds_everything, 0, 4);
	tcase_add_loop_test(t, who_waits_for_a_reader_can_be_called_off, 0, 4);
	tcase_add_test(t,
		       a_full_pipe_at_the_beginning_does_not_hold_signals_up);
	suite_add_tcase(s, t);
	return s;
}
