/* record/collect_load.c - what a recorded thread finds in memory.
 *
 * A miss is the common case: memory at a load is not what the shadow holds.
 * Whole granules are logged, since neighbours are wanted soon. Memory is read
 * by words, so that no aligned value of the program is ever torn. */
#include "record/collect_priv.h"

#include "engine/cache.h"
#include "inside/mem.h"
#include "inside/sys.h"
#include "x86/decode.h"

static uint8_t *shadow_at(const struct vcpu *v, uint64_t address)
{
	return (uint8_t *)(vcpu_gs(v) + (uint32_t)(address + WIRE_SHADOW_SKEW));
}

/* -- What memory held ------------------------------------------------------ */

static void put_granule(struct vcpu *v, uint64_t pc, uint32_t index,
			const uint64_t *words)
{
	struct tape *t = v->tape;
	uint8_t *at = put_begin(v->engine, &t->pen, WIRE_REC_GRANULE, 0,
				POSITION_MAX + 4 + WIRE_GRANULE);

	if (!at)
		return;
	at = put_position(t, at, vcpu_count(v), pc);
	at = put_word(at, index / WIRE_GRANULE);
	__builtin_memcpy(at, words, WIRE_GRANULE);
	put_end(&t->pen, at + WIRE_GRANULE);
}

/* BYTES, as far as the bytes themselves. time: when they were found there; NULL
 * if that need not be told. */
static uint8_t *begin_bytes(struct vcpu *v, uint64_t pc, uint32_t index,
			    uint32_t len, const uint64_t *time, unsigned info)
{
	struct tape *t = v->tape;
	uint8_t *at = put_begin(v->engine, &t->pen, WIRE_REC_BYTES,
				time ? info | WIRE_BYTES_SEEN : info,
				POSITION_MAX + VARINT_MAX + 4 + len);

	if (!at)
		return 0;
	at = put_position(t, at, vcpu_count(v), pc);
	if (time) {
		at = put_varint(at, *time - t->last_tsc);
		t->last_tsc = *time;
	}
	return put_word(at, index);
}

static void put_raw(struct vcpu *v, uint64_t pc, uint32_t index,
		    const void *bytes, uint32_t len, const uint64_t *time)
{
	uint8_t *at = begin_bytes(v, pc, index, len, time, 0);

	if (at)
		put_end(&v->tape->pen, put_bytes(at, bytes, len));
}

/* A granule is not what the shadow has, so somebody else was there: when that
 * was seen, and what is there now. Of a granule that the thread has seen
 * before, from the first word that differs to the last. */
static void put_seen(struct vcpu *v, uint64_t pc, uint32_t index,
		     const uint64_t *now, const uint64_t *shadow, int known)
{
	uint64_t time = order_clock();
	unsigned first = 0, end = 4;
	uint8_t *at;

	while (known && first < 3 && now[first] == shadow[first])
		first++;
	while (known && end > first + 1 && now[end - 1] == shadow[end - 1])
		end--;
	at = begin_bytes(v, pc, index - index % WIRE_GRANULE + 8 * first,
			 WIRE_GRANULE, &time, 0);
	if (!at)
		return;
	for (; first < end; first++, at += 8)
		__builtin_memcpy(at, &now[first], 8);
	put_end(&v->tape->pen, at);
}

/* At most 8 bytes, out of a register. */
static void put_value(struct vcpu *v, uint64_t pc, uint32_t index,
		      uint64_t value, uint32_t len, const uint64_t *time)
{
	uint8_t *at = begin_bytes(v, pc, index, sizeof value, time, 0);

	if (!at)
		return;
	__builtin_memcpy(at, &value, sizeof value);
	put_end(&v->tape->pen, at + len);
}

void load_at_index(struct vcpu *v, uint64_t pc, uint64_t address,
		   uint64_t offset, uint64_t left)
{
	enum { PIECE = 16384 };

	while (left > 0) {
		uint32_t index = (uint32_t)(offset + WIRE_SHADOW_SKEW);
		uint64_t room = WIRE_SHADOW_SIZE - index;
		uint32_t len = left < PIECE ? (uint32_t)left : PIECE;
		uint8_t *shadow = (uint8_t *)(vcpu_gs(v) + index);

		if (len > room) /* the index begins again at 0 */
			len = (uint32_t)room;
		if (guest_copy(shadow, (const void *)address, len) != 0)
			return;
		put_raw(v, pc, index, shadow, len, 0);
		address += len;
		offset += len;
		left -= len;
	}
}

void load_memory(struct vcpu *v, uint64_t pc, uint64_t address, uint64_t len)
{
	load_at_index(v, pc, address, address, len);
}

/* -- Filling the shadow --------------------------------------------------- */

static int same_words(const uint64_t *a, const uint64_t *b)
{
	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

/* Has the thread been here since its last key frame? If it has found or put
 * nothing but zeros there, one cannot tell. */
static int is_known(const uint64_t *words)
{
	return (words[0] | words[1] | words[2] | words[3]) != 0;
}

/* Not what is reached through fs: its index is another. */
static void remember(struct tape *t, uint64_t memory, uint32_t index, int known)
{
	enum { LAST = TAPE_SEEN - 1 };

	if ((uint32_t)(memory + WIRE_SHADOW_SKEW) == index)
		t->seen[known ? index / WIRE_GRANULE % LAST : LAST] = memory;
}

/* Whatever was not foreseen may be another thread's doing, even what is seen
 * for the first time: a thread that has company tells when it was. */
static void put_change(struct vcpu *v, uint64_t pc, uint64_t memory,
		       uint32_t index, const uint64_t *now,
		       const uint64_t *shadow)
{
	int known = is_known(shadow);

	v->tape->fills += !known;
	if (v->engine->has_company) {
		remember(v->tape, memory, index, known);
		put_seen(v, pc, index, now, shadow, known);
	} else {
		put_granule(v, pc, index, now);
	}
}

/* Part of a granule, where the rest cannot be read. -1: nor can this. */
static int refill_part(struct vcpu *v, uint64_t pc, uint64_t memory,
		       uint32_t index, uint32_t len)
{
	uint8_t now[WIRE_GRANULE];
	uint8_t *shadow = (uint8_t *)(vcpu_gs(v) + index);

	if (guest_copy(now, (const void *)memory, len) != 0)
		return -1;
	if (memcmp(now, shadow, len) != 0) {
		uint64_t time = order_clock();

		put_raw(v, pc, index, now, len,
			v->engine->has_company ? &time : 0);
		memcpy(shadow, now, len);
	}
	return 0;
}

/* The shadow from index on is to hold what memory holds. Granules are aligned
 * as the index is; with fs, memory may be aligned otherwise. */
static int refill(struct vcpu *v, uint64_t pc, uint64_t memory, uint32_t index,
		  uint64_t len)
{
	while (len > 0) {
		uint32_t before = index % WIRE_GRANULE;
		uint32_t here = WIRE_GRANULE - before;
		uint64_t now[4];
		uint64_t *shadow = (void *)(vcpu_gs(v) + (index - before));

		if (here > len)
			here = (uint32_t)len;
		if (guest_words(now, (const void *)(memory - before)) == 0) {
			if (!same_words(now, shadow)) {
				put_change(v, pc, memory - before,
					   index - before, now, shadow);
				__builtin_memcpy(shadow, now, sizeof now);
			}
		} else if (refill_part(v, pc, memory, index, here) < 0) {
			return -1;
		}
		memory += here;
		index += here;
		len -= here;
	}
	return 0;
}

int tape_read(struct vcpu *v, uint64_t address, uint64_t fs, uint64_t len)
{
	return refill(v, v->pc, address + fs,
		      (uint32_t)(address + WIRE_SHADOW_SKEW), len);
}

void load_get_common(const struct vcpu *v, struct common *out)
{
	memcpy(out->memory, v->tape->seen, sizeof out->memory);
	for (unsigned i = 0; i < TAPE_SEEN; i++)
		if (out->memory[i] != 0)
			memcpy(out->words[i], shadow_at(v, out->memory[i]),
			       WIRE_GRANULE);
}

/* As it was before the key. */
static void put_kept(struct vcpu *v, uint64_t memory, const uint64_t *words)
{
	uint8_t *at =
	    begin_bytes(v, v->pc, (uint32_t)(memory + WIRE_SHADOW_SKEW),
			WIRE_GRANULE, 0, WIRE_BYTES_KEPT);

	if (at)
		put_end(&v->tape->pen, put_bytes(at, words, WIRE_GRANULE));
	memcpy(shadow_at(v, memory), words, WIRE_GRANULE);
}

/* Where a key has emptied the shadow, zeros are foreseen; a thread that waits
 * for something to become 0 would find out in silence. So what it had in common
 * with others is looked at again, and it is told when that was. */
void load_again(struct vcpu *v, const struct common *c)
{
	uint64_t now[4];

	for (unsigned i = 0; i < TAPE_SEEN; i++) {
		const void *memory = (const void *)c->memory[i];

		if (memory == 0 || guest_words(now, memory) != 0)
			continue;
		if (same_words(now, c->words[i]))
			put_kept(v, c->memory[i], now);
		else
			tape_read(v, c->memory[i], 0, WIRE_GRANULE);
	}
	order_seen(v, v->pc);
}

/* -- Loads ----------------------------------------------------------------- */

void tape_shadow(struct vcpu *v, uint64_t address, uint32_t len)
{
	put_raw(v, v->pc, (uint32_t)(address + WIRE_SHADOW_SKEW),
		shadow_at(v, address), len, 0);
}

static uint64_t address_at_site(const struct vcpu *v, const struct site *s)
{
	uint64_t address = (uint64_t)s->disp;

	if (s->base < 16)
		address += v->gpr[s->base];
	if (s->index < 16)
		address += v->gpr[s->index] << s->scale;
	return s->flags & SITE_ADDR32 ? (uint32_t)address : address;
}

/* Elements so far apart may have granules at the same place of the shadow,
 * which cannot hold both at once. */
static int are_far_apart(const uint64_t *at, unsigned n)
{
	enum { TWO = 2 * WIRE_GRANULE };
	uint64_t low = UINT64_MAX, high = 0;

	for (unsigned i = 0; i < n; i++) {
		low = at[i] < low ? at[i] : low;
		high = at[i] > high ? at[i] : high;
	}
	return n > 1 && high - low > WIRE_SHADOW_SIZE - TWO;
}

/* Where the elements of a gather are that its mask wants: the mask and the
 * indices are in vcpu.gather. */
static unsigned gathered(const struct vcpu *v, const struct site *s,
			 const struct x86_insn *x, uint64_t out[16])
{
	const uint8_t *indices = (const uint8_t *)&v->gather[1];
	uint64_t base = address_at_site(v, s);
	/* Opcodes 90 to 93: an odd one has indices of 8 bytes. */
	unsigned wide = x->opcode & 1 ? 8 : 4, size = x->row->mem_size;
	unsigned most = 64 / (wide > size ? wide : size), n = 0;

	for (unsigned i = 0; i < most; i++) {
		int64_t index = 0;

		if (!(v->gather[0] >> i & 1))
			continue;
		memcpy(&index, indices + (size_t)i * wide, wide);
		if (wide == 4)
			index = (int32_t)index;
		out[n] = base + ((uint64_t)index << x->scale);
		if (s->flags & SITE_ADDR32)
			out[n] = (uint32_t)out[n];
		n++;
	}
	return n;
}

/* -1: for the CPU. */
static int gather(struct vcpu *v, const struct site *s)
{
	uint64_t at[16], fs = s->flags & SITE_FS ? sys_fs_base() : 0;
	uint8_t code[X86_MAX_LEN];
	unsigned have = sizeof code, n;
	struct x86_insn x;

	have -= (unsigned)guest_copy(code, (const void *)s->pc, have);
	if (x86_decode(code, have, &x) != X86_OK)
		return -1;
	n = gathered(v, s, &x, at);
	if (are_far_apart(at, n))
		return -1;
	for (unsigned i = 0; i < n; i++)
		if (refill(v, s->pc, at[i] + fs,
			   (uint32_t)(at[i] + WIRE_SHADOW_SKEW),
			   x.row->mem_size) < 0)
			return -1;
	return 0;
}

/* Registers that were borrowed are the program's again. */
static void undo_site(struct vcpu *v, const struct site *s)
{
	if (s->temp[0] < 16)
		v->gpr[s->temp[0]] = v->spill[SPILL_ANY];
	if (s->temp[1] < 16)
		v->gpr[s->temp[1]] = v->spill[SPILL_MORE];
	if (s->flags & SITE_SPILLED) {
		v->gpr[X86_RCX] = v->spill[SPILL_RCX];
		v->gpr[X86_R10] = v->spill[SPILL_R10];
	}
	if (s->flags_saved)
		engine_restore_flags(v);
	v->pc = s->pc;
	v->exit_reason = EXIT_STEP; /* it faults, probably */
}

static void store_value(uint8_t *to, uint64_t value, uint32_t len)
{
	uint32_t low = (uint32_t)value;

	if (len == sizeof value)
		__builtin_memcpy(to, &value, sizeof value);
	else if (len == sizeof low)
		__builtin_memcpy(to, &low, sizeof low);
	else
		memcpy(to, &value, len);
}

static const struct site *site_of(struct vcpu *v)
{
	const struct site *s = cache_site(v->engine->cache, v->exit_arg);

	v->resume = s->resume;
	if (v->held && v->budget > 0)
		vcpu_set_budget(v, 0);
	return s;
}

void tape_locked(struct vcpu *v)
{
	const struct site *s = site_of(v);
	struct found f = {0};

	if (s->value != X86_NOREG) {
		uint64_t address = address_at_site(v, s);

		f = (struct found){.value = v->gpr[s->value],
				   .index =
				       (uint32_t)(address + WIRE_SHADOW_SKEW),
				   .size = s->size};
		store_value(shadow_at(v, address), f.value, f.size);
	}
	/* Nobody has drawn a ticket, but somebody has stored. */
	if (order_locked(v, s->pc, &f) == 0 && f.size != 0)
		put_value(v, s->pc, f.index, f.value, f.size,
			  v->engine->has_company ? &v->time : 0);
}

int tape_miss(struct vcpu *v)
{
	const struct site *s = site_of(v);
	uint64_t address = address_at_site(v, s);
	uint32_t index = (uint32_t)(address + WIRE_SHADOW_SKEW);

	if (s->value != X86_NOREG) {
		uint64_t value = v->gpr[s->value];

		put_value(v, s->pc, index, value, s->size, 0);
		store_value(shadow_at(v, address), value, s->size);
		return 0;
	}
	if (s->flags & SITE_GATHER) {
		if (gather(v, s) == 0)
			return 0;
	} else {
		if (s->flags & SITE_FS)
			address += sys_fs_base();
		if (refill(v, s->pc, address, index, s->size) == 0)
			return 0;
	}
	undo_site(v, s);
	return 1;
}
