/* tests/unit/engine_block_test.c - the shape of superblocks, B1 of block.h. */
#include "engine/block.h"

#include "engine_bench.h"

#include <check.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, STEPS = 2000 };

static struct guest_block block;
static uint8_t *page; /* the one behind it cannot be read */

static void open_page(void)
{
	page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(MAP_FAILED, page);
	ck_assert_int_eq(0, mprotect(page + PAGE, PAGE, PROT_NONE));
	memset(page, 0x90, PAGE);
	bench_open();
}

static void form(const uint8_t *at, uint64_t limit, unsigned flags)
{
	memset(&block, 0xaa, sizeof block); /* nothing of before is used */
	block_form(&block, (uint64_t)at,
		   &(struct block_how){.limit = limit, .flags = flags});
	ck_assert_uint_eq((uint64_t)at, block.pc);
	ck_assert_uint_ge(block.n, 1);
	ck_assert_uint_le(block.n, BLOCK_MAX);
	ck_assert_uint_le(block.have, sizeof block.bytes);
	ck_assert_mem_eq(at, block.bytes, block.have);
}

static unsigned last(void)
{
	return block.insns[block.n - 1].treat;
}

struct sample {
	uint8_t len, code[15];
	uint8_t treat;
};

/* nop; the sample; nops */
static void form_sample(const struct sample *s, unsigned flags)
{
	memset(page, 0x90, PAGE);
	memcpy(page + 1, s->code, s->len);
	form(page, (uint64_t)page + PAGE, flags);
	ck_assert_uint_eq(TREAT_COPY, block.insns[0].treat);
	ck_assert_uint_eq(1, block.insns[1].off);
	if (block.insns[1].treat != s->treat)
		ck_abort_msg("%02x %02x is treated as %u, should be %u",
			     s->code[0], s->code[1], block.insns[1].treat,
			     s->treat);
}

static const struct sample ends[] = {
    {2, {0xeb, 0x10}, TREAT_JMP},
    {5, {0xe9, 0, 0, 0, 0}, TREAT_JMP},
    {5, {0xe8, 0, 0, 0, 0}, TREAT_CALL},
    {1, {0xc3}, TREAT_RET},
    {3, {0xc2, 8, 0}, TREAT_RET},
    {2, {0xf3, 0xc3}, TREAT_RET},
    {2, {0xff, 0xe0}, TREAT_JMP_IND},
    {6, {0xff, 0x25, 0, 0, 0, 0}, TREAT_JMP_IND},
    {2, {0xff, 0xd0}, TREAT_CALL_IND},
    {3, {0x41, 0xff, 0xd2}, TREAT_CALL_IND},
    {2, {0x0f, 0x05}, TREAT_SYSCALL},
    {1, {0xcc}, TREAT_TRAP},
    {2, {0xcd, 0x80}, TREAT_TRAP},
    {1, {0xf1}, TREAT_TRAP},
    {2, {0x0f, 0x0b}, TREAT_TRAP},
    {1, {0xf4}, TREAT_TRAP},
    {2, {0xd9, 0x30}, TREAT_X87},	/* fnstenv */
    {3, {0x0f, 0xae, 0x00}, TREAT_X87}, /* fxsave */
    {3, {0x0f, 0xae, 0x20}, TREAT_X87}, /* xsave */
};

START_TEST(what_certainly_goes_elsewhere_ends_a_block)
{
	open_page();
	for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		form_sample(&ends[i], 0);
		ck_assert_uint_eq(2, block.n);
		ck_assert_uint_eq(1u + ends[i].len, block.len);
	}
}
END_TEST

static const struct sample steps[] = {
    {2, {0x48, 0xcf}, TREAT_STEP},	       /* iretq */
    {1, {0xcb}, TREAT_STEP},		       /* far ret */
    {2, {0xff, 0x28}, TREAT_STEP},	       /* far jmp */
    {2, {0x0f, 0x34}, TREAT_STEP},	       /* sysenter */
    {6, {0xc7, 0xf8, 0, 0, 0, 0}, TREAT_STEP}, /* xbegin */
    {2, {0x8e, 0xe8}, TREAT_STEP},	       /* mov gs, eax */
    {2, {0x8e, 0xe0}, TREAT_STEP},	       /* mov fs, eax */
    {2, {0x0f, 0xa9}, TREAT_STEP},	       /* pop gs */
    {3, {0x65, 0x8b, 0x00}, TREAT_STEP},       /* mov eax, gs:[rax] */
    {2, {0x65, 0xa4}, TREAT_STEP},	       /* movsb from gs */
    {3, {0x66, 0xff, 0xe0}, TREAT_STEP},       /* jmp: the makers disagree */
    {2, {0x66, 0x9d}, TREAT_STEP},	       /* popfw */
    {1, {0x06}, TREAT_STEP},		       /* none */
};

START_TEST(what_is_not_translated_ends_a_block_and_is_no_part_of_it)
{
	open_page();
	for (unsigned i = 0; i < sizeof steps / sizeof steps[0]; i++) {
		form_sample(&steps[i], 0);
		ck_assert_uint_eq(2, block.n);
		ck_assert_uint_eq(1, block.len);
	}
}
END_TEST

static const struct sample passes[] = {
    {2, {0x74, 0x10}, TREAT_JCC},
    {6, {0x0f, 0x8f, 0, 0, 0, 0}, TREAT_JCC},
    {2, {0xe2, 0xfe}, TREAT_LOOP},
    {2, {0xe3, 0x10}, TREAT_LOOP},
    {3, {0x67, 0xe3, 0x10}, TREAT_LOOP},
    {4, {0xf3, 0x0f, 0xae, 0xc0}, TREAT_COPY}, /* rdfsbase */
    {4, {0xf3, 0x0f, 0xae, 0xc8}, TREAT_RDGS},
    {1, {0x9d}, TREAT_POPF},
    {1, {0x9c}, TREAT_COPY},
    {2, {0x65, 0x90}, TREAT_COPY},	 /* gs, but no memory */
    {3, {0x64, 0x8b, 0x00}, TREAT_COPY}, /* fs is the program's */
    {2, {0x0f, 0xa2}, TREAT_COPY},	 /* cpuid */
    {3, {0x0f, 0xae, 0x08}, TREAT_COPY}, /* fxrstor */
    {2, {0xf3, 0xa4}, TREAT_COPY},
};

START_TEST(all_else_goes_on)
{
	open_page();
	for (unsigned i = 0; i < sizeof passes / sizeof passes[0]; i++) {
		form_sample(&passes[i], 0);
		ck_assert_uint_eq(BLOCK_MAX, block.n);
		ck_assert_uint_eq(1u + passes[i].len + BLOCK_MAX - 2,
				  block.len);
	}
}
END_TEST

START_TEST(popf_is_a_step_on_demand)
{
	const struct sample popf = {1, {0x9d}, TREAT_STEP};

	open_page();
	form_sample(&popf, BLOCK_STEPS_POPF);
	ck_assert_uint_eq(2, block.n);
	ck_assert_uint_eq(1, block.len);
}
END_TEST

START_TEST(no_block_has_more_than_its_maximum_of_the_longest_instructions)
{
	open_page();
	for (unsigned i = 0; i < 60; i++) {
		memset(page + X86_MAX_LEN * i, 0x66, X86_MAX_LEN - 1);
		page[X86_MAX_LEN * i + X86_MAX_LEN - 1] = 0x90;
	}
	form(page, (uint64_t)page + PAGE, 0);
	ck_assert_uint_eq(BLOCK_MAX, block.n);
	ck_assert_uint_eq(BLOCK_BYTES, block.len);
}
END_TEST

START_TEST(an_instruction_that_the_limit_cuts_is_a_step)
{
	static const uint8_t code[] = {0x90, 0x48, 0xb8, 1, 2, 3,
				       4,    5,	   6,	 7, 8};

	open_page();
	memcpy(page, code, sizeof code);
	page[sizeof code] = 0xc3;
	for (unsigned cut = 1; cut <= sizeof code; cut++) {
		form(page, (uint64_t)page + cut, 0);
		ck_assert_uint_eq(cut == sizeof code ? 3 : 2, block.n);
		ck_assert_uint_eq(TREAT_STEP, last());
		ck_assert_uint_eq(cut == sizeof code ? cut : 1, block.len);
		ck_assert_uint_eq(cut, block.have);
	}
	form(page, (uint64_t)page + sizeof code + 1, 0);
	ck_assert_uint_eq(TREAT_RET, last());
}
END_TEST

START_TEST(a_page_that_cannot_be_read_is_a_limit_too)
{
	struct guest_block want;

	open_page();
	for (unsigned before = 0; before <= 300; before++) {
		const uint8_t *at = page + PAGE - before;

		form(at, (uint64_t)page + PAGE, 0);
		want = block;
		form(at, (uint64_t)page + 2 * PAGE, 0);
		ck_assert_uint_eq(want.n, block.n);
		ck_assert_uint_eq(want.len, block.len);
		ck_assert_uint_eq(want.have, block.have);
		ck_assert_uint_eq(before < BLOCK_MAX ? TREAT_STEP : TREAT_COPY,
				  last());
	}
}
END_TEST

static const struct sample stores[] = {
    {2, {0x89, 0x00}, TREAT_COPY},		     /* mov [rax], eax */
    {2, {0x01, 0x00}, TREAT_COPY},		     /* add [rax], eax */
    {1, {0x50}, TREAT_COPY},			     /* push rax */
    {2, {0x6a, 0x00}, TREAT_COPY},		     /* push 0 */
    {1, {0xab}, TREAT_COPY},			     /* stosd */
    {2, {0xf3, 0xa4}, TREAT_COPY},		     /* rep movsb */
    {3, {0x0f, 0x11, 0x00}, TREAT_COPY},	     /* movups [rax], xmm0 */
    {3, {0x0f, 0x94, 0x00}, TREAT_COPY},	     /* sete [rax] */
    {4, {0xc8, 16, 0, 0}, TREAT_COPY},		     /* enter */
    {9, {0xa2, 0, 0, 0, 0, 0, 0, 0, 0}, TREAT_COPY}, /* mov [moffs], al */
};

START_TEST(a_store_ends_a_block_on_demand)
{
	open_page();
	for (unsigned i = 0; i < sizeof stores / sizeof stores[0]; i++) {
		form_sample(&stores[i], BLOCK_ENDS_AT_STORES);
		if (block.n != 2)
			ck_abort_msg("%02x does not end it", stores[i].code[0]);
		ck_assert_uint_eq(1u + stores[i].len, block.len);
		form_sample(&stores[i], 0);
		ck_assert_uint_eq(BLOCK_MAX, block.n);
	}
}
END_TEST

START_TEST(a_store_through_rsp_does_not_if_the_stack_is_apart)
{
	static const struct sample through_rsp[] = {
	    {1, {0x50}, TREAT_COPY},		    /* push rax */
	    {2, {0x6a, 0x00}, TREAT_COPY},	    /* push 0 */
	    {4, {0x89, 0x44, 0x24, 8}, TREAT_COPY}, /* mov [rsp + 8], eax */
	};
	const struct sample other = {2, {0x89, 0x00}, TREAT_COPY};
	unsigned flags = BLOCK_ENDS_AT_STORES | BLOCK_STACK_APART;

	open_page();
	for (unsigned i = 0; i < 3; i++) {
		form_sample(&through_rsp[i], BLOCK_ENDS_AT_STORES);
		ck_assert_uint_eq(2, block.n);
		form_sample(&through_rsp[i], flags);
		ck_assert_uint_eq(BLOCK_MAX, block.n);
	}
	form_sample(&other, flags);
	ck_assert_uint_eq(2, block.n);
}
END_TEST

START_TEST(a_load_does_not)
{
	static const struct sample loads[] = {
	    {2, {0x8b, 0x00}, TREAT_COPY},	 /* mov eax, [rax] */
	    {1, {0x58}, TREAT_COPY},		 /* pop rax */
	    {2, {0x39, 0x00}, TREAT_COPY},	 /* cmp [rax], eax */
	    {2, {0x89, 0xc0}, TREAT_COPY},	 /* mov eax, eax */
	    {3, {0x48, 0x8d, 0x00}, TREAT_COPY}, /* lea rax, [rax] */
	    {1, {0xac}, TREAT_COPY},		 /* lodsb */
	    {1, {0xa7}, TREAT_COPY},		 /* cmpsd */
	};

	open_page();
	for (unsigned i = 0; i < sizeof loads / sizeof loads[0]; i++) {
		form_sample(&loads[i], BLOCK_ENDS_AT_STORES);
		ck_assert_uint_eq(BLOCK_MAX, block.n);
	}
}
END_TEST

static void same_shape(const struct guest_block *a, const struct guest_block *b)
{
	if (a->n != b->n || a->len != b->len)
		ck_abort_msg("%u instructions, %u bytes; or %u, %u", a->n,
			     a->len, b->n, b->len);
	for (unsigned i = 0; i < a->n; i++)
		if (a->insns[i].off != b->insns[i].off ||
		    a->insns[i].treat != b->insns[i].treat ||
		    (i + 1 < a->n && a->insns[i].x.len != b->insns[i].x.len))
			ck_abort_msg("instruction %u differs", i);
}

/* What is behind the bytes that were looked at, where the limit is, and what
 * the memory held before: none of it matters. */
START_TEST(the_shape_depends_on_the_code_alone)
{
	uint64_t seed = 1;

	open_page();
	for (unsigned i = 0; i < STEPS; i++) {
		unsigned flags = (unsigned)(bench_random(&seed) & 3);
		struct guest_block want;
		unsigned end;

		for (unsigned k = 0; k < PAGE / 4; k++)
			page[k] = (uint8_t)(bench_random(&seed) >> 30);
		form(page, (uint64_t)page + PAGE, flags);
		want = block;
		end = want.seen;
		ck_assert_uint_ge(end, want.len);
		ck_assert_uint_le(end, want.len + X86_MAX_LEN);
		form(page, (uint64_t)page + end, flags);
		same_shape(&want, &block);
		memset(page + end, 0x5a, 64);
		form(page, (uint64_t)page + PAGE, flags);
		same_shape(&want, &block);
	}
}
END_TEST

Suite *engine_block_suite(void)
{
	Suite *s = suite_create("engine_block");
	TCase *t = tcase_create("shape");

	tcase_add_test(t, what_certainly_goes_elsewhere_ends_a_block);
	tcase_add_test(
	    t, what_is_not_translated_ends_a_block_and_is_no_part_of_it);
	tcase_add_test(t, all_else_goes_on);
	tcase_add_test(t, popf_is_a_step_on_demand);
	tcase_add_test(
	    t, no_block_has_more_than_its_maximum_of_the_longest_instructions);
	tcase_add_test(t, an_instruction_that_the_limit_cuts_is_a_step);
	tcase_add_test(t, a_page_that_cannot_be_read_is_a_limit_too);
	tcase_add_test(t, a_store_ends_a_block_on_demand);
	tcase_add_test(t, a_store_through_rsp_does_not_if_the_stack_is_apart);
	tcase_add_test(t, a_load_does_not);
	tcase_add_test(t, the_shape_depends_on_the_code_alone);
	suite_add_tcase(s, t);
	return s;
}
