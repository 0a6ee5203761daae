/* ask/core_priv.h - a core file while it is made. */
#ifndef ASK_CORE_PRIV_H
#define ASK_CORE_PRIV_H

#include "ask/core.h"

#include <elf.h>
#include <stdbool.h>

enum { CORE_PAGE = 4096 };

struct core_segment {
	uint64_t start, end;
	uint32_t flags; /* PF_* */
};

/* Known memory, by ascending address. */
struct core_memory {
	struct core_segment *at; /* owned */
	size_t n, room;
	uint64_t known, unknown;
	uint64_t left_out; /* bytes of mappings longer than 4 GiB */
};

/* The mappings of this moment; a copy, with paths that live as long as the
 * timeline. For the caller to free. */
int core_mappings(struct ask_pair *p, struct hark_mapping **out, unsigned *n,
		  struct hark_err *err);
/* Is the thread there? Also one that died with the process, which is not
 * alive at the last moment, but did not end by itself either. */
bool core_has_thread(struct ask_pair *p, const struct hark_thread *t,
		     struct hark_registers *room);

int core_find_memory(struct ask_pair *p, struct core_memory *out,
		     struct hark_err *err);
void core_free_memory(struct core_memory *m);

/* Notes, one behind the other, as they stand in the file. */
struct core_notes {
	uint8_t *at; /* owned */
	size_t len, room;
	bool failed; /* no memory */
};

int core_make_notes(struct ask_pair *p, const struct core_memory *m,
		    struct core_notes *out, unsigned *threads,
		    struct hark_err *err);

#endif
