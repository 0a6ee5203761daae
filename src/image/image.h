/* image/image.h - the store of what hark knows about ELF files.
 *
 * An image_file is one program, library or vdso: its symbols (symbols.h),
 * lines (lines.h) and call-frame rules (frames.h) are asked of it, by link-
 * time addresses. Opening one reads its headers; everything else is read at
 * the first question that needs it, and kept. The same file opened twice (by
 * build-id, else by inode) is one image_file. Which files a process has, and
 * where, is what modules.h says.
 *
 * Debug information may be apart from the program. It is looked for, in this
 * order, in the file itself, under the build-id in each directory of
 * $HARK_DEBUG_PATH and in /usr/lib/debug, by the debug link beside the file
 * and under those directories (with its check sum compared), and, only if
 * the user has set DEBUGINFOD_URLS, through debuginfod.
 *
 * Files are not trusted: a damaged or hostile one gives errors, and costs
 * memory and time in proportion to its size.
 *
 * Threads: one image and everything reached from it belong to one thread at
 * a time. Pointers handed out live until image_free. */
#ifndef IMAGE_IMAGE_H
#define IMAGE_IMAGE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image;
struct image_file;
struct reach;

int image_new(struct image **out, struct hark_err *err);
void image_free(struct image *im);
/* What went wrong on the way to debuginfod, in a line; NULL: nothing, or it was
 * not asked. */
const char *image_trouble(const struct image *im);

/* From now on what takes long to find out is kept on disk (keep.h). */
void image_use_cache(struct image *im);

int image_open(struct image *im, const char *path, struct image_file **out,
	       struct hark_err *err);
/* What a process can open, for the names in its files; NULL is hark itself. If
 * the process is gone: what it could when this was last asked. It lives until
 * image_free. */
int image_reach(struct image *im, int pid, const struct reach **out,
		struct hark_err *err);
/* A file that a process has mapped: fd is taken over, also on failure, and
 * stays open. Files that it names are opened as the process could. */
int image_open_mapped(struct image *im, const char *path, int fd,
		      const struct reach *opens, struct image_file **out,
		      struct hark_err *err);
/* A file whose bytes are at hand, and must stay until image_free. name is
 * what messages call it, and where a debug link starts from. */
int image_open_memory(struct image *im, const char *name, const void *bytes,
		      size_t len, struct image_file **out,
		      struct hark_err *err);

/* A path, or the name given; and when the file was written, in ns since
 * 1970 (0: not known). */
const char *image_file_path(const struct image_file *f);
int64_t image_file_mtime_ns(const struct image_file *f);
/* Its build-id; *len is 0 if it has none. */
const uint8_t *image_file_id(const struct image_file *f, size_t *len);
/* Where its debug information was found: its own path, that of a separate
 * file, or NULL if there is none. This looks for it. */
const char *image_file_debug(struct image_file *f);
/* The very file that was found, if it is a separate one: a descriptor for the
 * caller to close, or -1. */
int image_file_debug_fd(struct image_file *f, struct hark_err *err);
/* What sources that its debug information names are opened with. */
const struct reach *image_file_opens(struct image_file *f);
/* Debug information that came with it, which must stay until image_free: used
 * instead of what could be found elsewhere, if its build-id is the same. */
int image_file_give_debug(struct image_file *f, const void *bytes, size_t len,
			  struct hark_err *err);

/* What is added to link-time addresses if code of the file at this offset is
 * mapped at start; false if none is there. */
bool image_file_bias(const struct image_file *f, uint64_t start,
		     uint64_t offset, uint64_t *bias);
/* Where a program begins, or the loader's own code; 0: nowhere. */
uint64_t image_file_entry(const struct image_file *f);
/* Link-time addresses of all that is loaded of it; false if nothing is. */
bool image_file_span(const struct image_file *f, uint64_t *low, uint64_t *high);
/* The same of its code alone. */
bool image_file_code_span(const struct image_file *f, uint64_t *low,
			  uint64_t *high);
/* The next piece of code that ends behind addr: what its sections call code,
 * else all that may be executed. false: there is none. */
bool image_file_next_code(const struct image_file *f, uint64_t addr,
			  uint64_t *low, uint64_t *high);
/* What is loaded of it at a link-time address, up to len bytes; how many there
 * are in one piece goes to *got: 0 where nothing is loaded. What the loader
 * relocates is as the file has it. */
int image_file_read(struct image_file *f, uint64_t addr, void *out, size_t len,
		    size_t *got, struct hark_err *err);
/* Its block of thread-local storage, and the link-time address of what it is
 * made from; false if it has none. */
bool image_file_tls(const struct image_file *f, uint64_t *addr, uint64_t *len,
		    uint64_t *align);

/* A number that changes when the file does, without a look at what is in it;
 * false: there is none (it is not on disk, or was changed a moment ago, and may
 * be again). */
bool image_file_stamp(const struct image_file *f, uint64_t *out);
/* What was kept of it under that kind and source (keep.h): *len bytes, which
 * the caller frees; or NULL. */
void *image_file_kept(struct image_file *f, const char *kind, uint64_t source,
		      size_t *len);
void image_file_keep(struct image_file *f, const char *kind, uint64_t source,
		     const void *bytes, size_t len);

/* The bytes that this file has made hark allocate so far. */
uint64_t image_file_memory(const struct image_file *f);

#endif
