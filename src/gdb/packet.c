/* gdb/packet.c - packets, byte by byte. */
#include "gdb/packet.h"

#include "base/fmt.h"
#include "gdb/words.h"

#include <string.h>

/* -- Arriving -- */

void packet_reader_init(struct packet_reader *r)
{
	r->state = PACKET_BETWEEN;
	r->is_long = r->no_sums = 0;
	r->len = 0;
	r->body[0] = '\0';
}

static enum packet_event begin(struct packet_reader *r, uint8_t byte)
{
	if (byte == PACKET_INTERRUPT)
		return PACKET_BREAK;
	if (byte == '-')
		return PACKET_AGAIN;
	if (byte != '$')
		return PACKET_NONE;
	r->state = PACKET_WITHIN;
	r->sum = 0;
	r->is_long = 0;
	r->len = 0;
	return PACKET_NONE;
}

static void add(struct packet_reader *r, uint8_t byte)
{
	if (r->len < PACKET_MAX)
		r->body[r->len++] = (char)byte;
	else
		r->is_long = 1;
	r->state = PACKET_WITHIN;
}

static enum packet_event within(struct packet_reader *r, uint8_t byte)
{
	if (byte == '$') /* the end of the last one was lost */
		return begin(r, byte);
	if (byte == '#') {
		r->state = PACKET_SUM_HIGH;
		return PACKET_NONE;
	}
	r->sum = (uint8_t)(r->sum + byte);
	if (byte == '}')
		r->state = PACKET_ESCAPED;
	else
		add(r, byte);
	return PACKET_NONE;
}

static enum packet_event finish(struct packet_reader *r, uint8_t low)
{
	int high_digit = words_digit((char)r->high);
	int low_digit = words_digit((char)low);

	r->state = PACKET_BETWEEN;
	r->body[r->len] = '\0';
	if (r->is_long || high_digit < 0 || low_digit < 0)
		return PACKET_BAD;
	if (!r->no_sums && (high_digit << 4 | low_digit) != r->sum)
		return PACKET_BAD;
	return PACKET_BODY;
}

enum packet_event packet_take(struct packet_reader *r, uint8_t byte)
{
	switch (r->state) {
	case PACKET_BETWEEN:
		return begin(r, byte);
	case PACKET_WITHIN:
		return within(r, byte);
	case PACKET_ESCAPED:
		r->sum = (uint8_t)(r->sum + byte);
		add(r, byte ^ 0x20);
		return PACKET_NONE;
	case PACKET_SUM_HIGH:
		r->high = byte;
		r->state = PACKET_SUM_LOW;
		return PACKET_NONE;
	case PACKET_SUM_LOW:
		break;
	}
	return finish(r, byte);
}

/* -- Leaving -- */

void packet_clear(struct packet *p)
{
	p->is_full = 0;
	p->len = 0;
	p->body[0] = '\0';
}

void packet_vtext(struct packet *p, const char *format, va_list args)
{
	size_t room = sizeof p->body - p->len;
	size_t len = fmt_vtext(p->body + p->len, room, format, args);

	if (len < room) {
		p->len += len;
		return;
	}
	p->body[p->len] = '\0';
	p->is_full = 1;
}

void packet_text(struct packet *p, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	packet_vtext(p, format, args);
	va_end(args);
}

void packet_hex(struct packet *p, const void *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *b = bytes;

	if (len > (PACKET_MAX - p->len) / 2) {
		p->is_full = 1;
		return;
	}
	for (size_t i = 0; i < len; i++) {
		p->body[p->len++] = digits[b[i] >> 4];
		p->body[p->len++] = digits[b[i] & 15];
	}
	p->body[p->len] = '\0';
}

size_t packet_binary(struct packet *p, const void *bytes, size_t len)
{
	const uint8_t *b = bytes;
	size_t i;

	for (i = 0; i < len && p->len + 2 <= PACKET_MAX; i++) {
		uint8_t byte = b[i];

		if (byte == '$' || byte == '#' || byte == '}' || byte == '*') {
			p->body[p->len++] = '}';
			byte ^= 0x20;
		}
		p->body[p->len++] = (char)byte;
	}
	p->body[p->len] = '\0';
	return i;
}

size_t packet_frame(const struct packet *p, char *out)
{
	uint8_t sum = 0;

	out[0] = '$';
	memcpy(out + 1, p->body, p->len);
	for (size_t i = 0; i < p->len; i++)
		sum = (uint8_t)(sum + (uint8_t)p->body[i]);
	out[p->len + 1] = '#';
	out[p->len + 2] = "0123456789abcdef"[sum >> 4];
	out[p->len + 3] = "0123456789abcdef"[sum & 15];
	return p->len + 4;
}
