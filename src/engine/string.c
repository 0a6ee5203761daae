/* engine/string.c - string instructions of a program that is recorded or
 * replayed.
 *
 * The engine does them itself, a part at a time (N4 of wire/record.h): what is
 * read comes from the shadow, corrected first if it is recorded; what is
 * written goes to memory, if there is any, and then to the shadow.
 *
 * Y1  How long a part is depends on registers alone, so that replay makes the
 *     same ones.
 * Y2  If memory cannot be read or written, the part has done nothing to the
 *     shadow. What it did to memory shows in the registers, and the CPU does
 *     the rest, in its own way: it faults.
 * Y3  What is compared with what lies 4 GiB away has one place in the shadow
 *     for both: that is for the CPU, too. */
#include "engine/string.h"

#include "engine/shadow.h"
#include "engine/tape.h"
#include "inside/mem.h"
#include "inside/sys.h"
#include "x86/decode.h"

enum { RAX = 0, RCX = 1, RSI = 6, RDI = 7 };
enum { FLAG_ZF = 0x40, FLAG_DF = 0x400, FLAGS_STATUS = 0x8d5 };

struct part {
	struct vcpu *v;
	struct x86_insn x;
	unsigned size; /* of an element */
	uint64_t n;    /* elements of this part */
	uint64_t done; /* of them */
	uint64_t fs;   /* added to what rsi addresses, in memory only */
	int64_t step;  /* of the pointers */
	uint32_t repeats;
	uint32_t found; /* repe, repne: it is over */
};

/* -- Memory and shadow ----------------------------------------------------- */

static uint8_t *shadow(const struct vcpu *v, uint64_t address)
{
	return (uint8_t *)(vcpu_gs(v) + (uint32_t)(address + WIRE_SHADOW_SKEW));
}

/* The lowest address of the part's elements. */
static uint64_t lowest(const struct part *p, uint64_t first)
{
	return p->step > 0 ? first : first - (p->n - 1) * p->size;
}

/* The shadow is right for the elements that a pointer names. */
static int check(const struct part *p, unsigned reg, uint64_t fs)
{
	struct vcpu *v = p->v;
	uint64_t at = lowest(p, v->gpr[reg]);

	return v->tape ? tape_read(v, at, fs, p->n * p->size) : 0;
}

/* What `from` holds, to where rdi points. -1: .done elements got there. */
static int store(struct part *p, const uint8_t *from)
{
	struct vcpu *v = p->v;
	uint64_t at = lowest(p, v->gpr[RDI]), len = p->n * p->size;

	if (v->tape) {
		uint64_t left = guest_copy((void *)at, from, len);

		if (left != 0) {
			p->done = p->step > 0 ? (len - left) / p->size : 0;
			return -1;
		}
	}
	memmove(shadow(v, at), from, len);
	p->done = p->n;
	return 0;
}

/* -- One kind each: 0, or -1: the CPU shall do the rest -------------------- */

/* How far the destination is ahead of the source, in the direction of the
 * copy. */
static uint64_t ahead(const struct part *p)
{
	uint64_t by = p->v->gpr[RDI] - p->v->gpr[RSI];

	return p->step > 0 ? by : -by;
}

/* Upwards, a whole number of elements ahead: what is copied comes again and
 * again. */
static int repeats_itself(const struct part *p)
{
	uint64_t by = ahead(p);

	return p->step > 0 && by != 0 && by % p->size == 0 &&
	       by < WIRE_STRING_PART;
}

static int do_period(struct part *p)
{
	struct part first = *p;
	uint64_t by = ahead(p), len = p->n * p->size;
	uint8_t buf[WIRE_STRING_PART];

	first.n = by / p->size < p->n ? by / p->size : p->n;
	if (check(&first, RSI, p->fs) < 0)
		return -1;
	memcpy(buf, shadow(p->v, p->v->gpr[RSI]), first.n * p->size);
	for (uint64_t i = by; i < len; i++)
		buf[i] = buf[i - by]; /* NOLINT: the first `by` bytes are set */
	return store(p, buf);
}

/* Of a part that lies across the shadow's end, bytes have two addresses, and
 * memmove cannot see which of them overlap. */
static int lies_across(const struct part *p, unsigned reg)
{
	uint64_t at = lowest(p, p->v->gpr[reg]) + WIRE_SHADOW_SKEW;

	return shadow_wraps((uint32_t)at, p->n * p->size);
}

static int do_movs_across(struct part *p)
{
	uint8_t buf[WIRE_STRING_PART];

	memcpy(buf, shadow(p->v, lowest(p, p->v->gpr[RSI])), p->n * p->size);
	return store(p, buf);
}

static int do_movs(struct part *p)
{
	if (repeats_itself(p))
		return do_period(p);
	if (check(p, RSI, p->fs) < 0)
		return -1;
	if (lies_across(p, RSI) || lies_across(p, RDI))
		return do_movs_across(p);
	return store(p, shadow(p->v, lowest(p, p->v->gpr[RSI])));
}

static int do_stos(struct part *p)
{
	uint8_t pattern[WIRE_STRING_PART];

	uint64_t word = p->v->gpr[RAX];

	if (p->size == 1)
		word = (word & 0xff) * 0x0101010101010101ull;
	else if (p->size == 2)
		word = (word & 0xffff) * 0x0001000100010001ull;
	else if (p->size == 4)
		word = (uint32_t)word * 0x0000000100000001ull;
	for (uint64_t i = 0; i < p->n * p->size; i += sizeof word)
		__builtin_memcpy(pattern + i, &word, sizeof word);
	return store(p, pattern);
}

static void set_rax(struct vcpu *v, uint64_t value, unsigned size)
{
	if (size == 4)
		v->gpr[RAX] = (uint32_t)value;
	else
		memcpy(&v->gpr[RAX], &value, size);
}

static int do_lods(struct part *p)
{
	uint64_t last = 0;
	uint64_t at = p->v->gpr[RSI] + (p->n - 1) * (uint64_t)p->step;

	if (check(p, RSI, p->fs) < 0)
		return -1;
	memcpy(&last, shadow(p->v, at), p->size);
	set_rax(p->v, last, p->size);
	p->done = p->n;
	return 0;
}

/* Flags as `cmp a, b` leaves them. */
static void compare(struct vcpu *v, uint64_t a, uint64_t b, unsigned size)
{
	unsigned shift = 64 - 8 * size;
	uint64_t flags, low;

	/* At the top of a word all flags but AF and PF come out right. */
	__asm__("cmp %2, %1\n\tpushfq\n\tpop %0"
		: "=r"(flags)
		: "r"(a << shift), "r"(b << shift)
		: "cc");
	__asm__("cmp %b2, %b1\n\tpushfq\n\tpop %0"
		: "=r"(low)
		: "q"(a), "q"(b)
		: "cc");
	flags = (flags & ~0x14ull) | (low & 0x14);
	v->rflags =
	    (v->rflags & ~(uint64_t)FLAGS_STATUS) | (flags & FLAGS_STATUS);
}

static uint64_t element(const struct part *p, unsigned reg, uint64_t i)
{
	uint64_t value = 0;
	uint64_t at = p->v->gpr[reg] + i * (uint64_t)p->step;

	memcpy(&value, shadow(p->v, at), p->size);
	return value;
}

static int stops(const struct part *p)
{
	int equal = (p->v->rflags & FLAG_ZF) != 0;

	return p->repeats && (p->x.prefixes & X86_P_F3 ? !equal : equal);
}

/* Elements at the start of a part that are the same on both sides; all but the
 * last, whose flags are wanted. */
static uint64_t same_ones(const struct part *p)
{
	const uint8_t *a = shadow(p->v, p->v->gpr[RSI]);
	const uint8_t *b = shadow(p->v, p->v->gpr[RDI]);
	uint64_t len = (p->n - 1) * p->size, i = 0;

	while (i + sizeof(uint64_t) <= len) {
		uint64_t x, y;

		__builtin_memcpy(&x, a + i, sizeof x);
		__builtin_memcpy(&y, b + i, sizeof y);
		if (x != y)
			break;
		i += sizeof x;
	}
	return i / p->size;
}

/* Both sides have the same place in the shadow, but are not the same memory:
 * it cannot hold both at once. */
static int are_confused(const struct part *p)
{
	uint64_t by = p->v->gpr[RDI] - p->v->gpr[RSI];
	uint64_t near = p->n * p->size + WIRE_GRANULE;

	if (p->fs == 0 && (by < near || -by < near))
		return 0;
	return (uint32_t)by < near || (uint32_t)-by < near;
}

static int do_compare(struct part *p, int with_rsi)
{
	if (with_rsi && p->v->tape && are_confused(p))
		return -1; /* Y3 */
	if ((with_rsi && check(p, RSI, p->fs) < 0) || check(p, RDI, 0) < 0)
		return -1;
	if (with_rsi && p->step > 0 && p->x.prefixes & X86_P_F3)
		p->done = same_ones(p);
	while (p->done < p->n && !p->found) {
		uint64_t b = element(p, RDI, p->done);
		uint64_t a =
		    with_rsi ? element(p, RSI, p->done) : p->v->gpr[RAX];

		compare(p->v, a, b, p->size);
		p->done++;
		p->found = stops(p);
	}
	return 0;
}

/* -- Parts ----------------------------------------------------------------- */

enum kind { MOVS = 0xa4, CMPS = 0xa6, STOS = 0xaa, LODS = 0xac, SCAS = 0xae };

static unsigned kind_of(const struct x86_insn *x)
{
	return x->opcode & 0xfe;
}

static int do_kind(struct part *p)
{
	switch (kind_of(&p->x)) {
	case MOVS:
		return do_movs(p);
	case STOS:
		return do_stos(p);
	case LODS:
		return do_lods(p);
	case CMPS:
		return do_compare(p, 1);
	case SCAS:
		return do_compare(p, 0);
	default:
		return -1;
	}
}

/* Elements that surely can be read, if the first one can: to the page's end. */
static uint64_t until_page(const struct part *p, unsigned reg)
{
	enum { PAGE = 4096 };
	uint64_t at = p->v->gpr[reg] % PAGE;

	return p->step > 0 ? (PAGE - at) / p->size : at / p->size + 1;
}

/* Y1. Elements that an earlier one of the same part writes are not in it. */
static uint64_t part_length(const struct part *p)
{
	const uint64_t *gpr = p->v->gpr;
	uint64_t n = WIRE_STRING_PART / p->size;

	if (!p->repeats)
		return 1;
	if (kind_of(&p->x) == MOVS && ahead(p) != 0 && !repeats_itself(p) &&
	    ahead(p) / p->size < n)
		n = ahead(p) / p->size;
	if (kind_of(&p->x) == CMPS && until_page(p, RSI) < n)
		n = until_page(p, RSI);
	if ((kind_of(&p->x) == CMPS || kind_of(&p->x) == SCAS) &&
	    until_page(p, RDI) < n)
		n = until_page(p, RDI); /* who knows how far it may read */
	if (n == 0)
		n = 1;
	return n < gpr[RCX] ? n : gpr[RCX];
}

static void move_on(const struct part *p)
{
	uint64_t *gpr = p->v->gpr;
	uint64_t by = p->done * (uint64_t)p->step;

	if (kind_of(&p->x) != STOS && kind_of(&p->x) != SCAS)
		gpr[RSI] += by;
	if (kind_of(&p->x) != LODS)
		gpr[RDI] += by;
	if (p->repeats)
		gpr[RCX] -= p->done;
}

/* 1: it is done. 0: there is more. -1: for the CPU. */
static int do_part(struct part *p)
{
	int rc;

	p->done = 0;
	if (p->repeats && p->v->gpr[RCX] == 0)
		return 1;
	p->n = part_length(p);
	rc = do_kind(p);
	if (rc < 0 && p->v->tape)
		tape_note(p->v, WIRE_STATE_STEP, p->v->pc, 0);
	move_on(p);
	if (rc < 0)
		return -1;
	return !p->repeats || p->v->gpr[RCX] == 0 || p->found;
}

static unsigned element_size(const struct x86_insn *x)
{
	if (!(x->opcode & 1))
		return 1;
	return x->rex & 8 ? 8 : x->prefixes & X86_P_66 ? 2 : 4;
}

int string_do(struct vcpu *v, const uint8_t *code, unsigned have)
{
	struct part p = {.v = v};
	int rc;

	if (x86_decode(code, have, &p.x) != X86_OK)
		return -1;
	p.size = element_size(&p.x);
	p.step = v->rflags & FLAG_DF ? -(int64_t)p.size : (int64_t)p.size;
	p.repeats = (p.x.prefixes & (X86_P_F2 | X86_P_F3)) != 0;
	if (p.x.seg == 0x64 && v->tape)
		p.fs = sys_fs_base();
	while ((rc = do_part(&p)) == 0) {
		v->budget--; /* N4 */
		if (v->budget < 0 || v->held)
			return 0;
	}
	if (rc > 0)
		v->pc += p.x.len;
	return rc < 0 ? -1 : 0;
}
