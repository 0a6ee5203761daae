/* tests/lossless/main.c - what probes promise, the same on every machine.
 *
 * Names are compared between machines by tests/end-to-end/lossless.sh. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lossless/check.h"
#include "lossless/work.h"

enum { MAX_PROBES = 40000, MAX_SITES = 20000 };

static void rest(long us)
{
	nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

static int made(int probe, const struct hark_err *err)
{
	if (probe < 0)
		fault("%s", err->text);
	return probe;
}

/* -- Instructions ---------------------------------------------------------- */

static void plain_alone(void)
{
	check_each_alone(PLAIN, PART_ALL);
}
static void plain_all(void)
{
	check_all_at_once(PLAIN, PART_ALL, 1);
}
static void plain_threads(void)
{
	check_all_at_once(PLAIN, PART_ALL, THREADS);
}
static void branches_alone(void)
{
	check_all_at_once(BRANCHES, PART_BRANCH, 1);
}
static void branches_behind(void)
{
	check_all_at_once(BRANCHES, PART_BEHIND, 1);
}
static void branches_both(void)
{
	check_all_at_once(BRANCHES, PART_ALL, 1);
}
static void branches_threads(void)
{
	check_all_at_once(BRANCHES, PART_ALL, THREADS);
}
static void each_and_all(enum family family)
{
	check_each_alone(family, PART_ALL);
	check_all_at_once(family, PART_BRANCH, 1);
	check_all_at_once(family, PART_BRANCH | PART_BEHIND, 1);
	check_all_at_once(family, PART_ALL, THREADS);
}
static void calls(void)
{
	each_and_all(CALLS);
}
static void couples(void)
{
	check_all_at_once(COUPLES, PART_BRANCH, 1);
	check_all_at_once(COUPLES, PART_BEHIND, 1);
	check_all_at_once(COUPLES, PART_ALL, THREADS);
}
static void pc_values(void)
{
	each_and_all(PC_VALUES);
}
static void frames(void)
{
	each_and_all(FRAMES);
}
static void system_calls(void)
{
	each_and_all(SYSTEM_CALLS);
}

static void refused(void)
{
	unsigned len, n = 0;
	const char *name;
	struct hark_err err;

	for (;; n++) {
		uint8_t *code = code_room(16), copy[16];

		name = gen_refused(n, code, &len);
		if (name == NULL)
			break;
		memcpy(copy, code, 16);
		err.text[0] = 0;
		if (lossless_entry(code, &err) >= 0)
			fault("%s was not refused", name);
		if (strstr(err.text, ": ") == NULL)
			fault("%s: no reason: '%s'", name, err.text);
		CHECK(memcmp(copy, code, 16) == 0);
	}
	CHECK(n > 5);
	CHECK(lossless_offset(work_function(0), 16, 1, &err) < 0 ||
	      lossless_offset(work_function(0), 16, 2, &err) < 0);
	CHECK(lossless_offset(work_function(0), 16, 16, &err) < 0);
	CHECK(lossless_return(work_function(0), 0, &err) < 0);
	CHECK(lossless_on(MAX_PROBES + 1, &err) < 0);
	CHECK(lossless_on(-1, &err) < 0);
	CHECK(lossless_open(1, 1, &err) < 0);
}

/* -- Functions ------------------------------------------------------------- */

struct caller {
	pthread_t id;
	unsigned number;
	int entry[FUNCTIONS], leave[FUNCTIONS], inner;
};

/* number + 1 rounds: every thread has counts of its own. */
static void *call_functions(void *arg)
{
	/* In one round: of the recursive one 1 + 2 + ... + 11, of the others
	 * 11, and 5 of theirs, less than half, end in the last one. */
	static const unsigned hits[FUNCTIONS] = {
	    [RECURSIVE] = 66, [TAIL] = 11,	[TAIL_FRAME] = 11,
	    [TAIL_IF] = 11,   [TAIL_JUMP] = 11, [TAIL_LINKED] = 11,
	    [OTHER] = 25};
	struct caller *c = arg;
	unsigned rounds = c->number + 1, self;

	for (uint64_t i = 0; i < 11 * rounds; i++) {
		uint64_t n = i % 11;

		CHECK(gen_function(RECURSIVE).call(n) == n + 1);
		for (enum function f = TAIL; f < OTHER; f++)
			CHECK(gen_function(f).call(n) == (n & 1 ? n + 100 : n));
	}
	self = (unsigned)lossless_self();
	for (enum function f = 0; f < FUNCTIONS; f++) {
		uint64_t in = lossless_thread_count(c->entry[f], self);
		uint64_t out = lossless_thread_count(c->leave[f], self);

		if (in != hits[f] * rounds || out != in)
			fault("function %u: %u calls, %lu entries, %lu returns",
			      f, hits[f] * rounds, (unsigned long)in,
			      (unsigned long)out);
	}
	CHECK(lossless_thread_count(c->inner, self) ==
	      hits[RECURSIVE] * rounds);
	return NULL;
}

/* The second instruction of a function. */
static int second_of(const struct gen_function *f, struct hark_err *err)
{
	int probe = -1;

	for (unsigned offset = 1; probe < 0 && offset < f->len; offset++)
		probe = lossless_offset(f->start, f->len, offset, err);
	return probe;
}

static void functions(void)
{
	struct gen_function recursive = gen_function(RECURSIVE);
	struct caller callers[THREADS], c = {0};
	struct hark_err err;
	unsigned before;

	c.inner = made(second_of(&recursive, &err), &err);
	on(c.inner);
	for (enum function i = 0; i < FUNCTIONS; i++) {
		struct gen_function f = gen_function(i);

		c.entry[i] = made(lossless_entry(f.start, &err), &err);
		c.leave[i] = made(lossless_return(f.start, f.len, &err), &err);
		on(c.entry[i]);
		on(c.leave[i]);
	}
	before = lossless_threads();
	for (unsigned i = 0; i < THREADS; i++) {
		callers[i] = c;
		callers[i].number = i;
		pthread_create(&callers[i].id, NULL, call_functions,
			       &callers[i]);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(callers[i].id, NULL);
	CHECK(lossless_threads() == before + THREADS);
	off(c.inner);
	for (enum function i = 0; i < FUNCTIONS; i++) {
		off(c.entry[i]);
		off(c.leave[i]);
	}
	recursive.call(3);
	CHECK(lossless_count(c.entry[RECURSIVE]) == 66 * (1 + 2 + 3 + 4));
}

/* Two at one address: each counts while it is on. */
static void two_at_one(void)
{
	struct gen_function f = gen_function(OTHER);
	struct hark_err err;
	int a = made(lossless_entry(f.start, &err), &err);
	int b = made(lossless_offset(f.start, f.len, 0, &err), &err);

	on(a);
	f.call(1);
	on(b);
	on(b);
	f.call(1);
	off(a);
	f.call(1);
	off(b);
	f.call(1);
	CHECK(lossless_count(a) == 2);
	CHECK(lossless_count(b) == 2);
}

/* -- Compiled code --------------------------------------------------------- */

enum { WORK_PROBES = 4000, WORK_ROUNDS = 4 };
static int work_probes[WORK_PROBES];
static unsigned n_work_probes;

static void probe_work(void)
{
	unsigned len = (unsigned)(work_end() - work_start());
	struct hark_err err;

	for (unsigned o = 0; o < len && n_work_probes < WORK_PROBES; o++) {
		int p = lossless_offset(work_start(), len, o, &err);

		if (p >= 0)
			work_probes[n_work_probes++] = p;
		else if (err.code == HARK_EREFUSE)
			fault("offset %u: %s", o, err.text);
	}
	CHECK(n_work_probes > 100 && n_work_probes < WORK_PROBES);
}

struct work_result {
	pthread_t id;
	uint64_t sum, calls[WORK_FUNCTIONS];
};

static void *do_work(void *arg)
{
	struct work_result *r = arg;

	for (uint64_t n = 0; n < WORK_ROUNDS; n++)
		r->sum = r->sum * 31 + work(n, r->calls);
	return NULL;
}

static void compiled(void)
{
	static uint64_t once[WORK_PROBES];
	struct work_result native = {0}, results[THREADS] = {0};
	struct hark_err err;
	int entries[WORK_FUNCTIONS];

	probe_work();
	for (unsigned i = 0; i < WORK_FUNCTIONS; i++) {
		entries[i] = made(lossless_entry(work_function(i), &err), &err);
		on(entries[i]);
	}
	do_work(&native);
	for (unsigned i = 0; i < WORK_FUNCTIONS; i++)
		CHECK(lossless_count(entries[i]) == native.calls[i]);
	for (unsigned i = 0; i < n_work_probes; i++)
		on(work_probes[i]);
	do_work(&results[0]);
	CHECK(results[0].sum == native.sum);
	for (unsigned i = 0; i < n_work_probes; i++)
		once[i] = lossless_count(work_probes[i]);
	memset(results, 0, sizeof results);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&results[i].id, NULL, do_work, &results[i]);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(results[i].id, NULL);
		CHECK(results[i].sum == native.sum);
	}
	for (unsigned i = 0; i < n_work_probes; i++) {
		CHECK(lossless_count(work_probes[i]) ==
		      once[i] * (1 + THREADS));
		off(work_probes[i]);
	}
	for (unsigned i = 0; i < WORK_FUNCTIONS; i++) {
		CHECK(lossless_count(entries[i]) ==
		      native.calls[i] * (2 + THREADS));
		off(entries[i]);
	}
}

/* -- libc ------------------------------------------------------------------ */

/* By pointers that the compiler knows nothing of. */
static void *(*volatile do_malloc)(size_t) = malloc;
static void (*volatile do_free)(void *) = free;
static void *(*volatile do_memcpy)(void *, const void *, size_t) = memcpy;
static void *(*volatile do_memset)(void *, int, size_t) = memset;
static size_t (*volatile do_strlen)(const char *) = strlen;
static pid_t (*volatile do_getpid)(void) = getpid;

enum { LIBC_CALLS = 50, LIBC_FUNCTIONS = 6 };
static int libc_probes[LIBC_FUNCTIONS];

static void *call_libc(void *arg)
{
	pthread_barrier_t *barrier = arg;

	do_free(do_malloc(1)); /* what malloc does for itself, once */
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	for (unsigned i = 0; i < LIBC_CALLS; i++) {
		char *p = do_malloc(100 + i), text[64];

		do_memset(p, 'a', 40);
		p[40] = 0;
		do_memcpy(text, p, 41);
		CHECK(do_strlen(text) == 40);
		do_free(p);
		CHECK(do_getpid() > 0);
	}
	for (unsigned i = 0; i < LIBC_FUNCTIONS; i++)
		if (lossless_thread_count(libc_probes[i],
					  (unsigned)lossless_self()) !=
		    LIBC_CALLS)
			fault("function %u of libc", i);
	/* The end of a thread is in libc, with all signals blocked. */
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	return NULL;
}

static void libc(void)
{
	const void *const functions[LIBC_FUNCTIONS] = {
	    (const void *)do_malloc, (const void *)do_free,
	    (const void *)do_memcpy, (const void *)do_memset,
	    (const void *)do_strlen, (const void *)do_getpid};
	pthread_t ids[THREADS];
	pthread_barrier_t barrier;
	struct hark_err err;

	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&ids[i], NULL, call_libc, &barrier);
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < LIBC_FUNCTIONS; i++) {
		libc_probes[i] = made(lossless_entry(functions[i], &err), &err);
		on(libc_probes[i]);
	}
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < LIBC_FUNCTIONS; i++)
		off(libc_probes[i]);
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	pthread_barrier_destroy(&barrier);
}

/* -- Signals --------------------------------------------------------------- */

/* Where other code is, before there is any scratch space. */
enum { MAX_RANGES = 64 };
static struct {
	uint64_t start, end;
} ranges[MAX_RANGES];
static unsigned n_ranges;

static void read_ranges(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512], mode[8];
	unsigned long start, end;

	while (f != NULL && fgets(line, sizeof line, f) &&
	       n_ranges < MAX_RANGES)
		if (sscanf(line, "%lx-%lx %7s", &start, &end, mode) == 3 &&
		    mode[2] == 'x') {
			ranges[n_ranges].start = start;
			ranges[n_ranges++].end = end;
		}
	if (f != NULL)
		fclose(f);
}

static int is_code(uint64_t pc)
{
	for (unsigned i = 0; i < n_ranges; i++)
		if (pc - ranges[i].start < ranges[i].end - ranges[i].start)
			return 1;
	return is_in_pieces(pc);
}

/* A piece that handlers execute, and those whom they interrupt: as it does
 * the same in any state, its hits are known from the number of runs. */
static const struct piece *storm_piece;
static __thread struct state storm_work, storm_before, storm_native;
static __thread uint64_t storm_runs, storm_runs_in_handler;

static void storm_run(struct state *work)
{
	*work = storm_before;
	gen_call(storm_piece->code, work);
}

static void on_storm(int number, siginfo_t *info, void *context)
{
	struct lossless_place place;
	int e = errno;

	(void)number;
	(void)info;
	lossless_native(context, &place);
	if (!is_code(place.pc))
		fault("a handler was shown pc %#lx", (unsigned long)place.pc);
	if (place.npc != 0 && !is_code(place.npc))
		fault("a handler was shown npc %#lx", (unsigned long)place.npc);
	storm_run(&storm_work);
	check_state(storm_piece, &storm_native, &storm_work);
	storm_runs_in_handler++;
	errno = e;
}

enum { STORM_BRANCHES = 40, STORM_ROUNDS = 12 };

struct storm {
	pthread_t id;
	atomic_int *n_busy;
	pthread_barrier_t *barrier;
	sigset_t signals;
};

/* Some branches, and what the handlers execute, too. */
static void storm_rounds(void)
{
	static __thread struct state native[STORM_BRANCHES], work, before;
	const struct pieces *pieces = pieces_of(BRANCHES);

	for (unsigned r = 0; r < STORM_ROUNDS; r++)
		for (unsigned i = 0; i < STORM_BRANCHES; i++) {
			const struct piece *p = &pieces->all[i];

			run_piece(p, 1, i, &work, &before);
			if (r == 0)
				native[i] = work;
			check_state(p, &native[i], &work);
			storm_run(&work);
			storm_runs++;
			CHECK(gen_counter(&work, 0) ==
			      gen_counter(&storm_native, 0));
		}
}

static void *storm_main(void *arg)
{
	struct storm *s = arg;
	uint64_t runs, hits;

	run_piece(storm_piece, 0, 5, &storm_work, &storm_before);
	storm_native = storm_work;
	pthread_barrier_wait(s->barrier);
	pthread_barrier_wait(s->barrier); /* probes are on */
	pthread_sigmask(SIG_UNBLOCK, &s->signals, NULL);
	storm_rounds();
	pthread_sigmask(SIG_BLOCK, &s->signals, NULL);
	hits = lossless_thread_count(storm_piece->probe,
				     (unsigned)lossless_self());
	runs = storm_runs + storm_runs_in_handler;
	if (hits != runs)
		fault("executed %lu, counted %lu", (unsigned long)runs,
		      (unsigned long)hits);
	atomic_fetch_sub(s->n_busy, 1);
	pthread_barrier_wait(s->barrier); /* nobody sends any more */
	return NULL;
}

static void storm_switch(int is_on)
{
	const struct pieces *pieces = pieces_of(BRANCHES);

	for (unsigned k = 0; k < storm_piece->n; k++)
		(is_on ? on : off)(storm_piece->probe + (int)k);
	for (unsigned i = 0; i < STORM_BRANCHES; i++)
		for (unsigned k = 0; k < pieces->all[i].n; k++)
			(is_on ? on : off)(pieces->all[i].probe + (int)k);
}

/* Paced: the storm must not keep the threads from getting on. */
static void signals(void)
{
	struct sigaction action = {.sa_sigaction = on_storm,
				   .sa_flags = SA_SIGINFO | SA_RESTART};
	struct itimerval often = {{0, 5000}, {0, 5000}},
			 never = {{0, 0}, {0, 0}};
	struct storm storms[THREADS];
	pthread_barrier_t barrier;
	atomic_int n_busy = THREADS;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGALRM);
	action.sa_mask = set;
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	storm_piece = &pieces_of(FRAMES)->all[4];
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (unsigned i = 0; i < THREADS; i++) {
		storms[i] = (struct storm){
		    .n_busy = &n_busy, .barrier = &barrier, .signals = set};
		pthread_create(&storms[i].id, NULL, storm_main, &storms[i]);
	}
	pthread_barrier_wait(&barrier);
	storm_switch(1);
	pthread_barrier_wait(&barrier);
	setitimer(ITIMER_REAL, &often, NULL);
	for (unsigned i = 0; atomic_load(&n_busy) > 0; i++) {
		pthread_kill(storms[i % THREADS].id, SIGUSR1);
		rest(2000);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(storms[i].id, NULL);
	storm_switch(0);
	signal(SIGALRM, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	pthread_barrier_destroy(&barrier);
}

/* -- Faults ---------------------------------------------------------------- */

static sigjmp_buf after_fault;
static struct lossless_place fault_place;
static int fault_was_caught;

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	fault_was_caught = lossless_native(context, &fault_place);
	siglongjmp(after_fault, 1);
}

/* A fault in scratch is always met there: what a handler is told is right. */
static void faults(void)
{
	struct sigaction action = {.sa_sigaction = on_fault,
				   .sa_flags = SA_SIGINFO};
	static struct state work;
	struct hark_err err;
	unsigned at, next;
	uint8_t *code = code_room(64);
	unsigned len = gen_fault(code, &at, &next);
	int probe = made(lossless_offset(code, len, at, &err), &err);
	struct lossless_place native;

	gen_prepare(&pieces_of(CALLS)->all[0], 0, &work);
	sigaction(SIGSEGV, &action, NULL);
	if (sigsetjmp(after_fault, 1) == 0)
		gen_call(code, &work);
	native = fault_place;
	CHECK(!fault_was_caught);
	CHECK(native.pc == (uint64_t)code + at);
	CHECK(native.npc == (next ? (uint64_t)code + next : 0));
	on(probe);
	if (sigsetjmp(after_fault, 1) == 0)
		gen_call(code, &work);
	CHECK(fault_was_caught);
	CHECK(fault_place.pc == native.pc);
	CHECK(fault_place.npc == native.npc);
	CHECK(fault_place.sp == native.sp);
	CHECK(lossless_count(probe) == 1);
	off(probe);
	signal(SIGSEGV, SIG_DFL);
}

/* -- Switching ------------------------------------------------------------- */

static int always;

/* The n-th call is the n-th hit. */
static void call_always(void)
{
	static __thread uint64_t n;

	CHECK(gen_function(OTHER).call(n) == n + 100);
	n++;
	if (lossless_thread_count(always, (unsigned)lossless_self()) != n)
		fault("call %lu was not hit %lu", (unsigned long)n,
		      (unsigned long)lossless_thread_count(
			  always, (unsigned)lossless_self()));
}

static void switching(void)
{
	struct hark_err err;

	always = made(lossless_entry(gen_function(OTHER).start, &err), &err);
	on(always);
	check_while_switched(CALLS, call_always);
	check_while_switched(FRAMES, call_always);
	off(always);
}

/* -- Traps of the program's own -------------------------------------------- */

static unsigned own_traps;

static void on_own_trap(int number, siginfo_t *info, void *context)
{
	CHECK(number == lossless_signal());
	own_traps++;
	gen_function(OTHER).call(1); /* a probe in its handler */
	if (info->si_code > 0)
		gen_skip_trap(context);
}

/* How a child ends that traps, or is sent the signal. */
static int end_of_child(void (*handler)(int), const uint8_t *code)
{
	static struct state work;
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		struct sigaction action = {.sa_handler = handler};
		struct hark_err err;

		if (lossless_action(&action, NULL, &err) < 0)
			_exit(2);
		if (code != NULL)
			gen_call(code, &work);
		else
			raise(lossless_signal());
		_exit(0);
	}
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void own_trap(void)
{
	static struct state work;
	uint8_t *code = code_room(64);
	struct sigaction was;
	struct hark_err err;
	int probe = made(lossless_entry(gen_function(OTHER).start, &err), &err);

	gen_own_trap(code);
	__builtin___clear_cache((char *)code, (char *)code + 64);
	gen_prepare(&pieces_of(CALLS)->all[0], 0, &work);
	on(probe);
	gen_call(code, &work); /* main() had the handler before probes came */
	CHECK(own_traps == 1);
	CHECK(lossless_count(probe) == 1);
	raise(lossless_signal());
	CHECK(own_traps == 2);
	CHECK(lossless_count(probe) == 2);
	CHECK(lossless_action(NULL, &was, &err) == 0);
	CHECK(was.sa_sigaction == on_own_trap);
	off(probe);
	CHECK(end_of_child(SIG_DFL, code) == lossless_signal());
	CHECK(end_of_child(SIG_IGN, code) == lossless_signal());
	CHECK(end_of_child(SIG_DFL, NULL) == lossless_signal());
	CHECK(end_of_child(SIG_IGN, NULL) == 0);
}

/* -- Other processes ------------------------------------------------------- */

static void forked(void)
{
	struct gen_function f = gen_function(OTHER);
	struct hark_err err;
	int probe = made(lossless_entry(f.start, &err), &err);
	int status = 0;
	pid_t child;

	on(probe);
	f.call(1);
	child = fork();
	if (child == 0) {
		int is_right = lossless_count(probe) == 1;

		for (unsigned i = 0; i < 10; i++)
			f.call(i);
		is_right &= lossless_count(probe) == 11;
		is_right &= lossless_off(probe, &err) == 0;
		f.call(1);
		is_right &= lossless_count(probe) == 11;
		_exit(is_right ? 0 : 1);
	}
	waitpid(child, &status, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK(lossless_count(probe) == 1);
	f.call(1); /* what the child has switched off is its own */
	CHECK(lossless_count(probe) == 2);
	off(probe);
}

/* -- All off --------------------------------------------------------------- */

static uint8_t work_original[1 << 16];

static void all_off(void)
{
	check_text();
	CHECK(memcmp(work_original, work_start(),
		     (size_t)(work_end() - work_start())) == 0);
}

/* -- The list -------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
    {"plain instructions: each alone", plain_alone},
    {"plain instructions: all at once", plain_all},
    {"plain instructions: all at once, in 4 threads", plain_threads},
    {"every branch and outcome: the branch alone", branches_alone},
    {"every branch and outcome: what stands behind it alone", branches_behind},
    {"every branch and outcome: both, and where it leads", branches_both},
    {"every branch and outcome: in 4 threads", branches_threads},
    {"calls, returns and jumps through registers", calls},
    {"transfers behind transfers", couples},
    {"the program counter as a value", pc_values},
    {"stack frames", frames},
    {"system calls", system_calls},
    {"compiled code: every instruction", compiled},
    {"what cannot be moved is refused, with a reason", refused},
    {"entries, offsets and returns count per thread", functions},
    {"two probes at one address", two_at_one},
    {"functions of libc, in 4 threads", libc},
    {"signals in the middle, whose handlers meet probes", signals},
    {"a fault shows the program's own address", faults},
    {"switching on and off while 4 threads run", switching},
    {"the program's own trap reaches its own handler", own_trap},
    {"a forked child counts on its own", forked},
    {"all off: the text is as it was", all_off},
};
enum { TESTS = sizeof tests / sizeof tests[0] };

/* lossless-test [NUMBER [SEED]]: all (or 0), or one of them. */
int main(int argc, char **argv)
{
	struct sigaction own = {.sa_sigaction = on_own_trap,
				.sa_flags = SA_SIGINFO};
	unsigned only = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 0;
	struct hark_err err;

	if (argc > 2)
		pieces_seed = strtoull(argv[2], NULL, 0);
	sigfillset(&own.sa_mask); /* it meets probes all the same */
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	memcpy(work_original, work_start(),
	       (size_t)(work_end() - work_start()));
	sigaction(lossless_signal(), &own, NULL);
	if (lossless_open(MAX_PROBES, MAX_SITES, &err) < 0) {
		printf("Bail out! %s\n", err.text);
		return 1;
	}
	read_ranges();
	test_begin(only ? 1 : TESTS);
	for (unsigned i = 0; i < TESTS; i++)
		if (only == 0 || only == i + 1)
			test(tests[i].name, tests[i].run);
	return test_end();
}
