/* native/collect_builtin.c - what a script may ask about a hit.
 *
 * Nothing is found out before it is asked for: a system call costs more than
 * all the rest of a hit. Times are the same for all clauses of one hit. */
#include "inside/sys.h"
#include "native/collect_board.h"
#include "native/stack.h"
#include "x86/relocate.h"

enum {
	NR_GETUID = 102,
	NR_GETGID = 104,
	NR_GETPPID = 110,
	NR_PRCTL = 157,
	PR_GET_NAME_ = 16,
	ARCH_GET_GS_ = 0x1004,
	CLOCK_MONOTONIC_ = 1,
	CLOCK_THREAD_ = 3,
	NR_GETCPU = 309,
};

/* -- Time -- */

static uint64_t ask_clock(uint64_t clock)
{
	uint64_t time[2] = {0};

	sys_call3(SYS_NR_CLOCK_GETTIME, clock, (uint64_t)(uintptr_t)time, 0);
	return time[0] * 1000000000 + time[1];
}

/* 0 if the program has forbidden itself rdtsc (PR_SET_TSC): then it raises
 * SIGSEGV, whose handler goes on at collect_tsc_refused, the registers being as
 * they were. There is one such instruction, for the labels. */
static inline uint64_t read_tsc(void)
{
	uint64_t low = 0, high = 0;

	__asm__ volatile(".globl collect_tsc, collect_tsc_refused\n\t"
			 ".hidden collect_tsc, collect_tsc_refused\n"
			 "collect_tsc:\n\t"
			 "rdtsc\n"
			 "collect_tsc_refused:"
			 : "+a"(low), "+d"(high));
	return high << 32 | low;
}

__attribute__((noinline)) uint64_t collect_time(const struct collect_clock *c)
{
	uint64_t tsc = c->mult != 0 ? read_tsc() : 0;

	if (tsc == 0)
		return ask_clock(CLOCK_MONOTONIC_);
	return c->base_ns +
	       (uint64_t)((unsigned __int128)(tsc - c->base_tsc) * c->mult >>
			  32);
}

/* -- Registers and arguments -- */

/* ORDER script/words.c */
void collect_uregs(const struct collect_work *w, uint64_t *out)
{
	static const uint8_t order[16] = {0, 2, 1,  3,	6,  7,	5,  4,
					  8, 9, 10, 11, 12, 13, 14, 15};
	const struct probe_frame *f = w->frame;

	for (unsigned i = 0; i < 16; i++)
		out[i] = f->gpr[order[i]];
	out[16] = f->pc;
	out[17] = trampoline_flags(f, 2);
	out[18] = w->area->fs;
}

static uint64_t cut(uint64_t value, const struct collect_arg *a)
{
	unsigned shift = 64 - 8U * a->size;

	if (a->size == 0 || a->size >= 8)
		return value;
	value <<= shift;
	return a->is_signed ? (uint64_t)((int64_t)value >> shift)
			    : value >> shift;
}

static uint64_t segment(const struct collect_area *area, unsigned which)
{
	uint64_t base = 0;

	if (which == COLLECT_FS)
		return area->fs;
	if (which == COLLECT_GS)
		sys_call3(SYS_NR_ARCH_PRCTL, ARCH_GET_GS_,
			  (uint64_t)(uintptr_t)&base, 0);
	return base;
}

static uint64_t usdt_argument(const struct collect_area *area,
			      const struct collect_arg *a,
			      const struct probe_frame *f)
{
	uint64_t value = (uint64_t)a->value, addr;

	switch (a->place) {
	case COLLECT_CONST:
		return value;
	case COLLECT_REG:
		return cut(f->gpr[a->base & 15] >> (8 * (a->high & 7)), a);
	case COLLECT_MEM:
		addr = value + segment(area, a->segment);
		if (a->base < 16)
			addr += f->gpr[a->base];
		if (a->index < 16)
			addr += f->gpr[a->index] << (a->scale & 3);
		value = 0;
		if (!native_read((const void *)(uintptr_t)addr, &value,
				 a->size <= 8 ? a->size : 8))
			return 0;
		return cut(value, a);
	default:
		return 0;
	}
}

static uint64_t entry_argument(const struct probe_frame *f, unsigned k)
{
	static const uint8_t order[6] = {7, 6, 2, 1, 8, 9};
	uint64_t value = 0, addr;

	if (k < 6)
		return f->gpr[order[k]];
	addr = f->gpr[4] + 8 + 8 * (uint64_t)(k - 6);
	if (!native_read((const void *)(uintptr_t)addr, &value, sizeof value))
		return 0;
	return value;
}

/* In the target alone: hark's clauses have arguments of their own. */
uint64_t collect_argument(const struct collect_area *area,
			  const struct collect_site *site,
			  const struct probe_frame *frame, unsigned k)
{
	const struct collect_plan *plan =
	    (const struct collect_plan *)(uintptr_t)site->plan;

	switch (site->kind) {
	case COLLECT_ENTRY:
		return entry_argument(frame, k);
	case COLLECT_RETURN:
		if (k == 0)
			return frame->pc - site->function;
		return k == 1 ? frame->gpr[0] : 0;
	case COLLECT_CLOCK:
		return k == 1 ? frame->pc : 0;
	case COLLECT_USDT:
		if (k >= site->args.n)
			return 0;
		return usdt_argument(area,
				     (const struct collect_arg *)collect_at(
					 plan, site->args.offset) +
					 k,
				     frame);
	default:
		return 0;
	}
}

/* -- Numbers -- */

static uint64_t frame_builtin(struct collect_work *w, enum probe_builtin what)
{
	uint32_t n;

	if (w->outside != NULL)
		return 0;
	if (what == PROBE_BUILTIN_RETVAL)
		return w->site->kind == COLLECT_RETURN ? w->frame->gpr[0] : 0;
	if (what == PROBE_BUILTIN_USTACKDEPTH)
		return stack_walk(w->plan, w->frame, w->frames,
				  PROBE_FRAMES_MAX);
	n = stack_walk(w->plan, w->frame, w->frames, 2);
	return n == 2 ? w->frames[1] : 0;
}

static uint64_t program_errno(const struct collect_work *w)
{
	int64_t offset = w->plan->errno_offset;
	int32_t value = 0;

	if (offset == 0 || w->outside != NULL ||
	    !native_read(
		(const void *)(uintptr_t)(w->area->fs + (uint64_t)offset),
		&value, sizeof value))
		return 0;
	return (uint64_t)(int64_t)value;
}

static uint64_t cpu(void)
{
	uint64_t number = collect_cpu();
	uint32_t asked = 0;

	if (number != UINT64_MAX)
		return number & COLLECT_CPU_BITS;
	sys_call3(NR_GETCPU, (uint64_t)(uintptr_t)&asked, 0, 0);
	return asked;
}

static uint64_t time_builtin(struct collect_work *w, enum probe_builtin what)
{
	if (what == PROBE_BUILTIN_WALLTIMESTAMP)
		return collect_now(w) + (uint64_t)w->plan->clock.wall_ns;
	if (what == PROBE_BUILTIN_TIMESTAMP)
		return collect_now(w);
	if (w->vtimestamp == 0)
		w->vtimestamp = ask_clock(CLOCK_THREAD_);
	return w->vtimestamp;
}

uint64_t collect_builtin(struct machine_host *h, enum probe_builtin what)
{
	struct collect_work *w = (struct collect_work *)h;

	switch (what) {
	case PROBE_BUILTIN_PID:
		return collect_ids(w->area).pid;
	case PROBE_BUILTIN_TID:
		return collect_ids(w->area).tid;
	case PROBE_BUILTIN_PPID:
		return (uint64_t)sys_call3(NR_GETPPID, 0, 0, 0);
	case PROBE_BUILTIN_UID:
		return (uint64_t)sys_call3(NR_GETUID, 0, 0, 0);
	case PROBE_BUILTIN_GID:
		return (uint64_t)sys_call3(NR_GETGID, 0, 0, 0);
	case PROBE_BUILTIN_ID:
		return w->site->number + 1ULL;
	case PROBE_BUILTIN_EPID:
		return collect_epid(h->program, w->site->number, w->clause);
	case PROBE_BUILTIN_ERRNO:
		return program_errno(w);
	case PROBE_BUILTIN_TIMESTAMP:
	case PROBE_BUILTIN_VTIMESTAMP:
	case PROBE_BUILTIN_WALLTIMESTAMP:
		return time_builtin(w, what);
	case PROBE_BUILTIN_CPU:
		return cpu();
	default:
		return frame_builtin(w, what);
	}
}

/* -- Texts -- */

const char *collect_builtin_text(struct machine_host *h,
				 enum probe_builtin what)
{
	struct collect_work *w = (struct collect_work *)h;

	if (what == PROBE_BUILTIN_THREADNAME) {
		sys_call3(NR_PRCTL, PR_GET_NAME_, (uint64_t)(uintptr_t)w->name,
			  0);
		w->name[COLLECT_NAME - 1] = '\0';
		return w->name;
	}
	if (what == PROBE_BUILTIN_EXECNAME)
		return w->plan->execname != 0
			   ? collect_at(w->plan, w->plan->execname)
			   : "";
	return collect_at(w->plan,
			  w->site->text[what - PROBE_BUILTIN_PROBEPROV]);
}
