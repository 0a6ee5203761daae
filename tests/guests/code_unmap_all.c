// build: -static -nostdlib -ffreestanding -O1 -fno-stack-protector -no-pie
/* tests/guests/code_unmap_all.c - a program that clears the whole address space
 * around itself, vdso and all, as packers and loaders do, and goes on: system
 * calls, new code, a signal. */

static long call(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 asm("r10") = d;
	register long r8 asm("r8") = e;
	register long r9 asm("r9") = f;
	long r;

	asm volatile("syscall"
		     : "=a"(r)
		     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
		       "r"(r9)
		     : "rcx", "r11", "memory");
	return r;
}

static void say(const char *s)
{
	long n = 0;

	while (s[n] != 0)
		n++;
	call(1, 1, (long)s, n, 0, 0, 0);
}

static void must(int true_, const char *what)
{
	if (true_)
		return;
	say("expected ");
	say(what);
	say("\n");
	call(231, 1, 0, 0, 0, 0, 0);
}

static volatile int handled;

static void handler(int sig)
{
	handled += sig;
}

__attribute__((naked)) static void restorer(void)
{
	asm("mov $15, %eax\n\tsyscall");
}

__attribute__((used)) static void begin(long *sp)
{
	long stack = (long)sp & ~0xffffffl, low = 0x10000000;
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask;
	} sa = {handler, 0x04000000, restorer, 0};
	unsigned char *p;

	must(call(11, low, stack - low, 0, 0, 0, 0) == 0, "munmap to work");
	must(call(39, 0, 0, 0, 0, 0, 0) > 0, "a pid");
	must(call(13, 10, (long)&sa, 0, 8, 0, 0) == 0, "a handler");
	for (int i = 0; i < 50; i++) {
		p = (unsigned char *)call(9, 0, 4096, 7, 0x22, -1, 0);
		must((long)p > 0, "new memory");
		p[0] = 0xb8;
		p[1] = (unsigned char)i;
		p[2] = p[3] = p[4] = 0;
		p[5] = 0xc3;
		must(((int (*)(void))p)() == i, "new code");
		must(call(62, call(39, 0, 0, 0, 0, 0, 0), 10, 0, 0, 0, 0) == 0,
		     "a signal");
		must(handled == 10 * (i + 1), "the handler to run");
		if (i & 1)
			must(call(11, (long)p, 4096, 0, 0, 0, 0) == 0,
			     "munmap");
	}
	say("ok\n");
	call(231, 0, 0, 0, 0, 0, 0);
}

/* clang-format off */
asm(".globl _start\n_start:	mov %rsp, %rdi\n	and $-16, %rsp\n	call begin\n	hlt\n");
/* clang-format on */
