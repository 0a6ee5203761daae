/* engine/memory.h - the engine's own memory in the program's address space.
 *
 * All that the engine maps is noted here, so that the program's own calls
 * (MAP_FIXED, munmap, mprotect) can be kept away from it. It lies at places of
 * the engine's choosing: the program's mappings get the addresses that they
 * would have got without it. None of it goes into core files.
 *
 * Asking takes no lock, and may be a moment late. */
#ifndef ENGINE_MEMORY_H
#define ENGINE_MEMORY_H

#include <stdint.h>

enum { MEMORY_SPANS = 4096 };

struct span {
	uint64_t start, end;
};

/* Limits that count the engine's memory, and those of them that the program has
 * set itself (limitcall.c). */
enum { MEMORY_LIMIT_AS, MEMORY_LIMIT_DATA, MEMORY_LIMITS };
struct rlimit64 {
	uint64_t cur, max;
};
struct memory_limit {
	struct rlimit64 own;
	uint64_t is_set;
};

struct memory {
	uint64_t hint; /* the next mapping goes below */
	uint32_t n;
	uint32_t lock; /* a byte would do: held for a few instructions */
	uint64_t total[MEMORY_LIMITS]; /* bytes that are noted */
	struct memory_limit limits[MEMORY_LIMITS];
	struct span spans[MEMORY_SPANS];
};

/* Zeroed memory below *hint, which moves on, not noted; or a negative errno. */
int64_t memory_place(uint64_t *hint, uint64_t len);

/* Zeroed memory; NULL: there is none. */
void *memory_map(struct memory *m, uint64_t len);
void memory_unmap(struct memory *m, void *at, uint64_t len);

/* Mapped by somebody else, but the engine's; likewise, and it is not data: a
 * file's, or others have it, too. */
void memory_note(struct memory *m, uint64_t start, uint64_t len);
void memory_note_file(struct memory *m, uint64_t start, uint64_t len);

/* The kernel's idea of such a limit; either may be NULL. */
int64_t memory_rlimit(unsigned which, const struct rlimit64 *set,
		      struct rlimit64 *out);
/* So much more is about to be mapped: the kernel's idea of the program's limits
 * grows by that. */
void memory_allow(struct memory *m, uint64_t more);

/* The first span of the engine's that meets `asked`. 1: there is one. */
int memory_meets(const struct memory *m, struct span asked, struct span *out);

#endif
