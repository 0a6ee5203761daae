/* tests/unit/gdb_packet_test.c - packets are framed, and bodies read. */
#include "gdb/packet.h"
#include "gdb/words.h"

#include <check.h>
#include <string.h>

static struct packet_reader in;
static struct packet out;

static void setup(void)
{
	packet_reader_init(&in);
	packet_clear(&out);
}

/* The last event of these bytes. */
static enum packet_event feed(const char *bytes, size_t len)
{
	enum packet_event e = PACKET_NONE;

	for (size_t i = 0; i < len; i++)
		e = packet_take(&in, (uint8_t)bytes[i]);
	return e;
}

static enum packet_event feed_text(const char *text)
{
	return feed(text, strlen(text));
}

START_TEST(packet_with_its_sum_arrives)
{
	ck_assert_int_eq(feed_text("+$m10,4#2e"), PACKET_BODY);
	ck_assert_str_eq(in.body, "m10,4");
	ck_assert_uint_eq(in.len, 5);
	ck_assert_int_eq(feed_text("$#00"), PACKET_BODY);
	ck_assert_uint_eq(in.len, 0);
}
END_TEST

START_TEST(packet_with_another_sum_is_bad)
{
	ck_assert_int_eq(feed_text("$m10,4#2f"), PACKET_BAD);
	ck_assert_int_eq(feed_text("$m10,4#zz"), PACKET_BAD);
	in.no_sums = 1;
	ck_assert_int_eq(feed_text("$m10,4#00"), PACKET_BODY);
}
END_TEST

START_TEST(packet_escapes_are_undone)
{
	ck_assert_int_eq(feed("$X}\x03}\x04}]#00", 11), PACKET_BAD);
	in.no_sums = 1;
	ck_assert_int_eq(feed("$X}\x03}\x04}]}\x0a#00", 13), PACKET_BODY);
	ck_assert_uint_eq(in.len, 5);
	ck_assert_mem_eq(in.body, "X#$}*", 5);
}
END_TEST

START_TEST(packet_begins_anew_where_the_last_was_cut)
{
	ck_assert_int_eq(feed_text("$m10$g#67"), PACKET_BODY);
	ck_assert_str_eq(in.body, "g");
}
END_TEST

START_TEST(packet_that_is_too_long_is_bad_and_harmless)
{
	feed_text("$");
	for (size_t i = 0; i < PACKET_MAX + 5; i++)
		ck_assert_int_eq(feed_text("a"), PACKET_NONE);
	ck_assert_int_eq(feed_text("#00"), PACKET_BAD);
	ck_assert_int_eq(feed_text("$g#67"), PACKET_BODY);
}
END_TEST

START_TEST(packet_interrupts_come_between_packets_alone)
{
	ck_assert_int_eq(feed_text("\x03"), PACKET_BREAK);
	ck_assert_int_eq(feed_text("-"), PACKET_AGAIN);
	in.no_sums = 1;
	ck_assert_int_eq(feed_text("$X\x03#00"), PACKET_BODY);
	ck_assert_uint_eq(in.len, 2);
}
END_TEST

START_TEST(packet_leaves_with_its_sum)
{
	static char frame[PACKET_MAX + 4];
	size_t len;

	packet_text(&out, "O%s", "K");
	len = packet_frame(&out, frame);
	ck_assert_uint_eq(len, 6);
	ck_assert_mem_eq(frame, "$OK#9a", 6);
}
END_TEST

START_TEST(packet_binary_comes_back_the_same)
{
	static char frame[PACKET_MAX + 4];
	uint8_t bytes[256];
	size_t len;

	for (unsigned i = 0; i < 256; i++)
		bytes[i] = (uint8_t)i;
	ck_assert_uint_eq(packet_binary(&out, bytes, 256), 256);
	len = packet_frame(&out, frame);
	ck_assert_int_eq(feed(frame, len), PACKET_BODY);
	ck_assert_uint_eq(in.len, 256);
	ck_assert_mem_eq(in.body, bytes, 256);
}
END_TEST

START_TEST(packet_never_grows_beyond_its_end)
{
	static uint8_t bytes[PACKET_MAX];

	memset(bytes, '#', sizeof bytes);
	ck_assert_uint_eq(packet_binary(&out, bytes, sizeof bytes),
			  PACKET_MAX / 2);
	packet_clear(&out);
	packet_hex(&out, bytes, PACKET_MAX / 2 + 1);
	ck_assert_int_eq(out.is_full, 1);
	ck_assert_uint_eq(out.len, 0);
	packet_clear(&out);
	packet_hex(&out, bytes, PACKET_MAX / 2);
	ck_assert_int_eq(out.is_full, 0);
	packet_text(&out, "x");
	ck_assert_int_eq(out.is_full, 1);
}
END_TEST

static struct words words_of(const char *text)
{
	return (struct words){text, text + strlen(text)};
}

START_TEST(words_are_taken_or_left)
{
	struct words w = words_of("m7fffff,10;rest");
	uint64_t n;

	ck_assert(!words_skip(&w, "mm"));
	ck_assert(words_skip(&w, "m"));
	ck_assert(words_number(&w, &n));
	ck_assert_uint_eq(n, 0x7fffff);
	ck_assert(!words_number(&w, &n));
	ck_assert(words_skip(&w, ","));
	ck_assert(words_number(&w, &n));
	ck_assert_uint_eq(n, 0x10);
	w = words_of("qCRC");
	ck_assert(!words_name(&w, "qC"));
	ck_assert(words_name(&w, "qCRC"));
}
END_TEST

START_TEST(words_threads_have_a_process_or_not)
{
	struct words w = words_of("p1f.2a;p3.-1;p7;-1;ff;px");
	struct words_thread t;

	ck_assert(words_thread(&w, &t) && t.pid == 0x1f && t.tid == 0x2a);
	ck_assert(words_skip(&w, ";") && words_thread(&w, &t));
	ck_assert(t.pid == 3 && t.tid == -1);
	ck_assert(words_skip(&w, ";") && words_thread(&w, &t));
	ck_assert(t.pid == 7 && t.tid == -1);
	ck_assert(words_skip(&w, ";") && words_thread(&w, &t));
	ck_assert(t.pid == 0 && t.tid == -1);
	ck_assert(words_skip(&w, ";") && words_thread(&w, &t));
	ck_assert(t.pid == 0 && t.tid == 0xff);
	ck_assert(words_skip(&w, ";") && !words_thread(&w, &t));
}
END_TEST

START_TEST(words_hex_texts_end_somewhere)
{
	struct words w = words_of("2f62,0");
	char text[4];

	ck_assert_int_eq(words_hex_text(&w, text, sizeof text), 0);
	ck_assert_str_eq(text, "/b");
	w = words_of("2f626331");
	ck_assert_int_eq(words_hex_text(&w, text, sizeof text), -1);
	w = words_of("");
	ck_assert_int_eq(words_hex_text(&w, text, sizeof text), -1);
	w = words_of("2f6");
	ck_assert_int_eq(words_hex_text(&w, text, sizeof text), -1);
}
END_TEST

Suite *gdb_packet_suite(void)
{
	Suite *s = suite_create("gdb_packet");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, packet_with_its_sum_arrives);
	tcase_add_test(t, packet_with_another_sum_is_bad);
	tcase_add_test(t, packet_escapes_are_undone);
	tcase_add_test(t, packet_begins_anew_where_the_last_was_cut);
	tcase_add_test(t, packet_that_is_too_long_is_bad_and_harmless);
	tcase_add_test(t, packet_interrupts_come_between_packets_alone);
	tcase_add_test(t, packet_leaves_with_its_sum);
	tcase_add_test(t, packet_binary_comes_back_the_same);
	tcase_add_test(t, packet_never_grows_beyond_its_end);
	tcase_add_test(t, words_are_taken_or_left);
	tcase_add_test(t, words_threads_have_a_process_or_not);
	tcase_add_test(t, words_hex_texts_end_somewhere);
	suite_add_tcase(s, t);
	return s;
}
