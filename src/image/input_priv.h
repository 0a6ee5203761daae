/* image/input_priv.h - where the bytes of an ELF file come from.
 *
 * A file on disk, a block of memory (a recording has modules in it, a vdso
 * is read whole), or the memory of a process whose file is out of reach.
 * Files are opened when read, and a pool keeps few of them open at a time,
 * so a process with a thousand libraries costs no thousand descriptors. A
 * file that is not the same when opened again is an error, not a surprise. They
 * are opened with the rights of what named them (reach.h). */
#ifndef IMAGE_INPUT_PRIV_H
#define IMAGE_INPUT_PRIV_H

#include "image/bytes_priv.h"
#include "image/reach.h"

#include <elf.h>
#include <stdbool.h>
#include <sys/types.h>

enum {
	INPUT_POOL = 32,  /* files open at a time */
	INPUT_LOADS = 32, /* segments of a module read from a process */
};

struct input;

struct input_pool {
	struct input *open[INPUT_POOL]; /* borrowed; NULL: free */
	unsigned next;			/* whose turn it is to be closed */
};

struct input {
	struct bytes_source src;   /* src.ctx is this struct: do not copy */
	char *path;		   /* owned; NULL for memory */
	struct input_pool *pool;   /* borrowed; NULL: never closed */
	const struct reach *reach; /* borrowed; NULL: hark's own */
	int fd;			   /* owned; -1: not open now */
	dev_t dev;
	ino_t ino;
	int64_t mtime_ns, ctime_ns;
	uint64_t bias;		      /* of a module read from a process */
	Elf64_Phdr load[INPUT_LOADS]; /* of the same */
	unsigned n_loads;
};

/* Refuses what is not a regular file and what is longer than INPUT_MAX. With
 * fd >= 0 it is taken over, also on failure, and stays open: path may no
 * longer lead there. */
int input_open(struct input *in, struct input_pool *pool,
	       const struct reach *reach, const char *path, int fd,
	       struct hark_err *err);
/* Bytes are borrowed for as long as the input lives. */
void input_of_memory(struct input *in, const void *bytes, size_t len);
/* The module whose ELF header is at base in the memory behind mem, a
 * descriptor of /proc/PID/mem, taken over also on failure. */
int input_of_process(struct input *in, int mem, uint64_t base,
		     struct hark_err *err);
void input_close(struct input *in);
/* The file, for another to read and to close; -1: it is none, or has changed.
 */
int input_descriptor(struct input *in, struct hark_err *err);

#endif
