/* tests/unit/x86_live_test.c - what liveness says of known code.
 *
 * That it tells no lies is shown by execution (tests/x86/live_run.c); here it
 * is also held to be useful, and to its limits. */
#include "x86/live.h"

#include <check.h>
#include <string.h>

enum { STATUS = X86_FLAGS_STATUS };
#define BIT(r) (1u << (X86_##r))

static const uint64_t home = 0x555500001000;

/* Liveness before the first of the instructions in code. */
static struct x86_live before(const char *code, unsigned len, unsigned how)
{
	struct x86_insn insns[16];
	struct x86_live out[16];
	unsigned n = 0;

	for (unsigned at = 0; at < len; n++) {
		ck_assert_int_eq(X86_OK, x86_decode((const uint8_t *)code + at,
						    len - at, &insns[n]));
		at += insns[n].len;
	}
	x86_live_run(insns, n, NULL, x86_live_all(), how, out);
	return out[0];
}

#define BEFORE(code)	    before(code, sizeof(code) - 1, 0)
#define BEFORE_FAULTS(code) before(code, sizeof(code) - 1, X86_LIVE_AT_FAULTS)

static unsigned dead_gprs(struct x86_live l)
{
	return (uint16_t)~l.gpr;
}

static unsigned dead_flags(struct x86_live l)
{
	return X86_LIVE_FLAGS & ~(unsigned)l.flags;
}

START_TEST(whole_writes_kill)
{
	/* mov eax,ecx   mov rax,[rcx]   lea r9,[rcx]   pop rbx   mov al,cl */
	ck_assert_uint_eq(BIT(RAX), dead_gprs(BEFORE("\x89\xc8")));
	ck_assert_uint_eq(BIT(RAX), dead_gprs(BEFORE("\x48\x8b\x01")));
	ck_assert_uint_eq(BIT(R9), dead_gprs(BEFORE("\x4c\x8d\x09")));
	ck_assert_uint_eq(BIT(RBX), dead_gprs(BEFORE("\x5b")));
	ck_assert_uint_eq(0, dead_gprs(BEFORE("\x88\xc8")));
	ck_assert_uint_eq(0, dead_gprs(BEFORE("\x66\x89\xc8")));
}
END_TEST

START_TEST(what_is_read_first_is_live)
{
	/* add eax,ecx; xor eax,eax   mov rax,[rax]   xchg eax,ecx */
	ck_assert_uint_eq(0, dead_gprs(BEFORE("\x01\xc8\x31\xc0")));
	ck_assert_uint_eq(0, dead_gprs(BEFORE("\x48\x8b\x00")));
	ck_assert_uint_eq(0, dead_gprs(BEFORE("\x91")));
}
END_TEST

START_TEST(clearing_idioms_do_not_read)
{
	/* xor ecx,ecx   sub r9,r9   sbb eax,eax   xor cx,cx   xor eax,ecx */
	ck_assert_uint_eq(BIT(RCX), dead_gprs(BEFORE("\x31\xc9")));
	ck_assert_uint_eq(BIT(R9), dead_gprs(BEFORE("\x4d\x29\xc9")));
	ck_assert_uint_eq(BIT(RAX), dead_gprs(BEFORE("\x19\xc0")));
	ck_assert_uint_eq(0, X86_CF & dead_flags(BEFORE("\x19\xc0")));
	ck_assert_uint_eq(0, dead_gprs(BEFORE("\x66\x31\xc9")));
	ck_assert_uint_eq(0, dead_gprs(BEFORE("\x31\xc8")));
	/* xor cx,cx; movzx ecx,dl: neither half survives */
	ck_assert_uint_eq(BIT(RCX),
			  dead_gprs(BEFORE("\x66\x31\xc9\x0f\xb6\xca")));
}
END_TEST

START_TEST(rsp_is_never_dead)
{
	/* mov rsp,rbp   sub esp,esp   pop rsp */
	ck_assert_uint_eq(0, dead_gprs(BEFORE("\x48\x89\xec")));
	ck_assert_uint_eq(0, dead_gprs(BEFORE("\x29\xe4")));
	ck_assert_uint_eq(0, dead_gprs(BEFORE("\x5c")));
}
END_TEST

START_TEST(conditional_writes_do_not_kill)
{
	/* cmove eax,ecx   bsf eax,ecx   tzcnt eax,ecx (older: bsf) */
	ck_assert_uint_eq(0, dead_gprs(BEFORE("\x0f\x44\xc1")));
	ck_assert_uint_eq(0, dead_gprs(BEFORE("\x0f\xbc\xc1")));
	ck_assert_uint_eq(0, dead_gprs(BEFORE("\xf3\x0f\xbc\xc1")));
	ck_assert_uint_eq(X86_ZF, dead_flags(BEFORE("\xf3\x0f\xbd\xc1")));
	/* lar eax,ecx   rdsspq rax (nop without shadow stacks) */
	ck_assert_uint_eq(0, dead_gprs(BEFORE("\x0f\x02\xc1")));
	ck_assert_uint_eq(0, dead_gprs(BEFORE("\xf3\x48\x0f\x1e\xc8")));
}
END_TEST

START_TEST(repeated_strings_may_do_nothing)
{
	static const uint8_t ops[] = {0xa4, 0xa5, 0xa6, 0xa7, 0xaa,
				      0xab, 0xac, 0xad, 0xae, 0xaf};

	for (unsigned k = 0; k < sizeof ops; k++)
		for (unsigned p = 0; p < 4; p++) {
			char code[3] = {p & 1 ? '\xf3' : '\xf2', 0x48,
					(char)ops[k]};
			struct x86_live l;

			if (!(p & 2))
				code[1] = (char)ops[k];
			l = before(code, p & 2 ? 3 : 2, 0);
			ck_assert_uint_eq(0, dead_gprs(l));
			ck_assert_uint_eq(0, dead_flags(l));
		}
	/* lodsq alone does load */
	ck_assert_uint_eq(BIT(RAX), dead_gprs(BEFORE("\x48\xad")));
}
END_TEST

START_TEST(flags_die_at_full_writes_only)
{
	/* cmp   test   inc keeps CF   shl by cl   shl by 0   shl by 3 */
	ck_assert_uint_eq(STATUS, dead_flags(BEFORE("\x39\xc8")));
	ck_assert_uint_eq(STATUS, dead_flags(BEFORE("\x85\xc8")));
	ck_assert_uint_eq(STATUS & ~X86_CF, dead_flags(BEFORE("\xff\xc0")));
	ck_assert_uint_eq(0, dead_flags(BEFORE("\xd3\xe0")));
	ck_assert_uint_eq(0, dead_flags(BEFORE("\xc1\xe0\x00")));
	ck_assert_uint_eq(STATUS, dead_flags(BEFORE("\xc1\xe0\x03")));
	/* adc reads CF, jc too */
	ck_assert_uint_eq(STATUS & ~X86_CF, dead_flags(BEFORE("\x11\xc8")));
	/* popf; the rest is the kernel's */
	ck_assert_uint_eq(STATUS | X86_DF, dead_flags(BEFORE("\x9d")));
	ck_assert_uint_eq(0, dead_flags(BEFORE("\x9c\x39\xc8")));
}
END_TEST

START_TEST(undefined_flags_are_not_killed)
{
	/* mul ecx: only CF and OF are defined; bt: only CF */
	ck_assert_uint_eq(X86_CF | X86_OF, dead_flags(BEFORE("\xf7\xe1")));
	ck_assert_uint_eq(X86_CF, dead_flags(BEFORE("\x0f\xa3\xc8")));
	/* but logic clears AF everywhere */
	ck_assert_uint_eq(STATUS, dead_flags(BEFORE("\x21\xc8")));
	ck_assert_uint_eq(STATUS, dead_flags(BEFORE("\x83\xc8\x01")));
	ck_assert_uint_eq(STATUS, dead_flags(BEFORE("\x34\x01")));
	ck_assert_uint_eq(STATUS, dead_flags(BEFORE("\xf6\xc1\x01")));
}
END_TEST

START_TEST(all_is_live_before_unknown_transfers)
{
	static const struct {
		const char *code;
		unsigned len;
	} ends[] = {{"\xc3", 1},
		    {"\xff\xe0", 2},
		    {"\xff\xd0", 2},
		    {"\x0f\x05", 2},
		    {"\xcc", 1},
		    {"\xcd\x80", 2},
		    {"\xc7\xf8\0\0\0\0", 6},
		    {"\x0f\x0b", 2},
		    {"\xf4", 1},
		    {"\xff\x28", 2}};
	char code[16];

	for (unsigned k = 0; k < sizeof ends / sizeof ends[0]; k++) {
		struct x86_live l;

		memcpy(code, ends[k].code, ends[k].len);
		memcpy(code + ends[k].len, "\x31\xc0", 2);
		l = before(code, ends[k].len + 2, 0);
		ck_assert_uint_eq(0, dead_gprs(l));
		ck_assert_uint_eq(0, dead_flags(l));
	}
}
END_TEST

START_TEST(faults_show_everything_if_asked)
{
	/* mov rcx,[rdx]; xor eax,eax */
	ck_assert_uint_eq(BIT(RAX) | BIT(RCX),
			  dead_gprs(BEFORE("\x48\x8b\x0a\x31\xc0")));
	ck_assert_uint_eq(0, dead_gprs(BEFORE_FAULTS("\x48\x8b\x0a\x31\xc0")));
	/* mov ecx,edx; xor eax,eax; mov rdx,[rdx]: dead up to the load */
	ck_assert_uint_eq(
	    BIT(RAX) | BIT(RCX),
	    dead_gprs(BEFORE_FAULTS("\x89\xd1\x31\xc0\x48\x8b\x12")));
}
END_TEST

START_TEST(what_may_fault)
{
	static const struct {
		const char *code;
		unsigned len;
		int may;
	} want[] = {
	    {"\x89\xc8", 2, 0},		    /* mov eax,ecx */
	    {"\x8b\x00", 2, 1},		    /* mov eax,[rax] */
	    {"\x48\x8d\x04\x08", 4, 0},	    /* lea */
	    {"\x0f\x18\x08", 3, 0},	    /* prefetcht0 */
	    {"\x0f\x1f\x00", 3, 0},	    /* nop [rax] */
	    {"\x0f\xae\x38", 3, 1},	    /* clflush [rax] */
	    {"\xf7\xf1", 2, 1},		    /* div ecx */
	    {"\xf7\xe1", 2, 0},		    /* mul ecx */
	    {"\x50", 1, 1},		    /* push rax */
	    {"\xff\xf0", 2, 1},		    /* push rax, long */
	    {"\x74\x00", 2, 0},		    /* je */
	    {"\xe9\0\0\0\0", 5, 0},	    /* jmp */
	    {"\xe8\0\0\0\0", 5, 1},	    /* call */
	    {"\x8e\xd8", 2, 1},		    /* mov ds,eax */
	    {"\x0f\x31", 2, 1},		    /* rdtsc: may be forbidden */
	    {"\xf3\x0f\xb8\xc1", 4, 1},	    /* popcnt: not in the first */
	    {"\x0f\x58\xc1", 3, 1},	    /* addps */
	    {"\xd8\xc1", 2, 1},		    /* fadd */
	    {"\xe4\x10", 2, 1},		    /* in */
	    {"\xfa", 1, 1},		    /* cli */
	    {"\xc4\xe2\x70\xf2\xc2", 5, 1}, /* andn */
	    {"\x0f\x0d\xc0", 3, 1},	    /* prefetch of a register */
	};
	struct x86_insn i;

	for (unsigned k = 0; k < sizeof want / sizeof want[0]; k++) {
		ck_assert_int_eq(
		    X86_OK,
		    x86_decode((const uint8_t *)want[k].code, want[k].len, &i));
		ck_assert_msg(!x86_may_fault(&i) == !want[k].may, "row %u", k);
	}
}
END_TEST

START_TEST(side_exits_keep_what_they_need)
{
	struct x86_live taken[2] = {{0, 0}, {0, 0}}, out[2];
	struct x86_insn insns[2];

	/* jne ...; xor eax,eax: flags are read, rax is dead behind only */
	x86_decode((const uint8_t *)"\x75\x10", 2, &insns[0]);
	x86_decode((const uint8_t *)"\x31\xc0", 2, &insns[1]);
	x86_live_run(insns, 2, NULL, x86_live_all(), 0, out);
	ck_assert_uint_eq(0, dead_gprs(out[0]));
	ck_assert_uint_eq(BIT(RAX), dead_gprs(out[1]));
	ck_assert_uint_eq(0, dead_flags(out[0]));
	/* Where the branch goes rax is not needed either. */
	taken[0] = (struct x86_live){0xffff & ~BIT(RAX), X86_CF};
	x86_live_run(insns, 2, taken, x86_live_all(), 0, out);
	ck_assert_uint_eq(BIT(RAX), dead_gprs(out[0]));
	ck_assert_uint_eq(STATUS & ~(X86_ZF | X86_CF), dead_flags(out[0]));
}
END_TEST

/* -- Ahead -------------------------------------------------------------------
 */

static struct x86_live ahead(const char *code, unsigned len, unsigned max,
			     struct x86_span *seen)
{
	struct x86_text text = {(const uint8_t *)code, home, len};

	return x86_live_ahead(&text, home, x86_live_all(), max, 0, seen);
}

#define AHEAD(code, max) ahead(code, sizeof(code) - 1, max, NULL)

START_TEST(ahead_sees_straight_code)
{
	/* mov eax,1; cmp ecx,edx; ret */
	struct x86_live l = AHEAD("\xb8\x01\0\0\0\x39\xd1\xc3", 10);

	ck_assert_uint_eq(BIT(RAX), dead_gprs(l));
	ck_assert_uint_eq(STATUS, dead_flags(l));
}
END_TEST

START_TEST(ahead_stops_where_it_must)
{
	const char code[] = "\xb8\x01\0\0\0\x39\xd1\xc3";

	ck_assert_uint_eq(0, dead_flags(AHEAD(code, 1)));
	ck_assert_uint_eq(BIT(RAX), dead_gprs(AHEAD(code, 1)));
	ck_assert_uint_eq(0, dead_gprs(AHEAD(code, 0)));
	/* the text ends, even inside an instruction */
	ck_assert_uint_eq(0, dead_flags(ahead(code, 6, 10, NULL)));
	ck_assert_uint_eq(0, dead_gprs(ahead(code, 4, 10, NULL)));
	ck_assert_uint_eq(0, dead_gprs(ahead(code, 0, 10, NULL)));
	/* nonsense (06): all live */
	ck_assert_uint_eq(0, dead_gprs(AHEAD("\x06\x31\xc0", 10)));
}
END_TEST

START_TEST(ahead_takes_both_sides)
{
	/* je 1f; xor eax,eax; xor ecx,ecx; ret; 1: xor eax,eax; ret */
	struct x86_live l =
	    AHEAD("\x74\x05\x31\xc0\x31\xc9\xc3\x31\xc0\xc3", 20);

	ck_assert_uint_eq(BIT(RAX), dead_gprs(l));
	ck_assert_uint_eq(STATUS & ~X86_ZF, dead_flags(l));
	/* with one side out of sight all is live */
	l = AHEAD("\x74\x75\x31\xc0\x31\xc9\xc3\x31\xc0\xc3", 20);
	ck_assert_uint_eq(0, dead_gprs(l));
}
END_TEST

START_TEST(ahead_follows_jumps_and_calls)
{
	/* jmp 1f; (junk) ; 1: xor eax,eax; ret */
	ck_assert_uint_eq(BIT(RAX),
			  dead_gprs(AHEAD("\xeb\x01\x06\x31\xc0\xc3", 10)));
	/* call 1f; xor ecx,ecx; 1: xor eax,eax; ret: the function first */
	ck_assert_uint_eq(
	    BIT(RAX),
	    dead_gprs(AHEAD("\xe8\x02\0\0\0\x31\xc9\x31\xc0\xc3", 10)));
	/* backwards, and out of the text */
	ck_assert_uint_eq(0, dead_gprs(AHEAD("\xeb\xf0\x31\xc0", 10)));
	/* an endless loop ends */
	ck_assert_uint_eq(0, dead_gprs(AHEAD("\xeb\xfe\x31\xc0", 1000)));
}
END_TEST

START_TEST(ahead_survives_many_branches)
{
	char code[64 * 2 + 3];

	for (unsigned k = 0; k < 64; k++)
		memcpy(code + 2 * k, "\x74\x00", 2);
	memcpy(code + 128, "\x31\xc0\xc3", 3);
	/* Each forks; more forks than it keeps count as unseen. */
	ck_assert_uint_eq(0, dead_gprs(AHEAD(code, 100000)));
	memcpy(code + 2 * 60, "\x31\xc0\x31\xc0\x31\xc0\x31\xc0", 8);
	ck_assert_uint_eq(BIT(RAX), dead_gprs(ahead(code + 2 * 57, 131 - 2 * 57,
						    1000, NULL)));
}
END_TEST

START_TEST(ahead_looks_only_for_what_is_wanted)
{
	const char code[] = "\x39\xd1\x31\xc0\xc3"; /* cmp; xor; ret */
	struct x86_text text = {(const uint8_t *)code, home, 5};
	struct x86_span seen = {0, 0};
	struct x86_live l;

	l = x86_live_ahead(&text, home, (struct x86_live){0, STATUS}, 10, 0,
			   &seen);
	ck_assert_uint_eq(0, dead_gprs(l));
	ck_assert_uint_eq(STATUS, dead_flags(l));
	ck_assert_uint_eq(home, seen.lo);
	ck_assert_uint_eq(home + 5, seen.hi);
}
END_TEST

/* Whatever lies outside of *seen may change: the answer does not. */
START_TEST(ahead_depends_on_what_it_saw_alone)
{
	char code[256], other[256];
	struct x86_span a, b;
	struct x86_live l, m;

	memset(code, 0x90, sizeof code);
	memcpy(code, "\x74\x20\x31\xc0\xc3", 5);
	memcpy(code + 0x22, "\x31\xc0\xc3", 3);
	l = ahead(code, sizeof code, 20, &a);
	ck_assert_uint_eq(BIT(RAX), dead_gprs(l));
	memset(other, 0x06, sizeof other);
	memcpy(other + (a.lo - home), code + (a.lo - home), a.hi - a.lo);
	m = ahead(other, sizeof other, 20, &b);
	ck_assert_mem_eq(&l, &m, sizeof l);
	ck_assert_mem_eq(&a, &b, sizeof a);
}
END_TEST

Suite *x86_live_suite(void)
{
	Suite *s = suite_create("x86_live");
	TCase *t = tcase_create("live");

	tcase_add_test(t, whole_writes_kill);
	tcase_add_test(t, what_is_read_first_is_live);
	tcase_add_test(t, clearing_idioms_do_not_read);
	tcase_add_test(t, rsp_is_never_dead);
	tcase_add_test(t, conditional_writes_do_not_kill);
	tcase_add_test(t, repeated_strings_may_do_nothing);
	tcase_add_test(t, flags_die_at_full_writes_only);
	tcase_add_test(t, undefined_flags_are_not_killed);
	tcase_add_test(t, all_is_live_before_unknown_transfers);
	tcase_add_test(t, faults_show_everything_if_asked);
	tcase_add_test(t, what_may_fault);
	tcase_add_test(t, side_exits_keep_what_they_need);
	tcase_add_test(t, ahead_sees_straight_code);
	tcase_add_test(t, ahead_stops_where_it_must);
	tcase_add_test(t, ahead_takes_both_sides);
	tcase_add_test(t, ahead_follows_jumps_and_calls);
	tcase_add_test(t, ahead_survives_many_branches);
	tcase_add_test(t, ahead_looks_only_for_what_is_wanted);
	tcase_add_test(t, ahead_depends_on_what_it_saw_alone);
	suite_add_tcase(s, t);
	return s;
}
