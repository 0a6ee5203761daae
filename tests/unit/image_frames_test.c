/* tests/unit/image_frames_test.c - our call-frame rules are libdw's.
 *
 * Both are applied to registers and memory made of hashes: where the results
 * agree in every register that a caller may rely on, the rules agree. */
#include "image/frames.h"
#include "image/image.h"

#include <check.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBC  "/lib/x86_64-linux-gnu/libc.so.6"
#define LDSO  "/lib64/ld-linux-x86-64.so.2"
#define LIBCC "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"

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
	case DW_OP_plus:
		push(o, pop(o) + pop(o));
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

Suite *image_frames_suite(void)
{
	Suite *s = suite_create("image_frames");
	TCase *t = tcase_create("libdw");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, frames_of_libc_are_libdws);
	tcase_add_test(t, frames_of_the_loader_are_libdws);
	tcase_add_test(t, frames_of_libstdcxx_are_libdws);
	suite_add_tcase(s, t);
	return s;
}
