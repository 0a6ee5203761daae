/* travel/races_calls.c - which system calls synchronise threads.
 *
 * On its way in a call gives, on its way out it takes: what it does to others,
 * and they to it, happens in between. A call that is not named here may do
 * anything. */
#include "travel/races.h"

#include "x86/decode.h"

#include <string.h>

enum kind {
	ANYTHING, /* sends and receives */
	NOTHING,
	SENDS,
	RECEIVES,
	MAPS,
	UNMAPS,
	REMAPS,
	FUTEX,
	CLONE,
	CLONE3,
	FORK,
	TID_ADDRESS,
};

/* By number. */
static const struct {
	uint16_t first, last;
	uint8_t kind; /* enum kind */
} rows[] = {
    {0, 0, RECEIVES},	  /* read */
    {1, 1, SENDS},	  /* write */
    {3, 3, SENDS},	  /* close */
    {4, 6, NOTHING},	  /* stat, fstat, lstat */
    {7, 7, RECEIVES},	  /* poll */
    {8, 8, NOTHING},	  /* lseek */
    {9, 9, MAPS},	  /* mmap */
    {10, 10, NOTHING},	  /* mprotect */
    {11, 11, UNMAPS},	  /* munmap */
    {12, 12, REMAPS},	  /* brk */
    {13, 15, NOTHING},	  /* rt_sigaction, rt_sigprocmask, rt_sigreturn */
    {17, 17, RECEIVES},	  /* pread64 */
    {18, 18, SENDS},	  /* pwrite64 */
    {19, 19, RECEIVES},	  /* readv */
    {20, 20, SENDS},	  /* writev */
    {21, 21, NOTHING},	  /* access */
    {23, 23, RECEIVES},	  /* select */
    {24, 24, NOTHING},	  /* sched_yield */
    {25, 25, REMAPS},	  /* mremap */
    {28, 28, UNMAPS},	  /* madvise */
    {34, 34, RECEIVES},	  /* pause */
    {35, 35, NOTHING},	  /* nanosleep */
    {39, 39, NOTHING},	  /* getpid */
    {42, 42, SENDS},	  /* connect */
    {43, 43, RECEIVES},	  /* accept */
    {44, 44, SENDS},	  /* sendto */
    {45, 45, RECEIVES},	  /* recvfrom */
    {46, 46, SENDS},	  /* sendmsg */
    {47, 47, RECEIVES},	  /* recvmsg */
    {48, 48, SENDS},	  /* shutdown */
    {56, 56, CLONE},	  /* clone */
    {57, 58, FORK},	  /* fork, vfork */
    {60, 60, SENDS},	  /* exit */
    {61, 61, RECEIVES},	  /* wait4 */
    {62, 62, SENDS},	  /* kill */
    {63, 63, NOTHING},	  /* uname */
    {69, 69, SENDS},	  /* msgsnd */
    {70, 70, RECEIVES},	  /* msgrcv */
    {96, 100, NOTHING},	  /* gettimeofday, getrlimit, getrusage, sysinfo... */
    {102, 102, NOTHING},  /* getuid */
    {104, 104, NOTHING},  /* getgid */
    {107, 108, NOTHING},  /* geteuid, getegid */
    {110, 111, NOTHING},  /* getppid, getpgrp */
    {128, 128, RECEIVES}, /* rt_sigtimedwait */
    {129, 129, SENDS},	  /* rt_sigqueueinfo */
    {130, 130, RECEIVES}, /* rt_sigsuspend */
    {131, 131, NOTHING},  /* sigaltstack */
    {157, 158, NOTHING},  /* prctl, arch_prctl */
    {186, 186, NOTHING},  /* gettid */
    {200, 200, SENDS},	  /* tkill */
    {201, 201, NOTHING},  /* time */
    {202, 202, FUTEX},
    {203, 204, NOTHING},     /* sched_setaffinity, sched_getaffinity */
    {218, 218, TID_ADDRESS}, /* set_tid_address */
    {228, 230, NOTHING},     /* clock_gettime, clock_getres, its nanosleep */
    {231, 231, SENDS},	     /* exit_group */
    {232, 232, RECEIVES},    /* epoll_wait */
    {234, 234, SENDS},	     /* tgkill */
    {247, 247, RECEIVES},    /* waitid */
    {257, 257, NOTHING},     /* openat */
    {262, 262, NOTHING},     /* newfstatat */
    {270, 271, RECEIVES},    /* pselect6, ppoll */
    {273, 273, NOTHING},     /* set_robust_list */
    {281, 281, RECEIVES},    /* epoll_pwait */
    {288, 288, RECEIVES},    /* accept4 */
    {297, 297, SENDS},	     /* rt_tgsigqueueinfo */
    {299, 299, RECEIVES},    /* recvmmsg */
    {302, 302, NOTHING},     /* prlimit64 */
    {307, 307, SENDS},	     /* sendmmsg */
    {309, 309, NOTHING},     /* getcpu */
    {318, 318, NOTHING},     /* getrandom */
    {332, 332, NOTHING},     /* statx */
    {334, 334, NOTHING},     /* rseq */
    {435, 435, CLONE3},
};

static enum kind kind_of(int64_t nr)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (nr >= rows[i].first && nr <= rows[i].last)
			return (enum kind)rows[i].kind;
	return ANYTHING;
}

static uint64_t word_of(uint64_t address)
{
	return address & ~(uint64_t)(GRANULE - 1);
}

static void of_futex(const struct wire_rec_state *s, struct races_call *out)
{
	enum {
		WAIT,
		WAKE,
		REQUEUE = 3,
		CMP_REQUEUE,
		WAKE_OP,
		LOCK_PI,
		UNLOCK_PI,
		TRYLOCK_PI,
		WAIT_BITSET,
		WAKE_BITSET,
		LOCK_PI2 = 13,
		COMMAND = 0x7f,
	};
	uint64_t word = word_of(s->gpr[X86_RDI]);

	switch (s->gpr[X86_RSI] & COMMAND) {
	case WAKE:
	case UNLOCK_PI:
	case WAKE_BITSET:
		out->gives[0] = word;
		break;
	case REQUEUE:
	case CMP_REQUEUE:
	case WAKE_OP:
		out->gives[0] = word;
		out->gives[1] = word_of(s->gpr[X86_R8]);
		break;
	case WAIT:
	case WAIT_BITSET:
	case LOCK_PI:
	case TRYLOCK_PI:
	case LOCK_PI2:
		out->takes[0] = word;
		break;
	default:
		out->gives[0] = out->takes[0] = word;
		out->gives[1] = out->takes[1] = word_of(s->gpr[X86_R8]);
		break;
	}
}

static uint64_t shadow_word(const struct runner *x, uint64_t address)
{
	uint64_t word;

	memcpy(&word, runner_shadow(x) + (uint32_t)(address + WIRE_SHADOW_SKEW),
	       sizeof word);
	return word;
}

static void of_clone(const struct runner *x, enum kind kind,
		     struct races_call *out)
{
	enum { CHILD_CLEARTID = 0x200000, CLONE3_TID = 16 };
	const struct wire_rec_state *s = runner_state(x);
	uint64_t at = s->gpr[X86_RDI], flags = at, tid = s->gpr[X86_R10];
	int64_t child = runner_call(x)->call.answer;

	if (kind == CLONE3) {
		flags = shadow_word(x, at);
		tid = shadow_word(x, at + CLONE3_TID);
	}
	if (child > 0)
		out->gives[0] = RACES_BIRTH | (uint64_t)child;
	if (kind != FORK && flags & CHILD_CLEARTID)
		out->ends = tid;
}

void races_call(const struct runner *x, struct races_call *out)
{
	const struct wire_rec_state *s = runner_state(x);
	enum kind kind = kind_of(runner_call(x)->call.number);

	*out = (struct races_call){0};
	switch (kind) {
	case NOTHING:
		break;
	case ANYTHING:
		out->gives[0] = out->takes[0] = RACES_KERNEL;
		break;
	case SENDS:
		out->gives[0] = RACES_KERNEL;
		break;
	case RECEIVES:
		out->takes[0] = RACES_KERNEL;
		break;
	case MAPS:
		out->takes[0] = RACES_MEMORY;
		break;
	case UNMAPS:
		out->gives[0] = RACES_MEMORY;
		break;
	case REMAPS:
		out->gives[0] = out->takes[0] = RACES_MEMORY;
		break;
	case FUTEX:
		of_futex(s, out);
		break;
	case TID_ADDRESS:
		out->ends = s->gpr[X86_RDI];
		break;
	default:
		of_clone(x, kind, out);
		break;
	}
}
