/* present/proto.c - a protobuf encoder, and gzip behind it. */
#include "present/proto_priv.h"

#include "present/text.h"

#include <stdlib.h>
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

void proto_fini(struct proto *p)
{
	free(p->at);
	*p = (struct proto){0};
}

void proto_clear(struct proto *p)
{
	p->n = 0;
	p->is_lame = false;
}

static bool has_room(struct proto *p, size_t more)
{
	size_t room = p->room * 2 < 256 ? 256 : p->room * 2;
	uint8_t *grown;

	if (p->is_lame)
		return false;
	if (more <= p->room - p->n)
		return true;
	room = room < p->n + more ? p->n + more : room;
	grown = realloc(p->at, room);
	if (grown == NULL) {
		p->is_lame = true;
		return false;
	}
	p->at = grown;
	p->room = room;
	return true;
}

void proto_varint(struct proto *p, uint64_t value)
{
	if (!has_room(p, 10))
		return;
	for (; value >= 0x80; value >>= 7)
		p->at[p->n++] = (uint8_t)(value | 0x80);
	p->at[p->n++] = (uint8_t)value;
}

void proto_number(struct proto *p, unsigned field, uint64_t value)
{
	proto_varint(p, field << 3 | WIRE_VARINT);
	proto_varint(p, value);
}

static void put_bytes(struct proto *p, const void *bytes, size_t n)
{
	if (n == 0 || !has_room(p, n))
		return;
	memcpy(p->at + p->n, bytes, n);
	p->n += n;
}

/* How long it is as UTF-8; with a message, it goes there, too. */
static size_t put_utf8(struct proto *p, const char *text)
{
	size_t len = strlen(text), at, n, all = 0;
	uint32_t c;

	for (at = 0; at < len; at += n) {
		n = text_decode(text + at, len - at, &c);
		all += c == TEXT_BAD ? 3 : n;
		if (p != NULL)
			put_bytes(p, c == TEXT_BAD ? "\xef\xbf\xbd" : text + at,
				  c == TEXT_BAD ? 3 : n);
	}
	return all;
}

void proto_text(struct proto *p, unsigned field, const char *text,
		const char *more)
{
	proto_varint(p, field << 3 | WIRE_BYTES);
	proto_varint(p, put_utf8(NULL, text) + strlen(more));
	put_utf8(p, text);
	put_bytes(p, more, strlen(more));
}

void proto_message(struct proto *p, unsigned field, const struct proto *inner)
{
	p->is_lame |= inner->is_lame;
	proto_varint(p, field << 3 | WIRE_BYTES);
	proto_varint(p, inner->n);
	put_bytes(p, inner->at, inner->n);
}

/* -- Out --------------------------------------------------------------------
 */

static int no_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, 0, "no memory to write the profile");
}

int proto_sink_init(struct proto_sink *k, FILE *out, bool is_gzip,
		    struct hark_err *err)
{
	k->out = out;
	k->is_gzip = false;
	k->z = (z_stream){0};
	if (is_gzip && deflateInit2(&k->z, 6, Z_DEFLATED, 15 + 16, 8,
				    Z_DEFAULT_STRATEGY) != Z_OK)
		return no_memory(err);
	k->is_gzip = is_gzip;
	return 0;
}

void proto_sink_fini(struct proto_sink *k)
{
	if (k->is_gzip)
		deflateEnd(&k->z);
	k->is_gzip = false;
}

static int squeeze(struct proto_sink *k, uint8_t *bytes, size_t n, int flush,
		   struct hark_err *err)
{
	int rc;

	k->z.next_in = bytes;
	k->z.avail_in = (uInt)n;
	do {
		k->z.next_out = k->packed;
		k->z.avail_out = sizeof k->packed;
		rc = deflate(&k->z, flush);
		if (rc == Z_STREAM_ERROR)
			return err_set(err, HARK_EBUG, 0, "deflate failed");
		fwrite(k->packed, 1, sizeof k->packed - k->z.avail_out, k->out);
	} while (k->z.avail_out == 0);
	return 0;
}

static int put_out(struct proto_sink *k, uint8_t *bytes, size_t n,
		   struct hark_err *err)
{
	enum { PIECE = 1 << 30 }; /* zlib counts in 32 bits */

	if (!k->is_gzip) {
		fwrite(bytes, 1, n, k->out);
		return 0;
	}
	for (; n > PIECE; bytes += PIECE, n -= PIECE)
		if (squeeze(k, bytes, PIECE, Z_NO_FLUSH, err) < 0)
			return -1;
	return squeeze(k, bytes, n, Z_NO_FLUSH, err);
}

int proto_sink_end(struct proto_sink *k, struct hark_err *err)
{
	return k->is_gzip ? squeeze(k, NULL, 0, Z_FINISH, err) : 0;
}

int proto_send_plain(struct proto_sink *k, struct proto *p,
		     struct hark_err *err)
{
	int rc;

	if (p->is_lame)
		return no_memory(err);
	rc = put_out(k, p->at, p->n, err);
	proto_clear(p);
	return rc;
}

int proto_send(struct proto_sink *k, unsigned field, struct proto *p,
	       struct hark_err *err)
{
	uint8_t bytes[20];
	struct proto head = {.at = bytes, .room = sizeof bytes};

	if (p->is_lame)
		return no_memory(err);
	proto_varint(&head, field << 3 | WIRE_BYTES);
	proto_varint(&head, p->n);
	return proto_send_plain(k, &head, err) < 0
		   ? -1
		   : proto_send_plain(k, p, err);
}
