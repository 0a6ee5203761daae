/* engine/park.c - all threads of a process go home, natively.
 *
 * hark asks each thread to wait for it, with its state in its vcpu: by a signal
 * that is never blocked (SIGTRAP with a value that nobody else sends), or, if
 * the kernel is to make its system call again, by sending it to park_entry
 * straight away. When all wait, one is sent back to give the process its
 * signals (park_leave); hark gives all of them their registers, and lets the
 * engine vanish.
 *
 * A thread may be met anywhere, so it is hark that gives the registers: no
 * instruction sets all of them and the mask at once without a trace on the
 * program's stack, and a call with a time limit goes on where it was only if
 * the kernel sees it as it left it.
 *
 * K1  A parked thread has told its end, if it was recorded; its alternate
 *     stack is the program's, and what it had registered is registered.
 *     Signals, all of them, are blocked.
 * K2  Whoever waits here sleeps by ppoll: any other call with a time limit
 *     would take the place of the one that the kernel remembers.
 * K3  If hark dies, or gives up, or does not come for ten seconds, everybody
 *     goes on in the engine; unless the signals are the program's already: then
 *     everybody goes home by itself. One atomic exchange decides
 *     (wire/stay.h). */
#include "engine/call_priv.h"
#include "engine/join.h"
#include "engine/sighand.h"
#include "engine/signal_priv.h"
#include "engine/tape.h"
#include "inside/sys.h"

enum { NR_RESTART = 219, RESTART_BLOCK = 516, CODE_QUEUE = -1 };

/* home.S: natively on. */
_Noreturn void park_home(const struct wire_park *p, uint64_t gs);

int park_is_asked(const struct vcpu *v, const struct sig_info *info)
{
	const struct engine *e = v->engine;

	return info->signo == SIG_TRAP && info->code == CODE_QUEUE &&
	       e->channel && info->value == wire_places_of(e->channel)->secret;
}

static void native_mask(uint64_t mask)
{
	sys_call(SYS_NR_RT_SIGPROCMASK, MASK_SET, (uint64_t)&mask, 0, SET_SIZE,
		 0, 0);
}

/* -- What it goes home with ------------------------------------------------ */

static enum wire_cannot cannot(const struct vcpu *v)
{
	if (v->filters || v->seccomp)
		return WIRE_CANNOT_FILTER;
	if (v->call_dispatch)
		return WIRE_CANNOT_DISPATCH;
	return v->engine->no_new_code ? WIRE_CANNOT_CODE : WIRE_CANNOT_NOT;
}

static struct wire_regs registers(const struct vcpu *v)
{
	const uint64_t *g = v->gpr;

	return (struct wire_regs){
	    .rax = g[RAX],
	    .rcx = g[RCX],
	    .rdx = g[RDX],
	    .rbx = g[RBX],
	    .rsp = g[RSP],
	    .rbp = g[RBP],
	    .rsi = g[RSI],
	    .rdi = g[RDI],
	    .r8 = g[R8],
	    .r9 = g[R9],
	    .r10 = g[R10],
	    .r11 = g[R11],
	    .r12 = g[12],
	    .r13 = g[13],
	    .r14 = g[14],
	    .r15 = g[15],
	    .orig_rax = v->restart ? g[RAX] : ~0ull,
	    .rip = v->pc,
	    .cs = v->cs,
	    .rflags = v->rflags | (v->stepping & STEP_TRAP ? FLAG_TF : 0),
	    .ss = v->ss,
	    .fs_base = sys_fs_base(),
	    .gs_base = v->gs_base,
	};
}

static struct wire_park park_of(const struct vcpu *v)
{
	struct wire_park p = {
	    .regs = registers(v),
	    .sigmask = v->mask,
	    .restart = v->restart,
	    .cannot = cannot(v),
	    .vcpu = (uint64_t)v,
	};

	if (v->restart == RESTART_BLOCK)
		p.regs.rax = NR_RESTART;
	return p;
}

/* K1 */
static void pack(struct vcpu *v)
{
	struct sig_stack stack = {
	    .sp = v->altstack.sp,
	    .size = v->altstack.size,
	    .flags = v->altstack.flags & STACK_AUTODISARM,
	};
	struct sig_info info;

	if (v->tape)
		tape_end(v, WIRE_END_STOP, 0, 0, 0);
	thread_count(v);
	while (sent_take(v, SIG_ALL, &info) != 0)
		signal_give_back(v, &info);
	if (v->altstack.size == 0)
		stack.flags = STACK_DISABLE;
	sys_call3(SYS_NR_SIGALTSTACK, (uint64_t)&stack, 0, 0);
	join_rseq(v, 1);
}

/* It stays, after all. */
static void unpack(struct vcpu *v)
{
	join_rseq(v, 0);
	if (v->restart == RESTART_BLOCK)
		v->gpr[RAX] = NR_RESTART;
	signal_open(v);
}

/* -- Waiting --------------------------------------------------------------- */

static int change(struct wire_stay *stay, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&stay->state, &from, to, 0,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* One that is on its way here may have been asked once more; that is not for
 * the program. hark sees whether anything is left (outside/depart.c). */
static void forget_asks(struct vcpu *v)
{
	enum { NR_SIGTIMEDWAIT = 128 };
	const uint64_t trap = SIG_BIT(SIG_TRAP), at_once[2] = {0, 0};
	struct sig_info info = {0};

	while (sys_call(NR_SIGTIMEDWAIT, (uint64_t)&trap, (uint64_t)&info,
			(uint64_t)at_once, SET_SIZE, 0, 0) == SIG_TRAP)
		if (!park_is_asked(v, &info)) {
			signal_give_back(v, &info);
			break;
		}
}

/* What became of it: INSIDE or LEFT. */
static uint32_t wait_for_hark(struct vcpu *v, const struct wire_park *p)
{
	struct engine *e = v->engine;
	struct wire_stay *stay = &e->stay;
	uint32_t state, n = 0;

	__atomic_fetch_add(&stay->n_parked, 1, __ATOMIC_RELEASE);
	for (;;) {
		state = __atomic_load_n(&stay->state, __ATOMIC_ACQUIRE);
		if (state != WIRE_STAY_ASKED && state != WIRE_STAY_LEAVING)
			break;
		if (state == WIRE_STAY_ASKED &&
		    (!wire_hark_lives(e->run) || n++ > PARK_MOMENTS))
			change(stay, WIRE_STAY_ASKED,
			       WIRE_STAY_INSIDE); /* K3 */
		else
			park_wait(p);
		forget_asks(v);
	}
	__atomic_fetch_sub(&stay->n_parked, 1, __ATOMIC_RELEASE);
	return state;
}

void park_here(struct vcpu *v)
{
	struct engine *e = v->engine;
	struct wire_park p;

	if (__atomic_load_n(&e->stay.state, __ATOMIC_ACQUIRE) !=
		WIRE_STAY_ASKED ||
	    v->is_vfork) /* its parent waits for what it is about to do */
		return;
	native_mask(SIG_ALL);
	if (__atomic_load_n(&v->held, __ATOMIC_RELAXED)) { /* that goes first */
		__atomic_fetch_or(&v->held, HELD_PARK, __ATOMIC_SEQ_CST);
		native_mask(signal_native(v));
		return;
	}
	pack(v);
	p = park_of(v);
	if (wait_for_hark(v, &p) == WIRE_STAY_LEFT)
		park_home(&p, v->gs_base);
	unpack(v);
}

/* From park_entry: in the middle of a system call that the kernel is to make
 * again, but will not have. */
void park_called(struct vcpu *v, uint32_t why);
void park_called(struct vcpu *v, uint32_t why)
{
	v->passing = v->has_temp_mask = 0;
	v->restart = why;
	park_here(v);
}

/* -- Leaving --------------------------------------------------------------- */

/* Another process in the same memory is a thread, too, and not parked. */
int park_leave(const struct wire_slot *slot)
{
	struct vcpu *v = (struct vcpu *)slot->vcpu;
	struct engine *e = v->engine;

	if (e->n_threads != slot->n_threads ||
	    v->sighand->refs != slot->n_threads ||
	    !change(&e->stay, WIRE_STAY_ASKED, WIRE_STAY_LEAVING))
		return ERR_BUSY;
	sighand_leave(v->sighand, SIG_ALL);
	limits_expose(v, 1);
	__atomic_store_n(&e->stay.state, WIRE_STAY_LEFT, __ATOMIC_RELEASE);
	return 0;
}
