/* engine/syscall.c - system calls of the program.
 *
 * Most are passed on as they are, at a place where a signal that comes first
 * is seen (engine_guest_call); the kernel restarts them or ends them with
 * EINTR as it always does. The few that touch what the engine manages have
 * functions of their own. */
#include "engine/call_priv.h"

#include "engine/signal_priv.h"
#include "engine/tape.h"

enum { NR_READ = 0 };

enum call_kind {
	CALL_PASS,
	CALL_ARCH_PRCTL,
	CALL_CLONE,
	CALL_EXEC,
	CALL_EXIT,
	CALL_EXIT_GROUP,
	CALL_LIMIT,
	CALL_MEMORY,
	CALL_OPEN,
	CALL_WRITE,
	CALL_PRCTL,
	CALL_PTRACE,
	CALL_RSEQ,
	CALL_SECCOMP,
	CALL_SIGACTION,
	CALL_SIGALTSTACK,
	CALL_SIGPENDING,
	CALL_SIGPROCMASK,
	CALL_SIGRETURN,
	CALL_SIGTIMEDWAIT,
	CALL_WITH_MASK,
};

/* rseq: the engine moves threads in and out of critical sections unseen by
 * the kernel; libraries do without it. */
static const uint8_t kind_of[512] = {
    [1] = CALL_WRITE,	       /* write */
    [2] = CALL_OPEN,	       /* open */
    [9] = CALL_MEMORY,	       /* mmap */
    [10] = CALL_MEMORY,	       /* mprotect */
    [11] = CALL_MEMORY,	       /* munmap */
    [12] = CALL_MEMORY,	       /* brk */
    [13] = CALL_SIGACTION,     /* rt_sigaction */
    [14] = CALL_SIGPROCMASK,   /* rt_sigprocmask */
    [15] = CALL_SIGRETURN,     /* rt_sigreturn */
    [18] = CALL_WRITE,	       /* pwrite64 */
    [20] = CALL_WRITE,	       /* writev */
    [25] = CALL_MEMORY,	       /* mremap */
    [28] = CALL_MEMORY,	       /* madvise */
    [30] = CALL_MEMORY,	       /* shmat */
    [56] = CALL_CLONE,	       /* clone */
    [57] = CALL_CLONE,	       /* fork */
    [58] = CALL_CLONE,	       /* vfork */
    [59] = CALL_EXEC,	       /* execve */
    [60] = CALL_EXIT,	       /* exit */
    [67] = CALL_MEMORY,	       /* shmdt */
    [97] = CALL_LIMIT,	       /* getrlimit */
    [101] = CALL_PTRACE,       /* ptrace */
    [127] = CALL_SIGPENDING,   /* rt_sigpending */
    [128] = CALL_SIGTIMEDWAIT, /* rt_sigtimedwait */
    [130] = CALL_WITH_MASK,    /* rt_sigsuspend */
    [131] = CALL_SIGALTSTACK,  /* sigaltstack */
    [135] = CALL_MEMORY,       /* personality */
    [151] = CALL_MEMORY,       /* mlockall */
    [152] = CALL_MEMORY,       /* munlockall */
    [157] = CALL_PRCTL,	       /* prctl */
    [158] = CALL_ARCH_PRCTL,   /* arch_prctl */
    [160] = CALL_LIMIT,	       /* setrlimit */
    [216] = CALL_MEMORY,       /* remap_file_pages */
    [231] = CALL_EXIT_GROUP,   /* exit_group */
    [257] = CALL_OPEN,	       /* openat */
    [270] = CALL_WITH_MASK,    /* pselect6 */
    [271] = CALL_WITH_MASK,    /* ppoll */
    [281] = CALL_WITH_MASK,    /* epoll_pwait */
    [296] = CALL_WRITE,	       /* pwritev */
    [302] = CALL_LIMIT,	       /* prlimit64 */
    [317] = CALL_SECCOMP,      /* seccomp */
    [322] = CALL_EXEC,	       /* execveat */
    [328] = CALL_WRITE,	       /* pwritev2 */
    [329] = CALL_MEMORY,       /* pkey_mprotect */
    [333] = CALL_WITH_MASK,    /* io_pgetevents */
    [334] = CALL_RSEQ,	       /* rseq */
    [426] = CALL_WITH_MASK,    /* io_uring_enter */
    [435] = CALL_CLONE,	       /* clone3 */
    [437] = CALL_OPEN,	       /* openat2 */
    [441] = CALL_WITH_MASK,    /* epoll_pwait2 */
};

int64_t call_pass(struct vcpu *v, const struct call *c)
{
	return engine_guest_call(v, c->nr, c->args);
}

int64_t call_shown(struct vcpu *v, const struct call *c, uint64_t mask)
{
	int64_t answer;

	sent_show(v, c, mask);
	answer = call_pass(v, c);
	if (v->shown != 0)
		sent_hide(v);
	return answer;
}

int64_t call_plain(struct vcpu *v, const struct call *c)
{
	int64_t answer;

	if (v->mask & SIG_SYNC)
		sent_show(v, c, v->mask);
	v->passing = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	answer = engine_guest_call(v, c->nr, c->args);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	v->passing = 0;
	if (v->shown == 0)
		return answer;
	sent_hide(v);
	if (c->nr == NR_READ && v->seek_rank == SENT_RANK_FD)
		sent_unmark_read(c, answer);
	return answer;
}

/* gs is the engine's; the program has its own idea of it. */
static int64_t call_arch_prctl(struct vcpu *v, const struct call *c)
{
	enum { SET_GS = 0x1001, GET_GS = 0x1004 };
	uint64_t task_size = (1ull << 47) - 4096;

	if (c->args[0] == SET_GS) {
		if (c->args[1] >= task_size)
			return -ERR_PERM;
		v->gs_base = c->args[1];
		return 0;
	}
	if (c->args[0] != GET_GS)
		return call_pass(v, c);
	return guest_copy((void *)c->args[1], &v->gs_base, 8) == 0 ? 0
								   : -ERR_FAULT;
}

static int64_t call_signal(struct vcpu *v, const struct call *c,
			   enum call_kind kind)
{
	switch (kind) {
	case CALL_SIGACTION:
		return call_sigaction(v, c);
	case CALL_SIGALTSTACK:
		return call_sigaltstack(v, c);
	case CALL_SIGPENDING:
		return call_sigpending(v, c);
	case CALL_SIGPROCMASK:
		return call_sigprocmask(v, c);
	case CALL_SIGRETURN:
		return call_sigreturn(v);
	case CALL_SIGTIMEDWAIT:
		return call_sigtimedwait(v, c);
	default:
		return call_with_mask(v, c);
	}
}

static int64_t call_by_kind(struct vcpu *v, const struct call *c)
{
	enum call_kind kind = CALL_PASS;

	if ((uint64_t)c->nr < sizeof kind_of)
		kind = kind_of[c->nr];
	switch (kind) {
	case CALL_PASS:
		return call_plain(v, c);
	case CALL_WRITE:
		return call_writes_memory(v, c) ? call_write(v, c)
						: call_plain(v, c);
	case CALL_OPEN:
		return call_open(v, c);
	case CALL_LIMIT:
		return call_limit(v, c);
	case CALL_MEMORY:
		return call_memory(v, c);
	case CALL_ARCH_PRCTL:
		return call_arch_prctl(v, c);
	case CALL_CLONE:
		return call_clone(v, c);
	case CALL_EXEC:
		return call_exec(v, c);
	case CALL_EXIT:
		return call_exit(v, c);
	case CALL_EXIT_GROUP:
		return call_exit_group(v, c);
	case CALL_PRCTL:
		return call_prctl(v, c);
	case CALL_PTRACE:
		return call_ptrace(v, c);
	case CALL_RSEQ:
		return call_rseq(v, c);
	case CALL_SECCOMP:
		return call_seccomp(v, c);
	default:
		return call_signal(v, c, kind);
	}
}

void syscall_finish(struct vcpu *v, int64_t answer)
{
	if (v->tape)
		tape_call(v, answer);
	v->gpr[RAX] = (uint64_t)answer;
	v->gpr[RCX] = v->pc + SYSCALL_LEN;
	v->gpr[R11] = v->rflags | (v->stepping & STEP_TRAP ? FLAG_TF : 0);
	v->pc += SYSCALL_LEN;
	v->restart = 0;
}

void syscall_do(struct vcpu *v)
{
	const struct call c = {
	    .nr = (int32_t)v->gpr[RAX],
	    .args = {v->gpr[RDI], v->gpr[RSI], v->gpr[RDX], v->gpr[R10],
		     v->gpr[R8], v->gpr[R9]},
	};
	int64_t answer;

	if (v->tape)
		tape_calling(v);
	if (leave_is_wanted(v, &c))
		return;
	if ((!v->seccomp && !v->call_dispatch) || filter_allows(v, &c, &answer))
		answer = call_by_kind(v, &c);
	if (answer == ENGINE_ABORTED || answer == CALL_DONE)
		return;
	syscall_finish(v, answer);
}
