/* inside/sigframe.h - what the kernel puts on a stack to deliver a signal.
 *
 * Layouts of x86-64 Linux, 64-bit code. A frame lies at rsp when a handler
 * starts; the extended registers lie above it, 64-aligned, behind .fpstate.
 * The words of sigaction, sigprocmask and sigaltstack are here, too.
 *
 * Pure layouts: whoever handles the program's signals has this one description
 * of them, and assembler its offsets. */
#ifndef INSIDE_SIGFRAME_H
#define INSIDE_SIGFRAME_H

#define SIG_FRAME_UC   8
#define SIG_FRAME_INFO 312

#ifndef __ASSEMBLER__

#include "inside/gregs.h"

#include <stddef.h>
#include <stdint.h>

enum {
	SIG_ILL = 4,
	SIG_TRAP = 5,
	SIG_BUS = 7,
	SIG_FPE = 8,
	SIG_KILL = 9,
	SIG_SEGV = 11,
	SIG_STOP = 19,
	SIG_SYS = 31,
	SIG_MAX = 64,
};

#define SIG_BIT(sig) (1ull << ((sig)-1))
/* What the CPU itself raises. */
#define SIG_SYNC                                                   \
	(SIG_BIT(SIG_ILL) | SIG_BIT(SIG_TRAP) | SIG_BIT(SIG_BUS) | \
	 SIG_BIT(SIG_FPE) | SIG_BIT(SIG_SEGV) | SIG_BIT(SIG_SYS))
#define SIG_ALL		(~0ull)
#define SIG_UNBLOCKABLE (SIG_BIT(SIG_KILL) | SIG_BIT(SIG_STOP))
/* Default: the process ends with a core file. QUIT ILL TRAP ABRT BUS FPE SEGV
 * XCPU XFSZ SYS */
#define SIG_CORE \
	(SIG_SYNC | SIG_BIT(3) | SIG_BIT(6) | SIG_BIT(24) | SIG_BIT(25))

enum { MASK_BLOCK, MASK_UNBLOCK, MASK_SET }; /* how a mask changes */
enum { SET_SIZE = 8 };			     /* bytes of a set of signals */

enum { SIG_IS_DEFAULT = 0, SIG_IS_IGNORED = 1 }; /* as a handler */

#define ACT_NOCLDSTOP 1ull
#define ACT_NOCLDWAIT 2ull
#define ACT_SIGINFO   4ull
#define ACT_TAGBITS   0x800ull
#define ACT_RESTORER  0x04000000ull
#define ACT_ONSTACK   0x08000000ull
#define ACT_RESTART   0x10000000ull
#define ACT_NODEFER   0x40000000ull
#define ACT_RESETHAND 0x80000000ull
#define ACT_KNOWN                                                    \
	(ACT_NOCLDSTOP | ACT_NOCLDWAIT | ACT_SIGINFO | ACT_TAGBITS | \
	 ACT_RESTORER | ACT_ONSTACK | ACT_RESTART | ACT_NODEFER |    \
	 ACT_RESETHAND)

/* struct kernel_sigaction */
struct sig_action {
	uint64_t handler, flags, restorer, mask;
};

/* siginfo_t, as far as anybody looks at it. */
struct sig_info {
	int32_t signo, error, code, pad;
	union {
		uint64_t addr; /* faults */
		struct {
			uint64_t perf_addr, perf_data; /* CODE_PERF */
		};
		struct {
			uint64_t call_addr;
			int32_t nr;
			uint32_t arch;
		} sys;
		struct {
			uint32_t pid, uid; /* a timer: .uid is its overrun */
			uint64_t value;	   /* of sigqueue, of a timer */
		};
	};
	uint8_t rest[96];
};
_Static_assert(sizeof(struct sig_info) == 128, "siginfo_t");

enum {
	CODE_USER = 0,
	CODE_KERNEL = 0x80,
	CODE_TIMER = -2,
	CODE_BRKPT = 1,		/* SIGTRAP: the CPU does not say why */
	CODE_TRACE = 2,		/* SIGTRAP: after one instruction */
	CODE_PERF = 6,		/* SIGTRAP: a counter has overflowed */
	CODE_USER_DISPATCH = 2, /* SIGSYS */
	CODE_SECCOMP = 1,
};

/* Was one instruction stepped? A virtual machine may forget to say so, about
 * once in a million steps (seen on Intel's), and then only int1 is alike: an
 * int3 has CODE_KERNEL. */
static inline int sig_is_step(const struct sig_info *info)
{
	return info->signo == SIG_TRAP &&
	       (info->code == CODE_TRACE || info->code == CODE_BRKPT);
}

struct sig_stack {
	uint64_t sp;
	uint32_t flags, pad;
	uint64_t size;
};
#define STACK_ONSTACK	 1u
#define STACK_DISABLE	 2u
#define STACK_AUTODISARM (1u << 31)

struct sig_context {
	int64_t gregs[GREG_MAX];
	uint64_t fpstate;
	uint64_t reserved[8]; /* the kernel leaves it as it is */
};
_Static_assert(sizeof(struct sig_context) == 256, "struct sigcontext");

enum {
	UC_XSTATE = 1,	  /* .fpstate is an XSAVE image */
	UC_SS = 2,	  /* .gregs hold ss */
	UC_STRICT_SS = 4, /* and it is meant */
};

struct sig_uc {
	uint64_t flags, link;
	struct sig_stack stack;
	struct sig_context context;
	uint64_t mask;
};
_Static_assert(sizeof(struct sig_uc) == 304, "struct ucontext");

struct sig_frame {
	uint64_t pretcode; /* the handler returns to it */
	struct sig_uc uc;
	struct sig_info info;
};
_Static_assert(sizeof(struct sig_frame) == 440, "struct rt_sigframe");
_Static_assert(offsetof(struct sig_frame, uc) == SIG_FRAME_UC, "asm");
_Static_assert(offsetof(struct sig_frame, info) == SIG_FRAME_INFO, "asm");

/* The XSAVE image: FXSAVE area, with the kernel's own words at its end, and
 * the header behind it. */
enum {
	FP_FCW = 0,
	FP_MXCSR = 24,
	FP_MAGIC = 464,
	FP_EXTENDED_SIZE = 468,
	FP_LEGACY_SIZE = 512,
	FP_XSTATE_BV = 512,
};
#define FP_MAGIC1 0x46505853u

/* cs, gs, fs, ss in one word, as gregs have them. */
enum { CS_64 = 0x33, CS_32 = 0x23, SS_USER = 0x2b };
static inline uint16_t greg_cs(const int64_t gregs[GREG_MAX])
{
	return (uint16_t)gregs[GREG_CSGSFS];
}

static inline uint16_t greg_ss(const int64_t gregs[GREG_MAX])
{
	return (uint16_t)((uint64_t)gregs[GREG_CSGSFS] >> 48);
}

#define FLAG_TF 0x100ll
#define FLAG_DF 0x400ll
#define FLAG_RF 0x10000ll
/* What sigreturn takes from a frame: AC OF DF TF SF ZF AF PF CF RF. */
#define FLAG_RESTORED 0x50dd5ll

#endif
#endif
