// build: -msse4.2
/* tests/guests/insn_sse42_strings.c - pcmpestri, pcmpestrm, pcmpistri and
 * pcmpistrm with every control byte: the implicit ecx, xmm0 and lengths, all
 * flags; and crc32 of four sizes. */
#include "guest.h"
#include <immintrin.h>

static uint64_t hash = 1;

#define MODE(n)                                                               \
	do {                                                                  \
		struct regs r = {.a = la, .d = lb, .c = -1ull, .f = AF | PF}; \
		__m128i m;                                                    \
		asm volatile("movdqa %0, %%xmm3\n\tmovdqa %1, %%xmm4"         \
			     :                                                \
			     : "m"(a), "m"(b)                                 \
			     : "xmm3", "xmm4");                               \
		RUN("pcmpestri $" #n ", %%xmm4, %%xmm3", r);                  \
		hash = hash * 31 + r.c * 4096 + r.f;                          \
		RUN("pcmpistri $" #n ", %%xmm4, %%xmm3", r);                  \
		hash = hash * 31 + r.c * 4096 + r.f;                          \
		r.a = la, r.d = lb;                                           \
		RUN("pcmpestrm $" #n ", %%xmm4, %%xmm3", r);                  \
		asm volatile("movdqa %%xmm0, %0" : "=m"(m));                  \
		hash = guest_hash(hash * 31 + r.f, &m, 16);                   \
		RUN("pcmpistrm $" #n ", %%xmm4, %%xmm3", r);                  \
		asm volatile("movdqa %%xmm0, %0" : "=m"(m));                  \
		hash = guest_hash(hash * 31 + r.f, &m, 16);                   \
	} while (0)

static void all(__m128i a, __m128i b, uint64_t la, uint64_t lb)
{
	MODE(0x00);
	MODE(0x04);
	MODE(0x08);
	MODE(0x0c);
	MODE(0x19);
	MODE(0x15);
	MODE(0x3a);
	MODE(0x4c);
	MODE(0x40);
	MODE(0x58);
	MODE(0x7b);
	MODE(0x1e);
	MODE(0x44);
}

int main(void)
{
	__m128i a = _mm_loadu_si128((void *)"aeiouAEIOU\0xxxxxx"),
		b = _mm_loadu_si128((void *)"hello, world!\0yy");
	uint32_t c = 0xffffffff;
	uint64_t c8 = 0xffffffff;

	SAME(_mm_cmpistri(a, b, _SIDD_CMP_EQUAL_ANY), 1);
	SAME(_mm_cmpistri(a, b, _SIDD_CMP_EQUAL_ANY | _SIDD_MOST_SIGNIFICANT),
	     8);
	SAME(_mm_cmpestri(a, 1, b, 13, _SIDD_CMP_EQUAL_ANY), 16);
	for (int i = 0; i < 10; i++)
		all(a, b, (uint64_t)i * 2, (uint64_t)(17 - i));
	for (const char *p = "123456789"; *p != 0; p++)
		c = _mm_crc32_u8(c, (uint8_t)*p);
	SAME(~c, 0xe3069283); /* CRC-32C's check value */
	c8 = _mm_crc32_u64(c8, 0x3837363534333231);
	c8 = _mm_crc32_u8((uint32_t)c8, '9');
	SAME(~(uint32_t)c8, 0xe3069283);
	printf("%016lx\n", hash);
	return guest_end();
}
