/* tests/guests/proc_memfd.c - memory files: sealed, mapped shared and private,
 * punched, copied by sendfile and copy_file_range. */
#include "guest.h"
#include <fcntl.h>
#include <sys/sendfile.h>

int main(void)
{
	int a = memfd_create("a", MFD_ALLOW_SEALING), b = memfd_create("b", 0);
	char *s, *p, buf[16] = "";
	off_t off = 0;

	MUST(a >= 0 && b >= 0 && ftruncate(a, 8192) == 0);
	s = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, a, 0);
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, a, 0);
	MUST(s != MAP_FAILED && p != MAP_FAILED);
	strcpy(s, "shared");
	CHECK(strcmp(p, "shared") == 0);
	strcpy(p, "own");
	strcpy(s, "changed");
	CHECK(strcmp(p, "own") == 0);
	MUST(pread(a, buf, 8, 0) == 8);
	CHECK(strcmp(buf, "changed") == 0);
	SAME(sendfile(b, a, &off, 7), 7);
	SAME(lseek(b, 0, SEEK_END), 7);
	off = 0;
	SAME(copy_file_range(a, &off, b, NULL, 7, 0), 7);
	MUST(pread(b, buf, 14, 0) == 14);
	CHECK(memcmp(buf, "changedchanged", 14) == 0);
	s[4096] = 1;
	MUST(fallocate(a, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096,
		       4096) == 0);
	SAME(s[4096], 0);
	munmap(s, 8192);
	MUST(fcntl(a, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK) == 0);
	SAME(pwrite(a, "x", 1, 0), -1);
	SAME(errno, EPERM);
	SAME(ftruncate(a, 1), -1);
	SAME(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, a, 0),
	     MAP_FAILED);
	SAME(fcntl(a, F_GET_SEALS), F_SEAL_WRITE | F_SEAL_SHRINK);
	return guest_end();
}
