/* record/stream.c - what the bytes of a stream say, one record at a time.
 *
 * One row a type: its name, whose it is, and who reads its contents. A reader
 * takes what it needs from a cursor that cannot be overdrawn: once it came too
 * short it stays short, gives zeros, and the record is refused at the end. So
 * is a record that has bytes left over. */
#include "record/stream.h"

#include <string.h>

/* -- A cursor over the contents of one record -- */

struct cursor {
	const uint8_t *at, *end;
	int is_short; /* something was missing or malformed: sticky */
};

static const uint8_t *take(struct cursor *c, size_t len)
{
	const uint8_t *bytes = c->at;

	if (len > (size_t)(c->end - c->at)) {
		c->is_short = 1;
		return NULL;
	}
	c->at += len;
	return bytes;
}

static void take_into(struct cursor *c, void *to, size_t len)
{
	const uint8_t *bytes = take(c, len);

	if (bytes != NULL)
		memcpy(to, bytes, len);
	else
		memset(to, 0, len);
}

static uint64_t take_number(struct cursor *c, unsigned len)
{
	uint64_t value = 0;

	take_into(c, &value, len); /* little-endian, as this machine is */
	return value;
}

/* Most are of one byte. The tenth has one bit to give. */
static uint64_t take_varint(struct cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0; c->at < c->end && shift < 70; shift += 7) {
		uint64_t byte = *c->at++;

		value |= (byte & 0x7f) << shift;
		if (byte < 0x80 && (shift < 63 || byte <= 1))
			return value;
	}
	c->is_short = 1;
	return 0;
}

static uint64_t take_zigzag(struct cursor *c)
{
	uint64_t coded = take_varint(c);

	return coded >> 1 ^ -(coded & 1);
}

static size_t left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* -- What each type holds -- */

/* Each reader returns NULL, or what is wrong with the record. */
typedef const char *reader(struct record_stream *s, struct cursor *c,
			   struct record_event *e);

static const char *take_position(struct record_stream *s, struct cursor *c,
				 struct record_event *e)
{
	uint64_t more = take_varint(c);

	e->count = s->count + more;
	e->pc = s->pc + take_zigzag(c);
	return e->count < s->count ? "its count is beyond all bounds" : NULL;
}

static const char *take_xstate(struct cursor *c, struct record_event *e)
{
	e->xstate_len = (uint32_t)left(c);
	e->xstate = take(c, left(c));
	if (e->xstate_len < RECORD_XSTATE_MIN ||
	    e->xstate_len > WIRE_XSTATE_MAX)
		return "its extended registers are too short or too long";
	return NULL;
}

static const char *read_start(struct record_stream *s, struct cursor *c,
			      struct record_event *e)
{
	take_into(c, &e->start, sizeof e->start);
	if (s->last != 0)
		return "it is not the first one";
	return NULL;
}

static const char *read_key(struct record_stream *s, struct cursor *c,
			    struct record_event *e)
{
	take_into(c, &e->key, sizeof e->key);
	memset(s->locked, 0, sizeof s->locked);
	e->count = e->key.count;
	e->pc = e->key.state.pc;
	if (e->count < s->count)
		return "its count is smaller than the last one's";
	return take_xstate(c, e);
}

static const char *read_granule(struct record_stream *s, struct cursor *c,
				struct record_event *e)
{
	const char *wrong = take_position(s, c, e);

	e->index = take_number(c, 4) * WIRE_GRANULE;
	e->len = WIRE_GRANULE;
	e->bytes = take(c, WIRE_GRANULE);
	if (wrong == NULL && e->index >= WIRE_SHADOW_SIZE)
		return "its index is beyond the shadow";
	return wrong;
}

static void take_bytes(struct cursor *c, struct record_event *e)
{
	e->index = take_number(c, 4);
	e->len = (uint32_t)left(c);
	e->bytes = take(c, left(c));
}

/* That they were seen comes first, then the bytes themselves. */
static void split_bytes(struct record_stream *s, struct record_event *e,
			uint64_t ticks)
{
	s->held = WIRE_REC_BYTES;
	s->held_len = e->len;
	e->type = WIRE_REC_ORDER;
	e->info = 0;
	e->bytes = NULL;
	e->len = 0;
	e->order.line = WIRE_ORDER_SEEN;
	e->order.ticket = e->order.overtaken = 0;
	e->order.ticks = ticks;
}

static int is_beyond_shadow(const struct record_event *e)
{
	return e->index + e->len > WIRE_SHADOW_SIZE + RECORD_SHADOW_TAIL;
}

static const char *read_bytes(struct record_stream *s, struct cursor *c,
			      struct record_event *e)
{
	const char *wrong = take_position(s, c, e);
	int seen = e->info & WIRE_BYTES_SEEN;
	uint64_t ticks = seen ? take_varint(c) : 0;

	take_bytes(c, e);
	if (wrong == NULL && is_beyond_shadow(e))
		return "its bytes are beyond the shadow";
	if (wrong == NULL && e->info > WIRE_BYTES_KEPT)
		return "its kind is not known";
	if (seen)
		split_bytes(s, e, ticks);
	return wrong;
}

static const char *read_result(struct record_stream *s, struct cursor *c,
			       struct record_event *e)
{
	const char *wrong = take_position(s, c, e);

	e->result.length = e->info;
	e->result.set = (uint16_t)take_number(c, 2);
	e->result.rflags = take_number(c, 8);
	for (unsigned i = 0; i < 16; i++)
		e->result.gpr[i] =
		    (e->result.set >> i & 1) != 0 ? take_number(c, 8) : 0;
	if (wrong == NULL && (e->info < 1 || e->info > 15))
		return "no instruction has this length";
	return wrong;
}

static const char *read_call(struct record_stream *s, struct cursor *c,
			     struct record_event *e)
{
	const char *wrong = take_position(s, c, e);

	e->call.number = (int32_t)take_varint(c);
	e->call.answer = (int64_t)take_zigzag(c);
	e->call.ticks = take_varint(c);
	return wrong;
}

static const char *read_state(struct record_stream *s, struct cursor *c,
			      struct record_event *e)
{
	const char *wrong = take_position(s, c, e);
	enum {
		KNOWN = WIRE_STATE_SIGNAL | WIRE_STATE_RETURN |
			WIRE_STATE_STEP | WIRE_STATE_XSTATE,
	};

	take_into(c, &e->state, sizeof e->state);
	if ((e->info & WIRE_STATE_SIGNAL) != 0)
		e->siginfo = take(c, RECORD_SIGINFO_LEN);
	if (wrong == NULL && (e->info & ~KNOWN) != 0)
		return "its kind is not known";
	if (wrong == NULL && (e->info & WIRE_STATE_XSTATE) != 0)
		return take_xstate(c, e);
	return wrong;
}

static const char *read_epoch(struct record_stream *s, struct cursor *c,
			      struct record_event *e)
{
	const char *wrong = take_position(s, c, e);

	e->epoch = take_varint(c);
	return wrong;
}

static const char *read_order(struct record_stream *s, struct cursor *c,
			      struct record_event *e)
{
	const char *wrong = take_position(s, c, e);

	e->order.line = take_varint(c);
	e->order.ticket = take_varint(c);
	e->order.overtaken = take_varint(c);
	e->order.ticks = take_varint(c);
	if (wrong == NULL && e->order.line > WIRE_ORDER_SEEN)
		return "there is no such line";
	return wrong;
}

/* What it found in memory, out of what was found there last. */
static void take_found(struct record_stream *s, struct cursor *c,
		       struct record_event *e, struct wire_locked *last)
{
	unsigned size = 1u << (e->info >> WIRE_LOCKED_SIZE & 3);

	last->value = wire_locked_low(last->value + take_zigzag(c), size);
	memcpy(s->value, &last->value, sizeof s->value);
	s->held = WIRE_REC_ORDER;
	e->type = WIRE_REC_BYTES;
	e->index = last->index;
	e->len = size;
	e->bytes = s->value;
}

static void give_order(const struct record_stream *s, struct record_event *e)
{
	e->type = WIRE_REC_ORDER;
	e->order.line = s->held_order.line;
	e->order.ticket = s->held_order.ticket;
	e->order.overtaken = s->held_order.overtaken;
	e->order.ticks = s->held_order.ticks;
}

static const char *read_locked(struct record_stream *s, struct cursor *c,
			       struct record_event *e)
{
	const char *wrong = take_position(s, c, e);
	struct wire_locked *last = &s->locked[wire_locked_slot(e->pc)];
	uint64_t overtaken = e->info >> WIRE_LOCKED_BEHIND;
	int has_value = e->info & WIRE_LOCKED_VALUE;

	if ((e->info & WIRE_LOCKED_SAME) == 0) {
		uint64_t line = take_varint(c);

		if (line > WIRE_ORDER_KERNEL)
			return "there is no such line";
		*last = (struct wire_locked){.line = (uint32_t)line};
		if (has_value)
			last->index = (uint32_t)take_number(c, 4);
	}
	last->ticket += take_varint(c);
	if (overtaken == WIRE_LOCKED_MORE)
		overtaken = take_varint(c);
	s->held_order = (struct record_held_order){last->line, last->ticket,
						   overtaken, take_varint(c)};
	if (has_value)
		take_found(s, c, e, last);
	else
		give_order(s, e);
	e->info = 0;
	return wrong;
}

static const char *read_end(struct record_stream *s, struct cursor *c,
			    struct record_event *e)
{
	const char *wrong = take_position(s, c, e);

	take_into(c, &e->state, sizeof e->state);
	if (e->info == WIRE_END_SIGNAL)
		e->siginfo = take(c, RECORD_SIGINFO_LEN);
	if (wrong == NULL && e->info > WIRE_END_STOP)
		return "its kind is not known";
	return wrong == NULL ? take_xstate(c, e) : wrong;
}

static const char *read_process(struct record_stream *s, struct cursor *c,
				struct record_event *e)
{
	take_into(c, &e->process, sizeof e->process);
	if (s->last != 0)
		return "it is not the first one";
	s->serial = e->process.serial;
	return NULL;
}

static const char *read_code(struct record_stream *s, struct cursor *c,
			     struct record_event *e)
{
	e->code.serial = take_varint(c);
	e->code.address = take_number(c, 8);
	e->len = (uint32_t)left(c);
	e->bytes = take(c, left(c));
	if (e->code.serial <= s->serial)
		return "its serial number is not above the last one's";
	if (e->code.address + e->len < e->code.address)
		return "it reaches beyond the last address";
	s->serial = e->code.serial;
	return NULL;
}

static const char *read_map(struct record_stream *s, struct cursor *c,
			    struct record_event *e)
{
	(void)s;
	take_into(c, &e->map, sizeof e->map);
	e->len = (uint32_t)left(c);
	e->bytes = take(c, left(c));
	return e->map.start > e->map.end ? "it ends before it begins" : NULL;
}

static const char *read_unmap(struct record_stream *s, struct cursor *c,
			      struct record_event *e)
{
	(void)s;
	take_into(c, &e->unmap, sizeof e->unmap);
	return e->unmap.start > e->unmap.end ? "it ends before it begins"
					     : NULL;
}

static const char *read_prot(struct record_stream *s, struct cursor *c,
			     struct record_event *e)
{
	(void)s;
	take_into(c, &e->prot, sizeof e->prot);
	return e->prot.start > e->prot.end ? "it ends before it begins" : NULL;
}

static const char *read_name(struct record_stream *s, struct cursor *c,
			     struct record_event *e)
{
	(void)s;
	take_into(c, &e->name, sizeof e->name);
	return e->name.name[sizeof e->name.name - 1] != '\0'
		   ? "the name has no end"
		   : NULL;
}

/* ORDER wire_record */
static const struct row {
	const char *name;
	reader *read;
	enum record_kind kind;
	int has_position;
} rows[WIRE_REC_MAX] = {
    [WIRE_REC_START] = {"START", read_start, RECORD_OF_THREAD, 0},
    [WIRE_REC_KEY] = {"KEY", read_key, RECORD_OF_THREAD, 1},
    [WIRE_REC_GRANULE] = {"GRANULE", read_granule, RECORD_OF_THREAD, 1},
    [WIRE_REC_BYTES] = {"BYTES", read_bytes, RECORD_OF_THREAD, 1},
    [WIRE_REC_RESULT] = {"RESULT", read_result, RECORD_OF_THREAD, 1},
    [WIRE_REC_CALL] = {"CALL", read_call, RECORD_OF_THREAD, 1},
    [WIRE_REC_STATE] = {"STATE", read_state, RECORD_OF_THREAD, 1},
    [WIRE_REC_EPOCH] = {"EPOCH", read_epoch, RECORD_OF_THREAD, 1},
    [WIRE_REC_ORDER] = {"ORDER", read_order, RECORD_OF_THREAD, 1},
    [WIRE_REC_END] = {"END", read_end, RECORD_OF_THREAD, 1},
    [WIRE_REC_LOCKED] = {"LOCKED", read_locked, RECORD_OF_THREAD, 1},
    [WIRE_REC_PROCESS] = {"PROCESS", read_process, RECORD_OF_PROCESS, 0},
    [WIRE_REC_CODE] = {"CODE", read_code, RECORD_OF_PROCESS, 0},
    [WIRE_REC_MAP] = {"MAP", read_map, RECORD_OF_PROCESS, 0},
    [WIRE_REC_UNMAP] = {"UNMAP", read_unmap, RECORD_OF_PROCESS, 0},
    [WIRE_REC_NAME] = {"NAME", read_name, RECORD_OF_PROCESS, 0},
    [WIRE_REC_PROT] = {"PROT", read_prot, RECORD_OF_PROCESS, 0},
};

const char *record_type_name(unsigned type)
{
	if (type >= WIRE_REC_MAX || rows[type].name == NULL)
		return "?";
	return rows[type].name;
}

/* -- The stream -- */

void record_stream_init(struct record_stream *s, enum record_kind kind)
{
	*s = (struct record_stream){.kind = kind};
}

void record_stream_feed(struct record_stream *s, const uint8_t *bytes,
			size_t len)
{
	s->at = bytes;
	s->end = bytes + len;
}

void record_stream_resume(struct record_stream *s,
			  const struct record_stream *from,
			  const uint8_t *bytes, size_t len, size_t offset)
{
	*s = *from;
	if (offset > len)
		offset = len;
	s->at = bytes + offset;
	s->end = bytes + len;
	if (s->kind != RECORD_OF_THREAD ||
	    (s->held != 0 && s->held != WIRE_REC_BYTES &&
	     s->held != WIRE_REC_ORDER))
		s->broken = 1; /* no stream was ever in this state */
	if (s->held == WIRE_REC_BYTES &&
	    offset < sizeof(uint32_t) + s->held_len)
		s->broken = 1; /* they are no longer what they were */
}

/* May a record of this type follow the last one? */
static const char *out_of_place(const struct record_stream *s, unsigned type)
{
	if (s->kind == RECORD_OF_PROCESS)
		return NULL;
	if (s->last == WIRE_REC_END)
		return "it follows an END";
	if (s->last == 0 && type != WIRE_REC_START && type != WIRE_REC_KEY)
		return "no KEY stands before it";
	if (s->last == WIRE_REC_START && type != WIRE_REC_KEY)
		return "it follows a START";
	return NULL;
}

static const char *read_contents(struct record_stream *s,
				 const struct wire_rec *head,
				 struct record_event *e)
{
	const struct row *row = &rows[head->type];
	struct cursor c = {.at = s->at, .end = s->at + head->len};
	const char *wrong = out_of_place(s, head->type);

	*e = (struct record_event){.type = (enum wire_record_type)head->type,
				   .info = head->info,
				   .number = s->number,
				   .count = s->count,
				   .pc = s->pc};
	if (wrong == NULL)
		wrong = row->read(s, &c, e);
	if (c.is_short)
		return "it is too short";
	if (wrong == NULL && c.at != c.end)
		return "it is too long";
	return wrong;
}

static int refuse(struct record_stream *s, const char *name, const char *wrong,
		  struct hark_err *err)
{
	s->broken = 1;
	return err_set(err, HARK_EINPUT, 0, "record %llu (%s): %s",
		       (unsigned long long)s->number, name, wrong);
}

/* The second event of a record. Its bytes may have been read from the file once
 * more (record_stream_resume), so what was checked of them is checked again. */
static int give_held(struct record_stream *s, struct record_event *e,
		     struct hark_err *err)
{
	struct cursor c = {.end = s->at};

	*e = (struct record_event){.type = (enum wire_record_type)s->held,
				   .number = s->number++,
				   .count = s->count,
				   .pc = s->pc};
	if (s->held == WIRE_REC_BYTES) {
		c.at = s->at - s->held_len - sizeof(uint32_t);
		take_bytes(&c, e);
		if (is_beyond_shadow(e))
			return refuse(s, "BYTES",
				      "its bytes are beyond the shadow", err);
	} else {
		give_order(s, e);
	}
	s->held = 0;
	return 1;
}

int record_stream_next(struct record_stream *s, struct record_event *out,
		       struct hark_err *err)
{
	struct wire_rec head;
	const char *wrong;

	if (s->broken)
		return refuse(s, "?", "it follows a damaged one", err);
	if (s->held != 0)
		return give_held(s, out, err);
	if (s->at == s->end)
		return 0;
	if ((size_t)(s->end - s->at) < sizeof head)
		return refuse(s, "?", "it is too short", err);
	memcpy(&head, s->at, sizeof head);
	if (head.type >= WIRE_REC_MAX || rows[head.type].read == NULL ||
	    rows[head.type].kind != s->kind)
		return refuse(s, record_type_name(head.type),
			      "no such type belongs here", err);
	s->at += sizeof head;
	if (head.len > s->end - s->at)
		return refuse(s, rows[head.type].name, "it is cut off", err);
	wrong = read_contents(s, &head, out);
	if (wrong != NULL)
		return refuse(s, rows[head.type].name, wrong, err);
	s->at += head.len;
	s->number++;
	s->last = head.type;
	if (rows[head.type].has_position) {
		s->count = out->count;
		s->pc = out->pc;
	}
	return 1;
}
