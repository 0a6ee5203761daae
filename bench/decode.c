/* bench/decode.c - nanoseconds an instruction: hark's decoder against Zydis.
 *
 *   decode FILE...      executable sections of ELF files, all of them
 *
 * Three decoders walk the same bytes: hark's core as the tool has it, the core
 * as it is compiled for the target (no vector registers, no jump tables), and
 * Zydis' full decode, which gives what the core gives. They take turns, and
 * each figure is the median of ROUNDS in CPU time, so that other load on the
 * machine hits all alike. The last column is Zydis over the slower of ours. */
#include "x86/decode.h"

#include <Zydis/Zydis.h>
#include <elf.h>
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum x86_status inside_x86_decode(const uint8_t *code, unsigned avail,
				  struct x86_insn *out);

enum { ROUNDS = 7, WAYS = 3, MAX_SECTIONS = 64, WINDOW = 64 };

static struct section {
	const uint8_t *code;
	size_t len;
} sections[MAX_SECTIONS];
static unsigned n_sections;

static ZydisDecoder zydis;

/* -- Each returns how many instructions it saw --------------------------- */

static unsigned long walk_core(const uint8_t *p, const uint8_t *end)
{
	struct x86_insn i;
	unsigned long n = 0;

	for (; p < end; n++)
		p += x86_decode(p, WINDOW, &i) == X86_OK ? i.len : 1;
	return n;
}

static unsigned long walk_inside(const uint8_t *p, const uint8_t *end)
{
	struct x86_insn i;
	unsigned long n = 0;

	for (; p < end; n++)
		p += inside_x86_decode(p, WINDOW, &i) == X86_OK ? i.len : 1;
	return n;
}

static unsigned long walk_zydis(const uint8_t *p, const uint8_t *end)
{
	static ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction i;
	unsigned long n = 0;

	for (; p < end; n++)
		p += ZYAN_SUCCESS(ZydisDecoderDecodeFull(&zydis, p, X86_MAX_LEN,
							 &i, operands))
			 ? i.length
			 : 1;
	return n;
}

static unsigned long (*const walk[WAYS])(const uint8_t *, const uint8_t *) = {
    walk_core, walk_inside, walk_zydis};

/* -- Measuring ----------------------------------------------------------- */

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double one_pass(unsigned way)
{
	double start = now_ns();
	unsigned long n = 0;

	for (unsigned k = 0; k < n_sections; k++)
		n += walk[way](sections[k].code,
			       sections[k].code + sections[k].len);
	return (now_ns() - start) / (double)n;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(const char *name)
{
	double ns[WAYS][ROUNDS], slower;

	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned way = 0; way < WAYS; way++)
			ns[way][round] = one_pass(way);
	for (unsigned way = 0; way < WAYS; way++)
		qsort(ns[way], ROUNDS, sizeof ns[way][0], by_size);
	slower = ns[0][ROUNDS / 2] > ns[1][ROUNDS / 2] ? ns[0][ROUNDS / 2]
						       : ns[1][ROUNDS / 2];
	printf("%-20.20s", name);
	for (unsigned way = 0; way < WAYS; way++)
		printf(" %6.1f (%.1f..%.1f)", ns[way][ROUNDS / 2], ns[way][0],
		       ns[way][ROUNDS - 1]);
	printf("  %5.2f\n", ns[2][ROUNDS / 2] / slower);
	fflush(stdout);
}

/* -- Files --------------------------------------------------------------- */

/* The last bytes of a section are left out: every decoder may look ahead. */
static void find_sections(const char *path, const uint8_t *file, size_t size)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)file;
	const Elf64_Shdr *s;

	if (size < sizeof *e || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 ||
	    e->e_machine != EM_X86_64 || e->e_shoff > size ||
	    e->e_shnum * sizeof *s > size - e->e_shoff)
		errx(2, "%s: not an x86-64 ELF file", path);
	s = (const Elf64_Shdr *)(file + e->e_shoff);
	n_sections = 0;
	for (unsigned k = 0; k < e->e_shnum; k++)
		if (s[k].sh_flags & SHF_EXECINSTR &&
		    s[k].sh_type == SHT_PROGBITS && s[k].sh_size > WINDOW &&
		    s[k].sh_offset <= size &&
		    s[k].sh_size <= size - s[k].sh_offset &&
		    n_sections < MAX_SECTIONS) {
			sections[n_sections].code = file + s[k].sh_offset;
			sections[n_sections++].len = s[k].sh_size - WINDOW;
		}
}

static void measure_file(const char *path)
{
	const char *name = strrchr(path, '/');
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *file;

	if (fd < 0 || fstat(fd, &st) != 0)
		err(2, "%s", path);
	file = mmap(NULL, (size_t)st.st_size, PROT_READ,
		    MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (file == MAP_FAILED)
		err(2, "%s", path);
	find_sections(path, file, (size_t)st.st_size);
	measure(name ? name + 1 : path);
	munmap(file, (size_t)st.st_size);
	close(fd);
}

int main(int argc, char **argv)
{
	ZydisDecoderInit(&zydis, ZYDIS_MACHINE_MODE_LONG_64,
			 ZYDIS_STACK_WIDTH_64);
	printf("%-20s %-20s %-20s %-20s  %s\n", "ns/instruction", "core",
	       "core inside", "Zydis full", "times");
	for (int k = 1; k < argc; k++)
		measure_file(argv[k]);
	return 0;
}
