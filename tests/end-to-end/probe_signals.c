/* tests/end-to-end/probe_signals.c - signals in the midst of probed code, and
 * what their handlers see.
 *
 *	probe_signals timer | storm | leave | once | retry | skip | nested
 *
 * A handler must find the program's own state: a pc in code of the program or
 * of its libraries, and in the loop the registers that the loop holds. The
 * functions are called with the ordinals 0, 1, 2, ...; how often is said at the
 * end.
 *
 *	timer	a timer of 1 kHz
 *	storm	another thread sends one queued signal after the other; none
 *		may be lost
 *	leave	the handler of a fault leaves by siglongjmp, the instruction is
 *		never executed; it is tried again at the same place of the stack
 *	once	SA_RESETHAND: handled once, then by the default
 *	retry	the handler of a fault mends it, the instruction is done again
 *	skip	the handler of a fault lets the program go on behind it
 *	nested	handlers that call the probed function, three deep */
#include "guest.h"
#include "probe_functions.h"
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/ucontext.h>
#include <time.h>

/* Adds 1 to rax until it is rdi, with known values in r12 to r15. */
uint64_t steady(uint64_t n);
/* Reads at rsi; returns 2 * rdi + what is there. The load is at touch_load,
 * and has seven bytes. */
uint64_t touch(uint64_t ordinal, const uint64_t *from);
extern const char touch_load[];

/* clang-format off */
__asm__(".text\n"
	".globl steady\n.type steady, @function\n"
	"steady: push	%r12\n"
	"	push	%r13\n"
	"	push	%r14\n"
	"	push	%r15\n"
	"	movabs	$0x1212121212121212, %r12\n"
	"	movabs	$0x1313131313131313, %r13\n"
	"	movabs	$0x1414141414141414, %r14\n"
	"	movabs	$0x1515151515151515, %r15\n"
	"	xor	%eax, %eax\n"
	".globl steady_loop\n"
	"steady_loop:\n"
	"	mov	%rax, -8(%rsp)\n"
	"	mov	%r12, -128(%rsp)\n"
	"	nop\n"
	"	incq	-8(%rsp)\n"
	"	mov	-8(%rsp), %rax\n"
	"	cmp	%rdi, %rax\n"
	"	jb	steady_loop\n"
	".globl steady_done\n"
	"steady_done:\n"
	"	pop	%r15\n"
	"	pop	%r14\n"
	"	pop	%r13\n"
	"	pop	%r12\n"
	"	ret\n"
	".size steady, .-steady\n"
	".globl touch\n.type touch, @function\n"
	"touch:	lea	(%rdi,%rdi), %rax\n"
	".globl touch_load\n"
	"touch_load:\n"
	"	add	0x100(%rsi), %rax\n"
	"	ret\n"
	".size touch, .-touch\n");
/* clang-format on */
extern const char steady_loop[], steady_done[];

static struct {
	uint64_t from, to;
} code[64];
static int n_code;

static int note(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size, (void)unused;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X && n_code < 64) {
			code[n_code].from = info->dlpi_addr + p->p_vaddr;
			code[n_code].to = code[n_code].from + p->p_memsz;
			n_code++;
		}
	}
	return 0;
}

static void check_state(const ucontext_t *u)
{
	const greg_t *r = u->uc_mcontext.gregs;
	uint64_t pc = (uint64_t)r[REG_RIP];
	int known = 0;

	for (int i = 0; i < n_code; i++)
		known |= pc >= code[i].from && pc < code[i].to;
	if (!known) {
		dprintf(1, "a handler saw pc %#lx\n", pc);
		guest_wrong = 1;
	}
	if (pc < (uint64_t)steady_loop || pc >= (uint64_t)steady_done)
		return;
	if (r[REG_R12] != 0x1212121212121212 ||
	    r[REG_R13] != 0x1313131313131313 ||
	    r[REG_R14] != 0x1414141414141414 ||
	    r[REG_R15] != 0x1515151515151515 ||
	    *(uint64_t *)(r[REG_RSP] - 128) != 0x1212121212121212) {
		uint64_t round = pc == (uint64_t)steady_loop
				     ? (uint64_t)r[REG_RAX]
				     : *(uint64_t *)(r[REG_RSP] - 8);

		/* the very first time round, it is not written yet */
		if (round > 1) {
			dprintf(1, "a handler saw other registers at %#lx\n",
				pc);
			guest_wrong = 1;
		}
	}
}

static volatile sig_atomic_t n_signals, depth;
static uint64_t page[1024] __attribute__((aligned(4096)));
static const uint64_t *bad;
static sigjmp_buf back;

/* Called by handlers. */
__attribute__((noinline)) void in_handler(uint64_t n);
__attribute__((noinline)) void in_handler(uint64_t n)
{
	__asm__ volatile("" : "+r"(n));
	n_signals++;
}

static void on_signal(int sig, siginfo_t *info, void *u)
{
	(void)sig, (void)info;
	check_state(u);
	in_handler((uint64_t)n_signals);
}

static void on_nested(int sig, siginfo_t *info, void *u)
{
	(void)info;
	check_state(u);
	in_handler((uint64_t)n_signals);
	depth++;
	if (sig < SIGRTMIN + 2)
		raise(sig + 1);
	if (steady(100) != 100)
		guest_wrong = 1;
	depth--;
}

static void check_fault(const siginfo_t *info, const ucontext_t *u)
{
	SAME(u->uc_mcontext.gregs[REG_RIP], touch_load);
	SAME(info->si_addr, (const char *)bad + 0x100);
	n_signals++;
}

static void on_leave(int sig, siginfo_t *info, void *u)
{
	(void)sig;
	check_fault(info, u);
	siglongjmp(back, 1);
}

static void on_retry(int sig, siginfo_t *info, void *u)
{
	(void)sig;
	check_fault(info, u);
	((ucontext_t *)u)->uc_mcontext.gregs[REG_RSI] = (greg_t)page;
}

static void on_skip(int sig, siginfo_t *info, void *u)
{
	(void)sig;
	check_fault(info, u);
	((ucontext_t *)u)->uc_mcontext.gregs[REG_RIP] += 7;
}

static void handle(int sig, void (*f)(int, siginfo_t *, void *), int flags)
{
	struct sigaction a = {.sa_sigaction = f,
			      .sa_flags = SA_SIGINFO | flags};

	sigemptyset(&a.sa_mask);
	MUST(sigaction(sig, &a, NULL) == 0);
}

static void run_timer(void)
{
	struct itimerval t = {{0, 1000}, {0, 1000}};
	time_t end = time(NULL) + 3;
	uint64_t n = 0;

	handle(SIGALRM, on_signal, SA_RESTART);
	setitimer(ITIMER_REAL, &t, NULL);
	while (n_signals < 1000 && (n_signals < 200 || time(NULL) < end)) {
		SAME(steady(1000), 1000);
		n++;
	}
	t.it_value.tv_usec = 0;
	setitimer(ITIMER_REAL, &t, NULL);
	CHECK(n_signals >= 200);
	printf("hit steady %lu\n", n);
}

static int storm = 20000;

static void *send(void *to)
{
	for (int i = 0; i < storm; i++) {
		union sigval v = {.sival_int = i};

		while (pthread_sigqueue(*(pthread_t *)to, SIGRTMIN, v) ==
		       EAGAIN)
			sched_yield();
	}
	return NULL;
}

static void run_storm(void)
{
	pthread_t self = pthread_self(), t;
	uint64_t n = 0;

	storm = rounds_of(storm);
	handle(SIGRTMIN, on_signal, SA_RESTART);
	MUST(pthread_create(&t, NULL, send, &self) == 0);
	while (n_signals < storm) {
		SAME(steady(1000), 1000);
		n++;
	}
	pthread_join(t, NULL);
	SAME(n_signals, storm);
	printf("hit steady %lu\n", n);
}

static void run_faults(void (*f)(int, siginfo_t *, void *), int leaves,
		       uint64_t want)
{
	enum { N = 5000 };

	bad = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	page[0x100 / 8] = 7;
	handle(SIGSEGV, f, 0);
	for (uint64_t i = 0; i < N; i++)
		if (sigsetjmp(back, 1) == 0) {
			SAME(touch(i, bad), 2 * i + want);
			CHECK(!leaves);
		}
	SAME(n_signals, N);
	printf("hit touch %d\n", N);
}

static void run_once(void)
{
	struct sigaction now;

	handle(SIGUSR1, on_signal, (int)SA_RESETHAND);
	raise(SIGUSR1);
	SAME(n_signals, 1);
	MUST(sigaction(SIGUSR1, NULL, &now) == 0);
	CHECK(now.sa_handler == SIG_DFL);
	SAME(steady(1000), 1000);
	puts("hit steady 1");
	puts("hit in_handler 1");
	if (guest_end() != 0)
		exit(1);
	fflush(stdout);
	raise(SIGUSR1);
	_exit(99);
}

static void run_nested(void)
{
	enum { N = 3000 };

	for (int i = 0; i < 3; i++)
		handle(SIGRTMIN + i, on_nested, SA_NODEFER);
	for (int i = 0; i < N; i++) {
		raise(SIGRTMIN);
		SAME(steady(10), 10);
	}
	SAME(depth, 0);
	printf("hit steady %d\n", 4 * N);
}

int main(int argc, char **argv)
{
	MUST(argc == 2);
	dl_iterate_phdr(note, NULL);
	if (strcmp(argv[1], "timer") == 0)
		run_timer();
	else if (strcmp(argv[1], "storm") == 0)
		run_storm();
	else if (strcmp(argv[1], "leave") == 0)
		run_faults(on_leave, 1, 0);
	else if (strcmp(argv[1], "retry") == 0)
		run_faults(on_retry, 0, 7);
	else if (strcmp(argv[1], "skip") == 0)
		run_faults(on_skip, 0, 0);
	else if (strcmp(argv[1], "once") == 0)
		run_once();
	else if (strcmp(argv[1], "nested") == 0)
		run_nested();
	else
		return 2;
	if (strcmp(argv[1], "timer") == 0 || strcmp(argv[1], "storm") == 0 ||
	    strcmp(argv[1], "nested") == 0)
		printf("hit in_handler %d\n", (int)n_signals);
	return guest_end();
}
