/* tests/guests/code_self_read.c - a program that reads its own code, as a
 * checksum would, finds the bytes of its file, also after they have run. */
#include "guest.h"
#include <elf.h>
#include <fcntl.h>
#include <link.h>

extern const char __executable_start[], etext[];

__attribute__((noinline)) static uint64_t work(uint64_t n)
{
	uint64_t h = n;

	for (uint64_t i = 0; i < n; i++)
		h = h * 31 + i;
	return h;
}

int main(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	Elf64_Ehdr e;
	Elf64_Phdr ph;
	static char bytes[1 << 20];
	int checked = 0;

	MUST(fd >= 0 && pread(fd, &e, sizeof e, 0) == sizeof e);
	CHECK(work(1000) != 0);
	for (int i = 0; i < e.e_phnum; i++) {
		const char *at;

		MUST(pread(fd, &ph, sizeof ph,
			   (off_t)(e.e_phoff + (uint64_t)i * sizeof ph)) ==
		     sizeof ph);
		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		MUST(ph.p_filesz <= sizeof bytes);
		MUST(pread(fd, bytes, ph.p_filesz, (off_t)ph.p_offset) ==
		     (ssize_t)ph.p_filesz);
		at = __executable_start + ph.p_vaddr;
		CHECK(memcmp(at, bytes, ph.p_filesz) == 0);
		checked++;
	}
	SAME(checked, 1);
	/* and through its own mem file */
	int mem = open("/proc/self/mem", O_RDONLY);
	char there[64];
	MUST(mem >= 0 && pread(mem, there, 64, (off_t)(uint64_t)work) == 64);
	CHECK(memcmp(there, (const void *)work, 64) == 0);
	return guest_end();
}
