/* record/segment.c - a recorded thread runs again, and is checked.
 *
 * wire/record.h has the rules of replay. What is held against the recording:
 *
 * S1  Every event's position is reached, exactly.
 * S2  A CALL stands at a system call, and its number is the one in eax.
 * S3  A RESULT stands at an instruction of its length. (S2 and S3 where the
 *     code is known: what is executed step by step is not.)
 * S4  At the next KEY, and at an END, all registers are the recorded ones:
 *     general ones, flags (status and direction), the bases of fs and gs, and
 *     the extended ones (record/xstate.h). Flags that the program overwrites
 *     before it looks at them are nobody's: neither world keeps them, and
 *     recording knows more code than the recording has. So only those are
 *     compared that are certainly looked at. */
#include "record/segment.h"

#include "base/fmt.h"
#include "x86/decode.h"

#include <string.h>

/* Recorders make key frames much more often. What says otherwise could keep
 * the replay busy for ever. */
#define COUNTS_MOST (1ull << 32)
#define COUNTS_MORE (1ull << 24) /* if they say how often */

typedef unsigned long long ull;

enum {
	SYSCALL_LEN = 2,
	LOOK_AHEAD = 64,	/* instructions, for what becomes of flags */
	COUNTS_AN_EVENT = 4096, /* key frames come later, the more is logged */
	NR_PKEY_ALLOC = 330,
	NR_PKEY_ALLOC_32 = 381, /* by int 0x80 */
	/* of arch_prctl */
	NR_ARCH_PRCTL = 158,
	SET_GS = 0x1001,
	SET_FS = 0x1002,
};

/* -- Words -- */

/* `THREAD:COUNT`, or `PROCESS.THREAD:COUNT` for all but the first process. */
static void say_position(const struct segment *s, uint64_t count, char *text,
			 size_t size)
{
	if (s->process > 1)
		fmt_text(text, size, "%u.%u:%llu", s->process, s->thread,
			 (ull)count);
	else
		fmt_text(text, size, "%u:%llu", s->thread, (ull)count);
}

/* Where the replay is; always -1. */
static int diverged(const struct segment *s, const char *what,
		    struct hark_err *err)
{
	char where[64];

	say_position(s, *replay_count(s->cpu), where, sizeof where);
	return err_set(err, HARK_EBUG, 0, "%s at 0x%llx: %s", where,
		       (ull)replay_state(s->cpu)->pc, what);
}

/* The bytes of an instruction, and the family that they show. */
static void say_instruction(const struct segment *s, uint64_t pc, char *text,
			    size_t size)
{
	uint8_t bytes[X86_MAX_LEN];
	unsigned have = code_fetch(s->code, pc, bytes, sizeof bytes);
	size_t at = 0;
	struct x86_insn x;

	text[0] = '\0';
	if (x86_decode(bytes, have, &x) != X86_OK)
		return;
	for (unsigned i = 0; i < x.len && at < size; i++)
		at += fmt_text(text + at, size - at, " %02x", bytes[i]);
	if (x.space != X86_SPACE_LEGACY && at < size)
		fmt_text(text + at, size - at, " (%s)",
			 x.space >= X86_SPACE_EVEX  ? "AVX-512"
			 : x.space >= X86_SPACE_XOP ? "XOP"
						    : "AVX, or of its kind");
}

int segment_lacks(const struct segment *s, struct hark_err *err)
{
	uint64_t pc = replay_state(s->cpu)->pc;
	char where[64], what[96];

	say_position(s, *replay_count(s->cpu), where, sizeof where);
	say_instruction(s, pc, what, sizeof what);
	return err_set(err, HARK_ELACKS, 0,
		       "%s at 0x%llx: the program used an instruction that "
		       "this processor lacks:%s",
		       where, (ull)pc, what);
}

static const char *const stops[] = {
    [REPLAY_THERE] = "stopped",
    [REPLAY_PAST] = "has passed it",
    [REPLAY_CALL] = "makes a system call",
    [REPLAY_RESULT] = "meets an instruction whose result was not recorded",
    [REPLAY_STATE] = "meets an instruction that it cannot execute",
    [REPLAY_CODE] = "meets no code",
    [REPLAY_FAULT] = "faults",
};

static int not_reached(const struct segment *s, const struct record_event *e,
		       enum replay_stop stop, struct hark_err *err)
{
	char where[64], what[256];
	const char *why = "stopped";

	if (stop == REPLAY_LACKS)
		return segment_lacks(s, err);
	if ((unsigned)stop < sizeof stops / sizeof stops[0])
		why = stops[stop];
	say_position(s, e->count, where, sizeof where);
	fmt_text(what, sizeof what,
		 "the replay %s; recorded was %s %s at 0x%llx", why,
		 record_type_name(e->type), where, (ull)e->pc);
	return diverged(s, what, err);
}

/* -- Registers -- */

static const char *const reg_names[] = {
    "rax", "rcx", "rdx",    "rbx", "rsp",     "rbp",	"rsi",
    "rdi", "r8",  "r9",	    "r10", "r11",     "r12",	"r13",
    "r14", "r15", "rflags", "rip", "fs.base", "gs.base"};
enum {
	N_REGS = sizeof reg_names / sizeof reg_names[0],
	REG_RFLAGS = 16,
};
_Static_assert(offsetof(struct wire_rec_state, sigmask) / 8 == N_REGS,
	       "names stand as registers do");

/* What of `wanted` the instruction looks at. A system call puts all flags into
 * r11. */
static unsigned flags_read(const struct x86_insn *i, unsigned wanted)
{
	if (i->row->flow == X86_SYSCALL)
		return wanted;
	return i->flag_read & wanted;
}

/* Those that the program certainly looks at: on the straight line from pc, up
 * to where it may branch, before they are overwritten. What becomes of the
 * others depends on code that may not be in the recording. */
static uint64_t flags_to_compare(const struct segment *s, uint64_t pc)
{
	unsigned wanted = X86_FLAGS_STATUS, found = 0;
	struct x86_insn i;

	for (int n = 0; n < LOOK_AHEAD && wanted != 0; n++) {
		uint8_t bytes[X86_MAX_LEN];
		unsigned have = code_fetch(s->code, pc, bytes, sizeof bytes);

		if (x86_decode(bytes, have, &i) != X86_OK)
			break;
		found |= flags_read(&i, wanted);
		wanted &= ~(found | i.flag_write);
		if (i.row->flow == X86_JMP || i.row->flow == X86_CALL)
			pc = x86_target(bytes, &i, pc);
		else if (i.row->flow == X86_NEXT)
			pc += i.len;
		else
			break;
	}
	return X86_DF | found;
}

/* Adds every difference to the text; whether there is one. */
static int compare_general(const struct segment *s,
			   const struct wire_rec_state *recorded, char *text,
			   size_t size)
{
	const struct wire_rec_state *replayed = replay_state(s->cpu);
	uint64_t flags = flags_to_compare(s, replayed->pc);
	uint64_t was[N_REGS], is[N_REGS];
	size_t at = 0;

	memcpy(was, recorded, sizeof was);
	memcpy(is, replayed, sizeof is);
	was[REG_RFLAGS] &= flags;
	is[REG_RFLAGS] &= flags;
	for (unsigned i = 0; i < N_REGS; i++)
		if (was[i] != is[i] && at < size)
			at += fmt_text(text + at, size - at,
				       "%s%s is 0x%llx, recorded 0x%llx",
				       at > 0 ? ", " : "", reg_names[i],
				       (ull)is[i], (ull)was[i]);
	return at > 0;
}

static int compare_extended(const struct segment *s,
			    const struct record_event *e, char *text,
			    size_t size)
{
	uint8_t is[WIRE_XSTATE_MAX];
	uint32_t len = replay_get_xstate(s->cpu, is);

	if (xstate_check(s->layout, is, len) < 0) {
		fmt_text(text, size, "extended registers are of no known form");
		return 1;
	}
	return xstate_compare(s->layout, e->xstate, is, text, size);
}

static int check_registers(const struct segment *s,
			   const struct record_event *e,
			   const struct wire_rec_state *recorded,
			   struct hark_err *err)
{
	char what[400];

	if (compare_general(s, recorded, what, sizeof what))
		return diverged(s, what, err);
	if (compare_extended(s, e, what, sizeof what))
		return diverged(s, what, err);
	return 0;
}

static int put_xstate(const struct segment *s, const struct record_event *e,
		      struct hark_err *err)
{
	if (xstate_check(s->layout, e->xstate, e->xstate_len) < 0)
		return diverged(s,
				"the recorded extended registers are of no "
				"form that this machine knows",
				err);
	if (replay_put_xstate(s->cpu, e->xstate, e->xstate_len) < 0) {
		diverged(s,
			 "this processor does not have all of the registers "
			 "that the program used",
			 err);
		if (err != NULL)
			err->code = HARK_ELACKS;
		return -1;
	}
	return 0;
}

/* -- Events -- */

static void forget(void *ctx, uint64_t start, uint64_t end)
{
	replay_forget_code(ctx, start, end);
}

static void set_epoch(const struct segment *s, uint64_t epoch)
{
	code_set_epoch(s->code, epoch, forget, s->cpu);
}

/* The instruction that the replay is at: its length; 0: there is none. Where
 * no code is known it is taken for what it should be. */
static unsigned instruction(const struct segment *s, unsigned should_be,
			    unsigned *flow)
{
	uint8_t bytes[X86_MAX_LEN];
	unsigned n =
	    code_fetch(s->code, replay_state(s->cpu)->pc, bytes, sizeof bytes);
	struct x86_insn insn;

	if (n == 0)
		return should_be;
	if (x86_decode(bytes, n, &insn) != X86_OK)
		return 0;
	*flow = insn.row->flow;
	return insn.len;
}

static int apply_result(const struct segment *s, const struct record_event *e,
			struct hark_err *err)
{
	struct wire_rec_state *state = replay_state(s->cpu);
	unsigned flow = X86_NEXT;
	char what[128];

	if (instruction(s, e->result.length, &flow) != e->result.length) {
		fmt_text(what, sizeof what,
			 "the result of an instruction of %u bytes was "
			 "recorded, but here is none such",
			 e->result.length);
		return diverged(s, what, err);
	}
	for (unsigned i = 0; i < 16; i++)
		if ((e->result.set >> i & 1) != 0)
			state->gpr[i] = e->result.gpr[i];
	state->rflags = e->result.rflags;
	state->pc += e->result.length;
	return 0;
}

/* What the kernel did to registers that no answer tells. */
static void apply_arch_prctl(struct wire_rec_state *state)
{
	if (state->gpr[X86_RDI] == SET_FS)
		state->fs_base = state->gpr[X86_RSI];
	if (state->gpr[X86_RDI] == SET_GS)
		state->gs_base = state->gpr[X86_RSI];
}

/* The kernel gives the thread the rights that it asked for to the new key. */
static void apply_pkey_alloc(const struct segment *s,
			     const struct record_event *e, uint64_t rights)
{
	if (e->call.answer >= 0 && e->call.answer < REPLAY_KEYS)
		replay_set_key(s->cpu, (unsigned)e->call.answer,
			       (unsigned)rights & REPLAY_KEY_RIGHTS);
}

static int apply_call(const struct segment *s, const struct record_event *e,
		      struct hark_err *err)
{
	struct wire_rec_state *state = replay_state(s->cpu);
	unsigned flow = X86_SYSCALL;
	unsigned len = instruction(s, SYSCALL_LEN, &flow);
	char what[128];

	if (len == 0 || (flow != X86_SYSCALL && flow != X86_INT)) {
		fmt_text(what, sizeof what,
			 "system call %d was recorded, but here is none",
			 e->call.number);
		return diverged(s, what, err);
	}
	if ((int32_t)state->gpr[X86_RAX] != e->call.number) {
		fmt_text(what, sizeof what,
			 "system call %d was recorded, the replay makes %d",
			 e->call.number, (int32_t)state->gpr[X86_RAX]);
		return diverged(s, what, err);
	}
	if (e->call.number == NR_ARCH_PRCTL && e->call.answer == 0)
		apply_arch_prctl(state);
	if (flow == X86_SYSCALL && e->call.number == NR_PKEY_ALLOC)
		apply_pkey_alloc(s, e, state->gpr[X86_RSI]);
	if (flow == X86_INT && e->call.number == NR_PKEY_ALLOC_32)
		apply_pkey_alloc(s, e, state->gpr[X86_RCX]);
	state->pc += len;
	state->gpr[X86_RAX] = (uint64_t)e->call.answer;
	if (flow == X86_SYSCALL) {
		state->gpr[X86_RCX] = state->pc;
		state->gpr[X86_R11] = state->rflags;
	}
	return 0;
}

static int apply_state(const struct segment *s, const struct record_event *e,
		       struct hark_err *err)
{
	*replay_state(s->cpu) = e->state;
	++*replay_count(s->cpu);
	return e->xstate_len > 0 ? put_xstate(s, e, err) : 0;
}

static int apply_here(struct segment *s, const struct record_event *e,
		      struct hark_err *err)
{
	switch (e->type) {
	case WIRE_REC_GRANULE:
	case WIRE_REC_BYTES:
		replay_fill(s->cpu, (uint32_t)e->index, e->bytes, e->len);
		return 0;
	case WIRE_REC_RESULT:
		return apply_result(s, e, err);
	case WIRE_REC_CALL:
		return apply_call(s, e, err);
	case WIRE_REC_STATE:
		return apply_state(s, e, err);
	case WIRE_REC_EPOCH:
		set_epoch(s, e->epoch);
		return 0;
	case WIRE_REC_KEY:
	case WIRE_REC_END:
		s->ended = 1;
		if (xstate_check(s->layout, e->xstate, e->xstate_len) < 0)
			return diverged(s, "the key frame is of no known form",
					err);
		return check_registers(
		    s, e, e->type == WIRE_REC_KEY ? &e->key.state : &e->state,
		    err);
	default:
		return 0;
	}
}

/* -- The segment -- */

int segment_begin(struct segment *s, const struct record_event *key,
		  struct hark_err *err)
{
	*replay_state(s->cpu) = key->key.state;
	*replay_count(s->cpu) = key->count;
	replay_clear_shadow(s->cpu);
	set_epoch(s, key->key.epoch);
	s->count = key->count;
	s->n_events = 0;
	s->n_fills = 0;
	s->ended = 0;
	return put_xstate(s, key, err);
}

void segment_resume(struct segment *s, uint64_t count, uint64_t n_events,
		    uint64_t epoch)
{
	set_epoch(s, epoch);
	s->count = count;
	s->n_events = n_events;
	s->n_fills = 0;
	s->ended = 0;
}

/* A block that begins at the event is not to be entered: old code there may
 * not care for flags that new code looks at. Up to the last count before it
 * the replay is free; then there is no such block, and one that is made on
 * arrival is not entered, for then the count is reached. */
static void approach(const struct segment *s, const struct record_event *e)
{
	const uint64_t nowhere = UINT64_MAX;
	uint64_t now = *replay_count(s->cpu);

	if (e->count >= now + 2)
		replay_run(s->cpu, e->count - 2, nowhere);
	if (e->count >= now + 1) {
		replay_forget_code(s->cpu, e->pc, e->pc + 1);
		replay_run(s->cpu, e->count - 1, nowhere);
	}
}

static int is_too_far(const struct segment *s, const struct record_event *e)
{
	uint64_t most = s->most == 0 ? COUNTS_MOST : s->most + COUNTS_MORE;

	return e->count - s->count > most + s->n_events * COUNTS_AN_EVENT;
}

int segment_flush(struct segment *s, struct hark_err *err)
{
	enum replay_stop stop = REPLAY_THERE;
	unsigned n = s->n_fills, done;

	s->n_fills = 0;
	if (n == 0)
		return 0;
	done = replay_run_fills(s->cpu, s->fills, n, &stop);
	if (done < n) {
		const struct replay_fill *f = &s->fills[done];
		struct record_event e = {.type = f->len == WIRE_GRANULE
						     ? WIRE_REC_GRANULE
						     : WIRE_REC_BYTES,
					 .count = f->count,
					 .pc = f->pc};

		return not_reached(s, &e, stop, err);
	}
	return 0;
}

static int put_off(struct segment *s, const struct record_event *e,
		   struct hark_err *err)
{
	struct replay_fill *f = &s->fills[s->n_fills];

	*f = (struct replay_fill){.count = e->count,
				  .pc = e->pc,
				  .index = (uint32_t)e->index,
				  .len = e->len,
				  .bytes = s->filled[s->n_fills]};
	memcpy(s->filled[s->n_fills], e->bytes, e->len);
	return ++s->n_fills == SEGMENT_FILLS ? segment_flush(s, err) : 0;
}

static int is_small_fill(const struct record_event *e)
{
	return (e->type == WIRE_REC_GRANULE || e->type == WIRE_REC_BYTES) &&
	       e->len <= WIRE_GRANULE;
}

int segment_apply(struct segment *s, const struct record_event *e,
		  struct hark_err *err)
{
	enum replay_stop stop;

	if (s->ended)
		return diverged(s, "records follow the end of a segment", err);
	if (is_too_far(s, e))
		return diverged(s, "the next record is too far away", err);
	s->n_events++;
	if (e->type == WIRE_REC_ORDER) /* says nothing about it alone */
		return 0;
	if (is_small_fill(e))
		return put_off(s, e, err);
	if (segment_flush(s, err) < 0)
		return -1;
	if (e->type == WIRE_REC_EPOCH && e->epoch != code_epoch(s->code))
		approach(s, e);
	stop = replay_run(s->cpu, e->count, e->pc);
	if (*replay_count(s->cpu) != e->count ||
	    replay_state(s->cpu)->pc != e->pc)
		return not_reached(s, e, stop, err);
	return apply_here(s, e, err);
}
