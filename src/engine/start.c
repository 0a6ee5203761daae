/* engine/start.c - the engine is made in a process, and gone again. */
#include "inside/start.h"

#include "engine/cache.h"
#include "engine/engine.h"
#include "engine/join.h"
#include "engine/memory.h"
#include "engine/place.h"
#include "engine/space.h"
#include "engine/tape.h"
#include "inside/sys.h"
#include "x86/decode.h"

extern const uint8_t hark_entry[] __attribute__((visibility("hidden")));
extern const uint8_t hark_image_end[] __attribute__((visibility("hidden")));
extern const uint8_t engine_leave[] __attribute__((visibility("hidden")));
extern const uint8_t engine_miss[] __attribute__((visibility("hidden")));
extern const uint8_t engine_check[] __attribute__((visibility("hidden")));
extern const uint8_t engine_locked[] __attribute__((visibility("hidden")));
extern const uint8_t park_entry[] __attribute__((visibility("hidden")));
extern const uint8_t park_waits[] __attribute__((visibility("hidden")));
_Noreturn void engine_begin(struct vcpu *v);

enum { ERR_NOMEM = 12, HINT_BELOW = 0x60000000 };

/* -- Making ---------------------------------------------------------------- */

static uint64_t align(uint64_t v)
{
	return (v + 63) & ~63ull;
}

/* Everything that belongs to the process, in one mapping. */
static struct engine *make_engine(uint64_t image)
{
	uint64_t hint = image - HINT_BELOW;
	uint64_t memory_at = align(sizeof(struct engine));
	uint64_t cache_at = memory_at + align(sizeof(struct memory));
	uint64_t space_at = cache_at + align(sizeof(struct cache));
	uint64_t len = space_at + align(space_size());
	int64_t got = memory_place(&hint, len);
	uint8_t *at = (uint8_t *)got;
	struct engine *e = (struct engine *)at;

	if (sys_failed(got))
		return 0;
	e->memory = (struct memory *)(at + memory_at);
	e->cache = (struct cache *)(at + cache_at);
	e->space = (struct space *)(at + space_at);
	e->memory->hint = hint;
	memory_note(e->memory, (uint64_t)at, len);
	e->cache->memory = e->memory;
	return e;
}

/* The list of what is mapped is in one of the mappings. */
void engine_vanish(struct engine *e)
{
	const struct memory *m = e->memory;
	const uint64_t channel = (uint64_t)e->channel, image = e->image_start;
	struct span last = {0, 0};

	for (uint32_t i = 0; i < m->n; i++) {
		struct span s = m->spans[i];

		if (s.start == s.end || s.start == channel || s.start == image)
			continue;
		if ((uint64_t)m - s.start < s.end - s.start)
			last = s;
		else
			sys_unmap(s.start, s.end - s.start);
	}
	sys_unmap(last.start, last.end - last.start);
}

void vcpu_prepare(struct vcpu *v, struct engine *e)
{
	v->self = v;
	v->engine = e;
	v->stack = (uint64_t)v + SLOT_SIZE;
	v->leave = (uint64_t)engine_leave;
	v->miss = (uint64_t)engine_miss;
	v->check = (uint64_t)engine_check;
	v->locked = (uint64_t)engine_locked;
	v->tid = (uint32_t)sys_call3(SYS_NR_GETTID, 0, 0, 0);
}

/* hark looks for the engine here. */
static void tell_places(struct engine *e)
{
	*wire_places_of(e->channel) = (struct wire_places){
	    .stay = (uint64_t)&e->stay,
	    .image = e->image_start,
	    .image_len = e->image_end - e->image_start,
	    .secret = (uint64_t)e ^ 0x7061726b20697421ull,
	    .call_end = place_call_end(),
	    .park = (uint64_t)park_entry,
	    .parked = (uint64_t)park_waits,
	    .restart = VCPU_GS_AT((int64_t)offsetof(struct vcpu, restart)),
	};
}

/* What a program that runs already may have done before hark came. */
static void ask_past(struct engine *e)
{
	enum { NR_PERSONALITY = 135, READ_IMPLIES_EXEC = 0x400000 };
	int64_t is = sys_call3(NR_PERSONALITY, 0xffffffff, 0, 0);

	e->read_is_exec = !sys_failed(is) && (is & READ_IMPLIES_EXEC) != 0;
}

static int prepare(struct engine *e, struct wire_slot *slot)
{
	unsigned n = 1;

	e->channel = (struct wire_control *)slot->channel;
	e->run = wire_run_of(e->channel);
	e->flags = e->run->flags;
	e->image_start = (uint64_t)hark_entry;
	e->image_end = (uint64_t)hark_image_end;
	memory_note_file(e->memory, slot->channel, e->channel->size);
	memory_note_file(e->memory, e->image_start,
			 e->image_end - e->image_start);
	if (cache_start(e) < 0 || space_start(e) < 0 ||
	    !cache_region(e, slot->regs.rip, 0))
		return ERR_NOMEM;
	if (e->flags & WIRE_RUN_RECORD && tape_start_process(e) != 0)
		return ERR_NOMEM;
	if (slot->mode == WIRE_ATTACH) {
		e->attached = 1;
		ask_past(e);
		n = e->channel->geometry.n_slots;
	} else {
		e->stay.state = WIRE_STAY_INSIDE;
	}
	return join_all(e, slot, n);
}

static int engine_start(struct wire_slot *slot)
{
	struct engine *e = make_engine((uint64_t)hark_entry);
	int error;

	if (!e)
		return ERR_NOMEM;
	error = prepare(e, slot);
	if (error == 0)
		tell_places(e);
	else
		engine_vanish(e);
	return error;
}

/* -- Coming and going ------------------------------------------------------ */

static struct engine *engine_of(const struct wire_slot *slot)
{
	return ((struct vcpu *)slot->vcpu)->engine;
}

int engine_enter(struct wire_slot *slot)
{
	switch (slot->mode) {
	case WIRE_TRANSLATE:
	case WIRE_ATTACH:
		return engine_start(slot);
	case WIRE_LEAVE:
		return park_leave(slot);
	case WIRE_VANISH:
		engine_vanish(engine_of(slot));
		return 0;
	default:
		return 0;
	}
}

void engine_wait(struct wire_slot *slot)
{
	const struct wire_run *run = wire_run_of((void *)slot->channel);

	if (slot->mode == WIRE_TRANSLATE || slot->mode == WIRE_JOIN)
		return;
	for (int i = 0; i < PARK_MOMENTS && wire_hark_lives(run); i++)
		park_wait(slot);
}

void engine_stay(struct wire_slot *slot)
{
	if (slot->mode == WIRE_LEAVE || slot->mode == WIRE_VANISH) {
		if (slot->status != 0) /* the others stay, too */
			engine_begin((struct vcpu *)slot->vcpu);
		__asm__ volatile("wrgsbase %0" : : "r"(slot->regs.gs_base));
	} else if (slot->status == 0 &&
		   __atomic_load_n(&engine_of(slot)->stay.state,
				   __ATOMIC_ACQUIRE) != WIRE_STAY_JOINING) {
		join_go(slot);
	}
}

/* -- The end --------------------------------------------------------------- */

_Noreturn void engine_die(const char *what)
{
	static const char head[] = "hark: the engine is broken: ";
	uint64_t len = 0;
	enum { SIG_ABRT = 6 };

	while (what[len])
		len++;
	sys_call3(SYS_NR_WRITE, 2, (uint64_t)head, sizeof head - 1);
	sys_call3(SYS_NR_WRITE, 2, (uint64_t)what, len);
	sys_call3(SYS_NR_WRITE, 2, (uint64_t) "\n", 1);
	for (;;)
		sys_call3(231, 128 + SIG_ABRT, 0, 0);
}
