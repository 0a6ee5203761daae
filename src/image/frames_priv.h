/* image/frames_priv.h - tables of call-frame rules, for this folder. */
#ifndef IMAGE_FRAMES_PRIV_H
#define IMAGE_FRAMES_PRIV_H

#include "base/vec.h"
#include "image/cfi_priv.h"
#include "image/elf_priv.h"
#include "image/frames.h"
#include "image/linkage_priv.h"

struct frames_list {
	VEC(struct cfi_fde);
};

enum { FRAMES_SECTIONS = 2, FRAMES_PIECES = LINKAGE_TABLES * LINKAGE_PIECES };

/* What the rules of a file are made from. */
struct frames_input {
	struct cfi
	    section[FRAMES_SECTIONS]; /* [0] is .eh_frame; at NULL: none */
	struct linkage_piece piece[FRAMES_PIECES]; /* ascending */
	unsigned n_pieces;
	const struct elf *elf;	 /* borrowed: says what is code */
	const struct heap *heap; /* borrowed */
};

/* Finds the sections; debug may be NULL. HARK_ENOENT if there are none. */
int frames_find(struct elf *e, struct elf *debug, struct frames_input *out,
		struct hark_err *err);
/* A hash of all that the table of a file is made from; -1: it cannot be told
 * (no section headers, or something cannot be read). */
int frames_source(struct elf *e, uint64_t *out);
/* All FDEs in executable segments, by address, none overlapping its
 * predecessor's start; the caller frees the list with in->heap. */
int frames_collect(const struct frames_input *in, struct frames_list *out,
		   struct frames_stats *stats, struct hark_err *err);
/* The table is *len bytes from in->heap. */
int frames_build(const struct frames_input *in, const uint8_t *id,
		 size_t id_len, struct frame_table **out,
		 struct frames_stats *stats, struct hark_err *err);

#endif
