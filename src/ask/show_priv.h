/* ask/show_priv.h - what the files that show values share. */
#ifndef ASK_SHOW_PRIV_H
#define ASK_SHOW_PRIV_H

#include "ask/show.h"

enum {
	SHOW_NEST = 12,	     /* things in things */
	SHOW_ELEMENTS = 200, /* of an array or a container */
	SHOW_CHARS = 200,    /* of a text */
	SHOW_REPEATS = 10,   /* as many in a row are shown once */
	SHOW_READS = 100000, /* of memory, for one value */
};

struct shower {
	const struct show *s;
	struct prose *out;
	int depth;
	unsigned reads; /* that were done */
};

/* The bytes of what is shown. */
struct show_part {
	const uint8_t *bytes, *known;
	uint64_t len;
};

bool show_is_known(const struct show_part *p, uint64_t at, uint64_t len);
struct show_part show_sub(const struct show_part *p, uint64_t at, uint64_t len);
/* Of memory, which must be that of the moment; how many bytes are known: none
 * if so many reads were not expected of one value. */
size_t show_read(struct shower *w, uint64_t addr, uint8_t *out, uint8_t *known,
		 size_t len);

void show_put(struct shower *w, struct type t, const struct show_part *p);
void show_put_struct(struct shower *w, struct type t,
		     const struct show_part *p);
void show_put_pointer(struct shower *w, struct type target, uint64_t addr);

#endif
