/* tests/unit/record_stream_test.c - streams: what was said is what is heard,
 * and whatever is no stream is refused. */
#include "record/stream.h"

#include "record_encode.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* -- Chance -- */

static uint64_t seed = 12345;

static uint64_t random64(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x9e3779b97f4a7c15;
}

/* Of all magnitudes alike. */
static uint64_t random_number(void)
{
	return random64() >> (random64() & 63);
}

static void random_bytes(void *to, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)to)[i] = (uint8_t)random64();
}

static uint8_t pool[4096]; /* what events borrow */

/* -- Random events -- */

static void random_thread_event(struct record_event *e)
{
	e->bytes = pool + random64() % 1000;
	switch (e->type) {
	case WIRE_REC_GRANULE:
		e->index = random64() % WIRE_SHADOW_SIZE & ~31ull;
		e->len = WIRE_GRANULE;
		break;
	case WIRE_REC_BYTES:
		e->info = random64() % 2 == 0 ? 0 : WIRE_BYTES_KEPT;
		e->index = random64() % WIRE_SHADOW_SIZE;
		e->len = (uint32_t)(random64() % 200);
		break;
	case WIRE_REC_RESULT:
		e->info = (uint8_t)(1 + random64() % 15);
		e->result.length = e->info;
		e->result.set = (uint16_t)random64();
		e->result.rflags = random64();
		for (unsigned i = 0; i < 16; i++)
			if ((e->result.set >> i & 1) != 0)
				e->result.gpr[i] = random_number();
		break;
	case WIRE_REC_CALL:
		e->call.number = (int32_t)random_number();
		e->call.answer = (int64_t)random_number();
		e->call.answer *= (random64() & 1) != 0 ? 1 : -1;
		e->call.ticks = random_number();
		break;
	case WIRE_REC_EPOCH:
		e->epoch = random_number();
		break;
	case WIRE_REC_ORDER:
		e->order.line = random_number() % (WIRE_ORDER_LINES + 1);
		e->order.overtaken = random_number();
		e->order.ticks = random_number();
		e->order.ticket = random_number();
		break;
	default:
		e->info = (uint8_t)(random64() & 15);
		random_bytes(&e->state, sizeof e->state);
		if (e->type == WIRE_REC_END)
			e->info = e->info & 1 ? WIRE_END_SIGNAL : WIRE_END_STOP;
		if (e->type == WIRE_REC_END)
			e->siginfo = e->info == WIRE_END_SIGNAL ? pool : NULL;
		else if ((e->info & WIRE_STATE_SIGNAL) != 0)
			e->siginfo = pool;
		break;
	}
}

static void random_process_event(struct record_event *e, uint64_t *serial)
{
	switch (e->type) {
	case WIRE_REC_CODE:
		*serial += 1 + random64() % 5;
		e->code.serial = *serial;
		e->code.address = random64() >> 1;
		e->bytes = pool;
		e->len = (uint32_t)(random64() % sizeof pool);
		break;
	case WIRE_REC_MAP:
		random_bytes(&e->map, sizeof e->map);
		e->map.start >>= 8;
		e->map.end |= 1ull << 63;
		e->bytes = pool;
		e->len = (uint32_t)(random64() % 200);
		break;
	case WIRE_REC_NAME:
		random_bytes(&e->name, sizeof e->name);
		e->name.name[sizeof e->name.name - 1] = '\0';
		break;
	case WIRE_REC_PROT:
		random_bytes(&e->prot, sizeof e->prot);
		e->prot.start >>= 8;
		e->prot.end |= 1ull << 63;
		break;
	default:
		e->unmap.start = random64() >> 1;
		e->unmap.end = e->unmap.start + random64() % 4096;
		break;
	}
}

static void random_key(struct record_event *e)
{
	uint64_t count = e->count;

	random_bytes(&e->key, sizeof e->key);
	e->key.count = count;
	e->pc = e->key.state.pc;
}

static int has_xstate(const struct record_event *e)
{
	return e->type == WIRE_REC_KEY || e->type == WIRE_REC_END ||
	       (e->type == WIRE_REC_STATE &&
		(e->info & WIRE_STATE_XSTATE) != 0);
}

enum { EVENTS = 60 };

/* A START, a KEY, and anything; an END is the last. */
static void random_thread(struct record_event e[EVENTS])
{
	static const uint8_t types[] = {
	    WIRE_REC_KEY,  WIRE_REC_GRANULE, WIRE_REC_BYTES, WIRE_REC_RESULT,
	    WIRE_REC_CALL, WIRE_REC_STATE,   WIRE_REC_EPOCH, WIRE_REC_ORDER,
	};
	uint64_t count = 0;

	memset(e, 0, EVENTS * sizeof *e);
	for (unsigned i = 0; i < EVENTS; i++) {
		e[i].type = types[random64() % sizeof types];
		if (i < 2)
			e[i].type = i == 0 ? WIRE_REC_START : WIRE_REC_KEY;
		if (i == EVENTS - 1)
			e[i].type = WIRE_REC_END;
		e[i].number = i;
		count += i == 0 ? 0 : random_number() >> 8;
		e[i].count = count;
		e[i].pc = i == 0 ? 0 : random64();
		if (e[i].type == WIRE_REC_START)
			random_bytes(&e[i].start, sizeof e[i].start);
		else if (e[i].type == WIRE_REC_KEY)
			random_key(&e[i]);
		else
			random_thread_event(&e[i]);
		if (has_xstate(&e[i])) {
			e[i].xstate = pool;
			e[i].xstate_len =
			    (uint32_t)(RECORD_XSTATE_MIN + random64() % 2000);
		}
	}
}

static void random_process(struct record_event e[EVENTS])
{
	uint64_t serial;

	memset(e, 0, EVENTS * sizeof *e);
	e[0].type = WIRE_REC_PROCESS;
	random_bytes(&e[0].process, sizeof e[0].process);
	e[0].process.serial >>= 1;
	serial = e[0].process.serial;
	for (unsigned i = 1; i < EVENTS; i++) {
		e[i].type = WIRE_REC_CODE + random64() % 5;
		e[i].number = i;
		random_process_event(&e[i], &serial);
	}
}

/* -- What is heard -- */

static void same_bytes(const uint8_t *a, const uint8_t *b, size_t len)
{
	ck_assert_int_eq(a != NULL, b != NULL);
	if (a != NULL && len > 0)
		ck_assert_int_eq(memcmp(a, b, len), 0);
}

/* The union is compared whole: what a type does not use is 0. */
static void same_event(const struct record_event *a,
		       const struct record_event *b)
{
	ck_assert_uint_eq(a->type, b->type);
	ck_assert_uint_eq(a->info, b->info);
	ck_assert_uint_eq(a->number, b->number);
	ck_assert_uint_eq(a->count, b->count);
	ck_assert_uint_eq(a->pc, b->pc);
	ck_assert_uint_eq(a->len, b->len);
	ck_assert_uint_eq(a->xstate_len, b->xstate_len);
	same_bytes(a->xstate, b->xstate, a->xstate_len);
	same_bytes(a->siginfo, b->siginfo, RECORD_SIGINFO_LEN);
	if (a->len > 0)
		same_bytes(a->bytes, b->bytes, a->len);
	ck_assert_int_eq(memcmp(&a->key, &b->key, sizeof a->key), 0);
}

static void encode_all(struct record_encoder *to, const struct record_event *e)
{
	for (unsigned i = 0; i < EVENTS; i++)
		record_encode(to, &e[i]);
}

static void hear(enum record_kind kind, const struct record_event *said)
{
	struct record_encoder to = {0};
	struct record_stream s;
	struct record_event e;
	struct hark_err err = {0};

	encode_all(&to, said);
	record_stream_init(&s, kind);
	record_stream_feed(&s, to.at, to.n);
	for (unsigned i = 0; i < EVENTS; i++) {
		ck_assert_msg(record_stream_next(&s, &e, &err) == 1, "%s",
			      err.text);
		same_event(&said[i], &e);
	}
	ck_assert_int_eq(record_stream_next(&s, &e, &err), 0);
	record_encoder_fini(&to);
}

START_TEST(what_was_said_is_heard)
{
	struct record_event said[EVENTS];

	random_bytes(pool, sizeof pool);
	for (int round = 0; round < 300; round++) {
		random_thread(said);
		hear(RECORD_OF_THREAD, said);
		random_process(said);
		hear(RECORD_OF_PROCESS, said);
	}
}
END_TEST

/* In as many pieces as it likes. */
START_TEST(a_stream_may_come_record_by_record)
{
	struct record_event said[EVENTS], e;
	struct record_encoder to = {0};
	struct record_stream s;
	struct hark_err err;
	size_t begin = 0;

	random_thread(said);
	record_stream_init(&s, RECORD_OF_THREAD);
	for (unsigned i = 0; i < EVENTS; i++) {
		record_encode(&to, &said[i]);
		record_stream_feed(&s, to.at + begin, to.n - begin);
		begin = to.n;
		ck_assert_int_eq(record_stream_next(&s, &e, &err), 1);
		same_event(&said[i], &e);
		ck_assert_int_eq(record_stream_next(&s, &e, &err), 0);
	}
	record_encoder_fini(&to);
}
END_TEST

/* -- What is refused -- */

/* How many records are read before the stream is refused with these words; -1
 * if it is not. */
static int refused(enum record_kind kind, const uint8_t *bytes, size_t len,
		   const char *words)
{
	uint8_t *exact = malloc(len + 1); /* so that a byte too many is seen */
	struct record_stream s;
	struct record_event e;
	struct hark_err err = {0};
	int n = 0, rc;

	memcpy(exact, bytes, len);
	record_stream_init(&s, kind);
	record_stream_feed(&s, exact, len);
	while ((rc = record_stream_next(&s, &e, &err)) > 0)
		n++;
	free(exact);
	if (rc == 0)
		return -1;
	ck_assert_msg(strstr(err.text, words) != NULL, "%s", err.text);
	ck_assert_int_eq(record_stream_next(&s, &e, &err), -1);
	return n;
}

static const uint8_t xstate[RECORD_XSTATE_MIN];

/* A KEY, and one more record that is e changed. */
static int refused_event(const struct record_event *e, const char *words)
{
	struct record_event key = {.type = WIRE_REC_KEY,
				   .count = 100,
				   .pc = 0x1000,
				   .xstate = xstate,
				   .xstate_len = sizeof xstate};
	struct record_encoder to = {0};
	int n;

	key.key.count = 100;
	key.key.state.pc = 0x1000;
	record_encode(&to, &key);
	record_encode(&to, e);
	n = refused(RECORD_OF_THREAD, to.at, to.n, words);
	record_encoder_fini(&to);
	return n;
}

START_TEST(events_that_cannot_be_are_refused)
{
	struct record_event e = {.type = WIRE_REC_EPOCH, .count = 99};

	ck_assert_int_eq(refused_event(&e, "beyond all bounds"), 1);
	e = (struct record_event){
	    .type = WIRE_REC_RESULT, .info = 16, .count = 100};
	ck_assert_int_eq(refused_event(&e, "no instruction"), 1);
	e.info = 0;
	ck_assert_int_eq(refused_event(&e, "no instruction"), 1);
	e = (struct record_event){
	    .type = WIRE_REC_STATE, .info = 16, .count = 100};
	ck_assert_int_eq(refused_event(&e, "kind is not known"), 1);
	e = (struct record_event){
	    .type = WIRE_REC_BYTES, .info = WIRE_BYTES_KEPT + 1, .count = 100};
	ck_assert_int_eq(refused_event(&e, ""), 1);
	e.info = WIRE_BYTES_KEPT << 1;
	ck_assert_int_eq(refused_event(&e, "kind is not known"), 1);
	e = (struct record_event){
	    .type = WIRE_REC_END, .info = WIRE_END_STOP + 1, .count = 100};
	ck_assert_int_eq(refused_event(&e, "kind is not known"), 1);
	e.info = WIRE_END_STOP;
	ck_assert_int_eq(refused_event(&e, "extended registers"), 1);
	e = (struct record_event){.type = WIRE_REC_START};
	ck_assert_int_eq(refused_event(&e, "not the first"), 1);
	e = (struct record_event){.type = WIRE_REC_KEY,
				  .xstate = xstate,
				  .xstate_len = sizeof xstate};
	e.key.count = 99;
	ck_assert_int_eq(refused_event(&e, "smaller than the last"), 1);
	e = (struct record_event){.type = WIRE_REC_CODE};
	ck_assert_int_eq(refused_event(&e, "no such type"), 1);
}
END_TEST

START_TEST(shadow_indices_are_bounded)
{
	static const uint8_t bytes[2 * RECORD_SHADOW_TAIL];
	struct record_event e = {.type = WIRE_REC_BYTES,
				 .count = 100,
				 .index = WIRE_SHADOW_SIZE - 1,
				 .bytes = bytes,
				 .len = RECORD_SHADOW_TAIL + 1};

	ck_assert_int_eq(refused_event(&e, ""), -1);
	e.len++;
	ck_assert_int_eq(refused_event(&e, "beyond the shadow"), 1);
	e.type = WIRE_REC_GRANULE;
	e.len = WIRE_GRANULE;
	e.index = WIRE_SHADOW_SIZE - WIRE_GRANULE;
	ck_assert_int_eq(refused_event(&e, ""), -1);
	e.index = WIRE_SHADOW_SIZE;
	ck_assert_int_eq(refused_event(&e, "beyond the shadow"), 1);
	e.index = 0;
	e.len = WIRE_GRANULE - 1;
	ck_assert_int_eq(refused_event(&e, "too short"), 1);
	e.len = WIRE_GRANULE + 1;
	ck_assert_int_eq(refused_event(&e, "too long"), 1);
}
END_TEST

START_TEST(a_thread_begins_with_a_key)
{
	struct record_event e = {.type = WIRE_REC_EPOCH};
	struct record_encoder to = {0};

	record_encode(&to, &e);
	ck_assert_int_eq(refused(RECORD_OF_THREAD, to.at, to.n, "no KEY"), 0);
	to.n = 0;
	e.type = WIRE_REC_START;
	record_encode(&to, &e);
	e.type = WIRE_REC_EPOCH;
	record_encode(&to, &e);
	ck_assert_int_eq(refused(RECORD_OF_THREAD, to.at, to.n, "a START"), 1);
	record_encoder_fini(&to);
}
END_TEST

START_TEST(serial_numbers_ascend)
{
	struct record_event e = {.type = WIRE_REC_PROCESS};
	struct record_encoder to = {0};

	e.process.serial = 7;
	record_encode(&to, &e);
	e = (struct record_event){.type = WIRE_REC_CODE};
	e.code.serial = 8;
	record_encode(&to, &e);
	ck_assert_int_eq(refused(RECORD_OF_PROCESS, to.at, to.n, ""), -1);
	record_encode(&to, &e);
	ck_assert_int_eq(refused(RECORD_OF_PROCESS, to.at, to.n, "serial"), 2);
	record_encoder_fini(&to);
}
END_TEST

/* An EPOCH whose serial number is these bytes. */
static int refused_varint(const uint8_t *bytes, size_t n)
{
	uint8_t stream[256 + RECORD_XSTATE_MIN] = {WIRE_REC_KEY};
	struct wire_rec head = {.type = WIRE_REC_KEY,
				.len = sizeof(struct wire_rec_key) +
				       RECORD_XSTATE_MIN};
	size_t at = sizeof head + head.len;

	memcpy(stream, &head, sizeof head);
	head =
	    (struct wire_rec){.type = WIRE_REC_EPOCH, .len = (uint16_t)(2 + n)};
	memcpy(stream + at, &head, sizeof head);
	memcpy(stream + at + sizeof head + 2, bytes, n);
	return refused(RECORD_OF_THREAD, stream, at + sizeof head + 2 + n,
		       "too short");
}

START_TEST(a_varint_has_ten_bytes_and_64_bits)
{
	uint8_t bytes[12] = {[0 ... 8] = 0xff, [9] = 1};

	ck_assert_int_eq(refused_varint(bytes, 10), -1);
	bytes[9] = 2; /* bit 64 */
	ck_assert_int_eq(refused_varint(bytes, 10), 1);
	bytes[9] = 0x81;
	ck_assert_int_eq(refused_varint(bytes, 11), 1);
	ck_assert_int_eq(refused_varint(bytes, 3), 1); /* beyond the record */
}
END_TEST

/* Every beginning of a stream is refused, or is a whole number of records. */
START_TEST(cut_streams_are_refused)
{
	struct record_event said[EVENTS];
	struct record_encoder to = {0};
	size_t border[EVENTS + 1] = {0};
	unsigned n = 0;

	random_thread(said);
	for (unsigned i = 0; i < EVENTS; i++) {
		record_encode(&to, &said[i]);
		border[i + 1] = to.n;
	}
	for (size_t len = 0; len <= to.n; len++) {
		int got = refused(RECORD_OF_THREAD, to.at, len, "");

		if (border[n] == len)
			ck_assert_int_eq(got, -1);
		else
			ck_assert_int_eq(got, (int)n - 1);
		n += border[n] == len;
	}
	record_encoder_fini(&to);
}
END_TEST

/* Under the sanitizers a byte too many would be seen. */
START_TEST(mutated_streams_do_no_harm)
{
	struct record_event said[EVENTS];
	struct record_encoder to = {0};

	for (int round = 0; round < 3000; round++) {
		enum record_kind kind = round & 1;

		if (kind == RECORD_OF_THREAD)
			random_thread(said);
		else
			random_process(said);
		to.n = 0;
		to.count = to.pc = 0;
		encode_all(&to, said);
		for (uint64_t i = random64() % 8; i < 8; i++)
			to.at[random64() % to.n] = (uint8_t)random64();
		refused(kind, to.at, to.n, "");
	}
	record_encoder_fini(&to);
}
END_TEST

/* -- Records that are two events -- */

enum { PAIRS = 400 };

static void random_order(struct record_event *e)
{
	static const uint64_t pcs[] = {0x401000, 0x401002, 0x7f0000123456};

	e->type = WIRE_REC_ORDER;
	e->pc = (random64() & 3) != 0 ? pcs[random64() % 3] : random64();
	e->order.line =
	    (random64() & 3) != 0 ? 17 : random64() % (WIRE_ORDER_KERNEL + 1);
	e->order.ticket = random_number();
	e->order.overtaken =
	    (random64() & 1) != 0 ? random64() & 15 : random_number();
	e->order.ticks = random_number();
}

static void random_value(struct record_event *e, uint64_t near)
{
	static uint8_t values[PAIRS][8];
	static unsigned n;
	uint64_t value = (random64() & 1) != 0 ? near : random64();

	e->type = WIRE_REC_BYTES;
	e->index = (random64() & 3) != 0 ? 0x5840 : random64() >> 32;
	e->len = 1u << (random64() & 3);
	memcpy(values[n % PAIRS], &value, sizeof value);
	e->bytes = values[n++ % PAIRS];
}

/* A KEY now and then; else what comes as one record of two events, or one. */
static unsigned random_pairs(struct record_event said[2 * PAIRS + 1],
			     struct record_encoder *to)
{
	uint64_t count = 5;
	unsigned n = 0;

	memset(said, 0, (2 * PAIRS + 1) * sizeof *said);
	for (unsigned i = 0; i < PAIRS; i++) {
		struct record_event *e = &said[n];
		unsigned what = i == 0 ? 0 : 1 + (unsigned)(random64() % 8);

		e[0].count = e[1].count = count += random64() % 100;
		if (what < 2) {
			e->type = WIRE_REC_KEY;
			random_key(e);
			e->xstate = xstate;
			e->xstate_len = sizeof xstate;
			record_encode(to, e);
			n++;
		} else if (what < 4) {
			e[0].type = WIRE_REC_ORDER;
			e[0].order.line = WIRE_ORDER_SEEN;
			e[0].order.ticks = random_number();
			random_value(&e[1], 0);
			e[1].len = (uint32_t)(random64() % 9);
			e[0].pc = e[1].pc = random64();
			record_encode_seen(to, &e[1], e[0].order.ticks);
			n += 2;
		} else if (what < 5) {
			random_order(e);
			memset(&e[1], 0, sizeof e[1]);
			record_encode_locked(to, NULL, e);
			n++;
		} else {
			random_value(&e[0], count);
			random_order(&e[1]);
			e[0].pc = e[1].pc;
			record_encode_locked(to, &e[0], &e[1]);
			n += 2;
		}
	}
	for (unsigned i = 0; i < n; i++)
		said[i].number = i;
	return n;
}

START_TEST(one_record_may_be_two_events)
{
	static struct record_event said[2 * PAIRS + 1];
	struct record_encoder to = {0};
	struct record_stream s;
	struct record_event e;
	struct hark_err err = {0};

	for (int round = 0; round < 100; round++) {
		unsigned n;

		to.n = 0;
		n = random_pairs(said, &to);
		record_stream_init(&s, RECORD_OF_THREAD);
		record_stream_feed(&s, to.at, to.n);
		for (unsigned i = 0; i < n; i++) {
			ck_assert_msg(record_stream_next(&s, &e, &err) == 1,
				      "%s", err.text);
			same_event(&said[i], &e);
		}
		ck_assert_int_eq(record_stream_next(&s, &e, &err), 0);
		to.count = to.pc = 0;
	}
	record_encoder_fini(&to);
}
END_TEST

/* From between the two events of a record, too, and from other memory. */
START_TEST(a_stream_goes_on_from_any_event)
{
	static struct record_event said[2 * PAIRS + 1];
	struct record_encoder to = {0};
	unsigned n = random_pairs(said, &to);
	uint8_t *other = malloc(to.n);
	struct record_stream s, t;
	struct record_event e;
	struct hark_err err = {0};

	memcpy(other, to.at, to.n);
	record_stream_init(&s, RECORD_OF_THREAD);
	record_stream_feed(&s, to.at, to.n);
	for (unsigned i = 0; i < n; i++) {
		record_stream_resume(&t, &s, other, to.n,
				     (size_t)(s.at - to.at));
		for (unsigned k = i; k < n && k < i + 4; k++) {
			ck_assert_int_eq(record_stream_next(&t, &e, &err), 1);
			same_event(&said[k], &e);
		}
		ck_assert_int_eq(record_stream_next(&s, &e, &err), 1);
		/* What has become shorter has no bytes to give. */
		record_stream_resume(&t, &s, other, 3, (size_t)(s.at - to.at));
		if (s.held == WIRE_REC_BYTES)
			ck_assert_int_eq(record_stream_next(&t, &e, &err), -1);
	}
	free(other);
	record_encoder_fini(&to);
}
END_TEST

/* Between two reads of a file it may have been changed. */
START_TEST(bytes_that_are_read_again_are_checked_again)
{
	static const uint8_t many[RECORD_SHADOW_TAIL + 100];
	struct record_event key = {.type = WIRE_REC_KEY,
				   .xstate = xstate,
				   .xstate_len = sizeof xstate};
	struct record_event bytes = {
	    .type = WIRE_REC_BYTES, .bytes = many, .len = sizeof many};
	const uint32_t last = UINT32_MAX;
	struct record_encoder to = {0};
	struct record_stream s, t;
	struct record_event e;
	struct hark_err err = {0};

	record_encode(&to, &key);
	record_encode_seen(&to, &bytes, 1);
	record_stream_init(&s, RECORD_OF_THREAD);
	record_stream_feed(&s, to.at, to.n);
	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_eq(record_stream_next(&s, &e, &err), 1);
	ck_assert_int_eq(e.type, WIRE_REC_ORDER);
	memcpy(to.at + to.n - sizeof many - sizeof last, &last, sizeof last);
	record_stream_resume(&t, &s, to.at, to.n, to.n);
	ck_assert_int_eq(record_stream_next(&t, &e, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "beyond the shadow"));
	record_encoder_fini(&to);
}
END_TEST

START_TEST(locked_records_that_cannot_be_are_refused)
{
	struct record_event key = {.type = WIRE_REC_KEY,
				   .xstate = xstate,
				   .xstate_len = sizeof xstate};
	struct record_event order = {.type = WIRE_REC_ORDER};
	struct record_encoder to = {0};
	size_t begin;

	record_encode(&to, &key);
	begin = to.n;
	order.order.line = WIRE_ORDER_KERNEL;
	record_encode_locked(&to, NULL, &order);
	ck_assert_int_eq(refused(RECORD_OF_THREAD, to.at, to.n, ""), -1);
	to.at[begin + 1] |= WIRE_LOCKED_VALUE; /* which is not there */
	ck_assert_int_eq(refused(RECORD_OF_THREAD, to.at, to.n, "too short"),
			 1);
	to.at[begin + 1] = 0;
	ck_assert_int_eq(refused(RECORD_OF_THREAD, to.at, to.n, ""), -1);
	to.at[begin + 1] = WIRE_LOCKED_SAME;
	ck_assert_int_eq(refused(RECORD_OF_THREAD, to.at, to.n, "too long"), 1);
	to.n = begin;
	order.order.line = WIRE_ORDER_SEEN;
	record_encode_locked(&to, NULL, &order);
	ck_assert_int_eq(refused(RECORD_OF_THREAD, to.at, to.n, "no such line"),
			 1);
	record_encoder_fini(&to);
}
END_TEST

START_TEST(mutated_pairs_do_no_harm)
{
	static struct record_event said[2 * PAIRS + 1];
	struct record_encoder to = {0};

	for (int round = 0; round < 300; round++) {
		to.n = 0;
		to.count = to.pc = 0;
		random_pairs(said, &to);
		for (uint64_t i = random64() % 8; i < 8; i++)
			to.at[random64() % to.n] = (uint8_t)random64();
		refused(RECORD_OF_THREAD, to.at, to.n, "");
	}
	record_encoder_fini(&to);
}
END_TEST

Suite *record_stream_suite(void)
{
	Suite *suite = suite_create("record_stream");
	TCase *tc = tcase_create("record_stream");

	tcase_add_test(tc, what_was_said_is_heard);
	tcase_add_test(tc, a_stream_may_come_record_by_record);
	tcase_add_test(tc, events_that_cannot_be_are_refused);
	tcase_add_test(tc, shadow_indices_are_bounded);
	tcase_add_test(tc, a_thread_begins_with_a_key);
	tcase_add_test(tc, serial_numbers_ascend);
	tcase_add_test(tc, a_varint_has_ten_bytes_and_64_bits);
	tcase_add_test(tc, cut_streams_are_refused);
	tcase_add_test(tc, mutated_streams_do_no_harm);
	tcase_add_test(tc, one_record_may_be_two_events);
	tcase_add_test(tc, a_stream_goes_on_from_any_event);
	tcase_add_test(tc, bytes_that_are_read_again_are_checked_again);
	tcase_add_test(tc, locked_records_that_cannot_be_are_refused);
	tcase_add_test(tc, mutated_pairs_do_no_harm);
	suite_add_tcase(suite, tc);
	return suite;
}
