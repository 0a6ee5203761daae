/* tests/unit/native_step_test.c - a signal at every single instruction of
 * a probe. */
#include "native/home.h"
#include "native_program.h"

#include <check.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* In native.S: where C is called. */
extern const uint8_t native_hook_call[];

static uint32_t step_done[4];
static uint64_t step_sum;

PROGRAM static void steps_trap(void)
{
	step_sum = program_trap(2, step_done);
	if (step_done[0] != 1 || step_done[1] != 1 || step_sum != 1 ||
	    program_probe[0].hits != 2)
		_exit(10);
}

PROGRAM static void steps_jump(void)
{
	step_sum = program_jump(2, step_done);
	if (step_done[0] != 1 || step_done[1] != 1 || step_sum != 1 ||
	    program_probe[1].hits != 2)
		_exit(10);
}

enum { COUNTED = 4 };

/* What the probe has counted by itself: .counted of its slot. */
PROGRAM static uint64_t counted(void)
{
	uint64_t sum = 0, n;

	for (unsigned i = 0; i < STAND_IN_AREAS; i++) {
		memcpy(&n,
		       (const uint8_t *)&stand_in_areas[i] + STAND_IN_PART +
			   STAND_IN_SLOT +
			   offsetof(struct collect_slot, counted),
		       sizeof n);
		sum += n;
	}
	return sum;
}

/* The first hit is the handler's, the others count by themselves. Handlers may
 * have hit it, too. */
PROGRAM static void check_counted(uint64_t more)
{
	for (unsigned i = 0; i < COUNTED; i++)
		if (step_done[i] != 1)
			_exit(10);
	if (step_sum != COUNTED * (COUNTED - 1) / 2)
		_exit(11);
	if (program_probe[1].hits + counted() != COUNTED + more)
		_exit(12);
	if (counted() < 2)
		_exit(13);
}

PROGRAM static void steps_count(void)
{
	step_sum = program_jump(COUNTED, step_done);
	check_counted(0);
}

static uint32_t nested_done[2];
static volatile uint64_t nested, is_over;

PROGRAM static void see_and_count(int sig, siginfo_t *info, void *context)
{
	if (!is_over) {
		nested += 2;
		if (program_jump(2, nested_done) != 1)
			_exit(14);
	}
	program_see(sig, info, context);
}

PROGRAM static void steps_nested(void)
{
	step_sum = program_jump(COUNTED, step_done);
	is_over = 1;
	check_counted(nested);
}

/* The direction flag is the program's wherever the program is shown to be. */
PROGRAM static void steps_down(void)
{
	enum { DF = 0x400 };
	uint64_t flags = 0,
		 in = (uint64_t)program_down - (uint64_t)program_jump;

	step_sum = program_down(2, step_done, &flags);
	if (step_done[0] != 1 || step_done[1] != 1 || step_sum != 1 ||
	    program_probe[1].hits != 2)
		_exit(10);
	if (!(flags & DF))
		_exit(11);
	if (seen.rip - (uint64_t)program_jump < in && !(seen.flags & DF))
		_exit(12);
}

PROGRAM static void steps_mask(void)
{
	if (program_mask(SIG_BLOCK, BIT(SIGTRAP) | BIT(SIGHUP)) != 0)
		_exit(10);
	if (program_mask(SIG_SETMASK, 0) != (BIT(SIGTRAP) | BIT(SIGHUP)))
		_exit(11);
}

PROGRAM static void steps_action(void)
{
	program_set_action(SIGHUP, program_see, 0);
	if (program_get_action(SIGHUP).handler != program_see)
		_exit(10);
}

PROGRAM static void steps_taken(void)
{
	uint64_t taken = 0;

	if (program_taken(4, &taken) != 4 || taken != 2 ||
	    program_probe[3].hits != 2)
		_exit(10);
}

PROGRAM static void steps_suspend(void)
{
	uint64_t set = BIT(SIGHUP);

	program_mask(SIG_BLOCK, BIT(SIGUSR2));
	program_send(SIGUSR2);
	if (program_call(SYS_rt_sigsuspend, (uint64_t)&set, 8, 0, 0, 0) !=
	    -EINTR)
		_exit(10);
	if (program_mask(SIG_BLOCK, 0) != BIT(SIGUSR2))
		_exit(11);
}

static void steps_child(void (*f)(void), uint64_t want)
{
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	f();
	if (seen.n != want || seen.ours != 0)
		_exit(20 + (int)(seen.ours * 10 + seen.n));
	_exit(0);
}

/* A thread that is stepped through. Not where SIGTRAP is blocked: a step there
 * makes the kernel forget the handler of it. */
struct stepped {
	pid_t pid;
	int status;
	int planted;  /* stopped by a trap of run_to() */
	uint64_t top; /* of its stack, in f */
	struct user_regs_struct regs;
};

static void go_on(struct stepped *s, int request, int sig)
{
	ptrace(request, s->pid, 0, sig);
	waitpid(s->pid, &s->status, 0);
	s->planted = 0;
	ptrace(PTRACE_GETREGS, s->pid, 0, &s->regs);
}

static int is_trap(const struct stepped *s)
{
	siginfo_t info = {0};

	ptrace(PTRACE_GETSIGINFO, s->pid, 0, &info);
	return WSTOPSIG(s->status) == SIGTRAP && info.si_code == SI_KERNEL &&
	       !s->planted;
}

static uint64_t peek(const struct stepped *s, uint64_t at)
{
	return (uint64_t)ptrace(PTRACE_PEEKDATA, s->pid, at, 0);
}

static void run_to(struct stepped *s, uint64_t at, int sig)
{
	uint64_t word = peek(s, at);

	ptrace(PTRACE_POKEDATA, s->pid, at, (word & ~255ull) | 0xcc);
	do {
		go_on(s, PTRACE_CONT, sig);
		sig = WSTOPSIG(s->status);
	} while (WIFSTOPPED(s->status) && !is_trap(s));
	if (!WIFSTOPPED(s->status))
		return;
	ck_assert_uint_eq(at + 1, s->regs.rip);
	ptrace(PTRACE_POKEDATA, s->pid, at, word);
	s->regs.rip = at;
	ptrace(PTRACE_SETREGS, s->pid, 0, &s->regs);
	s->planted = 1;
}

/* Are all signals about to be blocked by the image? */
static int will_block(const struct stepped *s)
{
	return program_is_in_image(s->regs.rip) &&
	       memcmp((const void *)s->regs.rip, "\x0f\x05", 2) == 0 &&
	       s->regs.rax == 14 && s->regs.rdi == SIG_SETMASK &&
	       peek(s, s->regs.rsi) == ~0ull;
}

/* 0: it has left f, or something waits. */
static int step(struct stepped *s)
{
	enum { CALL_LEN = 5 };

	if (WSTOPSIG(s->status) != SIGTRAP) {
		go_on(s, PTRACE_SINGLESTEP, WSTOPSIG(s->status));
	} else if (will_block(s)) {
		if ((uint32_t)peek(s, (uint64_t)native_home() +
					  NATIVE_WAITING) != 0)
			return 0;
		run_to(s, (uint64_t)native_hook_call + CALL_LEN, 0);
	} else if (is_trap(s)) {
		uint64_t resume = program_resume_of(s->regs.rip - 1);

		if (resume != 0)
			run_to(s, resume, SIGTRAP);
	} else {
		go_on(s, PTRACE_SINGLESTEP, 0);
	}
	return WIFSTOPPED(s->status) && s->regs.rsp <= s->top;
}

static void finish(struct stepped *s, int sig)
{
	int with = WSTOPSIG(s->status);

	if (with != SIGTRAP || is_trap(s) || sig == SIGTRAP) {
		kill(s->pid, sig); /* what is about to come comes first */
		go_on(s, PTRACE_CONT, with != SIGTRAP || is_trap(s) ? with : 0);
	} else {
		go_on(s, PTRACE_CONT, sig);
	}
	while (WIFSTOPPED(s->status))
		go_on(s, PTRACE_CONT, WSTOPSIG(s->status));
}

/* -- What was stepped through before -- */

/* What f executes after so many instructions: it runs up to one of the last of
 * them, where a trap is planted, and is stepped from there. Else time would
 * grow by the square. Who has not come the same way is stepped from the
 * beginning. */
enum { TRAIL = 1 << 12, NEAR = 16, TIMES = 8 };
static struct place {
	uint64_t rip, rsp; /* rip is 0 where a signal is about to come */
	int is_unfit;	   /* for a trap */
} trail[TRAIL];
static unsigned n_trail;
/* Not where SIGTRAP is blocked on the way: see above. */
static int may_skip = 1;

static int is_at(const struct stepped *s, const struct place *p)
{
	return WIFSTOPPED(s->status) && s->regs.rip == p->rip &&
	       s->regs.rsp == p->rsp;
}

/* 0: it was somewhere else the last time. */
static int follow(const struct stepped *s, unsigned i)
{
	if (i < n_trail)
		return trail[i].rip == 0 || is_at(s, &trail[i]);
	if (n_trail == TRAIL)
		return 1;
	trail[n_trail++] =
	    WSTOPSIG(s->status) == SIGTRAP && !is_trap(s)
		? (struct place){s->regs.rip, s->regs.rsp, will_block(s)}
		: (struct place){0};
	return 1;
}

/* How often it was there by then. */
static unsigned times_at(uint64_t rip, unsigned until)
{
	unsigned n = 0;

	for (unsigned i = 0; i <= until; i++)
		n += trail[i].rip == rip;
	return n;
}

/* The last place but a few before k that it can run to; 0 if there is none. */
static unsigned place_before(unsigned k)
{
	unsigned last = k < n_trail ? k : n_trail;

	for (unsigned n = 1; n <= NEAR && n < last; n++)
		if (trail[last - n].rip != 0 && !trail[last - n].is_unfit &&
		    times_at(trail[last - n].rip, last - n) <= TIMES)
			return last - n;
	return 0;
}

/* To its next time at that place: what is in between runs as ever. */
static int skip_to(struct stepped *s, const struct place *p)
{
	uint64_t word = peek(s, p->rip);
	int with = WSTOPSIG(s->status);
	int sig = with != SIGTRAP || is_trap(s) ? with : 0;

	ptrace(PTRACE_POKEDATA, s->pid, p->rip, (word & ~255ull) | 0xcc);
	do {
		go_on(s, PTRACE_CONT, sig);
		sig = WSTOPSIG(s->status);
	} while (WIFSTOPPED(s->status) &&
		 !(is_trap(s) && s->regs.rip == p->rip + 1));
	if (!WIFSTOPPED(s->status))
		return 0;
	ptrace(PTRACE_POKEDATA, s->pid, p->rip, word);
	s->regs.rip = p->rip;
	ptrace(PTRACE_SETREGS, s->pid, 0, &s->regs);
	s->planted = 1;
	return is_at(s, p);
}

/* To the place that it is at after i instructions. */
static int skip(struct stepped *s, unsigned i)
{
	unsigned n = 0;

	for (; trail[n].rip != trail[i].rip; n++)
		;
	while (n < i) {
		if (!skip_to(s, &trail[n]) || !step(s))
			return 0;
		do
			n++;
		while (trail[n].rip != trail[i].rip);
	}
	return skip_to(s, &trail[i]);
}

/* Until k instructions of f are done. *more: they were not its last. 0: it has
 * not gone the way that it went before. */
static int step_on(struct stepped *s, unsigned k, int skips, int *more)
{
	unsigned from = skips ? place_before(k) : 0;

	*more = 1;
	if (from > 0 && !skip(s, from)) {
		trail[from].is_unfit = 1;
		return 0;
	}
	for (unsigned i = from; i < k && *more; i++) {
		if (!follow(s, i) && skips) {
			trail[from].is_unfit = 1;
			return 0;
		}
		*more = step(s);
	}
	return 1;
}

static int begin_and_step(struct stepped *s, void (*f)(void), uint64_t want,
			  unsigned k, int skips, int *more)
{
	*s = (struct stepped){.pid = fork()};
	if (s->pid == 0)
		steps_child(f, want);
	waitpid(s->pid, &s->status, 0);
	run_to(s, (uint64_t)f, 0);
	s->top = s->regs.rsp;
	return step_on(s, k, skips, more);
}

/* The signal comes after k instructions of f. 0: there are no more. */
static int step_and_signal(void (*f)(void), uint64_t want, int sig, unsigned k,
			   int *status)
{
	struct stepped s;
	int more;

	if (!begin_and_step(&s, f, want, k, may_skip, &more)) {
		if (WIFSTOPPED(s.status)) {
			kill(s.pid, SIGKILL);
			waitpid(s.pid, &s.status, 0);
		}
		begin_and_step(&s, f, want, k, 0, &more);
	}
	if (more)
		finish(&s, sig);
	else
		kill(s.pid, SIGKILL);
	if (!more && WIFSTOPPED(s.status))
		waitpid(s.pid, &s.status, 0);
	*status = s.status;
	return more;
}

/* A sanitized program makes more of them, and its own are not the point. */
#ifdef __SANITIZE_ADDRESS__
enum { RARER = 5 };
#else
enum { RARER = 1 };
#endif

/* At every instruction, or every one of so many. */
static void everywhere_as(void (*f)(void), uint64_t own, int sig,
			  unsigned every,
			  void (*handler)(int, siginfo_t *, void *))
{
	unsigned k = 0;
	int status;

	n_trail = 0;
	program_set_action(SIGUSR1, handler, 0);
	program_set_action(SIGUSR2, program_see, 0);
	program_set_action(SIGTRAP, program_see, 0);
	while (step_and_signal(f, own + 1, sig, k, &status)) {
		ck_assert_msg(status == 0, "after %u instructions: status 0x%x",
			      k, status);
		k += every * RARER;
	}
	ck_assert_uint_gt(k, 200);
}

static void everywhere(void (*f)(void), uint64_t own, int sig, unsigned every)
{
	everywhere_as(f, own, sig, every, program_see);
}

START_TEST(a_signal_may_come_at_any_instruction_of_a_trap)
{
	program_begin();
	program_put_all();
	everywhere(steps_trap, 0, SIGUSR1, 1);
}
END_TEST

START_TEST(a_signal_may_come_at_any_instruction_of_a_jump)
{
	program_begin();
	program_put_all();
	everywhere(steps_jump, 0, SIGUSR1, 1);
	everywhere(steps_jump, 0, SIGTRAP, 3);
}
END_TEST

START_TEST(a_signal_may_come_at_any_instruction_of_a_count)
{
	program_begin();
	program_put(program_trap_at, 3, AS_TRAP);
	program_put(program_jump_at, 7, AS_COUNT);
	program_put(program_call_at, 2, AS_TRAP | AS_HOOK | UNPROBED);
	everywhere(steps_count, 0, SIGUSR1, 1);
	everywhere(steps_count, 0, SIGTRAP, 3);
	everywhere_as(steps_nested, 0, SIGUSR1, 1, see_and_count);
}
END_TEST

START_TEST(a_signal_may_come_while_the_direction_flag_is_set)
{
	program_begin();
	program_put(program_trap_at, 3, AS_TRAP);
	program_put(program_jump_at, 7, AS_DOWN);
	program_put(program_call_at, 2, AS_TRAP | AS_HOOK | UNPROBED | AS_DOWN);
	everywhere(steps_down, 0, SIGUSR1, 1);
}
END_TEST

START_TEST(a_signal_may_come_at_any_instruction_of_a_hooked_call)
{
	program_begin();
	program_put_all();
	may_skip = 0;
	everywhere(steps_mask, 0, SIGUSR1, 7);
	everywhere(steps_action, 0, SIGUSR1, 11);
	may_skip = 1;
}
END_TEST

START_TEST(a_signal_may_come_at_any_instruction_of_a_wait)
{
	program_begin();
	program_put_all();
	everywhere(steps_suspend, 1, SIGUSR1, 23);
}
END_TEST

START_TEST(a_signal_may_come_at_any_instruction_of_a_taken_jump)
{
	program_begin();
	program_put_all();
	program_put(program_taken_at, 2, AS_TRAP | AS_TAKEN);
	everywhere(steps_taken, 0, SIGUSR1, 2);
}
END_TEST

Suite *native_step_suite(void)
{
	Suite *s = suite_create("native_step");
	TCase *t = tcase_create("steps");

	tcase_add_test(t, a_signal_may_come_at_any_instruction_of_a_trap);
	tcase_add_test(t, a_signal_may_come_at_any_instruction_of_a_jump);
	tcase_add_test(t, a_signal_may_come_at_any_instruction_of_a_count);
	tcase_add_test(t, a_signal_may_come_while_the_direction_flag_is_set);
	tcase_add_test(t,
		       a_signal_may_come_at_any_instruction_of_a_hooked_call);
	tcase_add_test(t, a_signal_may_come_at_any_instruction_of_a_wait);
	tcase_add_test(t, a_signal_may_come_at_any_instruction_of_a_taken_jump);
	suite_add_tcase(s, t);
	return s;
}
