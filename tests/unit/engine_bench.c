/* tests/unit/engine_bench.c - the same code natively and through the engine. */
#include "engine_bench.h"

#include "engine/block.h"
#include "engine/cache.h"
#include "engine/plan.h"
#include "engine/signal_priv.h"
#include "engine/space.h"
#include "x86/access.h"

#if BENCH_SHADOW
#include <sanitizer/asan_interface.h>
#endif
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { PAGE = 4096, TF = 0x100, RF = 0x10000, HINT = 0x60000000 };

extern const uint8_t engine_leave[] __attribute__((visibility("hidden")));
extern const uint8_t guest_copy_begin[] __attribute__((visibility("hidden")));
extern const uint8_t guest_copy_end[] __attribute__((visibility("hidden")));
extern const uint8_t engine_begin[] __attribute__((visibility("hidden")));
extern const uint8_t step_enter_iret[] __attribute__((visibility("hidden")));
extern const uint8_t engine_enter_begin[] __attribute__((visibility("hidden")));
extern const uint8_t engine_enter_end[] __attribute__((visibility("hidden")));

static int is_step(int sig, const siginfo_t *info)
{
	return sig_is_step(
	    &(struct sig_info){.signo = sig, .code = info->si_code});
}

uint64_t bench_random(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* -- Making ---------------------------------------------------------------- */

static uint64_t align(uint64_t v)
{
	return (v + 63) & ~63ull;
}

struct engine *bench_engine(uint32_t flags)
{
	uint64_t hint = (uint64_t)engine_leave - HINT;
	uint64_t memory_at = align(sizeof(struct engine));
	uint64_t cache_at = memory_at + align(sizeof(struct memory));
	uint64_t space_at = cache_at + align(sizeof(struct cache));
	uint64_t len = space_at + align(space_size());
	int64_t got = memory_place(&hint, len);
	uint8_t *at = (uint8_t *)got;
	struct engine *e = (struct engine *)at;

	ck_assert_int_gt(got, 0);
	e->memory = (struct memory *)(at + memory_at);
	e->cache = (struct cache *)(at + cache_at);
	e->space = (struct space *)(at + space_at);
	e->memory->hint = hint;
	memory_note(e->memory, (uint64_t)at, len);
	e->cache->memory = e->memory;
	e->image_start = (uint64_t)engine_leave;
	e->image_end = e->image_start + 1;
	e->flags = flags;
	e->run = memory_map(e->memory, sizeof *e->run);
	ck_assert_ptr_nonnull(e->run);
	ck_assert_int_eq(0, cache_start(e));
	ck_assert_int_eq(0, space_start(e));
	return e;
}

struct vcpu *bench_vcpu(struct engine *e)
{
	struct vcpu *v = thread_new(e);

	ck_assert_ptr_nonnull(v);
	vcpu_prepare(v, e);
	return v;
}

void bench_other_ways(struct engine *e)
{
	enum { BITS = 16 };
	struct cache *c = e->cache;

	c->by_loop = !c->by_loop;
	c->by_pext = 0;
	c->table_bits = BITS;
	*c->table_mask = (1u << BITS) - 1;
	for (unsigned i = 0; i < 1u << BITS; i++)
		c->table[i] = c->miss_entry;
}

static uint8_t *map_at(uint64_t at, uint64_t len, int prot)
{
	void *got = mmap((void *)at, len, prot,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
			     MAP_FIXED_NOREPLACE,
			 -1, 0);

	if (got != (void *)at)
		ck_abort_msg("no memory at %#lx", at);
	return got;
}

/* len bytes with a page on either side that cannot be accessed. */
static uint8_t *map_between(uint64_t at, uint64_t len)
{
	map_at(at - PAGE, len + 2 * PAGE, PROT_NONE);
	mprotect((void *)at, len, PROT_READ | PROT_WRITE | PROT_EXEC);
	return (uint8_t *)at;
}

struct bench_place bench_place_at(uint64_t home)
{
	enum { NEAR = 16 << 20, STACK = 32 << 20, FAR = 0x70000000 };

	return (struct bench_place){
	    .code =
		map_at(home, BENCH_CODE, PROT_READ | PROT_WRITE | PROT_EXEC),
	    .near = map_between(home + NEAR, BENCH_DATA),
	    .far = map_between(home + FAR, BENCH_DATA),
	    .stack = map_between(home + STACK, BENCH_STACK),
	};
}

static void fill(uint8_t *at, unsigned len, uint64_t seed)
{
	for (unsigned i = 0; i < len; i += 8) {
		uint64_t value = bench_random(&seed);

		memcpy(at + i, &value, 8);
	}
}

void bench_fill(const struct bench_place *p, uint64_t seed)
{
	fill(p->near, BENCH_DATA, seed);
	fill(p->far, BENCH_DATA, seed + 1);
	fill(p->stack, BENCH_STACK, seed + 2);
}

/* -- The two runs ---------------------------------------------------------- */

enum bench_mode { IDLE, NATIVE, ENGINE };

static struct {
	enum bench_mode mode;
	const struct bench_place *place;
	uint64_t gs, stop;
	struct bench_run *run;
	const struct bench_state *start;
	uint64_t last; /* rip of the trap before */
	mcontext_t host;
	/* ENGINE */
	struct vcpu *v;
	const struct bench_run *native;
	const struct bench_how *how;
	uint64_t seed, looked;
	unsigned k; /* the native state it is in */
	unsigned interrupted;
	int in_full; /* from cache to cache without short cuts */
	const char *wrong;
	char text[256];
} bench;

static void set_gs(uint64_t base)
{
	__asm__ volatile("wrgsbase %0" : : "r"(base));
}

static uint64_t get_gs(void)
{
	uint64_t base;

	__asm__ volatile("rdgsbase %0" : "=r"(base));
	return base;
}

static struct bench_state state_of(const int64_t *g)
{
	struct bench_state s = {.pc = (uint64_t)g[GREG_RIP],
				.flags = (uint64_t)g[GREG_EFL] &
					 ~(uint64_t)(TF | RF)};

	for (unsigned i = 0; i < 16; i++)
		s.gpr[i] = (uint64_t)g[greg_of(i)];
	return s;
}

/* The run is over: back to where it was begun. */
static void leave(mcontext_t *m)
{
	struct bench_run *run = bench.run;

	run->gs = bench.mode == NATIVE ? get_gs() : bench.v->gs_base;
	memcpy(m->gregs, bench.host.gregs, sizeof m->gregs);
	memcpy(run->near, bench.place->near, BENCH_DATA);
	memcpy(run->far, bench.place->far, BENCH_DATA);
	memcpy(run->stack, bench.place->stack, BENCH_STACK);
	bench.mode = IDLE;
	set_gs(0);
}

/* What pushf stores shows that we are stepping: nobody shall see it. */
static void mend_pushed(const int64_t *g)
{
	const uint8_t *code = (const uint8_t *)bench.last;

	if (!code)
		return;
	while (*code == 0x66 || (*code & 0xf0) == 0x40)
		code++;
	if (*code == 0x9c)
		*(uint8_t *)(g[GREG_RSP] + 1) &= (uint8_t) ~(TF >> 8);
}

/* -- Natively -- */

static void native_caught(int sig, const siginfo_t *info, mcontext_t *m)
{
	struct bench_run *run = bench.run;
	int64_t g[GREG_MAX];

	memcpy(g, m->gregs, sizeof g);
	if (is_step(sig, info)) {
		mend_pushed(g);
		bench.last = (uint64_t)g[GREG_RIP];
		if (run->n < BENCH_STEPS)
			run->at[run->n] = state_of(g);
		run->n++;
		m->gregs[GREG_EFL] |= TF;
		if (run->n < BENCH_STEPS && bench.last != bench.stop)
			return;
	} else {
		run->n += run->at[run->n - 1].pc != (uint64_t)g[GREG_RIP];
		run->at[run->n - 1] = state_of(g);
		run->signo = sig;
		run->address = (uint64_t)info->si_addr;
		run->trapno = (uint64_t)g[GREG_TRAPNO];
		run->error = (uint64_t)g[GREG_ERR];
	}
	leave(m);
}

static void native_enter(mcontext_t *m)
{
	const struct bench_state *s = bench.start;

	for (unsigned i = 0; i < 16; i++)
		m->gregs[greg_of(i)] = (int64_t)s->gpr[i];
	m->gregs[GREG_RIP] = (int64_t)s->pc;
	m->gregs[GREG_EFL] = (int64_t)(s->flags | TF);
	bench.run->at[0] = *s;
	bench.run->n = 1;
	bench.last = s->pc;
	set_gs(bench.gs);
}

/* -- Through the engine -- */

static void wrong(mcontext_t *m, const char *what)
{
	bench.wrong = what;
	leave(m);
}

static int same(const struct bench_state *a, const struct bench_state *b,
		uint64_t flags)
{
	return a->pc == b->pc && memcmp(a->gpr, b->gpr, sizeof a->gpr) == 0 &&
	       ((a->flags ^ b->flags) & flags) == 0;
}

static const char *differs(const struct bench_state *is, const char *where)
{
	const struct bench_run *n = bench.native;
	const struct bench_state *want = &n->at[bench.k];
	int len;

	len = snprintf(bench.text, sizeof bench.text,
		       "%s: state %u of %u: pc %#lx, should be %#lx or %#lx;",
		       where, bench.k, n->n, is->pc, want->pc,
		       bench.k + 1 < n->n ? want[1].pc : 0);
	for (unsigned i = 0; i < 16; i++)
		if (is->gpr[i] != want->gpr[i] && len < 200)
			len += snprintf(
			    bench.text + len, sizeof bench.text - (size_t)len,
			    " r%u %lx/%lx", i, is->gpr[i], want->gpr[i]);
	if (is->flags != want->flags && len < 220)
		snprintf(bench.text + len, sizeof bench.text - (size_t)len,
			 " flags %lx/%lx", is->flags, want->flags);
	return bench.text;
}

/* Which native state is it? The one that it was in before, or the next. */
static int is_on_track(const struct bench_state *s, int at_fault)
{
	const struct bench_run *n = bench.native;
	uint64_t flags = ~0ull;

	if (bench.how->dead_flags && !at_fault && s->pc != bench.stop)
		flags = ~(uint64_t)X86_FLAGS_STATUS;
	if (same(s, &n->at[bench.k], flags))
		return 1;
	if (bench.k + 1 >= n->n || !same(s, &n->at[bench.k + 1], flags))
		return 0;
	bench.k++;
	return 1;
}

static int one_in(unsigned n)
{
	return n != 0 && bench_random(&bench.seed) % n == 0;
}

/* Not so often that the thread never gets anywhere. */
static int interrupts(unsigned n)
{
	enum { ENOUGH = 40 };

	if (bench.interrupted >= ENOUGH || !one_in(n))
		return 0;
	bench.interrupted++;
	return 1;
}

/* The state goes to the vcpu, and the thread to the dispatcher. */
static void throw_out(mcontext_t *m, int64_t *g)
{
	g[GREG_EFL] |= TF;
	engine_set_gregs(bench.v, g);
	m->gregs[GREG_RIP] = (int64_t)engine_resume_rip();
	m->gregs[GREG_RSP] = (int64_t)bench.v->stack;
	m->gregs[GREG_EFL] = 0x202;
	bench.last = 0; /* it has not happened */
}

static int is_address(uint64_t pc)
{
	return (uint64_t)((int64_t)(pc << 16) >> 16) == pc;
}

/* At a host instruction in the cache, which has not happened yet. */
static void look(mcontext_t *m)
{
	struct vcpu *v = bench.v;
	int64_t g[GREG_MAX], now[GREG_MAX];
	uint64_t cells[VCPU_N_CELLS];
	struct bench_state s;

	memcpy(g, m->gregs, sizeof g);
	memcpy(now, g, sizeof g);
	memcpy(cells, v->cells, sizeof cells);
	bench.looked++;
	m->gregs[GREG_EFL] |= TF;
	if (engine_recover(v, g) < 0) {
		if (cache_block_at(v->engine->cache, (uint64_t)now[GREG_RIP]))
			wrong(m, "no state in a block");
		return;
	}
	memcpy(v->cells, cells, sizeof cells);
	s = state_of(g);
	if (!is_address(s.pc))
		return; /* a branch that is going to be taken back */
	if (!is_on_track(&s, 0)) {
		wrong(m, differs(&s, "in the cache"));
		return;
	}
	if (s.pc == bench.stop) {
		memcpy(bench.run->cells, cells, sizeof cells);
		leave(m);
	} else if (interrupts(bench.how->no_budget)) {
		v->budget = 0;
	} else if (interrupts(bench.how->throw_out) &&
		   engine_recover_now(v, now) == 0) {
		throw_out(m, now);
	}
}

/* The engine left its stack without returning. */
static void forget_frames(struct vcpu *v)
{
#if BENCH_SHADOW
	__asan_unpoison_memory_region(v, SLOT_SIZE);
#else
	(void)v;
#endif
}

/* The instruction that was stepped natively is done. */
static void stepped(const siginfo_t *info, mcontext_t *m, int sig)
{
	/* Some virtual machines forget, now and then. */
	struct sig_info si = {.signo = sig,
			      .code = one_in(4) ? CODE_BRKPT : info->si_code};
	struct sig_uc uc = {0};
	struct caught c = {
	    .v = bench.v, .info = &si, .uc = &uc, .gs = get_gs()};
	struct bench_state s;

	memcpy(uc.context.gregs, m->gregs, sizeof uc.context.gregs);
	forget_frames(bench.v);
	step_caught(&c);
	bench.v->rflags |= TF;
	memcpy(uc.context.gregs, m->gregs, sizeof uc.context.gregs);
	s = state_of(uc.context.gregs);
	if (!is_on_track(&s, 0)) {
		wrong(m, differs(&s, "stepped"));
		return;
	}
	signal_go_on(&c);
	memcpy(m->gregs, uc.context.gregs, sizeof uc.context.gregs);
	set_gs(c.gs);
}

static void faulted(int sig, const siginfo_t *info, mcontext_t *m)
{
	struct bench_run *run = bench.run;
	struct vcpu *v = bench.v;
	uint64_t rip = (uint64_t)m->gregs[GREG_RIP];
	struct bench_state s;
	int64_t g[GREG_MAX];

	memcpy(g, m->gregs, sizeof g);
	if (v->step_kind == 0 && engine_recover(v, g) < 0) {
		snprintf(bench.text, sizeof bench.text,
			 "signal %d at %#lx (%p + %ld), where no state is", sig,
			 rip, (const void *)engine_leave,
			 (long)(rip - (uint64_t)engine_leave));
		wrong(m, bench.text);
		return;
	}
	if (rip == (uint64_t)step_enter_iret) {
		set_gs(vcpu_gs(v));
		engine_get_gregs(v, g); /* not even begun */
	}
	v->step_kind = 0;
	s = state_of(g);
	run->signo = sig;
	run->address = (uint64_t)info->si_addr;
	if (run->address == rip && sig != SIGSEGV)
		run->address = s.pc;
	run->trapno = (uint64_t)g[GREG_TRAPNO];
	run->error = (uint64_t)g[GREG_ERR];
	memcpy(run->cells, v->cells, sizeof run->cells);
	if (!is_on_track(&s, 1)) {
		wrong(m, differs(&s, "at a fault"));
		return;
	}
	leave(m);
}

/* A trap costs microseconds, and the ways out of and into the cache are forty
 * instructions: most often what they do is done here. */
static void skip_leaving(mcontext_t *m)
{
	struct vcpu *v = bench.v;

	for (unsigned i = 0; i < 16; i++)
		v->gpr[i] = (uint64_t)m->gregs[greg_of(i)];
	v->rflags = (uint64_t)m->gregs[GREG_EFL];
	m->gregs[GREG_RIP] = (int64_t)engine_resume_rip();
	m->gregs[GREG_RSP] = (int64_t)v->stack;
	m->gregs[GREG_EFL] = 0x202;
}

static void skip_entering(mcontext_t *m)
{
	const struct vcpu *v = bench.v;

	for (unsigned i = 0; i < 16; i++)
		m->gregs[greg_of(i)] = (int64_t)v->gpr[i];
	m->gregs[GREG_EFL] = (int64_t)v->rflags;
	m->gregs[GREG_RIP] = (int64_t)v->enter;
	bench.last = v->enter;
	look(m);
}

static void outside_of_cache(mcontext_t *m)
{
	enum { SELDOM = 16 };
	uint64_t rip = (uint64_t)m->gregs[GREG_RIP];

	if (rip == (uint64_t)engine_leave)
		bench.in_full = one_in(SELDOM);
	if (bench.in_full)
		return;
	if (rip == (uint64_t)engine_leave)
		skip_leaving(m);
	else if (rip > (uint64_t)engine_enter_begin &&
		 rip < (uint64_t)engine_enter_end)
		skip_entering(m);
}

static void engine_caught(int sig, const siginfo_t *info, mcontext_t *m)
{
	uint64_t rip = (uint64_t)m->gregs[GREG_RIP];
	int traced = is_step(sig, info);
	int64_t g[GREG_MAX];

	memcpy(g, m->gregs, sizeof g);
	if (!traced) {
		faulted(sig, info, m);
	} else {
		int in_cache = cache_contains(bench.v->engine->cache, rip);

		mend_pushed(g);
		bench.last = in_cache ? rip : 0;
		if (in_cache)
			look(m);
		else if (bench.v->step_kind != 0 &&
			 get_gs() != vcpu_gs(bench.v))
			stepped(info, m, sig);
		else
			outside_of_cache(m);
	}
}

static void engine_enter(mcontext_t *m)
{
	struct vcpu *v = bench.v;
	const struct bench_state *s = &bench.native->at[0];

	memcpy(v->gpr, s->gpr, sizeof v->gpr);
	memset(v->cells, 0, sizeof v->cells);
	v->pc = s->pc;
	v->rflags = s->flags | TF;
	v->gs_base = bench.gs;
	v->exit_reason = EXIT_GO;
	v->step_kind = 0;
	bench.last = 0;
	m->gregs[GREG_RDI] = (int64_t)v;
	m->gregs[GREG_RIP] = (int64_t)engine_begin;
	m->gregs[GREG_RSP] = (int64_t)v->stack;
}

/* -- Both -- */

/* The engine tries what it may not be able to read. */
static int is_guarded(int sig, const mcontext_t *m)
{
	uint64_t rip = (uint64_t)m->gregs[GREG_RIP];

	return (sig == SIGSEGV || sig == SIGBUS) &&
	       rip >= (uint64_t)guest_copy_begin &&
	       rip < (uint64_t)guest_copy_end;
}

static void caught(int sig, siginfo_t *info, void *context)
{
	mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;

	if (sig == SIGUSR1) {
		bench.host = *m;
		if (bench.mode == NATIVE)
			native_enter(m);
		else
			engine_enter(m);
	} else if (is_guarded(sig, m)) {
		m->gregs[GREG_RIP] = (int64_t)engine_guard_exit();
	} else if (bench.mode == NATIVE) {
		native_caught(sig, info, m);
	} else if (bench.mode == ENGINE) {
		engine_caught(sig, info, m);
	} else {
		signal(sig, SIG_DFL);
	}
}

void bench_open(void)
{
	enum { STACK = 256 << 10 };
	static const int signals[] = {SIGUSR1, SIGTRAP, SIGSEGV,
				      SIGBUS,  SIGILL,	SIGFPE};
	stack_t stack = {.ss_size = STACK};
	struct sigaction act = {.sa_sigaction = caught,
				.sa_flags =
				    SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

	stack.ss_sp = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(MAP_FAILED, stack.ss_sp);
	ck_assert_int_eq(0, sigaltstack(&stack, NULL));
	for (unsigned i = 0; i < sizeof signals / sizeof signals[0]; i++)
		ck_assert_int_eq(0, sigaction(signals[i], &act, NULL));
}

int bench_native(const struct bench_place *p, const struct bench_state *start,
		 uint64_t gs, uint64_t stop, struct bench_run *out)
{
	bench.place = p;
	bench.start = start;
	bench.gs = gs;
	bench.stop = stop;
	bench.run = out;
	out->n = 0;
	out->signo = 0;
	bench.mode = NATIVE;
	raise(SIGUSR1);
	return out->n < BENCH_STEPS ? 0 : -1;
}

static const char *compare_ends(const struct bench_run *a,
				const struct bench_run *b)
{
	if (a->signo != b->signo)
		return snprintf(bench.text, sizeof bench.text,
				"another end: signal %d, should be %d",
				b->signo, a->signo),
		       bench.text;
	if (a->signo != 0 && a->address != b->address)
		return "another si_addr";
	if (a->signo != 0 && (a->trapno != b->trapno || a->error != b->error))
		return "another trap";
	if (a->gs != b->gs)
		return "another gs";
	if (memcmp(a->near, b->near, BENCH_DATA) != 0)
		return "other data near";
	if (memcmp(a->far, b->far, BENCH_DATA) != 0)
		return "other data far away";
	if (memcmp(a->stack, b->stack, BENCH_STACK) != 0)
		return "another stack";
	return NULL;
}

const char *bench_translated(struct vcpu *v, const struct bench_place *p,
			     uint64_t gs, const struct bench_run *native,
			     const struct bench_how *how, struct bench_run *out)
{
	bench.v = v;
	bench.place = p;
	bench.gs = gs;
	bench.stop = native->signo ? 0 : native->at[native->n - 1].pc;
	bench.run = out;
	bench.native = native;
	bench.how = how;
	bench.seed = how->seed;
	bench.k = bench.interrupted = 0;
	bench.wrong = NULL;
	out->signo = 0;
	bench.mode = ENGINE;
	raise(SIGUSR1);
	if (bench.wrong)
		return bench.wrong;
	if (bench.k != native->n - 1)
		return "it ended too early";
	return compare_ends(native, out);
}

uint64_t bench_looked(void)
{
	return bench.looked;
}

/* -- Counting -------------------------------------------------------------- */

static void count_memory(const struct x86_insn *x, uint64_t pc, uint64_t *cells)
{
	struct x86_access at[X86_ACCESS_MAX];
	unsigned n = x86_accesses((const uint8_t *)pc, x, at);

	for (unsigned i = 0; i < n; i++) {
		cells[COUNT_LOADS] += (at[i].access & X86_M_READ) != 0;
		cells[COUNT_STORES] += (at[i].access & X86_M_WRITE) != 0;
	}
}

static void count_insn(uint64_t pc, uint64_t *cells)
{
	struct x86_insn x;

	ck_assert_int_eq(X86_OK,
			 x86_decode((const uint8_t *)pc, X86_MAX_LEN, &x));
	cells[COUNT_INSTRUCTIONS]++;
	count_memory(&x, pc, cells);
	switch (x.row->flow) {
	case X86_CALL:
	case X86_CALL_IND:
		cells[COUNT_CALLS]++;
		break;
	case X86_RET:
		cells[COUNT_RETURNS]++;
		break;
	case X86_JCC:
	case X86_LOOP:
	case X86_JMP:
	case X86_JMP_IND:
		cells[COUNT_BRANCHES]++;
		break;
	default:
		break;
	}
}

/* Where the code at pc ends; 0: there is none. */
static uint64_t limit_of(const struct bench_place *p, uint64_t pc)
{
	uint64_t code = (uint64_t)p->code, stack = (uint64_t)p->stack;

	if (pc >= code && pc < code + BENCH_CODE)
		return code + BENCH_CODE;
	if (pc >= stack && pc < stack + BENCH_STACK)
		return stack + BENCH_STACK;
	return 0;
}

/* Follows the run from state i on through the block that begins there. The
 * first state that is not in it; -1: a branch may or may not have been taken.
 */
static int through_block(const struct bench_run *run, unsigned i,
			 uint64_t limit)
{
	struct guest_block g;
	unsigned k = 0;

	block_form(
	    &g, run->at[i].pc,
	    &(struct block_how){.limit = limit, .flags = BLOCK_STEPS_POPF});
	while (i < run->n && k < g.n) {
		const struct guest_insn *x = &g.insns[k];
		uint64_t pc = g.pc + x->off;

		if (run->at[i].pc != pc)
			break;
		if ((x->treat == TREAT_JCC || x->treat == TREAT_LOOP) &&
		    x86_target(g.bytes + x->off, &x->x, pc) == pc + x->x.len)
			return -1;
		i++;
		if (x->treat == TREAT_STEP)
			break; /* every round of it enters anew */
		k += i < run->n && run->at[i].pc != pc;
	}
	return (int)i;
}

/* The last state is that of an instruction which was begun, if it faulted; or
 * else before which the run was stopped, or trapped. */
static int count_blocks(const struct bench_place *p,
			const struct bench_run *run, uint64_t *cells)
{
	int begun = run->signo != 0 && run->signo != SIGTRAP;
	int n = (int)run->n - !begun, i = 0;

	while (i >= 0 && i < n) {
		uint64_t limit = limit_of(p, run->at[i].pc);

		if (limit == 0)
			break; /* it faulted there: no code, no block */
		cells[COUNT_BLOCKS]++;
		i = through_block(run, (unsigned)i, limit);
	}
	return i < 0 ? -1 : 0;
}

/* A repeated instruction shows a state for each round. */
int bench_count(const struct bench_place *p, const struct bench_run *run,
		uint64_t cells[VCPU_N_CELLS])
{
	memset(cells, 0, VCPU_N_CELLS * sizeof cells[0]);
	for (unsigned i = 0; i + 1 < run->n; i++)
		if (run->at[i].pc != run->at[i + 1].pc)
			count_insn(run->at[i].pc, cells);
	return count_blocks(p, run, cells);
}
