/* engine/shadow.c - a shadow's end is its beginning. */
#include "engine/shadow.h"

#include "engine/engine.h"
#include "inside/mem.h"
#include "inside/sys.h"

/* Of a length of 0: what is mapped there stays, too. */
static int map_again(uint64_t shadow)
{
	enum { MAY_MOVE = 1, FIXED = 2 };
	int64_t at = sys_call(SYS_NR_MREMAP, shadow, 0, SHADOW_AGAIN,
			      MAY_MOVE | FIXED, shadow + WIRE_SHADOW_SIZE, 0);

	return sys_failed(at) ? -1 : 0;
}

/* The same by a segment of System V: where there is no such mremap (qemu). */
static int map_twice(uint64_t shadow)
{
	enum { NR_SHMGET = 29, NR_SHMAT = 30, NR_SHMCTL = 31 };
	enum { OWN = 0600, REMAP = 040000 };
	int64_t id = sys_call3(NR_SHMGET, 0, SHADOW_AGAIN, OWN), first, again;

	if (sys_failed(id))
		return -1;
	first = sys_call3(NR_SHMAT, (uint64_t)id, shadow, REMAP);
	again =
	    sys_call3(NR_SHMAT, (uint64_t)id, shadow + WIRE_SHADOW_SIZE, REMAP);
	sys_call3(NR_SHMCTL, (uint64_t)id, 0, 0); /* gone with its mappings */
	return sys_failed(first) || sys_failed(again) ? -1 : 0;
}

int shadow_join(uint64_t shadow)
{
	enum { DONTDUMP = 16 };
	int64_t at = sys_call(SYS_NR_MMAP, shadow, SHADOW_AGAIN,
			      SYS_PROT_READ | SYS_PROT_WRITE,
			      SYS_MAP_SHARED | SYS_MAP_ANONYMOUS |
				  SYS_MAP_FIXED | SYS_MAP_NORESERVE,
			      (uint64_t)-1, 0);

	if (sys_failed(at))
		return -1;
	sys_call3(SYS_NR_MADVISE, shadow, SHADOW_AGAIN, DONTDUMP);
	return map_again(shadow) == 0 ? 0 : map_twice(shadow);
}

/* What the program has had locked in memory stays there. */
static void give_back(uint64_t at, uint64_t len)
{
	enum { DONTNEED = 4 };

	if (!sys_failed(sys_call3(SYS_NR_MADVISE, at, len, DONTNEED)))
		return;
	sys_call3(SYS_NR_MUNLOCK, at, len, 0);
	if (sys_failed(sys_call3(SYS_NR_MADVISE, at, len, DONTNEED)))
		engine_die("a shadow cannot be emptied");
}

void shadow_give_back(uint64_t shadow, uint64_t index, uint64_t len)
{
	uint64_t end = index + len;

	if (index < SHADOW_AGAIN)
		memset((void *)(shadow + index), 0, /* H2 */
		       (end < SHADOW_AGAIN ? end : SHADOW_AGAIN) - index);
	if (end > SHADOW_AGAIN) {
		if (index < SHADOW_AGAIN)
			index = SHADOW_AGAIN;
		give_back(shadow + index, end - index);
	}
}
