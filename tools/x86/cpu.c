/* tools/x86/cpu.c - pages, signals and components for cpu_enter.S. */
#include "cpu.h"

#include <cpuid.h>
#include <err.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>

#ifndef HWCAP2_FSGSBASE
#define HWCAP2_FSGSBASE (1 << 1)
#endif

enum { TRAP_FLAG = 0x100, TICK_US = 50000 };

void cpu_enter(void);
extern const char cpu_leave[], cpu_leave_taken[], cpu_leave_end[];

_Static_assert(offsetof(struct cpu_state, flags) == CPU_FLAGS, "cpu.h");
_Static_assert(offsetof(struct cpu_state, rip) == CPU_RIP, "cpu.h");
_Static_assert(offsetof(struct cpu_state, fs) == CPU_FS, "cpu.h");
_Static_assert(offsetof(struct cpu_state, gs) == CPU_GS, "cpu.h");
_Static_assert(offsetof(struct cpu_state, xstate) == CPU_XSTATE, "cpu.h");
_Static_assert(sizeof(struct cpu_state) == CPU_OUT - CPU_IN, "cpu.h");
_Static_assert(offsetof(struct cpu_control, xmask) == CPU_XMASK - CPU_CTL,
	       "cpu.h");
_Static_assert(offsetof(struct cpu_control, taken) == CPU_TAKEN - CPU_CTL,
	       "cpu.h");

static unsigned part_offset[CPU_PARTS], part_len[CPU_PARTS], xsave_len;

unsigned cpu_part_offset(enum cpu_part part)
{
	return part_offset[part];
}

unsigned cpu_part_len(enum cpu_part part)
{
	return part_len[part];
}

unsigned cpu_xsave_len(void)
{
	return xsave_len;
}

static void find_parts(void)
{
	uint32_t a, b, c, d, low, high;

	__cpuid_count(1, 0, a, b, c, d);
	if (!(c & bit_OSXSAVE))
		errx(2, "this CPU or kernel has no xsave");
	__asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	cpu_control()->xmask = low & 0xe7;
	__cpuid_count(0xd, 0, a, b, c, d);
	xsave_len = b;
	part_len[CPU_X87] = CPU_XMM;
	part_offset[CPU_SSE] = CPU_XMM;
	part_len[CPU_SSE] = 256;
	for (unsigned k = CPU_AVX; k < CPU_PARTS; k++) {
		if (!(cpu_control()->xmask >> k & 1))
			continue;
		__cpuid_count(0xd, k, a, b, c, d);
		part_len[k] = a;
		part_offset[k] = b;
	}
	if (xsave_len > sizeof(struct cpu_state) - CPU_XSTATE)
		errx(2, "xsave needs %u bytes", xsave_len);
}

/* Only redirects: registers stay as they were when the signal came. fs is the
 * guest's here, so nothing may use TLS. */
static void on_signal(int sig, siginfo_t *info, void *context)
{
	struct cpu_control *c = cpu_control();
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t rip = (uint64_t)regs[REG_RIP];

	if (!c->inside) {
		if (sig != SIGALRM)
			signal(sig, SIG_DFL); /* the tester's own fault */
		return;
	}
	if (sig == SIGALRM && c->runs != c->seen_by_tick) {
		c->seen_by_tick = c->runs;
		return; /* it has not run for a whole tick yet */
	}
	regs[REG_EFL] &= ~TRAP_FLAG;
	if (rip >= (uint64_t)cpu_enter && rip < (uint64_t)cpu_leave_end)
		return; /* popf set the trap flag: let it leave */
	c->signal = (uint32_t)sig;
	c->trap = (uint32_t)regs[REG_TRAPNO];
	c->error = (uint32_t)regs[REG_ERR];
	c->address = (uint64_t)info->si_addr;
	c->at = rip;
	regs[REG_RIP] = (greg_t)cpu_leave;
}

static void take_signals(void)
{
	static const int list[] = {SIGILL,  SIGSEGV, SIGBUS,
				   SIGTRAP, SIGFPE,  SIGALRM};
	static uint8_t stack[65536];
	stack_t alt = {.ss_sp = stack, .ss_size = sizeof stack};
	struct sigaction action = {.sa_sigaction = on_signal,
				   .sa_flags = SA_SIGINFO | SA_ONSTACK};
	struct itimerval tick = {{0, TICK_US}, {0, TICK_US}};

	if (sigaltstack(&alt, NULL) != 0)
		err(2, "sigaltstack");
	for (unsigned k = 0; k < sizeof list / sizeof list[0]; k++)
		if (sigaction(list[k], &action, NULL) != 0)
			err(2, "sigaction");
	if (setitimer(ITIMER_REAL, &tick, NULL) != 0)
		err(2, "setitimer");
}

static void map_at(uint64_t at, size_t len, int prot)
{
	void *p =
	    mmap((void *)(uintptr_t)at, len, prot,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == MAP_FAILED)
		err(2, "mmap at %#lx", (unsigned long)at);
}

void cpu_init(void)
{
	int rw = PROT_READ | PROT_WRITE;

	map_at(CPU_AT, 0x9000, rw);
	map_at(CPU_CODE - CPU_PAGE, CPU_PAGE, PROT_NONE);
	map_at(CPU_CODE, CPU_PAGE, rw | PROT_EXEC);
	map_at(CPU_CODE_END, CPU_PAGE, PROT_NONE);
	map_at(CPU_ARENA - CPU_PAGE, CPU_PAGE, PROT_NONE);
	map_at(CPU_ARENA, CPU_ARENA_LEN, rw);
	map_at(CPU_ARENA_END, CPU_PAGE, PROT_NONE);
	find_parts();
	cpu_control()->leave = (uint64_t)cpu_leave;
	cpu_control()->taken_leave = (uint64_t)cpu_leave_taken;
	cpu_control()->has_bases =
	    (getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE) != 0;
	take_signals();
}

void cpu_confine(void)
{
#define ALLOW(name)                                            \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), \
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	struct sock_filter filter[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		     offsetof(struct seccomp_data, nr)),
	    ALLOW(rt_sigreturn),
	    ALLOW(rt_sigaction),
	    ALLOW(rt_sigprocmask),
	    ALLOW(write),
	    ALLOW(newfstatat),
	    ALLOW(brk),
	    ALLOW(clock_gettime),
	    ALLOW(exit_group),
	    ALLOW(getpid),
	    ALLOW(gettid),
	    ALLOW(tgkill),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		err(2, "seccomp");
}

/* A component in its initial state is only marked so by xsave; make that
 * visible. */
static void normalise(struct cpu_state *s)
{
	uint64_t present;

	memcpy(&present, s->xstate + CPU_HEADER, sizeof present);
	for (unsigned k = CPU_SSE; k < CPU_PARTS; k++)
		if (part_len[k] && !(present >> k & 1))
			memset(s->xstate + part_offset[k], 0, part_len[k]);
	if (!(present >> CPU_X87 & 1)) {
		memset(s->xstate, 0, CPU_MXCSR);
		memset(s->xstate + 32, 0, CPU_XMM - 32);
		s->xstate[0] = 0x7f;
		s->xstate[1] = 0x03;
	}
}

int cpu_run(void)
{
	struct cpu_control *c = cpu_control();

	c->signal = 0;
	c->runs++;
	c->taken = 0;
	cpu_enter();
	normalise(cpu_out());
	return (int)c->signal;
}

void cpu_put_leave(uint8_t *p, uint32_t through)
{
	p[0] = 0xff; /* jmp *through */
	p[1] = 0x24;
	p[2] = 0x25;
	memcpy(p + 3, &through, sizeof through);
}
