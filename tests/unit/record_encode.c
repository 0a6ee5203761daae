/* tests/unit/record_encode.c - events back into bytes. */
#include "record_encode.h"

#include <stdlib.h>
#include <string.h>

/* -- Bytes at the end -- */

static void put(struct record_encoder *to, const void *bytes, size_t len)
{
	if (to->n + len > to->room) {
		to->room = 2 * (to->n + len);
		to->at = realloc(to->at, to->room);
		if (to->at == NULL)
			abort();
	}
	if (len > 0)
		memcpy(to->at + to->n, bytes, len);
	to->n += len;
}

static void put_number(struct record_encoder *to, uint64_t value, size_t len)
{
	put(to, &value, len);
}

static void put_varint(struct record_encoder *to, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_number(to, (value & 0x7f) | 0x80, 1);
	put_number(to, value, 1);
}

static void put_zigzag(struct record_encoder *to, uint64_t value)
{
	put_varint(to, value << 1 ^ (uint64_t)((int64_t)value >> 63));
}

static void put_position(struct record_encoder *to,
			 const struct record_event *e)
{
	put_varint(to, e->count - to->count);
	put_zigzag(to, e->pc - to->pc);
}

/* -- Contents by type -- */

static void put_result(struct record_encoder *to, const struct record_event *e)
{
	put_number(to, e->result.set, 2);
	put_number(to, e->result.rflags, 8);
	for (unsigned i = 0; i < 16; i++)
		if ((e->result.set >> i & 1) != 0)
			put_number(to, e->result.gpr[i], 8);
}

static void put_of_process(struct record_encoder *to,
			   const struct record_event *e)
{
	switch (e->type) {
	case WIRE_REC_PROCESS:
		put(to, &e->process, sizeof e->process);
		break;
	case WIRE_REC_CODE:
		put_varint(to, e->code.serial);
		put_number(to, e->code.address, 8);
		put(to, e->bytes, e->len);
		break;
	case WIRE_REC_MAP:
		put(to, &e->map, sizeof e->map);
		put(to, e->bytes, e->len);
		break;
	case WIRE_REC_UNMAP:
		put(to, &e->unmap, sizeof e->unmap);
		break;
	case WIRE_REC_NAME:
		put(to, &e->name, sizeof e->name);
		break;
	case WIRE_REC_PROT:
		put(to, &e->prot, sizeof e->prot);
		break;
	default:
		abort();
	}
}

static void put_of_thread(struct record_encoder *to,
			  const struct record_event *e)
{
	switch (e->type) {
	case WIRE_REC_GRANULE:
		put_number(to, e->index / WIRE_GRANULE, 4);
		put(to, e->bytes, e->len);
		break;
	case WIRE_REC_BYTES:
		put_number(to, e->index, 4);
		put(to, e->bytes, e->len);
		break;
	case WIRE_REC_RESULT:
		put_result(to, e);
		break;
	case WIRE_REC_CALL:
		put_varint(to, (uint32_t)e->call.number);
		put_zigzag(to, (uint64_t)e->call.answer);
		put_varint(to, e->call.ticks);
		break;
	case WIRE_REC_EPOCH:
		put_varint(to, e->epoch);
		break;
	case WIRE_REC_ORDER:
		put_varint(to, e->order.line);
		put_varint(to, e->order.ticket);
		put_varint(to, e->order.overtaken);
		put_varint(to, e->order.ticks);
		break;
	default: /* STATE, END */
		put(to, &e->state, sizeof e->state);
		put(to, e->siginfo,
		    e->siginfo != NULL ? RECORD_SIGINFO_LEN : 0);
		put(to, e->xstate, e->xstate_len);
		break;
	}
}

static void put_absolute(struct record_encoder *to,
			 const struct record_event *e)
{
	if (e->type == WIRE_REC_START) {
		put(to, &e->start, sizeof e->start);
	} else {
		put(to, &e->key, sizeof e->key);
		memset(to->locked, 0, sizeof to->locked);
		put(to, e->xstate, e->xstate_len);
	}
}

/* -- Records -- */

static void finish(struct record_encoder *to, size_t begin,
		   const struct record_event *e)
{
	size_t len = to->n - begin - sizeof(struct wire_rec);
	uint16_t told = (uint16_t)len;

	if (e->type != WIRE_REC_START && e->type < WIRE_REC_PROCESS) {
		to->count = e->count;
		to->pc = e->pc;
	}
	if (len > UINT16_MAX)
		abort();
	memcpy(to->at + begin + offsetof(struct wire_rec, len), &told,
	       sizeof told);
}

void record_encode_seen(struct record_encoder *to, const struct record_event *e,
			uint64_t ticks)
{
	struct wire_rec head = {.type = WIRE_REC_BYTES,
				.info = WIRE_BYTES_SEEN};
	size_t begin = to->n;

	put(to, &head, sizeof head);
	put_position(to, e);
	put_varint(to, ticks);
	put_of_thread(to, e);
	finish(to, begin, e);
}

/* By the text of wire/record.h. */
void record_encode_locked(struct record_encoder *to,
			  const struct record_event *bytes,
			  const struct record_event *order)
{
	struct wire_locked *last = &to->locked[wire_locked_slot(order->pc)];
	unsigned n = bytes == NULL ? 0 : bytes->len, more = 64 - 8 * n;
	uint64_t behind = order->order.overtaken, value = 0;
	int same = last->line == order->order.line &&
		   (n == 0 || last->index == bytes->index);
	struct wire_rec head = {.type = WIRE_REC_LOCKED};
	size_t begin = to->n;

	head.info =
	    (uint8_t)((same ? 1 : 0) | (behind < 15 ? behind : 15) << 4);
	if (n != 0) {
		memcpy(&value, bytes->bytes, n);
		head.info |= (uint8_t)(2 | (n == 8   ? 3
					    : n == 4 ? 2
						     : n - 1)
					       << 2);
	}
	put(to, &head, sizeof head);
	put_position(to, order);
	if (!same) {
		*last = (struct wire_locked){
		    .line = (uint32_t)order->order.line,
		    .index = n == 0 ? 0 : (uint32_t)bytes->index};
		put_varint(to, last->line);
		if (n != 0)
			put_number(to, last->index, 4);
	}
	put_varint(to, order->order.ticket - last->ticket);
	last->ticket = order->order.ticket;
	if (behind >= 15)
		put_varint(to, behind);
	put_varint(to, order->order.ticks);
	if (n != 0) {
		put_zigzag(
		    to, (uint64_t)((int64_t)((value - last->value) << more) >>
				   more));
		last->value = value;
	}
	finish(to, begin, order);
}

void record_encode(struct record_encoder *to, const struct record_event *e)
{
	struct wire_rec head = {.type = (uint8_t)e->type, .info = e->info};
	size_t begin = to->n;

	put(to, &head, sizeof head);
	if (e->type >= WIRE_REC_PROCESS) {
		put_of_process(to, e);
	} else if (e->type <= WIRE_REC_KEY) {
		put_absolute(to, e);
	} else {
		put_position(to, e);
		put_of_thread(to, e);
	}
	finish(to, begin, e);
}

void record_encoder_fini(struct record_encoder *to)
{
	free(to->at);
	*to = (struct record_encoder){0};
}
