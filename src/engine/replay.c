/* engine/replay.c - a recorded thread runs again.
 *
 * The translator emits blocks whose memory is the shadow (alone.c). Blocks are
 * linked and run at full speed while the position asked for is far away: the
 * budget is what is left of the count. From the last count on, blocks are made
 * to end at the very instruction that is wanted; these are linked to nothing
 * and kept by (start, stop), for the same loads miss again and again.
 *
 * A fault of the program's code ends the run: nothing that was recorded
 * faults in replay, since the log has a STATE there.
 *
 * This file: life, and registers. */
#include "engine/replay_priv.h"

#include "engine/block.h"
#include "engine/memory.h"
#include "engine/shadow.h"
#include "inside/sys.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	XSAVE_LEGACY = 512,
	XSAVE_HEADER = 64,
	/* Flags of the program that the CPU has while it is replayed: status,
	 * direction and ID. */
	FLAGS_LOADED = 0x200cd5,
	FLAGS_FIXED = 0x202, /* reserved, and interrupts */
};
#define SLOT_LEN (SLOT_SIZE + MAP_LEN)

/* PKRU says which of its own memory a process may access: it is kept in the
 * vcpu, because the CPU has hark's. In every layout of extended registers it
 * has 8 bytes, of which the first 4 are the register. */
enum { PKRU = 9, PKRU_LEN = 8 };

/* The engine in hark itself is not in an image: no rip is in there. */
extern const uint8_t hark_entry[1], hark_image_end[1];
const uint8_t hark_entry[1], hark_image_end[1];

/* -- Faults ---------------------------------------------------------------- */

static __thread struct replay *running;

/* What whoever uses replay does about signals of its own. */
enum { SIGNALS = 32 };
static struct sigaction before[SIGNALS];
static pthread_once_t caught = PTHREAD_ONCE_INIT;
static int is_caught;

/* A fault, but not of the program that is replayed. */
static void pass_on(int sig, siginfo_t *info, void *context)
{
	const struct sigaction *act = &before[sig];

	if (act->sa_flags & SA_SIGINFO)
		act->sa_sigaction(sig, info, context);
	else if (act->sa_handler == SIG_DFL)
		signal(sig, SIG_DFL); /* again, and for good */
	else if (act->sa_handler != SIG_IGN)
		act->sa_handler(sig);
}

void replay_caught(int sig, siginfo_t *info, void *context);
void replay_caught_entry(int sig, siginfo_t *info, void *context);

/* Called by replay_caught_entry, when fs is the host's. */
void replay_caught(int sig, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t rip = (uint64_t)g[REG_RIP];
	struct vcpu *v = running ? running->v : NULL;

	if (v == NULL || !cache_contains(v->engine->cache, rip)) {
		pass_on(sig, info, context);
		return;
	}
	v->pc = engine_pc_of(v, rip);
	v->exit_reason = EXIT_TRAP;
	running->signal = sig;
	g[REG_RIP] = (greg_t)v->leave;
}

static void catch_once(void)
{
	static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
	struct sigaction act = {.sa_sigaction = replay_caught_entry,
				.sa_flags =
				    SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

	for (unsigned i = 0; i < sizeof signals / sizeof signals[0]; i++)
		if (sigaction(signals[i], &act, &before[signals[i]]) < 0)
			return;
	is_caught = 1;
}

/* Once a process; each thread on a stack of its own, for the program's rsp is
 * a number. */
static int catch_faults(void)
{
	enum { STACK = 64 << 10 };
	static __thread void *stack;
	stack_t alt = {.ss_size = STACK};

	if (pthread_once(&caught, catch_once) != 0 || !is_caught)
		return -1;
	if (stack != NULL)
		return 0;
	alt.ss_sp = malloc(STACK);
	if (alt.ss_sp == NULL)
		return -1;
	if (sigaltstack(&alt, NULL) < 0) {
		free(alt.ss_sp);
		return -1;
	}
	stack = alt.ss_sp;
	return 0;
}

/* -- Making ---------------------------------------------------------------- */

static uint64_t align(uint64_t v)
{
	return (v + 63) & ~63ull;
}

/* How far from hark itself: 16 GiB from the last one, and some pages that no
 * recording can know. */
static uint64_t choose_distance(void)
{
	static unsigned made;
	uint32_t random = 0;

	if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0)
		random = 0;
	if (made == 0)
		made = random >> 24;
	return (1ull << 34) * (1 + made++ % 256) +
	       ((uint64_t)(random & 0xfffff) << 12);
}

/* Each somewhere else: whatever belongs to one must lie near together. Below
 * hark itself; a program that lies at the bottom of memory has nothing there.
 */
static struct engine *make_engine(void)
{
	const uint64_t away = choose_distance();
	uint64_t here = (uint64_t)(uintptr_t)&make_engine & ~4095ull;
	uint64_t hint = here > 1ull << 44 ? here - away : here + away;
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

/* The kernel has tiles only for processes that ask, as the program did: without
 * that, loading them is SIGILL, and so is each instruction that uses them. */
static uint64_t machine_mask(void)
{
	enum { TILE_DATA = 18, TILES = 3 << 17 };
	enum { REQ_XCOMP_PERM = 0x1023 };
	uint32_t lo, hi;
	uint64_t mask;

	__asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	mask = ((uint64_t)hi << 32 | lo) & ~(1ull << PKRU);
	if (mask & TILES &&
	    syscall(SYS_arch_prctl, REQ_XCOMP_PERM, TILE_DATA) != 0)
		mask &= ~(uint64_t)TILES;
	return mask;
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
	if (shadow_join((uint64_t)(slot + SLOT_SIZE)) < 0) {
		munmap(slot, SLOT_LEN);
		return NULL;
	}
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
	r->starts = calloc(STARTS, sizeof *r->starts);
	r->pages = calloc(PAGES, sizeof *r->pages);
	if (r->e == NULL || r->slot == NULL || r->nears == NULL ||
	    r->starts == NULL || r->pages == NULL)
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
	memset(r->slot + SLOT_ORDER, 0xff, 64); /* ones: alone_observe.c */
	return catch_faults();
}

struct replay *replay_new(replay_fetch *fetch_code, void *ctx, unsigned version)
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
	r->e->block_flags = version < 3 ? BLOCK_OF_VERSION_2 : 0;
	return r;
}

void replay_free(struct replay *r)
{
	if (r == NULL)
		return;
	free_engine(r->e);
	if (r->slot != NULL)
		munmap(r->slot, SLOT_LEN);
	if (r->map != NULL)
		munmap(r->map, MAP_LEN);
	free((void *)r->observe.stops);
	free(r->nears);
	free(r->starts);
	free(r->pages);
	free(r->present);
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
	replay_zero(r, replay_shadow(r));
	if (r->map != NULL)
		replay_zero(r, r->map);
}

/* -- Observers ------------------------------------------------------------- */

static int map_touches(struct replay *r)
{
	void *at;

	if (r->map != NULL)
		return 0;
	at = mmap(NULL, MAP_LEN, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return -1;
	madvise(at, MAP_LEN, MADV_NOHUGEPAGE);
	if (shadow_join((uint64_t)at) < 0) {
		munmap(at, MAP_LEN);
		return -1;
	}
	r->map = at;
	return 0;
}

static int sees_the_same(const struct observe *a, const struct observe *b)
{
	return a->touches == b->touches && a->n_windows == b->n_windows &&
	       memcmp(a->windows, b->windows,
		      a->n_windows * sizeof a->windows[0]) == 0;
}

static void forget_stops(struct replay *r)
{
	for (uint32_t i = 0; i < r->observe.n_stops; i++)
		replay_forget_code(r, r->observe.stops[i],
				   r->observe.stops[i] + 1);
}

int replay_observe(struct replay *r, const struct observe *o)
{
	static const struct observe nobody;
	struct observe next = o != NULL ? *o : nobody;
	uint64_t *stops = NULL;

	if (next.touches != 0 && map_touches(r) < 0)
		return -1;
	if (next.n_stops > 0) {
		stops = malloc(next.n_stops * sizeof *stops);
		if (stops == NULL)
			return -1;
		memcpy(stops, next.stops, next.n_stops * sizeof *stops);
	}
	next.stops = stops;
	if (!sees_the_same(&r->observe, &next))
		replay_empty(r);
	forget_stops(r);
	free((void *)r->observe.stops);
	r->observe = next;
	forget_stops(r);
	r->e->observe =
	    next.touches != 0 || next.n_windows != 0 || next.n_stops != 0
		? &r->observe
		: NULL;
	return 0;
}

const uint8_t *replay_touched(const struct replay *r)
{
	return r->map;
}

unsigned replay_spans(uint32_t index, uint64_t len, struct replay_span out[2])
{
	uint32_t at = index + OBSERVE_SKEW;
	uint64_t room = WIRE_SHADOW_SIZE - at;

	if (len > WIRE_SHADOW_SIZE)
		len = WIRE_SHADOW_SIZE; /* all there is */
	out[0] = (struct replay_span){at, len < room ? len : room};
	out[1] = (struct replay_span){0, len - out[0].len};
	return out[1].len > 0 ? 2 : 1;
}

void replay_mark(struct replay *r, uint32_t index, uint64_t len, int mark)
{
	struct replay_span spans[2];
	unsigned n = replay_spans(index, len, spans);

	for (unsigned i = 0; i < n; i++)
		memset(r->map + spans[i].at, mark, spans[i].len);
}

void replay_fill(struct replay *r, uint32_t index, const uint8_t *bytes,
		 uint32_t len)
{
	memcpy(replay_shadow(r) + index, bytes, len);
	if (r->observe.touches & OBSERVE_LOADS)
		replay_mark(r, index, len, 0xff);
}

void replay_touch(struct replay *r, uint32_t index, uint32_t len, int is_store)
{
	const unsigned how = is_store ? OBSERVE_STORES : OBSERVE_LOADS;

	if (r->observe.touches & OBSERVE_APART && is_store)
		index += OBSERVE_STORED;
	if (r->observe.touches & how)
		replay_mark(r, index, len, 0xff);
}

/* A part of a page of the map: what is not there need not be made. */
static void unmark_part(uint8_t *at, uint64_t len)
{
	if (len > 0 && (at[0] != 0 || memcmp(at, at + 1, len - 1) != 0))
		memset(at, 0, len);
}

/* [at, end) of the map; whole pages are given back. */
static void unmark(struct replay *r, uint64_t at, uint64_t end)
{
	enum { PAGE = 4096 };
	uint64_t first = (at + PAGE - 1) & -(uint64_t)PAGE;
	uint64_t last = end & -(uint64_t)PAGE;

	if (first >= last) {
		unmark_part(r->map + at, end - at);
		return;
	}
	unmark_part(r->map + at, first - at);
	shadow_give_back((uint64_t)r->map, first, last - first);
	unmark_part(r->map + last, end - last);
}

void replay_forget(struct replay *r, uint32_t index, uint64_t len)
{
	struct replay_span spans[2];
	unsigned n = replay_spans(index, len, spans);

	for (unsigned i = 0; r->map != NULL && i < n; i++)
		unmark(r, spans[i].at, spans[i].at + spans[i].len);
}

void replay_begin(struct replay *r)
{
	struct vcpu *v = r->v;

	__asm__ volatile("rdfsbase %0" : "=r"(v->host_fs));
	v->map = r->observe.touches != 0 ? (uint64_t)r->map : v->host_fs;
	running = r;
	memcpy(v->gpr, r->state.gpr, sizeof v->gpr);
	v->rflags = (r->state.rflags & FLAGS_LOADED) | FLAGS_FIXED;
	v->pc = r->state.pc;
	v->fs_base = r->state.fs_base;
	v->gs_base = r->state.gs_base;
	v->budget = 0;
	v->count_end = r->count;
}

void replay_end(struct replay *r)
{
	struct vcpu *v = r->v;

	memcpy(r->state.gpr, v->gpr, sizeof v->gpr);
	r->state.rflags = v->rflags | replay_held_flags(r);
	r->state.pc = v->pc;
	r->state.fs_base = v->fs_base;
	r->state.gs_base = v->gs_base;
	r->count = vcpu_count(v);
	running = NULL;
}

static uint8_t *xsave_area(struct replay *r)
{
	return r->slot + SLOT_TAPE;
}

/* In its place of those that `mask` names, which ends at `end`. NULL: it does
 * not fit there. */
static const uint8_t *take_pkru(struct replay *r, uint64_t mask,
				const uint8_t *at, const uint8_t *end)
{
	uint32_t pkru = 0;

	if (mask >> PKRU & 1) {
		if (end - at < PKRU_LEN)
			return NULL;
		memcpy(&pkru, at, sizeof pkru);
		at += PKRU_LEN;
	}
	r->v->pkru = pkru;
	return at;
}

int replay_put_xstate(struct replay *r, const uint8_t *bytes, uint32_t len)
{
	uint8_t *area = xsave_area(r);
	const uint8_t *at = bytes + 8 + XSAVE_LEGACY;
	uint64_t named, mask;

	if (len < 8 + XSAVE_LEGACY)
		return -1;
	memcpy(&named, bytes, sizeof named);
	mask = named & ~(1ull << PKRU);
	if (mask & ~r->mask)
		return -1;
	memcpy(area, bytes + 8, XSAVE_LEGACY);
	memset(area + XSAVE_LEGACY, 0, XSAVE_HEADER);
	memcpy(area + XSAVE_LEGACY, &mask, sizeof mask);
	for (unsigned n = 2; n < 63; n++) {
		uint32_t size, offset;

		if (n == PKRU)
			at = take_pkru(r, named, at, bytes + len);
		if (at == NULL)
			return -1;
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

void replay_set_key(struct replay *r, unsigned key, unsigned rights)
{
	const uint32_t shift = 2 * key;

	r->v->pkru &= ~((uint64_t)REPLAY_KEY_RIGHTS << shift);
	r->v->pkru |= (uint64_t)rights << shift;
}

uint32_t replay_get_xstate(struct replay *r, uint8_t out[WIRE_XSTATE_MAX])
{
	const uint8_t *area = xsave_area(r);
	uint8_t *to = out + 8 + XSAVE_LEGACY;
	uint64_t mask;

	memcpy(&mask, area + XSAVE_LEGACY, sizeof mask);
	if (r->v->pkru != 0)
		mask |= 1ull << PKRU;
	for (unsigned n = 2; n < 63; n++) {
		uint32_t size, offset;

		if (!(mask >> n & 1))
			continue;
		size = n == PKRU ? PKRU_LEN : r->size_of[n];
		if (size > (uint64_t)(out + WIRE_XSTATE_MAX - to))
			break;
		if (n == PKRU) {
			memcpy(to, &r->v->pkru, size);
			to += size;
			continue;
		}
		offset = r->at[n];
		memcpy(to, area + offset, size);
		to += size;
	}
	memcpy(out, &mask, sizeof mask);
	memcpy(out + 8, area, XSAVE_LEGACY);
	return (uint32_t)(to - out);
}

/* -- What is counted ------------------------------------------------------- */

void replay_count_instructions(struct replay *r, int on)
{
	uint32_t flags = on ? WIRE_RUN_COUNT : 0;

	if (r->e->flags != flags)
		replay_empty(r);
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
