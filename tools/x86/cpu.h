/* tools/x86/cpu.h - run one instruction on this CPU, between guards.
 *
 * The instruction gets the whole state it is given: general registers, flags,
 * fs and gs base, x87 and vector registers. It runs on pages of its own at
 * fixed low addresses, so that entering and leaving need no register:
 *
 *   CPU_AT     state in, state out, control     (the tester's)
 *   CPU_CODE   one page of code                 guards on both sides
 *   CPU_ARENA  all memory that is the guest's   guards on both sides
 *
 * It leaves by a jump through CPU_LEAVE_AT (or CPU_TAKEN_AT, to tell two ways
 * apart), or by a signal: the handler only redirects rip, so that both ways
 * end in the same code. Threads: one. */
#ifndef X86_CPU_H
#define X86_CPU_H

#define CPU_AT	      0x20000000
#define CPU_IN	      (CPU_AT + 0)
#define CPU_OUT	      (CPU_AT + 0x4000)
#define CPU_CTL	      (CPU_AT + 0x8000)
#define CPU_FLAGS     128 /* offsets in struct cpu_state */
#define CPU_RIP	      136
#define CPU_FS	      144
#define CPU_GS	      152
#define CPU_XSTATE    256
#define CPU_OWN_RSP   (CPU_CTL + 0) /* in struct cpu_control */
#define CPU_OWN_FS    (CPU_CTL + 8)
#define CPU_OWN_GS    (CPU_CTL + 16)
#define CPU_LEAVE_AT  (CPU_CTL + 24)
#define CPU_TAKEN_AT  (CPU_CTL + 32)
#define CPU_XMASK     (CPU_CTL + 40)
#define CPU_HAS_BASES (CPU_CTL + 44)
#define CPU_INSIDE    (CPU_CTL + 48)
#define CPU_TAKEN     (CPU_CTL + 52)

#ifndef __ASSEMBLER__
#include <stdint.h>

enum {
	CPU_PAGE = 4096,
	CPU_CODE = 0x21001000,
	CPU_CODE_END = CPU_CODE + CPU_PAGE,
	CPU_ARENA = 0x22001000,
	CPU_ARENA_LEN = 6 * CPU_PAGE, /* xsave with AMX: 11008 bytes */
	CPU_ARENA_END = CPU_ARENA + CPU_ARENA_LEN,
};

struct cpu_state {
	uint64_t gpr[16], flags, rip, fs, gs, pad[12];
	uint8_t xstate[0x3f00]; /* as xsave lays it out, not compacted */
};

struct cpu_control {
	uint64_t own_rsp, own_fs, own_gs, leave, taken_leave;
	uint32_t xmask;	    /* components that are loaded and stored */
	uint32_t has_bases; /* rdfsbase and kin are allowed */
	uint32_t inside;
	uint32_t taken; /* left through CPU_TAKEN_AT */
	/* if a signal ended it: */
	uint32_t signal, trap, error; /* trap: the exception's number */
	uint32_t runs, seen_by_tick;
	uint64_t address, at;
};

/* Which part of the xsave image: a component of XCR0. */
enum cpu_part {
	CPU_X87 = 0,
	CPU_SSE = 1,
	CPU_AVX = 2,
	CPU_OPMASK = 5,
	CPU_ZMM_HIGH = 6,
	CPU_ZMM_16 = 7,
	CPU_PARTS = 8
};
enum { CPU_MXCSR = 24, CPU_XMM = 160, CPU_HEADER = 512 };

static inline struct cpu_state *cpu_in(void)
{
	return (struct cpu_state *)(uintptr_t)CPU_IN;
}

static inline struct cpu_state *cpu_out(void)
{
	return (struct cpu_state *)(uintptr_t)CPU_OUT;
}

static inline struct cpu_control *cpu_control(void)
{
	return (struct cpu_control *)(uintptr_t)CPU_CTL;
}

/* Maps the pages, takes the signals. Exits with a message if it cannot. */
void cpu_init(void);

/* From here on only what a tester needs is allowed of system calls (seccomp):
 * an instruction that turns out to be one fails with EPERM. */
void cpu_confine(void);

/* Offset and length of a component, 0 if this CPU has none. */
unsigned cpu_part_offset(enum cpu_part part);
unsigned cpu_part_len(enum cpu_part part);

/* How much xsave may store with everything that is enabled. */
unsigned cpu_xsave_len(void);

/* Runs from cpu_in()->rip. 0 if it left by a jump, else the signal; details
 * in cpu_control(). SIGALRM means that it was still running after two ticks
 * (0.1 s). cpu_out() holds the state afterwards, absent components as zeroes.
 */
int cpu_run(void);

/* Puts a jump through CPU_LEAVE_AT or CPU_TAKEN_AT; 7 bytes. */
void cpu_put_leave(uint8_t *p, uint32_t through);

#endif
#endif
