/* image/unpack.c - undo the compressions that ELF files use. */
#include "image/unpack_priv.h"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

enum {
	ZLIB_RATIO = 1032,	       /* the most that deflate can reach */
	ZSTD_RATIO = 4096,	       /* far beyond any debug section */
	XZ_MAX = 128 * 1024 * 1024,    /* unpacked mini debug info */
	XZ_MEMORY = 128 * 1024 * 1024, /* for the decoder's window */
};

static int inflate_all(const uint8_t *in, size_t in_len, uint8_t *out,
		       size_t out_len)
{
	z_stream z = {0};
	int rc = Z_OK;

	if (inflateInit(&z) != Z_OK)
		return -1;
	/* zlib counts in 32 bits, sections need not. */
	while (rc == Z_OK && (z.total_in < in_len || z.total_out < out_len)) {
		size_t in_left = in_len - z.total_in;
		size_t out_left = out_len - z.total_out;
		uint64_t before = z.total_in + z.total_out;

		z.next_in = (Bytef *)in + z.total_in;
		z.avail_in = (uInt)(in_left < 1u << 30 ? in_left : 1u << 30);
		z.next_out = out + z.total_out;
		z.avail_out = (uInt)(out_left < 1u << 30 ? out_left : 1u << 30);
		rc = inflate(&z, Z_NO_FLUSH);
		if (before == z.total_in + z.total_out)
			break;
	}
	inflateEnd(&z);
	return rc == Z_STREAM_END && z.total_out == out_len ? 0 : -1;
}

int unpack_section(enum unpack_kind kind, const uint8_t *in, size_t in_len,
		   const struct heap *heap, uint64_t out_len, uint8_t **out,
		   struct hark_err *err)
{
	uint64_t ratio = kind == UNPACK_ZLIB ? ZLIB_RATIO : ZSTD_RATIO;
	uint8_t *buffer;
	int ok;

	if (out_len == 0 || out_len / ratio > in_len)
		return err_set(err, HARK_EINPUT, 0,
			       "%zu bytes cannot unpack to %lu", in_len,
			       (unsigned long)out_len);
	buffer = heap_take(heap, (size_t)out_len);
	if (buffer == NULL)
		return err_set(err, HARK_ENOMEM, 0,
			       "no memory to unpack %lu bytes",
			       (unsigned long)out_len);
	ok = kind == UNPACK_ZLIB
		 ? inflate_all(in, in_len, buffer, (size_t)out_len) == 0
		 : ZSTD_decompress(buffer, (size_t)out_len, in, in_len) ==
		       out_len;
	if (!ok) {
		heap_give(heap, buffer, (size_t)out_len);
		return err_set(err, HARK_EINPUT, 0,
			       "a compressed section is damaged");
	}
	*out = buffer;
	return 0;
}

/* Runs the decoder to its end, doubling the buffer as it fills. */
static int unxz(lzma_stream *z, const struct heap *heap, uint8_t **buffer,
		size_t *room, struct hark_err *err)
{
	for (;;) {
		size_t have = (size_t)z->total_out, want = have * 2 + 65536;
		uint8_t *grown;
		lzma_ret rc;

		if (want > XZ_MAX)
			return err_set(err, HARK_EINPUT, 0,
				       "mini debug info unpacks to too much");
		grown = heap->resize(heap->ctx, *buffer, *room, want);
		if (grown == NULL)
			return err_set(err, HARK_ENOMEM, 0,
				       "no memory for mini debug info");
		*buffer = grown;
		*room = want;
		z->next_out = grown + have;
		z->avail_out = want - have;
		rc = lzma_code(z, LZMA_FINISH);
		if (rc == LZMA_STREAM_END)
			return 0;
		if (rc == LZMA_MEM_ERROR)
			return err_set(err, HARK_ENOMEM, 0,
				       "no memory for mini debug info");
		if (rc != LZMA_OK || z->avail_out > 0)
			return err_set(err, HARK_EINPUT, 0,
				       "mini debug info is damaged");
	}
}

int unpack_xz(const uint8_t *in, size_t in_len, const struct heap *heap,
	      uint8_t **out, size_t *out_len, struct hark_err *err)
{
	lzma_stream z = LZMA_STREAM_INIT;
	uint8_t *buffer = NULL, *fit;
	size_t room = 0;
	int rc;

	if (lzma_stream_decoder(&z, XZ_MEMORY, 0) != LZMA_OK)
		return err_set(err, HARK_ENOMEM, 0,
			       "no memory to unpack mini debug info");
	z.next_in = in;
	z.avail_in = in_len;
	rc = unxz(&z, heap, &buffer, &room, err);
	if (rc == 0 && z.total_out == 0)
		rc = err_set(err, HARK_EINPUT, 0, "mini debug info is empty");
	if (rc == 0) {
		fit =
		    heap->resize(heap->ctx, buffer, room, (size_t)z.total_out);
		if (fit == NULL)
			rc = err_set(err, HARK_ENOMEM, 0,
				     "no memory for mini debug info");
		else
			buffer = fit;
	}
	if (rc == 0) {
		*out = buffer;
		*out_len = (size_t)z.total_out;
	} else {
		heap_give(heap, buffer, room);
	}
	lzma_end(&z);
	return rc;
}
