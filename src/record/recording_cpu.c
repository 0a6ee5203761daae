/* record/recording_cpu.c - can this processor replay what that one recorded?
 *
 * Only what a program can see by executing something counts: instructions, and
 * the form in which extended registers are stored.
 *
 * That the other one had more does not matter unless the program has used it,
 * and then replay finds out where: an instruction that a processor does not
 * know it refuses (REPLAY_LACKS). Refused at once is only what would go wrong
 * silently: instructions that a processor without them takes for others, and
 * components of another size; and machines on which replay itself cannot run.
 */
#include "record/recording_priv.h"

#include <cpuid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EAX, EBX, ECX, EDX };

struct feature {
	uint32_t leaf, sub;
	uint8_t reg, bit;
	const char *name;
};

/* clang-format off */
static const struct feature features[] = {
	{1, 0, ECX, 0, "sse3"}, {1, 0, ECX, 1, "pclmulqdq"},
	{1, 0, ECX, 9, "ssse3"}, {1, 0, ECX, 12, "fma"},
	{1, 0, ECX, 13, "cmpxchg16b"}, {1, 0, ECX, 19, "sse4.1"},
	{1, 0, ECX, 20, "sse4.2"}, {1, 0, ECX, 22, "movbe"},
	{1, 0, ECX, 23, "popcnt"}, {1, 0, ECX, 25, "aes"},
	{1, 0, ECX, 26, "xsave"}, {1, 0, ECX, 28, "avx"},
	{1, 0, ECX, 29, "f16c"}, {1, 0, ECX, 30, "rdrand"},
	{7, 0, EBX, 0, "fsgsbase"}, {7, 0, EBX, 3, "bmi1"},
	{7, 0, EBX, 4, "hle"}, {7, 0, EBX, 5, "avx2"},
	{7, 0, EBX, 8, "bmi2"}, {7, 0, EBX, 11, "rtm"},
	{7, 0, EBX, 16, "avx512f"}, {7, 0, EBX, 17, "avx512dq"},
	{7, 0, EBX, 18, "rdseed"}, {7, 0, EBX, 19, "adx"},
	{7, 0, EBX, 21, "avx512ifma"}, {7, 0, EBX, 23, "clflushopt"},
	{7, 0, EBX, 24, "clwb"}, {7, 0, EBX, 26, "avx512pf"},
	{7, 0, EBX, 27, "avx512er"}, {7, 0, EBX, 28, "avx512cd"},
	{7, 0, EBX, 29, "sha"}, {7, 0, EBX, 30, "avx512bw"},
	{7, 0, EBX, 31, "avx512vl"},
	{7, 0, ECX, 1, "avx512vbmi"}, {7, 0, ECX, 5, "waitpkg"},
	{7, 0, ECX, 6, "avx512vbmi2"}, {7, 0, ECX, 8, "gfni"},
	{7, 0, ECX, 9, "vaes"}, {7, 0, ECX, 10, "vpclmulqdq"},
	{7, 0, ECX, 11, "avx512vnni"}, {7, 0, ECX, 12, "avx512bitalg"},
	{7, 0, ECX, 14, "avx512vpopcntdq"}, {7, 0, ECX, 22, "rdpid"},
	{7, 0, ECX, 25, "cldemote"}, {7, 0, ECX, 27, "movdiri"},
	{7, 0, ECX, 28, "movdir64b"},
	{7, 0, EDX, 2, "avx512_4vnniw"}, {7, 0, EDX, 3, "avx512_4fmaps"},
	{7, 0, EDX, 8, "avx512vp2intersect"}, {7, 0, EDX, 14, "serialize"},
	{7, 0, EDX, 22, "amx-bf16"}, {7, 0, EDX, 23, "avx512fp16"},
	{7, 0, EDX, 24, "amx-tile"}, {7, 0, EDX, 25, "amx-int8"},
	{7, 1, EAX, 0, "sha512"}, {7, 1, EAX, 1, "sm3"},
	{7, 1, EAX, 2, "sm4"}, {7, 1, EAX, 4, "avx-vnni"},
	{7, 1, EAX, 5, "avx512bf16"}, {7, 1, EAX, 7, "cmpccxadd"},
	{7, 1, EAX, 23, "avx-ifma"}, {7, 1, EDX, 4, "avx-vnni-int8"},
	{7, 1, EDX, 5, "avx-ne-convert"}, {7, 1, EDX, 10, "avx-vnni-int16"},
	{7, 1, EDX, 19, "avx10"}, {7, 1, EDX, 21, "apx"},
	{0xd, 1, EAX, 0, "xsaveopt"}, {0xd, 1, EAX, 1, "xsavec"},
	{0xd, 1, EAX, 2, "xgetbv1"},
	{0x80000001, 0, ECX, 0, "lahf"}, {0x80000001, 0, ECX, 5, "lzcnt"},
	{0x80000001, 0, ECX, 6, "sse4a"}, {0x80000001, 0, ECX, 7, "misalignsse"},
	{0x80000001, 0, ECX, 8, "prefetchw"}, {0x80000001, 0, ECX, 11, "xop"},
	{0x80000001, 0, ECX, 15, "lwp"}, {0x80000001, 0, ECX, 16, "fma4"},
	{0x80000001, 0, ECX, 21, "tbm"}, {0x80000001, 0, ECX, 29, "mwaitx"},
	{0x80000001, 0, EDX, 27, "rdtscp"}, {0x80000001, 0, EDX, 31, "3dnow"},
	{0x80000008, 0, EBX, 0, "clzero"}, {0x80000008, 0, EBX, 4, "rdpru"},
};
/* clang-format on */

/* lzcnt is bsr, and tzcnt bsf, with a prefix that older processors ignore. */
static const char *const mistaken[] = {"lzcnt", "bmi1"};

/* replay_enter.S. */
static const char *const needed[] = {"xsave", "avx", "fsgsbase"};

/* A `cpuid` line: leaf.sub:eax,ebx,ecx,edx. */
static int parse_leaf(const char *text, uint32_t *leaf, uint32_t *sub,
		      uint32_t regs[4])
{
	char *at;

	*leaf = (uint32_t)strtoul(text, &at, 16);
	if (*at != '.')
		return -1;
	*sub = (uint32_t)strtoul(at + 1, &at, 16);
	for (int i = 0; i < 4; i++) {
		if (*at != (i == 0 ? ':' : ','))
			return -1;
		regs[i] = (uint32_t)strtoul(at + 1, &at, 16);
	}
	return *at == '\0' ? 0 : -1;
}

static void read_leaf(uint32_t leaf, uint32_t sub, uint32_t regs[4])
{
	memset(regs, 0, 4 * sizeof regs[0]);
	if ((unsigned)__get_cpuid_max(leaf & 0x80000000, NULL) >= leaf)
		__cpuid_count(leaf, sub, regs[0], regs[1], regs[2], regs[3]);
}

struct list {
	char *at; /* borrowed */
	size_t size, len;
	int is_full;
};

/* Whole names only; where there is no room for more, dots. */
static void add(struct list *l, const char *name)
{
	static const char more[] = ", ...";
	size_t len = strlen(name) + (l->len > 0 ? 2 : 0);

	if (l->is_full)
		return;
	if (l->len + len + sizeof more > l->size) {
		l->is_full = 1;
		snprintf(l->at + l->len, l->size - l->len, "%s", more);
		return;
	}
	snprintf(l->at + l->len, l->size - l->len, "%s%s",
		 l->len > 0 ? ", " : "", name);
	l->len += len;
}

static int is_among(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return 1;
	return 0;
}

/* What theirs has and ours lacks; of it all, or (some) what is mistaken. */
static void add_missing(struct list *l, uint32_t leaf, uint32_t sub,
			const uint32_t theirs[4], int some)
{
	uint32_t ours[4];

	read_leaf(leaf, sub, ours);
	for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
		const struct feature *f = &features[i];

		if (f->leaf == leaf && f->sub == sub &&
		    (theirs[f->reg] & ~ours[f->reg]) >> f->bit & 1 &&
		    (!some || is_among(f->name, mistaken,
				       sizeof mistaken / sizeof mistaken[0])))
			add(l, f->name);
	}
}

/* Components of extended registers that are another size, or (unless `some`)
 * not there. */
static void add_components(const struct recording *r, struct list *l, int some)
{
	for (unsigned i = 2; i < 63; i++) {
		uint32_t here[4];
		const char *text;
		char key[32];

		snprintf(key, sizeof key, "xstate_%u", i);
		text = recording_meta(r, key);
		text = text == NULL ? NULL : strchr(text, ',');
		if (text == NULL)
			continue;
		read_leaf(0xd, i, here);
		if (strtoul(text + 1, NULL, 10) != here[EAX] &&
		    (!some || here[EAX] != 0))
			add(l, key);
	}
}

static void add_all(const struct recording *r, struct list *l, int some)
{
	const char *text;

	for (unsigned i = 0; (text = recording_meta_nth(r, "cpuid", i)) != NULL;
	     i++) {
		uint32_t leaf, sub, regs[4];

		if (parse_leaf(text, &leaf, &sub, regs) == 0)
			add_missing(l, leaf, sub, regs, some);
	}
	add_components(r, l, some);
}

int recording_cpu_missing(const struct recording *r, char *out, size_t size)
{
	struct list l = {.at = out, .size = size};

	out[0] = '\0';
	add_all(r, &l, 0);
	return l.len > 0;
}

int recording_cpu_refuses(const struct recording *r, char *out, size_t size)
{
	struct list l = {.at = out, .size = size};

	out[0] = '\0';
	for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
		const struct feature *f = &features[i];
		uint32_t ours[4];

		if (!is_among(f->name, needed,
			      sizeof needed / sizeof needed[0]))
			continue;
		read_leaf(f->leaf, f->sub, ours);
		if (!(ours[f->reg] >> f->bit & 1))
			add(&l, f->name);
	}
	add_all(r, &l, 1);
	return l.len > 0;
}
