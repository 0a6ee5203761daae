/* tests/end-to-end/probe_rewrite.c - a program that changes code of its own.
 *
 *	probe_rewrite once | toggle | threads | step | libc | mapped
 *
 *	once	each function before and after it is changed: as a whole, in
 *		the middle of an instruction, by an int3 of the program's own
 *	toggle	one byte is changed again and again
 *	threads	the same while other threads execute functions of that page
 *	step	like once: it changes its code when a file `change` is there,
 *		says so, and ends when a file `end` is there
 *	mapped	other code is mapped over it, with an int3 of its own
 *	libc	the C library's code is made writable; signals work as ever
 *
 * All but distant() is in one page, which is made writable for each change.
 *With OPEN the code is writable from the start. */
#include "guest.h"
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ucontext.h>

/* clang-format off */
#ifdef OPEN
#define FLAGS "\"awx\""
#else
#define FLAGS "\"ax\""
#endif
__asm__(".section own_page, " FLAGS "\n"
	".balign 4096\n"
	"page:\n"
	".type whole, @function\n"
	"whole:	mov	$1, %eax\n"
	"	ret\n"
	".size whole, . - whole\n"
	".balign 16\n"
	".type middle, @function\n"
	"middle: push	%rbx\n"
	"	mov	$2, %eax\n"
	"	pop	%rbx\n"
	"	ret\n"
	".size middle, . - middle\n"
	".balign 16\n"
	".type beyond, @function\n"
	"beyond: push	%rbx\n"
	"	mov	$3, %eax\n"
	"	pop	%rbx\n"
	"	ret\n"
	".size beyond, . - beyond\n"
	".balign 16\n"
	".type trapped, @function\n"
	"trapped: push	%rbx\n"
	"1:	dec	%edi\n"
	"	jg	1b\n"
	"	mov	$4, %eax\n"
	"	pop	%rbx\n"
	"	ret\n"
	".size trapped, . - trapped\n"
	".balign 16\n"
	".type steady, @function\n"
	"steady: push	%rbx\n"
	"	lea	5(%rdi), %eax\n"
	"	pop	%rbx\n"
	"	ret\n"
	".size steady, . - steady\n"
	/* The last instructions of the page reach into the next. */
	".org page + 4096 - 2\n"
	".type across, @function\n"
	"across: push	%rbx\n"
	"	mov	$6, %eax\n"
	"	pop	%rbx\n"
	"	ret\n"
	".size across, . - across\n"
	".balign 4096\n"
	".type distant, @function\n"
	"distant: push	%rbx\n"
	"	lea	7(%rdi), %eax\n"
	"	pop	%rbx\n"
	"	ret\n"
	".size distant, . - distant\n"
	".balign 4096\n"
	".previous\n");
/* clang-format on */

int whole(int n), middle(int n), beyond(int n), trapped(int n), steady(int n),
    across(int n), distant(int n);

enum { PAGE = 4096, CALLS = 100, THREADS = 4 };

static int (*const volatile call[])(int) = {whole,  middle, beyond, trapped,
					    steady, across, distant};
enum { WHOLE, MIDDLE, BEYOND, TRAPPED, STEADY, ACROSS, DISTANT };

static void call_all(const int want[])
{
	for (int i = 0; i < CALLS; i++)
		for (int k = WHOLE; k <= DISTANT; k++)
			SAME(call[k](k == STEADY || k == DISTANT ? i : 0),
			     want[k] + (k == STEADY || k == DISTANT ? i : 0));
}

static uint8_t *page_of(int which)
{
	return (uint8_t *)((uintptr_t)call[which] & -(uintptr_t)PAGE);
}

static void allow(int which, int prot)
{
	MUST(mprotect(page_of(which), PAGE, prot) == 0);
}

static void change(int which, int offset, const void *bytes, size_t len)
{
	allow(which, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy((uint8_t *)(uintptr_t)call[which] + offset, bytes, len);
	allow(which, PROT_READ | PROT_EXEC);
}

/* -- Once -- */

static volatile sig_atomic_t n_traps;

/* What the int3 has taken the place of: push %rbx. */
static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	greg_t *g = u->uc_mcontext.gregs;

	(void)sig;
	(void)info;
	SAME(g[REG_RIP], (uintptr_t)call[TRAPPED] + 1);
	g[REG_RSP] -= 8;
	*(greg_t *)g[REG_RSP] = g[REG_RBX];
	n_traps++;
}

static void change_all(void)
{
	static const uint8_t other[] = {0xb8, 10, 0, 0, 0, 0xc3};

	change(WHOLE, 0, other, sizeof other);
	change(MIDDLE, 2, "\x0b", 1);
	change(BEYOND, 5, "\x01", 1);
	change(TRAPPED, 0, "\xcc", 1);
	/* Its last bytes are in the next page. */
	MUST(mprotect(page_of(ACROSS) + PAGE, PAGE,
		      PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
	page_of(ACROSS)[PAGE] = 0x0c;
	MUST(mprotect(page_of(ACROSS) + PAGE, PAGE, PROT_READ | PROT_EXEC) ==
	     0);
}

static const int before[] = {1, 2, 3, 4, 5, 6, 7};
static const int after[] = {10, 11, 0x01000003, 4, 5, 12, 7};

static void run_once(void)
{
	struct sigaction a = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};

	MUST(sigaction(SIGTRAP, &a, NULL) == 0);
	call_all(before);
	change_all();
	call_all(after);
	SAME(n_traps, CALLS);
}

static void run_step(void)
{
	struct sigaction a = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};

	MUST(sigaction(SIGTRAP, &a, NULL) == 0);
	puts("ready");
	fflush(stdout);
	while (access("change", F_OK) < 0) {
		call_all(before);
		usleep(1000);
	}
	change_all();
	puts("changed");
	fflush(stdout);
	while (access("end", F_OK) < 0) {
		call_all(after);
		usleep(1000);
	}
	call_all(after);
	CHECK(n_traps >= CALLS);
	/* Nothing but the program has changed it. */
	SAME(*(uint8_t *)(uintptr_t)call[TRAPPED], 0xcc);
	SAME(*(uint8_t *)(uintptr_t)call[STEADY], 0x53);
}

/* -- Other code in its place -- */

static void on_other_trap(int sig)
{
	(void)sig;
	n_traps++;
}

static void run_mapped(void)
{
	static const uint8_t other[] = {0x90, 0xcc, 0xb8, 20, 0, 0, 0, 0xc3};

	MUST(signal(SIGTRAP, on_other_trap) != SIG_ERR);
	call_all(before);
	MUST(mmap(page_of(MIDDLE), PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		  0) != MAP_FAILED);
	memcpy((uint8_t *)(uintptr_t)call[MIDDLE], other, sizeof other);
	for (int i = 0; i < CALLS; i++)
		SAME(call[MIDDLE](0), 20);
	SAME(n_traps, CALLS);
}

/* -- The C library -- */

static int open_text(struct dl_phdr_info *i, size_t size, void *unused)
{
	uint64_t inside = (uintptr_t)sigprocmask - i->dlpi_addr;

	(void)size;
	(void)unused;
	for (unsigned k = 0; k < i->dlpi_phnum; k++) {
		const ElfW(Phdr) *p = &i->dlpi_phdr[k];
		uint64_t from = (i->dlpi_addr + p->p_vaddr) & -(uint64_t)PAGE;

		if (p->p_type != PT_LOAD || inside - p->p_vaddr >= p->p_memsz)
			continue;
		MUST(mprotect((void *)from, p->p_memsz,
			      PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
		MUST(mprotect((void *)from, p->p_memsz,
			      PROT_READ | PROT_EXEC) == 0);
		return 1;
	}
	return 0;
}

static volatile sig_atomic_t n_signals;

static void on_signal(int sig)
{
	(void)sig;
	n_signals++;
	call_all(before);
}

static void run_libc(void)
{
	struct sigaction a = {.sa_handler = on_signal}, found;
	sigset_t all, old;

	call_all(before);
	MUST(dl_iterate_phdr(open_text, NULL) == 1);
	call_all(before);
	sigfillset(&all);
	sigfillset(&a.sa_mask);
	for (int sig = SIGILL; sig <= SIGBUS; sig++) {
		MUST(sigaction(sig, &a, NULL) == 0);
		MUST(sigaction(sig, NULL, &found) == 0);
		CHECK(found.sa_handler == on_signal);
	}
	MUST(sigprocmask(SIG_SETMASK, &all, &old) == 0);
	call_all(before);
	raise(SIGTRAP);
	raise(SIGILL);
	SAME(n_signals, 0);
	MUST(sigprocmask(SIG_SETMASK, &old, NULL) == 0);
	SAME(n_signals, 2);
	call_all(before);
}

/* -- Calls that fail -- */

/* The first one at once, for want of memory where it begins; the second one at
 * the first gap, when it has opened all before. */
static void run_refused(void)
{
	const int prot = PROT_READ | PROT_WRITE | PROT_EXEC;
	uint8_t *nowhere = (uint8_t *)0x10000, *end = page_of(DISTANT) + PAGE;
	const uint8_t another = 9;

	call_all(before);
	MUST(mprotect(nowhere, (size_t)(end - nowhere), prot) < 0);
	call_all(before);
	MUST(mprotect(page_of(WHOLE), (size_t)1 << 40, prot) < 0);
	memcpy((uint8_t *)(uintptr_t)call[MIDDLE] + 2, &another, 1);
	SAME(call[MIDDLE](0), another);
}

/* -- Again and again -- */

static void run_toggle(void)
{
	for (uint8_t i = 0; i < 200; i++) {
		change(MIDDLE, 2, &i, 1);
		for (int k = 0; k < 20; k++)
			SAME(middle(0), i);
	}
}

static volatile int done;

static void *run_steady(void *unused)
{
	for (int i = 0; !done; i = (i + 1) & 0xffff) {
		SAME(call[STEADY](i), i + 5);
		SAME(call[DISTANT](i), i + 7);
		SAME(call[TRAPPED](i & 3), 4);
	}
	return unused;
}

static void run_threads(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&t[i], NULL, run_steady, NULL) == 0);
	usleep(20000);
	run_toggle();
	done = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
	MUST(argc > 1);
	if (strcmp(argv[1], "once") == 0)
		run_once();
	else if (strcmp(argv[1], "step") == 0)
		run_step();
	else if (strcmp(argv[1], "mapped") == 0)
		run_mapped();
	else if (strcmp(argv[1], "libc") == 0)
		run_libc();
	else if (strcmp(argv[1], "refused") == 0)
		run_refused();
	else if (strcmp(argv[1], "toggle") == 0)
		run_toggle();
	else
		run_threads();
	return guest_end();
}
