/* tests/unit/record_recording_test.c - a recording is believed as far as it is
 * right. */
#include "record/recording.h"

#include "outside/faults.h"
#include "outside/file.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define META "kind=recording\nhark=1.2.3\nrecord=1\narg=prog\narg=x\n"

static char dir[] = "/tmp/hark-unit.XXXXXX", path[64], other[64];

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/r.hark", dir);
	snprintf(other, sizeof other, "%s/o.hark", dir);
}

static void tear_down(void)
{
	unlink(path);
	unlink(other);
	rmdir(dir);
}

/* -- Writing -- */

static struct file_writer *begin(const char *meta)
{
	struct file_writer *w = NULL;
	struct hark_err err = {0};

	ck_assert_msg(file_create(path, 1, &w, &err) == 0, "%s", err.text);
	ck_assert_int_eq(
	    0, file_put(w, WIRE_CHUNK_META, 0, 0, meta, strlen(meta), &err));
	return w;
}

static void put_text(struct file_writer *w, enum wire_chunk_type type,
		     uint32_t process, uint32_t thread, const char *text)
{
	struct hark_err err;

	ck_assert_int_eq(
	    0, file_put(w, type, process, thread, text, strlen(text), &err));
}

/* n records of len bytes each, all of them v; with a key frame or without. */
static void put_data(struct file_writer *w, uint32_t process, uint32_t thread,
		     const struct wire_file_key *key, uint32_t n, uint16_t len,
		     uint8_t v)
{
	struct wire_rec rec = {.type = WIRE_REC_BYTES, .len = len};
	uint8_t bytes[65536], *at = bytes;
	struct file_content c = {.type = WIRE_CHUNK_DATA,
				 .process = process,
				 .thread = thread,
				 .key = key,
				 .bytes = bytes};
	struct file_packed p = {0};
	struct hark_err err;

	for (uint32_t i = 0; i < n; i++) {
		memcpy(at, &rec, sizeof rec);
		memset(at + sizeof rec, v, len);
		at += sizeof rec + len;
	}
	c.len = (size_t)(at - bytes);
	ck_assert_int_eq(0, file_pack(&c, 1, NULL, &p));
	ck_assert_int_eq(0, file_put_packed(w, &p, &err));
	file_unpack_free(&p);
}

static void put_key(struct file_writer *w, uint32_t process, uint32_t thread,
		    uint64_t count, int first)
{
	const struct wire_file_key key = {.count = count,
					  .time_ns = 1000 + count,
					  .flags = first ? WIRE_KEY_FIRST : 0};

	put_data(w, process, thread, &key, 20, 50, (uint8_t)count);
}

/* Two processes, three threads, chunks of all of them mixed. */
static void write_sample(void)
{
	struct file_writer *w = begin(META);

	put_text(w, WIRE_CHUNK_PROCESS, 1, 0,
		 "exe=/bin/prog\narg=prog\narg=x\n"
		 "pid=100\n");
	put_data(w, 1, 0, NULL, 3, 40, 1);
	put_key(w, 1, 2, 0, 1);
	put_key(w, 1, 1, 0, 1);
	put_data(w, 1, 1, NULL, 5, 10, 2);
	put_text(w, WIRE_CHUNK_MODULE, 0, 1,
		 "kind=file\npath=/bin/prog\nbuild_id=abcd\nino=7\nsize=10\n");
	put_text(w, WIRE_CHUNK_BYTES, 0, 1, "01234");
	put_text(w, WIRE_CHUNK_BYTES, 0, 1, "56789");
	put_key(w, 1, 1, 77, 0);
	put_text(w, WIRE_CHUNK_PROCESS, 2, 0, "pid=101\nparent=1\nserial=9\n");
	put_key(w, 2, 1, 5, 1);
	put_data(w, 1, 0, NULL, 2, 30, 3);
	put_data(w, 1, 2, NULL, 1, 30, 4);
	put_text(w, WIRE_CHUNK_NOTE, 2, 1, "note=something is missing\n");
	put_text(w, WIRE_CHUNK_END, 0, 0, "exit=3\nlost=2\n");
	file_writer_close(w);
}

/* -- Reading -- */

static struct recording *open_it(const char *name)
{
	struct recording *r = NULL;
	struct hark_err err = {0};

	ck_assert_msg(recording_open(name, &r, &err) == 0, "%s", err.text);
	return r;
}

static void refuses(const char *why)
{
	struct recording *r = NULL;
	struct hark_err err = {0};

	ck_assert_int_eq(-1, recording_open(path, &r, &err));
	ck_assert_ptr_null(r);
	ck_assert_msg(strstr(err.text, why) != NULL, "'%s' in '%s'", why,
		      err.text);
	ck_assert_ptr_null(strchr(err.text, '\n'));
}

/* All bytes of a stream; -1 if one is damaged. */
static int64_t read_all(struct recording_stream *s)
{
	struct hark_err err = {0};
	const uint8_t *bytes;
	int64_t sum = 0;
	size_t len;
	int rc;

	while ((rc = recording_stream_next(s, &bytes, &len, &err)) > 0)
		sum += (int64_t)len;
	recording_stream_close(s);
	return rc < 0 ? -1 : sum;
}

static int64_t read_segment(struct recording *r, unsigned i)
{
	struct recording_stream *s;
	struct hark_err err = {0};

	ck_assert_int_eq(0, recording_read_segment(r, i, &s, &err));
	return read_all(s);
}

START_TEST(recording_is_indexed_by_process_thread_and_count)
{
	static const struct recording_segment want[] = {
	    {.process = 1, .thread = 1, .count = 0, .is_first = 1},
	    {.process = 1, .thread = 1, .count = 77, .is_last = 1},
	    {.process = 1, .thread = 2, .is_first = 1, .is_last = 1},
	    {.process = 2,
	     .thread = 1,
	     .count = 5,
	     .is_first = 1,
	     .is_last = 1},
	};
	struct recording *r;

	write_sample();
	r = open_it(path);
	ck_assert_uint_eq(4, recording_n_segments(r));
	for (unsigned i = 0; i < 4; i++) {
		const struct recording_segment *g = recording_segment(r, i);

		ck_assert_uint_eq(want[i].process, g->process);
		ck_assert_uint_eq(want[i].thread, g->thread);
		ck_assert_uint_eq(want[i].count, g->count);
		ck_assert_uint_eq(want[i].is_first, g->is_first);
		ck_assert_uint_eq(want[i].is_last, g->is_last);
		ck_assert_uint_eq(1000 + g->count, g->time_ns);
	}
	ck_assert_int_eq(20 * 54 + 5 * 14, read_segment(r, 0));
	ck_assert_int_eq(20 * 54, read_segment(r, 1));
	ck_assert_int_eq(20 * 54 + 34, read_segment(r, 2));
	recording_close(r);
}
END_TEST

START_TEST(recording_tells_of_its_processes)
{
	const struct recording_process *p;
	struct recording_facts f;
	struct recording_stream *s;
	struct hark_err err = {0};
	struct recording *r;

	write_sample();
	r = open_it(path);
	ck_assert_uint_eq(2, recording_n_processes(r));
	p = recording_process(r, 0);
	ck_assert_str_eq("prog x", p->command);
	ck_assert_str_eq("/bin/prog", p->exe);
	ck_assert_uint_eq(2, p->n_threads);
	p = recording_process(r, 1);
	ck_assert_uint_eq(1, p->parent);
	ck_assert_uint_eq(9, p->serial);
	ck_assert_uint_eq(101, p->pid);
	ck_assert_str_eq("", p->command);
	ck_assert_int_eq(0, recording_read_process(r, 1, &s, &err));
	ck_assert_int_eq(3 * 44 + 2 * 34, read_all(s));
	ck_assert_int_eq(0, recording_read_process(r, 2, &s, &err));
	ck_assert_int_eq(0, read_all(s));
	ck_assert_int_eq(-1, recording_read_process(r, 3, &s, &err));
	ck_assert_str_eq("something is missing", recording_note(r, 0));
	ck_assert_ptr_null(recording_note(r, 1));
	recording_facts(r, &f);
	ck_assert_int_eq(3, f.exit);
	ck_assert_int_eq(-1, f.signal);
	ck_assert_uint_eq(2, f.lost);
	ck_assert_uint_eq(4, f.key_frames);
	ck_assert_uint_eq(3, f.threads);
	recording_close(r);
}
END_TEST

START_TEST(recording_gives_modules_back)
{
	struct hark_err err = {0};
	const struct recording_module *m;
	struct recording *r;
	uint8_t *bytes;
	size_t len;

	write_sample();
	r = open_it(path);
	ck_assert_uint_eq(1, recording_n_modules(r));
	m = recording_module(r, 0);
	ck_assert_str_eq("/bin/prog", m->path);
	ck_assert_str_eq("abcd", m->build_id);
	ck_assert_uint_eq(7, m->ino);
	ck_assert_int_eq(0, recording_read_module(r, 0, &bytes, &len, &err));
	ck_assert_uint_eq(10, len);
	ck_assert_mem_eq("0123456789", bytes, 10);
	free(bytes);
	ck_assert_int_eq(-1, recording_read_module(r, 1, &bytes, &len, &err));
	recording_close(r);
}
END_TEST

START_TEST(recording_modules_share_bytes)
{
	static const char *const others[] = {"same=2", "same=3", "same=1",
					     "same=99"};
	struct file_writer *w = begin(META);
	struct hark_err err = {0};
	struct recording *r;
	uint8_t *bytes;
	size_t len;
	char text[64];

	put_text(w, WIRE_CHUNK_MODULE, 0, 1,
		 "path=/a\nbuild_id=abcd\nsize=5\n");
	put_text(w, WIRE_CHUNK_BYTES, 0, 1, "01234");
	for (uint32_t i = 0; i < 4; i++) { /* itself, a circle, right, none */
		snprintf(text, sizeof text, "path=/%u\nsize=0\n%s\n", i,
			 others[i]);
		put_text(w, WIRE_CHUNK_MODULE, 0, 2 + i, text);
	}
	put_text(w, WIRE_CHUNK_END, 0, 0, "exit=0\n");
	file_writer_close(w);
	r = open_it(path);
	ck_assert_uint_eq(5, recording_n_modules(r));
	for (unsigned i = 1; i < 5; i++) {
		ck_assert_int_eq(
		    recording_read_module(r, i, &bytes, &len, &err),
		    i == 3 ? 0 : -1);
		if (i != 3)
			continue;
		ck_assert_str_eq("abcd", recording_module(r, i)->build_id);
		ck_assert_uint_eq(5, recording_module(r, i)->size);
		ck_assert_uint_eq(5, len);
		ck_assert_mem_eq("01234", bytes, 5);
		free(bytes);
	}
	recording_close(r);
}
END_TEST

/* A chunk of a type that is not known is passed over, wherever it stands. */
START_TEST(recording_chunks_of_no_type_are_of_no_stream)
{
	static const uint16_t types[] = {0, 9, 65535};

	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
		struct file_writer *w = begin(META);
		struct recording *r;

		put_key(w, 1, 1, 0, 1);
		put_text(w, types[i], 1, 1, "what is this?");
		put_key(w, 1, 1, 1, 0);
		file_writer_close(w);
		r = open_it(path);
		ck_assert_uint_eq(2, recording_n_segments(r));
		ck_assert_uint_eq(0, recording_segment(r, 0)->is_last);
		ck_assert_int_eq(20 * 54, read_segment(r, 0));
		recording_close(r);
	}
}
END_TEST

/* -- Damage -- */

static size_t load(uint8_t out[65536])
{
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, out, 65536);

	close(fd);
	ck_assert_int_gt(n, 0);
	return (size_t)n;
}

static void store(const uint8_t *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	ck_assert_int_eq((ssize_t)len, write(fd, bytes, len));
	close(fd);
}

START_TEST(recording_cut_anywhere_is_whole_to_there)
{
	uint8_t bytes[65536];
	unsigned opened = 0, most = 0;
	size_t len;

	write_sample();
	len = load(bytes);
	for (size_t cut = len - 1; cut > 0; cut--) {
		struct recording *r = NULL;
		struct hark_err err = {0};

		store(bytes, cut);
		if (recording_open(path, &r, &err) < 0)
			continue;
		ck_assert_int_eq(0, recording_is_complete(r));
		ck_assert_msg(recording_check(r, &err) == 0, "%s", err.text);
		for (unsigned i = 0; i < recording_n_segments(r); i++)
			ck_assert_int_gt(read_segment(r, i), 0);
		most = recording_n_segments(r) > most ? recording_n_segments(r)
						      : most;
		opened++;
		recording_close(r);
	}
	ck_assert_uint_eq(4, most);
	ck_assert_uint_gt(opened, len / 2);
}
END_TEST

START_TEST(recording_notices_every_flipped_bit)
{
	uint8_t bytes[65536];
	size_t len;

	write_sample();
	len = load(bytes);
	for (size_t i = 0; i < len; i++) {
		struct recording *r = NULL;
		struct hark_err err = {0};
		int rc;

		bytes[i] ^= (uint8_t)(1 << i % 8);
		store(bytes, len);
		rc = recording_open(path, &r, &err);
		if (rc == 0)
			rc = recording_check(r, &err);
		ck_assert_msg(rc < 0, "byte %zu", i);
		ck_assert_str_ne("", err.text);
		recording_close(r);
		bytes[i] ^= (uint8_t)(1 << i % 8);
	}
}
END_TEST

START_TEST(recording_damaged_is_shown_to_there_if_wanted)
{
	uint8_t bytes[65536];
	struct recording *r = NULL;
	struct hark_err err = {0};
	size_t len, at;

	write_sample();
	len = load(bytes);
	at = len - 100; /* in the header of the last but one */
	bytes[at - at % 8] ^= 1;
	bytes[at - at % 8 + 48] ^= 1;
	store(bytes, len);
	refuses("damaged at byte");
	ck_assert_int_eq(0, recording_open_damaged(path, &r, &err));
	ck_assert_ptr_nonnull(recording_damage(r));
	ck_assert_int_eq(0, recording_is_complete(r));
	ck_assert_uint_eq(4, recording_n_segments(r));
	recording_close(r);
}
END_TEST

/* Whole chunks, each right by itself, that are not where they belong. */
START_TEST(recording_notices_chunks_out_of_order)
{
	uint8_t bytes[65536], changed[65536];
	size_t len, at = 32, ends[32], n = 0;

	write_sample();
	len = load(bytes);
	while (at < len) {
		struct wire_file_chunk c;

		ends[n++] = at;
		memcpy(&c, bytes + at, sizeof c);
		at += sizeof c + c.stored + wire_chunk_padding(c.stored);
	}
	ends[n] = len;
	for (size_t i = 0; i + 1 < n; i++) {
		size_t part = ends[i + 1] - ends[i];

		/* missing */
		memcpy(changed, bytes, ends[i]);
		memcpy(changed + ends[i], bytes + ends[i + 1],
		       len - ends[i + 1]);
		store(changed, len - part);
		refuses("missing or out of order");
		/* twice */
		memcpy(changed, bytes, ends[i + 1]);
		memcpy(changed + ends[i + 1], bytes + ends[i], len - ends[i]);
		store(changed, len + part);
		refuses("missing or out of order");
	}
}
END_TEST

/* -- What is no recording, or not one of ours -- */

START_TEST(recording_of_another_kind_or_version_is_refused)
{
	uint8_t bytes[65536];
	struct file_writer *w;
	size_t len;

	w = begin("kind=native\n");
	file_writer_close(w);
	refuses("not a recording, but of kind 'native'");
	w = begin("kind=recording\nrecord=999\n");
	file_writer_close(w);
	refuses("version 999");
	w = begin("nothing\n");
	file_writer_close(w);
	refuses("not a recording");
	write_sample();
	len = load(bytes);
	store(bytes, 32);
	refuses("nothing is in it");
	memset(bytes, 'x', len);
	store(bytes, len);
	refuses("not a file that hark wrote");
}
END_TEST

START_TEST(recording_key_frames_must_ascend)
{
	struct file_writer *w = begin(META);

	put_key(w, 1, 1, 10, 1);
	put_key(w, 1, 1, 9, 0);
	file_writer_close(w);
	refuses("out of order");
	w = begin(META);
	put_key(w, 1, 1, 10, 1);
	put_key(w, 1, 1, 11, 1); /* it cannot begin twice */
	file_writer_close(w);
	refuses("out of order");
}
END_TEST

START_TEST(recording_hands_out_whole_records_only)
{
	const struct wire_file_key key = {.flags = WIRE_KEY_FIRST};
	struct file_writer *w = begin(META);
	struct file_content c = {.type = WIRE_CHUNK_DATA,
				 .process = 1,
				 .thread = 1,
				 .key = &key,
				 .bytes = "\x04\x00\xff\x00short",
				 .len = 9};
	struct hark_err err = {0};
	struct file_packed p = {0};
	struct recording *r;

	ck_assert_int_eq(0, file_pack(&c, 0, NULL, &p));
	ck_assert_int_eq(0, file_put_packed(w, &p, &err));
	file_unpack_free(&p);
	file_writer_close(w);
	r = open_it(path);
	ck_assert_int_eq(-1, read_segment(r, 0));
	recording_close(r);
}
END_TEST

/* A few kilobytes that would become 64 MiB of words. */
START_TEST(recording_takes_no_more_memory_than_words_need)
{
	enum { MANY = 32 << 20 };
	char *words = malloc(MANY);
	struct file_writer *w = begin(META);
	struct hark_err err = {0};

	ck_assert_ptr_nonnull(words);
	memset(words, 'a', MANY);
	ck_assert_int_eq(
	    0, file_put(w, WIRE_CHUNK_PROCESS, 1, 0, words, MANY, &err));
	file_writer_close(w);
	refuses("too long");
	w = begin(META);
	for (int i = 0; i < 40; i++)
		ck_assert_int_eq(
		    0, file_put(w, WIRE_CHUNK_NOTE, 1, 0, "x=", 2, &err));
	for (int i = 0; i < 12; i++) {
		memcpy(words, "x=", 2);
		ck_assert_int_eq(0, file_put(w, WIRE_CHUNK_NOTE, 1, 0, words,
					     7 << 20, &err));
	}
	free(words);
	file_writer_close(w);
	refuses("too many words");
}
END_TEST

/* -- Other ways in -- */

START_TEST(recording_may_come_through_a_pipe)
{
	uint8_t bytes[65536];
	int ends[2];
	struct recording *r;
	size_t len;
	pid_t pid;

	write_sample();
	len = load(bytes);
	ck_assert_int_eq(0, pipe(ends));
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		for (size_t at = 0; at < len; at += 100)
			if (write(ends[1], bytes + at,
				  len - at < 100 ? len - at : 100) < 0)
				_exit(1);
		_exit(0);
	}
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	r = open_it("-");
	ck_assert_int_eq(1, recording_is_complete(r));
	ck_assert_int_eq(20 * 54 + 5 * 14, read_segment(r, 0));
	recording_close(r);
	waitpid(pid, NULL, 0);
}
END_TEST

START_TEST(recording_can_be_shared_by_processes)
{
	struct recording *r;
	int status, good = 0;

	write_sample();
	r = open_it(path);
	for (int i = 0; i < 8; i++)
		if (fork() == 0) {
			for (int n = 0; n < 50; n++)
				if (read_segment(r, 0) != 20 * 54 + 5 * 14 ||
				    read_segment(r, 1) != 20 * 54)
					_exit(1);
			_exit(0);
		}
	while (wait(&status) > 0)
		good += status == 0;
	ck_assert_int_eq(8, good);
	recording_close(r);
}
END_TEST

START_TEST(recording_of_a_better_processor_says_what_is_missing)
{
	struct file_writer *w;
	struct recording *r;
	char text[512];

	w = begin(META "cpuid=7.0:00000000,ffffffff,00000000,00000000\n"
		       "cpuid=80000001.0:00000000,00000000,00200000,00000000\n"
		       "cpuid=garbage\ncpuid=1.0:1,2\nxstate_40=100,200\n");
	file_writer_close(w);
	r = open_it(path);
	ck_assert_int_eq(1, recording_cpu_missing(r, text, sizeof text));
	ck_assert_ptr_nonnull(strstr(text, "tbm")); /* no CPU of today */
	ck_assert_ptr_nonnull(strstr(text, "xstate_40"));
	/* Only a replay tells whether it was used. */
	ck_assert_int_eq(0, recording_cpu_refuses(r, text, sizeof text));
	/* Whole names, and a sign that there were more. */
	ck_assert_int_eq(1, recording_cpu_missing(r, text, 16));
	ck_assert_uint_lt(strlen(text), 16);
	ck_assert_str_eq(text + strlen(text) - 5, ", ...");
	recording_close(r);
	w = begin(META "xstate_2=576,100\n");
	file_writer_close(w);
	r = open_it(path);
	ck_assert_int_eq(1, recording_cpu_refuses(r, text, sizeof text));
	ck_assert_str_eq(text, "xstate_2");
	recording_close(r);
	w = begin(META);
	file_writer_close(w);
	r = open_it(path);
	ck_assert_int_eq(0, recording_cpu_missing(r, text, sizeof text));
	recording_close(r);
}
END_TEST

START_TEST(recording_every_failed_allocation_is_an_error)
{
	struct hark_err err = {0};
	int failures = 0;

	write_sample();
	for (int k = 1; k < 1000; k++) {
		struct recording *r = NULL;
		struct recording_stream *s = NULL;
		const uint8_t *bytes;
		uint8_t *module;
		size_t len;
		int rc;

		faults_set(k);
		rc = recording_open(path, &r, &err);
		if (rc == 0)
			rc = recording_read_segment(r, 0, &s, &err);
		if (rc == 0 && recording_stream_next(s, &bytes, &len, &err) < 0)
			rc = -1;
		if (rc == 0) {
			rc = recording_read_module(r, 0, &module, &len, &err);
			if (rc == 0)
				free(module);
		}
		faults_set(0);
		recording_stream_close(s);
		recording_close(r);
		if (rc == 0)
			break;
		failures++;
	}
	ck_assert_int_gt(failures, 10);
	ck_assert_int_lt(failures, 900);
}
END_TEST

Suite *record_recording_suite(void)
{
	Suite *s = suite_create("recording");
	TCase *t = tcase_create("recording");

	tcase_set_timeout(t, 30);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, recording_is_indexed_by_process_thread_and_count);
	tcase_add_test(t, recording_tells_of_its_processes);
	tcase_add_test(t, recording_gives_modules_back);
	tcase_add_test(t, recording_modules_share_bytes);
	tcase_add_test(t, recording_chunks_of_no_type_are_of_no_stream);
	tcase_add_test(t, recording_cut_anywhere_is_whole_to_there);
	tcase_add_test(t, recording_notices_every_flipped_bit);
	tcase_add_test(t, recording_damaged_is_shown_to_there_if_wanted);
	tcase_add_test(t, recording_notices_chunks_out_of_order);
	tcase_add_test(t, recording_of_another_kind_or_version_is_refused);
	tcase_add_test(t, recording_key_frames_must_ascend);
	tcase_add_test(t, recording_hands_out_whole_records_only);
	tcase_add_test(t, recording_takes_no_more_memory_than_words_need);
	tcase_add_test(t, recording_may_come_through_a_pipe);
	tcase_add_test(t, recording_can_be_shared_by_processes);
	tcase_add_test(t, recording_of_a_better_processor_says_what_is_missing);
	tcase_add_test(t, recording_every_failed_allocation_is_an_error);
	suite_add_tcase(s, t);
	return s;
}
