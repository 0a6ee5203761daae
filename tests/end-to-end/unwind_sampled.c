/* tests/end-to-end/unwind_sampled.c - a program that samples itself, and checks
 * each sample.
 *
 *	unwind_sampled SAMPLES THREADS
 *
 * Ten thousand times a second of CPU time each thread is interrupted, in
 * unwind_work.cc; the sample is taken with a map, then walked, and every
 * sixteenth time (UNWIND_ORACLE: every so many times) walked by libunwind, too,
 * with libgcc as arbiter. What memory does not have is survived by way of
 * SIGSEGV. Prints what it has seen; exit status 1 if any sample was wrong. */
#include "unwind_self.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

enum { DEEP = 4096, ORACLE = 16, PERIOD_NS = 100000, ALT = 1 << 18 };

long work_until(const volatile int *done, unsigned seed);

struct thread {
	struct unwind_maps *maps;
	struct unwind_frame walked[DEEP], last[UNWIND_MAPS][DEEP];
	uint32_t n_last[UNWIND_MAPS];
	sigjmp_buf saved;
	volatile sig_atomic_t is_sampling;
	volatile sig_atomic_t is_off; /* tables are being made */
	long samples, wrong, faulted, asked, alone, not_theirs, kept, frames,
	    walked_n, lost;
	unsigned seed;
	pthread_t id;
};

static struct unwind_space space;
static _Thread_local struct thread *mine;
static volatile int done;
static long wanted, taken, oracle = ORACLE;
/* libunwind has a function of the same name. */
static int (*glibc_backtrace)(void **out, int n);

/* -- One sample -- */

static void tell(const struct thread *t, const char *what)
{
	char text[256];
	Dl_info d = {0};
	int n;

	dladdr((void *)(uintptr_t)t->walked[0].pc, &d);
	n = snprintf(text, sizeof text, "# %s: sample %ld, at %s+%#lx (%s)\n",
		     what, t->samples, d.dli_fname != NULL ? d.dli_fname : "?",
		     (unsigned long)(t->walked[0].pc - (uintptr_t)d.dli_fbase),
		     d.dli_sname != NULL ? d.dli_sname : "?");
	(void)!write(2, text, (size_t)n);
}

static bool kept_is_true(struct thread *t, const struct unwind_sample *got)
{
	struct unwind_frame *was = t->last[got->map];
	uint32_t n = t->n_last[got->map];
	bool same = got->kept <= n;

	for (uint32_t i = 0; same && i < got->kept; i++)
		same = was[n - 1 - i].pc == t->walked[got->depth - 1 - i].pc;
	memcpy(was, t->walked, got->depth * sizeof *was);
	t->n_last[got->map] = got->depth;
	return same;
}

static bool is_in(const struct thread *t, const char *name)
{
	Dl_info d = {0};

	return dladdr((void *)(uintptr_t)t->walked[0].pc, &d) != 0 &&
	       d.dli_sname != NULL && strcmp(d.dli_sname, name) == 0;
}

/* Where libunwind has gone another way: at frame .at, from the stack at .sp. */
struct theirs {
	uint32_t at;
	unw_word_t pc, sp;
};

/* Does libunwind see the same frames? */
static bool is_theirs(const struct thread *t, ucontext_t *u, uint32_t n,
		      struct theirs *out)
{
	unw_cursor_t c;
	uint32_t i = 0;

	*out = (struct theirs){0};
	if (unw_init_local2(&c, u, UNW_INIT_SIGNAL_FRAME) < 0)
		return false;
	do {
		out->at = i;
		unw_get_reg(&c, UNW_REG_IP, &out->pc);
		if (out->pc == 0)
			break;
		if (i >= n || out->pc != t->walked[i].pc)
			return false;
		unw_get_reg(&c, UNW_REG_SP, &out->sp);
		i++;
	} while (unw_step(&c) > 0);
	return i == n;
}

/* What either says, and the words that it was read from. */
static void tell_parting(const struct thread *t, const struct theirs *w,
			 uint32_t n)
{
	enum { WORDS = 24 };
	const uint64_t *at = (const uint64_t *)(uintptr_t)w->sp;
	char text[1024];
	size_t len = (size_t)snprintf(
	    text, sizeof text,
	    "# frame %u of %u: ours %#lx, theirs %#lx, before it %#lx; the "
	    "stack at %#lx:",
	    w->at, n, w->at < n ? (unsigned long)t->walked[w->at].pc : 0,
	    (unsigned long)w->pc,
	    w->at > 0 ? (unsigned long)t->walked[w->at - 1].pc : 0,
	    (unsigned long)w->sp);

	for (int i = 0; at != NULL && i < WORDS && len < sizeof text; i++)
		len += (size_t)snprintf(text + len, sizeof text - len, " %lx",
					(unsigned long)at[i]);
	text[len < sizeof text ? len : sizeof text - 1] = '\n';
	(void)!write(2, text, len < sizeof text ? len + 1 : sizeof text);
}

/* Does libgcc, through the C library? Its innermost frames are ours here. */
static bool is_backtrace(const struct thread *t, uint32_t n)
{
	static _Thread_local void *all[DEEP];
	int got = glibc_backtrace(all, DEEP), skip = got - (int)n;

	if (skip < 2)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if ((uint64_t)all[skip + (int)i] != t->walked[i].pc)
			return false;
	return true;
}

/* Once in some 10,000 times libunwind ends early or goes astray; then libgcc
 * decides. */
static void ask_oracle(struct thread *t, ucontext_t *u, uint32_t n)
{
	struct theirs theirs;

	t->asked++;
	if (is_theirs(t, u, n, &theirs))
		return;
	if (is_backtrace(t, n)) {
		t->alone++;
		tell(t, "libunwind is alone");
	} else {
		t->not_theirs++;
		tell(t, "not as libunwind, nor as libgcc");
	}
	tell_parting(t, &theirs, n);
}

static void check_sample(struct thread *t, ucontext_t *u)
{
	struct unwind_sample got;
	struct frame_cpu cpu;
	enum unwind_end end;
	uint32_t n;

	unwind_self_cpu(u, &cpu);
	unwind_sample(&space, t->maps, &cpu, &got);
	n = unwind_walk(&space, &cpu, t->walked, DEEP, &end);
	t->samples++;
	t->kept += got.kept;
	t->frames += got.depth;
	t->walked_n += got.walked;
	t->lost += got.end != UNWIND_OUTERMOST;
	if (!unwind_self_same(t->maps, &got, t->walked, n, end) ||
	    !kept_is_true(t, &got)) {
		t->wrong++;
		tell(t, "not as walked");
	}
	/* Where registers are exchanged it is libunwind that goes astray. */
	if (t->samples % oracle == 0 && end == UNWIND_OUTERMOST &&
	    !is_in(t, "swapcontext") && !is_in(t, "__longjmp"))
		ask_oracle(t, u, n);
}

static void on_sample(int number, siginfo_t *info, void *context)
{
	struct thread *t = mine;
	int saved = errno;

	(void)number;
	(void)info;
	if (t == NULL || done || t->is_off)
		return;
	if (sigsetjmp(t->saved, 0) == 0) {
		t->is_sampling = 1;
		check_sample(t, context);
	} else {
		t->faulted++;
		unwind_maps_forget(t->maps);
		memset(t->n_last, 0, sizeof t->n_last);
	}
	t->is_sampling = 0;
	if (__atomic_add_fetch(&taken, 1, __ATOMIC_RELAXED) >= wanted)
		done = 1;
	errno = saved;
}

static void on_fault(int number)
{
	if (mine == NULL || !mine->is_sampling) {
		signal(number, SIG_DFL);
		return;
	}
	siglongjmp(mine->saved, 1);
}

/* -- Clocks -- */

/* A clock of this thread's CPU time that sends SIGTRAP; false: none. */
static bool start_perf(void)
{
	struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE,
				    .size = sizeof a,
				    .config = PERF_COUNT_SW_TASK_CLOCK,
				    .sample_period = PERIOD_NS,
				    .exclude_kernel = 1,
				    .exclude_hv = 1,
				    .remove_on_exec = 1,
				    .sigtrap = 1};

	return getenv("UNWIND_NO_PERF") == NULL &&
	       syscall(SYS_perf_event_open, &a, 0, -1, -1, 0) >= 0;
}

static bool start_timer(void)
{
	struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID,
			     .sigev_signo = SIGPROF};
	struct itimerspec every = {.it_interval = {0, PERIOD_NS},
				   .it_value = {0, PERIOD_NS}};
	timer_t timer;

	e._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	return timer_create(CLOCK_THREAD_CPUTIME_ID, &e, &timer) == 0 &&
	       timer_settime(timer, 0, &every, NULL) == 0;
}

static void set_handlers(void)
{
	struct sigaction sample = {.sa_sigaction = on_sample,
				   .sa_flags =
				       SA_SIGINFO | SA_ONSTACK | SA_RESTART};
	struct sigaction fault = {.sa_handler = on_fault,
				  .sa_flags = SA_NODEFER | SA_ONSTACK};

	sigaddset(&sample.sa_mask, SIGUSR1);
	sigaddset(&sample.sa_mask, SIGUSR2);
	sigaction(SIGTRAP, &sample, NULL);
	sigaction(SIGPROF, &sample, NULL);
	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGBUS, &fault, NULL);
}

static void begin(void)
{
	if (getenv("UNWIND_ORACLE") != NULL)
		oracle = strtol(getenv("UNWIND_ORACLE"), NULL, 10);
	*(void **)&glibc_backtrace =
	    dlsym(dlopen("libc.so.6", RTLD_NOW), "backtrace");
	glibc_backtrace(&(void *){NULL}, 1); /* loads what it needs */
	unwind_self_open(&space);
	set_handlers();
}

static void start(struct thread *t)
{
	stack_t alt = {.ss_sp = malloc(ALT), .ss_size = ALT};

	if (alt.ss_sp == NULL || sigaltstack(&alt, NULL) != 0)
		exit(125);
	mine = t;
	if (!start_perf() && !start_timer())
		exit(125);
}

static void report(const struct thread *t, FILE *out)
{
	fprintf(out,
		"samples %ld wrong %ld faulted %ld lost %ld frames %ld "
		"kept %ld walked %ld asked %ld alone %ld differ %ld\n",
		t->samples, t->wrong, t->faulted, t->lost, t->frames, t->kept,
		t->walked_n, t->asked, t->alone, t->not_theirs);
}

#ifndef UNWIND_PRELOADED
static void *run(void *arg)
{
	struct thread *t = arg;

	start(t);
	work_until(&done, t->seed);
	return NULL;
}

int main(int argc, char **argv)
{
	struct thread *t;
	long wrong = 0;
	int n;

	if (argc != 3)
		return 125;
	wanted = strtol(argv[1], NULL, 10);
	n = (int)strtol(argv[2], NULL, 10);
	t = calloc((size_t)n, sizeof *t);
	begin();
	for (int i = 0; i < n; i++) {
		t[i].maps = unwind_self_maps(DEEP);
		t[i].seed = (unsigned)(i + 1) * 7919;
		if (pthread_create(&t[i].id, NULL, run, &t[i]) != 0)
			return 125;
	}
	for (int i = 0; i < n; i++) {
		pthread_join(t[i].id, NULL);
		report(&t[i], stdout);
		wrong += t[i].wrong + t[i].not_theirs;
	}
	return wrong != 0;
}
#endif
