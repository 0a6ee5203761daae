/* tests/unit/image_frames_test.c - our call-frame rules are libdw's.
 *
 * Both are applied to registers and memory made of hashes: where the results
 * agree in every register that a caller may rely on, the rules agree. */
#include "image/frames.h"
#include "image/modules.h"

#include <alloca.h>
#include <check.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define LIBC	"/lib/x86_64-linux-gnu/libc.so.6"
#define LDSO	"/lib64/ld-linux-x86-64.so.2"
#define LIBCC	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6"
#define LIBMVEC "/lib/x86_64-linux-gnu/libmvec.so.1"

/* check writes a file at each of its assertions; here are millions. */
#define WANT(claim, ...)                           \
	do {                                       \
		if (!(claim))                      \
			ck_abort_msg(__VA_ARGS__); \
	} while (0)

/* -- A world of hashes -- */

static uint64_t hash(uint64_t x)
{
	x = (x ^ x >> 31) * 0x7fb5d329728ea185;
	x = (x ^ x >> 27) * 0x81dadef4bc2dd44d;
	return x ^ x >> 33;
}

static int read_hash(void *ctx, uint64_t addr, uint64_t *out)
{
	(void)ctx;
	*out = hash(addr);
	return 0;
}

static const struct frame_memory hashes = {read_hash, NULL};

static struct frame_cpu some_cpu(uint64_t pc)
{
	struct frame_cpu cpu = {.known = (1u << FRAME_REGS) - 1, .exact = true};

	for (unsigned i = 0; i < FRAME_RIP; i++)
		cpu.reg[i] = hash(pc + i) & ~7ul;
	cpu.reg[FRAME_RIP] = pc;
	return cpu;
}

/* -- libdw's answer -- */

struct oracle {
	uint64_t stack[64], cfa;
	int n;
	const struct frame_cpu *cpu;
};

static uint64_t pop(struct oracle *o)
{
	WANT(o->n > 0, "stack");
	return o->stack[--o->n];
}

static void push(struct oracle *o, uint64_t v)
{
	WANT(o->n < 64, "stack");
	o->stack[o->n++] = v;
}

/* The few operators that these files use; more of them fail the test. */
static void run_op(struct oracle *o, const Dwarf_Op *op)
{
	uint64_t a;

	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg16) {
		push(o, o->cpu->reg[op->atom - DW_OP_breg0] + op->number);
		return;
	}
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		push(o, op->atom - DW_OP_lit0);
		return;
	}
	switch (op->atom) {
	case DW_OP_bregx:
		push(o, o->cpu->reg[op->number] + op->number2);
		break;
	case DW_OP_call_frame_cfa:
		push(o, o->cfa);
		break;
	case DW_OP_plus_uconst:
		push(o, pop(o) + op->number);
		break;
	case DW_OP_deref:
		push(o, hash(pop(o)));
		break;
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
		push(o, op->number);
		break;
	case DW_OP_plus:
		push(o, pop(o) + pop(o));
		break;
	case DW_OP_minus:
		a = pop(o);
		push(o, pop(o) - a);
		break;
	case DW_OP_mul:
		push(o, pop(o) * pop(o));
		break;
	case DW_OP_drop:
		pop(o);
		break;
	case DW_OP_and:
		push(o, pop(o) & pop(o));
		break;
	case DW_OP_ge:
		a = pop(o);
		push(o, (int64_t)pop(o) >= (int64_t)a);
		break;
	case DW_OP_shl:
		a = pop(o);
		push(o, pop(o) << a);
		break;
	default:
		ck_abort_msg("operator 0x%x", op->atom);
	}
}

static uint64_t run(struct oracle *o, const Dwarf_Op *ops, size_t n)
{
	o->n = 0;
	for (size_t i = 0; i < n; i++)
		run_op(o, &ops[i]);
	return pop(o);
}

/* One register of the caller; false if it is undefined. Without its backends,
 * which the static library lacks, libdw also calls undefined what the rules
 * do not mention; the ABI says that a callee-saved register is then the same,
 * and the stack pointer is the CFA. */
static bool oracle_reg(struct oracle *o, Dwarf_Frame *frame, int reg,
		       uint64_t *out)
{
	Dwarf_Op mem[3], *ops;
	size_t n;

	WANT(dwarf_frame_register(frame, reg, mem, &ops, &n) == 0, "libdw");
	if (n == 0) {
		*out = reg == FRAME_RSP ? o->cfa : o->cpu->reg[reg];
		return reg != FRAME_RIP || ops == NULL;
	}
	if (ops[n - 1].atom == DW_OP_stack_value) {
		*out = run(o, ops, n - 1);
		return true;
	}
	if (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg16) {
		*out = o->cpu->reg[ops[0].atom - DW_OP_reg0];
		return true;
	}
	if (ops[0].atom == DW_OP_regx) {
		*out = o->cpu->reg[ops[0].number];
		return true;
	}
	*out = hash(run(o, ops, n));
	return true;
}

/* -- The comparison -- */

static const int relied_on[] = {FRAME_RBX, FRAME_RBP, FRAME_RSP, 12,
				13,	   14,	      15};

static void compare_frame(const struct frame_table *t, Dwarf_Frame *frame,
			  uint64_t pc)
{
	struct frame_cpu before = some_cpu(pc), after = before;
	struct oracle o = {.cpu = &before};
	enum frame_result got;
	uint64_t ra = 0;
	Dwarf_Op *ops;
	bool signal, has_ra;
	size_t n;

	WANT(dwarf_frame_info(frame, NULL, NULL, &signal) == 16, "libdw");
	WANT(dwarf_frame_cfa(frame, &ops, &n) == 0, "libdw");
	o.cfa = run(&o, ops, n);
	has_ra = oracle_reg(&o, frame, FRAME_RIP, &ra);
	got = frame_step(t, 0, &hashes, &after);
	if (!has_ra) {
		WANT(got == FRAME_OUTERMOST, "0x%lx: %d", pc, got);
		return;
	}
	WANT(got == FRAME_STEPPED, "0x%lx: %d", pc, got);
	WANT(after.reg[FRAME_RIP] == ra, "0x%lx: return", pc);
	WANT(after.exact == signal, "0x%lx: signal", pc);
	for (size_t i = 0; i < sizeof relied_on / sizeof relied_on[0]; i++) {
		int r = relied_on[i];
		uint64_t want = 0;
		bool known = oracle_reg(&o, frame, r, &want);

		WANT((after.known >> r & 1) == known,
		     "0x%lx: register %d known", pc, r);
		WANT(!known || after.reg[r] == want, "0x%lx: register %d", pc,
		     r);
	}
}

static void compare_at(const struct frame_table *t, Dwarf_CFI *cfi, uint64_t pc)
{
	Dwarf_Frame *frame = NULL;

	if (dwarf_cfi_addrframe(cfi, pc, &frame) != 0) {
		WANT(frame_find(t, pc)->kind == FRAME_NONE,
		     "0x%lx: libdw has no rule", pc);
		return;
	}
	compare_frame(t, frame, pc);
	free(frame);
}

static uint64_t row_addr(const struct frame_table *t, uint32_t row)
{
	uint32_t page = 0;

	while (frame_pages(t)[page + 1] <= row)
		page++;
	return t->base + (uint64_t)page * FRAME_PAGE + frame_rows(t)[row].low;
}

/* Every step-th row: at its begin, and a byte before and after. */
static unsigned compare_file(const char *path, uint32_t step)
{
	const struct frame_table *t;
	struct image_file *f;
	struct image *im;
	struct hark_err err = {0};
	unsigned n = 0;
	int fd = open(path, O_RDONLY);
	Dwarf_CFI *cfi;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	cfi = dwarf_getcfi_elf(elf);
	ck_assert_ptr_nonnull(cfi);
	ck_assert_int_eq(image_new(&im, &err), 0);
	ck_assert_msg(image_open(im, path, &f, &err) == 0, "%s", err.text);
	ck_assert_msg(frames_of(f, &t, &err) == 0, "%s", err.text);
	ck_assert_int_eq(frame_table_check(t, t->len, true, &err), 0);
	ck_assert_uint_eq(frames_stats(f).broken, 0);
	ck_assert_uint_eq(frames_stats(f).dropped, 0);
	for (uint32_t i = 0; i < t->n_rows; i += step, n++) {
		uint64_t pc = row_addr(t, i);

		compare_at(t, cfi, pc);
		compare_at(t, cfi, pc + 1);
		if (pc > 0)
			compare_at(t, cfi, pc - 1);
	}
	image_free(im);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(fd);
	return n;
}

START_TEST(frames_of_libc_are_libdws)
{
	ck_assert_uint_gt(compare_file(LIBC, 1), 20000);
}
END_TEST

START_TEST(frames_of_the_loader_are_libdws)
{
	ck_assert_uint_gt(compare_file(LDSO, 1), 2000);
}
END_TEST

START_TEST(frames_of_libstdcxx_are_libdws)
{
	ck_assert_uint_gt(compare_file(LIBCC, 1), 20000);
}
END_TEST

START_TEST(frames_with_expressions_are_libdws)
{
	ck_assert_uint_gt(compare_file(LIBMVEC, 1), 3000);
}
END_TEST

START_TEST(frames_of_a_compiler_are_libdws)
{
	FILE *said = popen("gcc -print-prog-name=cc1", "r");
	char path[4096] = "";

	ck_assert_ptr_nonnull(said);
	ck_assert_ptr_nonnull(fgets(path, sizeof path, said));
	pclose(said);
	path[strcspn(path, "\n")] = '\0';
	ck_assert_uint_gt(compare_file(path, 16), 20000);
}
END_TEST

/* -- Real stacks -- */

enum { DEPTH_MAX = 64 };

static struct image *stack_image;
static struct modules *stack_modules;
static int memory_fd;
static void *theirs[DEPTH_MAX];
static uint64_t ours[DEPTH_MAX];
static int n_theirs, n_ours;
static bool passed_signal;

static int read_own(void *ctx, uint64_t addr, uint64_t *out)
{
	(void)ctx;
	return pread(memory_fd, out, sizeof *out, (off_t)addr) == sizeof *out
		   ? 0
		   : -1;
}

/* ORDER greg: the C library's numbers, in the order of DWARF's. */
static const int greg[FRAME_REGS] = {
    REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
    REG_RBP, REG_RSP, REG_R8,  REG_R9,	REG_R10, REG_R11,
    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

static void unwind(const ucontext_t *from)
{
	static const struct frame_memory memory = {read_own, NULL};
	struct frame_cpu cpu = {.known = (1u << FRAME_REGS) - 1, .exact = true};
	enum frame_result got = FRAME_STEPPED;

	for (int i = 0; i < FRAME_REGS; i++)
		cpu.reg[i] = (uint64_t)from->uc_mcontext.gregs[greg[i]];
	for (n_ours = 0; n_ours < DEPTH_MAX && got == FRAME_STEPPED;) {
		const struct module *m = modules_find(
		    stack_modules, cpu.reg[FRAME_RIP] - !cpu.exact);
		const struct frame_table *t;

		ours[n_ours++] = cpu.reg[FRAME_RIP];
		if (m == NULL || m->file == NULL ||
		    frames_of(m->file, &t, NULL) < 0)
			break;
		got = frame_step(t, m->bias, &memory, &cpu);
		passed_signal =
		    passed_signal || (got == FRAME_STEPPED && cpu.exact);
	}
	WANT(got == FRAME_OUTERMOST, "ended with %d after %d", got, n_ours);
}

static __attribute__((noinline)) void capture(void)
{
	ucontext_t here;

	n_theirs = backtrace(theirs, DEPTH_MAX);
	getcontext(&here);
	unwind(&here);
}

static void on_signal(int number)
{
	(void)number;
	capture();
	__asm__ volatile(""); /* no tail call */
}

static __attribute__((noinline)) int recurse(int depth, volatile char *room)
{
	volatile char *more = alloca((size_t)depth * 16 + 1);

	more[0] = room[0];
	if (depth == 0)
		raise(SIGUSR1);
	else
		more[0] = (char)recurse(depth - 1, more);
	return more[0];
}

/* qsort comes between: code of another module that calls back. */
static int compare_by_recursion(const void *a, const void *b)
{
	volatile char room = *(const char *)a;

	if (n_ours == 0)
		recurse(9, &room);
	return *(const char *)a - *(const char *)b;
}

START_TEST(a_stack_through_a_signal_is_unwound_as_the_c_library_does)
{
	char letters[] = "hark";

	n_ours = 0;
	memory_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(image_new(&stack_image, NULL), 0);
	ck_assert_int_eq(
	    modules_of_pid(stack_image, getpid(), &stack_modules, NULL), 0);
	signal(SIGUSR1, on_signal);
	backtrace(theirs, 1); /* loads what it needs */
	ck_assert_int_eq(modules_refresh(stack_modules, &passed_signal, NULL),
			 0);
	passed_signal = false;
	qsort(letters, 4, 1, compare_by_recursion);
	ck_assert(passed_signal);
	ck_assert_int_gt(n_theirs, 18);
	/* The first is in capture, at another instruction; a sanitizer may
	 * have put one before it. */
	ck_assert_int_ge(n_theirs, n_ours);
	ck_assert_int_le(n_theirs, n_ours + 1);
	for (int i = 1; i < n_ours; i++)
		ck_assert_uint_eq(ours[n_ours - i],
				  (uintptr_t)theirs[n_theirs - i]);
	modules_free(stack_modules);
	image_free(stack_image);
	close(memory_fd);
}
END_TEST

/* -- Tables that are not what they say -- */

static uint8_t *copy_table(size_t *len)
{
	const struct frame_table *t;
	struct image_file *f;
	struct image *im;
	uint8_t *copy;

	ck_assert_int_eq(image_new(&im, NULL), 0);
	ck_assert_int_eq(image_open(im, LDSO, &f, NULL), 0);
	ck_assert_int_eq(frames_of(f, &t, NULL), 0);
	*len = t->len;
	copy = aligned_alloc(8, (t->len + 7) / 8 * 8);
	memcpy(copy, t, t->len);
	image_free(im);
	return copy;
}

static void use_table(const struct frame_table *t)
{
	for (uint32_t i = 0; i < t->n_rules; i++) {
		struct frame_cpu cpu = some_cpu(i);

		frame_apply(t, &frame_rules(t)[i], &hashes, &cpu);
	}
	for (uint64_t i = 0; i < 1000; i++)
		frame_find(t, t->base + hash(i) % (300 * FRAME_PAGE));
}

START_TEST(a_damaged_table_is_refused)
{
	size_t len;
	uint8_t *bytes = copy_table(&len);
	const struct frame_table *t = (const void *)bytes;
	unsigned accepted = 0;

	ck_assert_int_eq(frame_table_check(t, len, true, NULL), 0);
	ck_assert_int_eq(frame_table_check(t, len - 1, true, NULL), -1);
	ck_assert_int_eq(frame_table_check(bytes, 0, true, NULL), -1);
	for (uint64_t i = 0; i < 20000; i++) {
		size_t at = i < 88 * 8 ? i / 8 : hash(i) % len;
		uint8_t bit = (uint8_t)(1u << i % 8);

		bytes[at] ^= bit;
		WANT(frame_table_check(t, len, true, NULL) < 0,
		     "bit %lu of byte %zu", i % 8, at);
		if (frame_table_check(t, len, false, NULL) == 0) {
			use_table(t);
			accepted++;
		}
		bytes[at] ^= bit;
	}
	ck_assert_uint_gt(accepted, 100);
	free(bytes);
}
END_TEST

/* -- Expressions -- */

struct one_rule {
	struct frame_table t;
	struct frame_rule rule[2];
	struct frame_general general;
	uint32_t pages[2];
	struct frame_row rows[1];
	uint8_t expr[68]; /* up to the end of the struct */
} __attribute__((packed, aligned(8)));

/* What the CFA is by that expression; FRAME_STEPPED if it is any. */
static enum frame_result evaluate(const uint8_t *code, size_t len,
				  uint64_t *cfa)
{
	struct one_rule r = {
	    .t = {.magic = FRAME_MAGIC,
		  .version = FRAME_VERSION,
		  .len = sizeof r,
		  .n_pages = 1,
		  .n_rows = 1,
		  .n_rules = 2,
		  .n_general = 1,
		  .expr_len = sizeof r.expr},
	    .rule = {[1] = {.kind = FRAME_GENERAL}},
	    .general = {.cfa = {.how = FRAME_VAL_EXPR,
				.expr_len = (uint16_t)len},
			.reg = {[FRAME_RIP] = {.how = FRAME_OFFSET,
					       .value = -8}}},
	    .pages = {0, 1},
	    .rows = {{0, 1}}};
	struct frame_cpu cpu = {.known = 1u << FRAME_RSP | 1u << FRAME_RBX,
				.exact = true};
	enum frame_result got;

	cpu.reg[FRAME_RSP] = 0x7000;
	cpu.reg[FRAME_RBX] = 5;
	ck_assert_uint_le(len, sizeof r.expr);
	memcpy(r.expr, code, len);
	ck_assert_int_eq(frame_table_check(&r, sizeof r, false, NULL), 0);
	got = frame_step(&r.t, 0, &hashes, &cpu);
	*cfa = cpu.reg[FRAME_RSP];
	return got;
}

#define EXPR(code) (const uint8_t *)(code), sizeof(code) - 1

START_TEST(expressions_compute_what_dwarf_says)
{
	static const struct {
		uint64_t want;
		const uint8_t *code;
		size_t len;
	} rows[] = {
	    {0x7010, EXPR("\x77\x10")},		  /* breg7 16 */
	    {0x6ff8, EXPR("\x77\x78")},		  /* breg7 -8 */
	    {31, EXPR("\x4f")},			  /* lit31 */
	    {0xfe, EXPR("\x08\xfe")},		  /* const1u */
	    {(uint64_t)-2, EXPR("\x09\xfe")},	  /* const1s */
	    {(uint64_t)-2, EXPR("\x0b\xfe\xff")}, /* const2s */
	    {0x12345678, EXPR("\x0c\x78\x56\x34\x12")},
	    {300, EXPR("\x10\xac\x02")},	      /* constu */
	    {(uint64_t)-300, EXPR("\x11\xd4\x7d")},   /* consts */
	    {12, EXPR("\x37\x12\x22\x32\x1c")},	      /* 7 dup + 2 - */
	    {3, EXPR("\x33\x35\x13")},		      /* drop */
	    {3, EXPR("\x33\x35\x14")},		      /* over */
	    {2, EXPR("\x32\x33\x35\x15\x02")},	      /* pick */
	    {3, EXPR("\x33\x35\x16")},		      /* swap */
	    {5, EXPR("\x32\x33\x35\x17\x13\x13")},    /* rot */
	    {2, EXPR("\x11\x7e\x19")},		      /* abs -2 */
	    {(uint64_t)-4, EXPR("\x11\x78\x32\x1b")}, /* -8 / 2 */
	    {1, EXPR("\x37\x33\x1d")},		      /* 7 mod 3 */
	    {21, EXPR("\x37\x33\x1e")},		      /* 7 * 3 */
	    {(uint64_t)-7, EXPR("\x37\x1f")},	      /* neg */
	    {~7ul, EXPR("\x37\x20")},		      /* not */
	    {7, EXPR("\x33\x34\x21")},		      /* 3 | 4 */
	    {131, EXPR("\x33\x23\x80\x01")},	      /* plus_uconst */
	    {24, EXPR("\x33\x33\x24")},		      /* 3 << 3 */
	    {(uint64_t)-1 >> 3, EXPR("\x09\xff\x33\x25")},
	    {(uint64_t)-1, EXPR("\x09\xff\x33\x26")}, /* shra */
	    {6, EXPR("\x33\x35\x27")},		      /* xor */
	    {1, EXPR("\x33\x35\x2d")},		      /* lt */
	    {0, EXPR("\x33\x35\x2a")},		      /* ge */
	    {9, EXPR("\x39\x2f\x01\x00\x31")},	      /* skip 1 */
	    {9, EXPR("\x39\x31\x28\x01\x00\x32")},    /* bra taken */
	    {2, EXPR("\x39\x30\x28\x01\x00\x32")},    /* not taken */
	    {8, EXPR("\x92\x03\x03")},		      /* bregx rbx 3 */
	    {5, EXPR("\x96\x73\x00\x96")},	      /* nops */
	    /* 10 counted down to 0 in a loop */
	    {0, EXPR("\x3a\x31\x1c\x12\x28\xfa\xff")},
	};
	uint64_t cfa;

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		ck_assert_int_eq(evaluate(rows[i].code, rows[i].len, &cfa),
				 FRAME_STEPPED);
		ck_assert_msg(cfa == rows[i].want, "row %zu: 0x%lx", i, cfa);
	}
	ck_assert_int_eq(evaluate(EXPR("\x77\x08\x06"), &cfa), FRAME_STEPPED);
	ck_assert_uint_eq(cfa, hash(0x7008));
	ck_assert_int_eq(evaluate(EXPR("\x77\x08\x94\x02"), &cfa),
			 FRAME_STEPPED);
	ck_assert_uint_eq(cfa, hash(0x7008) & 0xffff);
}
END_TEST

START_TEST(bad_expressions_are_unknown)
{
	static const struct {
		const uint8_t *code;
		size_t len;
	} rows[] = {
	    {EXPR("\x96")},		/* leaves nothing */
	    {EXPR("\x22")},		/* nothing to add */
	    {EXPR("\x31\x30\x1b")},	/* 1 / 0 */
	    {EXPR("\x31\x30\x1d")},	/* 1 mod 0 */
	    {EXPR("\x2f\xfd\xff")},	/* for ever */
	    {EXPR("\x31\x2f\xfc\xff")}, /* until the stack is full */
	    {EXPR("\x2f\x00\x80")},	/* out of the code */
	    {EXPR("\x31\x2f\x70\x00")},
	    {EXPR("\x08")}, /* cut off */
	    {EXPR("\x0c\x01\x02")},
	    {EXPR("\x10\x80")},
	    {EXPR("\x70\x00")},		/* rax is not known */
	    {EXPR("\x8f\x00")},		/* register 31 */
	    {EXPR("\x92\xff\x7f\x00")}, /* register 16383 */
	    {EXPR("\x31\x15\x09")},	/* pick too deep */
	    {EXPR("\x03\x01\x02\x03\x04\x05\x06\x07\x08")}, /* addr: not here */
	    {EXPR("\xff")},
	};
	uint64_t cfa;

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		ck_assert_msg(evaluate(rows[i].code, rows[i].len, &cfa) ==
				  FRAME_UNKNOWN,
			      "row %zu", i);
		ck_assert_uint_eq(cfa, 0x7000); /* nothing has changed */
	}
	ck_assert_int_eq(evaluate(EXPR("\x31\x94\x09"), &cfa),
			 FRAME_UNREADABLE);
}
END_TEST

Suite *image_frames_suite(void)
{
	Suite *s = suite_create("image_frames");
	TCase *t = tcase_create("libdw");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, frames_of_libc_are_libdws);
	tcase_add_test(t, frames_of_the_loader_are_libdws);
	tcase_add_test(t, frames_of_libstdcxx_are_libdws);
	tcase_add_test(t, frames_with_expressions_are_libdws);
	tcase_add_test(t, frames_of_a_compiler_are_libdws);
	tcase_add_test(
	    t, a_stack_through_a_signal_is_unwound_as_the_c_library_does);
	tcase_add_test(t, a_damaged_table_is_refused);
	tcase_add_test(t, expressions_compute_what_dwarf_says);
	tcase_add_test(t, bad_expressions_are_unknown);
	suite_add_tcase(s, t);
	return s;
}
