/* engine/seccomp.c - calls that the program has forbidden itself.
 *
 * A filter that the kernel ran would see the engine's calls too, and every
 * call at the engine's address. So the engine keeps the filters and runs them
 * itself: on the program's calls alone, with the program's addresses. The
 * kernel gets them when another program takes over (exec), whose engine will
 * not know of them.
 *
 * F1  Filters form a chain, newest first, that only grows; threads and forks
 *     inherit its head.
 * F2  Filters that ask others (a tracer, a listener) are the kernel's: there
 *     the program must let pass what the engine does for it: rt_sigreturn,
 *     rt_sigprocmask, rt_tgsigqueueinfo, mmap, munmap, mprotect, futex.
 *
 * The same holds for syscall user dispatch, which is a selector byte and a
 * range of addresses.
 *
 * Not as native: /proc/PID/status says that there is no filter, and so does
 * ptrace. */
#include "engine/call_priv.h"

#include "engine/bpf.h"
#include "engine/memory.h"
#include "engine/sighand.h"
#include "engine/signal_priv.h"
#include "inside/sys.h"

struct filter {
	struct filter *older; /* borrowed: never freed */
	uint32_t n, flags;
	uint32_t installed, pad; /* the kernel has it, too */
	struct bpf_insn code[];
};

enum { MODE_NONE, MODE_STRICT, MODE_FILTER };
enum {
	PR_GET_SECCOMP = 21,
	PR_SET_SECCOMP = 22,
	PR_GET_NO_NEW_PRIVS = 39,
	PR_SET_DISPATCH = 59,
	PR_SET_MDWE = 65,
	PR_GET_MDWE = 66,
};
enum { NR_PRCTL = 157, NR_CAPGET = 125, NR_SECCOMP = 317, NR_KILL = 62 };
enum { NR_EXIT = 60 };
enum { OP_STRICT, OP_FILTER };
enum {
	FLAG_TSYNC = 1,
	FLAG_LISTENER = 8,
	FLAG_TSYNC_ESRCH = 16,
	FLAGS_KNOWN = 63,
};
enum { ARCH_X86_64 = (int)0xc000003e };

#define RET_KILL_PROCESS 0x80000000u
#define RET_KILL_THREAD	 0x00000000u
#define RET_TRAP	 0x00030000u
#define RET_ERRNO	 0x00050000u
#define RET_NOTIFY	 0x7fc00000u
#define RET_TRACE	 0x7ff00000u
#define RET_LOG		 0x7ffc0000u
#define RET_ALLOW	 0x7fff0000u
#define RET_ACTION	 0xffff0000u

/* -- Refusing -------------------------------------------------------------- */

/* SIGSYS behind the instruction, as if it had done nothing. */
static void raise_sys(struct vcpu *v, const struct call *c, int code, int data)
{
	struct sig_info info = {
	    .signo = SIG_SYS,
	    .error = data,
	    .code = code,
	    .sys = {v->pc + SYSCALL_LEN, (int32_t)c->nr, (uint32_t)ARCH_X86_64},
	};

	v->gpr[RCX] = v->pc + SYSCALL_LEN;
	v->gpr[R11] = v->rflags;
	v->pc += SYSCALL_LEN;
	signal_raise(v, &info, (int64_t)v->trapno, (int64_t)v->error,
		     (int64_t)v->cr2);
}

/* A blocked fault ends the process. */
static void end_by_sys(struct vcpu *v, const struct call *c, int code, int data)
{
	v->mask |= SIG_BIT(SIG_SYS);
	raise_sys(v, c, code, data);
}

static void end_by_kill(struct vcpu *v)
{
	uint64_t pid = (uint64_t)sys_call3(SYS_NR_GETPID, 0, 0, 0);

	if (v->engine->n_threads > 1)
		call_exit(v, &(struct call){NR_EXIT, {SIG_KILL}});
	for (;;)
		sys_call3(NR_KILL, pid, SIG_KILL, 0);
}

/* -- Syscall user dispatch ------------------------------------------------- */

/* 1: the call may go on. */
static int dispatch_allows(struct vcpu *v, const struct call *c)
{
	uint8_t selector = 1;

	if (v->pc + SYSCALL_LEN - v->call_start < v->call_len)
		return 1;
	if (v->call_selector != 0) {
		if (guest_copy(&selector, (const void *)v->call_selector, 1)) {
			struct sig_info info = {.signo = SIG_SEGV,
						.code = CODE_KERNEL};

			v->mask |= SIG_BIT(SIG_SEGV);
			signal_raise(v, &info, 0, 0, 0);
		}
		if (selector == 0)
			return 1;
		if (selector != 1)
			end_by_sys(v, c, CODE_USER_DISPATCH, 0);
	}
	raise_sys(v, c, CODE_USER_DISPATCH, 0);
	return 0;
}

static int64_t set_dispatch(struct vcpu *v, const struct call *c)
{
	enum { OFF, EXCLUSIVE, INCLUSIVE };
	uint64_t start = c->args[2], len = c->args[3], mode = c->args[1];
	uint64_t selector = c->args[4];

	if (mode == OFF && (start || len || selector))
		return -ERR_INVAL;
	if (mode > INCLUSIVE || (mode == INCLUSIVE && len == 0))
		return -ERR_INVAL;
	if (mode != OFF && start != 0 && start + len <= start)
		return -ERR_INVAL;
	if (selector >= 1ull << 47)
		return -ERR_FAULT;
	v->call_start = mode == INCLUSIVE ? start + len : start;
	v->call_len = mode == INCLUSIVE ? -len : len;
	v->call_selector = selector;
	v->call_dispatch = mode != OFF;
	return 0;
}

/* -- Filters --------------------------------------------------------------- */

/* The strictest answer of all filters, the newest first among equals. */
static uint32_t ask_filters(const struct vcpu *v, const struct call *c)
{
	struct bpf_data data = {
	    .nr = (int32_t)c->nr,
	    .arch = (uint32_t)ARCH_X86_64,
	    .ip = v->pc + SYSCALL_LEN,
	};
	uint32_t strictest = RET_ALLOW, answer;

	for (unsigned i = 0; i < 6; i++)
		data.args[i] = c->args[i];
	for (const struct filter *f = v->filters; f; f = f->older) {
		answer = bpf_run(f->code, &data);
		if ((int32_t)(answer & RET_ACTION) <
		    (int32_t)(strictest & RET_ACTION))
			strictest = answer;
	}
	return strictest;
}

static int obey(struct vcpu *v, const struct call *c, uint32_t verdict,
		int64_t *answer)
{
	enum { MAX_ERRNO = 4095 };
	int data = (int)(verdict & 0xffff);

	*answer = CALL_DONE;
	switch (verdict & RET_ACTION) {
	case RET_ALLOW:
	case RET_LOG:
		return 1;
	case RET_ERRNO:
		*answer = data > MAX_ERRNO ? -MAX_ERRNO : -data;
		return 0;
	case RET_TRAP:
		raise_sys(v, c, CODE_SECCOMP, data);
		return 0;
	case RET_TRACE:
		*answer = -ERR_NOSYS;
		return 0;
	case RET_KILL_THREAD:
		if (v->engine->n_threads > 1)
			call_exit(v, &(struct call){NR_EXIT, {SIG_SYS}});
		break;
	default:
		break;
	}
	end_by_sys(v, c, CODE_SECCOMP, data);
	return 0;
}

int filter_allows(struct vcpu *v, const struct call *c, int64_t *answer)
{
	*answer = CALL_DONE;
	if (v->call_dispatch && !dispatch_allows(v, c))
		return 0;
	if (v->seccomp == MODE_FILTER)
		return obey(v, c, ask_filters(v, c), answer);
	if (v->seccomp == MODE_STRICT && c->nr != 0 && c->nr != 1 &&
	    c->nr != SYS_NR_RT_SIGRETURN && c->nr != NR_EXIT)
		end_by_kill(v);
	return 1;
}

/* -- Installing ------------------------------------------------------------ */

static int is_allowed(void)
{
	enum { SYS_ADMIN = 21 };
	const uint32_t head[2] = {0x20080522, 0};
	uint32_t sets[6] = {0};

	if (sys_call3(NR_PRCTL, PR_GET_NO_NEW_PRIVS, 0, 0) == 1)
		return 1;
	sys_call3(NR_CAPGET, (uint64_t)head, (uint64_t)sets, 0);
	return (sets[0] >> SYS_ADMIN & 1) != 0;
}

/* F2 */
static int asks_others(const struct filter *f)
{
	enum { RET_CONSTANT = 6, RET_COMPUTED = 0x16 };

	for (uint32_t i = 0; i < f->n; i++) {
		uint32_t action = f->code[i].k & RET_ACTION;

		if (f->code[i].code == RET_COMPUTED)
			return 1;
		if (f->code[i].code == RET_CONSTANT &&
		    (action == RET_TRACE || action == RET_NOTIFY))
			return 1;
	}
	return 0;
}

/* The filter that the program describes at address; a negative errno. */
static int64_t read_filter(struct memory *m, uint64_t address,
			   struct filter **out)
{
	struct {
		uint16_t n, pad[3];
		uint64_t code;
	} from;
	struct filter *f;
	uint64_t len;
	int64_t answer;

	if (guest_copy(&from, (const void *)address, sizeof from) != 0)
		return -ERR_FAULT;
	if (from.n == 0 || from.n > BPF_MAX)
		return -ERR_INVAL;
	len = from.n * sizeof(struct bpf_insn);
	f = memory_map(m, sizeof *f + len);
	if (!f)
		return -ERR_NOMEM;
	f->n = from.n;
	if (guest_copy(f->code, (const void *)from.code, len) != 0)
		answer = -ERR_FAULT;
	else
		answer = bpf_check(f->code, f->n) < 0 ? -ERR_INVAL : 0;
	if (answer == 0)
		*out = f;
	else
		memory_unmap(m, f, sizeof *f + len);
	return answer;
}

static int is_older(const struct filter *a, const struct filter *b)
{
	while (b && b != a)
		b = b->older;
	return b == a;
}

/* All threads of the process, or none: then the tid of one that differs. */
static uint32_t sync_threads(struct vcpu *v, struct filter *f)
{
	struct engine *e = v->engine;
	uint32_t other = 0;

	engine_lock(&e->threads_lock);
	for (struct vcpu *u = e->vcpus; u; u = u->next)
		if (u->slot_state && u->sighand == v->sighand &&
		    !is_older(u->filters, v->filters))
			other = u->tid;
	for (struct vcpu *u = e->vcpus; u && other == 0; u = u->next)
		if (u->slot_state && u->sighand == v->sighand) {
			__atomic_store_n(&u->filters, f, __ATOMIC_RELEASE);
			u->seccomp = MODE_FILTER;
		}
	engine_unlock(&e->threads_lock);
	return other;
}

static int64_t add_filter(struct vcpu *v, struct filter *f, uint32_t flags)
{
	uint32_t other = 0;

	f->flags = flags;
	f->older = v->filters;
	if (flags & FLAG_TSYNC)
		other = sync_threads(v, f);
	if (other != 0)
		return flags & FLAG_TSYNC_ESRCH ? -ERR_SRCH : (int64_t)other;
	v->filters = f;
	v->seccomp = MODE_FILTER;
	return 0;
}

static int64_t set_filter(struct vcpu *v, const struct call *c, uint32_t flags,
			  uint64_t address)
{
	struct filter *f = 0;
	int64_t answer;

	if (v->seccomp == MODE_STRICT || (flags & ~(uint32_t)FLAGS_KNOWN))
		return -ERR_INVAL;
	answer = read_filter(v->engine->memory, address, &f);
	if (answer != 0)
		return answer;
	if ((flags & FLAG_LISTENER) || asks_others(f))
		answer = call_pass(v, c);
	else if (!is_allowed())
		answer = -ERR_ACCES;
	else
		return add_filter(v, f, flags);
	memory_unmap(v->engine->memory, f,
		     sizeof *f + f->n * sizeof f->code[0]);
	return answer;
}

static int64_t set_strict(struct vcpu *v)
{
	if (v->seccomp == MODE_FILTER)
		return -ERR_INVAL;
	v->seccomp = MODE_STRICT;
	return 0;
}

/* -- Calls ----------------------------------------------------------------- */

int64_t call_seccomp(struct vcpu *v, const struct call *c)
{
	uint32_t op = (uint32_t)c->args[0], flags = (uint32_t)c->args[1];

	if (op == OP_STRICT)
		return flags || c->args[2] ? -ERR_INVAL : set_strict(v);
	if (op == OP_FILTER)
		return set_filter(v, c, flags, c->args[2]);
	return call_pass(v, c);
}

int64_t call_prctl(struct vcpu *v, const struct call *c)
{
	switch ((uint32_t)c->args[0]) {
	case PR_GET_SECCOMP:
		return v->seccomp ? (int64_t)v->seccomp : call_pass(v, c);
	case PR_SET_SECCOMP:
		if (c->args[1] == MODE_STRICT)
			return set_strict(v);
		if (c->args[1] == MODE_FILTER)
			return set_filter(v, c, 0, c->args[2]);
		return -ERR_INVAL;
	case PR_SET_DISPATCH:
		return set_dispatch(v, c);
	case PR_SET_MDWE:
	case PR_GET_MDWE:
		return call_mdwe(v, c);
	default:
		return call_pass(v, c);
	}
}

static void install(const struct vcpu *v, struct filter *f)
{
	struct {
		uint64_t n;
		const struct bpf_insn *code;
	} program = {f->n, f->code};

	sys_call3(NR_SECCOMP, OP_FILTER, f->flags & ~(uint32_t)FLAG_TSYNC,
		  (uint64_t)&program);
	f->installed = !v->is_process; /* else others have the same memory */
}

/* Oldest first, as they came; each once. */
void filter_install(const struct vcpu *v)
{
	struct filter *done = 0;

	while (done != v->filters && !(v->filters && v->filters->installed)) {
		struct filter *f = v->filters;

		while (f->older != done && !(f->older && f->older->installed))
			f = f->older;
		install(v, f);
		done = f;
	}
}
