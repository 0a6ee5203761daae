/* tests/unit/x86_decode_test.c - lengths, fields and masks of instructions.
 *
 * The comparison with Zydis and the runs on the CPU (tests/end-to-end) cover
 * all encodings; here are the rules by name, and what was wrong once. */
#include "x86/decode.h"

#include <check.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, INSN_LEN = offsetof(struct x86_insn, flag_kill) + 2 };

/* -- Helpers ------------------------------------------------------------- */

static uint8_t bytes[64];

/* Hex digits and blanks into bytes; returns how many. */
static unsigned put(const char *hex)
{
	unsigned n = 0;

	memset(bytes, 0xcc, sizeof bytes);
	while (*hex) {
		char pair[3] = {hex[0], hex[1], 0};

		if (*hex == ' ') {
			hex++;
			continue;
		}
		bytes[n++] = (uint8_t)strtoul(pair, NULL, 16);
		hex += 2;
	}
	return n;
}

/* The text is one whole instruction. */
static struct x86_insn whole(const char *hex)
{
	struct x86_insn i;
	unsigned n = put(hex);

	ck_assert_msg(x86_decode(bytes, sizeof bytes, &i) == X86_OK, "%s", hex);
	ck_assert_msg(i.len == n, "%s: length %u", hex, i.len);
	return i;
}

static enum x86_status status_of(const char *hex)
{
	struct x86_insn i;

	put(hex);
	return x86_decode(bytes, sizeof bytes, &i);
}

static int64_t imm_of(const char *hex)
{
	struct x86_insn i = whole(hex);

	return x86_imm(bytes, &i);
}

static uint64_t target_of(const char *hex, uint64_t pc)
{
	struct x86_insn i = whole(hex);

	return x86_target(bytes, &i, pc);
}

enum {
	RAX = 1 << X86_RAX,
	RCX = 1 << X86_RCX,
	RDX = 1 << X86_RDX,
	RBX = 1 << X86_RBX,
	RSP = 1 << X86_RSP,
	RBP = 1 << X86_RBP,
	RSI = 1 << X86_RSI,
	RDI = 1 << X86_RDI,
	R8 = 1 << X86_R8,
	R13 = 1 << X86_R13,
};

#define READS(hex, mask)  ck_assert_uint_eq(whole(hex).gpr_read, mask)
#define WRITES(hex, mask) ck_assert_uint_eq(whole(hex).gpr_write, mask)
#define KILLS(hex, mask)  ck_assert_uint_eq(whole(hex).gpr_kill, mask)

/* -- Shapes -------------------------------------------------------------- */

START_TEST(decode_lengths)
{
	static const char *const list[] = {
	    "90",
	    "48 89 e5",
	    "48 8b 05 00 00 00 00",
	    "48 b8 01 02 03 04 05 06 07 08",
	    "a0 01 02 03 04 05 06 07 08",
	    "67 a0 01 02 03 04",
	    "c8 10 00 01",
	    "f6 c0 01",
	    "f6 d0",
	    "f7 c0 01 02 03 04",
	    "66 f7 c0 01 02",
	    "66 2e 0f 1f 84 00 00 00 00 00",
	    "f3 0f 1e fa",
	    "c5 f8 77",
	    "c4 e2 7d 18 00",
	    "8f e8 78 c2 c1 01",
	    "62 f1 7c 48 28 40 01",
	    "66 66 66 66 66 66 66 66 66 66 66 66 66 66 90",
	    "0f 0f c1 9e",
	};

	for (size_t k = 0; k < sizeof list / sizeof list[0]; k++)
		whole(list[k]);
}
END_TEST

START_TEST(decode_refuses_reserved_encodings)
{
	ck_assert_int_eq(X86_INVALID, status_of("06"));
	ck_assert_int_eq(X86_INVALID, status_of("d6"));
	ck_assert_int_eq(X86_INVALID, status_of("0f 0a"));
	ck_assert_int_eq(X86_INVALID, status_of("f0 90"));
	ck_assert_int_eq(X86_INVALID, status_of("f0 01 c0"));
	/* vvvv must be 1111; registers of a gather must differ */
	ck_assert_int_eq(X86_INVALID, status_of("c5 f0 28 c0"));
	ck_assert_int_eq(X86_INVALID, status_of("c4 e2 71 90 04 08"));
	/* 66 or REX before VEX */
	ck_assert_int_eq(X86_INVALID, status_of("66 c5 f8 77"));
	ck_assert_int_eq(X86_INVALID, status_of("48 c5 f8 77"));
	/* APX, Knights Corner, PadLock, LWP, and 3DNow! that is none */
	ck_assert_int_eq(X86_INVALID, status_of("f3 0f a7 c8"));
	ck_assert_int_eq(X86_INVALID, status_of("8f e9 78 12 c0"));
	ck_assert_int_eq(X86_INVALID, status_of("d5 00 90"));
	ck_assert_int_eq(X86_INVALID, status_of("62 f1 78 48 28 c0"));
	ck_assert_int_eq(X86_INVALID, status_of("0f 0f c1 00"));
}
END_TEST

START_TEST(decode_refuses_more_than_15_bytes)
{
	ck_assert_int_eq(
	    X86_OK, status_of("66 66 66 66 66 66 66 66 66 66 66 66 66 66 90"));
	ck_assert_int_eq(
	    X86_INVALID,
	    status_of("66 66 66 66 66 66 66 66 66 66 66 66 66 66 66 90"));
	ck_assert_int_eq(X86_INVALID, status_of("66 66 66 66 66 66 66 66 66 66 "
						"66 66 66 66 66 66 66 66 66"));
	ck_assert_int_eq(X86_INVALID,
			 status_of("66 66 66 66 66 48 81 84 88 01 02 03 04 01 "
				   "02 03 04"));
}
END_TEST

START_TEST(decode_rex_counts_only_before_the_opcode)
{
	ck_assert_uint_eq(0, whole("48 66 89 c0").rex);
	ck_assert_uint_eq(0x41, whole("48 41 89 c0").rex);
	ck_assert_uint_eq(0x4c, whole("66 4c 89 c0").rex);
}
END_TEST

START_TEST(decode_last_of_f2_and_f3_wins)
{
	/* f3 popcnt; f2 is none */
	ck_assert_int_eq(X86_OK, status_of("f2 f3 0f b8 c0"));
	ck_assert_int_eq(X86_INVALID, status_of("f3 f2 0f b8 c0"));
}
END_TEST

START_TEST(decode_segment_prefixes)
{
	ck_assert_uint_eq(0x64, whole("64 48 8b 04 25 28 00 00 00").seg);
	ck_assert_uint_eq(0x65, whole("64 65 8b 00").seg);
	/* cs, ds, es and ss are ignored and do not undo fs */
	ck_assert_uint_eq(0x64, whole("64 2e 8b 00").seg);
	ck_assert_uint_eq(0, whole("3e 8b 00").seg);
}
END_TEST

START_TEST(decode_addresses)
{
	struct x86_insn i = whole("48 8b 84 8b 78 56 34 12");

	ck_assert_uint_eq(X86_RBX, i.base);
	ck_assert_uint_eq(X86_RCX, i.index);
	ck_assert_uint_eq(2, i.scale);
	ck_assert_int_eq(0x12345678, i.disp);
	ck_assert_uint_eq(4, i.disp_off);
	i = whole("8b 44 24 f8"); /* index 4 is none */
	ck_assert_uint_eq(X86_RSP, i.base);
	ck_assert_uint_eq(X86_NOREG, i.index);
	ck_assert_int_eq(-8, i.disp);
	i = whole("42 8b 04 20"); /* but r12 is one */
	ck_assert_uint_eq(X86_R12, i.index);
	i = whole("8b 04 25 00 10 00 00");
	ck_assert_uint_eq(X86_NOREG, i.base);
	i = whole("8b 05 fc ff ff ff");
	ck_assert_uint_eq(X86_RIP, i.base);
	ck_assert_int_eq(-4, i.disp);
	i = whole("41 8b 45 00"); /* r13 needs its disp8 */
	ck_assert_uint_eq(X86_R13, i.base);
}
END_TEST

START_TEST(decode_67_sib_without_base)
{
	/* REX.B must not make it r13d */
	struct x86_insn i = whole("67 41 8b 04 25 00 10 00 00");

	ck_assert_uint_eq(X86_NOREG, i.base);
	ck_assert_int_eq(0x1000, i.disp);
	ck_assert_uint_eq(0, i.gpr_read & R13);
}
END_TEST

START_TEST(decode_moffs)
{
	struct x86_insn i = whole("48 a1 f0 ff ff ff ff ff ff ff");

	ck_assert_int_eq(-16, i.disp);
	ck_assert_uint_eq(8, i.row->mem_size);
	i = whole("67 a1 f0 ff ff ff"); /* an address: not sign-extended */
	ck_assert_int_eq(0xfffffff0, i.disp);
}
END_TEST

START_TEST(decode_evex_disp8_is_scaled)
{
	ck_assert_int_eq(64, whole("62 f1 7c 48 28 40 01").disp);
	ck_assert_int_eq(4, whole("62 f1 7c 58 58 40 01").disp); /* {1to16} */
	ck_assert_int_eq(16, whole("62 f1 7c 08 28 40 01").disp);
}
END_TEST

START_TEST(decode_vendors_disagree_on_66_before_branches)
{
	static const char *const list[] = {
	    "66 e8 00 00 00 00", "66 c3",    "66 ff d0", "66 ff 20",
	    "66 eb 00",		 "66 74 00", "66 e2 00"};

	for (size_t k = 0; k < sizeof list / sizeof list[0]; k++)
		ck_assert_msg(whole(list[k]).row->attr & X86_A_VENDOR, "%s",
			      list[k]);
	/* glibc's call of __tls_get_addr is the same for all */
	ck_assert(!(whole("66 66 48 e8 00 00 00 00").row->attr & X86_A_VENDOR));
	ck_assert(!(whole("e8 00 00 00 00").row->attr & X86_A_VENDOR));
}
END_TEST

/* -- Immediates and targets ---------------------------------------------- */

START_TEST(imm_is_sign_extended)
{
	ck_assert_int_eq(0, imm_of("90"));
	ck_assert_int_eq(-1, imm_of("6a ff"));
	ck_assert_int_eq(-2, imm_of("66 05 fe ff"));
	ck_assert_int_eq(-3, imm_of("48 05 fd ff ff ff"));
	ck_assert_int_eq(0x0807060504030201,
			 imm_of("48 b8 01 02 03 04 05 06 07 08"));
	ck_assert_int_eq(0x7f, imm_of("c0 e0 7f"));
}
END_TEST

START_TEST(imm_of_enter_is_size_and_level)
{
	ck_assert_int_eq(0x021234, imm_of("c8 34 12 02"));
	ck_assert_int_eq(0x00f234, imm_of("c8 34 f2 00"));
}
END_TEST

START_TEST(target_is_relative_to_the_end)
{
	ck_assert_uint_eq(0x1000, target_of("eb fe", 0x1000));
	ck_assert_uint_eq(0x1005, target_of("e8 00 00 00 00", 0x1000));
	ck_assert_uint_eq(0xfff, target_of("0f 84 f9 ff ff ff", 0x1000));
	ck_assert_uint_eq(0x1081, target_of("e3 7f", 0x1000));
	ck_assert_uint_eq(UINT64_MAX, target_of("eb fd", 0));
}
END_TEST

START_TEST(flow_of_instructions)
{
	static const struct {
		const char *hex;
		enum x86_flow flow;
	} list[] = {
	    {"90", X86_NEXT},
	    {"74 00", X86_JCC},
	    {"0f 84 00 00 00 00", X86_JCC},
	    {"e2 00", X86_LOOP},
	    {"67 e3 00", X86_LOOP},
	    {"eb 00", X86_JMP},
	    {"e9 00 00 00 00", X86_JMP},
	    {"e8 00 00 00 00", X86_CALL},
	    {"c3", X86_RET},
	    {"c2 08 00", X86_RET},
	    {"f3 c3", X86_RET},
	    {"ff e0", X86_JMP_IND},
	    {"3e ff 20", X86_JMP_IND},
	    {"ff 15 00 00 00 00", X86_CALL_IND},
	    {"ff 18", X86_FAR},
	    {"cb", X86_FAR},
	    {"0f 05", X86_SYSCALL},
	    {"0f 34", X86_SYSENTER},
	    {"cc", X86_INT3},
	    {"cd 80", X86_INT},
	    {"f1", X86_INT},
	    {"48 cf", X86_IRET},
	    {"0f 0b", X86_UD},
	    {"f4", X86_HLT},
	    {"c7 f8 00 00 00 00", X86_XBEGIN},
	    {"0f 01 d5", X86_XEND},
	    {"0f 01 c1", X86_ODD},
	    {"0f 01 d9", X86_ODD},
	    {"0f 01 d7", X86_ODD},
	};

	for (size_t k = 0; k < sizeof list / sizeof list[0]; k++)
		ck_assert_msg(whole(list[k].hex).row->flow == list[k].flow,
			      "%s", list[k].hex);
}
END_TEST

START_TEST(direct_branches_have_targets)
{
	struct x86_insn i = whole("e8 00 00 00 00");

	ck_assert(x86_is_direct(&i));
	i = whole("74 00");
	ck_assert(x86_is_direct(&i));
	i = whole("e2 00");
	ck_assert(x86_is_direct(&i));
	i = whole("c7 f8 00 00 00 00");
	ck_assert(x86_is_direct(&i));
	i = whole("ff e0");
	ck_assert(!x86_is_direct(&i));
	i = whole("c2 08 00");
	ck_assert(!x86_is_direct(&i));
	i = whole("90");
	ck_assert(!x86_is_direct(&i));
}
END_TEST

START_TEST(some_instructions_do_not_fall_through)
{
	static const char *const ends[] = {"eb 00", "c3",    "ff e0", "48 cf",
					   "0f 0b", "ff 28", "cb"};
	static const char *const goes_on[] = {
	    "90", "74 00", "e8 00 00 00 00", "ff d0", "0f 05", "cc", "ff 18"};

	for (size_t k = 0; k < sizeof ends / sizeof ends[0]; k++) {
		struct x86_insn i = whole(ends[k]);

		ck_assert_msg(!x86_falls_through(&i), "%s", ends[k]);
	}
	for (size_t k = 0; k < sizeof goes_on / sizeof goes_on[0]; k++) {
		struct x86_insn i = whole(goes_on[k]);

		ck_assert_msg(x86_falls_through(&i), "%s", goes_on[k]);
	}
}
END_TEST

START_TEST(xchg_with_memory_is_locked)
{
	struct x86_insn i = whole("87 03");

	ck_assert(x86_is_locked(&i));
	i = whole("87 c3");
	ck_assert(!x86_is_locked(&i));
	i = whole("f0 01 03");
	ck_assert(x86_is_locked(&i));
	i = whole("01 03");
	ck_assert(!x86_is_locked(&i));
	i = whole("86 05 00 00 00 00");
	ck_assert(x86_is_locked(&i) && x86_uses_rip(&i));
	i = whole("86 04 25 00 00 00 00");
	ck_assert(!x86_uses_rip(&i));
}
END_TEST

START_TEST(special_instructions_have_names)
{
	ck_assert_uint_eq(X86_CPUID, whole("0f a2").row->special);
	ck_assert_uint_eq(X86_RDTSC, whole("0f 31").row->special);
	ck_assert_uint_eq(X86_RDTSCP, whole("0f 01 f9").row->special);
	ck_assert_uint_eq(X86_XGETBV, whole("0f 01 d0").row->special);
	ck_assert_uint_eq(X86_XCHG, whole("87 03").row->special);
	ck_assert_uint_eq(X86_ENDBR, whole("f3 0f 1e fa").row->special);
	ck_assert_uint_eq(X86_NOP, whole("0f 1f 40 00").row->special);
	ck_assert_uint_eq(X86_PAUSE, whole("f3 90").row->special);
	ck_assert_uint_eq(X86_XCHG, whole("f3 41 90").row->special);
	ck_assert_uint_eq(X86_SETSEG, whole("8e e0").row->special);
	ck_assert_uint_eq(X86_SETSEG, whole("0f a9").row->special);
	ck_assert_uint_eq(X86_ORDINARY, whole("8e d8").row->special);
	ck_assert_uint_eq(X86_WRGSBASE, whole("f3 48 0f ae d8").row->special);
	ck_assert_uint_eq(X86_FENCE, whole("0f ae f0").row->special);
	ck_assert_uint_eq(X86_X87ENV, whole("d9 30").row->special);
}
END_TEST

/* -- Masks --------------------------------------------------------------- */

START_TEST(masks_of_common_instructions)
{
	READS("48 01 d8", RAX | RBX);
	WRITES("48 01 d8", RAX);
	KILLS("48 89 d8", RAX);
	READS("48 89 d8", RBX);
	KILLS("89 d8", RAX); /* the upper half becomes 0 */
	KILLS("66 89 d8", 0);
	WRITES("66 89 d8", RAX);
	READS("48 8b 44 8b 08", RBX | RCX);
	KILLS("48 8b 44 8b 08", RAX);
	READS("50", RAX | RSP);
	WRITES("50", RSP);
	READS("48 f7 e1", RAX | RCX);
	KILLS("48 f7 e1", RAX | RDX);
	READS("f3 a4", RCX | RSI | RDI);
	WRITES("f3 a4", RCX | RSI | RDI);
	READS("0f b0 0b", RAX | RCX | RBX);
}
END_TEST

START_TEST(masks_of_byte_registers)
{
	WRITES("88 e0", RAX); /* mov al,ah */
	READS("88 e0", RAX);
	READS("40 88 e0", RSP); /* mov al,spl: any REX makes it so */
	READS("88 fb", RBX);	/* mov bl,bh */
	READS("40 88 fb", RDI);
	KILLS("88 c8", 0);
	WRITES("41 b0 01", R8);
	WRITES("b4 01", RAX); /* mov ah */
}
END_TEST

START_TEST(masks_that_the_oracle_lacks)
{
	WRITES("a6", RSI | RDI); /* cmps */
	WRITES("ae", RDI);	 /* scas */
	READS("d7", RAX | RBX);	 /* xlat */
}
END_TEST

/* A source of 0 leaves the destination as it was. */
START_TEST(bsf_and_bsr_may_keep_their_destination)
{
	KILLS("0f bc c1", 0);
	WRITES("0f bc c1", RAX);
	KILLS("48 0f bd c1", 0);
	KILLS("48 0f bd 01", 0);
	KILLS("f3 0f bc c1", 0); /* tzcnt is bsf to an old CPU */
	KILLS("f3 0f b8 c1", RAX);
}
END_TEST

/* Without shadow stacks it is a nop: `xor eax,eax; rdssp rax` asks for them. */
START_TEST(rdssp_may_keep_its_destination)
{
	KILLS("f3 48 0f 1e c8", 0);
	KILLS("f3 0f 1e c8", 0);
	WRITES("f3 0f 1e c8", RAX);
}
END_TEST

START_TEST(conditional_moves_may_keep_their_destination)
{
	KILLS("48 0f 44 c1", 0);
	WRITES("48 0f 44 c1", RAX);
	ck_assert_uint_eq(X86_ZF, whole("48 0f 44 c1").flag_read);
}
END_TEST

START_TEST(flags_of_common_instructions)
{
	ck_assert_uint_eq(X86_FLAGS_STATUS, whole("48 39 d8").flag_kill);
	ck_assert_uint_eq(X86_FLAGS_STATUS, whole("31 c0").flag_kill);
	ck_assert_uint_eq(X86_CF, whole("11 c0").flag_read);
	ck_assert_uint_eq(0, whole("ff c0").flag_kill & X86_CF);
	ck_assert_uint_eq(0, whole("8d 03").flag_write);
	ck_assert_uint_eq(X86_CF, whole("f5").flag_read);
	ck_assert_uint_eq(X86_DF, whole("a4").flag_read);
	ck_assert_uint_eq(X86_DF, whole("fc").flag_kill);
	ck_assert_uint_eq(X86_CF | X86_ZF, whole("77 00").flag_read);
}
END_TEST

START_TEST(shift_by_zero_keeps_flags)
{
	ck_assert_uint_eq(0, whole("c1 e0 00").flag_kill);
	ck_assert_uint_eq(0, whole("c1 e0 20").flag_kill);
	ck_assert_uint_ne(0, whole("48 c1 e0 20").flag_kill);
	ck_assert_uint_eq(0, whole("48 c1 e0 40").flag_kill);
	ck_assert_uint_eq(0, whole("48 c0 e0 20").flag_kill); /* a byte */
	ck_assert_uint_eq(X86_FLAGS_STATUS, whole("c1 e0 01").flag_kill);
	ck_assert_uint_eq(0, whole("d3 e0").flag_kill); /* by cl */
}
END_TEST

/* The CPU was seen to keep them: "undefined" is not "lost". */
START_TEST(undefined_flags_are_not_killed)
{
	ck_assert_uint_eq(X86_CF | X86_OF, whole("0f af c1").flag_kill);
	ck_assert_uint_eq(X86_CF | X86_OF, whole("f7 e1").flag_kill);
	ck_assert_uint_eq(0, whole("f7 f1").flag_kill);
	ck_assert_uint_eq(X86_CF, whole("0f a3 c8").flag_kill);
	ck_assert_uint_eq(X86_ZF, whole("f3 0f bc c1").flag_kill);
}
END_TEST

START_TEST(vptest_writes_all_flags)
{
	ck_assert_uint_eq(X86_FLAGS_STATUS, whole("c4 e2 79 17 c1").flag_kill);
	ck_assert_uint_eq(X86_FLAGS_STATUS, whole("c4 e2 79 0e c1").flag_kill);
	ck_assert_uint_eq(X86_FLAGS_STATUS, whole("66 0f 38 17 c1").flag_kill);
}
END_TEST

START_TEST(conversions_use_vector_state)
{
	/* cvtsd2si (rcx),eax: no vector register, but MXCSR */
	ck_assert(whole("f2 0f 2d 01").row->attr & X86_A_VEC);
	ck_assert(whole("c5 fb 2c 01").row->attr & X86_A_VEC);
	ck_assert(!(whole("98").row->attr & X86_A_VEC));
	ck_assert(whole("c5 f8 77").row->attr & X86_A_VEC);
	ck_assert(whole("0f 77").row->attr & X86_A_X87);
	ck_assert(whole("0f 6f c1").row->attr & X86_A_X87);
}
END_TEST

/* -- The end of memory --------------------------------------------------- */

static const char *const samples[] = {
    "90",
    "0f 05",
    "48 b8 01 02 03 04 05 06 07 08",
    "48 8b 84 8b 78 56 34 12",
    "66 2e 0f 1f 84 00 00 00 00 00",
    "c4 e2 7d 18 00",
    "c5 f8 77",
    "8f e8 78 c2 c1 01",
    "8f 00",
    "62 f1 7c 48 28 84 8b 01 02 03 04",
    "0f 0f 84 8b 01 02 03 04 9e",
    "c7 84 8b 01 02 03 04 05 06 07 08",
    "66 66 66 66 66 66 66 66 66 66 66 66 66 66 90",
    "f0 48 0f b1 0d 01 02 03 04",
    "0f 38 f0 00",
};

/* A page whose end is the end of memory. */
static uint8_t *guarded(void)
{
	uint8_t *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(p, MAP_FAILED);
	ck_assert_int_eq(0, mprotect(p + PAGE, PAGE, PROT_NONE));
	return p + PAGE;
}

START_TEST(truncated_at_every_byte)
{
	uint8_t *end = guarded();

	for (size_t k = 0; k < sizeof samples / sizeof samples[0]; k++) {
		unsigned len = put(samples[k]);
		struct x86_insn i;

		for (unsigned n = 0; n < len; n++) {
			memcpy(end - n, bytes, n);
			ck_assert_msg(x86_decode(end - n, n, &i) ==
					  X86_TRUNCATED,
				      "%s cut to %u", samples[k], n);
		}
		memcpy(end - len, bytes, len);
		ck_assert_int_eq(X86_OK, x86_decode(end - len, len, &i));
		ck_assert_uint_eq(len, i.len);
	}
}
END_TEST

START_TEST(never_reads_past_the_end)
{
	uint8_t *end = guarded();
	struct x86_insn i;
	uint64_t x = 88172645463325252u;

	for (unsigned k = 0; k < 300000; k++) {
		unsigned n = k % 40;

		for (unsigned j = 1; j <= n; j++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			end[-(int)j] = x & 64 ? (uint8_t)(x >> 8) : 0x66;
		}
		if (x86_decode(end - n, n, &i) == X86_OK)
			ck_assert_uint_le(i.len, n);
	}
}
END_TEST

START_TEST(invalid_is_told_from_truncated)
{
	struct x86_insn i;

	put("06");
	ck_assert_int_eq(X86_INVALID, x86_decode(bytes, 1, &i));
	put("0f 0a");
	ck_assert_int_eq(X86_TRUNCATED, x86_decode(bytes, 1, &i));
	ck_assert_int_eq(X86_INVALID, x86_decode(bytes, 2, &i));
	put("66 c5");
	ck_assert_int_eq(X86_INVALID, x86_decode(bytes, 2, &i));
	put("c4");
	ck_assert_int_eq(X86_TRUNCATED, x86_decode(bytes, 1, &i));
	put("c4 e0"); /* map 0 */
	ck_assert_int_eq(X86_INVALID, x86_decode(bytes, 2, &i));
	put("62 f1 7c");
	ck_assert_int_eq(X86_TRUNCATED, x86_decode(bytes, 3, &i));
	put("62 f1 78");
	ck_assert_int_eq(X86_INVALID, x86_decode(bytes, 3, &i));
	ck_assert_int_eq(X86_TRUNCATED, x86_decode(bytes, 0, &i));
}
END_TEST

START_TEST(the_same_near_the_end_as_far_from_it)
{
	for (size_t k = 0; k < sizeof samples / sizeof samples[0]; k++) {
		unsigned len = put(samples[k]);
		struct x86_insn near, far;

		ck_assert_int_eq(X86_OK, x86_decode(bytes, len, &near));
		ck_assert_int_eq(X86_OK, x86_decode(bytes, 64, &far));
		ck_assert_mem_eq(&near, &far, INSN_LEN);
	}
}
END_TEST

/* -- The suite ----------------------------------------------------------- */

static TCase *shapes(void)
{
	TCase *t = tcase_create("shapes");

	tcase_add_test(t, decode_lengths);
	tcase_add_test(t, decode_refuses_reserved_encodings);
	tcase_add_test(t, decode_refuses_more_than_15_bytes);
	tcase_add_test(t, decode_rex_counts_only_before_the_opcode);
	tcase_add_test(t, decode_last_of_f2_and_f3_wins);
	tcase_add_test(t, decode_segment_prefixes);
	tcase_add_test(t, decode_addresses);
	tcase_add_test(t, decode_67_sib_without_base);
	tcase_add_test(t, decode_moffs);
	tcase_add_test(t, decode_evex_disp8_is_scaled);
	tcase_add_test(t, decode_vendors_disagree_on_66_before_branches);
	tcase_add_test(t, imm_is_sign_extended);
	tcase_add_test(t, imm_of_enter_is_size_and_level);
	tcase_add_test(t, target_is_relative_to_the_end);
	tcase_add_test(t, flow_of_instructions);
	tcase_add_test(t, direct_branches_have_targets);
	tcase_add_test(t, some_instructions_do_not_fall_through);
	tcase_add_test(t, xchg_with_memory_is_locked);
	tcase_add_test(t, special_instructions_have_names);
	return t;
}

static TCase *masks(void)
{
	TCase *t = tcase_create("masks");

	tcase_add_test(t, masks_of_common_instructions);
	tcase_add_test(t, masks_of_byte_registers);
	tcase_add_test(t, masks_that_the_oracle_lacks);
	tcase_add_test(t, bsf_and_bsr_may_keep_their_destination);
	tcase_add_test(t, rdssp_may_keep_its_destination);
	tcase_add_test(t, conditional_moves_may_keep_their_destination);
	tcase_add_test(t, flags_of_common_instructions);
	tcase_add_test(t, shift_by_zero_keeps_flags);
	tcase_add_test(t, undefined_flags_are_not_killed);
	tcase_add_test(t, vptest_writes_all_flags);
	tcase_add_test(t, conversions_use_vector_state);
	return t;
}

static TCase *ends(void)
{
	TCase *t = tcase_create("ends");

	tcase_add_test(t, truncated_at_every_byte);
	tcase_add_test(t, never_reads_past_the_end);
	tcase_add_test(t, invalid_is_told_from_truncated);
	tcase_add_test(t, the_same_near_the_end_as_far_from_it);
	return t;
}

Suite *x86_decode_suite(void)
{
	Suite *s = suite_create("x86_decode");

	suite_add_tcase(s, shapes());
	suite_add_tcase(s, masks());
	suite_add_tcase(s, ends());
	return s;
}
