/* tests/unit/native_program.c - a program with probes in it. */
#include "native_program.h"
#include "native/home.h"

#include <check.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

extern const uint8_t __start_program_text[], __stop_program_text[];

/* -- The program -- */

__asm__(".pushsection program_text,\"ax\",@progbits\n"
	".globl program_trap, program_trap_at, program_jump, program_jump_at\n"
	".globl program_call, program_call_at, program_load, program_load_at\n"
	".globl program_int3, program_int3_end, program_int_3\n"
	".globl program_int_3_end, program_ud2, program_ud2_at\n"
	".globl program_taken, program_taken_at, program_down\n"
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
	/* The same, with the direction flag set; *flags are those after. */
	"program_down:\n"
	"	std\n"
	"	call program_jump\n"
	"	pushf\n"
	"	pop (%rdx)\n"
	"	cld\n"
	"	ret\n"
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

__asm__(".pushsection program_text,\"ax\",@progbits\n"
	".globl program_restorer\n"
	"program_restorer:\n"
	"	mov $15, %rax\n"
	"	syscall\n"
	".popsection\n");

PROGRAM int64_t program_set_action(int sig,
				   void (*handler)(int, siginfo_t *, void *),
				   uint64_t flags)
{
	struct program_action a = {handler, flags | SA_SIGINFO | RESTORER,
				   program_restorer, 0};

	return program_call(SYS_rt_sigaction, (uint64_t)sig, (uint64_t)&a, 0, 8,
			    0);
}

PROGRAM struct program_action program_get_action(int sig)
{
	struct program_action a = {0};

	program_call(SYS_rt_sigaction, (uint64_t)sig, 0, (uint64_t)&a, 8, 0);
	return a;
}

PROGRAM uint64_t program_mask(int how, uint64_t set)
{
	uint64_t old = 0;

	program_call(SYS_rt_sigprocmask, (uint64_t)how, (uint64_t)&set,
		     (uint64_t)&old, 8, 0);
	return old;
}

PROGRAM void program_send(int sig)
{
	syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), sig);
}

/* -- Probes in this process -- */

enum { ROOM = 1024 };

static struct {
	struct collect_plan plan;
	struct collect_index index, no_index;
	struct collect_code codes[PROGRAM_PROBES];
	struct collect_trap traps[PROGRAM_PROBES];
	struct trampoline trampolines[PROGRAM_PROBES];
} all;
struct collect_table *program_table;
static uint8_t *code_room;
static uint64_t text_start, text_end;
/* The same for handlers: -start, and its length. See is_ours(). */
static uint64_t text_down, text_size, code_down;
struct stand_in program_probe[PROGRAM_PROBES];

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
	while (mmap((void *)at, PROGRAM_PROBES * ROOM,
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

/* Near to home, as in a program that is probed. */
static struct collect_table *map_table(void)
{
	uint8_t *at = code_room;
	void *table;

	do {
		at += 1 << 20;
		table = mmap(at, sizeof *program_table, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			     -1, 0);
	} while (table == MAP_FAILED);
	return table;
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

void program_begin(void)
{
	for (int sig = 1; sig < 64; sig++)
		signal(sig, SIG_DFL);
	find_text();
	map_room();
	program_table = map_table();
	ck_assert_int_eq(
	    0, madvise(program_table, sizeof *program_table, MADV_WIPEONFORK));
	all.plan.image = text_start;
	all.plan.image_len = text_end - text_start;
	all.plan.table = (uint64_t)program_table;
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

void program_put(const uint8_t *pc, unsigned len, unsigned how)
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
	    .flags = {how & AS_DOWN ? TRAMPOLINE_ALL : TRAMPOLINE_STATUS},
	    .probed = !(how & UNPROBED),
	    .taken = (how & AS_TAKEN) != 0,
	    .hooked = (how & AS_HOOK) != 0,
	    .handler = (uint64_t)native_hit,
	    .hook = (uint64_t)native_hook,
	    .hook_cookie = (uint64_t)&all.plan,
	    .cookie = {(uint64_t)&program_probe[k]},
	    .slot = {how & AS_COUNT ? STAND_IN_SLOT : 0},
	    .table = (uint64_t)program_table,
	    .waiting = (uint64_t)native_home() + NATIVE_WAITING,
	};
	int32_t far;

	program_probe[k].plan = (uint64_t)&all.plan;
	program_probe[k].counts = (how & AS_COUNT) != 0;
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

void program_put_all(void)
{
	program_put(program_trap_at, 3, AS_TRAP);
	program_put(program_jump_at, 7, 0);
	program_put(program_call_at, 2, AS_TRAP | AS_HOOK | UNPROBED);
}

void program_list(int listed)
{
	__atomic_store_n(&all.plan.index,
			 listed ? offsetof(typeof(all), index)
				: offsetof(typeof(all), no_index),
			 __ATOMIC_RELEASE);
}

uint64_t program_resume_of(uint64_t trap)
{
	for (unsigned i = 0; i < all.index.traps.n; i++)
		if (all.traps[i].pc == trap)
			return all.traps[i].resume;
	return 0;
}

int program_is_in_image(uint64_t pc)
{
	return pc - text_start < text_end - text_start;
}

/* -- What handlers see -- */

volatile struct seen seen;

/* Another signal may come while this is executed, and must not find in a
 * register what it looks for: so no bound is ever loaded as it is. */
PROGRAM static int is_ours(uint64_t pc)
{
	return pc + text_down < text_size ||
	       pc + code_down < PROGRAM_PROBES * ROOM;
}

PROGRAM void program_see(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	const uint64_t *frame = context;

	seen.n++;
	seen.sig = sig;
	seen.rip = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
	seen.flags = (uint64_t)u->uc_mcontext.gregs[REG_EFL];
	seen.addr = (uint64_t)info->si_addr;
	seen.code = info->si_code;
	memcpy((void *)&seen.mask, &u->uc_sigmask, 8);
	for (int i = 0; i <= REG_RIP; i++)
		seen.ours +=
		    (unsigned)is_ours((uint64_t)u->uc_mcontext.gregs[i]);
	/* Unless its end opens a signal that has come already: mask.c, M4. */
	seen.ours += frame[-1] != (uint64_t)program_restorer &&
		     frame[-1] != (uint64_t)native_return;
}

PROGRAM void program_skip_ud2(int sig, siginfo_t *info, void *context)
{
	program_see(sig, info, context);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

PROGRAM void program_skip_load(int sig, siginfo_t *info, void *context)
{
	program_see(sig, info, context);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 3;
}

int program_end_of(void (*f)(void))
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

void expect_sum(uint64_t n, uint64_t got)
{
	ck_assert_uint_eq(n * (n - 1) / 2, got);
}

void expect_each(const uint32_t *done, const uint8_t *fired, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		ck_assert_msg(done[i] == 1 && fired[i] == 1,
			      "%lu was executed %u times and fired %u times",
			      (unsigned long)i, done[i], fired[i]);
}

struct run *run_new(uint64_t n, struct stand_in *s)
{
	struct run *r = calloc(1, sizeof *r);

	r->n = n;
	r->done = calloc(n, sizeof *r->done);
	r->fired = calloc(n, 1);
	s->by_rax = r->fired;
	return r;
}

void run_free(struct run *r)
{
	free(r->done);
	free(r->fired);
	free(r);
}
