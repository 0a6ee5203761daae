/* record/xstate.c - extended registers, compared. */
#include "record/xstate.h"

#include "base/fmt.h"
#include "record/stream.h"

#include <cpuid.h>
#include <stdlib.h>
#include <string.h>

/* Offsets in what fxsave stores. */
enum {
	FX_FCW = 0,
	FX_FSW = 2,
	FX_FTW = 4,
	FX_MXCSR = 24,
	FX_MXCSR_MASK = 28,
	FX_ST = 32,
	FX_XMM = 160,
	FX_LEN = 512,
};

/* The component of PKRU, which replay keeps as data on every machine. */
enum { PKRU = 9, PKRU_LEN = 8 };

static uint32_t mxcsr_here(void)
{
	enum { USUAL = 0xffbf }; /* of processors that do not tell */
	uint8_t fx[FX_LEN] __attribute__((aligned(16))) = {0};
	uint32_t mask;

	__asm__ volatile("fxsave64 %0" : "+m"(fx));
	memcpy(&mask, fx + FX_MXCSR_MASK, sizeof mask);
	return mask != 0 ? mask : USUAL;
}

void xstate_layout_here(struct xstate_layout *out)
{
	unsigned a, b, c, d;

	memset(out, 0, sizeof *out);
	out->mxcsr = mxcsr_here();
	out->size[PKRU] = PKRU_LEN;
	if (__get_cpuid_max(0, NULL) < 0xd)
		return;
	for (unsigned i = 2; i < XSTATE_COMPONENTS; i++) {
		__cpuid_count(0xd, i, a, b, c, d);
		if ((c & 1) == 0 && a > 0) /* not one of the system's own */
			out->size[i] = (uint16_t)a;
	}
}

/* META has a line xstate_N=OFFSET,SIZE for each component. */
void xstate_layout_of(const struct recording *r, struct xstate_layout *out)
{
	char key[16];

	xstate_layout_here(out);
	for (unsigned i = 2; i < XSTATE_COMPONENTS; i++) {
		const char *value;

		fmt_text(key, sizeof key, "xstate_%u", i);
		value = recording_meta(r, key);
		value = value == NULL ? NULL : strchr(value, ',');
		if (value != NULL)
			out->size[i] = (uint16_t)strtoul(value + 1, NULL, 10);
	}
}

static uint64_t mask_of(const uint8_t *bytes)
{
	uint64_t mask;

	memcpy(&mask, bytes, sizeof mask);
	return mask;
}

int xstate_check(const struct xstate_layout *l, const uint8_t *bytes,
		 uint32_t len)
{
	uint32_t want = RECORD_XSTATE_MIN, mxcsr;
	uint64_t mask;

	if (len < RECORD_XSTATE_MIN)
		return -1;
	memcpy(&mxcsr, bytes + 8 + FX_MXCSR, sizeof mxcsr);
	if ((mxcsr & ~l->mxcsr) != 0)
		return -1;
	mask = mask_of(bytes);
	for (unsigned i = 2; i < 64; i++) {
		if ((mask >> i & 1) == 0)
			continue;
		if (i >= XSTATE_COMPONENTS || l->size[i] == 0)
			return -1;
		want += l->size[i];
	}
	return want == len ? 0 : -1;
}

/* -- What fxsave stores -- */

/* One register or field of it. */
struct field {
	const char *name; /* with its number, if it has one */
	unsigned component, at, len, n, step;
	uint32_t initial; /* all n; bytes beyond the fourth are 0 */
};

static const struct field fields[] = {
    {"fcw", 0, FX_FCW, 2, 1, 0, 0x37f}, {"fsw", 0, FX_FSW, 2, 1, 0, 0},
    {"ftw", 0, FX_FTW, 1, 1, 0, 0},	{"st", 0, FX_ST, 10, 8, 16, 0},
    {"xmm", 1, FX_XMM, 16, 16, 16, 0},
};

static const uint8_t *field_of(const uint8_t *xstate, const struct field *f,
			       unsigned i, uint8_t initial[16])
{
	memset(initial, 0, 16);
	memcpy(initial, &f->initial, sizeof f->initial);
	if ((mask_of(xstate) >> f->component & 1) == 0)
		return initial;
	return xstate + 8 + f->at + (size_t)i * f->step;
}

static void say_bytes(char *text, size_t size, const uint8_t *bytes,
		      unsigned len)
{
	size_t at = 0;

	for (unsigned i = len; i-- > 0 && at < size;)
		at += fmt_text(text + at, size - at, "%02x", bytes[i]);
}

/* Of what is longer than 16 bytes, the 16 around the first difference. */
static int differ(const char *name, const uint8_t *recorded,
		  const uint8_t *replayed, unsigned len, char *text,
		  size_t size)
{
	char was[33], is[33];
	unsigned at = 0;

	if (memcmp(recorded, replayed, len) == 0)
		return 0;
	while (recorded[at] == replayed[at])
		at++;
	at &= ~15u;
	len = len - at < 16 ? len - at : 16;
	say_bytes(was, sizeof was, recorded + at, len);
	say_bytes(is, sizeof is, replayed + at, len);
	if (at > 0)
		fmt_text(text, size, "%s from byte %u on is %s, recorded %s",
			 name, at, is, was);
	else
		fmt_text(text, size, "%s is %s, recorded %s", name, is, was);
	return 1;
}

static int compare_fxsave(const uint8_t *recorded, const uint8_t *replayed,
			  char *text, size_t size)
{
	uint8_t a[16], b[16];
	char name[16];

	for (size_t k = 0; k < sizeof fields / sizeof fields[0]; k++) {
		const struct field *f = &fields[k];

		for (unsigned i = 0; i < f->n; i++) {
			fmt_text(name, sizeof name, f->n > 1 ? "%s%u" : "%s",
				 f->name, i);
			if (differ(name, field_of(recorded, f, i, a),
				   field_of(replayed, f, i, b), f->len, text,
				   size))
				return 1;
		}
	}
	return differ("mxcsr", recorded + 8 + FX_MXCSR, replayed + 8 + FX_MXCSR,
		      4, text, size);
}

/* -- The other components -- */

static const struct {
	const char *name; /* of its registers, */
	unsigned first;	  /* numbered from this, */
	unsigned len;	  /* each so long */
} registers[] = {
    [2] = {"upper half of ymm", 0, 16},
    [3] = {"bnd", 0, 16},
    [4] = {"bndcsr", 0, 16},
    [5] = {"k", 0, 8},
    [6] = {"upper half of zmm", 0, 32},
    [7] = {"zmm", 16, 64},
    [PKRU] = {"pkru", 0, PKRU_LEN},
};

/* Where component i lies; NULL: in its initial state, which is zeros. */
static const uint8_t *component_of(const struct xstate_layout *l,
				   const uint8_t *bytes, unsigned i)
{
	uint64_t mask = mask_of(bytes);
	size_t at = RECORD_XSTATE_MIN;

	if ((mask >> i & 1) == 0)
		return NULL;
	for (unsigned k = 2; k < i; k++)
		if ((mask >> k & 1) != 0)
			at += l->size[k];
	return bytes + at;
}

static int compare_piece(unsigned i, unsigned at, unsigned len,
			 const uint8_t *a, const uint8_t *b, char *text,
			 size_t size)
{
	static const uint8_t zeros[64];
	char name[48];

	if (i < sizeof registers / sizeof registers[0] && registers[i].len != 0)
		fmt_text(name, sizeof name, "%s%u", registers[i].name,
			 registers[i].first + at / registers[i].len);
	else
		fmt_text(name, sizeof name, "extended state %u at %u", i, at);
	return differ(name, a == NULL ? zeros : a + at,
		      b == NULL ? zeros : b + at, len, text, size);
}

static int compare_component(const struct xstate_layout *l, unsigned i,
			     const uint8_t *recorded, const uint8_t *replayed,
			     char *text, size_t size)
{
	const uint8_t *a = component_of(l, recorded, i);
	const uint8_t *b = component_of(l, replayed, i);
	unsigned step = 64, len;

	if (a == NULL && b == NULL)
		return 0;
	if (i < sizeof registers / sizeof registers[0] && registers[i].len != 0)
		step = registers[i].len;
	for (unsigned at = 0; at < l->size[i]; at += len) {
		len = l->size[i] - at < step ? l->size[i] - at : step;
		if (compare_piece(i, at, len, a, b, text, size))
			return 1;
	}
	return 0;
}

int xstate_compare(const struct xstate_layout *l, const uint8_t *recorded,
		   const uint8_t *replayed, char *text, size_t size)
{
	if (compare_fxsave(recorded, replayed, text, size))
		return 1;
	for (unsigned i = 2; i < XSTATE_COMPONENTS; i++)
		if (compare_component(l, i, recorded, replayed, text, size))
			return 1;
	return 0;
}
