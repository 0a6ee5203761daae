/* travel/index_blocks.c - compressed pieces of an index.
 *
 * Nothing of a block is believed: it may come from a file. */
#include "travel/index_priv.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

int index_make_room(struct index_bytes *to, size_t more)
{
	size_t room = to->room < 256 ? 256 : to->room;
	uint8_t *bytes;

	while (room < to->len + more)
		room += room / 2;
	if (room == to->room)
		return 0;
	bytes = realloc(to->bytes, room);
	if (bytes == NULL)
		return -1;
	to->bytes = bytes;
	to->room = room;
	return 0;
}

int index_add_bytes(struct index_bytes *to, const void *from, size_t len)
{
	if (index_make_room(to, len) < 0)
		return -1;
	if (len > 0)
		memcpy(to->bytes + to->len, from, len);
	to->len += len;
	return 0;
}

int index_put_block(struct index_bytes *blob, const struct index_bytes *raw,
		    int level, struct index_block *out)
{
	size_t room = ZSTD_compressBound(raw->len), n;

	*out = (struct index_block){.offset = blob->len};
	if (raw->len == 0)
		return 0;
	if (raw->len > INDEX_BLOCK_MAX || index_make_room(blob, room) < 0)
		return -1;
	n = ZSTD_compress(blob->bytes + blob->len, room, raw->bytes, raw->len,
			  level);
	if (ZSTD_isError(n))
		return -1;
	out->raw_len = (uint32_t)raw->len;
	out->stored_len = (uint32_t)n;
	out->checksum = XXH64(blob->bytes + blob->len, n, 0);
	blob->len += n;
	return 0;
}

int index_unpack_to(struct index *x, unsigned segment,
		    const struct index_block *b, uint8_t *to)
{
	const struct index_entry *e = &x->entries[segment];

	if (b->offset > e->blob_len || b->stored_len > e->blob_len - b->offset)
		return -1;
	if (x->unpacker == NULL)
		x->unpacker = ZSTD_createDCtx();
	x->stored.len = 0;
	return x->unpacker == NULL ||
		       index_make_room(&x->stored, b->stored_len) < 0 ||
		       index_source_read(&x->source, e->offset + b->offset,
					 x->stored.bytes, b->stored_len) < 0 ||
		       XXH64(x->stored.bytes, b->stored_len, 0) !=
			   b->checksum ||
		       ZSTD_decompressDCtx(x->unpacker, to, b->raw_len,
					   x->stored.bytes,
					   b->stored_len) != b->raw_len
		   ? -1
		   : 0;
}

const uint8_t *index_unpack(struct index *x, unsigned segment,
			    const struct index_block *b)
{
	if (b->raw_len > INDEX_BLOCK_MAX)
		return NULL;
	x->raw.len = 0;
	if (index_make_room(&x->raw, b->raw_len) < 0 ||
	    index_unpack_to(x, segment, b, x->raw.bytes) < 0)
		return NULL;
	return x->raw.bytes;
}
