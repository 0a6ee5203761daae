// build: -static -nostdlib -ffreestanding -O1 -fno-stack-protector -no-pie
/* tests/guests/rec_small.c - a bit of everything in a recording that is small,
 * for there is no library in it: system calls, a signal and the way back, code
 * that is written and then changed, a child, a loop. */

enum {
	NR_WRITE = 1,
	NR_MMAP = 9,
	NR_SIGACTION = 13,
	NR_SIGRETURN = 15,
	NR_GETPID = 39,
	NR_FORK = 57,
	NR_WAIT = 61,
	NR_KILL = 62,
	NR_EXIT = 231,
};
enum { USR1 = 10, SA_RESTORER = 0x04000000 };

static long call(long n, long a, long b, long c, long d)
{
	register long r10 asm("r10") = d;
	register long r8 asm("r8") = -1;
	register long r9 asm("r9") = 0;
	long r;

	asm volatile("syscall"
		     : "=a"(r)
		     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
		       "r"(r9)
		     : "rcx", "r11", "memory");
	return r;
}

static volatile int seen;

static void handle(int sig)
{
	seen = sig;
}

__attribute__((naked)) static void restore(void)
{
	asm("mov $15, %eax\n\tsyscall");
}

static void send(void)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask;
	} act = {handle, SA_RESTORER, restore, 0};

	call(NR_SIGACTION, USR1, (long)&act, 0, 8);
	call(NR_KILL, call(NR_GETPID, 0, 0, 0, 0), USR1, 0, 0);
}

/* mov $N, %eax; ret: twice, with another N. */
static int write_code(void)
{
	unsigned char *at =
	    (unsigned char *)call(NR_MMAP, 0, 4096, 7, 0x22 /* private */);
	int (*run)(void) = (int (*)(void))at;
	int sum;

	at[0] = 0xb8;
	at[1] = 20;
	at[2] = at[3] = at[4] = 0;
	at[5] = 0xc3;
	sum = run();
	at[1] = 22;
	return sum + run();
}

static int spin(void)
{
	volatile int n = 0;

	while (n < 100)
		n++;
	return n;
}

__attribute__((used)) static void begin(void)
{
	int status = -1;
	long pid;

	send();
	pid = call(NR_FORK, 0, 0, 0, 0);
	if (pid == 0)
		call(NR_EXIT, spin() == 100 ? 7 : 1, 0, 0, 0);
	call(NR_WAIT, pid, (long)&status, 0, 0);
	if (seen == USR1 && write_code() == 42 && status == 7 << 8) {
		call(NR_WRITE, 1, (long)"ok\n", 3, 0);
		call(NR_EXIT, 0, 0, 0, 0);
	}
	call(NR_EXIT, 1, 0, 0, 0);
}

asm(".globl _start\n"
    "_start:\n\t"
    "and $-16, %rsp\n\t"
    "call begin\n");
