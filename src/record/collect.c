/* record/collect.c - what a recorded thread tells, and when.
 *
 * See engine/tape.h for who calls these, wire/record.h for what is written.
 *
 * A STATE is written when the thread is back in the dispatcher, not when the
 * signal arrives: only there its extended registers are in the CPU. */
#include "record/collect_priv.h"

#include "engine/shadow.h"
#include "inside/mem.h"
#include "inside/sys.h"
#include "x86/decode.h"

/* -- Registers ------------------------------------------------------------- */

static void get_state(const struct vcpu *v, struct wire_rec_state *out)
{
	memcpy(out->gpr, v->gpr, sizeof out->gpr);
	out->rflags = v->rflags;
	out->pc = v->pc;
	out->fs_base = sys_fs_base();
	out->gs_base = v->gs_base;
	out->sigmask = v->mask;
}

enum { LEGACY = 512, HEADER_BV = 512, FIRST_EXTENDED = 2 };

/* What is in t->xsave, packed: its length in t->xstate. */
static uint32_t pack_xstate(const struct vcpu *v)
{
	const struct tapes *p = v->engine->tapes;
	struct tape *t = v->tape;
	uint8_t *to = t->xstate + 8 + LEGACY;
	uint64_t mask;

	memcpy(&mask, t->xsave + HEADER_BV, sizeof mask);
	for (unsigned n = FIRST_EXTENDED; n < 63; n++) {
		uint32_t size = p->xstate_size[n], offset = p->xstate_at[n];

		if (!(mask >> n & 1))
			continue;
		if (offset + size > sizeof t->xsave ||
		    to + size > t->xstate + sizeof t->xstate) {
			mask &= ~(1ull << n);
			continue;
		}
		to = put_bytes(to, t->xsave + offset, size);
	}
	memcpy(t->xstate, &mask, sizeof mask);
	memcpy(t->xstate + 8, t->xsave, LEGACY);
	return (uint32_t)(to - t->xstate);
}

/* The CPU's extended registers. */
static __attribute__((noinline)) uint32_t get_xstate(const struct vcpu *v)
{
	struct tape *t = v->tape;

	memset(t->xsave + LEGACY, 0, 64);
	__asm__ volatile("xsave64 %0"
			 : "+m"(t->xsave)
			 : "a"(-1), "d"(-1)
			 : "memory");
	return pack_xstate(v);
}

/* -- Keys ------------------------------------------------------------------ */

/* All that the shadow holds is forgotten. */
static void clear_shadow(const struct vcpu *v)
{
	shadow_give_back(vcpu_gs(v), 0, WIRE_SHADOW_SIZE);
}

/* CPU time of this thread. */
static uint64_t cpu_now_ns(void)
{
	enum { CLOCK_THREAD_CPUTIME = 3 };

	return put_clock_ns(CLOCK_THREAD_CPUTIME);
}

/* CPU time is looked at after so many counts, for it takes a system call. At
 * each look the thread tells where it is: one that computes alone says nothing
 * else, and what it did since then would be lost if it were killed. A count
 * takes 3 ns, or a thousand: so many of them, that it is some milliseconds. */
enum { LOOK_LEAST = 1 << 10, LOOK_FIRST = 1 << 14, LOOK_MOST = 1 << 17 };

static void schedule_look(const struct vcpu *v, uint64_t now_ns)
{
	enum { SHORT_NS = 1000000, LONG_NS = 4000000 };
	struct tape *t = v->tape;
	uint64_t took = now_ns - t->look_cpu_ns;

	if (t->look_every == 0)
		t->look_every = LOOK_FIRST;
	else if (took > LONG_NS && t->look_every > LOOK_LEAST)
		t->look_every /= 2;
	else if (took < SHORT_NS && t->look_every < LOOK_MOST)
		t->look_every *= 2;
	t->look_cpu_ns = now_ns;
	t->look_count = vcpu_count(v) + t->look_every;
}

static void schedule_key(const struct vcpu *v)
{
	struct tape *t = v->tape;

	t->is_first = t->key_cpu_ns == 0;
	t->key_count = vcpu_count(v);
	t->key_cpu_ns = cpu_now_ns();
	t->fills = 0;
	schedule_look(v, t->key_cpu_ns);
}

/* --key-every; without it, never. */
static uint64_t fixed_key(const struct vcpu *v)
{
	uint64_t every = v->engine->tapes->recording->key_every;

	return every != 0 ? v->tape->key_count + every : UINT64_MAX;
}

static int64_t until_look(const struct vcpu *v)
{
	uint64_t at = v->tape->look_count, fixed = fixed_key(v);
	uint64_t count = vcpu_count(v);

	if (fixed < at)
		at = fixed;
	return at > count ? (int64_t)(at - count) : 0;
}

/* A key costs what it takes to fill the shadow again: 0.4 to 0.6 us for a
 * granule, compression included, and page faults. What the last one has cost
 * is known: the next one is so much later that it should take about a tenth of
 * the time. What was filled before the first key was read for the first time,
 * and not all of it will be wanted again; how much that is can only be guessed.
 * Time, not counts: a thousand of those take 3 us, or 30. */
static int key_is_due(const struct vcpu *v, uint64_t now_ns)
{
	enum { LEAST_NS = 100000000, FILL_NS = 5000, FIRST_FILL_NS = 2500 };
	const struct tape *t = v->tape;
	uint64_t each = t->is_first ? FIRST_FILL_NS : FILL_NS;

	if (fixed_key(v) != UINT64_MAX)
		return vcpu_count(v) >= fixed_key(v);
	return now_ns - t->key_cpu_ns >= LEAST_NS + t->fills * each;
}

static void put_key(struct vcpu *v)
{
	struct tape *t = v->tape;
	struct wire_rec_key key = {.count = vcpu_count(v),
				   .epoch = v->epoch,
				   .time_ns = put_now_ns(),
				   .tsc = guest_tsc(),
				   .tid = v->tid,
				   .parent = t->parent};
	uint32_t len = get_xstate(v);
	uint8_t *at;

	get_state(v, &key.state);
	schedule_key(v);
	at = put_begin(v->engine, &t->pen, WIRE_REC_KEY,
		       v->flags_dead ? WIRE_KEY_NO_FLAGS : 0,
		       (uint32_t)sizeof key + len);
	if (!at)
		return;
	at = put_bytes(at, &key, sizeof key);
	put_end(&t->pen, put_bytes(at, t->xstate, len));
	t->last_count = key.count;
	t->last_pc = key.state.pc;
	t->last_tsc = key.tsc;
	order_forget(v);
}

static void put_start(struct vcpu *v)
{
	struct tape *t = v->tape;
	struct tapes *p = v->engine->tapes;
	struct wire_rec_start start = {
	    .process = p->process,
	    .thread = t->thread,
	    .pid = (uint32_t)sys_call3(SYS_NR_GETPID, 0, 0, 0),
	    .tid = v->tid,
	    .why = t->born - 1,
	    .parent = t->parent,
	    .time_ns = put_now_ns(),
	};
	uint8_t *at;

	t->born = 0;
	t->pen = put_open(v->engine, v->tid);
	at = put_begin(v->engine, &t->pen, WIRE_REC_START, 0, sizeof start);
	if (!at)
		return;
	put_end(&t->pen, put_bytes(at, &start, sizeof start));
	v->epoch = p->changed;
	put_key(v);
	order_kernel_told(v, v->pc);
	name_begin(v, (enum wire_start)start.why);
}

/* -- Positions that come once ---------------------------------------------- */

static void put_epoch(const struct vcpu *v)
{
	struct tape *t = v->tape;
	uint8_t *at = put_begin(v->engine, &t->pen, WIRE_REC_EPOCH, 0,
				POSITION_MAX + VARINT_MAX);

	if (!at)
		return;
	at = put_position(t, at, vcpu_count(v), v->pc);
	put_end(&t->pen, put_varint(at, v->epoch));
}

static int code_has_changed(const struct vcpu *v)
{
	return v->epoch <
	       __atomic_load_n(&v->engine->tapes->changed, __ATOMIC_ACQUIRE);
}

static void see_changes(struct vcpu *v)
{
	v->epoch = __atomic_load_n(&v->engine->tapes->serial, __ATOMIC_ACQUIRE);
	put_epoch(v);
}

static void put_state(struct vcpu *v, uint64_t count, uint64_t pc, unsigned why)
{
	struct tape *t = v->tape;
	struct wire_rec_state state;
	uint32_t len = why & WIRE_STATE_XSTATE ? get_xstate(v) : 0, info = 0;
	uint8_t *at;

	if (why & WIRE_STATE_SIGNAL)
		info = sizeof t->info;
	get_state(v, &state);
	if (why & WIRE_STATE_SIGNAL)
		order_kernel_told(v, pc);
	at = put_begin(v->engine, &t->pen, WIRE_REC_STATE, why,
		       POSITION_MAX + (uint32_t)sizeof state + info + len);
	if (at) {
		at = put_position(t, at, count, pc);
		at = put_bytes(at, &state, sizeof state);
		at = put_bytes(at, t->info, info);
		put_end(&t->pen, put_bytes(at, t->xstate, len));
	}
	v->budget--; /* N3 */
}

/* What the kernel has put on the stack for a handler: without it nobody could
 * tell who was interrupted. Extended registers are not told. */
static void put_frame(struct vcpu *v)
{
	enum { RETURN = 8, CONTEXT = 304, INFO = 128 };

	load_memory(v, v->pc, v->gpr[4], RETURN + CONTEXT + INFO);
}

/* -- Instructions that were looked at -------------------------------------- */

struct looked_at {
	uint8_t code[X86_MAX_LEN];
	struct x86_insn x;
};

/* Its length; 0: there is none. */
static unsigned decode_at(const struct vcpu *v, struct looked_at *out)
{
	unsigned have = sizeof out->code;

	have -= (unsigned)guest_copy(out->code, (const void *)v->pc, have);
	if (x86_decode(out->code, have, &out->x) != X86_OK)
		return 0;
	return out->x.len;
}

void tape_note(struct vcpu *v, unsigned why, uint64_t pc, const void *info)
{
	struct tape *t = v->tape;
	struct looked_at insn;

	if (!(t->pending & IS_PENDING)) {
		t->pending_count = vcpu_count(v);
		t->pending_pc = pc;
		t->n_left = 0;
	}
	if (why & WIRE_STATE_STEP && decode_at(v, &insn) != 0)
		t->n_left = left_find(v, insn.code, &insn.x, v->pc, 0, t->left);
	t->pending |= IS_PENDING | why;
	if (info)
		memcpy(t->info, info, sizeof t->info);
}

/* -- Progress -------------------------------------------------------------- */

static void begin_segment(struct vcpu *v)
{
	int has_company = v->engine->has_company != 0;
	struct common c = {0};

	if (has_company)
		load_get_common(v, &c);
	put_key(v);
	clear_shadow(v);
	if (has_company)
		load_again(v, &c);
}

/* How far it came: one that is alone says so; one that has company begins a
 * turn, so that turns are short and tell when things were. */
static void tell_progress(struct vcpu *v)
{
	if (v->engine->has_company)
		order_seen(v, v->pc);
	else if (!code_has_changed(v)) /* or that is told in a moment */
		put_epoch(v);
}

static void look(struct vcpu *v)
{
	uint64_t now_ns = cpu_now_ns();

	if (key_is_due(v, now_ns)) {
		begin_segment(v);
		return;
	}
	schedule_look(v, now_ns);
	tell_progress(v);
}

void tape_ready(struct vcpu *v)
{
	struct tape *t = v->tape;

	if (t->born)
		put_start(v);
	if (t->pending & IS_PENDING) {
		unsigned why = t->pending & 0xff;

		t->pending = 0;
		put_state(v, t->pending_count, t->pending_pc,
			  why | WIRE_STATE_XSTATE);
		left_log(v, t->left, (unsigned)t->n_left);
		t->n_left = 0;
		if (why & WIRE_STATE_SIGNAL)
			put_frame(v);
	}
	if (until_look(v) == 0)
		look(v);
	if (code_has_changed(v))
		see_changes(v);
	vcpu_set_budget(v, until_look(v));
}

void tape_result(struct vcpu *v)
{
	struct tape *t = v->tape;
	struct left_store left[LEFT_MAX];
	struct looked_at insn;
	uint64_t pc = v->pc;
	unsigned len = decode_at(v, &insn);
	uint16_t set = len != 0 ? insn.x.gpr_write : 0;
	uint8_t *at;

	if (len == 0)
		engine_die("an instruction is gone");
	at = put_begin(v->engine, &t->pen, WIRE_REC_RESULT, len,
		       POSITION_MAX + 2 + 8 + 16 * 8);
	if (at) {
		at = put_position(t, at, vcpu_count(v), v->pc);
		at = put_bytes(at, &set, sizeof set);
		at = put_bytes(at, &v->rflags, sizeof v->rflags);
		for (unsigned i = 0; i < 16; i++)
			if (set >> i & 1)
				at = put_bytes(at, &v->gpr[i], 8);
		put_end(&t->pen, at);
	}
	v->pc += len;
	left_log(v, left,
		 left_find(v, insn.code, &insn.x, pc, set, left)); /* xsave */
}

/* int 0x80 may have been a fork. */
static int is_other_process(const struct vcpu *v)
{
	return (uint32_t)sys_call3(SYS_NR_GETPID, 0, 0, 0) !=
	       v->engine->tapes->pid;
}

void tape_state(struct vcpu *v)
{
	struct left_store left[LEFT_MAX];
	struct looked_at insn;
	const struct x86_insn *x = &insn.x;
	uint64_t pc = v->pc;
	unsigned len = decode_at(v, &insn), why = WIRE_STATE_STEP;

	if (len == 0)
		engine_die("an instruction is gone");
	if (x->row->attr & (X86_A_VEC | X86_A_X87 | X86_A_XSTATE) ||
	    x->row->flow != X86_NEXT)
		why |= WIRE_STATE_XSTATE;
	v->pc += len;
	if (x->row->flow == X86_INT && is_other_process(v)) {
		tape_forked(v, 0);
		return;
	}
	if (x86_is_locked(x))
		order_drawn(v, pc);
	put_state(v, vcpu_count(v), pc, why);
	left_log(v, left, left_find(v, insn.code, x, pc, x->gpr_write, left));
}

/* What the kernel has read for the program is told at once: most of it will
 * be looked at. */
static void put_input(struct vcpu *v, int64_t nr, int64_t answer)
{
	enum { NR_READ = 0, NR_PREAD = 17, NR_RECVFROM = 45, LEAST = 64 };
	enum { SYSCALL = 2 };

	if ((nr == NR_READ || nr == NR_PREAD || nr == NR_RECVFROM) &&
	    answer >= LEAST && (uint64_t)answer <= v->gpr[2])
		load_memory(v, v->pc + SYSCALL, v->gpr[6], (uint64_t)answer);
}

void tape_calling(struct vcpu *v)
{
	if (v->tape->born == 0)
		order_kernel(v, v->pc);
}

void tape_call(struct vcpu *v, int64_t answer)
{
	enum { SYSCALL = 2 };
	struct tape *t = v->tape;
	int64_t nr = (int32_t)v->gpr[0];
	uint64_t now = guest_tsc();
	uint8_t *at;

	if (t->born)
		return; /* in the child of a fork: it begins behind it */
	if (t->pending & IS_PENDING)
		tape_ready(v);
	at = put_begin(v->engine, &t->pen, WIRE_REC_CALL, 0,
		       POSITION_MAX + 3 * VARINT_MAX);
	if (!at)
		return;
	at = put_position(t, at, vcpu_count(v), v->pc);
	at = put_varint(at, (uint32_t)v->gpr[0]);
	at = put_zigzag(at, answer);
	at = put_varint(at, now - t->last_tsc);
	t->last_tsc = now;
	put_end(&t->pen, at);
	order_kernel(v, v->pc + SYSCALL);
	code_call(v, nr, answer);
	name_call(v, nr, answer);
	put_input(v, nr, answer);
}

/* -- Life ------------------------------------------------------------------ */

void tape_new_thread(struct vcpu *v, const struct vcpu *parent,
		     enum wire_start why)
{
	struct tapes *p = v->engine->tapes;
	struct tape *t = (void *)((uint8_t *)v + SLOT_TAPE);

	memset(t, 0, offsetof(struct tape, xsave));
	v->tape = t;
	t->born = why + 1;
	t->thread = __atomic_add_fetch(&p->n_threads, 1, __ATOMIC_RELAXED);
	if (parent && parent->tape)
		t->parent = parent->tape->thread;
	v->lines = p->lines;
	v->line = p->lines;
	v->count_end = 0;
	v->budget = 0;
}

void tape_end(struct vcpu *v, unsigned why, const void *info, const void *fp,
	      uint32_t fp_len)
{
	struct tape *t = v->tape;
	struct wire_rec_state state;
	uint32_t len, info_len = why == WIRE_END_SIGNAL ? sizeof t->info : 0;
	uint8_t *at = 0;

	if (t->pending & IS_PENDING && !fp)
		tape_ready(v);
	if (fp) {
		memset(t->xsave, 0, sizeof t->xsave);
		memcpy(t->xsave, fp,
		       fp_len < sizeof t->xsave ? fp_len : sizeof t->xsave);
	}
	if (info)
		memcpy(t->info, info, sizeof t->info);
	len = fp ? pack_xstate(v) : get_xstate(v);
	get_state(v, &state);
	if (!t->born) {
		order_end(v);
		at = put_begin(v->engine, &t->pen, WIRE_REC_END, why,
			       POSITION_MAX + (uint32_t)sizeof state +
				   info_len + len);
	}
	if (at) {
		at = put_position(t, at, vcpu_count(v), v->pc);
		at = put_bytes(at, &state, sizeof state);
		at = put_bytes(at, t->info, info_len);
		put_end(&t->pen, put_bytes(at, t->xstate, len));
	}
	put_close(v->engine, &t->pen);
	clear_shadow(v);
}

void tape_gone(struct vcpu *v)
{
	put_close(v->engine, &v->tape->pen);
	clear_shadow(v);
}
