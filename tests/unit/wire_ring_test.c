/* tests/unit/wire_ring_test.c - the invariants W1..W5 of wire/ring.h. */
#include "wire/ring.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4, SIZE = 64, ROOM = SIZE - 8 };

static struct wire_ring header;
static _Alignas(8) uint8_t chunks[N * SIZE];
static const struct ring_view view = {&header, chunks, N, SIZE};

static void put(const char *text)
{
	uint32_t len = (uint32_t)strlen(text);
	void *at = ring_reserve(&view, len);

	ck_assert_ptr_nonnull(at);
	memcpy(at, text, len);
	ring_commit(&view, len);
}

/* Everything there is, as one string. */
static size_t take_all(struct ring_reader *r, char *out)
{
	const uint8_t *bytes;
	size_t total = 0;
	uint32_t len;

	for (;;) {
		ring_release(r);
		if (ring_peek(r, &bytes, &len) != RING_BYTES)
			break;
		memcpy(out + total, bytes, len);
		total += len;
		ring_take(r, len);
	}
	out[total] = '\0';
	return total;
}

START_TEST(ring_hands_over_what_was_committed)
{
	struct ring_reader r;
	char got[256];

	ring_open(&view, 7);
	ring_reader_init(&r, &view);
	ck_assert_uint_eq(take_all(&r, got), 0);
	put("one");
	ck_assert_ptr_nonnull(ring_reserve(&view, 3)); /* not committed: W3 */
	take_all(&r, got);
	ck_assert_str_eq(got, "one");
	put("two");
	put("three");
	take_all(&r, got);
	ck_assert_str_eq(got, "twothree");
	ck_assert_uint_eq(header.tid, 7);
}
END_TEST

START_TEST(ring_is_full_when_nobody_reads_and_goes_on_when_somebody_does)
{
	struct ring_reader r;
	char big[ROOM], got[N * SIZE];
	int n = 0;

	memset(big, 'x', sizeof big);
	ring_open(&view, 1);
	ring_reader_init(&r, &view);
	for (void *at; (at = ring_reserve(&view, ROOM)) != NULL; n++) {
		memcpy(at, big, ROOM);
		ring_commit(&view, ROOM);
	}
	ck_assert_int_eq(n, N); /* W2: n chunks and no more */
	ck_assert_ptr_null(ring_reserve(&view, ROOM + 1));
	ring_lose(&view, ROOM);
	ck_assert_uint_eq(header.lost, ROOM);
	ck_assert_uint_eq(take_all(&r, got), N * ROOM);
	ck_assert_ptr_nonnull(ring_reserve(&view, ROOM));
}
END_TEST

START_TEST(ring_reader_follows_a_chunk_published_after_it_was_read)
{
	struct ring_reader r;
	char got[256];

	ring_open(&view, 1);
	ring_reader_init(&r, &view);
	put("a");
	take_all(&r, got); /* the open chunk is taken whole */
	for (int i = 0; i < 100; i++) {
		put("0123456789012345678901234567890123456789");
		ck_assert_uint_eq(take_all(&r, got), 40);
	}
}
END_TEST

START_TEST(ring_damage_is_an_error_not_a_wild_read)
{
	struct ring_reader r;
	const uint8_t *bytes;
	uint32_t len;

	for (unsigned seed = 0; seed < 20000; seed++) {
		ring_open(&view, 1);
		ring_reader_init(&r, &view);
		put("something");
		srand(seed);
		for (int i = 0; i < 1 + rand() % 4; i++) {
			size_t at = (size_t)rand() % (sizeof header + SIZE);
			uint8_t *byte = at < sizeof header
					    ? (uint8_t *)&header + at
					    : chunks + at - sizeof header;

			*byte = (uint8_t)rand();
		}
		for (int i = 0; i < 2 * N; i++) {
			ring_release(&r);
			if (ring_peek(&r, &bytes, &len) != RING_BYTES)
				break;
			if (bytes < chunks || len > ROOM ||
			    bytes + len > chunks + sizeof chunks)
				ck_abort_msg("seed %u: a wild read", seed);
			ring_take(&r, len);
		}
	}
}
END_TEST

/* -- Two threads -- */

enum { MESSAGES = 200000 };

static void *producer(void *arg)
{
	for (uint32_t i = 0; i < MESSAGES; i++) {
		uint32_t *at;

		while ((at = ring_reserve(&view, 4 + i % 10 * 4)) == NULL)
			sched_yield();
		at[0] = i;
		memset(at + 1, (int)i, i % 10 * 4);
		ring_commit(&view, 4 + i % 10 * 4);
	}
	ring_close(&view);
	return arg;
}

/* Checks every message (commits come in whole ones); the next number. An
 * assertion of check's costs microseconds, so only a failure makes one. */
static uint32_t check_messages(const uint8_t *bytes, uint32_t len,
			       uint32_t next)
{
	for (uint32_t at = 0; at < len; next++) {
		uint32_t number, body = next % 10 * 4;

		memcpy(&number, bytes + at, 4);
		if (number != next)
			ck_abort_msg("%u where %u was due", number, next);
		for (uint32_t k = 0; k < body; k++)
			if (bytes[at + 4 + k] != (uint8_t)next)
				ck_abort_msg("message %u is not whole", next);
		at += 4 + body;
	}
	return next;
}

START_TEST(ring_loses_and_invents_nothing_between_two_threads)
{
	struct ring_reader r;
	uint32_t next = 0, len;
	pthread_t t;

	ring_open(&view, 1);
	ring_reader_init(&r, &view);
	ck_assert_int_eq(pthread_create(&t, NULL, producer, NULL), 0);
	while (next < MESSAGES) {
		const uint8_t *bytes;
		enum ring_status status;

		ring_release(&r);
		status = ring_peek(&r, &bytes, &len);
		if (status == RING_DAMAGED)
			ck_abort_msg("damaged at %u", next);
		if (status == RING_EMPTY) {
			sched_yield();
			continue;
		}
		next = check_messages(bytes, len, next);
		ring_take(&r, len);
	}
	pthread_join(t, NULL);
	ck_assert_uint_eq(header.state, WIRE_RING_CLOSED);
}
END_TEST

/* Who keeps the open chunk at hand needs no division to find it. */
START_TEST(ring_chunk_is_where_the_next_bytes_go)
{
	struct ring_reader r;
	char got[N * SIZE];

	ring_open(&view, 1);
	ring_reader_init(&r, &view);
	for (unsigned i = 0; i < 3 * N; i++) {
		uint8_t *at = ring_reserve(&view, ROOM - 1);
		struct wire_chunk *c = ring_chunk(&view);

		ck_assert_ptr_eq(at, c + 1);
		memset(at, 'a' + (int)i, ROOM - 1);
		ring_commit_to(c, ROOM - 1);
		ck_assert_uint_eq(take_all(&r, got), ROOM - 1);
		ck_assert_int_eq(got[0], 'a' + (int)i);
		ck_assert_int_eq(got[ROOM - 2], 'a' + (int)i);
	}
}
END_TEST

Suite *wire_ring_suite(void)
{
	Suite *s = suite_create("wire_ring");
	TCase *t = tcase_create("ring");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, ring_hands_over_what_was_committed);
	tcase_add_test(
	    t, ring_is_full_when_nobody_reads_and_goes_on_when_somebody_does);
	tcase_add_test(t,
		       ring_reader_follows_a_chunk_published_after_it_was_read);
	tcase_add_test(t, ring_damage_is_an_error_not_a_wild_read);
	tcase_add_test(t, ring_chunk_is_where_the_next_bytes_go);
	tcase_add_test(t, ring_loses_and_invents_nothing_between_two_threads);
	suite_add_tcase(s, t);
	return s;
}
