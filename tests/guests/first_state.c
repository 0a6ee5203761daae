// build: -nostdlib -static -ffreestanding -fno-stack-protector -fno-builtin
// -mno-sse
/* tests/guests/first_state.c - what a program finds at its first instruction.
 *
 * No libc: _start saves every register before anything else runs, then prints
 * them, the flags, segment bases, FPU control words, the signal mask, limits,
 * descriptors, the auxiliary vector, /proc/self/exe and /proc/self/maps. Run
 * twice with address randomisation off, the output must be the same to the
 * byte (but for AT_RANDOM's sixteen bytes, which are not printed). */
#include <stddef.h>
#include <stdint.h>

struct start {
	uint64_t reg[16]; /* r15 ... rax, as pushed */
	uint64_t flags;
};

__asm__(".globl _start\n"
	"_start:\n"
	"	pushfq\n"
	"	push %rax; push %rcx; push %rdx; push %rbx; push %rsi\n"
	"	push %rdi; push %rbp; push %r8; push %r9; push %r10\n"
	"	push %r11; push %r12; push %r13; push %r14; push %r15\n"
	"	mov %rsp, %rdi\n"
	"	lea 128(%rsp), %rsi\n" /* the stack as the kernel left it */
	"	and $-16, %rsp\n"
	"	call report\n");

static long sys(long nr, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return ret;
}
enum {
	SYS_READ,
	SYS_WRITE,
	SYS_OPEN,
	SYS_CLOSE,
	SYS_SIGPROCMASK = 14,
	SYS_EXIT = 60,
	SYS_FCNTL = 72,
	SYS_READLINK = 89,
	SYS_ARCH_PRCTL = 158,
	SYS_PRLIMIT = 302,
	SYS_SIGACTION = 13,
};

static char buffer[65536];
static size_t used;

static void flush(void)
{
	sys(SYS_WRITE, 1, (long)buffer, (long)used, 0);
	used = 0;
}

static void put(char c)
{
	if (used == sizeof buffer)
		flush();
	buffer[used++] = c;
}

static void text(const char *s)
{
	while (*s)
		put(*s++);
}

static void line(const char *name, uint64_t index, uint64_t value)
{
	text(name);
	put(' ');
	put((char)('0' + index / 10 % 10));
	put((char)('0' + index % 10));
	put(' ');
	for (int shift = 60; shift >= 0; shift -= 4)
		put("0123456789abcdef"[value >> shift & 15]);
	put('\n');
}

static void registers(const struct start *s)
{
	uint32_t mxcsr;
	uint16_t fcw;
	uint64_t base, mask = 0;

	for (unsigned i = 0; i < 15; i++)
		line("register", i, s->reg[i]);
	line("flags", 0, s->reg[15]);
	sys(SYS_ARCH_PRCTL, 0x1003, (long)&base, 0, 0);
	line("fs base", 0, base);
	sys(SYS_ARCH_PRCTL, 0x1004, (long)&base, 0, 0);
	line("gs base", 0, base);
	__asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
	__asm__ volatile("fnstcw %0" : "=m"(fcw));
	line("mxcsr", 0, mxcsr);
	line("fcw", 0, fcw);
	sys(SYS_SIGPROCMASK, 0, 0, (long)&mask, 8);
	line("signal mask", 0, mask);
}

static void limits_and_actions(void)
{
	for (unsigned i = 0; i < 16; i++) {
		uint64_t v[2] = {0, 0};

		sys(SYS_PRLIMIT, 0, i, 0, (long)v);
		line("limit", i, v[0]);
		line("limit", i, v[1]);
	}
	for (unsigned i = 1; i < 65; i++) {
		uint64_t act[4] = {0};

		sys(SYS_SIGACTION, i, 0, (long)act, 8);
		line("action", i, act[0]);
	}
}

static void descriptors(void)
{
	for (long fd = 0; fd < 1024; fd++) {
		long flags = sys(SYS_FCNTL, fd, 1 /* F_GETFD */, 0, 0);

		if (flags >= 0) {
			line("descriptor", (uint64_t)fd, (uint64_t)flags);
			line("status", (uint64_t)fd,
			     (uint64_t)sys(SYS_FCNTL, fd, 3, 0, 0));
		}
	}
}

static void stack(const uint64_t *at)
{
	uint64_t argc = *at++;

	line("argc", 0, argc);
	for (unsigned list = 0; list < 2; list++)
		for (; *at++ != 0;) {
			text((const char *)at[-1]);
			put('\n');
		}
	for (; at[0] != 0; at += 2) {
		line("auxv", at[0], at[1]);
		if (at[0] == 31 || at[0] == 15) { /* EXECFN, PLATFORM */
			text((const char *)at[1]);
			put('\n');
		}
	}
}

static void files(void)
{
	char name[512];
	long n = sys(SYS_READLINK, (long)"/proc/self/exe", (long)name,
		     sizeof name - 1, 0);
	long fd;

	name[n < 0 ? 0 : n] = 0;
	text("exe ");
	text(name);
	put('\n');
	fd = sys(SYS_OPEN, (long)"/proc/self/maps", 0, 0, 0);
	while ((n = sys(SYS_READ, fd, (long)name, sizeof name, 0)) > 0)
		for (long i = 0; i < n; i++)
			put(name[i]);
	sys(SYS_CLOSE, fd, 0, 0, 0);
}

__attribute__((used, noreturn)) void report(const struct start *s,
					    const uint64_t *kernel_stack)
{
	registers(s);
	line("stack", 0, (uint64_t)kernel_stack);
	descriptors();
	limits_and_actions();
	stack(kernel_stack);
	files();
	flush();
	sys(SYS_EXIT, 42, 0, 0, 0);
	__builtin_unreachable();
}
