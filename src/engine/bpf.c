/* engine/bpf.c - check and run a seccomp filter.
 *
 * What is allowed is what the kernel allows a filter: loads of aligned words
 * of its data, 16 words of memory, arithmetic, forward jumps. So every program
 * that passes the check ends. */
#include "engine/bpf.h"

enum { /* classes, in the low three bits */
       BPF_LD,
       BPF_LDX,
       BPF_ST,
       BPF_STX,
       BPF_ALU,
       BPF_JMP,
       BPF_RET,
       BPF_MISC
};
enum { /* modes of a load */
       BPF_IMM = 0x00,
       BPF_ABS = 0x20,
       BPF_MEM = 0x60,
       BPF_LEN = 0x80
};
enum { /* arithmetic */
       BPF_ADD = 0x00,
       BPF_SUB = 0x10,
       BPF_MUL = 0x20,
       BPF_DIV = 0x30,
       BPF_OR = 0x40,
       BPF_AND = 0x50,
       BPF_LSH = 0x60,
       BPF_RSH = 0x70,
       BPF_NEG = 0x80,
       BPF_XOR = 0xa0
};
enum { /* jumps */
       BPF_JA = 0x00,
       BPF_JEQ = 0x10,
       BPF_JGT = 0x20,
       BPF_JGE = 0x30,
       BPF_JSET = 0x40
};
enum { BPF_X = 0x08, BPF_A = 0x10, BPF_TAX = 0x00, BPF_TXA = 0x80 };
enum { MEM_WORDS = 16, CLASS = 7, OPERATION = 0xf0, MODE = 0xe0, WIDTH = 0x18 };

/* -- Checking -- */

static int load_is_good(const struct bpf_insn *i, unsigned class)
{
	if (i->code & WIDTH) /* words alone */
		return 0;
	switch (i->code & MODE) {
	case BPF_IMM:
	case BPF_LEN:
		return 1;
	case BPF_MEM:
		return i->k < MEM_WORDS;
	case BPF_ABS:
		return class == BPF_LD && i->k % 4 == 0 &&
		       i->k < sizeof(struct bpf_data);
	default:
		return 0;
	}
}

static int arithmetic_is_good(const struct bpf_insn *i)
{
	int by_k = !(i->code & BPF_X);

	switch (i->code & OPERATION) {
	case BPF_ADD:
	case BPF_SUB:
	case BPF_MUL:
	case BPF_OR:
	case BPF_AND:
	case BPF_XOR:
		return 1;
	case BPF_DIV:
		return !by_k || i->k != 0;
	case BPF_LSH:
	case BPF_RSH:
		return !by_k || i->k < 32;
	case BPF_NEG:
		return by_k;
	default:
		return 0;
	}
}

static int jump_is_good(const struct bpf_insn *i, uint32_t left)
{
	switch (i->code & OPERATION) {
	case BPF_JA:
		return !(i->code & BPF_X) && i->k < left;
	case BPF_JEQ:
	case BPF_JGT:
	case BPF_JGE:
	case BPF_JSET:
		return i->jt < left && i->jf < left;
	default:
		return 0;
	}
}

/* left: how many instructions follow. */
static int is_good(const struct bpf_insn *i, uint32_t left)
{
	unsigned class = i->code & CLASS;

	if (i->code >> 8)
		return 0;
	switch (class) {
	case BPF_LD:
	case BPF_LDX:
		return load_is_good(i, class);
	case BPF_ST:
	case BPF_STX:
		return i->code == class && i->k < MEM_WORDS;
	case BPF_ALU:
		return arithmetic_is_good(i);
	case BPF_JMP:
		return jump_is_good(i, left);
	case BPF_RET:
		return i->code == BPF_RET || i->code == (BPF_RET | BPF_A);
	default:
		return i->code == (BPF_MISC | BPF_TAX) ||
		       i->code == (BPF_MISC | BPF_TXA);
	}
}

/* The words of memory that are set however an instruction is reached; known
 * for those that follow. -1: a word is read that may not be set. */
static int follow_memory(const struct bpf_insn *i, uint32_t *set,
			 uint32_t *known)
{
	unsigned class = i->code & CLASS;

	if (class == BPF_ST || class == BPF_STX) {
		*set |= 1u << i->k;
	} else if (class <= BPF_LDX && (i->code & MODE) == BPF_MEM) {
		return *set >> i->k & 1 ? 0 : -1;
	} else if (class == BPF_JMP) {
		if ((i->code & OPERATION) == BPF_JA) {
			known[i->k] &= *set;
		} else {
			known[i->jt] &= *set;
			known[i->jf] &= *set;
		}
		*set = ~0u;
	}
	return 0;
}

static int memory_is_good(const struct bpf_insn *code, uint32_t n)
{
	uint32_t known[BPF_MAX], set = 0;

	for (uint32_t i = 0; i < n; i++)
		known[i] = ~0u;
	for (uint32_t i = 0; i < n; i++) {
		set &= known[i];
		if (follow_memory(&code[i], &set, &known[i] + 1) < 0)
			return 0;
	}
	return 1;
}

int bpf_check(const struct bpf_insn *code, uint32_t n)
{
	if (n == 0 || n > BPF_MAX)
		return -1;
	for (uint32_t i = 0; i < n; i++)
		if (!is_good(&code[i], n - i - 1))
			return -1;
	if ((code[n - 1].code & CLASS) != BPF_RET)
		return -1;
	return memory_is_good(code, n) ? 0 : -1;
}

/* -- Running -- */

static uint32_t calculate(unsigned operation, uint32_t a, uint32_t b)
{
	switch (operation) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return b == 0 ? 0 : a / b;
	case BPF_OR:
		return a | b;
	case BPF_AND:
		return a & b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return a << (b & 31);
	case BPF_RSH:
		return a >> (b & 31);
	default:
		return -a;
	}
}

static int compare(unsigned operation, uint32_t a, uint32_t b)
{
	switch (operation) {
	case BPF_JEQ:
		return a == b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	default:
		return (a & b) != 0;
	}
}

static uint32_t load(const struct bpf_insn *i, const struct bpf_data *data,
		     const uint32_t *mem)
{
	switch (i->code & MODE) {
	case BPF_IMM:
		return i->k;
	case BPF_LEN:
		return sizeof *data;
	case BPF_MEM:
		return mem[i->k];
	default:
		return ((const uint32_t *)data)[i->k / 4];
	}
}

uint32_t bpf_run(const struct bpf_insn *code, const struct bpf_data *data)
{
	uint32_t a = 0, x = 0, mem[MEM_WORDS] = {0};

	for (const struct bpf_insn *i = code;; i++) {
		uint32_t other = i->code & BPF_X ? x : i->k;
		unsigned operation = i->code & OPERATION;

		switch (i->code & CLASS) {
		case BPF_LD:
			a = load(i, data, mem);
			break;
		case BPF_LDX:
			x = load(i, data, mem);
			break;
		case BPF_ST:
			mem[i->k] = a;
			break;
		case BPF_STX:
			mem[i->k] = x;
			break;
		case BPF_ALU:
			a = calculate(operation, a, other);
			break;
		case BPF_JMP:
			if (operation == BPF_JA)
				i += i->k;
			else
				i += compare(operation, a, other) ? i->jt
								  : i->jf;
			break;
		case BPF_RET:
			return i->code & BPF_A ? a : i->k;
		default:
			if (operation == BPF_TAX)
				x = a;
			else
				a = x;
		}
	}
}
