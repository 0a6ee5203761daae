/* image/unpack_priv.h - undo the compressions that ELF files use. */
#ifndef IMAGE_UNPACK_PRIV_H
#define IMAGE_UNPACK_PRIV_H

#include "base/err.h"
#include "base/heap.h"

#include <stddef.h>
#include <stdint.h>

enum unpack_kind { UNPACK_ZLIB, UNPACK_ZSTD };

/* in must give exactly out_len bytes. A claim that no compressor could have
 * made (beyond 1032:1 for zlib) is refused before memory is taken. The
 * buffer comes from heap and is the caller's. */
int unpack_section(enum unpack_kind kind, const uint8_t *in, size_t in_len,
		   const struct heap *heap, uint64_t out_len, uint8_t **out,
		   struct hark_err *err);

/* An .xz stream of unknown length, as in .gnu_debugdata. */
int unpack_xz(const uint8_t *in, size_t in_len, const struct heap *heap,
	      uint8_t **out, size_t *out_len, struct hark_err *err);

#endif
