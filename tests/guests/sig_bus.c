/* tests/guests/sig_bus.c - a mapped file that ends before its mapping: SIGBUS
 * with BUS_ADRERR and the address; after it grew, the same load works. */
#include "faults.h"

int main(void)
{
	int fd = memfd_create("short", 0);
	char *p;

	MUST(fd >= 0 && ftruncate(fd, 100) == 0);
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(p != MAP_FAILED);
	fault_catch(SIGBUS);
	SAME(p[4095], 0);
	for (int i = 0; i < 20; i++) {
		FAULT("movb (%%rdi), %%al\n\t", "D"(p + 4096 + i), "a"(7));
		FAULTED(SIGBUS, BUS_ADRERR, 14);
		SAME(fault.addr, p + 4096 + i);
		SAME(fault.r[REG_RIP], fault.at);
	}
	MUST(ftruncate(fd, 8192) == 0);
	p[4096] = 5;
	SAME(p[4096], 5);
	MUST(ftruncate(fd, 0) == 0);
	FAULT("movb $1, (%%rdi)", "D"(p));
	FAULTED(SIGBUS, BUS_ADRERR, 14);
	return guest_end();
}
