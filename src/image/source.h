/* image/source.h - the text of a source line.
 *
 * From the file on disk, made safe for a terminal: control characters, bytes
 * that are no UTF-8, and characters that reorder text are shown as \xNN or
 * \uNNNN; tabs stay. If the file is not where it was compiled, each directory
 * of $HARK_SOURCE_PATH is tried with as many of the path's last components
 * as lead to a file.
 *
 * Threads: one `sources` belongs to one thread at a time. */
#ifndef IMAGE_SOURCE_H
#define IMAGE_SOURCE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sources;

int sources_new(struct sources **out, struct hark_err *err);
void sources_free(struct sources *s);

struct source_line {
	const char *text; /* without its newline; until the next question */
	const char *path; /* of the file it is from; as long */
	bool newer;	  /* that file is newer than the program */
};

/* Lines count from 1. built_ns is when the program was written
 * (image_file_mtime_ns), or 0. HARK_ENOENT if the file is not found or has no
 * such line. */
int sources_line(struct sources *s, const char *path, uint32_t line,
		 int64_t built_ns, struct source_line *out,
		 struct hark_err *err);

#endif
