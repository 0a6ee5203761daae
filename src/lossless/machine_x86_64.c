/* lossless/machine_x86_64.c - x86-64: one program counter, long and short
 * instructions.
 *
 * There is no next program counter that would lead from the slot back to the
 * program, so the slot holds the original, relocated (x86/relocate.h), and a
 * jump to the instruction behind it. What depends on its own address is
 * rewritten rather than emulated, for which the slot has to be near: two
 * gigabytes from all that a displacement has to reach. REACH leaves a margin
 * of more than one for the displacements of the program itself; an original
 * that cannot be moved as far as its slot may be is refused beforehand.
 *
 * The trap is int3: one byte, so that it fits over any instruction. Bytes of
 * text are written through /proc/self/mem, so that text never is writable, and
 * membarrier makes all processors forget what they had fetched. */
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>

#include "lossless/machine.h"
#include "x86/relocate.h"

enum {
	TRAP_BYTE = 0xcc,
	TRAPNO_BREAKPOINT = 3,
	JUMP_LEN = 5,
	SLOT_LEN = 80,
	REACH = 1 << 29,
};
_Static_assert(X86_MOVED_LEN + JUMP_LEN <= SLOT_LEN, "a slot is too small");

const struct machine machine = {.signal = SIGTRAP,
				.trap_len = 1,
				.max_len = X86_MAX_LEN,
				.slot_len = SLOT_LEN,
				.reach = REACH};

/* -- Instructions ---------------------------------------------------------- */

static struct x86_insn parsed(const struct machine_insn *insn)
{
	struct x86_insn x;

	if (x86_decode(insn->bytes, insn->len, &x) != X86_OK)
		__builtin_trap(); /* machine_decode() has seen it */
	return x;
}

const char *machine_decode(const uint8_t *bytes, size_t readable, uint64_t at,
			   struct machine_insn *out)
{
	struct x86_insn x;

	if (x86_decode(bytes, (unsigned)readable, &x) != X86_OK)
		return "no instruction that hark knows";
	out->at = at;
	out->len = x.len;
	for (unsigned i = 0; i < x.len; i++)
		out->bytes[i] = bytes[i];
	return NULL;
}

/* The original as it looks at this address, and the way back. */
static enum x86_move place(const struct machine_insn *insn, uint64_t pc,
			   void *out, struct x86_moved *moved)
{
	struct x86_insn x = parsed(insn);
	struct x86_buf b = {.start = out,
			    .at = out,
			    .end = (uint8_t *)out + SLOT_LEN,
			    .pc = pc};
	enum x86_move rc =
	    x86_relocate(insn->bytes, &x, insn->at, NULL, &b, moved);

	if (rc != X86_MOVE_OK)
		return rc;
	if (moved->falls)
		emit_jmp(&b, moved->next);
	return b.bad ? X86_MOVE_FAR : X86_MOVE_OK;
}

/* A slot is within REACH of a place that is within half of it. */
const char *machine_refuses(const struct machine_insn *insn)
{
	const uint64_t far = REACH + REACH / 2;
	struct x86_moved moved;
	uint8_t bytes[SLOT_LEN];
	enum x86_move rc = place(insn, insn->at - far, bytes, &moved);

	if (rc == X86_MOVE_OK)
		rc = place(insn, insn->at + far, bytes, &moved);
	return rc == X86_MOVE_OK ? NULL : x86_move_text(rc);
}

/* -- Leaving a function ---------------------------------------------------- */

enum machine_leaves machine_leaves(const struct machine_insn *insn,
				   const struct machine_insn *next,
				   uint64_t start, uint64_t end)
{
	struct x86_insn x = parsed(insn);
	uint64_t target;

	(void)next;
	switch (x.row->flow) {
	case X86_RET:
		return MACHINE_LEAVES;
	case X86_JMP_IND:
		return MACHINE_MAY_LEAVE;
	case X86_JMP:
	case X86_JCC:
	case X86_LOOP:
		target = x86_target(insn->bytes, &x, insn->at);
		return target - start < end - start ? MACHINE_STAYS
						    : MACHINE_MAY_LEAVE;
	default:
		return MACHINE_STAYS;
	}
}

static greg_t *gregs(const void *context)
{
	return (greg_t *)((const ucontext_t *)context)->uc_mcontext.gregs;
}

/* By hardware number. */
static uint64_t get(const void *context, unsigned reg)
{
	static const uint8_t order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX,
					  REG_RSP, REG_RBP, REG_RSI, REG_RDI,
					  REG_R8,  REG_R9,  REG_R10, REG_R11,
					  REG_R12, REG_R13, REG_R14, REG_R15};

	return (uint64_t)gregs(context)[order[reg]];
}

/* Of jcc, by the low four bits of its opcode. */
static int is_true(unsigned cond, uint64_t flags)
{
	int c = (flags & X86_CF) != 0, z = (flags & X86_ZF) != 0;
	int s = (flags & X86_SF) != 0, o = (flags & X86_OF) != 0;
	const int base[8] = {
	    o, c, z, c | z, s, (flags & X86_PF) != 0, s ^ o, z | (s ^ o)};

	return base[cond >> 1] ^ (int)(cond & 1);
}

/* Of loopne, loope, loop, jrcxz. */
static int is_loop_taken(const struct x86_insn *x, const void *context)
{
	uint64_t n = get(context, X86_RCX);
	int z = (gregs(context)[REG_EFL] & X86_ZF) != 0;

	if (x->prefixes & X86_P_67)
		n = (uint32_t)n;
	switch (x->opcode) {
	case 0xe0:
		return n != 1 && !z;
	case 0xe1:
		return n != 1 && z;
	case 0xe2:
		return n != 1;
	default:
		return n == 0;
	}
}

static uint64_t segment_base(unsigned seg)
{
	enum { GET_FS = 0x1003, GET_GS = 0x1004 };
	uint64_t base = 0;

	if (seg != 0)
		machine_call(SYS_arch_prctl, seg == X86_FS ? GET_FS : GET_GS,
			     (long)&base, 0, 0, 0, 0);
	return base;
}

/* What a jump through a register or memory is going to find there. Memory is
 * read by the kernel: if it cannot be, the jump is the one that faults. */
static uint64_t indirect(const struct machine_insn *insn,
			 const struct x86_insn *x, const void *context)
{
	struct x86_mem m;
	uint64_t address, value = 0;

	if (!x->is_mem)
		return get(context, x->rm);
	m = x86_mem_of(x, insn->at);
	address = (uint64_t)m.disp;
	if (m.base != X86_RIP && m.base != X86_NOREG)
		address += get(context, m.base);
	if (m.index != X86_NOREG)
		address += get(context, m.index) << m.scale;
	if (m.addr32)
		address = (uint32_t)address;
	address += segment_base(m.seg);
	machine_call(
	    SYS_process_vm_readv, machine_call(SYS_getpid, 0, 0, 0, 0, 0, 0),
	    (long)&(struct iovec){&value, sizeof value}, 1,
	    (long)&(struct iovec){(void *)address, sizeof value}, 1, 0);
	return value;
}

uint64_t machine_target(const struct machine_trap *trap,
			const struct machine_insn *insn)
{
	struct x86_insn x = parsed(insn);
	const void *c = trap->context;
	int taken = 1;

	switch (x.row->flow) {
	case X86_JMP_IND:
		return indirect(insn, &x, c);
	case X86_JCC:
		taken = is_true(x.opcode & 15, (uint64_t)gregs(c)[REG_EFL]);
		break;
	case X86_LOOP:
		taken = is_loop_taken(&x, c);
		break;
	default:
		break;
	}
	return taken ? x86_target(insn->bytes, &x, insn->at) : insn->at;
}

/* -- Text ------------------------------------------------------------------ */

/* Opened each time: a file kept open across fork would be the parent's. */
int machine_write(const struct machine_insn *insn, int is_trap)
{
	const uint8_t byte = is_trap ? TRAP_BYTE : insn->bytes[0];
	long fd = machine_call(SYS_open, (long)"/proc/self/mem",
			       O_RDWR | O_CLOEXEC, 0, 0, 0, 0);
	long n;

	if (fd < 0)
		return (int)-fd;
	n = machine_call(SYS_pwrite64, fd, (long)&byte, 1, (long)insn->at, 0,
			 0);
	machine_call(SYS_close, fd, 0, 0, 0, 0, 0);
	if (n == 1)
		return 0;
	return n < 0 ? (int)-n : EIO;
}

/* Where it is not to be had nothing is lost: one byte is written whole, and
 * who still sees a trap finds its original. */
void machine_written(void)
{
	enum {
		REGISTER = MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE,
		SYNC = MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE
	};

	if (machine_call(SYS_membarrier, SYNC, 0, 0, 0, 0, 0) == -EPERM &&
	    machine_call(SYS_membarrier, REGISTER, 0, 0, 0, 0, 0) == 0)
		machine_call(SYS_membarrier, SYNC, 0, 0, 0, 0, 0);
}

/* -- The handler ----------------------------------------------------------- */

void machine_entry(int number, siginfo_t *info, void *context)
{
	struct machine_trap trap = {.info = info, .context = context};

	(void)number;
	lossless_hit(&trap);
}

uint64_t machine_trap_at(const struct machine_trap *trap)
{
	return (uint64_t)gregs(trap->context)[REG_RIP] - 1;
}

/* A SIGTRAP that somebody has sent to this very thread swallows that of an
 * int3 which is met while it is pending; the thread is then behind the int3,
 * where no instruction starts, unless the original has one byte. It goes back,
 * and meets the int3 when the signal has been dealt with. (Behind an original
 * of one byte it has executed that, as far as one can know.) */
int machine_is_trap(struct machine_trap *trap, const struct machine_insn *insn)
{
	greg_t *g = gregs(trap->context);

	if (g[REG_TRAPNO] != TRAPNO_BREAKPOINT)
		return 0;
	if (trap->info->si_code > 0)
		return 1;
	if (insn->len > 1)
		g[REG_RIP]--;
	return 0;
}

int machine_emulate(struct machine_trap *trap, const struct machine_insn *insn)
{
	(void)trap;
	(void)insn;
	return 0;
}

/* The processor sees what it has written itself: the return from the handler
 * serializes. */
void machine_load(const struct machine_insn *insn, void *slot)
{
	struct x86_moved moved;

	if (place(insn, (uint64_t)slot, slot, &moved) != X86_MOVE_OK)
		__builtin_trap(); /* machine_refuses() has tried further */
}

void machine_resume(struct machine_trap *trap, const void *slot)
{
	gregs(trap->context)[REG_RIP] = (greg_t)slot;
}

uint64_t machine_mask(const struct machine_trap *trap)
{
	return ((const ucontext_t *)trap->context)->uc_sigmask.__val[0];
}

void machine_place(const void *context, struct lossless_place *out)
{
	out->pc = (uint64_t)gregs(context)[REG_RIP];
	out->npc = 0;
	out->sp = get(context, X86_RSP);
}

void machine_native(const void *context, const struct machine_insn *insn,
		    const void *slot, struct lossless_place *out)
{
	uint64_t gpr[16], offset = out->pc - (uint64_t)slot;
	struct x86_moved moved;
	uint8_t bytes[SLOT_LEN];

	for (unsigned i = 0; i < 16; i++)
		gpr[i] = get(context, i);
	if (place(insn, (uint64_t)slot, bytes, &moved) != X86_MOVE_OK ||
	    x86_moved_native(&moved, (unsigned)offset, 0, gpr, &out->pc) < 0)
		return;
	out->sp = gpr[X86_RSP];
}

/* -- System calls ---------------------------------------------------------- */

long machine_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10),
			   "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

void machine_no_handler(void)
{
	const struct {
		uint64_t handler, flags, restorer, mask;
	} none = {0};

	machine_call(SYS_rt_sigaction, SIGTRAP, (long)&none, 0, 8, 0, 0);
}
