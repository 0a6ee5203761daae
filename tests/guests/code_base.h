/* tests/guests/code_base.h - a bare program linked to BASE. */

static long call(long n, long a, long b, long c, long d)
{
	register long r10 asm("r10") = d;
	long r;

	asm volatile("syscall"
		     : "=a"(r)
		     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10)
		     : "rcx", "r11", "memory");
	return r;
}

extern const char __executable_start[];
static volatile int handled;

static void handler(int sig)
{
	handled += sig;
}

__attribute__((naked)) static void restorer(void)
{
	asm("mov $15, %eax\n\tsyscall");
}

__attribute__((noinline)) static int choose(int i)
{
	switch (i) { /* a jump table */
	case 0:
		return 7;
	case 1:
		return handled;
	case 2:
		return 30;
	case 3:
		return 4 * handled;
	case 4:
		return 99;
	default:
		return -1;
	}
}

__attribute__((used)) static void begin(void)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask;
	} sa = {handler, 0x04000000, restorer, 0};
	int wrong = (unsigned long)__executable_start != BASE, sum = 0;

	wrong |= call(13, 10, (long)&sa, 0, 8) != 0;
	for (int i = 1; i <= 20; i++) {
		call(62, call(39, 0, 0, 0, 0), 10, 0, 0);
		wrong |= handled != 10 * i;
	}
	for (int i = 0; i < 6; i++)
		sum += choose(i);
	wrong |= sum != 7 + 200 + 30 + 800 + 99 - 1;
	call(1, 1, (long)(wrong ? "expected otherwise\n" : "ok\n"),
	     wrong ? 19 : 3, 0);
	call(231, wrong, 0, 0, 0);
}

/* clang-format off */
asm(".globl _start\n_start:	and $-16, %rsp\n	call begin\n	hlt\n");
/* clang-format on */
