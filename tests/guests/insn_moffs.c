/* tests/guests/insn_moffs.c - mov between the accumulator and a 64-bit absolute
 * address, in four sizes, with a segment, and with 67h a 32-bit one. */
#include "guest.h"
#include <sys/auxv.h>

/* Code is made here, since the addresses are only known now. */
static uint8_t *put(uint8_t *p, const void *bytes, size_t n)
{
	memcpy(p, bytes, n);
	return p + n;
}

int main(void)
{
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		*p = code;
	uint64_t *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	static uint64_t cell, out[6], fs0;
	uint64_t (*run)(void) = (uint64_t(*)(void))code;
	uint64_t at = (uint64_t)&cell, o[6], zero = 0;
	uint32_t at_low = (uint32_t)(uint64_t)low;

	MUST(code != MAP_FAILED && low != MAP_FAILED);
	for (int i = 0; i < 6; i++)
		o[i] = (uint64_t)&out[i];
	p = put(put(p, "\x48\xa1", 2), &at, 8); /* rax = cell */
	p = put(put(p, "\x48\xa3", 2), &o[0], 8);
	p = put(put(p, "\xa3", 1), &o[1], 8);
	p = put(put(p, "\x66\xa3", 2), &o[2], 8);
	p = put(put(p, "\xa2", 1), &o[3], 8);
	p = put(put(p, "\x67\x48\xa1", 3), &at_low, 4);
	p = put(put(p, "\x48\xa3", 2), &o[4], 8);
	p = put(put(p, "\x64\x48\xa1", 3), &zero, 8); /* fs:0 */
	p = put(put(p, "\x48\xa3", 2), &o[5], 8);
	p = put(put(p, "\xa0", 1), &at, 8); /* al only */
	*p = 0xc3;
	cell = 0x1122334455667788;
	*low = 0x0102030405060708;
	asm("mov %%fs:0, %0" : "=r"(fs0));
	for (int i = 0; i < 3; i++) {
		memset(out, 0, sizeof out);
		SAME(run(), (fs0 & ~0xffull) | 0x88);
		SAME(out[0], 0x1122334455667788);
		SAME(out[1], 0x55667788);
		SAME(out[2], 0x7788);
		SAME(out[3], 0x88);
		SAME(out[4], 0x0102030405060708);
		SAME(out[5], fs0);
	}
	return guest_end();
}
