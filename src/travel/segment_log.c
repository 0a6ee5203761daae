/* travel/segment_log.c - what the log of one segment says of a range. */
#include "travel/segment_log.h"

#include "travel/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of one segment, while its records are read. */
struct reading {
	struct segment_log *log;
	const struct lane *l;
	uint64_t address, len;
	uint64_t turns; /* of the thread, begun so far */
	uint64_t clock;
	bool was_seen; /* the last record has the time of what comes next */
};

/* NULL: no memory. */
static void *make_room(void *array, size_t n, size_t more, size_t *room,
		       size_t size)
{
	size_t next = *room;

	if (n + more <= *room)
		return array;
	while (next < n + more)
		next = next < 64 ? 64 : 2 * next;
	array = reallocarray(array, next, size);
	if (array != NULL)
		*room = next;
	return array;
}

static int add_time(const struct reading *in, const struct record_event *e)
{
	struct segment_log *log = in->log;
	struct log_time *times = make_room(log->times, log->n_times, 1,
					   &log->room_times, sizeof *times);

	if (times == NULL)
		return -1;
	log->times = times;
	times[log->n_times++] = (struct log_time){e->count, e->pc, in->clock};
	return 0;
}

/* What a fill has of the range: how many bytes, from the `skip`-th on. */
static uint64_t part_of_fill(const struct reading *in,
			     const struct record_event *e, uint64_t *address,
			     uint32_t *skip)
{
	uint32_t first = (uint32_t)(in->address + WIRE_SHADOW_SKEW);
	uint32_t ahead = (uint32_t)e->index - first;
	uint32_t before = first - (uint32_t)e->index;
	uint64_t room;

	if (ahead < in->len) {
		*skip = 0;
		*address = in->address + ahead;
		room = in->len - ahead;
		return e->len < room ? e->len : room;
	}
	if (before >= e->len)
		return 0;
	*skip = before;
	*address = in->address;
	room = e->len - before;
	return room < in->len ? room : in->len;
}

static int add_fill(const struct reading *in, const struct record_event *e)
{
	struct segment_log *log = in->log;
	struct log_fill fill = {.bytes = log->n_bytes};
	struct log_fill *fills;
	uint8_t *bytes;
	uint32_t skip;

	fill.len = (uint32_t)part_of_fill(in, e, &fill.address, &skip);
	if (fill.len == 0 || in->turns == 0 || in->turns > in->l->n_turns)
		return 0;
	fills = make_room(log->fills, log->n_fills, 1, &log->room_fills,
			  sizeof *fills);
	if (fills == NULL)
		return -1;
	log->fills = fills;
	bytes =
	    make_room(log->bytes, log->n_bytes, fill.len, &log->room_bytes, 1);
	if (bytes == NULL)
		return -1;
	log->bytes = bytes;
	memcpy(bytes + log->n_bytes, e->bytes + skip, fill.len);
	log->n_bytes += fill.len;
	fill.touch = (struct last_touch){
	    .turn = in->l->turns[in->turns - 1],
	    .segment = log->segment,
	    .count = e->count,
	    .pc = e->pc,
	    .is_logged = true,
	    .from = in->clock,
	    .to = in->was_seen ? in->clock : UINT64_MAX,
	};
	fills[log->n_fills++] = fill;
	return 0;
}

/* What was kept over a key frame was known before. */
static bool is_fill(const struct record_event *e)
{
	return e->type == WIRE_REC_GRANULE ||
	       (e->type == WIRE_REC_BYTES && !(e->info & WIRE_BYTES_KEPT));
}

static int read_record(struct reading *in, const struct record_event *e)
{
	if (latest_tick(&in->clock, e) && add_time(in, e) < 0)
		return -1;
	in->turns += e->type == WIRE_REC_ORDER;
	if (is_fill(e) && add_fill(in, e) < 0)
		return -1;
	in->was_seen =
	    e->type == WIRE_REC_ORDER && e->order.line == WIRE_ORDER_SEEN;
	return 0;
}

static int read_records(struct reading *in, struct events *events,
			struct hark_err *err)
{
	const struct record_event *e;
	unsigned n_keys = 0;
	int rc;

	while ((rc = events_peek(events, &e, err)) > 0) {
		if (e->type == WIRE_REC_KEY && ++n_keys == 2) {
			in->log->end_clock = e->key.tsc;
			return 0;
		}
		if (e->type == WIRE_REC_KEY)
			in->log->fs_base = e->key.state.fs_base;
		if (read_record(in, e) < 0)
			return err_set(err, HARK_ENOMEM, ENOMEM,
				       "out of memory");
		events_pass(events);
	}
	return rc;
}

int segment_log_load(struct segment_log *log, struct timeline *t,
		     const struct lane *l, unsigned segment, uint64_t address,
		     uint64_t len, struct hark_err *err)
{
	unsigned end = segment + 2 < l->end ? segment + 2 : l->end;
	struct reading in = {
	    .log = log, .l = l, .address = address, .len = len};
	struct events events;
	int rc;

	log->segment = segment;
	log->n_fills = log->n_times = log->n_bytes = 0;
	log->end_clock = UINT64_MAX;
	in.turns = order_turns_before(t->order, segment);
	if (events_open(&events, t->rec->r, segment, end, err) < 0)
		return -1;
	rc = read_records(&in, &events, err);
	events_close(&events);
	for (size_t i = 0; rc == 0 && i < log->n_fills; i++)
		if (log->fills[i].touch.to == UINT64_MAX)
			segment_log_span(log, &log->fills[i].touch);
	return rc;
}

void segment_log_free(struct segment_log *log)
{
	free(log->fills);
	free(log->times);
	free(log->bytes);
	*log = (struct segment_log){0};
}

void segment_log_span(const struct segment_log *log, struct last_touch *touch)
{
	size_t low = 0, high = log->n_times;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct log_time *time = &log->times[middle];

		if (latest_is_reached(touch->count, touch->pc, time->count,
				      time->pc))
			low = middle + 1;
		else
			high = middle;
	}
	touch->from = low > 0 ? log->times[low - 1].clock : 0;
	touch->to = low < log->n_times ? log->times[low].clock : log->end_clock;
}
