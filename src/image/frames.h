/* image/frames.h - which call-frame rules does a module have?
 *
 * They are made from .eh_frame and, where that has a gap, from .debug_frame
 * of the file or of its separate debug file. The table is built at the first
 * question and belongs to the file; frame_rows.h says how to use it, and its
 * bytes may be kept on disk under the build-id it carries. */
#ifndef IMAGE_FRAMES_H
#define IMAGE_FRAMES_H

#include "image/frame_rows.h"

struct image_file;

/* HARK_ENOENT if there are no rules at all. */
int frames_of(struct image_file *f, const struct frame_table **out,
	      struct hark_err *err);

struct frames_stats {
	size_t fdes;	/* pieces of code that have rules */
	size_t outside; /* not in executable segments: left out */
	size_t broken;	/* not understood: their rows are FRAME_NONE */
	size_t dropped; /* rows without a rule, since 65535 are taken */
};

/* Of a table that frames_of has built. */
struct frames_stats frames_stats(const struct image_file *f);

#endif
