/* probe/errno_place.c - the few ways in which __errno_location is compiled.
 *
 *	mov rax, [rip + d]; add rax, fs:0	glibc, shared
 *	mov rax, imm; add rax, fs:0		glibc, static
 *	mov rax, fs:0; add rax, imm		musl, or another compiler
 */
#include "probe/errno_place.h"

#include "image/symbols.h"

#include <string.h>
#include <sys/uio.h>

static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa},
		     add_fs[] = {0x64, 0x48, 0x03, 0x04, 0x25, 0, 0, 0, 0},
		     load_fs[] = {0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0},
		     load_rip[] = {0x48, 0x8b, 0x05},
		     load_imm[] = {0x48, 0xc7, 0xc0},
		     add_imm32[] = {0x48, 0x05},
		     add_imm8[] = {0x48, 0x83, 0xc0};

#define BEGINS(code, what) (memcmp((code), (what), sizeof(what)) == 0)

static int32_t word_at(const uint8_t *at)
{
	int32_t word;

	memcpy(&word, at, sizeof word);
	return word;
}

int64_t errno_place_of_code(const uint8_t *code, int64_t *at)
{
	unsigned skip = BEGINS(code, endbr) ? sizeof endbr : 0;

	code += skip;
	*at = 0;
	if (BEGINS(code, load_rip) && BEGINS(code + 7, add_fs)) {
		*at = word_at(code + 3) + 7 + (int64_t)skip;
		return 0;
	}
	if (BEGINS(code, load_imm) && BEGINS(code + 7, add_fs))
		return word_at(code + 3);
	if (!BEGINS(code, load_fs))
		return 0;
	code += sizeof load_fs;
	if (BEGINS(code, add_imm32))
		return word_at(code + 2);
	return BEGINS(code, add_imm8) ? (int8_t)code[3] : 0;
}

static bool read_memory(int pid, uint64_t addr, void *out, size_t len)
{
	struct iovec to = {out, len}, from = {(void *)(uintptr_t)addr, len};

	return process_vm_readv(pid, &to, 1, &from, 1, 0) == (ssize_t)len;
}

static int64_t place_in(const struct module *m, int pid)
{
	uint8_t code[ERRNO_CODE];
	struct symbol y;
	int64_t at, place;

	if (m->file == NULL ||
	    symbols_named(m->file, "__errno_location", &y, NULL) < 0 ||
	    y.kind != SYMBOL_FUNCTION ||
	    !read_memory(pid, y.addr + m->bias, code, sizeof code))
		return 0;
	place = errno_place_of_code(code, &at);
	if (at != 0 && !read_memory(pid, y.addr + m->bias + (uint64_t)at,
				    &place, sizeof place))
		return 0;
	return place;
}

int64_t errno_place(struct modules *m, int pid)
{
	int64_t place = 0;

	for (size_t i = 0; i < modules_count(m) && place == 0; i++)
		place = place_in(modules_get(m, i), pid);
	return place;
}
