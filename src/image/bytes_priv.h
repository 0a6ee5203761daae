/* image/bytes_priv.h - contents that are read when they are needed.
 *
 * A debug file may have a gigabyte of which one question touches a page; a
 * mapping would be as lazy, but a file that shrinks under a mapping kills
 * the reader (SIGBUS). So: address space for the whole, a bit for each piece,
 * and one gate that reads missing pieces with pread before anyone looks.
 * Pointers that the gate gave stay valid as long as the bytes live. */
#ifndef IMAGE_BYTES_PRIV_H
#define IMAGE_BYTES_PRIV_H

#include "base/err.h"
#include "base/heap.h"

#include <stddef.h>
#include <stdint.h>

/* Where contents come from: a file, a block of memory, another process. */
struct bytes_source {
	/* Exactly len bytes at offset, or an error. */
	int (*read)(void *ctx, uint64_t offset, void *out, size_t len,
		    struct hark_err *err);
	void *ctx;	       /* borrowed */
	const uint8_t *memory; /* borrowed: already there, read is not used */
	uint64_t len;
};

struct bytes {
	const struct heap *heap; /* borrowed */
	struct bytes_source src;
	uint64_t offset; /* in the source */
	size_t len;
	const uint8_t *view; /* borrowed: the source's memory, or buffer */
	uint8_t *buffer;     /* owned; NULL until the first question */
	uint64_t *have;	     /* owned: a bit a piece; NULL: all are there */
};

/* A window [offset, offset + len) of src; fails if src is shorter. Nothing
 * is read yet. */
int bytes_init(struct bytes *b, const struct heap *heap,
	       const struct bytes_source *src, uint64_t offset, uint64_t len,
	       struct hark_err *err);
/* Takes over a buffer of len bytes that came from heap. */
void bytes_init_owned(struct bytes *b, const struct heap *heap, uint8_t *buffer,
		      size_t len);
void bytes_fini(struct bytes *b);

/* The gate: [offset, offset + len) inside the bytes, there to be read, or
 * NULL with err filled. */
const uint8_t *bytes_need(struct bytes *b, uint64_t offset, uint64_t len,
			  struct hark_err *err);
/* The string at offset, if its NUL is among the next max bytes; or NULL. */
const char *bytes_text(struct bytes *b, uint64_t offset, uint64_t max,
		       struct hark_err *err);

#endif
