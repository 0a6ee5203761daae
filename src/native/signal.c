/* native/signal.c - one handler for all signals.
 *
 * The kernel enters native_handler (native.S) with all signals blocked. Where
 * the thread was then says what the program's own state is:
 *
 *	a trap of ours	  the thread goes on in the trampoline
 *	native_read	  what it was to read is not there
 *	C of the image	  not to be told: the signal waits (N2)
 *	native.S	  as the probe's frame has it, or registers
 *	a trampoline	  as trampoline_native() tells
 *	elsewhere	  it is there already
 *
 * It is put into the signal frame, and then the program's handler is entered
 * as the kernel would have entered it, or whatever the program wants is done.
 *
 * H1  The program's handler starts with the mask that it asked for, set by the
 *     last system call before it; a signal that comes then finds the registers
 *     of that handler's entry.
 * H2  A signal whose default is taken is sent again to the thread itself,
 *     natively at its default: the kernel does the rest, on the program's own
 *     state. */
#include "inside/sys.h"
#include "native/home.h"
#include "native/numbers.h"

#define PLACE extern const uint8_t __attribute__((visibility("hidden")))
PLACE native_asm[], native_asm_end[];
PLACE native_late_open[], native_late_back[];
PLACE native_handler_open[], native_handler_end[];
PLACE native_read_bad[];
PLACE native_leave_shut[];
PLACE native_hit_look[], native_hit_call[], native_hit_now_done[];
PLACE native_hook_look[], native_hook_call[], native_hook_now_done[];

struct caught {
	struct sig_frame *frame; /* borrowed: the kernel's */
	int sig;
	bool is_sync;  /* the CPU raised it, at .pc */
	uint64_t pc;   /* where it was caught */
	uint64_t own;  /* where the program was */
	bool fired;    /* the probe of that has fired */
	uint64_t back; /* the mask to return to */
};

enum where { IN_PROGRAM, IN_TRAMPOLINE, IN_STUB, IN_ENTRY, IN_LEAVE, IN_C };

static uint64_t *gregs(const struct caught *c)
{
	return (uint64_t *)c->frame->uc.context.gregs;
}

/* -- Traps -- */

static const struct collect_trap *find_trap(uint64_t pc)
{
	const struct collect_plan *plan = native_plan();
	const struct collect_index *index = native_index(plan);
	const struct collect_trap *traps =
	    collect_at(plan, index->traps.offset);
	uint64_t lo = 0, hi = index->traps.n;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (traps[mid].pc == pc)
			return native_is_given(pc) ? 0 : &traps[mid];
		if (traps[mid].pc < pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return 0;
}

static uint8_t byte_at(uint64_t at)
{
	return *(const volatile uint8_t *)(uintptr_t)at;
}

/* int3 of two bytes, cd 03, is always the program's. */
static bool is_int3_now(uint64_t pc)
{
	if (!native_readable(pc - 1, 2))
		return true;
	return byte_at(pc) == 0xcc ||
	       (byte_at(pc) == 3 && byte_at(pc - 1) == 0xcd);
}

/* Was the thread in a restartable sequence (rseq)? The kernel aborts that
 * before it delivers the signal of a trap in it, so that the pc is not that of
 * the trap but the abort address, before which a signature stands. No such trap
 * is of a probe, for none is put there (site/rseq.h). */
static bool is_aborted(uint64_t pc)
{
	const uint32_t signature = 0x53053053;
	uint32_t found = 0;

	if (!native_readable(pc - sizeof found, sizeof found))
		return false;
	for (unsigned k = 0; k < sizeof found; k++)
		found |= (uint32_t)byte_at(pc - sizeof found + k) << 8 * k;
	return found == signature;
}

/* It may have been a byte of ours until a moment ago. If it was not, it will
 * be illegal once more. */
static bool try_again(uint64_t pc)
{
	uint64_t *last =
	    &native_home_all()->retried[(sys_fs_base() >> 12) % NATIVE_RETRIED];

	if (__atomic_load_n(last, __ATOMIC_RELAXED) == pc) {
		__atomic_store_n(last, 0, __ATOMIC_RELAXED);
		return false;
	}
	__atomic_store_n(last, pc, __ATOMIC_RELAXED);
	return true;
}

static bool is_our_trap(const struct caught *c)
{
	uint64_t pc = c->pc;
	const struct collect_trap *trap;

	if (!c->is_sync || (c->sig != SIG_TRAP && c->sig != SIG_ILL))
		return false;
	if (c->sig == SIG_TRAP) {
		if (c->frame->info.code != CODE_KERNEL)
			return false;
		pc--;
	} else if (c->frame->info.addr != pc) {
		return false; /* is_aborted() */
	}
	trap = find_trap(pc);
	if (trap) {
		gregs(c)[GREG_RIP] = trap->resume;
		return true;
	}
	if (c->sig == SIG_TRAP ? !native_is_giving(pc) &&
				     (is_int3_now(pc) || is_aborted(c->pc))
			       : !try_again(pc))
		return false;
	gregs(c)[GREG_RIP] = pc;
	return true;
}

/* A SIGTRAP that somebody sent and that the kernel had not delivered yet hides
 * the one of an int3: there is only one then, and it says nothing of it. The
 * int3 is executed again. (Behind an instruction of one byte a thread may be
 * of its own accord, but hardly with its last fault a trap, and never for
 * longer than that instruction takes.) */
static void bring_back_trap(struct caught *c)
{
	enum { TRAPNO_BREAKPOINT = 3 };

	if (c->sig != SIG_TRAP || c->is_sync ||
	    gregs(c)[GREG_TRAPNO] != TRAPNO_BREAKPOINT || !find_trap(c->pc - 1))
		return;
	c->pc--;
	c->own = c->pc;
	gregs(c)[GREG_RIP] = c->pc;
}

const struct trampoline *native_code_at(uint64_t pc, unsigned *offset)
{
	const struct collect_plan *plan = native_plan();
	const struct collect_index *index = native_index(plan);
	const struct collect_code *codes =
	    collect_at(plan, index->codes.offset);
	uint64_t lo = 0, hi = index->codes.n;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (pc < codes[mid].start)
			hi = mid;
		else if (pc - codes[mid].start >= codes[mid].len)
			lo = mid + 1;
		else {
			*offset = (unsigned)(pc - codes[mid].start);
			return collect_at(plan, codes[mid].trampoline);
		}
	}
	return 0;
}

/* A probe that counts by itself, in a thread without memory at its fs base. */
static bool is_bad_self(const struct caught *c)
{
	const struct trampoline *t;
	unsigned offset, slow;

	if (!c->is_sync || (c->sig != SIG_SEGV && c->sig != SIG_BUS))
		return false;
	t = native_code_at(c->pc, &offset);
	slow = t ? trampoline_mended(t, offset) : 0;
	if (slow == 0)
		return false;
	gregs(c)[GREG_RIP] = c->pc - offset + slow;
	return true;
}

static bool is_bad_read(const struct caught *c)
{
	if (is_bad_self(c))
		return true;
	if (c->is_sync && c->pc == (uint64_t)collect_hit_self) {
		gregs(c)[GREG_RIP] = (uint64_t)collect_hit_by_base;
		return true;
	}
	if (!c->is_sync || c->pc < (uint64_t)native_read ||
	    c->pc >= (uint64_t)native_read_bad)
		return false;
	gregs(c)[GREG_RIP] = (uint64_t)native_read_bad;
	return true;
}

/* rdtsc or rdtscp of a clause, in a program that has forbidden both. */
static bool is_refused(const struct caught *c)
{
	if (!c->is_sync || c->sig != SIG_SEGV)
		return false;
	if (c->pc == (uint64_t)collect_tsc)
		gregs(c)[GREG_RIP] = (uint64_t)collect_tsc_refused;
	else if (c->pc == (uint64_t)collect_cpu)
		gregs(c)[GREG_RIP] = (uint64_t)collect_cpu_refused;
	else
		return false;
	return true;
}

/* -- Where -- */

static void get_state(const struct caught *c, uint64_t gpr[16])
{
	for (unsigned r = 0; r < 16; r++)
		gpr[r] = gregs(c)[greg_of(r)];
}

static void set_state(const struct caught *c, const uint64_t gpr[16])
{
	for (unsigned r = 0; r < 16; r++)
		gregs(c)[greg_of(r)] = gpr[r];
	gregs(c)[GREG_RIP] = c->own;
}

static bool in_trampoline(struct caught *c)
{
	const struct trampoline *t;
	uint64_t gpr[16], flags = gregs(c)[GREG_EFL];
	unsigned offset;

	t = native_code_at(c->pc, &offset);
	if (!t)
		return false;
	get_state(c, gpr);
	if (trampoline_native(t, offset, gpr, &flags, &c->own) < 0)
		return false;
	c->fired = trampoline_fired(t, offset, c->own);
	set_state(c, gpr);
	gregs(c)[GREG_EFL] = flags;
	return true;
}

/* Before C is called. */
static bool is_before(uint64_t pc)
{
	return (pc >= (uint64_t)native_hit_look &&
		pc < (uint64_t)native_hit_now_done) ||
	       (pc >= (uint64_t)native_hit &&
		pc <= (uint64_t)native_hit_call) ||
	       (pc >= (uint64_t)native_hook_look &&
		pc < (uint64_t)native_hook_now_done) ||
	       (pc >= (uint64_t)native_hook &&
		pc <= (uint64_t)native_hook_call);
}

/* In native_asm: the handler of a probe is called from there. */
static void in_stub(struct caught *c)
{
	uint64_t gpr[16], flags = gregs(c)[GREG_EFL];
	uint64_t base = gregs(c)[GREG_RBX], ret;
	const struct trampoline *t;
	unsigned offset = 0;

	if (c->pc >= (uint64_t)native_late_open &&
	    c->pc < (uint64_t)native_late_back)
		c->back = ((const uint64_t *)gregs(c)[GREG_RSP])[1];
	ret = *(const uint64_t *)((base & -16ull) - 8);
	trampoline_frame_native((const struct probe_frame *)base, gpr, &flags,
				&c->own);
	t = native_code_at(ret, &offset);
	if (is_before(c->pc))
		offset--;
	if (t)
		c->fired = trampoline_fired(t, offset, c->own);
	set_state(c, gpr);
	gregs(c)[GREG_EFL] = flags;
}

/* A handler of the program's is about to start. */
static void in_entry(struct caught *c)
{
	uint64_t *g = gregs(c);
	const struct sig_frame *outer = (const struct sig_frame *)g[GREG_R9];

	c->own = g[GREG_R8];
	g[GREG_RIP] = c->own;
	g[GREG_RSP] = (uint64_t)outer;
	g[GREG_RDI] = (uint32_t)outer->info.signo;
	g[GREG_RSI] = (uint64_t)&outer->info;
	g[GREG_RDX] = (uint64_t)&outer->uc;
	g[GREG_RAX] = 0;
	g[GREG_RCX] = 0;
}

/* Before all signals are blocked. */
static bool is_leaving(uint64_t pc)
{
	return pc >= (uint64_t)native_leave && pc < (uint64_t)native_leave_shut;
}

/* A thread is about to end: native_leave. */
static void in_leave(struct caught *c)
{
	uint64_t *g = gregs(c);

	c->own = g[GREG_R9];
	g[GREG_RIP] = c->own;
	g[GREG_RDI] = g[GREG_R8];
	g[GREG_RAX] = NR_EXIT;
}

/* -- Ticks: the state is told, and not changed -- */

static void told_by_trampoline(const struct caught *c, struct native_state *s)
{
	const struct trampoline *t;
	unsigned offset;

	t = native_code_at(c->pc, &offset);
	if (t)
		trampoline_native(t, offset, s->gpr, &s->flags, &s->pc);
}

/* A handler that blocked what is held may have ended, without a word to hark
 * (mask.c): that is noticed at the next tick at the latest. */
static void settle_held(uint64_t rsp)
{
	struct native_thread *t = native_find();

	if (!t || t->held == 0 || t->n_entered == 0 || t->counted ||
	    native_is_guest())
		return;
	native_settle(t, rsp);
	native_send_held(t);
}

static void take_tick(const struct caught *c)
{
	const struct collect_plan *plan = native_plan();
	struct native_state s = {.flags = gregs(c)[GREG_EFL], .pc = c->pc};

	get_state(c, s.gpr);
	if (c->pc >= (uint64_t)native_asm && c->pc < (uint64_t)native_asm_end) {
		trampoline_frame_native(
		    (const struct probe_frame *)s.gpr[X86_RBX], s.gpr, &s.flags,
		    &s.pc);
	} else if (c->pc >= (uint64_t)native_handler_open &&
		   c->pc < (uint64_t)native_handler_end) {
		s.pc = s.gpr[X86_R8];
		s.gpr[X86_RSP] = s.gpr[X86_R9];
	} else if (c->pc - plan->image < plan->image_len) {
		native_tick_in_image(c->frame);
		return;
	} else {
		told_by_trampoline(c, &s);
	}
	native_tick(c->frame, &s);
	settle_held(s.gpr[X86_RSP]);
}

static enum where find_out(struct caught *c)
{
	const struct collect_plan *plan = native_plan();

	if (c->pc >= (uint64_t)native_asm && c->pc < (uint64_t)native_asm_end)
		return IN_STUB;
	if (c->pc >= (uint64_t)native_handler_open &&
	    c->pc < (uint64_t)native_handler_end)
		return IN_ENTRY;
	if (is_leaving(c->pc))
		return IN_LEAVE;
	if (c->pc - plan->image < plan->image_len)
		return IN_C;
	return in_trampoline(c) ? IN_TRAMPOLINE : IN_PROGRAM;
}

/* -- N4 -- */

uint64_t native_state(const uint64_t gpr[16])
{
	uint64_t h = 0;

	for (unsigned r = 0; r < 16; r++)
		h = (h ^ gpr[r]) * 0x9e3779b97f4a7c15ull + (h >> 29);
	return h;
}

static void note_fired(const struct caught *c)
{
	struct collect_area *a = native_area(native_find());
	uint64_t gpr[16];
	unsigned i;

	if (!a)
		return;
	i = a->next_token++ % COLLECT_TOKENS;
	get_state(c, gpr);
	if (a->token[i].pc == 0)
		a->n_tokens++;
	a->token[i].pc = c->own;
	a->token[i].state = native_state(gpr);
}

bool native_fired(struct collect_area *area, const struct probe_frame *frame)
{
	uint64_t state = native_state(frame->gpr);

	for (unsigned i = 0; i < COLLECT_TOKENS; i++)
		if (area->token[i].pc == frame->pc &&
		    area->token[i].state == state) {
			area->token[i].pc = 0;
			area->n_tokens--;
			return true;
		}
	return false;
}

/* -- Delivering -- */

static const struct native_go done = {0, 0};

/* H2. What ends with a core file does so where the program was; the others
 * here, all the same to them. */
static struct native_go take_default(const struct caught *c)
{
	static const struct collect_action none = {0};
	uint64_t bit = SIG_BIT(c->sig);

	native_set_action(c->sig, &none, 0);
	native_send(&c->frame->info);
	if (bit & SIG_CORE) {
		c->frame->uc.mask = SIG_ALL & ~bit;
	} else {
		native_set_mask(SIG_ALL & ~bit);
		native_set_mask(SIG_ALL);
	}
	return done;
}

/* N2 */
static bool defer(const struct caught *c)
{
	struct native_thread *t = native_find_or_spare();
	uint64_t ours = native_home()->ours;

	if (!t)
		return false;
	if (SIG_BIT(c->sig) & ours) {
		native_hold(t, &c->frame->info);
		native_let_through(t, t->waits ? t->wait_blocked : t->blocked);
		if (!t->waits && t->n_entered > 0)
			native_count(t); /* handlers may have ended: M1 */
		if (!t->counted)
			return true; /* the program blocks it */
	} else if (t->deferred) {
		native_send(&c->frame->info);
	} else {
		t->deferred = (uint32_t)c->sig;
		t->info = c->frame->info;
		native_count(t);
	}
	if (!t->masked)
		t->back = c->frame->uc.mask & ~ours;
	t->masked = 1;
	c->frame->uc.mask = SIG_ALL & ~ours;
	return true;
}

/* The action, used up if it is good once only. */
static struct collect_action use_action(int sig, bool *is_guest)
{
	struct collect_home *home = native_home();
	static const struct collect_action none = {0};
	struct collect_action a;
	uint32_t pid = native_lock();

	*is_guest = pid == 0;
	a = home->program[sig];
	if (a.handler > SIG_IS_IGNORED && a.flags & ACT_RESETHAND && pid != 0) {
		home->program[sig].handler = SIG_IS_DEFAULT;
		if (!(home->ours & SIG_BIT(sig)))
			native_set_action(sig, &none, 0);
	}
	native_unlock(pid);
	return a;
}

/* 0: it is open; 1: the program has blocked it. */
static bool is_blocked(const struct caught *c, struct native_thread *t)
{
	uint64_t bit = SIG_BIT(c->sig);
	bool passes;

	if (!t)
		return false;
	passes = !c->is_sync && t->pass & bit;
	if (passes)
		t->pass &= ~bit;
	return t->blocked & bit && !passes;
}

/* What is blocked of ours is only believed. */
static void note_entered(const struct caught *c, uint64_t mask)
{
	uint64_t set = mask & native_home()->ours;
	struct native_thread *t = native_find_or_found();

	if (!t && set != 0)
		t = native_make();
	if (native_remembers(t))
		native_entered(t, c->frame, set);
}

static struct native_go enter(struct caught *c, const struct collect_action *a,
			      bool is_guest)
{
	uint64_t mask = c->frame->uc.mask | a->mask;

	if (!(a->flags & ACT_NODEFER))
		mask |= SIG_BIT(c->sig);
	if (!is_guest)
		note_entered(c, mask & ~c->frame->uc.mask);
	if (a->flags & ACT_RESTORER)
		c->frame->pretcode = a->restorer;
	mask &= ~native_home()->ours;
	if (native_ticks_wait(c->frame))
		mask |= SIG_BIT(SIG_TRAP);
	return (struct native_go){a->handler, mask};
}

/* What a handler has blocked that has ended meanwhile is sent again. */
static struct native_thread *find_settled(const struct caught *c)
{
	struct native_thread *t = native_find_or_found();

	if (!t || t->n_entered == 0 || native_is_guest())
		return t;
	native_settle(t, gregs(c)[GREG_RSP]);
	native_send_held(t);
	return t;
}

static struct native_go deliver(struct caught *c)
{
	bool ours = native_home()->ours & SIG_BIT(c->sig);
	struct native_thread *t = find_settled(c);
	struct collect_action a;
	struct native_go go = done;
	bool is_guest;

	if (ours && is_blocked(c, t)) {
		if (c->is_sync)
			return take_default(c);
		native_hold(t, &c->frame->info);
		native_linger(t);
		native_await_return(t);
		c->frame->uc.mask = c->back;
		return done;
	}
	if (!ours && !c->is_sync &&
	    native_home()->program[c->sig].handler > SIG_IS_IGNORED &&
	    native_steps_first(t, c->frame, c->back))
		return done;
	a = use_action(c->sig, &is_guest);
	if (a.handler == SIG_IS_DEFAULT ||
	    (a.handler == SIG_IS_IGNORED && c->is_sync))
		go = take_default(c);
	else if (a.handler != SIG_IS_IGNORED)
		go = enter(c, &a, is_guest);
	if (go.handler != 0 || a.handler == SIG_IS_IGNORED ||
	    !(SIG_BIT(c->sig) & SIG_CORE))
		c->frame->uc.mask = c->back;
	return go;
}

static struct native_go caught_in_c(const struct caught *c)
{
	if (c->is_sync && sig_is_step(&c->frame->info))
		return done; /* the program steps over a probe */
	if (c->is_sync)
		return take_default(c); /* of ours, and not to be mended */
	defer(c);
	return done;
}

/* Is the thread within an instruction of the program's own? */
static bool is_between(const struct caught *c)
{
	const struct trampoline *t;
	unsigned offset;

	if (is_leaving(c->pc) ||
	    (c->pc >= (uint64_t)native_asm && c->pc < (uint64_t)native_asm_end))
		return true;
	t = native_code_at(c->pc, &offset);
	if (!t)
		return false;
	for (unsigned k = 1; k < t->n; k++)
		if (offset == t->resume[k])
			return false;
	return offset !=
	       (unsigned)t->moved_at[t->n - 1] + t->moved[t->n - 1].len;
}

/* The program single-steps itself: it must see one trap for each of its own
 * instructions, none for hark's. */
static bool is_half_step(const struct caught *c)
{
	return c->is_sync && sig_is_step(&c->frame->info) && is_between(c);
}

/* Steps of hark's own: progress.c. Whatever else comes ends them. */
static bool is_own_step(struct caught *c)
{
	struct native_thread *t = native_find();

	if (!t || t->steps == 0 || native_is_tick(&c->frame->info))
		return false;
	if (c->is_sync && sig_is_step(&c->frame->info)) {
		native_stepped(t, c->frame, is_between(c));
		return true;
	}
	native_end_steps(t, c->frame);
	c->back = c->frame->uc.mask & ~native_home()->ours;
	return false;
}

struct native_go native_caught(struct sig_frame *frame)
{
	struct caught c = {.frame = frame,
			   .sig = frame->info.signo,
			   .pc = (uint64_t)frame->uc.context.gregs[GREG_RIP],
			   .own = (uint64_t)frame->uc.context.gregs[GREG_RIP],
			   .back = frame->uc.mask & ~native_home()->ours};
	enum where where;

	c.is_sync = frame->info.code > 0 && SIG_BIT(c.sig) & SIG_SYNC &&
		    !(c.sig == SIG_TRAP && frame->info.code == CODE_PERF);
	if (is_our_trap(&c) || is_bad_read(&c) || native_ends_sample(frame) ||
	    is_refused(&c) || native_overflows(frame) || native_keeps(frame) ||
	    is_own_step(&c) || is_half_step(&c))
		return done;
	bring_back_trap(&c);
	if (native_is_tick(&frame->info)) {
		take_tick(&c);
		native_uncover();
		return done;
	}
	where = find_out(&c);
	if (where == IN_C)
		return caught_in_c(&c);
	if (where == IN_STUB)
		in_stub(&c);
	else if (where == IN_ENTRY)
		in_entry(&c);
	else if (where == IN_LEAVE)
		in_leave(&c);
	if (c.is_sync && frame->info.addr == c.pc)
		frame->info.addr = c.own;
	if (c.fired)
		note_fired(&c);
	return deliver(&c);
}
