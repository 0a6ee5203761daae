/* tests/unit/profile_make.h - small profiles for tests. */
#ifndef TESTS_PROFILE_MAKE_H
#define TESTS_PROFILE_MAKE_H

#include "profile/profile.h"
#include "profile/reader.h"

enum {
	MAKE_BEGAN = 5000,
	MAKE_BASE = 0x400000, /* of /nowhere/prog, 64 KiB long, bias 0x1000 */
	MAKE_LIB = 0x7f0000000000, /* of /nowhere/lib.so, bias the same */
	MAKE_ANON = 0x10000,	   /* [anon] */
};

/* A file in memory that is written to. */
struct make {
	int fd;
	struct image *image;
	struct modules *modules;
	struct profile_writer *writer;
	char path[64];
};
void make_begin(struct make *m);
/* Maps all three modules into a process. */
void make_maps(struct make *m, int pid);
/* New frames: pcs, the outermost first, ended by 0; all but the last are
 * return addresses. */
int make_sample(struct make *m, int tid, uint64_t time, uint32_t kept,
		const uint64_t *pcs, struct hark_err *err);
void make_finish(struct make *m);
/* Without an end. */
void make_cut(struct make *m);
void make_close(struct make *m);

/* Everything that a profile can have, in a few flushes: 40 samples of three
 * threads. The bytes are the caller's to free. */
uint8_t *make_example(size_t *len);
/* A file of these bytes, opened. */
int make_open(const uint8_t *bytes, size_t len, struct profile **out,
	      struct hark_err *err);
/* Does every number in it lead somewhere? */
void make_check(const struct profile *p);

#endif
