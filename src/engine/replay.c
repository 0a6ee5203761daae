/* engine/replay.c - a recorded thread runs again.
 *
 * The translator emits blocks whose memory is the shadow (alone.c). Blocks are
 * linked and run at full speed while the position asked for is far away: the
 * budget is what is left of the count. From the last count on, blocks are made
 * to end at the very instruction that is wanted; these are linked to nothing
 * and kept by (start, stop), for the same loads miss again and again.
 *
 * A fault of the program's code ends the run: nothing that was recorded
 * faults in replay, since the log has a STATE there. */
#include "engine/replay.h"

#include "engine/cache.h"
#include "engine/memory.h"
#include "engine/plan.h"
#include "engine/string.h"
#include "engine/translate.h"
#include "inside/sys.h"
#include "x86/decode.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum {
	GUARD = SLOT_SIZE,
	NEARS = 1 << 14, /* blocks that end at a wanted instruction */
	PAGES = 1 << 16, /* lists of blocks, by their pages */
	XSAVE_LEGACY = 512,
	XSAVE_HEADER = 64,
};
#define SLOT_LEN (SLOT_SIZE + WIRE_SHADOW_SIZE + GUARD)

struct near {
	uint64_t pc, stop;
	uint32_t number, pad;
};

struct replay {
	struct engine *e;   /* owned: all that is mapped is in its memory */
	struct vcpu *v;	    /* owned */
	uint8_t *slot;	    /* owned: SLOT_LEN bytes */
	uint64_t mask;	    /* of components that this machine has */
	uint64_t limit;	    /* counts; 0: none */
	uint64_t counted;   /* instructions that were done here */
	struct near *nears; /* owned */
	uint32_t *pages;    /* owned: the first block, 2 * number + which */
	struct wire_rec_state state;
	uint64_t count;
	replay_fetch *fetch;
	void *ctx;
	uint32_t size_of[64], at[64]; /* of components, in the xsave area */
};

void replay_enter(struct vcpu *v, uint64_t mask);
extern const uint8_t replay_leave[] __attribute__((visibility("hidden")));
extern const uint8_t engine_miss[] __attribute__((visibility("hidden")));

/* The engine in hark itself is not in an image: no rip is in there. */
extern const uint8_t hark_entry[1], hark_image_end[1];
const uint8_t hark_entry[1], hark_image_end[1];

/* -- Faults ---------------------------------------------------------------- */

static __thread struct replay *running;

static void caught(int sig, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t rip = (uint64_t)g[REG_RIP];
	struct vcpu *v = running ? running->v : NULL;

	(void)info;
	if (v == NULL || !cache_contains(v->engine->cache, rip)) {
		signal(sig, SIG_DFL);
		return;
	}
	v->pc = engine_pc_of(v, rip);
	v->exit_reason = EXIT_TRAP;
	g[REG_RIP] = (greg_t)(uint64_t)replay_leave;
}

/* Once a process; on a stack of its own, for the program's rsp is a number. */
static int catch_faults(void)
{
	enum { STACK = 64 << 10 };
	static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
	static __thread void *stack;
	struct sigaction act = {.sa_sigaction = caught,
				.sa_flags =
				    SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
	stack_t alt = {.ss_size = STACK};

	if (stack != NULL)
		return 0;
	stack = malloc(STACK);
	if (stack == NULL)
		return -1;
	alt.ss_sp = stack;
	if (sigaltstack(&alt, NULL) < 0)
		return -1;
	for (unsigned i = 0; i < sizeof signals / sizeof signals[0]; i++)
		if (sigaction(signals[i], &act, NULL) < 0)
			return -1;
	return 0;
}

/* -- Making ---------------------------------------------------------------- */

static uint64_t align(uint64_t v)
{
	return (v + 63) & ~63ull;
}

static struct engine *make_engine(void)
{
	const uint64_t below = 1ull << 32;
	uint64_t hint = ((uint64_t)(uintptr_t)&make_engine & ~4095ull) - below;
	uint64_t memory_at = align(sizeof(struct engine));
	uint64_t cache_at = memory_at + align(sizeof(struct memory));
	uint64_t len = cache_at + align(sizeof(struct cache));
	int64_t got = memory_place(&hint, len);
	struct engine *e;

	if (sys_failed(got))
		return NULL;
	e = (struct engine *)got;
	e->memory = (struct memory *)((uint8_t *)e + memory_at);
	e->cache = (struct cache *)((uint8_t *)e + cache_at);
	e->memory->hint = hint;
	memory_note(e->memory, (uint64_t)got, len);
	e->cache->memory = e->memory;
	e->near = (uint64_t)got;
	e->replays = 1;
	return e;
}

static void free_engine(struct engine *e)
{
	struct memory m;

	if (e == NULL)
		return;
	m = *e->memory;
	for (uint32_t i = m.n; i-- > 0;)
		munmap((void *)m.spans[i].start,
		       m.spans[i].end - m.spans[i].start);
}

static uint64_t machine_mask(void)
{
	enum { PKRU = 1 << 9 };
	uint32_t lo, hi;

	__asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	return ((uint64_t)hi << 32 | lo) & ~(uint64_t)PKRU;
}

/* Asking the CPU takes it long: once is enough. */
static void find_components(struct replay *r)
{
	for (uint32_t n = 2; n < 63; n++) {
		uint32_t a = 0xd, b, c = n, d;

		if (!(r->mask >> n & 1))
			continue;
		__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
		r->size_of[n] = a;
		r->at[n] = b;
	}
}

/* The slot and the shadow behind it, aligned as slots are. */
static uint8_t *map_slot(void)
{
	uint8_t *at = mmap(NULL, SLOT_LEN + SLOT_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint8_t *slot;

	if (at == MAP_FAILED)
		return NULL;
	slot = (uint8_t *)(((uint64_t)at + SLOT_SIZE - 1) &
			   ~(uint64_t)(SLOT_SIZE - 1));
	if (slot != at)
		munmap(at, (size_t)(slot - at));
	munmap(slot + SLOT_LEN, (size_t)(at + SLOT_SIZE - slot));
	madvise(slot + SLOT_SIZE, SLOT_LEN - SLOT_SIZE, MADV_NOHUGEPAGE);
	return slot;
}

static unsigned fetch(void *ctx, uint64_t pc, uint8_t *to, unsigned len)
{
	struct replay *r = ctx;

	return r->fetch(r->ctx, pc, to, len);
}

static int prepare(struct replay *r)
{
	r->e = make_engine();
	r->slot = map_slot();
	r->nears = calloc(NEARS, sizeof *r->nears);
	r->pages = calloc(PAGES, sizeof *r->pages);
	if (r->e == NULL || r->slot == NULL || r->nears == NULL ||
	    r->pages == NULL)
		return -1;
	if (cache_start(r->e) < 0 || !cache_region(r->e, r->e->near, 0))
		return -1;
	r->e->fetch = fetch;
	r->e->fetch_ctx = r;
	r->v = (struct vcpu *)r->slot;
	r->v->self = r->v;
	r->v->engine = r->e;
	r->v->leave = (uint64_t)replay_leave;
	r->v->miss = (uint64_t)engine_miss;
	return catch_faults();
}

struct replay *replay_new(replay_fetch *fetch_code, void *ctx)
{
	struct replay *r = calloc(1, sizeof *r);

	if (r == NULL)
		return NULL;
	r->fetch = fetch_code;
	r->ctx = ctx;
	r->mask = machine_mask();
	find_components(r);
	if (prepare(r) < 0) {
		replay_free(r);
		return NULL;
	}
	return r;
}

void replay_free(struct replay *r)
{
	if (r == NULL)
		return;
	free_engine(r->e);
	if (r->slot != NULL)
		munmap(r->slot, SLOT_LEN);
	free(r->nears);
	free(r->pages);
	free(r);
}

/* -- State ----------------------------------------------------------------- */

struct wire_rec_state *replay_state(struct replay *r)
{
	return &r->state;
}

uint64_t *replay_count(struct replay *r)
{
	return &r->count;
}

uint8_t *replay_shadow(struct replay *r)
{
	return r->slot + SLOT_SIZE;
}

void replay_clear_shadow(struct replay *r)
{
	madvise(r->slot + SLOT_SIZE, SLOT_LEN - SLOT_SIZE, MADV_DONTNEED);
}

static void state_in(struct replay *r)
{
	struct vcpu *v = r->v;

	memcpy(v->gpr, r->state.gpr, sizeof v->gpr);
	v->rflags = (r->state.rflags & 0x240cd5) | 0x202;
	v->pc = r->state.pc;
	v->fs_base = r->state.fs_base;
	v->gs_base = r->state.gs_base;
	v->budget = 0;
	v->count_end = r->count;
}

static void state_out(struct replay *r)
{
	struct vcpu *v = r->v;

	memcpy(r->state.gpr, v->gpr, sizeof v->gpr);
	r->state.rflags = v->rflags;
	r->state.pc = v->pc;
	r->state.fs_base = v->fs_base;
	r->state.gs_base = v->gs_base;
	r->count = vcpu_count(v);
}

static uint8_t *xsave_area(struct replay *r)
{
	return r->slot + SLOT_TAPE;
}

int replay_put_xstate(struct replay *r, const uint8_t *bytes, uint32_t len)
{
	enum { PKRU = 1 << 9 };
	uint8_t *area = xsave_area(r);
	const uint8_t *at = bytes + 8 + XSAVE_LEGACY;
	uint64_t mask;

	if (len < 8 + XSAVE_LEGACY)
		return -1;
	memcpy(&mask, bytes, sizeof mask);
	mask &= ~(uint64_t)PKRU; /* the last one; nothing here asks for it */
	if (mask & ~r->mask)
		return -1;
	memcpy(area, bytes + 8, XSAVE_LEGACY);
	memset(area + XSAVE_LEGACY, 0, XSAVE_HEADER);
	memcpy(area + XSAVE_LEGACY, &mask, sizeof mask);
	for (unsigned n = 2; n < 63; n++) {
		uint32_t size, offset;

		if (!(mask >> n & 1))
			continue;
		size = r->size_of[n], offset = r->at[n];
		if (size > (uint64_t)(bytes + len - at) ||
		    SLOT_TAPE + (uint64_t)offset + size > SLOT_VCPU)
			return -1;
		memcpy(area + offset, at, size);
		at += size;
	}
	return 0;
}

uint32_t replay_get_xstate(struct replay *r, uint8_t out[WIRE_XSTATE_MAX])
{
	const uint8_t *area = xsave_area(r);
	uint8_t *to = out + 8 + XSAVE_LEGACY;
	uint64_t mask;

	memcpy(&mask, area + XSAVE_LEGACY, sizeof mask);
	for (unsigned n = 2; n < 63; n++) {
		uint32_t size, offset;

		if (!(mask >> n & 1))
			continue;
		size = r->size_of[n], offset = r->at[n];
		if (size > (uint64_t)(out + WIRE_XSTATE_MAX - to))
			break;
		memcpy(to, area + offset, size);
		to += size;
	}
	memcpy(out, &mask, sizeof mask);
	memcpy(out + 8, area, XSAVE_LEGACY);
	return (uint32_t)(to - out);
}

/* -- Blocks ---------------------------------------------------------------- */

static int empty(struct replay *r)
{
	memset(r->nears, 0, NEARS * sizeof *r->nears);
	memset(r->pages, 0, PAGES * sizeof *r->pages);
	return cache_flush(r->e, r->v);
}

static uint32_t *page_at(struct replay *r, uint64_t address)
{
	return &r->pages[(address >> 12) * 0x9e3779b97f4a7c15ull >> 48 &
			 (PAGES - 1)];
}

/* A block lies on one page, or on two. */
static void cover(struct replay *r, uint32_t number)
{
	struct block *b = cache_block(r->e->cache, number);
	uint32_t *first = page_at(r, b->pc);
	uint32_t *last = page_at(r, b->pc + b->seen_len - (b->seen_len != 0));

	b->page_next[0] = *first;
	*first = 2 * number;
	if (last == first)
		return;
	b->page_next[1] = *last;
	*last = 2 * number + 1;
}

/* 0: there is no memory. */
static uint32_t make_block(struct replay *r, uint64_t stop, int indirect)
{
	struct translate_how how = {.pc = r->v->pc,
				    .limit = ~0ull,
				    .kind = BLOCK_LIVE,
				    .indirect = (uint8_t)indirect,
				    .lonely = stop != 0,
				    .stop = stop};
	uint32_t number;

	if (r->e->cache->used >= CACHE_LIMIT && empty(r) < 0)
		return 0;
	number = translate(r->e, &how);
	if (number == 0 && empty(r) == 0)
		number = translate(r->e, &how);
	if (number != 0)
		cover(r, number);
	return number;
}

static uint32_t block_for(struct replay *r, int indirect)
{
	uint32_t number = cache_find(r->e->cache, r->v->pc);

	return number != 0 ? number : make_block(r, 0, indirect);
}

/* A block that ends before `stop`, if it comes that far. */
static uint32_t near_block(struct replay *r, uint64_t stop)
{
	uint64_t key =
	    (r->v->pc ^ stop * 0x9e3779b97f4a7c15ull) * 0x9e3779b97f4a7c15ull;
	struct near *n = &r->nears[key >> 50 & (NEARS - 1)];

	if (n->number == 0 || n->pc != r->v->pc || n->stop != stop ||
	    cache_block(r->e->cache, n->number)->state == BLOCK_DEAD) {
		uint32_t number = make_block(r, stop, 0);

		*n = (struct near){r->v->pc, stop, number, 0};
	}
	return n->number;
}

static void kill_block(struct cache *c, uint32_t number)
{
	struct block *b = cache_block(c, number);

	if (b->state != BLOCK_DEAD && cache_find(c, b->pc) == number)
		cache_kill(c, number);
	b->state = BLOCK_DEAD;
}

static void forget_page(struct replay *r, uint64_t page, uint64_t start,
			uint64_t end)
{
	struct cache *c = r->e->cache;
	uint32_t *at = page_at(r, page);

	while (*at != 0) {
		struct block *b = cache_block(c, *at / 2);
		uint32_t *next = &b->page_next[*at % 2];

		if (b->pc < end && b->pc + b->seen_len > start)
			kill_block(c, *at / 2);
		if (b->state == BLOCK_DEAD)
			*at = *next;
		else
			at = next;
	}
}

void replay_forget_code(struct replay *r, uint64_t start, uint64_t end)
{
	enum { PAGE = 4096 };

	if ((end - start) / PAGE >= PAGES) {
		empty(r);
		return;
	}
	for (uint64_t at = start & ~(uint64_t)(PAGE - 1); at < end; at += PAGE)
		forget_page(r, at, start, end);
}

/* -- Running --------------------------------------------------------------- */

/* What the block could not do by itself. -1: goes on. */
static int leave_link(struct replay *r, int near)
{
	struct vcpu *v = r->v;
	uint32_t number = v->exit_arg;
	struct exit *x = cache_exit(r->e->cache, number);
	uint32_t generation = r->e->cache->generation;

	v->pc = x->target;
	if (x->counts)
		v->budget--;
	if (!near && !x->lonely) {
		uint32_t block = block_for(r, 0);

		if (block != 0 && generation == r->e->cache->generation)
			cache_link(r->e->cache, number, block);
	}
	return -1;
}

static int leave_indirect(struct replay *r)
{
	struct vcpu *v = r->v;
	uint32_t number;
	struct block *b;

	if ((uint64_t)((int64_t)(v->pc << 16) >> 16) != v->pc) {
		engine_unbranch(v); /* the branch itself faults */
		return REPLAY_FAULT;
	}
	v->budget--;
	number = block_for(r, 1);
	if (number == 0)
		return -1;
	b = cache_block(r->e->cache, number);
	if (translate_indirect(r->e, b) == 0)
		cache_publish(r->e->cache, b);
	return -1;
}

static int leave_string(struct replay *r)
{
	uint8_t code[X86_MAX_LEN];
	unsigned have = r->fetch(r->ctx, r->v->pc, code, sizeof code);
	uint64_t pc = r->v->pc;

	if (string_do(r->v, code, have) < 0)
		return REPLAY_STATE;
	r->counted += r->v->pc != pc;
	return -1;
}

static int leave(struct replay *r, int near)
{
	struct vcpu *v = r->v;

	switch ((enum vcpu_exit)v->exit_reason) {
	case EXIT_LINK:
		return leave_link(r, near);
	case EXIT_INDIRECT:
		return leave_indirect(r);
	case EXIT_BUDGET:
		if (v->budget == 0)
			v->budget--;
		return -1;
	case EXIT_DEAD:
		return -1;
	case EXIT_STRING:
		return leave_string(r);
	case EXIT_SYSCALL:
		return REPLAY_CALL;
	case EXIT_RESULT:
		return REPLAY_RESULT;
	case EXIT_TRAP:
		return REPLAY_FAULT;
	default:
		return REPLAY_STATE;
	}
}

/* How many counts until somebody wants to look. */
static int64_t distance(const struct replay *r, uint64_t now, uint64_t count)
{
	uint64_t more = count - now;

	if (r->limit != 0 && r->limit < more)
		more = r->limit;
	return more > 0 ? (int64_t)(more - 1) : 0;
}

static int is_code(struct replay *r)
{
	uint8_t byte;

	return r->fetch(r->ctx, r->v->pc, &byte, 1) == 1;
}

/* Some instructions end in a signal when they are done: int3, a system call
 * that is refused. Then the position is behind them. */
static int is_behind(struct replay *r, enum replay_stop why, uint64_t pc)
{
	uint8_t code[X86_MAX_LEN];
	unsigned have = r->fetch(r->ctx, r->v->pc, code, sizeof code);
	struct x86_insn x;

	if ((why != REPLAY_CALL && why != REPLAY_FAULT) ||
	    x86_decode(code, have, &x) != X86_OK ||
	    (x.row->flow != X86_SYSCALL && x.row->flow != X86_INT3 &&
	     x.row->flow != X86_INT))
		return 0;
	return r->v->pc + x.len == pc;
}

static enum replay_stop run(struct replay *r, uint64_t count, uint64_t pc)
{
	struct vcpu *v = r->v;
	uint64_t begun = vcpu_count(v);

	for (;;) {
		uint64_t now = vcpu_count(v);
		int near = now == count, why;
		uint32_t number;

		if (near && v->pc == pc)
			return REPLAY_THERE;
		if (now > count)
			return REPLAY_PAST;
		if (r->limit != 0 && now - begun >= r->limit)
			return REPLAY_TIME;
		number = near ? near_block(r, pc) : block_for(r, 0);
		if (number == 0 || !is_code(r))
			return REPLAY_CODE;
		vcpu_set_budget(v, distance(r, now, count));
		v->enter = cache_block(r->e->cache, number)->plain;
		replay_enter(v, r->mask);
		why = leave(r, near);
		if (why < 0)
			continue;
		if (vcpu_count(v) == count && is_behind(r, why, pc)) {
			if (why == REPLAY_CALL) {
				v->gpr[X86_RCX] = pc;
				v->gpr[X86_R11] = v->rflags;
			}
			v->pc = pc;
		}
		near = vcpu_count(v) == count && v->pc == pc;
		return near ? REPLAY_THERE : (enum replay_stop)why;
	}
}

enum replay_stop replay_run(struct replay *r, uint64_t count, uint64_t pc)
{
	enum replay_stop stop;

	running = r;
	state_in(r);
	stop = run(r, count, pc);
	state_out(r);
	running = NULL;
	return stop;
}

void replay_limit(struct replay *r, uint64_t counts)
{
	r->limit = counts;
}

void replay_count_instructions(struct replay *r, int on)
{
	uint32_t flags = on ? WIRE_RUN_COUNT : 0;

	if (r->e->flags != flags)
		empty(r);
	r->e->flags = flags;
}

uint64_t replay_instructions(struct replay *r)
{
	uint64_t n = r->counted;

	for (unsigned i = 0; i < VCPU_N_CELLS; i++)
		n += r->v->cells[i];
	r->counted = 0;
	memset(r->v->cells, 0, sizeof r->v->cells);
	return n;
}
