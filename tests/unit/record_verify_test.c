/* tests/unit/record_verify_test.c - whole recordings, made by hand, verified:
 * as they should be, and with one thing wrong at a time. */
#include "record/verify.h"

#include "outside/file.h"
#include "record_encode.h"
#include "record_sample.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/hark-verify.XXXXXX";

/* -- Writing one -- */

static struct file_writer *create(void)
{
	struct file_writer *w = NULL;
	struct hark_err err = {0};
	char meta[] = "kind=recording\nrecord=1\n";
	int fd;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_msg(file_create(path, 1, &w, &err) == 0, "%s", err.text);
	ck_assert_int_eq(
	    file_put(w, WIRE_CHUNK_META, 0, 0, meta, strlen(meta), &err), 0);
	return w;
}

static void put_process(struct file_writer *w, uint32_t number, uint32_t parent,
			uint64_t serial)
{
	struct hark_err err = {0};
	char text[100];

	snprintf(text, sizeof text, "pid=%u\nparent=%u\nserial=%lu\n",
		 100 + number, parent, (unsigned long)serial);
	ck_assert_int_eq(file_put(w, WIRE_CHUNK_PROCESS, number, 0, text,
				  strlen(text), &err),
			 0);
}

static void put_records(struct file_writer *w, uint32_t process,
			uint32_t thread, const struct record_event *e,
			unsigned n)
{
	struct record_encoder to = {0};
	struct wire_file_key key = {.count = e[0].count,
				    .flags =
					e[0].count == 100 ? WIRE_KEY_FIRST : 0};
	struct file_content c = {.type = WIRE_CHUNK_DATA,
				 .process = process,
				 .thread = thread,
				 .key = thread > 0 ? &key : NULL};
	struct file_packed packed = {0};
	struct hark_err err = {0};

	for (unsigned i = 0; i < n; i++)
		record_encode(&to, &e[i]);
	c.bytes = to.at;
	c.len = to.n;
	ck_assert_int_eq(file_pack(&c, 1, NULL, &packed), 0);
	ck_assert_int_eq(file_put_packed(w, &packed, &err), 0);
	file_unpack_free(&packed);
	record_encoder_fini(&to);
}

static void put_code(struct file_writer *w)
{
	static const char name[] = "/usr/bin/sample";
	struct record_event e[3] = {
	    {.type = WIRE_REC_PROCESS},
	    {.type = WIRE_REC_MAP,
	     .bytes = (const uint8_t *)name,
	     .len = sizeof name - 1},
	    {.type = WIRE_REC_CODE, .bytes = sample_program, .len = SAMPLE_LEN},
	};

	e[0].process.process = 1;
	e[1].map = (struct wire_rec_map){.start = SAMPLE_START,
					 .end = SAMPLE_START + 4096,
					 .offset = 0x3000};
	e[2].code.serial = 1;
	e[2].code.address = SAMPLE_START;
	put_records(w, 1, 0, e, 3);
}

/* Two segments of a thread; spoil may change what they say. */
typedef void spoiler(struct record_event round[SAMPLE_EVENTS],
		     struct record_event *end);
static void put_thread(struct file_writer *w, uint32_t process, uint32_t thread,
		       spoiler *spoil)
{
	struct record_event round[SAMPLE_EVENTS], second[2], start[5];

	sample_events(round);
	second[1] = sample_end();
	if (spoil != NULL)
		spoil(round, &second[1]);
	second[0] = round[EV_NEXT];
	start[0] = (struct record_event){.type = WIRE_REC_START, .count = 100};
	memcpy(start + 1, round, EV_NEXT * sizeof *round);
	put_records(w, process, thread, start, 1 + EV_NEXT);
	put_records(w, process, thread, second, 2);
}

static void finish(struct file_writer *w)
{
	struct hark_err err = {0};

	ck_assert_int_eq(file_put(w, WIRE_CHUNK_END, 0, 0, "exit=0\n", 7, &err),
			 0);
	file_writer_close(w);
}

/* -- Verifying it -- */

static void verify(unsigned jobs, struct workers_result *out)
{
	struct verify_wish wish = {.jobs = jobs};
	struct hark_err err = {0};
	struct recording *r;

	ck_assert_msg(recording_open(path, &r, &err) == 0, "%s", err.text);
	ck_assert_msg(verify_recording(r, &wish, out, &err) == 0, "%s",
		      err.text);
	recording_close(r);
	unlink(path);
}

START_TEST(a_good_recording_is_verified)
{
	for (unsigned jobs = 1; jobs < 4; jobs++) {
		struct workers_result r;
		struct file_writer *w;

		w = create();
		put_process(w, 1, 0, 0);
		put_code(w);
		put_thread(w, 1, 1, NULL);
		put_thread(w, 1, 2, NULL);
		finish(w);
		verify(jobs, &r);
		ck_assert_msg(r.bad == 0, "%s", r.texts[0].text);
		ck_assert_uint_eq(r.good, 4);
		/* To the load 1 + 3 * 5; load, dec, jmp: 3. */
		ck_assert_uint_eq(r.sum, 2 * (16 + 3 + 16));
	}
}
END_TEST

static void wrong_next_key(struct record_event *round, struct record_event *end)
{
	(void)end;
	round[EV_NEXT].key.state.gpr[RBX] = 1;
}

static void wrong_end(struct record_event *round, struct record_event *end)
{
	(void)round;
	end->state.gpr[RAX] = 1;
}

static void wrong_call(struct record_event *round, struct record_event *end)
{
	(void)end;
	round[EV_CALL].call.number = 16;
}

/* One bad thread among good ones; the segment it goes wrong in. */
static void one_is_wrong(spoiler *spoil, unsigned segment, const char *words)
{
	struct workers_result r;
	struct file_writer *w;

	w = create();
	put_process(w, 1, 0, 0);
	put_code(w);
	put_thread(w, 1, 1, NULL);
	put_thread(w, 1, 2, spoil);
	finish(w);
	verify(2, &r);
	ck_assert_uint_ge(r.bad, 1);
	ck_assert_uint_eq(r.good + r.bad, 4);
	ck_assert_uint_eq(r.texts[0].piece, segment);
	ck_assert_int_eq(r.texts[0].code, HARK_EBUG);
	ck_assert_str_eq(r.texts[0].text, words);
}

START_TEST(what_is_wrong_is_told_with_its_place)
{
	one_is_wrong(wrong_next_key, 2,
		     "2:105 at 0x1000: rbx is 0x8877665544332211, recorded 0x1 "
		     "(sample+0x3000)");
	one_is_wrong(wrong_end, 3,
		     "2:109 at 0x100c: rax is 0x3f6, recorded 0x1 "
		     "(sample+0x300c)");
	one_is_wrong(wrong_call, 2,
		     "2:104 at 0x100f: system call 16 was recorded, the replay "
		     "makes 15 (sample+0x300f)");
}
END_TEST

/* A child changes the loop to three rounds; its parent's stays, also when it
 * adds code of its own later. */
START_TEST(a_child_has_the_code_of_its_parent_until_the_fork)
{
	struct record_event e[2] = {
	    {.type = WIRE_REC_PROCESS},
	    {.type = WIRE_REC_CODE, .bytes = (const uint8_t *)"\3", .len = 1}};
	struct record_event round[SAMPLE_EVENTS];
	struct workers_result r;
	struct file_writer *w;

	w = create();
	put_process(w, 1, 0, 0);
	put_process(w, 2, 1, 1);
	put_code(w);
	e[1].code.serial = 2;
	e[1].code.address = SAMPLE_START + 1;
	put_records(w, 1, 0, e + 1, 1);
	e[0].process.process = 2;
	e[0].process.parent = 1;
	e[0].process.serial = 1;
	e[1].code.serial = 3;
	put_records(w, 2, 0, e, 2);
	put_thread(w, 1, 1, NULL);
	sample_events(round);
	round[EV_KEY].key.epoch = 2; /* the parent's 2, not seen here */
	put_records(w, 2, 1, round, EV_CALL + 1);
	finish(w);
	verify(1, &r);
	ck_assert_msg(r.bad == 0, "%s", r.texts[0].text);
	ck_assert_uint_eq(r.good, 3);
}
END_TEST

/* A thread that was killed has no END: its last event is reached. */
START_TEST(a_killed_thread_reaches_its_last_event)
{
	struct record_event round[SAMPLE_EVENTS];
	struct workers_result r;
	struct file_writer *w;

	w = create();
	put_process(w, 1, 0, 0);
	put_code(w);
	sample_events(round);
	put_records(w, 1, 1, round, EV_CALL + 1);
	file_writer_close(w);
	verify(1, &r);
	ck_assert_msg(r.bad == 0, "%s", r.texts[0].text);
	ck_assert_uint_eq(r.good, 1);
}
END_TEST

/* Streams that are none: an error, and no crash. */
START_TEST(a_segment_that_is_no_stream_is_told)
{
	struct record_event round[SAMPLE_EVENTS];
	struct workers_result r;
	struct file_writer *w;

	w = create();
	put_process(w, 1, 0, 0);
	put_code(w);
	sample_events(round);
	put_records(w, 1, 1, round + 1, 2);
	finish(w);
	verify(1, &r);
	ck_assert_uint_eq(r.bad, 1);
	ck_assert_int_eq(r.texts[0].code, HARK_EINPUT);
	ck_assert_str_eq(r.texts[0].text,
			 "record 0 (BYTES): no KEY stands before it");
}
END_TEST

/* Numbers begin with 1. It has no code, and nobody looks for any. */
START_TEST(a_thread_of_no_process_is_told)
{
	struct workers_result r;
	struct file_writer *w;

	w = create();
	put_process(w, 1, 0, 0);
	put_code(w);
	put_thread(w, 0, 1, NULL);
	put_thread(w, 1, 1, NULL);
	finish(w);
	verify(1, &r);
	ck_assert_uint_eq(r.good, 2);
	ck_assert_uint_eq(r.bad, 2);
	ck_assert_int_ne(r.texts[0].code, HARK_EGONE);
}
END_TEST

Suite *record_verify_suite(void)
{
	Suite *suite = suite_create("record_verify");
	TCase *tc = tcase_create("record_verify");

	tcase_add_test(tc, a_good_recording_is_verified);
	tcase_add_test(tc, what_is_wrong_is_told_with_its_place);
	tcase_add_test(tc, a_child_has_the_code_of_its_parent_until_the_fork);
	tcase_add_test(tc, a_killed_thread_reaches_its_last_event);
	tcase_add_test(tc, a_segment_that_is_no_stream_is_told);
	tcase_add_test(tc, a_thread_of_no_process_is_told);
	suite_add_tcase(suite, tc);
	return suite;
}
