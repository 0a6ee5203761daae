/* engine/start.c - a thread that came through the door becomes a vcpu. */
#include "inside/start.h"

#include "engine/cache.h"
#include "engine/engine.h"
#include "engine/space.h"
#include "engine/tape.h"
#include "inside/sys.h"
#include "x86/decode.h"

extern const uint8_t hark_entry[] __attribute__((visibility("hidden")));
extern const uint8_t hark_image_end[] __attribute__((visibility("hidden")));
extern const uint8_t engine_leave[] __attribute__((visibility("hidden")));
extern const uint8_t engine_miss[] __attribute__((visibility("hidden")));
extern const uint8_t engine_check[] __attribute__((visibility("hidden")));
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

static void set_state(struct vcpu *v, const struct wire_regs *r)
{
	const uint64_t gpr[16] = {
	    r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,
	    r->r8,  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15};

	for (unsigned i = 0; i < 16; i++)
		v->gpr[i] = gpr[i];
	v->rflags = r->rflags;
	v->pc = r->rip;
	v->gs_base = r->gs_base;
	v->exit_reason = EXIT_GO;
}

void vcpu_prepare(struct vcpu *v, struct engine *e)
{
	v->self = v;
	v->engine = e;
	v->stack = (uint64_t)v + SLOT_SIZE;
	v->leave = (uint64_t)engine_leave;
	v->miss = (uint64_t)engine_miss;
	v->check = (uint64_t)engine_check;
	v->tid = (uint32_t)sys_call3(SYS_NR_GETTID, 0, 0, 0);
}

int engine_start(struct wire_slot *slot)
{
	struct engine *e = make_engine((uint64_t)hark_entry);
	struct vcpu *v;

	if (!e)
		return ERR_NOMEM;
	e->channel = (struct wire_control *)slot->channel;
	e->run = wire_run_of(e->channel);
	e->flags = e->run->flags;
	memory_note(e->memory, slot->channel, e->channel->size);
	memory_note(e->memory, (uint64_t)hark_entry,
		    (uint64_t)hark_image_end - (uint64_t)hark_entry);
	e->image_start = (uint64_t)hark_entry;
	e->image_end = (uint64_t)hark_image_end;
	if (cache_start(e) < 0 || space_start(e) < 0 ||
	    !cache_region(e, slot->regs.rip, 0))
		return ERR_NOMEM;
	v = thread_new(e);
	if (!v)
		return ERR_NOMEM;
	vcpu_prepare(v, e);
	if (e->flags & WIRE_RUN_RECORD) {
		if (tape_start_process(e) != 0)
			return ERR_NOMEM;
		tape_new_thread(v, 0, WIRE_START_PROGRAM);
	}
	set_state(v, &slot->regs);
	engine_count(&e->run->stats.processes, 1);
	engine_count(&e->run->stats.threads, 1);
	slot->vcpu = (uint64_t)v;
	return 0;
}

_Noreturn void engine_go(struct wire_slot *slot)
{
	struct vcpu *v = (struct vcpu *)slot->vcpu;

	signal_start(v, slot->sigmask);
	engine_begin(v);
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
