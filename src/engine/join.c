/* engine/join.c - threads that run already become vcpus.
 *
 * hark holds all threads of a process. One of them makes the engine, and a
 * vcpu for each thread from what hark has written into its slot; the others
 * are sent to hark_leave. Then hark says that all are inside (wire/stay.h) and
 * lets go, and each begins by itself:
 *
 *	thread 0    engine_start: vcpus of all ----+
 *	hark	    redirects the others, INSIDE --+--> join_go, each
 *
 * A program that has just begun comes the same way, alone.
 *
 * J1  All vcpus are there before any thread runs translated code. Until a
 *     thread has begun its .tid is 0 and every signal is blocked for it.
 * J2  The first to begin puts the engine's handlers into place; nobody opens
 *     its mask before that. Signals that are pending stay so until then.
 * J3  A thread that was stopped in a system call stands at that call again; if
 *     it has to go on with what is left of its time (restart_syscall), then
 *     with that. Nothing between hark's stop and this call sleeps with a time
 *     limit and its signals open: the kernel remembers one such call alone,
 *     and none behind sigreturn. (So hark sends no signal to a thread whose
 *     .restart says that it has not come to that call yet.)
 * J4  If a handler runs before that call, the call ends as it would have ended
 *     natively (join_interrupt): the handler has interrupted it.
 * J5  A restartable sequence is one only if it runs on the CPU as it is. So
 *     while a thread is here the kernel knows of none: what was registered is
 *     taken back, and the program reads in its rseq area that it has no CPU
 *     number. When it leaves, it is registered again. What is registered
 *     meanwhile is only remembered: libc ends a process whose first threads
 *     could register and whose next cannot. A program that hark has started is
 *     told that there is no such thing, and runs as on older kernels. */
#include "engine/join.h"

#include "engine/call_priv.h"
#include "engine/sighand.h"
#include "engine/tape.h"
#include "inside/sys.h"

_Noreturn void engine_begin(struct vcpu *v);

enum { NR_RSEQ = 334, RSEQ_UNREGISTER = 1 };
enum { RESTART_SYS = 512, RESTART_NOINTR = 513 };

/* -- Making ---------------------------------------------------------------- */

static void set_state(struct vcpu *v, const struct wire_regs *r)
{
	const uint64_t gpr[16] = {
	    r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,
	    r->r8,  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15};

	for (unsigned i = 0; i < 16; i++)
		v->gpr[i] = gpr[i];
	v->rflags = r->rflags & ~(uint64_t)(FLAG_TF | FLAG_RF);
	v->stepping = r->rflags & FLAG_TF ? STEP_TRAP : 0;
	v->pc = r->rip;
	v->gs_base = r->gs_base;
	v->exit_reason = EXIT_GO;
}

static struct vcpu *make_vcpu(struct engine *e, struct wire_slot *slot)
{
	enum wire_start why = slot->mode == WIRE_TRANSLATE ? WIRE_START_PROGRAM
							   : WIRE_START_ATTACH;
	struct vcpu *v = thread_new(e);

	if (!v)
		return 0;
	vcpu_prepare(v, e);
	v->tid = 0; /* J1 */
	if (e->flags & WIRE_RUN_RECORD)
		tape_new_thread(v, 0, why);
	set_state(v, &slot->regs);
	v->restart = slot->restart;
	v->rseq = slot->rseq;
	v->rseq_len = slot->rseq_len;
	v->rseq_signature = slot->rseq_signature;
	slot->vcpu = (uint64_t)v;
	return v;
}

int join_all(struct engine *e, struct wire_slot *first, unsigned n)
{
	struct sighand *hands = sighand_new(e->memory);

	if (!hands)
		return ERR_NOMEM;
	hands->refs = n;
	e->has_company = n > 1;
	e->stay.n_coming = n;
	for (unsigned i = 0; i < n; i++) {
		struct vcpu *v = make_vcpu(e, first + i);

		if (!v)
			return ERR_NOMEM;
		v->sighand = hands;
	}
	engine_count(&e->run->stats.processes, 1);
	engine_count(&e->run->stats.threads, n);
	return 0;
}

/* -- Beginning ------------------------------------------------------------- */

void join_rseq(const struct vcpu *v, int registered)
{
	if (v->rseq != 0)
		sys_call(NR_RSEQ, v->rseq, v->rseq_len,
			 registered ? 0 : RSEQ_UNREGISTER, v->rseq_signature, 0,
			 0);
}

int64_t call_rseq(struct vcpu *v, const struct call *c)
{
	uint64_t at = c->args[0], flags = (uint32_t)c->args[2];
	uint32_t len = (uint32_t)c->args[1];
	uint32_t signature = (uint32_t)c->args[3];
	int same = v->rseq == at && v->rseq_len == len;

	if (!v->engine->attached)
		return -ERR_NOSYS;
	if (flags & ~(uint64_t)RSEQ_UNREGISTER || at == 0)
		return -ERR_INVAL;
	if (flags == 0 && v->rseq == 0) {
		v->rseq = at;
		v->rseq_len = len;
		v->rseq_signature = signature;
		return 0;
	}
	if (!same)
		return -ERR_INVAL;
	if (v->rseq_signature != signature)
		return -ERR_PERM;
	if (flags == 0)
		return -ERR_BUSY;
	v->rseq = 0;
	return 0;
}

/* J2 */
static void adopt(struct engine *e, struct sighand *hands)
{
	enum { NOT, BUSY, DONE, ALL = 0x7fffffff };
	uint32_t not = NOT;

	if (__atomic_compare_exchange_n(&e->adopted, &not, BUSY, 0,
					__ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		sighand_take(hands);
		__atomic_store_n(&e->adopted, DONE, __ATOMIC_RELEASE);
		sys_call3(SYS_NR_FUTEX, (uint64_t)&e->adopted,
			  SYS_FUTEX_WAKE | SYS_FUTEX_PRIVATE, ALL);
	}
	while (__atomic_load_n(&e->adopted, __ATOMIC_ACQUIRE) != DONE)
		sys_call(SYS_NR_FUTEX, (uint64_t)&e->adopted,
			 SYS_FUTEX_WAIT | SYS_FUTEX_PRIVATE, BUSY, 0, 0, 0);
}

_Noreturn void join_go(struct wire_slot *slot)
{
	struct vcpu *v = (struct vcpu *)slot->vcpu;

	__atomic_store_n(&v->tid, (uint32_t)sys_call3(SYS_NR_GETTID, 0, 0, 0),
			 __ATOMIC_RELEASE);
	join_rseq(v, 0); /* J5 */
	adopt(v->engine, v->sighand);
	__asm__ volatile("wrgsbase %0" : : "r"(vcpu_gs(v)));
	__atomic_fetch_sub(&v->engine->stay.n_coming, 1, __ATOMIC_RELEASE);
	signal_start(v, slot->sigmask);
	engine_begin(v);
}

/* -- J4 -------------------------------------------------------------------- */

void join_interrupt(struct vcpu *v, const struct sig_action *act)
{
	uint32_t why = v->restart;

	v->restart = 0;
	if (why == 0 || why == RESTART_NOINTR ||
	    (why == RESTART_SYS && (act->flags & ACT_RESTART)))
		return;
	v->gpr[RAX] = (uint64_t)-ERR_INTR;
	v->gpr[RCX] = v->pc + SYSCALL_LEN;
	v->gpr[R11] = v->rflags;
	v->pc += SYSCALL_LEN;
}
