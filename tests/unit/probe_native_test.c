/* tests/unit/probe_native_test.c - signals while probes are hit.
 *
 * Every test is a process of its own that has probes put into it: what a
 * program does is in the section program_text and in the C library; all else
 * of this binary's .text counts as the image. */
#include "native_stand_ins.h"
#include "probe/native.h"

#include <check.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define PROGRAM                                             \
	__attribute__((section("program_text"), noinline,   \
		       no_sanitize("address", "undefined"), \
		       no_instrument_function))

/* -- The program -- */

uint64_t program_trap(uint64_t n, uint32_t *done);
uint64_t program_jump(uint64_t n, uint32_t *done);
int64_t program_call(int64_t nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
		     uint64_t e);
uint64_t program_load(const uint64_t *from);
void program_int3(void);
void program_int_3(void);
void program_ud2(void);
uint64_t program_taken(uint64_t n, uint64_t *taken);
extern const uint8_t program_trap_at[], program_jump_at[], program_call_at[],
    program_load_at[], program_int3_end[], program_int_3_end[],
    program_ud2_at[], program_taken_at[], __start_program_text[],
    __stop_program_text[];

__asm__(".pushsection program_text,\"ax\",@progbits\n"
	".globl program_trap, program_trap_at, program_jump, program_jump_at\n"
	".globl program_call, program_call_at, program_load, program_load_at\n"
	".globl program_int3, program_int3_end, program_int_3\n"
	".globl program_int_3_end, program_ud2, program_ud2_at\n"
	".globl program_taken, program_taken_at\n"
	/* done[i]++ for each i below n; the sum of all i. */
	"program_trap:\n"
	"	xor %eax, %eax\n"
	"	xor %ecx, %ecx\n"
	"1:	mov %rcx, -8(%rsp)\n"
	"	stc\n"
	"program_trap_at:\n"
	"	incl (%rsi,%rax,4)\n"
	"	jnc 2f\n" /* inc keeps the carry */
	"	mov -8(%rsp), %rcx\n"
	"	add %rax, %rcx\n"
	"	inc %rax\n"
	"	cmp %rdi, %rax\n"
	"	jb 1b\n"
	"	mov %rcx, %rax\n"
	"	ret\n"
	"2:	ud2\n"
	"program_jump:\n"
	"	xor %eax, %eax\n"
	"	xor %ecx, %ecx\n"
	"1:	mov %rcx, -8(%rsp)\n"
	"	stc\n"
	"program_jump_at:\n"
	"	.byte 0xff, 0x84, 0x86, 0, 0, 0, 0\n" /* incl 0(%rsi,%rax,4) */
	"	jnc 2f\n"
	"	mov -8(%rsp), %rcx\n"
	"	add %rax, %rcx\n"
	"	inc %rax\n"
	"	cmp %rdi, %rax\n"
	"	jb 1b\n"
	"	mov %rcx, %rax\n"
	"	ret\n"
	"2:	ud2\n"
	"program_call:\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	mov %rdx, %rsi\n"
	"	mov %rcx, %rdx\n"
	"	mov %r8, %r10\n"
	"	mov %r9, %r8\n"
	"	mov $8, %r9d\n"
	"program_call_at:\n"
	"	syscall\n"
	"	ret\n"
	"program_load:\n"
	"	mov $5, %eax\n"
	"program_load_at:\n"
	"	mov (%rdi), %rax\n"
	"	ret\n"
	"program_int3:\n"
	"	int3\n"
	"program_int3_end:\n"
	"	ret\n"
	"program_int_3:\n"
	"	.byte 0xcd, 3\n"
	"program_int_3_end:\n"
	"	ret\n"
	"program_ud2:\n"
	"program_ud2_at:\n"
	"	ud2\n"
	"	ret\n"
	/* Of n jumps, those with an even number are taken: all are counted. */
	"program_taken:\n"
	"	xor %eax, %eax\n"
	"1:	cmp %rdi, %rax\n"
	"	jae 3f\n"
	"	inc %rax\n"
	"	test $1, %al\n"
	"program_taken_at:\n"
	"	jz 2f\n"
	"	jmp 1b\n"
	"2:	incq (%rsi)\n"
	"	jmp 1b\n"
	"3:	ret\n"
	".popsection\n");

/* As the kernel has it. */
struct action {
	void (*handler)(int, siginfo_t *, void *);
	uint64_t flags;
	void (*restorer)(void);
	uint64_t mask;
};
enum { RESTORER = 0x04000000 };
void program_restorer(void);
__asm__(".pushsection program_text,\"ax\",@progbits\n"
	".globl program_restorer\n"
	"program_restorer:\n"
	"	mov $15, %rax\n"
	"	syscall\n"
	".popsection\n");

PROGRAM static int64_t
set_action(int sig, void (*handler)(int, siginfo_t *, void *), uint64_t flags)
{
	struct action a = {handler, flags | SA_SIGINFO | RESTORER,
			   program_restorer, 0};

	return program_call(SYS_rt_sigaction, (uint64_t)sig, (uint64_t)&a, 0, 8,
			    0);
}

PROGRAM static struct action get_action(int sig)
{
	struct action a = {0};

	program_call(SYS_rt_sigaction, (uint64_t)sig, 0, (uint64_t)&a, 8, 0);
	return a;
}

PROGRAM static uint64_t mask(int how, uint64_t set)
{
	uint64_t old = 0;

	program_call(SYS_rt_sigprocmask, (uint64_t)how, (uint64_t)&set,
		     (uint64_t)&old, 8, 0);
	return old;
}

PROGRAM static void send_self(int sig)
{
	syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), sig);
}

#define BIT(sig) (1ull << ((sig)-1))

/* -- Probes in this process -- */

enum { CODES = 8, ROOM = 1024 };

static struct {
	struct collect_plan plan;
	struct collect_index index, no_index;
	struct collect_code codes[CODES];
	struct collect_trap traps[CODES];
	struct trampoline trampolines[CODES];
} all;
static struct collect_table *table;
static uint8_t *code_room;
static uint64_t text_start, text_end;
/* The same for handlers: -start, and its length. See is_ours(). */
static uint64_t text_down, text_size, code_down;
static struct stand_in probe[CODES];

/* Of this binary, from its own file. */
static void find_text(void)
{
	extern const uint8_t __executable_start[];
	static uint8_t head[1 << 16];
	const Elf64_Ehdr *e = (const void *)head;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	Elf64_Shdr s[80];
	static char names[4096];

	ck_assert_int_ge(fd, 0);
	ck_assert_int_gt(read(fd, head, sizeof *e), 0);
	ck_assert_uint_le(e->e_shnum, 80);
	ck_assert_int_gt(
	    pread(fd, s, e->e_shnum * sizeof *s, (off_t)e->e_shoff), 0);
	ck_assert_int_gt(
	    pread(fd, names, sizeof names, (off_t)s[e->e_shstrndx].sh_offset),
	    0);
	close(fd);
	for (unsigned i = 0; i < e->e_shnum; i++)
		if (strcmp(names + s[i].sh_name, ".text") == 0) {
			text_start =
			    (uint64_t)__executable_start + s[i].sh_addr;
			text_end = text_start + s[i].sh_size;
			text_down = -text_start;
			text_size = s[i].sh_size;
		}
	ck_assert_uint_ne(0, text_start);
	ck_assert((uint64_t)__start_program_text >= text_end ||
		  (uint64_t)__stop_program_text <= text_start);
}

static void map_room(void)
{
	uint64_t at = (uint64_t)__stop_program_text & -4096ull;

	do
		at += 1 << 20;
	while (mmap((void *)at, CODES * ROOM,
		    PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
		    0) == MAP_FAILED);
	code_room = (uint8_t *)at;
	code_down = -at;
	at = (uint64_t)__start_program_text & -4096ull;
	ck_assert_int_eq(0, mprotect((void *)at,
				     (uint64_t)__stop_program_text - at,
				     PROT_READ | PROT_WRITE | PROT_EXEC));
}

static void own_signals(uint64_t ours)
{
	struct collect_home *home = native_home();

	home->plan = (uint64_t)&all.plan;
	home->ours = ours;
	for (int sig = 1; sig <= 64; sig++) {
		struct collect_action a;

		if (syscall(SYS_rt_sigaction, sig, 0, &home->program[sig], 8) !=
		    0)
			continue;
		a = native_action(home, sig, &home->program[sig],
				  (uint64_t)native_handler,
				  (uint64_t)native_restorer);
		if (ours & BIT(sig))
			ck_assert_int_eq(
			    0, syscall(SYS_rt_sigaction, sig, &a, 0, 8));
	}
}

/* What the runner of tests handles is none of the program's business. */
static void begin(void)
{
	for (int sig = 1; sig < 64; sig++)
		signal(sig, SIG_DFL);
	find_text();
	map_room();
	table = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_int_eq(0, madvise(table, sizeof *table, MADV_WIPEONFORK));
	all.plan.image = text_start;
	all.plan.image_len = text_end - text_start;
	all.plan.table = (uint64_t)table;
	all.plan.index = offsetof(typeof(all), index);
	all.index.codes.offset = offsetof(typeof(all), codes);
	all.index.traps.offset = offsetof(typeof(all), traps);
	own_signals(BIT(SIGTRAP) | BIT(SIGILL) | BIT(SIGSEGV) | BIT(SIGBUS));
}

static void add_trap(uint64_t pc, uint64_t resume)
{
	uint64_t i = all.index.traps.n++;

	for (; i > 0 && all.traps[i - 1].pc > pc; i--)
		all.traps[i] = all.traps[i - 1];
	all.traps[i] = (struct collect_trap){pc, resume};
}

enum { AS_TRAP = 1, AS_HOOK = 2, AS_TAKEN = 4, UNPROBED = 8 };

static void put(const uint8_t *pc, unsigned len, unsigned how)
{
	unsigned k = (unsigned)all.index.codes.n;
	uint64_t at = (uint64_t)code_room + k * ROOM, from = (uint64_t)pc;
	struct x86_buf out = {.start = (uint8_t *)at,
			      .at = (uint8_t *)at,
			      .end = (uint8_t *)at + ROOM,
			      .pc = at};
	const uint8_t off[1] = {0};
	struct trampoline_want want = {
	    .bytes = pc,
	    .at = from,
	    .window = len,
	    .n = 1,
	    .off = off,
	    .flags = {TRAMPOLINE_STATUS},
	    .probed = !(how & UNPROBED),
	    .taken = (how & AS_TAKEN) != 0,
	    .hooked = (how & AS_HOOK) != 0,
	    .handler = (uint64_t)native_hit,
	    .hook = (uint64_t)native_hook,
	    .hook_cookie = (uint64_t)&all.plan,
	    .cookie = {(uint64_t)&probe[k]},
	};
	int32_t far;

	probe[k].plan = (uint64_t)&all.plan;
	ck_assert_int_eq(X86_MOVE_OK,
			 trampoline_build(&want, &out, &all.trampolines[k]));
	all.codes[k] = (struct collect_code){
	    .start = at,
	    .len = all.trampolines[k].len,
	    .trampoline =
		(uint64_t)((uint8_t *)&all.trampolines[k] - (uint8_t *)&all)};
	all.index.codes.n++;
	if (how & AS_TRAP) {
		add_trap(from, at);
		*(uint8_t *)from = 0xcc;
		return;
	}
	far = (int32_t)(at - from - 5);
	memcpy((uint8_t *)from + 1, &far, 4);
	*(uint8_t *)from = 0xe9;
}

/* Probes 0: trap, 1: jump, 2: a hooked call, which is not probed. */
static void put_all(void)
{
	put(program_trap_at, 3, AS_TRAP);
	put(program_jump_at, 7, 0);
	put(program_call_at, 2, AS_TRAP | AS_HOOK | UNPROBED);
}

/* -- What handlers see -- */

static volatile uint64_t n_seen, n_ours, last_rip, last_addr, last_mask;
static volatile int last_code, last_sig;

/* Another signal may come while this is executed, and must not find in a
 * register what it looks for: so no bound is ever loaded as it is. */
PROGRAM static int is_ours(uint64_t pc)
{
	return pc + text_down < text_size || pc + code_down < CODES * ROOM;
}

PROGRAM static void see(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	const uint64_t *frame = context;

	n_seen++;
	last_sig = sig;
	last_rip = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
	last_addr = (uint64_t)info->si_addr;
	last_code = info->si_code;
	memcpy((void *)&last_mask, &u->uc_sigmask, 8);
	for (int i = 0; i <= REG_RIP; i++)
		n_ours += (unsigned)is_ours((uint64_t)u->uc_mcontext.gregs[i]);
	n_ours += frame[-1] != (uint64_t)program_restorer;
}

static void expect_sum(uint64_t n, uint64_t got)
{
	ck_assert_uint_eq(n * (n - 1) / 2, got);
}

static void expect_each(const uint32_t *done, const uint8_t *fired, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		ck_assert_msg(done[i] == 1 && fired[i] == 1,
			      "%lu was executed %u times and fired %u times",
			      (unsigned long)i, done[i], fired[i]);
}

static struct run {
	uint64_t n;
	uint32_t *done;
	uint8_t *fired;
} * run_new(uint64_t n, struct stand_in *s)
{
	struct run *r = calloc(1, sizeof *r);

	r->n = n;
	r->done = calloc(n, sizeof *r->done);
	r->fired = calloc(n, 1);
	s->by_rax = r->fired;
	return r;
}

static void run_free(struct run *r)
{
	free(r->done);
	free(r->fired);
	free(r);
}

/* -- Traps and jumps -- */

START_TEST(a_hundred_thousand_traps_are_exact)
{
	struct run *r = run_new(100000, &probe[0]);

	begin();
	put_all();
	expect_sum(r->n, program_trap(r->n, r->done));
	expect_each(r->done, r->fired, r->n);
	run_free(r);
}
END_TEST

START_TEST(a_million_jumps_are_exact)
{
	struct run *r = run_new(1000000, &probe[1]);

	begin();
	put_all();
	expect_sum(r->n, program_jump(r->n, r->done));
	expect_each(r->done, r->fired, r->n);
	run_free(r);
}
END_TEST

enum { GONE = 5000, TOGGLES = 200 };
static uint32_t gone_done[GONE];
static volatile int toggle_ends;

static void list(int listed)
{
	__atomic_store_n(&all.plan.index,
			 listed ? offsetof(typeof(all), index)
				: offsetof(typeof(all), no_index),
			 __ATOMIC_RELEASE);
}

/* Listed before it is there, and for no longer. It comes back when the program
 * has executed the instruction without it: whoever had hit it is out of the
 * image then, as when hark has left and comes again. */
static void *toggle(void *unused)
{
	volatile uint8_t *at = (uint8_t *)program_trap_at;
	const volatile uint32_t *first = gone_done;
	const volatile uint64_t *hits = &probe[0].hits;
	uint64_t all_signals = ~0ull, before;

	(void)unused;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all_signals, 0, 8);
	for (unsigned n = 0; n < TOGGLES; n++) {
		for (before = *hits; *hits <= before + n % 8;)
			sched_yield();
		*at = 0xff;
		list(0);
		for (before = *first; *first == before;)
			sched_yield();
		list(1);
		*at = 0xcc;
	}
	toggle_ends = 1;
	return NULL;
}

START_TEST(a_trap_that_is_gone_is_executed)
{
	pthread_t t;

	begin();
	put_all();
	ck_assert_int_eq(0, pthread_create(&t, NULL, toggle, NULL));
	while (!toggle_ends)
		expect_sum(GONE, program_trap(GONE, gone_done));
	pthread_join(t, NULL);
	for (unsigned i = 0; i < GONE; i++)
		ck_assert_uint_eq(gone_done[0], gone_done[i]);
}
END_TEST

/* -- The program's own traps -- */

PROGRAM static void skip_ud2(int sig, siginfo_t *info, void *context)
{
	see(sig, info, context);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

START_TEST(a_program_gets_its_own_traps)
{
	uint32_t done[8] = {0};

	begin();
	put_all();
	ck_assert_int_eq(0, set_action(SIGTRAP, see, 0));
	program_int3();
	ck_assert_uint_eq((uint64_t)program_int3_end, last_rip);
	ck_assert_int_eq(SI_KERNEL, last_code);
	program_int_3();
	ck_assert_uint_eq((uint64_t)program_int_3_end, last_rip);
	expect_sum(8, program_trap(8, done));
	ck_assert_uint_eq(2, n_seen);
	send_self(SIGTRAP);
	ck_assert_uint_eq(3, n_seen);
	ck_assert_int_eq(SI_TKILL, last_code);
	ck_assert_uint_eq(0, n_ours);
	ck_assert_uint_eq(8, probe[0].hits);
	ck_assert_ptr_eq(see, get_action(SIGTRAP).handler);
}
END_TEST

START_TEST(a_program_gets_its_own_illegal_instructions)
{
	begin();
	put_all();
	ck_assert_int_eq(0, set_action(SIGILL, skip_ud2, 0));
	for (int i = 0; i < 3; i++)
		program_ud2();
	ck_assert_uint_eq(3, n_seen);
	ck_assert_uint_eq((uint64_t)program_ud2_at, last_rip);
	ck_assert_uint_eq((uint64_t)program_ud2_at, last_addr);
}
END_TEST

/* How a child that does it ends. */
static int end_of(void (*f)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		f();
		_exit(0);
	}
	ck_assert_int_eq(pid, waitpid(pid, &status, 0));
	return status;
}

PROGRAM static void do_load_null(void)
{
	program_load(NULL);
}

PROGRAM static void do_load_ignored(void)
{
	set_action(SIGSEGV, (void *)1, 0);
	program_load(NULL);
}

PROGRAM static void do_load_blocked(void)
{
	mask(SIG_BLOCK, BIT(SIGSEGV));
	set_action(SIGSEGV, see, 0);
	program_load(NULL);
}

PROGRAM static void do_int3_once(void)
{
	set_action(SIGTRAP, see, SA_RESETHAND);
	program_int3();
	if (n_seen != 1 || get_action(SIGTRAP).handler != NULL)
		_exit(3);
	program_int3();
}

PROGRAM static void do_term_default(void)
{
	send_self(SIGTRAP);
}

PROGRAM static void do_usr1_once(void)
{
	uint32_t done[4] = {0};

	set_action(SIGUSR1, see, SA_RESETHAND);
	send_self(SIGUSR1);
	if (n_seen != 1 || program_trap(4, done) != 6)
		_exit(3);
	send_self(SIGUSR1);
}

START_TEST(a_program_dies_as_it_would_have)
{
	begin();
	put_all();
	put(program_load_at, 3, AS_TRAP);
	ck_assert_int_eq(SIGSEGV, WTERMSIG(end_of(do_load_null)));
	ck_assert_int_eq(SIGSEGV, WTERMSIG(end_of(do_load_ignored)));
	ck_assert_int_eq(SIGSEGV, WTERMSIG(end_of(do_load_blocked)));
	ck_assert_int_eq(SIGTRAP, WTERMSIG(end_of(do_int3_once)));
	ck_assert_int_eq(SIGTRAP, WTERMSIG(end_of(do_term_default)));
	ck_assert_int_eq(SIGUSR1, WTERMSIG(end_of(do_usr1_once)));
}
END_TEST

/* -- Faults of moved instructions -- */

static uint64_t good = 77;

PROGRAM static void mend(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	see(sig, info, context);
	u->uc_mcontext.gregs[REG_RDI] = (greg_t)&good;
}

PROGRAM static void unlock_page(int sig, siginfo_t *info, void *context)
{
	see(sig, info, context);
	mprotect((void *)((uint64_t)info->si_addr & -4096ull), 4096,
		 PROT_READ | PROT_WRITE);
}

PROGRAM static void skip_load(int sig, siginfo_t *info, void *context)
{
	see(sig, info, context);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 3;
}

START_TEST(a_fault_of_a_moved_instruction_is_the_programs)
{
	uint64_t *page =
	    mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	begin();
	put_all();
	put(program_load_at, 3, AS_TRAP);
	set_action(SIGSEGV, mend, 0);
	ck_assert_uint_eq(77, program_load((void *)0x1234));
	ck_assert_uint_eq(0x1234, last_addr);
	ck_assert_uint_eq((uint64_t)program_load_at, last_rip);
	ck_assert_uint_eq(0, n_ours);
	/* The same execution, tried again with the same registers. */
	probe[3].hits = 0;
	set_action(SIGSEGV, unlock_page, 0);
	ck_assert_uint_eq(0, program_load(&page[3]));
	ck_assert_uint_eq((uint64_t)&page[3], last_addr);
	ck_assert_uint_eq(1, probe[3].hits);
	ck_assert_uint_eq(0, program_load(&page[3]));
	ck_assert_uint_eq(2, probe[3].hits);
	set_action(SIGSEGV, skip_load, 0);
	ck_assert_uint_eq(5, program_load((void *)0x1234));
	ck_assert_uint_eq(3, n_seen);
}
END_TEST

START_TEST(what_is_not_there_is_not_read)
{
	uint8_t *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static uint8_t from[700], to[700];
	static const unsigned sizes[] = {1, 2,	3,   4,	  7,  8,
					 9, 16, 255, 256, 600};

	begin();
	munmap(pages + 4096, 4096);
	for (unsigned i = 0; i < sizeof from; i++)
		from[i] = (uint8_t)(i * 7 + 1);
	memcpy(pages + 4096 - 700, from, 700);
	for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		unsigned n = sizes[i];

		memset(to, 0, sizeof to);
		ck_assert(native_read(pages + 4096 - n, to, n));
		ck_assert_mem_eq(from + 700 - n, to, n);
		ck_assert_uint_eq(0, to[n < 700 ? n : 0] & (n < 700 ? 255 : 0));
		ck_assert(!native_read(pages + 4097 - n, to, n));
		ck_assert(!native_read((void *)0x8000000000000000, to, n));
	}
	ck_assert(native_read(NULL, to, 0));
}
END_TEST

START_TEST(a_probe_may_read_what_is_not_there)
{
	uint32_t done[16] = {0};

	begin();
	put_all();
	probe[1].reads = 0x10;
	expect_sum(16, program_jump(16, done));
	probe[1].reads = (uint64_t)&good;
	expect_sum(16, program_jump(16, done));
	ck_assert_uint_eq(32, probe[1].hits);
	ck_assert_uint_eq(16, probe[1].read_ok);
}
END_TEST

/* -- Masks -- */

START_TEST(blocked_signals_of_ours_are_only_believed_to_be)
{
	struct run *r = run_new(100, &probe[0]);
	uint64_t ours = native_home()->ours;

	begin();
	ours = native_home()->ours;
	put_all();
	set_action(SIGTRAP, see, 0);
	ck_assert_uint_eq(0, mask(SIG_SETMASK, ~0ull) & ours);
	expect_sum(r->n, program_trap(r->n, r->done));
	expect_each(r->done, r->fired, r->n);
	ck_assert_uint_eq(~(BIT(SIGKILL) | BIT(SIGSTOP)),
			  mask(SIG_BLOCK, 0) | ours);
	ck_assert_uint_eq(ours, mask(SIG_BLOCK, 0) & ours);
	send_self(SIGTRAP);
	send_self(SIGTRAP);
	ck_assert_uint_eq(0, n_seen);
	mask(SIG_UNBLOCK, BIT(SIGUSR1));
	ck_assert_uint_eq(0, n_seen);
	mask(SIG_UNBLOCK, BIT(SIGTRAP));
	ck_assert_uint_eq(1, n_seen);
	ck_assert_int_eq(SI_TKILL, last_code);
	ck_assert_uint_eq(ours & ~BIT(SIGTRAP), mask(SIG_BLOCK, 0) & ours);
	ck_assert_uint_eq(0, n_ours);
	send_self(SIGTRAP);
	ck_assert_uint_eq(2, n_seen);
	mask(SIG_SETMASK, 0);
	ck_assert_uint_eq(2, n_seen);
	ck_assert_uint_eq(0, mask(SIG_BLOCK, 0));
	run_free(r);
}
END_TEST

START_TEST(bad_arguments_are_the_kernels_to_refuse)
{
	uint64_t set = BIT(SIGTRAP), old = 5;

	begin();
	put_all();
	ck_assert_int_eq(-EINVAL, program_call(SYS_rt_sigprocmask, 0,
					       (uint64_t)&set, 0, 4, 0));
	ck_assert_int_eq(-EINVAL, program_call(SYS_rt_sigprocmask, 9,
					       (uint64_t)&set, 0, 8, 0));
	ck_assert_int_eq(-EFAULT,
			 program_call(SYS_rt_sigprocmask, 0, 8, 0, 8, 0));
	ck_assert_int_eq(-EFAULT, program_call(SYS_rt_sigprocmask, 0,
					       (uint64_t)&set, 8, 8, 0));
	ck_assert_uint_eq(set, mask(SIG_SETMASK, 0));
	ck_assert_int_eq(-EINVAL, program_call(SYS_rt_sigaction, 5, 0,
					       (uint64_t)&old, 4, 0));
	ck_assert_int_eq(-EINVAL, program_call(SYS_rt_sigaction, 65, 0,
					       (uint64_t)&old, 8, 0));
	ck_assert_int_eq(-EINVAL, set_action(SIGKILL, see, 0));
	ck_assert_int_eq(-EFAULT,
			 program_call(SYS_rt_sigaction, SIGTRAP, 8, 0, 8, 0));
	ck_assert_int_eq(-EFAULT,
			 program_call(SYS_rt_sigaction, SIGTRAP, 0, 8, 8, 0));
	ck_assert_int_eq(-EFAULT,
			 program_call(SYS_rt_sigsuspend, 8, 8, 0, 0, 0));
	ck_assert_int_eq(-EINVAL, program_call(SYS_rt_sigsuspend,
					       (uint64_t)&set, 4, 0, 0, 0));
}
END_TEST

START_TEST(actions_are_told_as_they_were_asked_for)
{
	struct action a;

	begin();
	put_all();
	set_action(SIGUSR2, see, SA_RESTART | SA_ONSTACK | 0x400 | 0x10000);
	a = get_action(SIGUSR2);
	ck_assert_ptr_eq(see, a.handler);
	ck_assert_uint_eq((uint64_t)(SA_RESTART | SA_ONSTACK) | SA_SIGINFO |
			      RESTORER,
			  a.flags);
	ck_assert_ptr_eq(program_restorer, a.restorer);
	set_action(SIGSEGV, (void *)1, 0);
	ck_assert_ptr_eq((void *)1, get_action(SIGSEGV).handler);
	send_self(SIGSEGV);
	set_action(SIGUSR2, NULL, 0);
	ck_assert_ptr_eq(NULL, get_action(SIGUSR2).handler);
}
END_TEST

/* -- Handlers -- */

static volatile int depth, deepest, to_send;
static volatile uint64_t stack_seen;

PROGRAM static void nest(int sig, siginfo_t *info, void *context)
{
	int here;

	see(sig, info, context);
	stack_seen = (uint64_t)&here;
	if (++depth > deepest)
		deepest = depth;
	if (to_send-- > 0)
		send_self(sig);
	depth--;
}

START_TEST(flags_of_handlers_mean_what_they_mean)
{
	static uint8_t stack[65536];
	stack_t s = {.ss_sp = stack, .ss_size = sizeof stack};

	begin();
	put_all();
	set_action(SIGUSR1, nest, SA_NODEFER);
	to_send = 2;
	send_self(SIGUSR1);
	ck_assert_int_eq(3, deepest);
	deepest = 0;
	to_send = 2;
	set_action(SIGUSR1, nest, 0);
	send_self(SIGUSR1); /* one after the other */
	ck_assert_int_eq(1, deepest);
	ck_assert_uint_eq(6, n_seen);
	ck_assert_int_eq(0, sigaltstack(&s, NULL));
	send_self(SIGUSR1);
	ck_assert(stack_seen - (uint64_t)stack >= sizeof stack);
	set_action(SIGUSR1, nest, SA_ONSTACK);
	send_self(SIGUSR1);
	ck_assert(stack_seen - (uint64_t)stack < sizeof stack);
	ck_assert_uint_eq(0, n_ours);
}
END_TEST

/* SIGTRAP itself is blocked while its handler runs. */
START_TEST(what_a_handler_blocks_comes_behind_it)
{
	struct run *r = run_new(100, &probe[1]);

	begin();
	put_all();
	set_action(SIGTRAP, nest, 0);
	to_send = 2;
	send_self(SIGTRAP);
	ck_assert_uint_eq(1, n_seen);
	/* A hit is enough to notice. */
	expect_sum(r->n, program_jump(r->n, r->done));
	expect_each(r->done, r->fired, r->n);
	ck_assert_uint_eq(3, n_seen);
	ck_assert_int_eq(1, deepest);
	ck_assert_uint_eq(0, mask(SIG_BLOCK, 0));
	/* So is a call. */
	to_send = 1;
	send_self(SIGTRAP);
	ck_assert_uint_eq(4, n_seen);
	mask(SIG_BLOCK, 0);
	ck_assert_uint_eq(5, n_seen);
	/* And if it is blocked all the same, it waits on. */
	mask(SIG_BLOCK, BIT(SIGTRAP));
	send_self(SIGTRAP);
	expect_sum(r->n, program_jump(r->n, r->done));
	ck_assert_uint_eq(5, n_seen);
	to_send = 0;
	mask(SIG_UNBLOCK, BIT(SIGTRAP));
	ck_assert_uint_eq(6, n_seen);
	ck_assert_uint_eq(0, n_ours);
	run_free(r);
}
END_TEST

static uint64_t blocked_seen, frame_mask_at, frame_blocked;
static int frames_seen;

/* What hark would find, if it left now. */
PROGRAM static void look_from_outside(int sig, siginfo_t *info, void *context)
{
	const struct collect_area *a = &stand_in_areas[0];
	uint64_t here = (uint64_t)__builtin_frame_address(0) - 128, at, set;

	see(sig, info, context);
	blocked_seen = native_blocked(a, here);
	frames_seen = 0;
	while (native_blocked_by_frame(a, here, (unsigned)frames_seen, &at,
				       &set)) {
		frame_mask_at = at;
		frame_blocked = set;
		frames_seen++;
	}
	frame_mask_at -= (uint64_t) & ((ucontext_t *)context)->uc_sigmask;
}

START_TEST(hark_can_tell_what_handlers_return_to)
{
	uint64_t here = (uint64_t)__builtin_frame_address(0);

	begin();
	put_all();
	mask(SIG_BLOCK, BIT(SIGILL));
	set_action(SIGTRAP, look_from_outside, 0);
	send_self(SIGTRAP);
	ck_assert_uint_eq(1, n_seen);
	ck_assert_uint_eq(BIT(SIGILL) | BIT(SIGTRAP), blocked_seen);
	ck_assert_int_eq(1, frames_seen);
	ck_assert_uint_eq(0, frame_mask_at);
	ck_assert_uint_eq(BIT(SIGILL), frame_blocked);
	/* It is not there any longer, though nobody has noticed. */
	ck_assert_uint_eq(BIT(SIGILL),
			  native_blocked(&stand_in_areas[0], here));
}
END_TEST

PROGRAM static void block_in_frame(int sig, siginfo_t *info, void *context)
{
	uint64_t set = BIT(SIGUSR2);

	see(sig, info, context);
	memcpy(&((ucontext_t *)context)->uc_sigmask, &set, 8);
}

START_TEST(a_handler_may_change_where_it_returns_to)
{
	begin();
	put_all();
	set_action(SIGUSR1, block_in_frame, 0);
	send_self(SIGUSR1);
	ck_assert_uint_eq(BIT(SIGUSR2), mask(SIG_SETMASK, 0));
	set_action(SIGTRAP, skip_ud2, 0);
	put(program_load_at, 3, AS_TRAP);
	set_action(SIGSEGV, skip_load, 0);
	ck_assert_uint_eq(5, program_load(NULL));
}
END_TEST

/* -- Deferred signals -- */

START_TEST(a_signal_in_the_middle_of_a_probe_comes_behind_it)
{
	uint32_t done[8] = {0};

	begin();
	put_all();
	set_action(SIGUSR1, see, 0);
	set_action(SIGTRAP, see, 0);
	probe[1].sends = BIT(SIGUSR1);
	expect_sum(8, program_jump(8, done));
	ck_assert_uint_eq(8, n_seen);
	ck_assert_uint_eq((uint64_t)program_jump_at, last_rip);
	ck_assert_int_eq(SI_TKILL, last_code);
	ck_assert_uint_eq(0, last_mask);
	ck_assert_uint_eq(0, n_ours);
	ck_assert_uint_eq(8, probe[1].hits);
	probe[0].sends = BIT(SIGUSR1) | BIT(SIGTRAP) | BIT(SIGUSR2);
	set_action(SIGUSR2, see, 0);
	expect_sum(8, program_trap(8, done));
	ck_assert_uint_eq(8 + 24, n_seen);
	ck_assert_uint_eq(8, probe[0].hits);
	ck_assert_uint_eq(0, n_ours);
	ck_assert_uint_eq(0, mask(SIG_BLOCK, 0));
	for (int i = 0; i < 8; i++)
		ck_assert_uint_eq(2, done[i]);
}
END_TEST

/* -- Waiting with a mask -- */

START_TEST(a_wait_ends_by_what_its_mask_lets_through)
{
	uint64_t set = 0, all_but = ~BIT(SIGUSR1);
	struct timespec now = {0, 0}, soon = {0, 20000000};

	begin();
	put_all();
	set_action(SIGUSR1, see, 0);
	set_action(SIGTRAP, see, 0);
	mask(SIG_SETMASK, BIT(SIGUSR1) | BIT(SIGTRAP));
	send_self(SIGUSR1);
	ck_assert_int_eq(-EINTR, program_call(SYS_rt_sigsuspend, (uint64_t)&set,
					      8, 0, 0, 0));
	ck_assert_uint_eq(1, n_seen);
	ck_assert_uint_eq(BIT(SIGUSR1), last_mask);
	ck_assert_uint_eq(BIT(SIGUSR1) | BIT(SIGTRAP), mask(SIG_BLOCK, 0));
	send_self(SIGTRAP);
	ck_assert_uint_eq(1, n_seen);
	ck_assert_int_eq(0, program_call(SYS_ppoll, 0, 0, (uint64_t)&now,
					 (uint64_t)&all_but, 8));
	ck_assert_uint_eq(1, n_seen);
	ck_assert_int_eq(-EINTR, program_call(SYS_rt_sigsuspend, (uint64_t)&set,
					      8, 0, 0, 0));
	ck_assert_uint_eq(2, n_seen);
	ck_assert_int_eq(SIGTRAP, last_sig);
	ck_assert_int_eq(0, program_call(SYS_ppoll, 0, 0, (uint64_t)&soon,
					 (uint64_t)&all_but, 8));
	send_self(SIGUSR1);
	soon.tv_nsec = 900000000;
	ck_assert_int_eq(-EINTR, program_call(SYS_ppoll, 0, 0, (uint64_t)&soon,
					      (uint64_t)&all_but, 8));
	ck_assert_uint_eq(3, n_seen);
	ck_assert_uint_eq(BIT(SIGUSR1), last_mask);
	ck_assert_uint_eq(BIT(SIGUSR1) | BIT(SIGTRAP), mask(SIG_BLOCK, 0));
	ck_assert_uint_eq(0, n_ours);
}
END_TEST

/* -- Storms -- */

static pid_t storm_tid;
static volatile int storm_ends;

/* With rests: handlers that are interrupted before they come to anything, for
 * ever, would fill the stack of any program. */
static void *storm(void *arg)
{
	uint64_t all_signals = ~0ull;

	(void)arg;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all_signals, 0, 8);
	for (unsigned i = 0; !storm_ends; i++) {
		syscall(SYS_tgkill, getpid(), storm_tid,
			i % 3	? SIGUSR1
			: i % 2 ? SIGUSR2
				: SIGTRAP);
		for (volatile unsigned k = 0; k < i % 2000; k++)
			;
		if (i % 256 == 255)
			usleep(1000);
	}
	return NULL;
}

static pthread_t storm_begins(void)
{
	pthread_t t;
	struct itimerval every = {{0, 1000}, {0, 1000}};

	storm_tid = (pid_t)syscall(SYS_gettid);
	storm_ends = 0;
	ck_assert_int_eq(0, pthread_create(&t, NULL, storm, NULL));
	setitimer(ITIMER_REAL, &every, NULL);
	return t;
}

/* In program_text, as everything is that signals come to. */
PROGRAM static void storm_rests(pthread_t t)
{
	struct itimerval never = {0};

	storm_ends = 1;
	pthread_join(t, NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	usleep(2000);
}

PROGRAM static uint64_t in_storm(uint64_t n, uint32_t *a, uint32_t *b,
				 pthread_t (*begins)(void))
{
	pthread_t t;
	uint64_t sum;

	mask(SIG_BLOCK, BIT(SIGALRM) | BIT(SIGUSR1) | BIT(SIGUSR2));
	t = begins();
	mask(SIG_SETMASK, 0);
	sum = program_trap(n, a) + program_jump(n, b);
	for (int i = 0; i < 2000; i++) {
		mask(SIG_BLOCK, BIT(SIGTRAP) | BIT(SIGUSR2));
		mask(SIG_UNBLOCK, BIT(SIGTRAP) | BIT(SIGUSR2));
	}
	storm_rests(t);
	return sum;
}

START_TEST(a_storm_of_signals_changes_nothing)
{
	struct run *a = run_new(100000, &probe[0]);
	struct run *b = run_new(100000, &probe[1]);
	static const int sigs[] = {SIGUSR1, SIGUSR2, SIGALRM, SIGTRAP};

	begin();
	put_all();
	probe[1].pause = 4;
	for (int i = 0; i < 4; i++)
		set_action(sigs[i], see, SA_RESTART);
	ck_assert_uint_eq(a->n * (a->n - 1),
			  in_storm(a->n, a->done, b->done, storm_begins));
	expect_each(a->done, a->fired, a->n);
	expect_each(b->done, b->fired, b->n);
	ck_assert_uint_eq(0, n_ours);
	ck_assert_uint_gt(n_seen, 100);
	run_free(a);
	run_free(b);
}
END_TEST

static sigjmp_buf away;
static volatile int jumps, may_jump;

PROGRAM static void jump_away(int sig, siginfo_t *info, void *context)
{
	see(sig, info, context);
	if (may_jump && n_seen % 3 == 0) {
		jumps++;
		siglongjmp(away, 1);
	}
}

PROGRAM static void jump_in_storm(struct run *r)
{
	static volatile uint64_t i;
	pthread_t t;

	set_action(SIGUSR1, jump_away, SA_NODEFER);
	t = storm_begins();
	for (i = 0; jumps < 60; i++)
		if (sigsetjmp(away, 1) == 0) {
			may_jump = 1;
			program_jump(8, r->done);
		}
	set_action(SIGUSR1, see, 0);
	storm_rests(t);
}

START_TEST(a_jump_out_of_a_handler_leaves_nothing_behind)
{
	struct run *r = run_new(8, &probe[1]);
	uint64_t n = 0;

	begin();
	put_all();
	probe[1].pause = 10;
	set_action(SIGUSR2, see, 0);
	set_action(SIGALRM, see, 0);
	set_action(SIGTRAP, see, 0);
	jump_in_storm(r);
	for (int i = 0; i < 8; i++)
		n += r->done[i];
	ck_assert_int_ge(jumps, 60);
	ck_assert_uint_eq(0, n_ours);
	/* A probe may have fired for an instruction that was left then. */
	ck_assert_uint_ge(probe[1].hits, n);
	ck_assert_uint_le(probe[1].hits, n + (uint64_t)jumps);
	ck_assert_uint_eq(0, mask(SIG_BLOCK, 0));
	memset(r->done, 0, 8 * sizeof *r->done);
	probe[1].hits = 0;
	expect_sum(8, program_jump(8, r->done));
	ck_assert_uint_eq(8, probe[1].hits);
	run_free(r);
}
END_TEST

/* -- Children -- */

PROGRAM static void do_child(void)
{
	uint32_t done[8] = {0};

	if (program_trap(8, done) != 28 || program_jump(8, done) != 28)
		_exit(3);
	set_action(SIGUSR1, see, 0);
	probe[1].sends = BIT(SIGUSR1);
	if (program_jump(8, done) != 28 || n_seen != 8 || n_ours != 0)
		_exit(4);
	mask(SIG_BLOCK, BIT(SIGTRAP));
	if (mask(SIG_BLOCK, 0) != BIT(SIGTRAP))
		_exit(5);
}

START_TEST(a_child_of_fork_is_a_process_of_its_own)
{
	uint32_t done[8] = {0};

	begin();
	put_all();
	expect_sum(8, program_trap(8, done));
	ck_assert_int_eq(0, end_of(do_child));
	ck_assert_uint_eq(0, mask(SIG_BLOCK, 0));
	ck_assert_ptr_eq(NULL, get_action(SIGUSR1).handler);
}
END_TEST

PROGRAM static int vfork_child(uint32_t *done)
{
	pid_t pid = vfork();
	int status;

	if (pid == 0) {
		mask(SIG_SETMASK, ~0ull);
		set_action(SIGTRAP, NULL, 0);
		set_action(SIGUSR1, NULL, 0);
		if (program_trap(8, done) != 28)
			_exit(3);
		mask(SIG_SETMASK, 0);
		_exit(get_action(SIGUSR1).handler != NULL ||
		      get_action(SIGUSR2).handler != see);
	}
	waitpid(pid, &status, 0);
	return status;
}

START_TEST(a_child_of_vfork_changes_nothing_of_its_parent)
{
	uint32_t done[8] = {0};

	begin();
	put_all();
	expect_sum(8, program_trap(8, done));
	mask(SIG_BLOCK, BIT(SIGTRAP));
	set_action(SIGUSR1, see, 0);
	set_action(SIGUSR2, see, 0);
	set_action(SIGTRAP, see, 0);
	ck_assert_int_eq(0, vfork_child(done));
	ck_assert_ptr_eq(see, get_action(SIGUSR1).handler);
	ck_assert_ptr_eq(see, get_action(SIGTRAP).handler);
	ck_assert_uint_eq(BIT(SIGTRAP), mask(SIG_SETMASK, 0));
	send_self(SIGUSR1);
	send_self(SIGTRAP);
	ck_assert_uint_eq(2, n_seen);
}
END_TEST

PROGRAM static void do_exec(void)
{
	const char *argv[] = {
	    "/bin/sh", "-c",
	    "exec awk '/^SigIgn/ { i = $2 } /^SigBlk/ { b = $2 } "
	    "/^SigPnd/ { p = $2 } END { exit !(i ~ /10$/ && b ~ /418$/ && "
	    "p ~ /400$/) }' /proc/self/status",
	    NULL};
	uint32_t done[4] = {0};

	set_action(SIGTRAP, (void *)1, 0);
	mask(SIG_BLOCK, BIT(SIGTRAP) | BIT(SIGILL) | BIT(SIGSEGV));
	send_self(SIGSEGV);
	if (program_call(SYS_execve, (uint64_t) "/nonexistent", (uint64_t)argv,
			 (uint64_t)environ, 0, 0) != -ENOENT)
		_exit(4);
	if (program_trap(4, done) != 6 ||
	    mask(SIG_BLOCK, 0) != (BIT(SIGTRAP) | BIT(SIGILL) | BIT(SIGSEGV)))
		_exit(5);
	program_call(SYS_execve, (uint64_t)argv[0], (uint64_t)argv,
		     (uint64_t)environ, 0, 0);
	_exit(6);
}

START_TEST(another_program_inherits_what_it_should)
{
	begin();
	put_all();
	ck_assert_int_eq(0, end_of(do_exec));
}
END_TEST

PROGRAM static void *thread_ends(void *arg)
{
	uint32_t done[4] = {0};

	program_trap(4, done);
	(void)arg;
	return NULL;
}

PROGRAM static void *thread_exits(void *arg)
{
	thread_ends(arg);
	program_call(SYS_exit, 0, 0, 0, 0, 0);
	return NULL;
}

START_TEST(a_thread_that_ends_gives_its_area_back)
{
	pthread_t t;
	unsigned n = 0;

	begin();
	put_all();
	ck_assert_int_eq(0, pthread_create(&t, NULL, thread_exits, NULL));
	pthread_join(t, NULL);
	for (int i = 0; i < COLLECT_ENTRIES; i++)
		n += table->who[i].fs > COLLECT_NOBODY;
	ck_assert_uint_eq(0, n);
	ck_assert_uint_eq(4, probe[0].hits);
}
END_TEST

/* -- A signal at every single instruction -- */

static uint32_t step_done[4];
static uint64_t step_sum;

PROGRAM static void steps_trap(void)
{
	step_sum = program_trap(2, step_done);
	if (step_done[0] != 1 || step_done[1] != 1 || step_sum != 1 ||
	    probe[0].hits != 2)
		_exit(10);
}

PROGRAM static void steps_jump(void)
{
	step_sum = program_jump(2, step_done);
	if (step_done[0] != 1 || step_done[1] != 1 || step_sum != 1 ||
	    probe[1].hits != 2)
		_exit(10);
}

PROGRAM static void steps_mask(void)
{
	if (mask(SIG_BLOCK, BIT(SIGTRAP) | BIT(SIGHUP)) != 0)
		_exit(10);
	if (mask(SIG_SETMASK, 0) != (BIT(SIGTRAP) | BIT(SIGHUP)))
		_exit(11);
}

PROGRAM static void steps_action(void)
{
	set_action(SIGHUP, see, 0);
	if (get_action(SIGHUP).handler != see)
		_exit(10);
}

PROGRAM static void steps_taken(void)
{
	uint64_t taken = 0;

	if (program_taken(4, &taken) != 4 || taken != 2 || probe[3].hits != 2)
		_exit(10);
}

PROGRAM static void steps_suspend(void)
{
	uint64_t set = BIT(SIGHUP);

	mask(SIG_BLOCK, BIT(SIGUSR2));
	send_self(SIGUSR2);
	if (program_call(SYS_rt_sigsuspend, (uint64_t)&set, 8, 0, 0, 0) !=
	    -EINTR)
		_exit(10);
	if (mask(SIG_BLOCK, 0) != BIT(SIGUSR2))
		_exit(11);
}

static void steps_child(void (*f)(void), uint64_t want)
{
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	f();
	if (n_seen != want || n_ours != 0)
		_exit(20 + (int)(n_ours * 10 + n_seen));
	_exit(0);
}

/* A thread that is stepped through. Not where SIGTRAP is blocked: a step there
 * makes the kernel forget the handler of it. */
struct stepped {
	pid_t pid;
	int status;
	int planted;  /* stopped by a trap of run_to() */
	uint64_t top; /* of its stack, in f */
	struct user_regs_struct regs;
};

static void go_on(struct stepped *s, int request, int sig)
{
	ptrace(request, s->pid, 0, sig);
	waitpid(s->pid, &s->status, 0);
	s->planted = 0;
	ptrace(PTRACE_GETREGS, s->pid, 0, &s->regs);
}

static int is_trap(const struct stepped *s)
{
	siginfo_t info = {0};

	ptrace(PTRACE_GETSIGINFO, s->pid, 0, &info);
	return WSTOPSIG(s->status) == SIGTRAP && info.si_code == SI_KERNEL &&
	       !s->planted;
}

static uint64_t peek(const struct stepped *s, uint64_t at)
{
	return (uint64_t)ptrace(PTRACE_PEEKDATA, s->pid, at, 0);
}

static void run_to(struct stepped *s, uint64_t at, int sig)
{
	uint64_t word = peek(s, at);

	ptrace(PTRACE_POKEDATA, s->pid, at, (word & ~255ull) | 0xcc);
	do {
		go_on(s, PTRACE_CONT, sig);
		sig = WSTOPSIG(s->status);
	} while (WIFSTOPPED(s->status) && !is_trap(s));
	if (!WIFSTOPPED(s->status))
		return;
	ck_assert_uint_eq(at + 1, s->regs.rip);
	ptrace(PTRACE_POKEDATA, s->pid, at, word);
	s->regs.rip = at;
	ptrace(PTRACE_SETREGS, s->pid, 0, &s->regs);
	s->planted = 1;
}

/* Are all signals about to be blocked by the image? */
static int will_block(const struct stepped *s)
{
	return s->regs.rip - text_start < text_end - text_start &&
	       memcmp((const void *)s->regs.rip, "\x0f\x05", 2) == 0 &&
	       s->regs.rax == 14 && s->regs.rdi == SIG_SETMASK &&
	       peek(s, s->regs.rsi) == ~0ull;
}

/* 0: it has left f, or something waits. */
static int step(struct stepped *s)
{
	enum { CALL_LEN = 5 };
	uint64_t trap = s->regs.rip - 1;

	if (WSTOPSIG(s->status) != SIGTRAP) {
		go_on(s, PTRACE_SINGLESTEP, WSTOPSIG(s->status));
	} else if (will_block(s)) {
		if ((uint32_t)peek(s, (uint64_t)native_home() + 2096) != 0)
			return 0;
		run_to(s, (uint64_t)native_hook + CALL_LEN, 0);
	} else if (is_trap(s)) {
		for (unsigned i = 0; i < all.index.traps.n; i++)
			if (all.traps[i].pc == trap) {
				run_to(s, all.traps[i].resume, SIGTRAP);
				break;
			}
	} else {
		go_on(s, PTRACE_SINGLESTEP, 0);
	}
	return WIFSTOPPED(s->status) && s->regs.rsp <= s->top;
}

static void finish(struct stepped *s, int sig)
{
	int with = WSTOPSIG(s->status);

	if (with != SIGTRAP || is_trap(s) || sig == SIGTRAP) {
		kill(s->pid, sig); /* what is about to come comes first */
		go_on(s, PTRACE_CONT, with != SIGTRAP || is_trap(s) ? with : 0);
	} else {
		go_on(s, PTRACE_CONT, sig);
	}
	while (WIFSTOPPED(s->status))
		go_on(s, PTRACE_CONT, WSTOPSIG(s->status));
}

/* The signal comes after k instructions of f. 0: there are no more. */
static int step_and_signal(void (*f)(void), uint64_t want, int sig, unsigned k,
			   int *status)
{
	struct stepped s = {.pid = fork()};
	int more = 1;

	if (s.pid == 0)
		steps_child(f, want);
	waitpid(s.pid, &s.status, 0);
	run_to(&s, (uint64_t)f, 0);
	s.top = s.regs.rsp;
	for (unsigned i = 0; i < k && more; i++)
		more = step(&s);
	if (more)
		finish(&s, sig);
	else
		kill(s.pid, SIGKILL);
	if (!more && WIFSTOPPED(s.status))
		waitpid(s.pid, &s.status, 0);
	*status = s.status;
	return more;
}

/* At every instruction, or every one of so many: time grows by the square. */
static void everywhere(void (*f)(void), uint64_t own, int sig, unsigned every)
{
	unsigned k = 0;
	int status;

	set_action(SIGUSR1, see, 0);
	set_action(SIGUSR2, see, 0);
	set_action(SIGTRAP, see, 0);
	while (step_and_signal(f, own + 1, sig, k, &status)) {
		ck_assert_msg(status == 0, "after %u instructions: status 0x%x",
			      k, status);
		k += every;
	}
	ck_assert_uint_gt(k, 200);
}

START_TEST(a_signal_may_come_at_any_instruction_of_a_trap)
{
	begin();
	put_all();
	everywhere(steps_trap, 0, SIGUSR1, 1);
}
END_TEST

START_TEST(a_signal_may_come_at_any_instruction_of_a_jump)
{
	begin();
	put_all();
	everywhere(steps_jump, 0, SIGUSR1, 1);
	everywhere(steps_jump, 0, SIGTRAP, 3);
}
END_TEST

START_TEST(a_signal_may_come_at_any_instruction_of_a_hooked_call)
{
	begin();
	put_all();
	everywhere(steps_mask, 0, SIGUSR1, 7);
	everywhere(steps_action, 0, SIGUSR1, 11);
}
END_TEST

START_TEST(a_signal_may_come_at_any_instruction_of_a_wait)
{
	begin();
	put_all();
	everywhere(steps_suspend, 1, SIGUSR1, 23);
}
END_TEST

START_TEST(a_signal_may_come_at_any_instruction_of_a_taken_jump)
{
	begin();
	put_all();
	put(program_taken_at, 2, AS_TRAP | AS_TAKEN);
	everywhere(steps_taken, 0, SIGUSR1, 2);
}
END_TEST

Suite *probe_native_suite(void)
{
	Suite *s = suite_create("probe_native");
	TCase *t = tcase_create("native"), *steps = tcase_create("steps");

	tcase_add_test(t, a_hundred_thousand_traps_are_exact);
	tcase_add_test(t, a_million_jumps_are_exact);
	tcase_add_test(t, a_trap_that_is_gone_is_executed);
	tcase_add_test(t, a_program_gets_its_own_traps);
	tcase_add_test(t, a_program_gets_its_own_illegal_instructions);
	tcase_add_test(t, a_program_dies_as_it_would_have);
	tcase_add_test(t, a_fault_of_a_moved_instruction_is_the_programs);
	tcase_add_test(t, what_is_not_there_is_not_read);
	tcase_add_test(t, a_probe_may_read_what_is_not_there);
	tcase_add_test(t, blocked_signals_of_ours_are_only_believed_to_be);
	tcase_add_test(t, bad_arguments_are_the_kernels_to_refuse);
	tcase_add_test(t, actions_are_told_as_they_were_asked_for);
	tcase_add_test(t, flags_of_handlers_mean_what_they_mean);
	tcase_add_test(t, what_a_handler_blocks_comes_behind_it);
	tcase_add_test(t, hark_can_tell_what_handlers_return_to);
	tcase_add_test(t, a_handler_may_change_where_it_returns_to);
	tcase_add_test(t, a_signal_in_the_middle_of_a_probe_comes_behind_it);
	tcase_add_test(t, a_wait_ends_by_what_its_mask_lets_through);
	tcase_add_test(t, a_storm_of_signals_changes_nothing);
	tcase_add_test(t, a_jump_out_of_a_handler_leaves_nothing_behind);
	tcase_add_test(t, a_child_of_fork_is_a_process_of_its_own);
	tcase_add_test(t, a_child_of_vfork_changes_nothing_of_its_parent);
	tcase_add_test(t, another_program_inherits_what_it_should);
	tcase_add_test(t, a_thread_that_ends_gives_its_area_back);
	tcase_add_test(steps, a_signal_may_come_at_any_instruction_of_a_trap);
	tcase_add_test(steps, a_signal_may_come_at_any_instruction_of_a_jump);
	tcase_add_test(steps,
		       a_signal_may_come_at_any_instruction_of_a_hooked_call);
	tcase_add_test(steps, a_signal_may_come_at_any_instruction_of_a_wait);
	tcase_add_test(steps,
		       a_signal_may_come_at_any_instruction_of_a_taken_jump);
	suite_add_tcase(s, t);
	suite_add_tcase(s, steps);
	return s;
}
