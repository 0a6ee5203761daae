/* ask/core.h - an ELF core file of one moment.
 *
 * What gdb and lldb open as if the process had dumped core then: all threads
 * with all registers, the signal, the list of mapped files, and the memory
 * that is known. Pages of which nothing is known are left out; of the others
 * unknown bytes are zero, and a note of hark's own says how many. */
#ifndef ASK_CORE_H
#define ASK_CORE_H

#include "ask/source.h"

struct core_stats {
	uint64_t len;	   /* of the file */
	uint64_t known;	   /* bytes of memory in it that are */
	uint64_t unknown;  /* bytes in it that are not: zero */
	uint64_t left_out; /* bytes of mappings longer than 4 GiB: not in it */
	unsigned threads, segments;
};

/* Of the moment that p's timeline is at. It is moved, and put back. The file
 * at fd must be new; it gets holes where pages are zero. */
int core_write(struct ask_pair *p, int fd, struct core_stats *out,
	       struct hark_err *err);

#endif
