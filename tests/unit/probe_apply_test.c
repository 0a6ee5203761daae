/* tests/unit/probe_apply_test.c - patches and trampolines, put into this very
 * process and executed.
 *
 * The truth is had by single-stepping: how often each instruction of some
 * functions runs. Then every one of them is probed at once, in whatever form
 * the plan chose, and each handler must be called exactly that often. */
#include "native/trampoline.h"
#include "site/body.h"
#include "site/plan.h"
#include "site/space.h"

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

/* -- What is probed -- */

#define PROBED                                              \
	__attribute__((section("probe_text"), noinline,     \
		       no_sanitize("address", "undefined"), \
		       no_instrument_function))

extern const uint8_t __start_probe_text[], __stop_probe_text[];

PROBED static uint64_t collatz(uint64_t n)
{
	uint64_t steps = 0;

	while (n > 1) {
		n = n & 1 ? 3 * n + 1 : n / 2;
		steps++;
	}
	return steps;
}

PROBED static uint64_t choose(uint64_t n)
{
	switch (n % 7) {
	case 0:
		return n + 3;
	case 1:
		return collatz(n) * 3;
	case 2:
		return n ^ 0x5555;
	case 3:
		return n << 7 | 1;
	case 4:
		return collatz(n + 1) + collatz(n + 2);
	case 5:
		return ~n;
	default:
		return n / 5;
	}
}

PROBED static uint64_t work(uint64_t n)
{
	volatile uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum = sum * 31 + choose(i);
	return sum;
}

/* Short instructions, a red zone in use across them, loop and jrcxz. */
uint64_t probe_short(uint64_t n);
uint64_t probe_inner(void);
__asm__(".pushsection probe_text,\"ax\",@progbits\n"
	".globl probe_short\n"
	"probe_short:\n"
	"	push %rbx\n"
	"	push %rbp\n"
	"	mov %rdi, -16(%rsp)\n"
	"	nop\n"
	"	cld\n"
	"	mov -16(%rsp), %rbx\n"
	"	pop %rbp\n"
	"	lea 1(%rbx), %rcx\n"
	"	xor %eax, %eax\n"
	"1:	inc %rax\n"
	"	loop 1b\n"
	"	jrcxz 2f\n"
	"	ud2\n"
	"2:	stc\n"
	"	adc $0, %rax\n"
	"	pop %rbx\n"
	"	ret\n"
	".globl probe_inner\n"
	"probe_inner:\n"
	"	push %rbx\n"
	"	pop %rbx\n"
	"	nop\n"
	"	mov $7, %eax\n"
	"	ret\n"
	".popsection\n");

static uint64_t all_of_it(void)
{
	return work(60) + probe_short(5) + probe_inner();
}

/* -- Hits -- */

enum { TEXT_MAX = 4096, PAGE = 4096 };

static uint32_t stepped[TEXT_MAX], fired[TEXT_MAX];
static uint64_t text_start, text_len;

static void on_step(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	uint64_t at = (uint64_t)u->uc_mcontext.gregs[REG_RIP] - text_start;

	(void)sig;
	(void)info;
	if (at < text_len)
		stepped[at]++;
}

static void handler(struct probe_frame *f, uint64_t cookie)
{
	if (f->pc == text_start + cookie)
		fired[cookie]++;
}

/* -- Patching this process -- */

static struct survey *survey;
static struct room *room;
static struct plan *plan;
static struct trampoline *built; /* one a patch */
static unsigned long traps;

static void begin(void)
{
	struct hark_err err;

	text_start = (uint64_t)(uintptr_t)__start_probe_text;
	text_len = (uint64_t)(__stop_probe_text - __start_probe_text);
	ck_assert_uint_lt(text_len, TEXT_MAX);
	ck_assert_int_eq(0, survey_of_bytes(__start_probe_text, text_start,
					    text_len, &survey, &err));
	ck_assert_int_eq(0, room_new(&room, &err));
	ck_assert_int_eq(
	    0, space_of_pid(getpid(), &(struct space_own){0}, room, &err));
}

/* The functions, one after the other; ends are not known, so all of it. */
static void look_at_all(void)
{
	uint64_t entry[] = {(uintptr_t)collatz, (uintptr_t)choose,
			    (uintptr_t)work, (uintptr_t)probe_short,
			    (uintptr_t)probe_inner};
	struct hark_err err;

	for (unsigned i = 0; i < 5; i++) {
		uint64_t end = text_start + text_len;

		for (unsigned k = 0; k < 5; k++)
			if (entry[k] > entry[i] && entry[k] < end)
				end = entry[k];
		ck_assert_int_eq(0,
				 survey_function(survey, entry[i], end, &err));
	}
	survey_padding(survey);
}

static void make_plan(void)
{
	struct former f = {survey, room, 0};
	struct hark_err err = {0};

	ck_assert_int_eq(0, plan_new(&f, &plan, &err));
	for (uint64_t a = text_start; a < text_start + text_len; a++)
		if (survey_at(survey, a) & SURVEY_START &&
		    !(survey_at(survey, a) & SURVEY_PAD))
			ck_assert_int_eq(0, plan_add(plan, a, &err));
	ck_assert_msg(plan_make(plan, &err) == 0, "%s", err.text);
}

static void map_at(uint64_t lo, uint64_t len)
{
	for (uint64_t p = lo & -(uint64_t)PAGE; p < lo + len; p += PAGE)
		mmap((void *)(uintptr_t)p, PAGE,
		     PROT_READ | PROT_WRITE | PROT_EXEC,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

static void build_one(const struct patch *p, struct trampoline *t)
{
	unsigned len = FORM_TRAMPOLINE * FORM_INSNS;
	uint64_t at = p->code;
	struct x86_buf out;
	struct trampoline_want want = {
	    .bytes = survey_bytes(survey, p->at),
	    .at = p->at,
	    .window = p->window,
	    .n = p->n,
	    .off = p->off,
	    .probed = p->probed,
	    .handler = (uint64_t)(uintptr_t)handler,
	};

	ck_assert_uint_ne(0, at);
	map_at(at, len);
	out = (struct x86_buf){.start = (uint8_t *)(uintptr_t)at,
			       .at = (uint8_t *)(uintptr_t)at,
			       .end = (uint8_t *)(uintptr_t)at + len,
			       .pc = at};
	for (unsigned k = 0; k < p->n; k++) {
		want.flags[k] = TRAMPOLINE_STATUS;
		want.cookie[k] = p->at + p->off[k] - text_start;
	}
	ck_assert_int_eq(X86_MOVE_OK, trampoline_build(&want, &out, t));
	ck_assert_uint_le(t->len, FORM_TRAMPOLINE *
				      (unsigned)__builtin_popcount(p->probed));
	t->at = at; /* where it is, for the handler of traps */
	if (p->entry != 0 && p->entry != p->code) {
		map_at(p->entry, FORM_SLOT);
		out = (struct x86_buf){.start = (uint8_t *)(uintptr_t)p->entry,
				       .at = (uint8_t *)(uintptr_t)p->entry,
				       .end = (uint8_t *)(uintptr_t)p->entry +
					      FORM_SLOT,
				       .pc = p->entry};
		emit_jmp_far(&out, p->code);
		ck_assert_int_eq(0, out.bad);
	}
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	uint64_t pc =
	    (uint64_t)u->uc_mcontext.gregs[REG_RIP] - (sig == SIGTRAP);

	(void)info;
	traps++;
	for (size_t i = 0; i < plan_count(plan); i++)
		for (unsigned k = 0; k < plan_get(plan, i)->n; k++)
			if (plan_get(plan, i)->at + plan_get(plan, i)->off[k] ==
			    pc) {
				u->uc_mcontext.gregs[REG_RIP] =
				    (greg_t)(built[i].at + built[i].resume[k]);
				return;
			}
	signal(sig, SIG_DFL);
}

static void catch (int sig, void (*how)(int, siginfo_t *, void *))
{
	struct sigaction a = {.sa_sigaction = how, .sa_flags = SA_SIGINFO};

	ck_assert_int_eq(0, sigaction(sig, &a, NULL));
}

static void put_bytes(int on)
{
	uint64_t lo = text_start & -(uint64_t)PAGE;

	ck_assert_int_eq(0, mprotect((void *)(uintptr_t)lo,
				     text_start + text_len - lo,
				     PROT_READ | PROT_WRITE | PROT_EXEC));
	for (size_t i = 0; i < plan_count(plan); i++) {
		const struct patch *p = plan_get(plan, i);

		memcpy((void *)(uintptr_t)p->at, on ? p->bytes : p->old,
		       p->len);
		if (p->hop != 0)
			memcpy((void *)(uintptr_t)p->hop,
			       on ? p->hop_bytes : p->hop_old, FORM_LEN);
	}
}

static void apply(void)
{
	built = calloc(plan_count(plan), sizeof *built);
	for (size_t i = 0; i < plan_count(plan); i++)
		build_one(plan_get(plan, i), &built[i]);
	catch (SIGTRAP, on_trap);
	catch (SIGILL, on_trap);
	put_bytes(1);
}

static void end(void)
{
	free(built);
	plan_free(plan);
	room_free(room);
	survey_free(survey);
}

/* -- Claims -- */

START_TEST(every_instruction_at_once_is_counted_exactly)
{
	uint64_t home, probed;

	begin();
	look_at_all();
	catch (SIGTRAP, on_step);
	__asm__ volatile("pushfq; orl $0x100, (%%rsp); popfq" ::: "memory");
	home = all_of_it();
	__asm__ volatile("pushfq; andl $~0x100, (%%rsp); popfq" ::: "memory");
	make_plan();
	apply();
	probed = all_of_it();
	put_bytes(0);
	ck_assert_uint_eq(home, probed);
	ck_assert_uint_eq(1, fired[(uintptr_t)work - text_start]);
	ck_assert_uint_eq(60, fired[(uintptr_t)choose - text_start]);
	ck_assert_mem_eq(survey->bytes, __start_probe_text, text_len);
	for (uint64_t i = 0; i < text_len; i++)
		ck_assert_msg(stepped[i] == fired[i],
			      "+0x%lx ran %u times, and was counted %u times",
			      (unsigned long)i, stepped[i], fired[i]);
	end();
}
END_TEST

START_TEST(who_comes_to_an_inner_instruction_goes_on_in_the_copy)
{
	struct former f;
	struct hark_err err;
	uint64_t entry = (uint64_t)(uintptr_t)probe_inner;
	const struct patch *p;
	unsigned k;

	begin();
	look_at_all();
	f = (struct former){survey, room, 0};
	ck_assert_int_eq(0, plan_new(&f, &plan, &err));
	ck_assert_int_eq(0, plan_add(plan, entry, &err));
	ck_assert_int_eq(0, plan_make(plan, &err));
	p = plan_find(plan, entry, &k);
	ck_assert_int_eq(FORM_JW, p->form);
	ck_assert_int_eq(4, p->n);
	ck_assert_int_eq(0xe, p->traps);
	apply();
	ck_assert_uint_eq(7, probe_inner());
	ck_assert_uint_eq(0, traps);
	/* Behind push and pop, where nobody is known to come. */
	ck_assert_uint_eq(7, ((uint64_t(*)(void))(uintptr_t)(entry + 2))());
	ck_assert_uint_eq(7, ((uint64_t(*)(void))(uintptr_t)(entry + 3))());
	ck_assert_uint_eq(2, traps);
	ck_assert_uint_eq(1, fired[entry - text_start]);
	put_bytes(0);
	end();
}
END_TEST

START_TEST(each_byte_that_should_trap_does)
{
	uint8_t *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(MAP_FAILED, code);
	for (unsigned i = 0; i < room_n_traps; i++) {
		pid_t pid;
		int status;

		code[0] = room_traps[i];
		code[1] = 0xc3;
		pid = fork();
		if (pid == 0) {
			signal(SIGTRAP, SIG_DFL);
			((void (*)(void))(uintptr_t)code)();
			_exit(0);
		}
		ck_assert_int_eq(pid, waitpid(pid, &status, 0));
		ck_assert(WIFSIGNALED(status));
		ck_assert(WTERMSIG(status) == SIGILL ||
			  WTERMSIG(status) == SIGTRAP);
	}
}
END_TEST

Suite *probe_apply_suite(void)
{
	Suite *s = suite_create("probe_apply");
	TCase *t = tcase_create("executed");

	tcase_add_test(t, every_instruction_at_once_is_counted_exactly);
	tcase_add_test(t,
		       who_comes_to_an_inner_instruction_goes_on_in_the_copy);
	tcase_add_test(t, each_byte_that_should_trap_does);
	suite_add_tcase(s, t);
	return s;
}
