/* travel/events.c - what a recorded thread says, record by record. */
#include "travel/events.h"

#include <string.h>

int events_open(struct events *e, struct recording *r, unsigned i, unsigned end,
		struct hark_err *err)
{
	*e = (struct events){.r = r, .segment = i, .end = end};
	record_stream_init(&e->records, RECORD_OF_THREAD);
	return recording_read_segment(r, i, &e->in, err);
}

void events_close(struct events *e)
{
	if (e->in != NULL)
		recording_stream_close(e->in);
	*e = (struct events){0};
}

/* More bytes of this segment, or of the next one. 0: there are none. */
static int more(struct events *e, struct hark_err *err)
{
	const uint8_t *bytes;
	size_t len;
	int rc;

	if (e->in == NULL)
		return 0;
	rc = recording_stream_next(e->in, &bytes, &len, err);
	if (rc > 0) {
		record_stream_feed(&e->records, bytes, len);
		e->piece = bytes;
		e->pieces++;
	}
	if (rc != 0)
		return rc;
	recording_stream_close(e->in);
	e->in = NULL;
	if (e->segment + 1 >= e->end)
		return 0;
	e->segment++;
	e->pieces = 0;
	record_stream_init(&e->records, RECORD_OF_THREAD);
	return recording_read_segment(e->r, e->segment, &e->in, err) < 0 ? -1
									 : 1;
}

static struct events_spot spot_of(const struct events *e)
{
	return (struct events_spot){
	    e->segment, e->pieces,
	    e->pieces == 0 ? 0 : (size_t)(e->records.at - e->piece),
	    e->records};
}

/* The next that was not read ahead. */
static int peek_raw(struct events *e, struct hark_err *err)
{
	while (!e->has_next) {
		int rc;

		e->before = spot_of(e);
		rc = record_stream_next(&e->records, &e->next, err);

		if (rc < 0)
			return -1;
		e->has_next = rc > 0 && e->next.type != WIRE_REC_START;
		if (rc == 0) {
			rc = more(e, err);
			if (rc <= 0)
				return rc;
		}
	}
	return 1;
}

int events_peek(struct events *e, const struct record_event **out,
		struct hark_err *err)
{
	const struct replay_fill *f = &e->fills[e->first];
	int rc;

	if (e->n > 0) {
		e->fill = (struct record_event){.type = WIRE_REC_BYTES,
						.count = f->count,
						.pc = f->pc,
						.bytes = f->bytes,
						.len = f->len};
		e->fill.index = f->index;
		*out = &e->fill;
		return 1;
	}
	rc = peek_raw(e, err);
	*out = &e->next;
	return rc;
}

void events_pass(struct events *e)
{
	e->n_passed++;
	if (e->n > 0) {
		e->n--;
		e->first++;
	} else {
		e->n_orders += e->next.type == WIRE_REC_ORDER;
		if (e->next.type == WIRE_REC_KEY) {
			e->n_orders = 0;
			e->n_passed = 1;
		}
		e->has_next = 0;
	}
}

static int is_small_fill(const struct record_event *e, uint64_t count)
{
	return (e->type == WIRE_REC_GRANULE || e->type == WIRE_REC_BYTES) &&
	       e->len <= WIRE_GRANULE && e->count < count;
}

static void keep(struct events *e)
{
	struct replay_fill *f = &e->fills[e->n];

	memcpy(e->bytes[e->n], e->next.bytes, e->next.len);
	e->spots[e->n] = e->before;
	*f = (struct replay_fill){.count = e->next.count,
				  .pc = e->next.pc,
				  .index = (uint32_t)e->next.index,
				  .len = e->next.len,
				  .bytes = e->bytes[e->n]};
	e->n++;
	e->has_next = 0;
}

int events_fills(struct events *e, uint64_t count,
		 const struct replay_fill **out, unsigned *n,
		 struct hark_err *err)
{
	unsigned i = 0;

	if (e->n == 0) {
		e->first = 0;
		while (e->n < EVENTS_FILLS) {
			if (peek_raw(e, err) < 0)
				return -1;
			if (!e->has_next || !is_small_fill(&e->next, count))
				break;
			keep(e);
		}
	}
	while (i < e->n && e->fills[e->first + i].count < count)
		i++;
	*out = &e->fills[e->first];
	*n = i;
	return 0;
}

/* -- Marks -- */

void events_mark(const struct events *e, struct events_mark *out)
{
	*out = (struct events_mark){.spot = e->n > 0	  ? e->spots[e->first]
					    : e->has_next ? e->before
							  : spot_of(e),
				    .n_orders = e->n_orders,
				    .n_passed = e->n_passed};
}

int events_open_at(struct events *e, struct recording *r,
		   const struct events_mark *mark, unsigned end,
		   struct hark_err *err)
{
	const struct events_spot *spot = &mark->spot;
	const uint8_t *bytes;
	size_t len;
	int rc;

	if (events_open(e, r, spot->segment, end, err) < 0)
		return -1;
	e->n_orders = mark->n_orders;
	e->n_passed = mark->n_passed;
	if (spot->pieces == 0)
		return 0;
	recording_stream_skip(e->in, spot->pieces - 1);
	rc = recording_stream_next(e->in, &bytes, &len, err);
	if (rc <= 0)
		return rc < 0 ? -1
			      : err_set(err, HARK_EINPUT, 0,
					"a segment has become shorter");
	e->piece = bytes;
	e->pieces = spot->pieces;
	record_stream_resume(&e->records, &spot->records, bytes, len,
			     spot->offset);
	return 0;
}
