/* travel/fs_reach.c - how far from the base of fs a program's thread-local
 * variables reach.
 *
 * The C libraries lay out the thread-local variables of programs and libraries
 * right below the base of fs, in one allocation with the thread's control
 * block. So the sizes that the PT_TLS headers of all recorded modules state
 * bound how far down instructions reach through fs.
 *
 * The bound decides what an index of the shadow near a multiple of 4 GiB stands
 * for: a distance from fs, or an address whose low half is the same (M1, M2 of
 * memory.c). Without random addresses the main stack is such a place.
 *
 * A module whose bytes are not in the recording may have thread-local variables
 * of any size: then the bound is WALKER_FS_REACH. */
#include "travel/timeline.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* The size of a file's thread-local variables with their alignment; -1: the
 * file is damaged. Files that are not ELF have none. */
static int64_t size_of_tls(const uint8_t *file, size_t len)
{
	Elf64_Ehdr header;

	if (len < sizeof header || memcmp(file, ELFMAG, SELFMAG) != 0)
		return 0;
	memcpy(&header, file, sizeof header);
	for (unsigned i = 0; i < header.e_phnum; i++) {
		uint64_t at = header.e_phoff + (uint64_t)i * sizeof(Elf64_Phdr);
		Elf64_Phdr p;

		if (at > len || len - at < sizeof p)
			return -1;
		memcpy(&p, file + at, sizeof p);
		if (p.p_type != PT_TLS)
			continue;
		return p.p_memsz < WALKER_FS_REACH &&
			       p.p_align < WALKER_FS_REACH
			   ? (int64_t)(p.p_memsz + p.p_align)
			   : WALKER_FS_REACH;
	}
	return 0;
}

static int64_t size_in_module(struct recording *r, unsigned i)
{
	const struct recording_module *m = recording_module(r, i);
	struct hark_err ignored = {0};
	uint8_t *bytes;
	int64_t size;
	size_t len;

	if (m->of != 0 || m->same != 0)
		return 0;
	if (recording_read_module(r, i, &bytes, &len, &ignored) < 0)
		return -1;
	size = size_of_tls(bytes, len);
	free(bytes);
	return size;
}

uint64_t travel_fs_reach(struct hark_recording *rec)
{
	uint64_t sum = 0;

	for (unsigned i = 0; rec->fs_reach == 0 && sum < WALKER_FS_REACH &&
			     i < recording_n_modules(rec->r);
	     i++) {
		int64_t size = size_in_module(rec->r, i);

		sum += size < 0 ? WALKER_FS_REACH : (uint64_t)size;
	}
	if (rec->fs_reach == 0)
		rec->fs_reach = sum < WALKER_FS_INDEX	? WALKER_FS_INDEX
				: sum > WALKER_FS_REACH ? WALKER_FS_REACH
							: sum;
	return rec->fs_reach;
}
