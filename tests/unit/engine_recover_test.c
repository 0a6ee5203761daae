/* tests/unit/engine_recover_test.c - T1 and T2 of translate.c, P2 of plan.h.
 *
 * At every host instruction in the cache the program's exact state can be had;
 * a fault shows the state before its instruction; what an instrument counted
 * is what was executed. See engine_bench.h for how that is seen.
 *
 *	HARK_ENGINE_PROGRAMS=n	random programs a test (default 100)
 *	HARK_ENGINE_SEED=n	the first one's seed (default 1) */
#include "engine_bench.h"
#include "engine_guest.h"

#include "engine/cache.h"
#include "engine/plan.h"
#include "engine/space.h"
#include "x86/emit.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Low: addresses fit an immediate. The others differ in what is around. */
static const uint64_t homes[] = {0x300000000000, 0x7a0000000000, 0x40000000};
enum { HOMES = sizeof homes / sizeof homes[0], FLUSH_EVERY = 64 };

static struct bench_place places[HOMES];
static unsigned n_places;
static struct bench_run native, translated;

/* With flags of the engine. */
enum {
	OTHER_WAYS = 1 << 30,
	UNSEEN = 1 << 29, /* the engine is not told that code changes */
};
static uint32_t bench_flags;

static struct vcpu *open_bench(uint32_t flags)
{
	struct vcpu *v =
	    bench_vcpu(bench_engine(flags & ~(OTHER_WAYS | UNSEEN)));

	bench_flags = flags;
	if (flags & OTHER_WAYS)
		bench_other_ways(v->engine);

	bench_open();
	n_places = HOMES - BENCH_SHADOW; /* not at the low one */
	for (unsigned i = 0; i < n_places; i++)
		places[i] = bench_place_at(homes[i]);
	return v;
}

/* The code has changed: as if the program had mapped it anew. */
static void renew(struct engine *e, const struct bench_place *p)
{
	uint64_t start = (uint64_t)p->code, stack = (uint64_t)p->stack;
	struct translate_how how = {.pc = start};

	if (bench_flags & UNSEEN && space_prepare(e, &how) == 0)
		return;
	space_forget(e, start, start + BENCH_CODE);
	space_add(e, start, start + BENCH_CODE,
		  bench_flags & UNSEEN ? SPACE_SHARED : 0);
	space_add(e, stack, stack + BENCH_STACK, SPACE_SHARED);
}

static const char *check_cells(const struct bench_place *p)
{
	static char text[128];
	uint64_t want[VCPU_N_CELLS];
	int rc = bench_count(p, &native, want);

	for (unsigned i = rc < 0 ? 1 : 0; i < COUNT_MAX; i++)
		if (want[i] != translated.cells[i]) {
			snprintf(text, sizeof text,
				 "cell %u is %ld, should be %ld", i,
				 (long)translated.cells[i], (long)want[i]);
			return text;
		}
	return NULL;
}

/* Each exit leads to its stub, or to a living block of its target: C2 of
 * cache.h, T3 of translate.c. */
static const char *check_exits(struct cache *c)
{
	for (uint32_t i = 1; i <= c->exits.n; i++) {
		const struct exit *x = cache_exit(c, i);
		const struct block *b =
		    x->linked ? cache_block(c, x->linked) : NULL;
		int32_t rel;

		memcpy(&rel, (const void *)x->site, sizeof rel);
		if (x->site + 4 + (uint64_t)(int64_t)rel !=
		    (b ? b->entry : x->stub))
			return "an exit that leads elsewhere";
		if (b && (b->state == BLOCK_DEAD || b->pc != x->target))
			return "an exit linked to the wrong block";
		if (x->site % 8 > 4)
			return "an exit that cannot be changed at once";
	}
	return NULL;
}

/* What is wrong with the program in p's code; NULL. */
static const char *try_program(struct vcpu *v, const struct bench_place *p,
			       const struct bench_how *how)
{
	struct bench_state start = guest_start(p, how->seed);
	uint64_t gs = (uint64_t)p->near;
	const char *wrong;

	renew(v->engine, p);
	bench_fill(p, how->seed);
	if (bench_native(p, &start, gs, guest_stop(p), &native) < 0)
		return "it does not end natively";
	bench_fill(p, how->seed);
	wrong = bench_translated(v, p, gs, &native, how, &translated);
	if (!wrong && v->engine->flags & WIRE_RUN_COUNT)
		wrong = check_cells(p);
	return wrong ? wrong : check_exits(v->engine->cache);
}

/* -- Random programs ------------------------------------------------------- */

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 0) : otherwise;
}

static void show_and_fail(const struct bench_place *p, unsigned len,
			  uint64_t seed, const char *wrong)
{
	static char hex[4096];

	for (unsigned i = 0; i < len && 2 * i + 2 < sizeof hex; i++)
		snprintf(hex + 2 * i, 3, "%02x", p->code[i]);
	ck_abort_msg("HARK_ENGINE_SEED=%lu at %p: %s\n# code: %s", seed,
		     (void *)p->code, wrong, hex);
}

static void random_programs(uint32_t flags, unsigned may, struct bench_how how)
{
	uint64_t n = from_environment("HARK_ENGINE_PROGRAMS", 100);
	uint64_t first = from_environment("HARK_ENGINE_SEED", 1);
	struct vcpu *v = open_bench(flags);
	uint64_t faults = 0;

	for (uint64_t i = first; i < first + n; i++) {
		const struct bench_place *p = &places[i % n_places];
		unsigned len = guest_make(p, i, may);
		const char *wrong;

		how.seed = i;
		wrong = try_program(v, p, &how);
		if (wrong)
			show_and_fail(p, len, i, wrong);
		faults += native.signo != 0;
		if (i % FLUSH_EVERY == 0)
			ck_assert_int_eq(0, cache_flush(v->engine, v));
		if (i % FLUSH_EVERY == 0)
			space_uncover(v->engine);
	}
	if (getenv("HARK_ENGINE_PROGRAMS"))
		fprintf(stderr,
			"# %lu programs, %lu faults, %lu host instructions\n",
			n, faults, bench_looked());
}

START_TEST(every_host_instruction_shows_a_state_of_the_program)
{
	random_programs(0, GUEST_ALL & ~GUEST_FAULTS, (struct bench_how){0});
}
END_TEST

START_TEST(a_thread_taken_out_of_the_cache_anywhere_goes_on_as_if_it_had_not)
{
	random_programs(OTHER_WAYS, GUEST_ALL & ~GUEST_FAULTS,
			(struct bench_how){.throw_out = 6});
}
END_TEST

START_TEST(a_fault_shows_the_state_before_its_instruction)
{
	random_programs(0, GUEST_ALL, (struct bench_how){.throw_out = 50});
}
END_TEST

START_TEST(code_that_changes_unseen_is_what_it_is_now)
{
	random_programs(UNSEEN, GUEST_ALL, (struct bench_how){.throw_out = 30});
}
END_TEST

START_TEST(what_is_counted_is_what_is_executed)
{
	random_programs(WIRE_RUN_COUNT, GUEST_ALL,
			(struct bench_how){.dead_flags = 1});
}
END_TEST

START_TEST(nothing_is_counted_twice_when_the_budget_runs_out)
{
	random_programs(WIRE_RUN_COUNT | OTHER_WAYS | UNSEEN, GUEST_ALL,
			(struct bench_how){
			    .dead_flags = 1, .no_budget = 10, .throw_out = 10});
}
END_TEST

/* -- One kind after another ------------------------------------------------ */

/* Code for the case number k; what is behind it goes to the stop. */
typedef void put_case(struct x86_buf *b, const struct bench_place *p,
		      unsigned k);

static unsigned write_case(const struct bench_place *p, put_case *put,
			   unsigned k)
{
	static const uint8_t ud2[2] = {0x0f, 0x0b};
	struct x86_buf b = {.start = p->code,
			    .at = p->code,
			    .end = p->code + BENCH_CODE / 2,
			    .pc = (uint64_t)p->code};

	put(&b, p, k);
	emit_jmp(&b, guest_stop(p));
	if (b.bad)
		ck_abort_msg("case %u cannot be written: %u", k, b.bad);
	memcpy((void *)guest_stop(p), ud2, sizeof ud2);
	return (unsigned)(b.at - b.start);
}

/* Every case at every home, or just at one of them. */
static void check_cases(put_case *put, unsigned n, uint32_t flags,
			unsigned at_homes)
{
	struct vcpu *v = open_bench(flags);

	for (unsigned i = 0; i < n * at_homes; i++) {
		struct bench_how how = {.seed = i,
					.dead_flags = flags & WIRE_RUN_COUNT};
		const struct bench_place *p = &places[(i + i / n) % n_places];
		unsigned k = i % n, len = write_case(p, put, k);
		const char *wrong;

		how.throw_out = (i + i / n) % 2 ? 3 : 0;
		wrong = try_program(v, p, &how);
		if (wrong)
			show_and_fail(p, len, k, wrong);
	}
}

static const uint32_t both[] = {OTHER_WAYS, WIRE_RUN_COUNT};

/* The word that a branch goes through, and one that it must not. */
static void put_word(struct x86_buf *b, struct x86_mem mem,
		     struct emit_label *to, unsigned by)
{
	emit_rm_label(b, EMIT_LEA, 8, by, to);
	emit_mr(b, EMIT_MOV, 8, mem, by);
	emit_set(b, by, 0x1111);
}

/* At the end of the stack's used part: the bytes of code. */
static void push_code(struct x86_buf *b, uint64_t code)
{
	emit_set_wide(b, X86_RAX, code);
	emit_r(b, EMIT_PUSH, 8, X86_RAX);
}

static void put_through_register(struct x86_buf *b, const struct bench_place *p,
				 unsigned k)
{
	enum emit_op op = k & 16 ? EMIT_CALL : EMIT_JMP;
	struct emit_label to = {0};
	unsigned reg = k & 15;

	if (reg == X86_RSP) {
		/* ret, or add rsp, 8; ret: in both cases behind the branch */
		emit_rm_label(b, EMIT_LEA, 8, X86_RBX, &to);
		emit_r(b, EMIT_PUSH, 8, X86_RBX);
		push_code(b, op == EMIT_CALL ? 0xc3 : 0xc308c48348);
		emit_r(b, op, 8, reg);
		(void)p;
	} else {
		emit_rm_label(b, EMIT_LEA, 8, reg, &to);
		emit_r(b, op, 8, reg);
		emit_plain(b, EMIT_UD2);
	}
	emit_bind(b, &to);
}

START_TEST(branches_through_every_register)
{
	check_cases(put_through_register, 32, both[_i], 3);
}
END_TEST

enum { MEM_KINDS = 40 };

static struct x86_mem nth_mem(struct x86_buf *b, const struct bench_place *p,
			      unsigned k)
{
	uint64_t near = (uint64_t)p->near + 2048;

	if (k == X86_RSP)
		return x86_mem_at(X86_RSP, 16);
	if (k < 16) {
		emit_set(b, k, near);
		return x86_mem_at(k, 8);
	}
	if (k == 16 + X86_RSP)
		return x86_mem_at(X86_RSP, 0x100);
	if (k < 32) { /* as an index, of r10 and of nothing */
		emit_set(b, k - 16, 64);
		emit_set(b, X86_R10, k == 16 + X86_R10 ? 64 : near);
		return x86_mem_index(X86_R10, k - 16, 2,
				     k == 16 + X86_R10 ? 0 : 16);
	}
	if (k == 32)
		return x86_mem_pc(near);
	if (k == 33)
		return x86_mem_pc((uint64_t)p->far);
	if (k == 34)
		return x86_mem_pc((uint64_t)p->far + BENCH_DATA - 8);
	emit_set(b, X86_RCX, near + 8 * k);
	return x86_mem_index(X86_RCX, X86_NOREG, 0, -8);
}

static void put_through_memory(struct x86_buf *b, const struct bench_place *p,
			       unsigned k)
{
	enum emit_op op = k % 2 ? EMIT_CALL : EMIT_JMP;
	struct emit_label to = {0};
	struct x86_mem mem;

	/* With itself for a base and an index, r10 is no address: read on. */
	if (k / 2 == 16 + X86_R10)
		k = 2 * 33 + k % 2;
	mem = nth_mem(b, p, k / 2);
	put_word(b, mem, &to,
		 mem.base == X86_RAX || mem.index == X86_RAX ? X86_RBX
							     : X86_RAX);
	emit_m(b, op, 8, mem);
	emit_plain(b, EMIT_UD2);
	emit_bind(b, &to);
}

START_TEST(branches_through_memory_with_every_base_and_index)
{
	check_cases(put_through_memory, 2 * MEM_KINDS, both[_i], 3);
}
END_TEST

static void put_call_ret(struct x86_buf *b, const struct bench_place *p,
			 unsigned k)
{
	static const uint16_t drops[] = {0,	 8,	 24,	 0x7ff8,
					 0x8000, 0xfff0, 0xffff, 1};
	struct emit_label sub = {0}, end = {0};
	uint8_t ret[3] = {0xc2, (uint8_t)drops[k % 8],
			  (uint8_t)(drops[k % 8] >> 8)};

	(void)p;
	emit_rr(b, EMIT_CMP, 8, X86_RAX, X86_RBX);
	emit_call_label(b, &sub);
	emit_jmp_label(b, &end);
	emit_bind(b, &sub);
	if (k < 8)
		emit_bytes(b, ret, 3);
	else
		emit_plain(b, EMIT_RET);
	emit_bind(b, &end);
}

START_TEST(calls_and_returns_that_drop_arguments)
{
	check_cases(put_call_ret, 9, both[_i], 3);
}
END_TEST

/* sahf sets five flags; the sixth, OF, comes from a shift. */
static void put_condition(struct x86_buf *b, const struct bench_place *p,
			  unsigned k)
{
	struct emit_label to = {0};
	unsigned flags = k / 16;

	(void)p;
	emit_set(b, X86_RDX, flags & 8 ? 0x40000000 : 0);
	emit_ri(b, EMIT_SHL, 4, X86_RDX, 1);
	emit_set(b, X86_RAX,
		 ((flags & 1 ? X86_CF : 0) | (flags & 2 ? X86_ZF : 0) |
		  (flags & 4 ? X86_SF | X86_PF : 0))
		     << 8);
	emit_plain(b, EMIT_SAHF);
	emit_jcc_label(b, k % 16, &to);
	emit_setcc_r(b, X86_CC_B, X86_RBX);
	emit_bind(b, &to);
	emit_setcc_r(b, X86_CC_O, X86_RBX);
	emit_setcc_r(b, X86_CC_S, X86_RSI);
}

START_TEST(conditional_branches_with_all_conditions_and_flags)
{
	check_cases(put_condition, 256, both[_i], 1);
}
END_TEST

static void put_loop(struct x86_buf *b, const struct bench_place *p, unsigned k)
{
	static const uint64_t counts[] = {0, 1, 2, 1ull << 32,
					  (1ull << 32) + 1};
	uint8_t code[3] = {0x67, (uint8_t)(0xe0 + k % 4), 4};
	unsigned plain = k / 4 % 2;

	(void)p;
	emit_set(b, X86_RCX, counts[k / 16]);
	emit_rr(b, EMIT_CMP, 8, X86_RAX, k / 8 % 2 ? X86_RAX : X86_RBX);
	emit_bytes(b, code + plain, 3 - plain);
	emit_setcc_r(b, X86_CC_E, X86_R8); /* 4 bytes */
	emit_setcc_r(b, X86_CC_B, X86_R9);
}

START_TEST(counted_branches_with_counts_at_the_edges)
{
	check_cases(put_loop, 80, both[_i], 1);
}
END_TEST

static const struct {
	uint8_t len, code[15];
} stack_code[] = {
    {2, {0x54, 0x5c}},			  /* push rsp; pop rsp */
    {3, {0xff, 0x34, 0x24}},		  /* push [rsp] */
    {4, {0xff, 0x74, 0x24, 8}},		  /* push [rsp + 8] */
    {3, {0x8f, 0x04, 0x24}},		  /* pop [rsp] */
    {4, {0x8f, 0x44, 0x24, 8}},		  /* pop [rsp + 8] */
    {4, {0x66, 0x54, 0x66, 0x58}},	  /* push sp; pop ax */
    {4, {0x66, 0x68, 1, 2}},		  /* push word */
    {4, {0xc8, 16, 0, 0}},		  /* enter 16, 0 */
    {8, {0xc8, 16, 0, 0, 0xc8, 8, 0, 2}}, /* enter; enter 8, 2 */
    {4, {0x48, 0x89, 0xe5, 0xc9}},	  /* mov rbp, rsp; leave */
    {3, {0x9c, 0x41, 0x5a}},		  /* pushf; pop r10 */
    {4, {0x66, 0x9c, 0x66, 0x58}},	  /* pushfw; pop ax */
    {2, {0x0f, 0xa0}},			  /* push fs */
    {3, {0xff, 0xf4, 0x5b}},		  /* push rsp, the long way; pop rbx */
    {4, {0x48, 0x87, 0x24, 0x24}},	  /* xchg rsp, [rsp] */
    {4, {0x48, 0x8d, 0x64, 0x24}},	  /* with the next: lea rsp */
};

static void put_stack(struct x86_buf *b, const struct bench_place *p,
		      unsigned k)
{
	static const uint8_t minus_8[1] = {0xf8};

	(void)p;
	emit_rm(b, EMIT_LEA, 8, X86_RBP, x86_mem_at(X86_RSP, 0x100));
	emit_bytes(b, stack_code[k].code, stack_code[k].len);
	if (k == sizeof stack_code / sizeof stack_code[0] - 1)
		emit_bytes(b, minus_8, 1);
}

START_TEST(odd_users_of_the_stack)
{
	check_cases(put_stack, sizeof stack_code / sizeof stack_code[0],
		    both[_i], 3);
}
END_TEST

static void put_gs_base(struct x86_buf *b, const struct bench_place *p,
			unsigned k)
{
	unsigned reg = k % 16, wide = k / 16 % 2, write = k / 32;
	uint8_t code[] = {
	    0xf3, (uint8_t)(0x40 | wide << 3 | reg >> 3), 0x0f, 0xae,
	    (uint8_t)(0xc0 | write << 4 | write << 3 | (reg & 7))};

	if (write && reg != X86_RSP)
		emit_set(b, reg, (uint64_t)p->near + 0x123);
	emit_bytes(b, code, sizeof code);
	emit_setcc_r(b, X86_CC_B, X86_RBX);
}

START_TEST(the_base_of_gs_is_the_programs_own)
{
	check_cases(put_gs_base, 64, both[_i], 1);
}
END_TEST

/* Longer than a block, so that it falls from one into the next. */
static void put_long(struct x86_buf *b, const struct bench_place *p, unsigned k)
{
	(void)p;
	for (unsigned i = 0; i < 20 * k; i++)
		emit_ri(b, EMIT_ADC, 8, i % 4 == 0 ? X86_R10 : X86_RCX, 77);
}

START_TEST(code_longer_than_a_block)
{
	check_cases(put_long, 6, both[_i], 3);
}
END_TEST

/* -- Faults, one by one ---------------------------------------------------- */

/* Instructions that cannot have what they need: rsp, rbx and r10 point to the
 * page in front of the stack, and so does a word behind its end. */
static const struct {
	uint8_t len, code[15];
} faulting[] = {
    {1, {0x53}},		   /* push rbx */
    {1, {0x5b}},		   /* pop rbx */
    {2, {0x41, 0x5a}},		   /* pop r10 */
    {5, {0xe8, 0, 0, 0, 0}},	   /* call */
    {1, {0xc3}},		   /* ret */
    {3, {0xc2, 8, 0}},		   /* ret 8 */
    {2, {0xff, 0xd1}},		   /* call rcx */
    {3, {0x41, 0xff, 0xd2}},	   /* call r10 */
    {2, {0xff, 0xe1}},		   /* jmp rcx, where no code is */
    {2, {0xff, 0x13}},		   /* call [rbx] */
    {2, {0xff, 0x23}},		   /* jmp [rbx] */
    {3, {0x41, 0xff, 0x22}},	   /* jmp [r10] */
    {3, {0x41, 0xff, 0x12}},	   /* call [r10] */
    {3, {0xff, 0x24, 0x24}},	   /* jmp [rsp] */
    {3, {0xff, 0x14, 0x24}},	   /* call [rsp] */
    {1, {0x9c}},		   /* pushf */
    {4, {0xc8, 16, 0, 0}},	   /* enter */
    {3, {0xff, 0x34, 0x24}},	   /* push [rsp] */
    {3, {0x8f, 0x04, 0x24}},	   /* pop [rsp] */
    {2, {0x0f, 0x0b}},		   /* ud2 */
    {1, {0xcc}},		   /* int3 */
    {1, {0xf4}},		   /* hlt */
    {4, {0xf3, 0x48, 0xa5, 0x90}}, /* rep movsq */
    {2, {0xf7, 0xf6}},		   /* div esi, by 0 */
    {3, {0x65, 0x8b, 0x03}},	   /* mov eax, gs:[rbx] */
    {4, {0x48, 0x0f, 0xc7, 0x0b}}, /* cmpxchg16b [rbx] */
    {1, {0x06}},		   /* no instruction */
    {3, {0x0f, 0xc7, 0xc8}},	   /* none either */
    {2, {0x8b, 0x02}},		   /* mov eax, [rdx], not canonical */
    {3, {0x8b, 0x45, 0}},	   /* mov eax, [rbp], the same: SIGBUS */
    {2, {0xff, 0x12}},		   /* call [rdx] */
    {3, {0xff, 0x65, 0}},	   /* jmp [rbp] */
};

static void put_faulting(struct x86_buf *b, const struct bench_place *p,
			 unsigned k)
{
	uint64_t bad = (uint64_t)p->stack - 64;

	emit_rr(b, EMIT_CMP, 8, X86_RAX, X86_RCX);
	emit_set(b, X86_RSP, bad);
	emit_set(b, X86_RBX, bad);
	emit_set(b, X86_R10, bad);
	emit_set(b, X86_RCX, bad);
	emit_set(b, X86_RSI, 0);
	emit_set(b, X86_RDX, 1ull << 63);
	emit_set(b, X86_RBP, 1ull << 62);
	emit_bytes(b, faulting[k].code, faulting[k].len);
}

START_TEST(what_faults_shows_the_state_before_it)
{
	check_cases(put_faulting, sizeof faulting / sizeof faulting[0],
		    both[_i], 3);
}
END_TEST

/* The same with the operand in the page behind the far data. */
static const struct {
	uint8_t len, code[8];
} far_faulting[] = {
    {2, {0xff, 0x15}},		   /* call [rip + rel] */
    {2, {0xff, 0x25}},		   /* jmp */
    {2, {0xff, 0x35}},		   /* push */
    {2, {0x8f, 0x05}},		   /* pop */
    {3, {0x4c, 0x8b, 0x15}},	   /* mov r10 */
    {3, {0x48, 0x89, 0x25}},	   /* mov to it, rsp */
    {3, {0x48, 0x8b, 0x25}},	   /* mov rsp */
    {4, {0xf0, 0x4c, 0x0f, 0xc1}}, /* lock xadd: ModRM follows */
    {2, {0x0f, 0x11}},		   /* movups to it */
};

static void put_far_faulting(struct x86_buf *b, const struct bench_place *p,
			     unsigned k)
{
	static const uint8_t modrm[1] = {0x05};
	uint64_t bad = (uint64_t)p->far + BENCH_DATA - k % 3;
	uint32_t rel;

	emit_rr(b, EMIT_CMP, 8, X86_RAX, X86_RCX);
	emit_bytes(b, far_faulting[k].code, far_faulting[k].len);
	if (k >= 7)
		emit_bytes(b, modrm, 1);
	rel = (uint32_t)(bad - emit_pc(b) - 4);
	emit_bytes(b, (const uint8_t *)&rel, 4);
}

START_TEST(what_faults_far_away_shows_the_state_before_it)
{
	check_cases(put_far_faulting,
		    sizeof far_faulting / sizeof far_faulting[0], both[_i], 3);
}
END_TEST

/* To an address that is none. A call would push, so it has pushed the same
 * before. */
static void put_to_nowhere(struct x86_buf *b, const struct bench_place *p,
			   unsigned k)
{
	static const uint8_t ret_8[] = {0xc2, 8, 0};
	const uint64_t nowhere = k & 1 ? 1ull << 63 : 1ull << 47;
	struct x86_mem mem = x86_mem_pc((uint64_t)(k & 2 ? p->near : p->far));
	struct emit_label to = {0}, again = {0};

	emit_rm_label(b, EMIT_LEA, 8, X86_RDX, &to);
	emit_bind(b, &again);
	emit_mr(b, EMIT_MOV, 8, mem, X86_RDX);
	if (k < 4) {
		emit_r(b, k & 2 ? EMIT_JMP : EMIT_CALL, 8, X86_RDX);
	} else if (k < 8) {
		emit_m(b, k & 2 ? EMIT_JMP : EMIT_CALL, 8, mem);
	} else {
		emit_r(b, EMIT_PUSH, 8, X86_RDX);
		if (k & 2)
			emit_bytes(b, ret_8, sizeof ret_8);
		else
			emit_plain(b, EMIT_RET);
	}
	emit_bind(b, &to);
	emit_set_wide(b, X86_RDX, nowhere);
	emit_rm(b, EMIT_LEA, 8, X86_RSP, x86_mem_at(X86_RSP, k < 8 ? 8 : 0));
	emit_jmp_label(b, &again);
}

START_TEST(a_branch_to_no_address_faults_itself)
{
	check_cases(put_to_nowhere, 12, both[_i], 3);
}
END_TEST

/* -- What the tests above rest on ------------------------------------------ */

START_TEST(far_operands_are_out_of_the_caches_reach)
{
	struct vcpu *v = open_bench(0);

	if (BENCH_SHADOW)
		fprintf(stderr,
			"# engine_recover: skipped all at %#lx: "
			"its surroundings are the sanitizer's\n",
			homes[HOMES - 1]);
	for (unsigned i = 0; i < n_places; i++) {
		const struct bench_place *p = &places[i];
		struct region *r =
		    cache_region(v->engine, (uint64_t)p->code, 4096);
		int64_t far;

		ck_assert_ptr_nonnull(r);
		far = (int64_t)((uint64_t)p->far - r->base - r->size);
		ck_assert_int_gt(far, INT32_MAX);
		far = (int64_t)((uint64_t)p->far - (uint64_t)p->code);
		ck_assert_int_lt(far, INT32_MAX);
	}
}
END_TEST

static TCase *one_by_one(void)
{
	TCase *t = tcase_create("one by one");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, far_operands_are_out_of_the_caches_reach);
	tcase_add_loop_test(t, branches_through_every_register, 0, 2);
	tcase_add_loop_test(
	    t, branches_through_memory_with_every_base_and_index, 0, 2);
	tcase_add_loop_test(t, calls_and_returns_that_drop_arguments, 0, 2);
	tcase_add_loop_test(
	    t, conditional_branches_with_all_conditions_and_flags, 0, 2);
	tcase_add_loop_test(t, counted_branches_with_counts_at_the_edges, 0, 2);
	tcase_add_loop_test(t, odd_users_of_the_stack, 0, 2);
	tcase_add_loop_test(t, the_base_of_gs_is_the_programs_own, 0, 2);
	tcase_add_loop_test(t, code_longer_than_a_block, 0, 2);
	tcase_add_loop_test(t, what_faults_shows_the_state_before_it, 0, 2);
	tcase_add_loop_test(t, a_branch_to_no_address_faults_itself, 0, 2);
	tcase_add_loop_test(t, what_faults_far_away_shows_the_state_before_it,
			    0, 2);
	return t;
}

Suite *engine_recover_suite(void)
{
	Suite *s = suite_create("engine_recover");
	TCase *random = tcase_create("random");

	tcase_set_timeout(random, 3600);
	tcase_add_test(random,
		       every_host_instruction_shows_a_state_of_the_program);
	tcase_add_test(
	    random,
	    a_thread_taken_out_of_the_cache_anywhere_goes_on_as_if_it_had_not);
	tcase_add_test(random, a_fault_shows_the_state_before_its_instruction);
	tcase_add_test(random, code_that_changes_unseen_is_what_it_is_now);
	tcase_add_test(random, what_is_counted_is_what_is_executed);
	tcase_add_test(random,
		       nothing_is_counted_twice_when_the_budget_runs_out);
	suite_add_tcase(s, random);
	suite_add_tcase(s, one_by_one());
	return s;
}
