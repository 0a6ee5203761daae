/* travel/index_priv.h - what an index is made of. Private to it.
 *
 * A segment's part of an index is a blob: blocks, each compressed by itself, so
 * that a question reads the few that it needs; the last is their directory.
 *
 *	directory	struct index_head; the count of each section's begin;
 *			clusters, ascending; their parts; pages of code,
 *			ascending
 *	states		registers at the begin of each section but the first
 *	presence	which sections touched each cluster: a bit each
 *
 * A cluster is 128 KiB of the shadow's index, 2048 lines of 64 bytes. Its
 * sections are divided into parts:
 *
 *	image		of each part but the first: what the shadow held at the
 *			begin of the part's first section; whole pages
 *	touches		which bytes each section read and wrote
 *	values		what each section left in the bytes that it changed
 *	summary		of a cluster with several parts: the touches of each
 *			part, as if it were a section
 *
 * A part ends when its values are as long as an image. So to know what a
 * cluster held takes one image and half as much of values in the mean, however
 * long the segment is, and all images together are not larger than all values.
 */
#ifndef TRAVEL_INDEX_PRIV_H
#define TRAVEL_INDEX_PRIV_H

#include "travel/index.h"

#include "wire/record.h"

#include <stdbool.h>

enum {
	INDEX_PAGE = 4096,
	INDEX_WORD = 8,
	INDEX_BITS = INDEX_PAGE / INDEX_WORD / 8, /* bytes of a page's bits */
	INDEX_CALLS = 512, /* larger numbers are folded */
	INDEX_PAGES = 1 << 20,
	INDEX_FS_REACH = 1 << 16, /* how far from its base fs is used */
	INDEX_LINE = 64,
	INDEX_PAGE_LINES = INDEX_PAGE / INDEX_LINE,
	INDEX_CLUSTER_PAGES = 32,
	INDEX_CLUSTER_LINES = INDEX_CLUSTER_PAGES * INDEX_PAGE_LINES,
	INDEX_CLUSTER = INDEX_CLUSTER_PAGES * INDEX_PAGE,
	INDEX_CLUSTERS = INDEX_PAGES / INDEX_CLUSTER_PAGES,
	INDEX_SECTIONS_MAX = 1 << 15,
	INDEX_BLOCK_MAX = 256 << 20, /* a block that is not compressed */
};

enum index_flag {
	INDEX_KNOWS_CODE = 1,
	/* Sections can be begun at, and what they left in memory is known. */
	INDEX_HAS_VALUES = 2,
	/* Some instruction touched what was not noted: it may be anything. */
	INDEX_IS_BLIND = 4,
};

struct index_block {
	uint64_t offset; /* in the blob */
	uint32_t stored_len, raw_len;
	uint64_t checksum; /* XXH64 of what is stored */
};

struct index_head {
	uint64_t fs[2]; /* bases of fs: at its beginning, and end */
	uint32_t n_sections, n_clusters, n_parts, n_code;
	uint32_t flags, pad;		/* INDEX_KNOWS_CODE... */
	uint64_t signals;		/* with handlers: bit 0 is number 1 */
	uint8_t calls[INDEX_CALLS / 8]; /* a bit for each number */
	struct index_block states;	/* raw_len 0: none */
	struct index_block presence;	/* likewise */
};

struct index_cluster {
	uint32_t number;
	uint32_t pages;		      /* that are touched: a bit for each */
	uint32_t first_part, n_parts; /* of those in the directory */
	struct index_block summary;
};

struct index_part {
	uint32_t first; /* section */
	uint32_t pages; /* of the image: a bit for each */
	struct index_block image, touches, values;
};

/* Of code: a bit for each word that was executed. */
struct index_page {
	uint32_t number, pad;
	uint8_t bits[INDEX_BITS];
};

struct index_entry {
	uint64_t offset;	      /* of the blob, in the source */
	uint64_t blob_len;	      /* 0: nothing is known of the segment */
	uint32_t stored_len, raw_len; /* of the directory */
	uint64_t checksum;
	uint8_t *raw; /* owned: the directory; NULL: not read yet */
};

/* Growing bytes. */
struct index_bytes {
	uint8_t *bytes; /* owned */
	size_t len, room;
};

/* Where blobs are: in memory, or in a file. */
struct index_source {
	uint8_t *bytes; /* owned: of mmap; NULL: in the file */
	size_t len;
	int fd; /* borrowed */
};

/* What was known of a cluster, and what was in it. */
struct index_view {
	uint64_t known[INDEX_CLUSTER_LINES]; /* a bit for each byte */
	uint8_t bytes[INDEX_CLUSTER];
};

/* A block that was read lately. */
enum { INDEX_KEPT = 64 };
struct index_kept {
	unsigned segment;
	uint64_t offset; /* of the block */
	uint8_t *raw;	 /* owned; NULL: none */
	uint32_t len;
	uint64_t used;
};

struct index {
	unsigned n;
	struct index_entry *entries; /* owned */
	struct index_source source;
	size_t raw_memory; /* of directories */
	struct index_kept kept[INDEX_KEPT];
	size_t kept_memory;
	uint64_t clock;
	struct index_bytes stored, raw; /* index_unpack */
	struct ZSTD_DCtx_s *unpacker;	/* owned; NULL until it is needed */
	/* index_known.c; owned: */
	struct index_view *view; /* of one segment */
	struct index_view *sum;	 /* of all that are asked */
};

/* -- index_blocks.c -- */

/* Room for so many more. -1: no memory. */
int index_make_room(struct index_bytes *to, size_t more);
int index_add_bytes(struct index_bytes *to, const void *from, size_t len);
/* Compressed, at the end of the blob. Nothing: a block of no length. -1: no
 * memory, or it is too long. */
enum { INDEX_LEVEL = 1, INDEX_LEVEL_IMAGE = -3 };
int index_put_block(struct index_bytes *blob, const struct index_bytes *raw,
		    int level, struct index_block *out);
/* The same of a segment, decompressed: good until the next one. NULL: it is
 * damaged, or there is no memory. */
const uint8_t *index_unpack(struct index *x, unsigned segment,
			    const struct index_block *b);
/* To where there is room for b->raw_len bytes. -1: as above; the bytes there
 * are undefined then. */
int index_unpack_to(struct index *x, unsigned segment,
		    const struct index_block *b, uint8_t *to);

/* -- index.c -- */

/* Nothing is known any more, and blobs are in this source from now on. It takes
 * its memory. */
void index_take_source(struct index *x, const struct index_source *source);
/* Its blob is in the source. -1: it makes no sense. */
int index_put(struct index *x, unsigned segment, const struct index_entry *e);
/* Bytes of the source. -1: they are not there. */
int index_source_read(const struct index_source *s, uint64_t offset, void *to,
		      size_t len);
/* The directory of a segment; NULL: nothing is known, or it is damaged. */
const struct index_head *index_head_of(struct index *x, unsigned segment);
/* The decompressed block, which is kept for a while: good until the next is
 * asked for. NULL: it is damaged, or there is no memory. */
const uint8_t *index_block_of(struct index *x, unsigned segment,
			      const struct index_block *b);
/* NULL: nothing touched it. */
const struct index_cluster *index_find_cluster(const struct index_head *h,
					       uint32_t number);
/* Which of a cluster's parts has a section. */
unsigned index_part_of(const struct index_head *h,
		       const struct index_cluster *c, unsigned section);

static inline const uint64_t *index_counts(const struct index_head *h)
{
	return (const uint64_t *)(h + 1);
}

static inline const struct index_cluster *
index_clusters(const struct index_head *h)
{
	return (const struct index_cluster *)(index_counts(h) + h->n_sections);
}

static inline const struct index_part *index_parts(const struct index_head *h)
{
	return (const struct index_part *)(index_clusters(h) + h->n_clusters);
}

static inline const struct index_page *index_code(const struct index_head *h)
{
	return (const struct index_page *)(index_parts(h) + h->n_parts);
}

/* Bytes of one cluster's row in the block of presence. */
static inline size_t index_presence_len(uint32_t n_sections)
{
	return (n_sections + 7) / 8;
}

static inline size_t index_directory_len(const struct index_head *h)
{
	return sizeof *h + h->n_sections * sizeof(uint64_t) +
	       h->n_clusters * sizeof(struct index_cluster) +
	       h->n_parts * sizeof(struct index_part) +
	       h->n_code * sizeof(struct index_page);
}

/* -- index_sections.c -- */

/* What the sections before `end` have left in a cluster, into memory that is
 * zero, as the key frame left the shadow. -1: damaged. */
int index_put_cluster(struct index *x, unsigned segment,
		      const struct index_head *h, const struct index_cluster *c,
		      unsigned end, uint8_t *to);

/* -- index_lines.c: what a block of a cluster says, section by section -- */

/* A line that a section has touched. Bit i of a mask is byte i, but for `read`:
 * word i. What was known before in the segment is not learnt again. */
struct index_line {
	uint16_t line; /* of the cluster */
	uint8_t read;
	bool has_forgotten; /* `learnt` is all that is known of what it touched;
			     * else what was written is, too */
	uint64_t written;
	uint64_t learnt;
};

/* What they add is at the end. -1: no memory. */
int index_add_touches(struct index_bytes *to, unsigned section,
		      const struct index_line *lines, unsigned n);
/* All sections of a block as one, which has this number. */
int index_merge_touches(const struct index_bytes *from, unsigned section,
			struct index_bytes *to);
/* Values: `shadow` is at the cluster's first byte; of line i the bytes of
 * masks[i] are taken. */
int index_add_values(struct index_bytes *to, unsigned section,
		     const uint16_t *lines, const uint64_t *masks, unsigned n,
		     const uint8_t *shadow);

/* One section's part of a block of touches: its lines ascend. */
struct index_touches {
	unsigned section, n;
	struct index_line lines[INDEX_CLUSTER_LINES];
};
/* *at goes on. 1; 0: there are no more; -1: damaged. */
int index_next_touches(const uint8_t **at, const uint8_t *end,
		       struct index_touches *out);

/* The same of values; what it points to is in the block. */
struct index_values {
	unsigned section, n;
	const uint8_t *lines; /* n of 2 bytes */
	const uint8_t *masks; /* n of 8 bytes */
	const uint8_t *bytes;
};
int index_next_values(const uint8_t **at, const uint8_t *end,
		      struct index_values *out);
/* Those of all sections before `end_section` into memory, which is the
 * cluster's. -1: damaged. */
int index_put_values(const uint8_t *block, size_t len, unsigned end_section,
		     uint8_t *to);
/* Of one line, what a section came to know of it and did not forget. */
static inline uint64_t index_known_by(const struct index_line *l)
{
	return l->learnt | (l->has_forgotten ? 0 : l->written);
}
/* Of words, a bit for each byte. */
static inline uint64_t index_bytes_of(uint8_t words)
{
	uint64_t mask = 0;

	for (unsigned i = 0; i < INDEX_LINE / INDEX_WORD; i++)
		if (words >> i & 1)
			mask |= 0xffull << i * INDEX_WORD;
	return mask;
}

#endif
