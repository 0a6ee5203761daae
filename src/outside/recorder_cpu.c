/* outside/recorder_cpu.c - the processor that a recording was made on.
 *
 * Programs choose their code by what the processor can. To replay it another
 * one must be able to do as much, and store its extended registers alike. */
#include "outside/recorder_priv.h"

#include <cpuid.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct leaf {
	uint32_t leaf, sub;
};

/* Those that say what a program may execute, and how its state is stored. */
static const struct leaf leaves[] = {
    {0, 0},	     {1, 0},	      {7, 0},	       {7, 1},
    {7, 2},	     {0xd, 0},	      {0xd, 1},	       {0x14, 0},
    {0x15, 0},	     {0x16, 0},	      {0x19, 0},       {0x1d, 0},
    {0x1e, 0},	     {0x24, 0},	      {0x80000000, 0}, {0x80000001, 0},
    {0x80000007, 0}, {0x80000008, 0}, {0x80000021, 0},
};

enum { XSTATE_MAX = 63, XSTATE_LEAF = 0xd };

static void add_leaves(struct file_text *t)
{
	for (size_t i = 0; i < sizeof leaves / sizeof leaves[0]; i++) {
		const struct leaf *l = &leaves[i];
		uint32_t a, b, c, d;
		char text[64];

		if ((unsigned)__get_cpuid_max(l->leaf & 0x80000000, NULL) <
		    l->leaf)
			continue;
		__cpuid_count(l->leaf, l->sub, a, b, c, d);
		snprintf(text, sizeof text, "%x.%x:%08x,%08x,%08x,%08x",
			 l->leaf, l->sub, a, b, c, d);
		file_text_add(t, "cpuid", text);
	}
}

static void add_names(struct file_text *t)
{
	enum { BRAND = 0x80000002 };
	uint32_t r[12] = {0}, max;
	char vendor[13] = {0}, brand[49] = {0};

	__cpuid(0, max, r[0], r[2], r[1]);
	memcpy(vendor, r, 12);
	file_text_add(t, "cpu_vendor", vendor);
	if (max == 0 ||
	    (unsigned)__get_cpuid_max(0x80000000, NULL) < BRAND + 2u)
		return;
	for (uint32_t i = 0, *at = r; i < 3; i++, at += 4)
		__cpuid(BRAND + i, at[0], at[1], at[2], at[3]);
	memcpy(brand, r, 48);
	file_text_add(t, "cpu_model", brand);
}

/* xgetbv, spelled out: it needs no compiler flag then. */
static uint64_t read_xcr0(void)
{
	uint32_t a, b, c, d;

	__cpuid(1, a, b, c, d);
	if ((c & bit_OSXSAVE) == 0)
		return 3;
	__asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	return (uint64_t)d << 32 | a;
}

static void add_xstate(struct file_text *t)
{
	uint64_t xcr0 = read_xcr0();
	char text[64];

	snprintf(text, sizeof text, "%lx", (unsigned long)xcr0);
	file_text_add(t, "xcr0", text);
	for (unsigned i = 2; i < XSTATE_MAX; i++) {
		uint32_t size, offset, c, d;
		char key[32];

		if ((xcr0 >> i & 1) == 0)
			continue;
		__cpuid_count(XSTATE_LEAF, i, size, offset, c, d);
		snprintf(key, sizeof key, "xstate_%u", i);
		snprintf(text, sizeof text, "%u,%u", offset, size);
		file_text_add(t, key, text);
	}
}

static void add_clock(struct file_text *t)
{
	char name[64];
	uint32_t den, num, hz, d;
	int fd = open("/sys/devices/system/clocksource/clocksource0/"
		      "current_clocksource",
		      O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, name, sizeof name - 1);

	if (fd >= 0)
		close(fd);
	if (n > 0) {
		name[n] = '\0';
		name[strcspn(name, "\n")] = '\0';
		file_text_add(t, "clocksource", name);
	}
	if (__get_cpuid_max(0, NULL) < 0x15)
		return;
	__cpuid(0x15, den, num, hz, d);
	if (den != 0 && num != 0 && hz != 0)
		file_text_number(t, "tsc_hz",
				 (int64_t)((uint64_t)hz * num / den));
}

void recorder_add_cpu(struct file_text *t)
{
	add_names(t);
	add_leaves(t);
	add_xstate(t);
	add_clock(t);
}
