/* tests/x86/machine.c - machine states in and out through signal frames.
 *
 * machine_run() executes an int3. Its handler keeps the interrupted context,
 * overwrites it with the wanted state and returns into the code under test.
 * The next signal's handler copies what it finds and puts the kept context
 * back, so that machine_run() goes on behind its int3:
 *
 *	IDLE --int3--> handler --sigreturn--> RUN --signal--> handler --> IDLE
 *					       ^-- TF: step() --'
 *
 * x87 instruction and data pointers are left out of the comparison: they name
 * the place of the code. */
#include "machine.h"

#include <cpuid.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { STACK_LEN = 1 << 16, TF = 0x100, MAGIC_AT = 464, XBV_AT = 512 };

static const int greg_of[16] = {
    REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

static enum { IDLE, RUN } phase;
static const struct machine *run_in;
static struct machine *run_out, run_now;
static void (*run_step)(void *ctx, const struct machine *now);
static void *run_ctx;
static greg_t kept[NGREG];
static uint8_t kept_x[XSTATE_MAX];
static uint32_t xlen;
static uint64_t xfeatures;

static void copy_gregs(const ucontext_t *u, struct machine *m)
{
	for (unsigned i = 0; i < 16; i++)
		m->gpr[i] = (uint64_t)u->uc_mcontext.gregs[greg_of[i]];
	m->flags = (uint64_t)u->uc_mcontext.gregs[REG_EFL] & MACHINE_FLAGS;
	m->pc = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
}

static void enter(ucontext_t *u)
{
	greg_t *g = u->uc_mcontext.gregs;
	uint8_t *x = (uint8_t *)u->uc_mcontext.fpregs;

	memcpy(kept, g, sizeof kept);
	memcpy(kept_x, x, xlen);
	for (unsigned i = 0; i < 16; i++)
		g[greg_of[i]] = (greg_t)run_in->gpr[i];
	g[REG_EFL] = (greg_t)(run_in->flags | 0x202 | (run_step ? TF : 0));
	g[REG_RIP] = (greg_t)run_in->pc;
	memcpy(x, run_in->x, xlen);
	memcpy(x + MAGIC_AT, kept_x + MAGIC_AT, XBV_AT - MAGIC_AT);
	phase = RUN;
}

static void leave(ucontext_t *u, int sig, const siginfo_t *info)
{
	uint8_t *x = (uint8_t *)u->uc_mcontext.fpregs;

	copy_gregs(u, run_out);
	memcpy(run_out->x, x, xlen);
	run_out->sig = sig;
	run_out->fault = 0;
	if (sig == SIGTRAP)
		run_out->pc--;
	if (sig == SIGSEGV || sig == SIGBUS)
		run_out->fault = (uint64_t)info->si_addr;
	memcpy(u->uc_mcontext.gregs, kept, sizeof kept);
	memcpy(x, kept_x, xlen);
	phase = IDLE;
}

/* Some virtual machines forget now and then, when they are busy, that it was a
 * step (DR6): the kernel takes it for an int1 then. int3 is SI_KERNEL. */
static int is_step(int sig, const siginfo_t *info)
{
	return sig == SIGTRAP && (info->si_code == TRAP_TRACE ||
				  (run_step && info->si_code == TRAP_BRKPT));
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	if (phase == IDLE && sig == SIGTRAP && run_in) {
		enter(u);
		return;
	}
	if (phase == IDLE) { /* a fault of the test's own */
		signal(sig, SIG_DFL);
		return;
	}
	if (is_step(sig, info)) {
		copy_gregs(u, &run_now);
		run_step(run_ctx, &run_now);
		return;
	}
	leave(u, sig, info);
}

/* One frame is needed to learn how large the kernel's xsave area is. */
static void on_probe(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;
	const uint8_t *x = (const uint8_t *)u->uc_mcontext.fpregs;
	uint32_t magic;

	(void)sig;
	(void)info;
	memcpy(&magic, x + MAGIC_AT, sizeof magic);
	if (magic != 0x46505853)
		return;
	memcpy(&xfeatures, x + MAGIC_AT + 8, sizeof xfeatures);
	memcpy(&xlen, x + MAGIC_AT + 16, sizeof xlen);
}

void machine_init(void)
{
	static const int signals[] = {SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
	struct sigaction a = {.sa_sigaction = on_probe,
			      .sa_flags = SA_SIGINFO | SA_ONSTACK};
	stack_t stack = {.ss_size = STACK_LEN};

	stack.ss_sp = mmap(NULL, STACK_LEN, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, NULL) < 0)
		abort();
	sigfillset(&a.sa_mask);
	sigaction(SIGTRAP, &a, NULL);
	__asm__ volatile("int3");
	if (xlen == 0 || xlen > XSTATE_MAX) {
		fprintf(stderr, "no usable xsave area in signal frames\n");
		exit(1);
	}
	a.sa_sigaction = on_signal;
	for (unsigned i = 0; i < sizeof signals / sizeof signals[0]; i++)
		sigaction(signals[i], &a, NULL);
}

unsigned machine_xlen(void)
{
	return xlen;
}

static void fill(uint8_t *at, unsigned len, uint64_t (*next)(void))
{
	for (unsigned i = 0; i < len; i += 8) {
		uint64_t v = next();

		memcpy(at + i, &v, 8);
	}
}

void machine_random_x(struct machine *in, uint64_t (*next)(void))
{
	/* ymm high halves, masks, zmm high halves, zmm16-31 */
	static const unsigned components[] = {2, 5, 6, 7};
	uint64_t xbv = xfeatures & 0xe7;
	unsigned a, b, c, d;

	memset(in->x, 0, xlen);
	in->x[0] = 0x7f; /* FCW 0x37f: all masked, as the kernel starts it */
	in->x[1] = 3;
	in->x[24] = 0x80; /* MXCSR 0x1f80 */
	in->x[25] = 0x1f;
	fill(in->x + 160, 256, next);
	for (unsigned i = 0; i < 4; i++) {
		if (!(xfeatures >> components[i] & 1))
			continue;
		__cpuid_count(13, components[i], a, b, c, d);
		fill(in->x + b, a, next);
	}
	memcpy(in->x + XBV_AT, &xbv, sizeof xbv);
}

/* noinline: the int3 must stand once, and nothing may be kept across it that
 * the compiler does not know of. */
__attribute__((noinline)) void
machine_run(const struct machine *in, struct machine *out,
	    void (*step)(void *ctx, const struct machine *now), void *ctx)
{
	run_in = in;
	run_out = out;
	run_step = step;
	run_ctx = ctx;
	__asm__ volatile("int3" ::: "memory");
	run_in = NULL;
}

static const char *x_differs(const struct machine *a, const struct machine *b)
{
	if (memcmp(a->x, b->x, 6) != 0)
		return "x87 control";
	if (memcmp(a->x + 24, b->x + 24, 4) != 0)
		return "mxcsr";
	if (memcmp(a->x + 32, b->x + 32, 128) != 0)
		return "x87 registers";
	if (memcmp(a->x + 160, b->x + 160, 256) != 0)
		return "xmm";
	/* Behind the header: which components are in use may differ, what
	 * they hold may not. */
	if (memcmp(a->x + 576, b->x + 576, xlen - 576) != 0)
		return "ymm, zmm or masks";
	return NULL;
}

const char *machine_differs(const struct machine *a, const struct machine *b)
{
	static const char *const names[16] = {
	    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
	    "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

	if (a->sig != b->sig)
		return "signal";
	for (unsigned i = 0; i < 16; i++)
		if (a->gpr[i] != b->gpr[i])
			return names[i];
	if (a->flags != b->flags)
		return "flags";
	if (a->fault != b->fault)
		return "fault address";
	return x_differs(a, b);
}
