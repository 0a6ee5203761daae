/* travel/remote*.c: a process that replays says what it likes. Nothing of it
 * harms the program: it is ended, and the program is told. */
#include "travel/remote_priv.h"

#include "outside/file.h"

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *travel_remote_suite(void);

/* -- A process that was taken over -- */

/* What it makes of a call: *h is that, and becomes its answer. */
typedef void liar(struct channel_head *h, uint8_t *data);

static _Noreturn void lie(struct channel *c, liar *how)
{
	struct channel_head h;

	alarm(60);
	for (;;) {
		while (!channel_wait(c, CHANNEL_SERVER, 1000))
			;
		h = c->head;
		h.kind = CHANNEL_DONE;
		h.rc = 0;
		how(&h, c->data);
		c->head = h;
		channel_give(c, CHANNEL_SERVER);
	}
}

static char path[] = "/tmp/hark-remote.XXXXXX";

/* A file with nothing in it. */
static struct hark_recording *open_recording(void)
{
	static const char meta[] = "kind=recording\nrecord=1\n";
	static const char process[] = "pid=101\nparent=0\nserial=0\n";
	struct file_writer *w = NULL;
	struct hark_recording *r;
	struct hark_error why;
	struct hark_err err = {0};
	int fd;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(file_create(path, 1, &w, &err), 0);
	ck_assert_int_eq(
	    file_put(w, WIRE_CHUNK_META, 0, 0, meta, strlen(meta), &err), 0);
	ck_assert_int_eq(file_put(w, WIRE_CHUNK_PROCESS, 1, 0, process,
				  strlen(process), &err),
			 0);
	ck_assert_int_eq(file_put(w, WIRE_CHUNK_END, 0, 0, "exit=0\n", 7, &err),
			 0);
	file_writer_close(w);
	ck_assert_msg(hark_open(path, &r, &why) == 0, "%s", why.text);
	unlink(path);
	return r;
}

static struct hark_timeline *start(liar *how)
{
	struct hark_timeline *t = calloc(1, sizeof *t);

	ck_assert_ptr_nonnull(t);
	t->rec = open_recording();
	t->owner = getpid();
	t->c = channel_new();
	ck_assert_ptr_nonnull(t->c);
	t->pid = fork();
	ck_assert_int_ge(t->pid, 0);
	if (t->pid == 0)
		lie(t->c, how);
	t->pid_fd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	return t;
}

static void end(struct hark_timeline *t)
{
	struct hark_recording *r = t->rec;

	hark_timeline_close(t);
	hark_close(r);
}

/* -- Lies -- */

static void unknown_error(struct channel_head *h, uint8_t *data)
{
	(void)data;
	h->rc = -1;
	h->error = 99;
}

static void long_text(struct channel_head *h, uint8_t *data)
{
	(void)data;
	h->rc = -1;
	h->error = HARK_ERROR_FILE;
	h->text_len = CHANNEL_DATA;
}

static void silent_failure(struct channel_head *h, uint8_t *data)
{
	(void)data;
	h->rc = -1;
	h->error = HARK_ERROR_NONE;
}

static void no_kind(struct channel_head *h, uint8_t *data)
{
	(void)data;
	h->kind = 77;
}

static void another_op(struct channel_head *h, uint8_t *data)
{
	(void)data;
	h->op++;
}

static void no_question(struct channel_head *h, uint8_t *data)
{
	(void)data;
	h->kind = CHANNEL_ASK;
	h->op = 4711;
}

static void unasked_access(struct channel_head *h, uint8_t *data)
{
	(void)data;
	h->kind = CHANNEL_ASK;
	h->op = CHANNEL_EACH_ACCESS;
}

static void unasked_condition(struct channel_head *h, uint8_t *data)
{
	(void)data;
	h->kind = CHANNEL_ASK;
	h->op = CHANNEL_CONDITION;
	h->args[0] = 1;
}

static void index_of_nothing(struct channel_head *h, uint8_t *data)
{
	(void)data;
	h->kind = CHANNEL_ASK;
	h->op = CHANNEL_BUILD_INDEX;
	h->args[0] = 0;
	h->args[1] = 1000000;
}

static liar *const general[] = {
    unknown_error,  long_text,	       silent_failure,
    no_kind,	    another_op,	       no_question,
    unasked_access, unasked_condition, index_of_nothing,
};

static void check_ended(struct hark_timeline *t, int rc,
			const struct hark_error *err)
{
	ck_assert_int_eq(rc, -1);
	ck_assert_msg(strstr(err->text, "makes no sense") != NULL, "%s",
		      err->text);
	ck_assert_int_eq(t->pid, 0);
	ck_assert_int_eq(waitpid(-1, NULL, 0), -1);
}

START_TEST(an_answer_that_is_none_ends_the_process)
{
	struct hark_timeline *t = start(general[_i]);
	struct hark_error err = {0};

	check_ended(t, hark_seek_end(t, &err), &err);
	err.text[0] = '\0';
	check_ended(t, hark_seek_start(t, &err), &err); /* it stays so */
	end(t);
}
END_TEST

/* -- Of one call each -- */

static void long_registers(struct channel_head *h, uint8_t *data)
{
	(void)data;
	h->len = (uint32_t)sizeof(struct hark_registers) + 1;
}

static void short_registers(struct channel_head *h, uint8_t *data)
{
	(void)data;
	h->len = 8;
}

START_TEST(registers_that_are_too_long_or_short_are_refused)
{
	static liar *const lies[] = {long_registers, short_registers};
	struct hark_timeline *t = start(lies[_i]);
	static struct hark_registers regs;
	struct hark_error err = {0};

	check_ended(t, hark_registers(t, 1, &regs, &err), &err);
	end(t);
}
END_TEST

static void much_known(struct channel_head *h, uint8_t *data)
{
	(void)data;
	h->rc = 17;
}

START_TEST(no_more_bytes_are_known_than_there_are)
{
	struct hark_timeline *t = start(much_known);
	uint8_t bytes[16], known[16];
	struct hark_error err = {0};

	ck_assert_uint_eq(hark_read(t, 0, 16, bytes, known, &err), 0);
	check_ended(t, -1, &err);
	end(t);
}
END_TEST

static void odd_stop(struct channel_head *h, uint8_t *data)
{
	(void)data;
	h->args[0] = HARK_STOP_END + 1;
}

START_TEST(a_stop_for_no_reason_is_refused)
{
	struct hark_timeline *t = start(odd_stop);
	struct hark_stopped stopped;
	struct hark_error err = {0};

	check_ended(t, hark_run(t, HARK_FORWARD, &stopped, &err), &err);
	end(t);
}
END_TEST

static void no_access(struct channel_head *h, uint8_t *data)
{
	(void)data;
	h->rc = 1;
	h->len = 1;
}

START_TEST(an_access_that_is_none_is_refused)
{
	struct hark_timeline *t = start(no_access);
	struct hark_access a;
	struct hark_error err = {0};

	check_ended(t, hark_last_write(t, 0, 8, &a, &err), &err);
	end(t);
}
END_TEST

static void put_mappings(struct channel_head *h, uint8_t *data,
			 const struct serve_mapping *m, unsigned n)
{
	memcpy(data, m, n * sizeof *m);
	h->len = n * (uint32_t)sizeof *m;
	h->args[0] = h->args[1] = n;
}

static void many_mappings(struct channel_head *h, uint8_t *data)
{
	(void)data;
	h->args[0] = h->args[1] = UINT64_MAX;
}

static void endless_mappings(struct channel_head *h, uint8_t *data)
{
	(void)data;
	h->args[0] = 0;
	h->args[1] = 5;
}

static void long_path(struct channel_head *h, uint8_t *data)
{
	struct serve_mapping m = {
	    .start = 1, .end = 2, .module = -1, .path_len = UINT32_MAX};

	put_mappings(h, data, &m, 1);
}

static void no_module(struct channel_head *h, uint8_t *data)
{
	struct serve_mapping m = {.start = 1, .end = 2, .module = 0};

	put_mappings(h, data, &m, 1);
}

static void overlapping(struct channel_head *h, uint8_t *data)
{
	struct serve_mapping m[2] = {{.start = 1, .end = 9, .module = -1},
				     {.start = 8, .end = 10, .module = -1}};

	put_mappings(h, data, m, 2);
}

static void upside_down(struct channel_head *h, uint8_t *data)
{
	struct serve_mapping m = {.start = 2, .end = 1, .module = -1};

	put_mappings(h, data, &m, 1);
}

static liar *const mapping_lies[] = {many_mappings, endless_mappings,
				     long_path,	    no_module,
				     overlapping,   upside_down};

START_TEST(mappings_that_cannot_be_are_refused)
{
	struct hark_timeline *t = start(mapping_lies[_i]);
	const struct hark_mapping *maps;
	struct hark_error err = {0};
	unsigned n;

	check_ended(t, hark_mappings(t, &maps, &n, &err), &err);
	end(t);
}
END_TEST

static void good_mappings(struct channel_head *h, uint8_t *data)
{
	struct serve_mapping m[2] = {{.start = 1, .end = 9, .module = -1},
				     {.start = 9, .end = 10, .module = -1}};

	put_mappings(h, data, m, 2);
}

START_TEST(mappings_that_can_be_are_shown)
{
	struct hark_timeline *t = start(good_mappings);
	const struct hark_mapping *maps;
	struct hark_error err = {0};
	unsigned n = 0;

	ck_assert_int_eq(hark_mappings(t, &maps, &n, &err), 0);
	ck_assert_uint_eq(n, 2);
	ck_assert_uint_eq(maps[1].start, 9);
	ck_assert_str_eq(maps[1].path, "");
	end(t);
}
END_TEST

/* -- Windows: steps that are made without asking -- */

static void put_step(struct channel_head *h)
{
	h->args[0] = HARK_STOP_STEP;
	h->args[1] = h->where.thread = 1;
}

static void window_without_places(struct channel_head *h, uint8_t *data)
{
	(void)data;
	put_step(h);
	h->where.count = 5;
	h->window = 1;
	h->window_n = SERVE_PLACES;
	h->window_at = SERVE_PLACES - 1;
}

static void window_beyond_its_end(struct channel_head *h, uint8_t *data)
{
	(void)data;
	put_step(h);
	h->where.count = 5;
	h->window = 1;
	h->window_n = 4;
	h->window_at = 4;
	h->len = 4 * sizeof(struct serve_place);
}

/* First one of four places, then the same with more. */
static void window_that_grows(struct channel_head *h, uint8_t *data)
{
	static unsigned times;

	(void)data;
	put_step(h);
	h->where.count = 5;
	h->window = 1;
	h->window_n = times == 0 ? 4 : SERVE_PLACES;
	h->window_at = times == 0 ? 0 : SERVE_PLACES - 1;
	h->len = times == 0 ? 4 * sizeof(struct serve_place) : 0;
	times++;
}

START_TEST(a_window_that_cannot_be_is_none)
{
	static liar *const lies[] = {window_without_places,
				     window_beyond_its_end, window_that_grows};
	struct hark_timeline *t = start(lies[_i]);
	struct hark_stopped stopped;
	struct hark_error err = {0};

	for (unsigned i = 0; i < 3; i++) {
		ck_assert_int_eq(hark_step(t, HARK_BACKWARD, 1, &stopped, &err),
				 0);
		ck_assert_uint_eq(hark_where(t).count, 5);
	}
	end(t);
}
END_TEST

/* -- Its end -- */

static void die(struct channel_head *h, uint8_t *data)
{
	(void)h;
	(void)data;
	raise(SIGKILL);
}

START_TEST(a_process_that_dies_is_told)
{
	struct hark_timeline *t = start(die);
	struct hark_error err = {0};

	ck_assert_int_eq(hark_seek_end(t, &err), -1);
	ck_assert_int_eq(err.code, HARK_ERROR_DIVERGED);
	ck_assert_ptr_nonnull(strstr(err.text, "killed by signal 9"));
	ck_assert_int_eq(hark_thread_lives(t, 1), 0);
	ck_assert_str_eq(hark_thread_name(t, 1), "");
	ck_assert_uint_eq(hark_break(t, 1, 0, NULL, NULL), 0);
	end(t);
}
END_TEST

static void sleep_on(struct channel_head *h, uint8_t *data)
{
	(void)h;
	(void)data;
	for (;;)
		pause();
}

static int has_enough(void *ctx, uint64_t done, uint64_t total)
{
	(void)ctx;
	(void)done;
	(void)total;
	return 1;
}

START_TEST(a_process_that_does_not_ask_can_be_stopped)
{
	struct hark_timeline *t = start(sleep_on);
	struct hark_error err = {0};

	hark_on_progress(t, has_enough, NULL);
	ck_assert_int_eq(hark_seek_end(t, &err), -1);
	ck_assert_int_eq(err.code, HARK_ERROR_STOPPED);
	ck_assert_int_eq(t->pid, 0);
	end(t);
}
END_TEST

#define LOOP(test, list) \
	tcase_add_loop_test(tc, test, 0, sizeof list / sizeof list[0])

Suite *travel_remote_suite(void)
{
	Suite *suite = suite_create("travel_remote");
	TCase *tc = tcase_create("travel_remote");

	LOOP(an_answer_that_is_none_ends_the_process, general);
	LOOP(mappings_that_cannot_be_are_refused, mapping_lies);
	tcase_add_loop_test(
	    tc, registers_that_are_too_long_or_short_are_refused, 0, 2);
	tcase_add_test(tc, no_more_bytes_are_known_than_there_are);
	tcase_add_test(tc, a_stop_for_no_reason_is_refused);
	tcase_add_test(tc, an_access_that_is_none_is_refused);
	tcase_add_test(tc, mappings_that_can_be_are_shown);
	tcase_add_loop_test(tc, a_window_that_cannot_be_is_none, 0, 3);
	tcase_add_test(tc, a_process_that_dies_is_told);
	tcase_add_test(tc, a_process_that_does_not_ask_can_be_stopped);
	suite_add_tcase(suite, tc);
	return suite;
}
