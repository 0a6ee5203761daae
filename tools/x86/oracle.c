/* tools/x86/oracle.c - translates Zydis' answer into a row, and corrects it.
 *
 * Every correction is a line of a table with its reason. docs/x86.md lists
 * them together with the evidence. */
#include "oracle.h"

#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof(list)[0])
#define M(name)	    ZYDIS_MNEMONIC_##name

static ZydisDecoder intel, amd;

void oracle_init(void)
{
	ZydisDecoderInit(&intel, ZYDIS_MACHINE_MODE_LONG_64,
			 ZYDIS_STACK_WIDTH_64);
	/* MPX is gone; where it is off its opcodes are no-ops, bnd4 to bnd7
	 * included (seen on Zen 4). */
	ZydisDecoderEnableMode(&intel, ZYDIS_DECODER_MODE_MPX, ZYAN_FALSE);
	amd = intel;
	ZydisDecoderEnableMode(&amd, ZYDIS_DECODER_MODE_AMD_BRANCHES,
			       ZYAN_TRUE);
}

/* -- Classes ------------------------------------------------------------- */

struct class
{
	ZydisMnemonic mnemonic;
	unsigned value;
};

static const struct class flows[] = {
    {M(SYSCALL), X86_SYSCALL}, {M(SYSENTER), X86_SYSENTER},
    {M(INT3), X86_INT3},       {M(INT), X86_INT},
    {M(INT1), X86_INT},	       {M(IRET), X86_IRET},
    {M(IRETD), X86_IRET},      {M(IRETQ), X86_IRET},
    {M(UD0), X86_UD},	       {M(UD1), X86_UD},
    {M(UD2), X86_UD},	       {M(HLT), X86_HLT},
    {M(XBEGIN), X86_XBEGIN},   {M(XEND), X86_XEND},
    {M(XABORT), X86_XEND},     {M(UIRET), X86_ODD},
    {M(RSM), X86_ODD},	       {M(SYSRET), X86_ODD},
    {M(SYSEXIT), X86_ODD},     {M(ENCLU), X86_ODD},
    {M(GETSEC), X86_ODD},      {M(VMMCALL), X86_ODD},
    {M(LOOP), X86_LOOP},       {M(LOOPE), X86_LOOP},
    {M(LOOPNE), X86_LOOP},     {M(JRCXZ), X86_LOOP},
    {M(JECXZ), X86_LOOP},      {M(JCXZ), X86_LOOP},
};

static const struct class specials[] = {
    {M(CPUID), X86_CPUID},	 {M(RDTSC), X86_RDTSC},
    {M(RDTSCP), X86_RDTSCP},	 {M(RDRAND), X86_RDRAND},
    {M(RDSEED), X86_RDSEED},	 {M(RDPID), X86_RDPID},
    {M(XGETBV), X86_XGETBV},	 {M(XCHG), X86_XCHG},
    {M(MFENCE), X86_FENCE},	 {M(LFENCE), X86_FENCE},
    {M(SFENCE), X86_FENCE},	 {M(SERIALIZE), X86_FENCE},
    {M(PAUSE), X86_PAUSE},	 {M(NOP), X86_NOP},
    {M(ENDBR32), X86_ENDBR},	 {M(ENDBR64), X86_ENDBR},
    {M(PUSHF), X86_PUSHF},	 {M(PUSHFQ), X86_PUSHF},
    {M(POPF), X86_POPF},	 {M(POPFQ), X86_POPF},
    {M(ENTER), X86_ENTER},	 {M(RDFSBASE), X86_RDFSBASE},
    {M(RDGSBASE), X86_RDGSBASE}, {M(WRFSBASE), X86_WRFSBASE},
    {M(WRGSBASE), X86_WRGSBASE}, {M(XLAT), X86_XLAT},
    {M(CLZERO), X86_CLZERO},	 {M(FNSTENV), X86_X87ENV},
    {M(FNSAVE), X86_X87ENV},
};

/* Results that a replay on another run or machine would not reproduce. */
static const ZydisMnemonic nondet[] = {
    M(RDTSC),  M(RDTSCP), M(CPUID),  M(RDRAND), M(RDSEED), M(RDPID),  M(RDPRU),
    M(RDPMC),  M(XGETBV), M(SGDT),   M(SIDT),	M(SLDT),   M(STR),    M(SMSW),
    M(LSL),    M(LAR),	  M(VERR),   M(VERW),	M(XTEST),  M(UMWAIT), M(TPAUSE),
    M(RDPKRU), M(RDSSPD), M(RDSSPQ), M(ENQCMD), M(TESTUI),
};

static const ZydisMnemonic segbase[] = {
    M(RDFSBASE),
    M(RDGSBASE),
    M(WRFSBASE),
    M(WRGSBASE),
};

static const ZydisMnemonic bitstring[] = {M(BT), M(BTS), M(BTR), M(BTC)};

/* -- Corrections --------------------------------------------------------- */

/* Zydis says "reads memory" of what only names an address: no data comes of
 * it, though some of these fault on a bad one. prefetchwt1 was seen not to
 * fault one byte before the end of memory. */
static const ZydisMnemonic no_access[] = {
    M(NOP), M(CLDEMOTE), M(CLFLUSH), M(CLFLUSHOPT),  M(CLWB),
    M(UD0), M(UD1),	 M(INVLPG),  M(PREFETCHWT1),
};

/* Zydis calls these plain accesses; masked-off elements are neither touched
 * nor able to fault. */
static const ZydisMnemonic masked[] = {
    M(VMASKMOVPS), M(VMASKMOVPD), M(VPMASKMOVD),  M(VPMASKMOVQ),
    M(MASKMOVQ),   M(MASKMOVDQU), M(VMASKMOVDQU),
};

/* ModRM.reg is the address of a second memory operand, 64 bytes written. */
static const ZydisMnemonic reg_addr[] = {
    M(MOVDIR64B),
    M(ENQCMD),
    M(ENQCMDS),
};

/* Memory that Zydis does not list: clzero clears the line that rax is in. */
static const struct {
	ZydisMnemonic mnemonic;
	uint8_t base, access, size;
} extra_memory[] = {
    {M(CLZERO), X86_RAX, X86_M_WRITE, 64},
};

/* An immediate count of 0 leaves the flags alone; Zydis reports them as
 * always written. */
static const ZydisMnemonic shifts[] = {
    M(SHL), M(SHR), M(SAR), M(ROL), M(ROR), M(RCL), M(RCR), M(SHLD), M(SHRD),
};

/* Flags that are "undefined" may hold their old value: on Zen 4 mul and imul
 * keep SF ZF AF PF, div keeps CF OF, bt keeps OF SF AF PF, tzcnt and lzcnt
 * keep OF. So they are not killed. Only of these, which every program uses
 * all the time, undefined means "lost": all CPUs set AF to something. */
static const ZydisMnemonic undefined_is_lost[] = {
    M(AND), M(OR), M(XOR), M(TEST), M(SHL), M(SHR), M(SAR),
};

/* Flags that Zydis does not list as written. vptest and vtest were seen to
 * clear OF SF AF PF; testui does by Intel's manual. What rstorssp and kin do
 * could not be tried: theirs count as written and as perhaps kept. */
enum { ALL_BUT_ZC = X86_OF | X86_SF | X86_AF | X86_PF };
static const struct {
	ZydisMnemonic mnemonic;
	uint16_t write, undef;
} extra_flags[] = {
    {M(VPTEST), ALL_BUT_ZC, 0},
    {M(VTESTPS), ALL_BUT_ZC, 0},
    {M(VTESTPD), ALL_BUT_ZC, 0},
    {M(TESTUI), ALL_BUT_ZC | X86_ZF, 0},
    {M(MCOMMIT), ALL_BUT_ZC | X86_ZF, ALL_BUT_ZC | X86_ZF},
    {M(RSTORSSP), X86_FLAGS_STATUS, X86_FLAGS_STATUS},
    {M(SAVEPREVSSP), X86_FLAGS_STATUS, X86_FLAGS_STATUS},
    {M(CLRSSBSY), X86_FLAGS_STATUS, X86_FLAGS_STATUS},
    /* bsf and bsr on a CPU without them: CF is undefined */
    {M(TZCNT), 0, X86_CF},
    {M(LZCNT), 0, X86_CF},
};

/* Zydis reports the destination as always written, but it may stay:
 * bsf, bsr    where the source is 0 (even its upper half)
 * tzcnt, ...  on old CPUs that take them for bsf and bsr
 * rdssp       where shadow stacks are off; programs rely on that
 * sldt, ...   where the kernel emulates them (UMIP): it writes 16 bits */
static const ZydisMnemonic keeps_destination[] = {
    M(BSF),    M(BSR),	M(TZCNT), M(LZCNT), M(RDSSPD),
    M(RDSSPQ), M(SLDT), M(STR),	  M(SMSW),
};

/* Always #GP in user mode, or unless the kernel granted I/O; Zydis marks the
 * other system instructions, but not these. */
static const ZydisMnemonic privileged[] = {
    M(LGDT),  M(CLGI),	M(STGI),  M(SKINIT), M(VMLOAD), M(VMSAVE),
    M(VMRUN), M(IN),	M(OUT),	  M(INSB),   M(INSW),	M(INSD),
    M(OUTSB), M(OUTSW), M(OUTSD), M(CLI),    M(STI),
};

enum { AL = 1 << X86_RAX, RSI = 1 << X86_RSI, RDI = 1 << X86_RDI };

/* General registers that Zydis does not list: the index of xlat, and what
 * string compares advance. */
static const struct {
	ZydisMnemonic mnemonic;
	uint16_t read, write;
} extra_gprs[] = {
    {M(XLAT), AL, 0},
    {M(CMPSB), RSI | RDI, RSI | RDI},
    {M(CMPSW), RSI | RDI, RSI | RDI},
    {M(CMPSD), RSI | RDI, RSI | RDI},
    {M(CMPSQ), RSI | RDI, RSI | RDI},
    {M(SCASB), RDI, RDI},
    {M(SCASW), RDI, RDI},
    {M(SCASD), RDI, RDI},
    {M(SCASQ), RDI, RDI},
};

/* -- Asking -------------------------------------------------------------- */

static int has(const ZydisMnemonic *list, size_t n, ZydisMnemonic m)
{
	for (size_t k = 0; k < n; k++)
		if (list[k] == m)
			return 1;
	return 0;
}
#define HAS(list, m) has(list, COUNT(list), m)

static unsigned class_of(const struct class *list, size_t n, ZydisMnemonic m,
			 unsigned otherwise)
{
	for (size_t k = 0; k < n; k++)
		if (list[k].mnemonic == m)
			return list[k].value;
	return otherwise;
}

static unsigned branch_flow(const ZydisDecodedInstruction *in,
			    const ZydisDecodedOperand *op)
{
	int direct = op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	if (in->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return X86_FAR;
	switch (in->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return X86_JCC;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return direct ? X86_JMP : X86_JMP_IND;
	case ZYDIS_CATEGORY_CALL:
		return direct ? X86_CALL : X86_CALL_IND;
	case ZYDIS_CATEGORY_RET:
		return X86_RET;
	case ZYDIS_CATEGORY_VTX:
		return X86_ODD;
	default:
		return X86_NEXT;
	}
}

static unsigned access_of(const ZydisDecodedOperand *op)
{
	return (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ ? X86_M_READ : 0) |
	       (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? X86_M_WRITE
							      : 0);
}

static int is_conditional(const ZydisDecodedOperand *op)
{
	return (op->actions & (ZYDIS_OPERAND_ACTION_CONDREAD |
			       ZYDIS_OPERAND_ACTION_CONDWRITE)) != 0;
}

int oracle_gpr(const struct opinion *o, const ZydisDecodedOperand *op,
	       unsigned *role)
{
	ZydisRegister whole;
	ZydisRegisterClass class;
	unsigned access = access_of(op);

	if (op->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return -1;
	whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
						 op->reg.value);
	if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15)
		return -1;
	class = ZydisRegisterGetClass(op->reg.value);
	*role = X86_R_GPR;
	if (access & X86_M_READ)
		*role |= X86_R_READ;
	if (access & X86_M_WRITE)
		*role |= X86_R_WRITE;
	if (class == ZYDIS_REGCLASS_GPR8)
		*role |= X86_R_BYTE;
	if ((class == ZYDIS_REGCLASS_GPR32 || class == ZYDIS_REGCLASS_GPR64) &&
	    op->actions & ZYDIS_OPERAND_ACTION_WRITE)
		*role |= X86_R_KILL;
	if (HAS(keeps_destination, o->in.mnemonic))
		*role &= ~(unsigned)X86_R_KILL;
	return (int)(whole - ZYDIS_REGISTER_RAX);
}

void oracle_extra_gprs(const struct opinion *o, struct gpr_effects *io)
{
	for (size_t k = 0; k < COUNT(extra_gprs); k++)
		if (extra_gprs[k].mnemonic == o->in.mnemonic) {
			io->read |= extra_gprs[k].read;
			io->write |= extra_gprs[k].write;
		}
}

int oracle_implicit_base(const struct opinion *o, const ZydisDecodedOperand *op)
{
	if (op->type != ZYDIS_OPERAND_TYPE_MEMORY ||
	    op->encoding != ZYDIS_OPERAND_ENCODING_NONE ||
	    o->row.attr & (X86_A_MOFFS | X86_A_REG_ADDR))
		return -1;
	return (int)(ZydisRegisterGetLargestEnclosing(
			 ZYDIS_MACHINE_MODE_LONG_64, op->mem.base) -
		     ZYDIS_REGISTER_RAX);
}

static void explicit_memory(struct opinion *o, const ZydisDecodedOperand *op)
{
	struct x86_row *r = &o->row;

	r->mem = (uint8_t)access_of(op);
	r->mem_size = op->size / 8;
	if (is_conditional(op))
		r->attr |= X86_A_MEM_MAY;
	if (op->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
		r->attr |= X86_A_VSIB | X86_A_MEM_MAY;
	if (op->mem.type == ZYDIS_MEMOP_TYPE_MIB)
		r->mem |= X86_M_MIB;
	if (op->mem.type == ZYDIS_MEMOP_TYPE_AGEN ||
	    o->in.meta.category == ZYDIS_CATEGORY_PREFETCH ||
	    o->in.meta.category == ZYDIS_CATEGORY_WIDENOP ||
	    HAS(no_access, o->in.mnemonic)) {
		r->mem = (uint8_t)(X86_M_AGEN | (r->mem & X86_M_MIB));
		r->mem_size = 0;
	}
}

static void implicit_memory(struct opinion *o, const ZydisDecodedOperand *op)
{
	struct x86_row *r = &o->row;
	unsigned slot = r->imem[0] ? 1 : 0;

	r->imem[slot] = (uint8_t)(X86_I_PRESENT | access_of(op) << 4 |
				  (oracle_implicit_base(o, op) & 15));
	r->imem_size[slot] = (uint8_t)(op->size / 8);
	if (is_conditional(op))
		r->attr |= X86_A_MEM_MAY;
}

static void register_state(struct opinion *o, const ZydisDecodedOperand *op)
{
	struct x86_row *r = &o->row;

	switch (ZydisRegisterGetClass(op->reg.value)) {
	case ZYDIS_REGCLASS_X87:
	case ZYDIS_REGCLASS_MMX:
		r->attr |= X86_A_X87;
		break;
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM:
	case ZYDIS_REGCLASS_MASK:
	case ZYDIS_REGCLASS_TMM:
		r->attr |= X86_A_VEC;
		break;
	default:
		break;
	}
	if (op->reg.value == ZYDIS_REGISTER_RFLAGS &&
	    op->actions & ZYDIS_OPERAND_ACTION_CONDWRITE)
		r->attr |= X86_A_FLAGS_MAY;
	if (op->reg.value == ZYDIS_REGISTER_MXCSR)
		r->attr |= X86_A_VEC;
	if ((op->reg.value == ZYDIS_REGISTER_FS ||
	     op->reg.value == ZYDIS_REGISTER_GS) &&
	    access_of(op) & X86_M_WRITE) {
		r->attr |= X86_A_SEGBASE;
		r->special = X86_SETSEG;
	}
}

/* All bits above OF become one. */
static uint16_t fold_flags(uint32_t flags)
{
	return (uint16_t)((flags & 0xfff) | (flags >> 12 ? X86_FLAG_OTHER : 0));
}

static void flags(struct opinion *o)
{
	const ZydisAccessedFlags *f = o->in.cpu_flags;

	o->row.flag_read = fold_flags(f->tested);
	o->row.flag_undef = fold_flags(f->undefined);
	o->row.flag_write =
	    fold_flags(f->modified | f->set_0 | f->set_1 | f->undefined);
	if (HAS(undefined_is_lost, o->in.mnemonic))
		o->row.flag_undef = 0;
	for (size_t k = 0; k < COUNT(extra_flags); k++)
		if (extra_flags[k].mnemonic == o->in.mnemonic) {
			o->row.flag_write |= extra_flags[k].write;
			o->row.flag_undef |= extra_flags[k].undef;
		}
}

/* All of these leave parts of their memory operand alone. */
static int saves_state(const ZydisDecodedInstruction *in)
{
	switch (in->mnemonic) {
	case M(FXSAVE):
	case M(FXSAVE64):
	case M(FXRSTOR):
	case M(FXRSTOR64):
		return 1;
	case M(XGETBV):
		return 0;
	default:
		return in->meta.category == ZYDIS_CATEGORY_XSAVE ||
		       in->meta.category == ZYDIS_CATEGORY_XSAVEOPT;
	}
}

/* A conversion between memory and a general register uses MXCSR, though no
 * operand is a vector. */
static int uses_mxcsr(const ZydisDecodedInstruction *in)
{
	return in->meta.category == ZYDIS_CATEGORY_CONVERT &&
	       in->meta.isa_ext != ZYDIS_ISA_EXT_BASE &&
	       in->meta.isa_ext != ZYDIS_ISA_EXT_LONGMODE;
}

static uint32_t class_attributes(const struct opinion *o)
{
	const ZydisDecodedInstruction *in = &o->in;
	ZydisMnemonic m = in->mnemonic;
	int has_imm = in->raw.imm[0].size != 0;
	uint32_t attr = 0;

	if (in->attributes & ZYDIS_ATTRIB_ACCEPTS_LOCK)
		attr |= X86_A_LOCKABLE;
	if (in->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED || HAS(privileged, m))
		attr |= X86_A_PRIV;
	if (in->meta.isa_ext == ZYDIS_ISA_EXT_X87 || m == M(EMMS))
		attr |= X86_A_X87;
	if (m == M(VZEROUPPER) || m == M(VZEROALL) || uses_mxcsr(in))
		attr |= X86_A_VEC;
	if (saves_state(in))
		attr |= X86_A_XSTATE | X86_A_VEC | X86_A_X87 | X86_A_MEM_MAY;
	if (in->meta.category == ZYDIS_CATEGORY_STRINGOP ||
	    in->meta.category == ZYDIS_CATEGORY_IOSTRINGOP)
		attr |= X86_A_STRING;
	if (HAS(nondet, m))
		attr |= X86_A_NONDET;
	if (HAS(masked, m))
		attr |= X86_A_MEM_MAY;
	if (HAS(segbase, m))
		attr |= X86_A_SEGBASE;
	if (in->encoding == ZYDIS_INSTRUCTION_ENCODING_3DNOW)
		attr |= X86_A_3DNOW;
	if (HAS(shifts, m) && has_imm)
		attr |= X86_A_FLAGS_IMM |
			(in->operand_width == 64 ? X86_A_COUNT6 : 0);
	if (HAS(bitstring, m) && !has_imm && o->row.mem)
		attr |= X86_A_BITSTRING;
	return attr;
}

/* Knights Corner: no CPU that hark runs on. PadLock (VIA): more memory operands
 * than a row can say. LWP (AMD, withdrawn): Zydis has its registers wrong.
 * Neither could be tried, and a wrong fact is worse than none. */
static int is_unwanted(const ZydisDecodedInstruction *in)
{
	switch (in->meta.isa_ext) {
	case ZYDIS_ISA_EXT_KNC:
	case ZYDIS_ISA_EXT_KNCE:
	case ZYDIS_ISA_EXT_KNCV:
	case ZYDIS_ISA_EXT_PADLOCK:
		return 1;
	default:
		return in->encoding == ZYDIS_INSTRUCTION_ENCODING_MVEX ||
		       in->meta.isa_set == ZYDIS_ISA_SET_LWP;
	}
}

static void operands(struct opinion *o)
{
	for (unsigned k = 0; k < o->in.operand_count; k++) {
		const ZydisDecodedOperand *op = &o->op[k];

		if (op->type == ZYDIS_OPERAND_TYPE_REGISTER)
			register_state(o, op);
		if (op->type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		if (op->encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM ||
		    o->row.attr & X86_A_MOFFS)
			explicit_memory(o, op);
		else if (!(o->row.attr & X86_A_REG_ADDR))
			implicit_memory(o, op);
	}
	for (size_t k = 0; k < COUNT(extra_memory); k++)
		if (extra_memory[k].mnemonic == o->in.mnemonic) {
			o->row.imem[0] = (uint8_t)(X86_I_PRESENT |
						   extra_memory[k].access << 4 |
						   extra_memory[k].base);
			o->row.imem_size[0] = extra_memory[k].size;
		}
}

int oracle_ask(const uint8_t *code, unsigned avail, struct opinion *out)
{
	struct x86_row *r = &out->row;
	const ZydisDecodedInstruction *in = &out->in;

	memset(r, 0, sizeof *r);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&intel, code, avail, &out->in,
						 out->op)) ||
	    is_unwanted(in))
		return 0;
	r->attr = X86_A_VALID;
	if (in->attributes & ZYDIS_ATTRIB_HAS_MODRM)
		r->attr |= X86_A_MODRM;
	r->imm = (uint8_t)((in->raw.imm[0].size + in->raw.imm[1].size) / 8);
	if (in->encoding == ZYDIS_INSTRUCTION_ENCODING_3DNOW)
		r->imm = 1; /* the opcode byte at the end */
	if (!(r->attr & X86_A_MODRM) && in->raw.disp.size)
		r->attr |= X86_A_MOFFS;
	if (HAS(reg_addr, in->mnemonic))
		r->attr |= X86_A_REG_ADDR;
	r->flow = (uint8_t)class_of(flows, COUNT(flows), in->mnemonic,
				    branch_flow(in, out->op));
	r->special = (uint8_t)class_of(specials, COUNT(specials), in->mnemonic,
				       X86_ORDINARY);
	operands(out);
	flags(out);
	r->attr |= class_attributes(out);
	return 1;
}

unsigned oracle_amd_length(const uint8_t *code, unsigned avail)
{
	ZydisDecodedInstruction in;

	if (!ZYAN_SUCCESS(
		ZydisDecoderDecodeInstruction(&amd, NULL, code, avail, &in)))
		return 0;
	return in.length;
}
