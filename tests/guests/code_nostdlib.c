// build: -static -nostdlib -ffreestanding -O1 -fno-stack-protector -no-pie
/* tests/guests/code_nostdlib.c - a program without any library: its own _start
 * sees argc at the stack pointer, rdx as the kernel left it, and ends by a raw
 * system call. */

static long call(long n, long a, long b, long c)
{
	long r;

	asm volatile("syscall"
		     : "=a"(r)
		     : "a"(n), "D"(a), "S"(b), "d"(c)
		     : "rcx", "r11", "memory");
	return r;
}

static void say(const char *s)
{
	long n = 0;

	while (s[n] != 0)
		n++;
	call(1, 1, (long)s, n);
}

__attribute__((used)) static void begin(long *sp, long rdx, long flags)
{
	long argc = sp[0], *envp = sp + 2 + argc, *aux;
	int pagesz = 0, random = 0;

	if (argc < 1 || sp[1 + argc] != 0)
		say("expected argv to end in NULL\n"), call(231, 1, 0, 0);
	if (rdx != 0 || (flags & 0x4d5) != 0 || ((long)sp & 15) != 0)
		say("expected clean registers\n"), call(231, 1, 0, 0);
	while (*envp != 0)
		envp++;
	for (aux = envp + 1; aux[0] != 0; aux += 2) {
		pagesz |= aux[0] == 6 && aux[1] == 4096;
		random |= aux[0] == 25;
	}
	if (!pagesz || !random)
		say("expected an auxiliary vector\n"), call(231, 1, 0, 0);
	say("ok\n");
	call(231, 0, 0, 0);
}

/* clang-format off */
asm(".globl _start\n"
    "_start:	pushfq\n	pop %rcx\n	mov %rdx, %rsi\n	mov %rcx, %rdx\n"
    "	mov %rsp, %rdi\n	call begin\n	hlt\n");
/* clang-format on */
