/* tests/x86/live_run.c - is what liveness calls dead really dead?
 *
 *   live-run [-n CASES] [-s SEED] [-k KIND]
 *
 * A case is a short random sequence with exits. It is executed twice from the
 * same state, except that everything called dead at its start holds something
 * else the second time. Registers, flags, vectors, memory, pc and signal must
 * come out the same. In the plain notion a case that faults says nothing; with
 * X86_LIVE_AT_FAULTS it counts, too.
 *
 * Speaks TAP, one claim a kind. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "machine.h"
#include "x86/emit.h"
#include "x86/live.h"

enum { INSNS_MAX = 12, CODE_MAX = INSNS_MAX * 32 };

struct sequence {
	struct kase k; /* state and memory; its code is the last instruction */
	struct x86_insn insns[INSNS_MAX];
	uint8_t code[CODE_MAX];
	unsigned n, len;
};

struct live_kind {
	const char *name;
	unsigned insns; /* at most */
	int (*add)(struct sequence *s);
};

static struct {
	unsigned long cases, gprs, flags, faults, compared, safe;
} sum;

/* -- Sequences ----------------------------------------------------------------
 */

static int add(struct sequence *s)
{
	struct kase *k = &s->k;

	if (x86_decode(k->code, X86_MAX_LEN, &k->insn) != X86_OK)
		return -1;
	memcpy(s->code + s->len, k->code, k->insn.len);
	s->len += k->insn.len;
	s->insns[s->n++] = k->insn;
	return 0;
}

static struct x86_buf scratch(struct sequence *s)
{
	memset(s->k.code, 0xcc, sizeof s->k.code);
	return (struct x86_buf){s->k.code, s->k.code,
				s->k.code + sizeof s->k.code,
				s->k.from + s->len, 0};
}

/* Any safe instruction; its address registers are made to fit if it is the
 * first, and if not, they fit or they do not. */
static int add_any(struct sequence *s)
{
	case_any_insn(&s->k);
	if (s->n == 0)
		case_aim(&s->k);
	return add(s);
}

/* Any one that does not touch memory. */
static int add_register(struct sequence *s)
{
	do
		case_any_insn(&s->k);
	while (s->k.insn.space > X86_SPACE_LEGACY + 1 || s->k.insn.is_mem ||
	       s->k.insn.row->imem[0]);
	return add(s);
}

static struct x86_mem some_memory(struct sequence *s)
{
	unsigned base = random_below(16);

	if (random_below(2))
		return x86_mem_pc(s->k.world->data + 0x400 +
				  random_below(64) * 8);
	return x86_mem_at(base, (int8_t)random_next());
}

static unsigned some_width(void)
{
	return random_below(4) ? 4u << random_below(2) : 2;
}

static void put_two(struct x86_buf *b, struct sequence *s)
{
	static const enum emit_op ops[] = {
	    EMIT_ADD, EMIT_ADC,	 EMIT_SBB,  EMIT_AND,	EMIT_SUB,  EMIT_XOR,
	    EMIT_CMP, EMIT_TEST, EMIT_MOV,  EMIT_MOV,	EMIT_XCHG, EMIT_BT,
	    EMIT_BSF, EMIT_BSR,	 EMIT_IMUL, EMIT_MOVZX8};
	enum emit_op op = ops[random_below(16)];
	unsigned a = random_below(16),
		 c = random_below(4) ? random_below(16) : a;

	if (a == X86_RSP)
		a = X86_RAX; /* a lost stack ends every case alike */
	if (op < EMIT_TEST && random_below(4) == 0)
		emit_mr(b, op, some_width(), some_memory(s), c);
	else if (op <= EMIT_MOV && op != EMIT_TEST && random_below(4) == 0)
		emit_rm(b, op, some_width(), a, some_memory(s));
	else
		emit_rr(b, op, some_width(), a, c);
}

static void put_one(struct x86_buf *b)
{
	static const enum emit_op ops[] = {
	    EMIT_ROL, EMIT_ROR, EMIT_SHL, EMIT_SHR, EMIT_SAR,  EMIT_INC,
	    EMIT_DEC, EMIT_NOT, EMIT_NEG, EMIT_MUL, EMIT_PUSH, EMIT_POP};
	enum emit_op op = ops[random_below(12)];
	unsigned reg = random_below(16);

	if (reg == X86_RSP)
		reg = X86_RCX;
	if (op <= EMIT_SAR && random_below(2))
		emit_ri(b, op, some_width(), reg, random_below(3));
	else
		emit_r(b, op, op >= EMIT_PUSH ? 8 : some_width(), reg);
}

static void put_other(struct x86_buf *b, struct sequence *s)
{
	unsigned cc = random_below(16), reg = random_below(4) * 5;
	uint64_t pad = s->k.world->text + random_below(0x400);

	switch (random_below(8)) {
	case 0:
		emit_setcc_r(b, cc, reg);
		break;
	case 1:
		emit_cmov_rr(b, cc, some_width(), reg, random_below(16));
		break;
	case 2:
	case 3:
		emit_jcc(b, cc, pad);
		break;
	case 4:
		emit_set(b, reg, random_next() >> random_below(60));
		break;
	case 5:
		emit_rm(b, EMIT_LEA, 8, reg, x86_mem_at(random_below(16), 8));
		break;
	case 6:
		emit_plain(b, random_below(2) ? EMIT_LAHF : EMIT_SAHF);
		break;
	default:
		emit_ri(b, random_below(2) ? EMIT_CMP : EMIT_ADD, some_width(),
			reg, random_below(100));
	}
}

/* A jump or a call over a few int3: the sequence goes on behind. */
static int add_leap(struct sequence *s)
{
	unsigned gap = random_below(16);
	uint8_t bytes[5] = {random_below(2) ? 0xe8 : 0xe9, (uint8_t)gap};

	memcpy(s->k.code, bytes, sizeof bytes);
	if (add(s) < 0)
		return -1;
	memset(s->code + s->len, 0xcc, gap);
	s->len += gap;
	return 0;
}

/* What compilers emit. */
static int add_common(struct sequence *s)
{
	struct x86_buf b = scratch(s);

	if (random_below(16) == 0)
		return add_leap(s);
	switch (random_below(4)) {
	case 0:
		put_one(&b);
		break;
	case 1:
		put_other(&b, s);
		break;
	default:
		put_two(&b, s);
	}
	return b.bad ? -1 : add(s);
}

static int add_string(struct sequence *s)
{
	static const uint8_t ops[] = {0xa4, 0xa6, 0xaa, 0xac, 0xae};
	unsigned n = 0;

	if (s->n > 0 && random_below(2))
		return add_common(s);
	s->k.in.gpr[X86_RCX] = random_below(3);
	s->k.in.gpr[X86_RSI] = s->k.world->data + 0x400;
	s->k.in.gpr[X86_RDI] = s->k.world->data + 0x500;
	if (random_below(4))
		s->k.code[n++] = random_below(2) ? 0xf2 : 0xf3;
	if (random_below(2))
		s->k.code[n++] = 0x48;
	s->k.code[n] = (uint8_t)(ops[random_below(5)] | random_below(2));
	return add(s);
}

static int add_mixed(struct sequence *s)
{
	return random_below(3) ? add_common(s) : add_any(s);
}

static void make_nothing(struct kase *k)
{
	k->insn = (struct x86_insn){0};
}

static void make_sequence(struct sequence *s, const struct live_kind *kind)
{
	static const struct kind plain = {"", make_nothing};
	unsigned want = 1 + random_below(kind->insns);

	case_make(&s->k, &plain);
	s->k.from = s->k.world->text + 0x1800;
	s->k.in.pc = s->k.from;
	s->n = s->len = 0;
	while (s->n < want)
		kind->add(s);
}

/* -- Trying -------------------------------------------------------------------
 */

static void disturb(struct machine *m, struct x86_live live)
{
	for (unsigned r = 0; r < 16; r++)
		if (!(live.gpr >> r & 1)) {
			m->gpr[r] = random_next();
			sum.gprs++;
		}
	for (unsigned f = 0; f < 12; f++)
		if (!(live.flags >> f & 1) && MACHINE_FLAGS >> f & 1) {
			m->flags ^= 1ull << f;
			sum.flags++;
		}
}

static const char *compare(const struct sequence *s, struct x86_live live,
			   const struct machine *first, const uint8_t *data,
			   const uint8_t *stack)
{
	struct machine in = s->k.in, out;
	const char *what;

	disturb(&in, live);
	world_load(&s->k);
	machine_run(&in, &out, NULL, NULL);
	sum.compared++;
	if (out.pc != first->pc)
		return "pc";
	what = machine_differs(&out, first);
	if (!what && memcmp((void *)s->k.world->data, data, PAGE) != 0)
		what = "data";
	if (!what && memcmp((void *)s->k.world->stack, stack, PAGE) != 0)
		what = "stack";
	return what;
}

/* Forwards and backwards must say the same of code that both see whole. */
static const char *ahead_differs(const struct sequence *s, struct x86_live back,
				 unsigned how)
{
	struct x86_text text = {(const uint8_t *)s->k.world->text,
				s->k.world->text, TEXT_LEN};
	struct x86_live whole, part, all = x86_live_all();

	whole = x86_live_ahead(&text, s->k.from, all, 200, how, NULL);
	part = x86_live_ahead(&text, s->k.from, all, s->n / 2, how, NULL);
	if (whole.gpr != back.gpr || whole.flags != back.flags)
		return "forward liveness";
	if (whole.gpr & ~part.gpr || whole.flags & ~part.flags)
		return "liveness cut short";
	return NULL;
}

static const char *try_sequence(struct sequence *s)
{
	static uint8_t data[PAGE], stack[PAGE];
	struct x86_live out[2][INSNS_MAX];
	struct machine first;
	const char *what = NULL;
	int safe = s->n == 1 && !x86_may_fault(&s->insns[0]);

	world_load(&s->k);
	machine_run(&s->k.in, &first, NULL, NULL);
	memcpy(data, (void *)s->k.world->data, PAGE);
	memcpy(stack, (void *)s->k.world->stack, PAGE);
	sum.cases++;
	sum.safe += (unsigned)safe;
	sum.faults += first.sig != SIGTRAP;
	if (safe && first.sig != SIGTRAP)
		return "an instruction that cannot fault";
	for (unsigned how = 0; how < 2 && !what; how++) {
		x86_live_run(s->insns, s->n, NULL, x86_live_all(), how,
			     out[how]);
		what = ahead_differs(s, out[how][0], how);
		if (!what &&
		    (how == X86_LIVE_AT_FAULTS || first.sig == SIGTRAP))
			what = compare(s, out[how][0], &first, data, stack);
	}
	return what;
}

static void complain(const struct sequence *s, const char *kind,
		     const char *what, unsigned long n)
{
	printf("# %s, case %lu: %s differs; %u instructions:", kind, n, what,
	       s->n);
	for (unsigned i = 0; i < s->len; i++)
		printf(" %02x", s->code[i]);
	puts("");
}

static const struct live_kind kinds_of_live[] = {
    {"one instruction", 1, add_any},   {"one on registers", 1, add_register},
    {"on registers", 4, add_register}, {"common", INSNS_MAX, add_common},
    {"string", 4, add_string},	       {"mixed", INSNS_MAX, add_mixed},
};
enum { KINDS = sizeof kinds_of_live / sizeof kinds_of_live[0] };

static int run_kind(unsigned number, unsigned long cases, uint64_t seed)
{
	static struct sequence s;
	const struct live_kind *kind = &kinds_of_live[number];
	unsigned failed = 0;

	memset(&sum, 0, sizeof sum);
	random_seed(seed * 1000 + number);
	for (unsigned long n = 0; n < cases && failed < 10; n++) {
		const char *what;

		make_sequence(&s, kind);
		case_text(&s.k, s.code, s.len);
		what = try_sequence(&s);
		case_text(&s.k, NULL, s.len);
		if (!what)
			continue;
		failed++;
		complain(&s, kind->name, what, n);
	}
	printf("%s %u - %s: %lu dead registers and %lu dead flags changed in "
	       "%lu runs, nothing noticed\n",
	       failed ? "not ok" : "ok", number + 1, kind->name, sum.gprs,
	       sum.flags, sum.compared);
	printf("# %lu cases, %lu faulted, %lu claimed that they cannot\n",
	       sum.cases, sum.faults, sum.safe);
	fflush(stdout);
	return failed ? -1 : 0;
}

static const char *name_of(unsigned number)
{
	return kinds_of_live[number].name;
}

int main(int argc, char **argv)
{
	const struct program p = {2000, KINDS, name_of, run_kind};

	return program_main(&p, argc, argv);
}
