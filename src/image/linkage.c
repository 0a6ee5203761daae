/* image/linkage.c - how is a procedure linkage table laid out?
 *
 * Layouts differ by linker, and by what is asked of it; neither the sizes of
 * entries in section headers nor the alignment tell them apart (GNU ld has
 * entries of 8 bytes in the table of a static program, and says 0). So the
 * bytes are looked at. These are the forms, with or without endbr64 and bnd:
 *
 *	ff 25 disp32, padding		jmp *slot, of 8 bytes or 16
 *	ff 25 disp32, 68 n, e9 first	jmp *slot, lazily: push n, jmp first
 *	68 n, e9 first			the same, if the jump is in .plt.sec */
#include "image/linkage_priv.h"

#include <string.h>

enum {
	SMALL = 8,
	ENTRY = 16,
	JUMP = 6,   /* bytes of jmp *disp(%rip), and of push disp(%rip) */
	NUMBER = 5, /* bytes of push $n */
	NEVER = ENTRY,
};

const char *const linkage_tables[LINKAGE_TABLES] = {".plt", ".plt.sec",
						    ".plt.got", ".iplt"};

static bool jumps(const uint8_t *at)
{
	return at[0] == 0xff && at[1] == 0x25;
}

size_t linkage_step(const struct elf_section *s, const uint8_t *at, size_t len)
{
	if (s->h.sh_entsize == SMALL || len < ENTRY)
		return SMALL;
	return jumps(at) && jumps(at + SMALL) ? SMALL : ENTRY;
}

bool linkage_is_lazy(const uint8_t *at, size_t len)
{
	return len >= ENTRY && at[0] == 0xff && at[1] == 0x35;
}

/* From which byte of the entry on there is a word more on the stack; 0: it is
 * none that is known. */
static uint32_t pushed_from(const uint8_t *at, size_t step)
{
	static const uint8_t endbr[4] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t i = 0;
	bool has_jump;

	if (step == SMALL)
		return jumps(at) ? NEVER : 0;
	if (memcmp(at, endbr, sizeof endbr) == 0)
		i += sizeof endbr;
	if (at[i] == 0xf2)
		i++;
	has_jump = jumps(at + i);
	if (has_jump)
		i += JUMP;
	if (at[i] == 0x68)
		return (uint32_t)(i + NUMBER);
	return has_jump ? NEVER : 0;
}

/* The entries from `from` on that are alike. */
static unsigned entries(const uint8_t *at, size_t len, size_t from, size_t step,
			uint64_t addr, struct linkage_piece *out)
{
	uint32_t pushed = 0;
	size_t i = from;

	for (; i + step <= len; i += step) {
		uint32_t here = pushed_from(at + i, step);

		if (here == 0 || (i > from && here != pushed))
			break;
		pushed = here;
	}
	if (i == from || (pushed != NEVER && addr % ENTRY != 0))
		return 0;
	*out = (struct linkage_piece){addr + from, addr + i, 0, pushed};
	return 1;
}

unsigned linkage_pieces(struct elf *e, const char *table,
			struct linkage_piece out[LINKAGE_PIECES])
{
	struct elf_section *s = elf_section(e, table);
	struct bytes *b = NULL;
	const uint8_t *at = NULL;
	uint64_t addr, middle;

	if (s != NULL && s->h.sh_type != SHT_NOBITS && s->h.sh_size >= SMALL &&
	    elf_is_code(e, s->h.sh_addr))
		b = elf_contents(e, s, NULL);
	if (b != NULL)
		at = bytes_need(b, 0, b->len, NULL);
	if (at == NULL || b->len < SMALL)
		return 0;
	addr = s->h.sh_addr;
	if (addr > UINT64_MAX - b->len || !elf_is_code(e, addr + b->len - 1))
		return 0;
	if (!linkage_is_lazy(at, b->len))
		return entries(at, b->len, 0, linkage_step(s, at, b->len), addr,
			       out);
	middle = addr + JUMP;
	out[0] = (struct linkage_piece){addr, middle, 1, NEVER};
	out[1] = (struct linkage_piece){middle, addr + ENTRY, 2, NEVER};
	return 2 + entries(at, b->len, ENTRY, ENTRY, addr, &out[2]);
}
