/* lossless/machine_sparc64.c - SPARC V9: a program counter and a next one.
 *
 * While an instruction executes, pc is its address and npc that of the
 * instruction to be executed after it: pc + 4, or, in the delay slot of a
 * transfer, where the transfer goes. So the trap handler finds in npc all that
 * the past has decided, and
 *
 *	most instructions	pc = slot, npc left as the trap found it
 *	those that know pc	emulated; see transfer() for pc and npc
 *
 * is right wherever the probe is: alone, in a delay slot, on a transfer whose
 * delay slot has a probe too, on a transfer in a delay slot. A delay slot that
 * is annulled is not executed, so its trap is not met. The word behind the
 * one in the slot is never executed; it is a trap.
 *
 * Transfers whose target comes from registers and that keep no address (ret,
 * retl, jmp, return) need no emulation: in the slot they do the same to npc.
 *
 * Coherence: the slot is written by the data side and read by the instruction
 * side. Three ways are known to make the two agree: block stores that commit
 * to memory and invalidate all caches (scratch aligned to 64 bytes), flushing
 * the whole instruction cache, and flushing the lines concerned. Here it is
 * the third, by the instruction that V9 has for it, `flush`, which is allowed
 * to programs and reaches all processors.
 *
 * Windows: the kernel gives a handler the globals and outs of the interrupted
 * program in its context. Its locals and ins are still in the register window
 * that the handler is called in; `save; flushw` puts them into the save area
 * at the top of the signal frame, from where `restore` gets them back. A
 * kernel that has flushed all windows itself takes them, when the handler has
 * returned, from the save area of the interrupted frame. Both are written, so
 * it does not matter: a save area is nobody else's. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "lossless/machine.h"

enum { TRAP_WORD = 0, SLOT_LEN = 8 };

const struct machine machine = {.signal = SIGILL,
				.trap_len = 4,
				.max_len = 4,
				.slot_len = SLOT_LEN,
				.reach = 0};

/* What the kernel hands to a handler as its third argument. */
struct context {
	uint8_t info[128];
	uint64_t reg[16]; /* g0 to g7, o0 to o7 */
	uint64_t tstate, tpc, tnpc;
	uint32_t y, magic;
	uint64_t fpu;
	uint8_t stack[24];
	uint64_t mask;
};
enum { STACK_POINTER = 14, LINK = 15, STACK_BIAS = 2047 };

/* -- Fields ---------------------------------------------------------------- */

static uint32_t field(uint32_t word, unsigned high, unsigned low)
{
	return word >> low & ((1U << (high - low + 1)) - 1);
}

static int64_t signed_field(uint32_t word, unsigned high, unsigned low)
{
	uint64_t sign = 1UL << (high - low);

	return (int64_t)((field(word, high, low) ^ sign) - sign);
}

static unsigned op_of(uint32_t word)
{
	return field(word, 31, 30);
}

static unsigned op2_of(uint32_t word)
{
	return field(word, 24, 22);
}

static unsigned op3_of(uint32_t word)
{
	return field(word, 24, 19);
}

static unsigned rd_of(uint32_t word)
{
	return field(word, 29, 25);
}

static unsigned rs1_of(uint32_t word)
{
	return field(word, 18, 14);
}

static uint32_t word_of(const struct machine_insn *insn)
{
	return (uint32_t)insn->bytes[0] << 24 | (uint32_t)insn->bytes[1] << 16 |
	       (uint32_t)insn->bytes[2] << 8 | insn->bytes[3];
}

enum { /* op */
       OP_BRANCH = 0,
       OP_CALL = 1,
       OP_ARITH = 2,
       OP_MEMORY = 3,
};
enum { /* op2 */
       OP2_ILLTRAP = 0,
       OP2_BPCC = 1,
       OP2_BICC = 2,
       OP2_BPR = 3,
       OP2_SETHI = 4,
       OP2_FBPFCC = 5,
       OP2_FBFCC = 6,
};
enum { /* op3 of OP_ARITH */
       OP3_RDASR = 0x28,
       OP3_JMPL = 0x38,
       OP3_RETURN = 0x39,
       OP3_TCC = 0x3a,
       OP3_RESTORE = 0x3d,
};
enum { ASR_PC = 5 };

/* -- What an instruction is ------------------------------------------------ */

enum kind { PLAIN, TRANSFER, CALL, JMPL, RDPC, REFUSED };

static const char *const illegal = "it is no instruction of SPARC V9";
static const char *const privileged =
    "it is an instruction for operating systems";

/* Why an op3 of OP_ARITH is not for programs; the rest is. */
static const char *arith_refused(unsigned op3)
{
	switch (op3) {
	case 0x19:
	case 0x1d:
	case 0x3f:
		return illegal;
	case 0x29: /* rdhpr */
	case 0x2a: /* rdpr */
	case 0x31: /* saved, restored, allclean, ... */
	case 0x32: /* wrpr */
	case 0x33: /* wrhpr */
	case 0x3e: /* done, retry */
		return privileged;
	default:
		return NULL;
	}
}

/* Rows: op3 of OP_MEMORY that exist. */
static int is_memory(unsigned op3)
{
	static const uint64_t known =
	    0x07ffUL | /* lduw ... stx but 0x0c: below */
	    1UL << 0x0b | 1UL << 0x0d | 1UL << 0x0e | 1UL << 0x0f |
	    0x07ffUL << 16 | 1UL << 0x1b | 1UL << 0x1d | 1UL << 0x1e |
	    1UL << 0x1f |		    /* the same with an asi */
	    0xfUL << 0x20 | 0xfUL << 0x24 | /* ldf ... stdf */
	    1UL << 0x2d |		    /* prefetch */
	    1UL << 0x30 | 1UL << 0x32 | 1UL << 0x33 | 1UL << 0x34 |
	    1UL << 0x36 | 1UL << 0x37 | /* ldfa ... stdfa */
	    1UL << 0x3c | 1UL << 0x3d |
	    1UL << 0x3e; /* casa, prefetcha, casxa */

	return (int)(known >> op3 & 1);
}

static enum kind branch_kind(uint32_t word, const char **why)
{
	switch (op2_of(word)) {
	case OP2_BPCC:
		if (field(word, 20, 20) != 0) /* only icc and xcc exist */
			break;
		return TRANSFER;
	case OP2_BPR:
		if (field(word, 28, 28) != 0) {
			*why = "compare and branch is not of SPARC V9";
			return REFUSED;
		}
		if (field(word, 27, 25) % 4 == 0)
			break;
		return TRANSFER;
	case OP2_BICC:
	case OP2_FBPFCC:
	case OP2_FBFCC:
		return TRANSFER;
	case OP2_SETHI:
		return PLAIN;
	default:
		break;
	}
	*why = illegal;
	return REFUSED;
}

static enum kind kind_of(uint32_t word, const char **why)
{
	switch (op_of(word)) {
	case OP_BRANCH:
		return branch_kind(word, why);
	case OP_CALL:
		return CALL;
	case OP_MEMORY:
		*why = is_memory(op3_of(word)) ? NULL : illegal;
		return *why == NULL ? PLAIN : REFUSED;
	default:
		break;
	}
	*why = arith_refused(op3_of(word));
	if (*why != NULL)
		return REFUSED;
	if (op3_of(word) == OP3_JMPL && rd_of(word) != 0)
		return JMPL;
	if (op3_of(word) == OP3_RDASR && rs1_of(word) == ASR_PC)
		return RDPC;
	return PLAIN;
}

const char *machine_decode(const uint8_t *bytes, size_t readable, uint64_t at,
			   struct machine_insn *out)
{
	if (at % 4 != 0 || readable < 4)
		return "no instruction starts here";
	out->at = at;
	out->len = 4;
	for (unsigned i = 0; i < 4; i++)
		out->bytes[i] = bytes[i];
	return NULL;
}

const char *machine_refuses(const struct machine_insn *insn)
{
	const char *why = NULL;

	return kind_of(word_of(insn), &why) == REFUSED ? why : NULL;
}

/* -- Conditions ------------------------------------------------------------ */

/* Of Bicc and BPcc: cond is also the negation of cond ^ 8. */
static int is_true(unsigned cond, unsigned ccr)
{
	unsigned n = ccr >> 3 & 1, z = ccr >> 2 & 1, v = ccr >> 1 & 1;
	unsigned c = ccr & 1;
	const unsigned base[8] = {0, z, z | (n ^ v), n ^ v, c | z, c, n, v};

	return base[cond & 7] != cond >> 3;
}

/* Of FBfcc and FBPfcc, as rows of bits: fcc 0 equal, 1 less, 2 greater, 3
 * unordered. */
static int is_float_true(unsigned cond, unsigned fcc)
{
	static const uint8_t when[8] = {0, 14, 6, 10, 2, 12, 4, 8};
	unsigned row = when[cond & 7];

	if (cond & 8)
		row ^= 15;
	return (int)(row >> fcc & 1);
}

/* Of BPr. */
static int is_register_true(unsigned cond, int64_t value)
{
	const int base[4] = {0, value == 0, value <= 0, value < 0};

	return base[cond & 3] ^ (int)(cond >> 2);
}

/* As the interrupted program has it: nothing on the way here compares floating
 * point numbers, and the kernel does not touch it. */
static uint64_t float_state(void)
{
	uint64_t fsr;

	__asm__ volatile("stx %%fsr, %0" : "=m"(fsr));
	return fsr;
}

static unsigned fcc_of(uint64_t fsr, unsigned number)
{
	return (unsigned)(number == 0 ? fsr >> 10 : fsr >> (30 + 2 * number)) &
	       3;
}

/* -- Registers of the interrupted program ---------------------------------- */

static struct context *context_of(const struct machine_trap *trap)
{
	return trap->context;
}

static uint64_t get(const struct machine_trap *trap, unsigned reg)
{
	if (reg == 0)
		return 0;
	return reg < 16 ? context_of(trap)->reg[reg] : trap->window[reg - 16];
}

static void set(struct machine_trap *trap, unsigned reg, uint64_t value)
{
	struct context *c = context_of(trap);

	if (reg == 0)
		return;
	if (reg < 16) {
		c->reg[reg] = value;
		return;
	}
	trap->window[reg - 16] = value;
	((uint64_t *)(c->reg[STACK_POINTER] + STACK_BIAS))[reg - 16] = value;
}

static uint64_t address(const struct machine_trap *trap, uint32_t word)
{
	uint64_t second = field(word, 13, 13)
			      ? (uint64_t)signed_field(word, 12, 0)
			      : get(trap, field(word, 4, 0));

	return get(trap, rs1_of(word)) + second;
}

/* -- Transfers ------------------------------------------------------------- */

struct branch {
	int is_taken, is_always, is_annulled;
	uint64_t target;
};

static uint64_t branch_target(uint32_t word, uint64_t pc)
{
	unsigned op2 = op2_of(word);
	int64_t offset;

	if (op2 == OP2_BPR)
		offset =
		    (int16_t)(field(word, 21, 20) << 14 | field(word, 13, 0));
	else if (op2 == OP2_BPCC || op2 == OP2_FBPFCC)
		offset = signed_field(word, 18, 0);
	else
		offset = signed_field(word, 21, 0);
	return pc + (uint64_t)(offset * 4);
}

static int is_taken(const struct machine_trap *trap, uint32_t word)
{
	unsigned cond = field(word, 28, 25), cc = field(word, 21, 20);
	unsigned ccr = (unsigned)(context_of(trap)->tstate >> 32) & 0xff;

	switch (op2_of(word)) {
	case OP2_BICC:
		return is_true(cond, ccr & 15);
	case OP2_BPCC:
		return is_true(cond, cc & 2 ? ccr >> 4 : ccr & 15);
	case OP2_FBFCC:
		return is_float_true(cond, fcc_of(float_state(), 0));
	case OP2_FBPFCC:
		return is_float_true(cond, fcc_of(float_state(), cc));
	default: /* OP2_BPR */
		return is_register_true(cond & 7,
					(int64_t)get(trap, rs1_of(word)));
	}
}

static struct branch branch_of(const struct machine_trap *trap, uint32_t word)
{
	return (struct branch){
	    .is_taken = is_taken(trap, word),
	    .is_always = op2_of(word) != OP2_BPR && field(word, 28, 25) == 8,
	    .is_annulled = (int)field(word, 29, 29),
	    .target = branch_target(word, context_of(trap)->tpc)};
}

/* From the npc that was found, not from pc + 4: a transfer in a delay slot
 * goes on from where the one before it leads. */
static void transfer(struct context *c, const struct branch *b)
{
	uint64_t npc = c->tnpc;

	if (b->is_always && b->is_annulled) {
		c->tpc = b->target;
		c->tnpc = b->target + 4;
	} else if (b->is_taken) {
		c->tpc = npc;
		c->tnpc = b->target;
	} else if (b->is_annulled) {
		c->tpc = npc + 4;
		c->tnpc = npc + 8;
	} else {
		c->tpc = npc;
		c->tnpc = npc + 4;
	}
}

static void go_to(struct context *c, uint64_t target)
{
	c->tpc = c->tnpc;
	c->tnpc = target;
}

static uint64_t call_target(uint32_t word, uint64_t pc)
{
	return pc + (uint64_t)(signed_field(word, 29, 0) * 4);
}

int machine_emulate(struct machine_trap *trap, const struct machine_insn *insn)
{
	struct context *c = context_of(trap);
	uint32_t word = word_of(insn);
	uint64_t pc = c->tpc, target;
	struct branch b;
	const char *why;

	switch (kind_of(word, &why)) {
	case TRANSFER:
		b = branch_of(trap, word);
		transfer(c, &b);
		return 1;
	case CALL:
		set(trap, LINK, pc);
		go_to(c, call_target(word, pc));
		return 1;
	case JMPL: /* the target first: it may depend on rd */
		target = address(trap, word);
		if (target % 4 != 0)
			return 0; /* it faults in the slot as it would here */
		set(trap, rd_of(word), pc);
		go_to(c, target);
		return 1;
	case RDPC:
		set(trap, rd_of(word), pc);
		go_to(c, c->tnpc + 4);
		return 1;
	default:
		return 0;
	}
}

/* -- Leaving a function ---------------------------------------------------- */

/* The delay slot of a tail call gives back the caller's return address. */
static int gives_back(const struct machine_insn *insn)
{
	uint32_t word = word_of(insn);

	return op_of(word) == OP_ARITH &&
	       (op3_of(word) == OP3_RESTORE || rd_of(word) == LINK);
}

static int is_outside(uint64_t at, uint64_t start, uint64_t end)
{
	return at - start >= end - start;
}

/* jmp %o7+8 or %i7+8, or +12 behind a call that returns a structure. */
static int is_ret(uint32_t word)
{
	int64_t offset = signed_field(word, 12, 0);

	return field(word, 13, 13) && (offset == 8 || offset == 12) &&
	       (rs1_of(word) == LINK || rs1_of(word) == 31);
}

enum machine_leaves machine_leaves(const struct machine_insn *insn,
				   const struct machine_insn *next,
				   uint64_t start, uint64_t end)
{
	uint32_t word = word_of(insn);
	const char *why;

	switch (kind_of(word, &why)) {
	case CALL:
		return next != NULL && gives_back(next) &&
			       is_outside(call_target(word, insn->at), start,
					  end)
			   ? MACHINE_LEAVES
			   : MACHINE_STAYS;
	case TRANSFER:
		return is_outside(branch_target(word, insn->at), start, end)
			   ? MACHINE_MAY_LEAVE
			   : MACHINE_STAYS;
	case JMPL:
		return rd_of(word) == LINK && next != NULL && gives_back(next)
			   ? MACHINE_MAY_LEAVE
			   : MACHINE_STAYS;
	case PLAIN:
		break;
	default:
		return MACHINE_STAYS;
	}
	if (op_of(word) != OP_ARITH)
		return MACHINE_STAYS;
	if (op3_of(word) == OP3_RETURN)
		return MACHINE_LEAVES;
	if (op3_of(word) == OP3_JMPL)
		return is_ret(word) ? MACHINE_LEAVES : MACHINE_MAY_LEAVE;
	return MACHINE_STAYS;
}

uint64_t machine_target(const struct machine_trap *trap,
			const struct machine_insn *insn)
{
	uint32_t word = word_of(insn);

	if (op_of(word) != OP_BRANCH)
		return address(trap, word);
	return is_taken(trap, word) ? branch_target(word, insn->at) : insn->at;
}

/* -- Memory ---------------------------------------------------------------- */

static void flush(const void *at)
{
	__asm__ volatile("flush %0" : : "r"(at) : "memory");
}

int machine_write(const struct machine_insn *insn, int is_trap)
{
	volatile uint32_t *at = (volatile uint32_t *)insn->at;
	long page = (long)(insn->at & ~8191UL);
	long rc = machine_call(SYS_mprotect, page, 8192,
			       PROT_READ | PROT_WRITE | PROT_EXEC, 0, 0, 0);

	if (rc < 0)
		return (int)-rc;
	*at = is_trap ? TRAP_WORD : word_of(insn);
	flush((const void *)insn->at);
	return 0;
}

void machine_written(void)
{
}

void machine_load(const struct machine_insn *insn, void *slot)
{
	volatile uint32_t *words = slot;

	words[0] = word_of(insn);
	words[1] = TRAP_WORD;
	flush(slot);
}

/* -- The handler ----------------------------------------------------------- */

/* machine_entry: the window of the interrupted program into memory, then
 * entered(). */
__asm__(".text\n"
	".align 4\n"
	".globl machine_entry\n"
	".type machine_entry, #function\n"
	"machine_entry:\n"
	"	save %sp, -192, %sp\n"
	"	flushw\n"
	"	mov %i1, %o0\n"
	"	mov %i2, %o1\n"
	"	call lossless_entered\n"
	"	 add %fp, 2047, %o2\n"
	"	ret\n"
	"	 restore\n"
	".size machine_entry, .-machine_entry\n");

void lossless_entered(siginfo_t *info, void *context, void *window);
void lossless_entered(siginfo_t *info, void *context, void *window)
{
	struct machine_trap trap = {
	    .info = info, .context = context, .window = window};

	lossless_hit(&trap);
}

uint64_t machine_trap_at(const struct machine_trap *trap)
{
	return context_of(trap)->tpc;
}

/* A signal that was sent while the trap was on its way is delivered before it;
 * the word is met again. */
int machine_is_trap(struct machine_trap *trap, const struct machine_insn *insn)
{
	(void)insn;
	return trap->info->si_code > 0;
}

void machine_resume(struct machine_trap *trap, const void *slot)
{
	context_of(trap)->tpc = (uint64_t)slot;
}

uint64_t machine_mask(const struct machine_trap *trap)
{
	return context_of(trap)->mask;
}

void machine_place(const void *context, struct lossless_place *out)
{
	const struct context *c = context;

	out->pc = c->tpc;
	out->npc = c->tnpc;
	out->sp = c->reg[STACK_POINTER] + STACK_BIAS;
}

void machine_native(const void *context, const struct machine_insn *insn,
		    const void *slot, struct lossless_place *out)
{
	(void)context;
	(void)slot;
	out->pc = insn->at;
}

/* -- System calls ---------------------------------------------------------- */

long machine_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long g1 __asm__("g1") = number;
	register long o0 __asm__("o0") = a;
	register long o1 __asm__("o1") = b;
	register long o2 __asm__("o2") = c;
	register long o3 __asm__("o3") = d;
	register long o4 __asm__("o4") = e;
	register long o5 __asm__("o5") = f;

	__asm__ volatile("ta 0x6d\n\t"
			 "bcs,a,pn %%xcc, 1f\n\t"
			 " neg %%o0\n"
			 "1:"
			 : "+r"(o0), "+r"(o1), "+r"(o2), "+r"(o3), "+r"(o4),
			   "+r"(o5), "+r"(g1)
			 :
			 : "memory", "cc");
	return o0;
}

void machine_no_handler(void)
{
	const struct {
		uint64_t handler, flags, restorer, mask;
	} none = {0};

	machine_call(SYS_rt_sigaction, SIGILL, (long)&none, 0, 0, 8, 0);
}
