// runs: 50000
/* tests/fuzz/record_stream.c - any bytes as a stream of records.
 *
 * The first byte says whose stream, and into how many pieces it is cut. What
 * is handed out must be sound: its bytes lie within what was fed (or are
 * the stream's own), counts do not fall, and a stream that was refused stays
 * refused. */
#include "record/stream.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int truth)
{
	if (!truth)
		abort();
}

static void within(const uint8_t *bytes, size_t len, const uint8_t *data,
		   size_t size)
{
	if (bytes == NULL || len == 0)
		return;
	must(bytes >= data && len <= size);
	must((size_t)(bytes - data) <= size - len);
}

static void check_event(const struct record_stream *s,
			const struct record_event *e, const uint8_t *data,
			size_t size)
{
	if (e->bytes == s->value) /* of a LOCKED */
		must(e->len <= sizeof s->value);
	else
		within(e->bytes, e->len, data, size);
	within(e->xstate, e->xstate_len, data, size);
	within(e->siginfo, RECORD_SIGINFO_LEN, data, size);
	must(e->xstate_len == 0 || e->xstate_len >= RECORD_XSTATE_MIN);
	must(strcmp(record_type_name(e->type), "?") != 0);
	if (e->type == WIRE_REC_GRANULE || e->type == WIRE_REC_BYTES)
		must(e->index + e->len <=
		     WIRE_SHADOW_SIZE + RECORD_SHADOW_TAIL);
	if (e->type == WIRE_REC_RESULT)
		must(e->result.length >= 1 && e->result.length <= 15);
}

static void walk(struct record_stream *s, const uint8_t *data, size_t size)
{
	struct record_event e;
	struct hark_err err;
	uint64_t count = s->count;
	int rc;

	record_stream_feed(s, data, size);
	while ((rc = record_stream_next(s, &e, &err)) > 0) {
		check_event(s, &e, data, size);
		must(e.count >= count);
		count = e.count;
	}
	must(rc == 0 || record_stream_next(s, &e, &err) == -1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct record_stream s;
	size_t begin = 1, pieces;

	if (size < 1)
		return 0;
	record_stream_init(&s, (data[0] & 1) != 0 ? RECORD_OF_PROCESS
						  : RECORD_OF_THREAD);
	pieces = 1 + (data[0] >> 1) % 4;
	while (pieces > 0) {
		size_t len = (size - begin) / pieces--;

		walk(&s, data + begin, len);
		begin += len;
	}
	return 0;
}
