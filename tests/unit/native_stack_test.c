/* tests/unit/native_stack_test.c - stacks are those that an unwinder sees.
 *
 * The oracle is the C library's backtrace(), asked at every single instruction
 * of code that calls through linkage tables, back from other modules, with
 * frames of any size, and in a signal handler. What no unwinder knows (code
 * without rules, damaged stacks) is made here byte by byte. */
#include "native/stack.h"

#include "image/frame_rows.h"
#include "image/symbols.h"
#include "outside/faults.h"
#include "probe/stack_tables.h"
#include "trap_flag.h"

#include <alloca.h>
#include <check.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { PLAN_SIZE = 256 << 20, DEEP = 64 };

/* -- Memory, of any process -- */

static pid_t memory_of;

static bool read_memory(const void *from, void *out, uint32_t len)
{
	struct iovec to = {out, len}, at = {(void *)(uintptr_t)from, len};

	return process_vm_readv(memory_of, &to, 1, &at, 1, 0) == (ssize_t)len;
}

static uint32_t walk(const struct collect_plan *p, const struct probe_frame *f,
		     uint64_t *out, uint32_t n)
{
	return stack_walk_by(p, f, read_memory, out, n);
}

/* -- A plan with tables -- */

static struct image *im;
static struct modules *modules;
static struct stack_tables *tables;
static struct collect_plan *plan;
static uint64_t plan_used;
static int n_put, puts_left;

static void *take_room(void *ctx, size_t len, uint64_t *offset,
		       struct hark_err *err)
{
	(void)ctx;
	if (puts_left-- == 0) {
		err_set(err, HARK_ENOMEM, 0, "the plan is full");
		return NULL;
	}
	ck_assert_uint_lt(plan_used + len, PLAN_SIZE);
	*offset = plan_used;
	plan_used += (len + 7) & ~7ul;
	n_put++;
	return (uint8_t *)plan + *offset;
}

static uint64_t put_plain(const void *bytes, size_t len)
{
	uint64_t offset;

	memcpy(take_room(NULL, len, &offset, NULL), bytes, len);
	return offset;
}

/* The plan gets a list of the process's code as it is now. */
static void list_code(void)
{
	struct hark_err err = {0};
	struct collect_index index = {0};
	const struct collect_frames *list;

	ck_assert_msg(stack_tables_list(tables, modules, &list, &index.frames.n,
					&err) == 0,
		      "%s", err.text);
	index.frames.offset = put_plain(list, index.frames.n * sizeof *list);
	plan->index = put_plain(&index, sizeof index);
}

static void open_process(pid_t pid)
{
	struct hark_err err = {0};
	struct stack_store store = {take_room, NULL};

	plan = mmap(NULL, PLAN_SIZE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ck_assert_ptr_ne(plan, MAP_FAILED);
	memory_of = pid;
	plan_used = sizeof *plan;
	n_put = 0;
	puts_left = -1;
	ck_assert_int_eq(image_new(&im, &err), 0);
	ck_assert_msg(modules_of_pid(im, pid, &modules, &err) == 0, "%s",
		      err.text);
	ck_assert_int_eq(stack_tables_new(&store, &tables, &err), 0);
	list_code();
}

static void close_process(void)
{
	stack_tables_free(tables);
	modules_free(modules);
	image_free(im);
	munmap(plan, PLAN_SIZE);
}

static void setup(void)
{
	void *load[1];

	backtrace(load, 1); /* loads what it needs */
	open_process(getpid());
}

/* -- Comparing -- */

/* ORDER greg: the C library's numbers, in the order of the hardware's. */
static const int greg[16] = {
    REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

static struct probe_frame frame_of(const ucontext_t *u)
{
	struct probe_frame f = {.pc = (uint64_t)u->uc_mcontext.gregs[REG_RIP]};

	for (int i = 0; i < 16; i++)
		f.gpr[i] = (uint64_t)u->uc_mcontext.gregs[greg[i]];
	return f;
}

static struct {
	long steps, wrong, deepest, plt, vdso, entries;
	int n_ours, n_theirs;
	uint64_t ours[DEEP];
	void *theirs[DEEP];
} seen;

/* Keeps the first difference. */
static void compare(const uint64_t *ours, int n_ours, void *const *theirs,
		    int n_theirs)
{
	bool same = n_ours == n_theirs;

	for (int i = 0; same && i < n_ours; i++)
		same = ours[i] == (uintptr_t)theirs[i];
	seen.steps++;
	seen.deepest = n_ours > seen.deepest ? n_ours : seen.deepest;
	if (same || seen.wrong++ > 0)
		return;
	seen.n_ours = n_ours;
	seen.n_theirs = n_theirs;
	memcpy(seen.ours, ours, (size_t)n_ours * sizeof *ours);
	memcpy(seen.theirs, theirs, (size_t)n_theirs * sizeof *theirs);
}

static void show(const char *who, uint64_t pc)
{
	Dl_info d = {0};

	dladdr((void *)(uintptr_t)pc, &d);
	fprintf(stderr, "# %s %#lx %s %s\n", who, (unsigned long)pc,
		d.dli_fname ? d.dli_fname : "?",
		d.dli_sname ? d.dli_sname : "?");
}

static void check_seen(long at_least)
{
	if (seen.wrong > 0) {
		for (int i = 0; i < seen.n_ours; i++)
			show("ours  ", seen.ours[i]);
		for (int i = 0; i < seen.n_theirs; i++)
			show("theirs", (uintptr_t)seen.theirs[i]);
	}
	ck_assert_msg(seen.wrong == 0, "%ld of %ld stacks are wrong",
		      seen.wrong, seen.steps);
	ck_assert_int_ge(seen.steps, at_least);
}

/* -- At every instruction -- */

static uint64_t vdso_start, vdso_end, entry_of_leaf;

static void count_kinds(uint64_t pc)
{
	static const uint8_t jump_indirect[] = {0xff, 0x25};
	const uint8_t *code = (const uint8_t *)pc;

	seen.vdso += pc - vdso_start < vdso_end - vdso_start;
	seen.entries += pc == entry_of_leaf;
	seen.plt +=
	    memcmp(code, jump_indirect, sizeof jump_indirect) == 0 ||
	    (code[0] == 0xf2 && memcmp(code + 1, jump_indirect, 2) == 0);
}

static void on_trap(int number, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	struct probe_frame f = frame_of(u);
	uint64_t ours[DEEP - 8];
	void *theirs[DEEP];
	int n, skip = 0;

	(void)number;
	(void)info;
	n = backtrace(theirs, DEEP);
	while (skip < n && (uintptr_t)theirs[skip] != f.pc)
		skip++;
	compare(ours, (int)walk(plan, &f, ours, DEEP - 8), theirs + skip,
		n - skip);
	count_kinds(f.pc);
}

static void on_usr1(int number)
{
	volatile int handled = number;

	handled += ffsl(handled);
}

static __attribute__((noinline)) int leaf(volatile char *room)
{
	room[0]++;
	return room[0];
}

static __attribute__((noinline)) int recurse(int depth, volatile char *room)
{
	volatile char *more = alloca((size_t)depth * 16 + 1);

	more[0] = room[0];
	if (depth == 0)
		return leaf(more);
	more[0] = (char)recurse(depth - 1, more);
	return more[0] + more[depth * 16];
}

/* r13 and r12 are wanted by nobody but this function. */
static __attribute__((noinline)) long busy(long a, long b, long c, long d)
{
	long e = a * b, f = c * d, g = a + c;

	for (int i = 0; i < 3; i++) {
		e += strtol("1234", NULL, 8 + i);
		f ^= e * g + a;
		g -= b;
	}
	return e + f + g + d;
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) void jump_away(jmp_buf *to)
{
	longjmp(*to, 1);
}

static __attribute__((noinline)) long many_kinds(void)
{
	volatile char room = 1;
	int numbers[5] = {5, 3, 9, 1, 4};
	struct timespec t;
	char text[64];
	long sum = 0;
	jmp_buf here;

	sum += recurse(9, &room);
	sum += busy(1, 2, 3, 4);
	qsort(numbers, 5, sizeof numbers[0], by_value);
	clock_gettime(CLOCK_MONOTONIC, &t);
	sum += snprintf(text, sizeof text, "%d %s %5.2f", numbers[2], "text",
			(double)sum);
	raise(SIGUSR1);
	if (setjmp(here) == 0)
		jump_away(&here);
	/* Nobody else calls these: their names are looked up now. */
	sum += lrand48() + a64l("hark") + t.tv_nsec;
	return sum;
}

static void find_vdso(void)
{
	for (size_t i = 0; i < modules_count(modules); i++) {
		const struct module *m = modules_get(modules, i);

		if (m->kind != MODULE_VDSO)
			continue;
		vdso_start = m->ranges[0].start;
		vdso_end = m->ranges[0].end;
	}
	ck_assert_uint_ne(vdso_start, 0);
}

START_TEST(stacks_are_right_at_every_instruction)
{
	struct sigaction step = {.sa_sigaction = on_trap,
				 .sa_flags = SA_SIGINFO};

	/* The handler's stack is above the one it interrupts. */
	char room[65536];
	stack_t above = {.ss_sp = room, .ss_size = sizeof room};
	struct sigaction handle = {.sa_handler = on_usr1,
				   .sa_flags = SA_ONSTACK};

	find_vdso();
	entry_of_leaf = (uintptr_t)leaf;
	ck_assert_int_eq(sigaltstack(&above, NULL), 0);
	ck_assert_int_eq(sigaction(SIGUSR1, &handle, NULL), 0);
	ck_assert_int_eq(sigaction(SIGTRAP, &step, NULL), 0);
	set_trap_flag(true);
	many_kinds();
	set_trap_flag(false);
	check_seen(5000);
	ck_assert_int_ge(seen.deepest, 14);
	ck_assert_int_eq(seen.entries, 1);
	ck_assert_int_ge(seen.plt, 8);
	ck_assert_int_ge(seen.vdso, 10);
}
END_TEST

/* -- Depth -- */

static uint64_t deep_out[32768];
static uint32_t deep_want, deep_got;

static __attribute__((noinline)) int sink(int depth)
{
	ucontext_t here;
	struct probe_frame f;

	if (getcontext(&here) == 0) {
		f = frame_of(&here);
		deep_got = walk(plan, &f, deep_out, deep_want);
	}
	return depth;
}

static __attribute__((noinline)) int dig(int depth)
{
	volatile int kept = depth;
	int got = depth == 0 ? sink(depth) : dig(depth - 1);

	return got + kept;
}

START_TEST(a_deep_stack_is_cut_at_the_limit)
{
	uint64_t whole[256];
	uint32_t all;

	deep_want = 32768;
	dig(10000);
	all = deep_got;
	ck_assert_uint_gt(all, 10003);
	ck_assert_uint_lt(all, 10100);
	/* One return address, ten thousand times. */
	for (int i = 3; i < 10001; i++)
		ck_assert_uint_eq(deep_out[i], deep_out[2]);
	memcpy(whole, deep_out, sizeof whole);
	for (deep_want = 0; deep_want < 256; deep_want += 51) {
		deep_out[deep_want] = 0x1234;
		dig(10000);
		ck_assert_uint_eq(deep_got, deep_want);
		ck_assert_uint_eq(deep_out[deep_want], 0x1234);
		for (uint32_t i = 1; i < deep_want; i++)
			ck_assert_uint_eq(deep_out[i], whole[i]);
	}
}
END_TEST

/* -- Code without rules -- */

static uint64_t cut_out[DEEP];
static uint32_t cut_n;

static __attribute__((noinline)) void catch_stack(void)
{
	ucontext_t here;
	struct probe_frame f;

	getcontext(&here);
	f = frame_of(&here);
	cut_n = walk(plan, &f, cut_out, DEEP);
}

static uint8_t *make_code(const uint8_t *bytes, size_t len)
{
	uint8_t *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(at, MAP_FAILED);
	memcpy(at, bytes, len);
	return at;
}

/* Where in what was caught an address of the function is; 0: nowhere. */
static uint32_t caught(const void *function, uint64_t len)
{
	for (uint32_t i = 1; i < cut_n; i++)
		if (cut_out[i] - (uintptr_t)function < len)
			return i;
	return 0;
}

typedef void caller(void (*what)(void));

START_TEST(code_that_keeps_rbp_is_passed)
{
	static const uint8_t linked[] = {
	    0x55,	      /* push %rbp */
	    0x48, 0x89, 0xe5, /* mov %rsp,%rbp */
	    0xff, 0xd7,	      /* call *%rdi */
	    0x5d, 0xc3,	      /* pop %rbp; ret */
	};
	uint8_t *code = make_code(linked, sizeof linked);
	uint32_t at;

	catch_stack();
	at = cut_n;
	((caller *)(uintptr_t)code)(catch_stack);
	ck_assert_uint_eq(caught(code, sizeof linked), 1);
	/* One frame more than without it, and the same end. */
	ck_assert_uint_eq(cut_n, at + 1);
}
END_TEST

START_TEST(code_that_does_not_keep_rbp_ends_the_walk)
{
	static const uint8_t loose[] = {
	    0x55,	      /* push %rbp */
	    0x48, 0x89, 0xfd, /* mov %rdi,%rbp */
	    0xff, 0xd7,	      /* call *%rdi */
	    0x5d, 0xc3,	      /* pop %rbp; ret */
	};
	uint8_t *code = make_code(loose, sizeof loose);

	((caller *)(uintptr_t)code)(catch_stack);
	ck_assert_uint_eq(caught(code, sizeof loose), 1);
	ck_assert_uint_eq(cut_n, 2);
}
END_TEST

static const uint8_t restorer[] = {
    0x48, 0xc7, 0xc0, 15, 0, 0, 0, /* mov $15,%rax */
    0x0f, 0x05, 0xc3,		   /* syscall; ret */
};

/* As a kernel has it: handler, flags, restorer, mask. */
struct kernel_action {
	void (*handler)(int);
	unsigned long flags;
	const void *restorer;
	unsigned long mask;
};

static void on_usr2(int number)
{
	(void)number;
	catch_stack();
	__asm__ volatile(""); /* no tail call */
}

static void pass_restorer(const uint8_t *bytes, size_t len)
{
	const void *code = make_code(bytes, len);
	struct kernel_action a = {on_usr2, 0x04000000, code, 0};

	cut_n = 0;
	ck_assert_int_eq(syscall(SYS_rt_sigaction, SIGUSR2, &a, NULL, 8), 0);
	raise(SIGUSR2);
	ck_assert_uint_eq(caught(code, len), 2);
	/* The interrupted instruction is behind the system call of raise. */
	ck_assert_uint_gt(cut_n, 6);
	ck_assert_int_eq(memcmp((const uint8_t *)cut_out[3] - 2, "\x0f\x05", 2),
			 0);
}

START_TEST(a_restorer_without_rules_is_passed)
{
	static const uint8_t short_form[] = {0xb8, 15,	 0,    0,   0,
					     0x0f, 0x05, 0xc3, 0x90};

	pass_restorer(restorer, sizeof restorer);
	pass_restorer(short_form, sizeof short_form);
}
END_TEST

/* -- A trampoline -- */

/* Of a window of one instruction: push %rbx. */
static struct trampoline make_trampoline(uint64_t at, uint8_t *code)
{
	static const uint8_t push[] = {0x53, 0x90, 0x90, 0x90, 0x90}, off[1];
	struct trampoline_want want = {.bytes = push,
				       .at = at,
				       .window = 1,
				       .n = 1,
				       .off = off,
				       .flags = {TRAMPOLINE_ALL},
				       .probed = 1,
				       .handler = at};
	struct x86_buf buf = {
	    .start = code, .at = code, .end = code + 512, .pc = at + 65536};
	struct trampoline t;

	ck_assert_int_eq(trampoline_build(&want, &buf, &t), X86_MOVE_OK);
	return t;
}

static void add_trampoline(const struct trampoline *t, uint64_t start)
{
	struct collect_index index = *collect_index(plan);
	struct collect_code code = {.start = start, .len = t->len};

	code.trampoline = put_plain(t, sizeof *t);
	index.codes.offset = put_plain(&code, sizeof code);
	index.codes.n = 1;
	plan->index = put_plain(&index, sizeof index);
}

/* A signal that nobody translated: its frame has a pc of ours. */
START_TEST(a_pc_in_a_trampoline_becomes_the_programs)
{
	struct {
		struct probe_frame frame;
		uint8_t red_zone[128];
		uint64_t back, more[4];
	} stack = {.back = (uintptr_t)by_value + 1};
	uint64_t at = (uintptr_t)leaf, out[3] = {0};
	uint8_t code[512];
	struct trampoline t = make_trampoline(at, code);
	ucontext_t caught_there = {0};
	greg_t *r = caught_there.uc_mcontext.gregs;
	struct probe_frame f = {
	    .pc = (uintptr_t)make_code(restorer, sizeof restorer),
	    .gpr[X86_RSP] = (uintptr_t)&caught_there,
	};

	add_trampoline(&t, at + 65536);
	/* While the handler was called rbx was the frame. */
	r[REG_RBX] = (intptr_t)&stack.frame;
	r[REG_RSP] = 8;
	r[REG_RIP] = (greg_t)(at + 65536 + t.fire[0].based);
	ck_assert_uint_eq(walk(plan, &f, out, 3), 3);
	ck_assert_uint_eq(out[1], at);
	ck_assert_uint_eq(out[2], (uintptr_t)by_value + 1);
	/* The frame is gone: the pc stays what it is, nothing else happens. */
	r[REG_RBX] = 8;
	ck_assert_uint_eq(walk(plan, &f, out, 3), 2);
	ck_assert_uint_eq(out[1], at + 65536 + t.fire[0].based);
}
END_TEST

/* -- Damaged stacks -- */

enum { FAKE = 65536 };

static uint64_t random_state = 88172645463325252ull;

static uint64_t rnd(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

/* A word that is wrong in an interesting way. */
static uint64_t random_word(uint64_t stack)
{
	const struct module *m =
	    modules_get(modules, rnd() % modules_count(modules));
	const struct module_range *r = &m->ranges[rnd() % m->n_ranges];

	switch (rnd() % 8) {
	case 0:
		return rnd();
	case 1:
		return rnd() % 3 - 1;
	case 2:
	case 3:
	case 4:
		return r->start + rnd() % (r->end - r->start + 2);
	default:
		return stack + (rnd() % (FAKE + 64) & ~7ull) - 32 +
		       rnd() % 16 / 15;
	}
}

START_TEST(damaged_stacks_end)
{
	/* Pages that are not there around it. */
	uint8_t *map = mmap(NULL, FAKE + 8192, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t *stack = (uint64_t *)(void *)(map + 4096), out[257];
	uint64_t longest = 0, total = 0;

	ck_assert_int_eq(mprotect(stack, FAKE, PROT_READ | PROT_WRITE), 0);
	for (int i = 0; i < FAKE / 8; i++)
		stack[i] = random_word((uintptr_t)stack);
	for (int k = 0; k < 60000; k++) {
		struct probe_frame f = {.pc = random_word((uintptr_t)stack)};
		uint64_t n;

		stack[rnd() % (FAKE / 8)] = random_word((uintptr_t)stack);
		for (int i = 0; i < 16; i++)
			f.gpr[i] = random_word((uintptr_t)stack);
		out[256] = 0x5555;
		n = walk(plan, &f, out, 256);
		ck_assert_uint_ge(n, 1);
		ck_assert_uint_le(n, 256);
		ck_assert_uint_eq(out[256], 0x5555);
		ck_assert_uint_eq(out[0], f.pc);
		longest = n > longest ? n : longest;
		total += n;
	}
	/* It was not all refused at once. */
	ck_assert_uint_gt(longest, 4);
	ck_assert_uint_gt(total, 65000);
}
END_TEST

/* Frames of code without rules, each leading to the next in a ring. */
START_TEST(a_ring_of_frames_ends)
{
	static const uint8_t calls[] = {0xff, 0xd7, 0xc3}; /* call *%rdi; ret */
	uint64_t ring[4], out[256];
	struct probe_frame f = {.pc = (uintptr_t)make_code(calls, 3) + 2};

	ring[0] = (uintptr_t)&ring[2];
	ring[2] = (uintptr_t)&ring[0];
	ring[1] = ring[3] = f.pc;
	ck_assert_int_eq(modules_refresh(modules, &(bool){0}, NULL), 0);
	list_code();
	f.gpr[X86_RSP] = f.gpr[X86_RBP] = (uintptr_t)ring;
	ck_assert_uint_eq(walk(plan, &f, out, 256), 3);
	ring[0] = (uintptr_t)ring;
	ck_assert_uint_eq(walk(plan, &f, out, 256), 2);
}
END_TEST

/* -- A program without shared libraries -- */

static const char static_program[] =
    "#include <signal.h>\n"
    "#include <unistd.h>\n"
    "#include <string.h>\n"
    "#define F __attribute__((noinline))\n"
    "static volatile int v;\n"
    "F void on(int n) { v += n; kill(getpid(), SIGSTOP); v++; }\n"
    "F int one(int n) { raise(SIGUSR1); return n + v; }\n"
    "F int two(int n) { char b[777]; memset(b, n, n); return one(n) + b[n]; }\n"
    "F int three(int n) { v = two(n); return v + two(n); }\n"
    "int main(void) { signal(SIGUSR1, on); return three(3) + v; }\n";

static void compile(const char *dir, const char *flags)
{
	char name[256], command[1024];
	FILE *f;

	snprintf(name, sizeof name, "%s/p.c", dir);
	f = fopen(name, "w");
	ck_assert_ptr_nonnull(f);
	fputs(static_program, f);
	fclose(f);
	snprintf(command, sizeof command,
		 "gcc -O2 -fomit-frame-pointer %s %s -o %s/p 2>&1", flags, name,
		 dir);
	ck_assert_int_eq(system(command), 0);
}

static pid_t start_traced(const char *program)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execl(program, program, (char *)NULL);
		_exit(127);
	}
	for (;;) {
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFSTOPPED(status));
		if (WSTOPSIG(status) == SIGSTOP)
			return pid;
		ptrace(PTRACE_CONT, pid, NULL,
		       WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
	}
}

static struct probe_frame frame_of_traced(pid_t pid)
{
	struct user_regs_struct r;
	struct probe_frame f = {0};

	ck_assert_int_eq(ptrace(PTRACE_GETREGS, pid, NULL, &r), 0);
	f = (struct probe_frame){.gpr = {r.rax, r.rcx, r.rdx, r.rbx, r.rsp,
					 r.rbp, r.rsi, r.rdi, r.r8, r.r9, r.r10,
					 r.r11, r.r12, r.r13, r.r14, r.r15},
				 .pc = r.rip};
	return f;
}

static void name_of(uint64_t pc, char *out, size_t len)
{
	const struct module *m = modules_find(modules, pc - 1);
	struct symbol s;

	snprintf(out, len, "?");
	if (m != NULL && m->file != NULL &&
	    symbols_function(m->file, pc - 1 - m->bias, &s, NULL) == 0)
		snprintf(out, len, "%s", s.name);
}

static void check_program(const char *flags)
{
	static const char *const want[] = {"on",    "one",  "two",
					   "three", "main", "_start"};
	char dir[] = "/tmp/hark-stack-XXXXXX", path[64], name[256];
	struct probe_frame f;
	uint64_t out[DEEP];
	uint32_t n;
	unsigned k = 0;
	pid_t pid;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	compile(dir, flags);
	snprintf(path, sizeof path, "%s/p", dir);
	pid = start_traced(path);
	close_process();
	open_process(pid);
	f = frame_of_traced(pid);
	n = walk(plan, &f, out, DEEP);
	for (uint32_t i = 1; i < n && k < 6; i++) {
		name_of(out[i], name, sizeof name);
		k += strcmp(name, want[k]) == 0;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	snprintf(path, sizeof path, "rm -r %s", dir);
	ck_assert_int_eq(system(path), 0);
	ck_assert_msg(k == 6, "%s: %s is missing", flags, want[k]);
	ck_assert_uint_lt(n, 16);
}

START_TEST(stacks_of_static_programs_are_walked)
{
	check_program("-static");
	check_program("-static-pie -fPIE");
	check_program("-no-pie -fcf-protection -mtune=generic");
}
END_TEST

/* -- Tables -- */

static void check_table(const struct frame_table *t)
{
	ck_assert_int_eq(frame_table_check(t, t->len, true, NULL), 0);
}

START_TEST(tables_are_put_once)
{
	int before = n_put;
	uint64_t used = plan_used;
	const struct collect_index *index;
	const struct collect_frames *f;
	bool changed = false;

	list_code(); /* the list and the index, nothing else */
	ck_assert_int_eq(n_put, before + 2);
	ck_assert_ptr_nonnull(dlopen("libsqlite3.so.0", RTLD_NOW));
	ck_assert_int_eq(modules_refresh(modules, &changed, NULL), 0);
	ck_assert(changed);
	before = n_put;
	list_code();
	ck_assert_int_ge(n_put, before + 4);
	ck_assert_int_le(n_put, before + 6); /* libm may come with it */
	ck_assert_uint_gt(plan_used, used + 100000);
	index = collect_index(plan);
	f = collect_at(plan, index->frames.offset);
	for (uint64_t i = 0; i < index->frames.n; i++) {
		ck_assert_uint_lt(f[i].start, f[i].end);
		ck_assert(i == 0 || f[i - 1].end <= f[i].start);
		ck_assert_uint_eq(f[i].table % 8, 0);
		if (f[i].table != 0)
			check_table(collect_at(plan, f[i].table));
	}
}
END_TEST

/* How many rows begin before an address, counted by the table's own search. */
static uint32_t rows_before(const struct frame_table *t, uint64_t addr)
{
	if (addr <= t->base)
		return 0;
	if ((addr - 1 - t->base) / FRAME_PAGE >= t->n_pages)
		return t->n_rows;
	return frame_rows_until(t, addr - 1);
}

START_TEST(a_block_knows_how_many_rows_are_before_it)
{
	const struct collect_index *index = collect_at(plan, plan->index);
	const struct collect_frames *f = collect_at(plan, index->frames.offset);
	size_t n = 0;

	for (uint64_t i = 0; i < index->frames.n; i++) {
		const struct frame_table *t = collect_at(plan, f[i].table);
		const uint32_t *block = collect_at(plan, f[i].blocks);
		uint64_t addr = f[i].start;

		if (f[i].table == 0)
			continue;
		for (; addr < f[i].end + COLLECT_BLOCK; addr += COLLECT_BLOCK)
			ck_assert_uint_eq(*block++,
					  rows_before(t, addr - f[i].bias));
		n++;
	}
	ck_assert_uint_gt(n, 2);
}
END_TEST

START_TEST(a_full_plan_is_told)
{
	struct stack_store store = {take_room, NULL};
	const struct collect_frames *list;
	struct stack_tables *other;
	struct hark_err err = {0};
	size_t n;

	ck_assert_int_eq(stack_tables_new(&store, &other, &err), 0);
	puts_left = 1;
	ck_assert_int_eq(stack_tables_list(other, modules, &list, &n, &err),
			 -1);
	ck_assert_str_eq(err.text, "the plan is full");
	/* Whoever makes room may go on. */
	puts_left = -1;
	ck_assert_int_eq(stack_tables_list(other, modules, &list, &n, &err), 0);
	stack_tables_free(other);
}
END_TEST

/* Always the same room. ck_assert allocates, which may fail here. */
static void *take_again(void *ctx, size_t len, uint64_t *offset,
			struct hark_err *err)
{
	(void)ctx, (void)err;
	if (plan_used + len >= PLAN_SIZE)
		abort();
	*offset = plan_used;
	return (uint8_t *)plan + plan_used;
}

START_TEST(any_allocation_for_tables_may_fail)
{
	struct stack_store store = {take_again, NULL};
	const struct collect_frames *list;
	struct stack_tables *other;
	int happened = 1, failed = 0, rc;
	size_t n;

	for (int k = 1; happened; k++) {
		struct hark_err err = {0};

		other = NULL;
		faults_set(k);
		rc = stack_tables_new(&store, &other, &err);
		if (rc == 0)
			rc = stack_tables_list(other, modules, &list, &n, &err);
		happened = faults_happened();
		faults_set(0);
		stack_tables_free(other);
		/* Debug information that cannot be opened is none. */
		ck_assert(rc == 0 || happened);
		ck_assert_int_eq(err.code, rc < 0 ? HARK_ENOMEM : HARK_OK);
		failed -= rc;
	}
	ck_assert_int_gt(failed, 5);
}
END_TEST

Suite *native_stack_suite(void)
{
	Suite *s = suite_create("native_stack");
	TCase *c = tcase_create("probe_stack");

	tcase_add_checked_fixture(c, setup, close_process);
	tcase_add_test(c, stacks_are_right_at_every_instruction);
	tcase_add_test(c, a_deep_stack_is_cut_at_the_limit);
	tcase_add_test(c, code_that_keeps_rbp_is_passed);
	tcase_add_test(c, code_that_does_not_keep_rbp_ends_the_walk);
	tcase_add_test(c, a_restorer_without_rules_is_passed);
	tcase_add_test(c, a_pc_in_a_trampoline_becomes_the_programs);
	tcase_add_test(c, damaged_stacks_end);
	tcase_add_test(c, a_ring_of_frames_ends);
	tcase_add_test(c, stacks_of_static_programs_are_walked);
	tcase_add_test(c, tables_are_put_once);
	tcase_add_test(c, a_block_knows_how_many_rows_are_before_it);
	tcase_add_test(c, a_full_plan_is_told);
	tcase_add_test(c, any_allocation_for_tables_may_fail);
	suite_add_tcase(s, c);
	return s;
}
