/* tests/guests/code_ahead.c - a store changes the very next instruction, in the
 * same straight line of code, as 8086 programs did; also one further ahead and
 * one at a loop's start. */
#include "guest.h"

int main(void)
{
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t (*next)(uint32_t) = (uint32_t(*)(uint32_t))p;
	uint32_t (*later)(uint32_t) = (uint32_t(*)(uint32_t))(p + 256);
	uint32_t (*loop)(uint32_t) = (uint32_t(*)(uint32_t))(p + 512);

	MUST(p != MAP_FAILED);
	/* mov edi, [rip+1]: the immediate of the next instruction; mov imm, eax
	 */
	memcpy(p, "\x89\x3d\x01\0\0\0\xb8\0\0\0\0\xc3", 12);
	/* the same with twenty nops between */
	memcpy(p + 256, "\x89\x3d\x15\0\0\0", 6);
	memset(p + 262, 0x90, 20);
	memcpy(p + 282, "\xb8\0\0\0\0\xc3", 6);
	/* eax = 0; ecx = edi; 1: add $0, eax; incb 1b+2; dec ecx; jnz 1b */
	memcpy(p + 512, "\x31\xc0\x89\xf9", 4);
	memcpy(p + 516, "\x83\xc0\x00", 3);
	memcpy(p + 519, "\xfe\x05\xf9\xff\xff\xff", 6);
	memcpy(p + 525, "\xff\xc9\x75\xf3\xc3", 5);
	for (uint32_t i = 0; i < 200; i++) {
		SAME(next(i * 77), i * 77);
		SAME(later(i * 78), i * 78);
		p[518] = 1;
		SAME(loop(50), 50 * 51 / 2);
	}
	return guest_end();
}
