/* tests/guests/insn_absent.c - instructions that CPUID says are absent do what
 * the CPU does with them, however well an emulator could carry them out.
 *
 * Mostly they are illegal. But a hypervisor may hide a feature that the CPU has
 * (movdiri on AMD's family 1Ah), and then they run. Each line says which, so
 * that a run under hark has to be like the native one. */
#include "faults.h"

static void absent(int has, const char *name)
{
	if (has)
		return;
	printf("%s: %s\n", name, fault.n == 0 ? "ran" : "illegal");
	if (fault.n == 0)
		return;
	SAME(fault.n, 1);
	SAME(fault.sig, SIGILL);
	SAME(fault.r[REG_RIP], fault.at);
	fault.n = 0;
}

int main(void)
{
	unsigned a, b1, c1, d1, b7, c7, d7, c8 = 0, d8 = 0;
	static char cell[128] __attribute__((aligned(64)));

	__cpuid(1, a, b1, c1, d1);
	__cpuid_count(7, 0, a, b7, c7, d7);
	__cpuid(0x80000001, a, b1, c8, d8);
	fault_catch(SIGILL);
#define TRY(has, name, bytes)                                         \
	do {                                                          \
		if (has)                                              \
			break;                                        \
		FAULT(".byte " bytes, "a"(cell + 64), "c"(0), "d"(0), \
		      "D"(cell));                                     \
		absent(has, name);                                    \
	} while (0)
	TRY(b7 >> 11 & 1, "xbegin", "0xc7, 0xf8, 0, 0, 0, 0");
	TRY(b7 >> 11 & 1, "xtest", "0x0f, 0x01, 0xd6");
	TRY(c8 >> 16 & 1, "fma4", "0xc4, 0xe3, 0xf1, 0x69, 0xc2, 0x30");
	TRY(c8 >> 11 & 1, "xop vphaddbw", "0x8f, 0xe9, 0x78, 0xc1, 0xc0");
	TRY(c8 >> 21 & 1, "tbm blsfill", "0x8f, 0xe9, 0x78, 0x01, 0xd0");
	TRY(d8 >> 31 & 1, "3dnow pfadd", "0x0f, 0x0f, 0xc1, 0x9e");
	TRY(c7 >> 3 & 1, "rdpkru", "0x0f, 0x01, 0xee");
	TRY(c7 >> 5 & 1, "umonitor", "0xf3, 0x0f, 0xae, 0xf0");
	TRY(c7 >> 27 & 1, "movdiri", "0x0f, 0x38, 0xf9, 0x07");
	TRY(c7 >> 28 & 1, "movdir64b", "0x66, 0x0f, 0x38, 0xf8, 0x07");
	TRY(d7 >> 14 & 1, "serialize", "0x0f, 0x01, 0xe8");
	TRY(d7 >> 5 & 1, "senduipi", "0xf3, 0x0f, 0xc7, 0xf0");
	TRY(d7 >> 24 & 1, "tilezero", "0xc4, 0xe2, 0x7b, 0x49, 0xc0");
	TRY(c1 >> 5 & 1, "vmxoff", "0x0f, 0x01, 0xc4");
	TRY(0, "monitor", "0x0f, 0x01, 0xc8");
	TRY(0, "rsm", "0x0f, 0xaa");
	TRY(0, "enclv", "0x0f, 0x01, 0xc0");
	return guest_end();
}
