/* outside/tracee.c - ptrace primitives with time limits. */
#include "outside/tracee.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int64_t tracee_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int ptrace_failed(struct hark_err *err, pid_t tid, const char *what)
{
	int e = errno;

	return err_set(err, e == ESRCH ? HARK_EGONE : HARK_EDENIED, e,
		       "thread %d: %s: %s", tid, what,
		       e == ESRCH ? "it ended meanwhile" : strerror(e));
}

/* -- Seizing -- */

static __thread sigjmp_buf seize_escape;
static __thread volatile sig_atomic_t seizing;

static void escape(int sig)
{
	(void)sig;
	if (seizing)
		siglongjmp(seize_escape, 1);
}

/* The kernel starts PTRACE_SEIZE anew after any signal: only a jump ends it. */
static int seize_or_escape(pid_t tid, long options)
{
	int rc = EAGAIN;

	if (sigsetjmp(seize_escape, 1) == 0) {
		seizing = 1;
		rc = ptrace(PTRACE_SEIZE, tid, 0, options) == 0 ? 0 : errno;
	}
	seizing = 0;
	return rc;
}

/* Calls seize_or_escape with an alarm set that `escape` hears. */
static int seize_with_alarm(pid_t tid, long options, int sig)
{
	struct sigevent event = {
	    .sigev_notify = SIGEV_THREAD_ID,
	    .sigev_signo = sig,
	    ._sigev_un._tid = gettid(),
	};
	const struct itimerspec limit = {.it_value.tv_nsec = 10000000,
					 .it_interval.tv_nsec = 10000000};
	timer_t alarm;
	int rc;

	if (timer_create(CLOCK_MONOTONIC, &event, &alarm) < 0)
		return seize_or_escape(tid, options);
	timer_settime(alarm, 0, &limit, NULL);
	rc = seize_or_escape(tid, options);
	timer_delete(alarm);
	return rc;
}

int tracee_seize(pid_t tid, long options)
{
	const int sig = SIGRTMIN;
	struct sigaction hear = {.sa_handler = escape}, heard;
	sigset_t only, before;
	int rc;

	sigemptyset(&only);
	sigaddset(&only, sig);
	sigaction(sig, &hear, &heard);
	pthread_sigmask(SIG_UNBLOCK, &only, &before);
	rc = seize_with_alarm(tid, options, sig);
	sigaction(sig, &heard, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	/* Seized now, or as the alarm came, or before. */
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0)
		return 0;
	/* If it was seized, it has another number since. */
	return rc == 0 ? EAGAIN : rc;
}

/* -- Waiting -- */

/* A stop comes within microseconds or not for long: yield first (the thread
 * may need this very CPU), then sleep in small steps. */
void tracee_pause(int round)
{
	enum { YIELDS = 200 };
	const struct timespec nap = {.tv_nsec = 200000};

	if (round < YIELDS)
		sched_yield();
	else
		nanosleep(&nap, NULL);
}

static bool (*end_is_wanted)(void); /* or NULL */

void tracee_watch_end(bool (*wants_end)(void))
{
	end_is_wanted = wants_end;
}

bool tracee_gives_up(int64_t since_ns)
{
	enum { PATIENT_NS = 1000000000 };

	return end_is_wanted != NULL &&
	       tracee_now_ns() - since_ns > PATIENT_NS && end_is_wanted();
}

int tracee_wait(pid_t tid, int64_t deadline_ns, int *out, struct hark_err *err)
{
	int64_t since = tracee_now_ns();

	for (int round = 0;; round++) {
		int status;
		pid_t got = waitpid(tid, &status, __WALL | WNOHANG);

		if (got == tid) {
			*out = status;
			return 0;
		}
		if (got < 0 && errno != EINTR)
			return err_set(err, HARK_EGONE, errno,
				       "thread %d ended meanwhile", tid);
		if (tracee_now_ns() > deadline_ns || tracee_gives_up(since))
			return err_set(err, HARK_ETIME, 0,
				       "thread %d did not stop in time", tid);
		tracee_pause(round);
	}
}

/* In this order: if it is stopped, and nothing is to be reported then, its stop
 * was reported before. */
int tracee_is_held(pid_t tid)
{
	const int all = WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL;
	unsigned long message;
	siginfo_t news = {0};

	return ptrace(PTRACE_GETEVENTMSG, tid, 0, &message) == 0 &&
	       waitid(P_PID, (id_t)tid, &news, all) == 0 && news.si_pid == 0;
}

int tracee_event(int status)
{
	return WIFSTOPPED(status) ? status >> 16 : 0;
}

int tracee_is_event_stop(int status)
{
	return tracee_event(status) == PTRACE_EVENT_STOP;
}

int tracee_is_group_stop(int status)
{
	int sig = WSTOPSIG(status);

	return tracee_is_event_stop(status) &&
	       (sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN ||
		sig == SIGTTOU);
}

int tracee_is_syscall_stop(int status)
{
	return WIFSTOPPED(status) && WSTOPSIG(status) == (SIGTRAP | 0x80);
}

/* -- Stopping -- */

/* What a report means while the stop that PTRACE_INTERRUPT asked for is due: 1
 * this is it, 0 not yet. Any other stop that comes first (a signal, an exec)
 * clears the request, so it is made again before the thread goes on. One that
 * does not go on was killed: its end is reported next. */
static int is_awaited(pid_t tid, int status, struct hark_err *err)
{
	int deliver;

	if (!WIFSTOPPED(status))
		return err_set(err, HARK_EGONE, 0, "thread %d ended meanwhile",
			       tid);
	if (tracee_is_event_stop(status))
		return 1;
	deliver = tracee_event(status) != 0 || tracee_is_syscall_stop(status)
		      ? 0
		      : WSTOPSIG(status);
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0)
		ptrace(PTRACE_CONT, tid, 0, (long)deliver);
	return 0;
}

int tracee_stopped(pid_t tid, struct hark_err *err)
{
	int status;
	pid_t got = waitpid(tid, &status, __WALL | WNOHANG);

	if (got == 0 || (got < 0 && errno == EINTR))
		return 0;
	if (got < 0)
		return err_set(err, HARK_EGONE, errno,
			       "thread %d ended meanwhile", tid);
	return is_awaited(tid, status, err);
}

/* The next report of a thread that is known: HARK_EGONE if it has ended, or if
 * its number is that of another program by now. */
static int hear(pid_t tid, int64_t deadline_ns, int *out, struct hark_err *err)
{
	int status = 0;

	if (tracee_wait(tid, deadline_ns, &status, err) < 0)
		return -1;
	if (tracee_event(status) == PTRACE_EVENT_EXEC)
		return err_set(err, HARK_EGONE, 0,
			       "thread %d executed another program", tid);
	if (!WIFSTOPPED(status))
		return err_set(err, HARK_EGONE, 0, "thread %d ended meanwhile",
			       tid);
	*out = status;
	return 0;
}

static int await(pid_t tid, int64_t deadline_ns, struct hark_err *err)
{
	int status = 0, rc;

	do {
		if (hear(tid, deadline_ns, &status, err) < 0)
			return -1;
		rc = is_awaited(tid, status, err);
	} while (rc == 0);
	return rc < 0 ? -1 : 0;
}

int tracee_stop(pid_t tid, int64_t deadline_ns, struct hark_err *err)
{
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0)
		return ptrace_failed(err, tid, "interrupt");
	return await(tid, deadline_ns, err);
}

int tracee_settle(pid_t tid, int64_t deadline_ns, struct hark_err *err)
{
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0)
		return ptrace_failed(err, tid, "interrupt");
	if (ptrace(PTRACE_CONT, tid, 0, 0) < 0 && errno != ESRCH)
		return ptrace_failed(err, tid, "continue");
	return await(tid, deadline_ns, err);
}

int tracee_to_call(pid_t tid, int64_t deadline_ns, struct hark_err *err)
{
	int status = 0, deliver = 0;

	do {
		if (ptrace(PTRACE_SYSCALL, tid, 0, (long)deliver) < 0)
			return ptrace_failed(err, tid, "continue");
		if (hear(tid, deadline_ns, &status, err) < 0)
			return -1;
		deliver = tracee_event(status) == 0 ? WSTOPSIG(status) : 0;
	} while (!tracee_is_syscall_stop(status));
	return 0;
}

/* Ignored by default, and by every program that has just begun. */
int tracee_wire(uint64_t mask)
{
	static const int harmless[] = {SIGURG, SIGWINCH, SIGCHLD};

	for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
		if ((mask >> (harmless[i] - 1) & 1) == 0)
			return harmless[i];
	return 0;
}

/* Is this the stop for the signal that hark sent? Its sender is 0 in another
 * pid namespace. */
static int is_own_signal(pid_t tid, int status, int sig)
{
	siginfo_t info;

	return tracee_event(status) == 0 && WSTOPSIG(status) == sig &&
	       ptrace(PTRACE_GETSIGINFO, tid, 0, &info) == 0 &&
	       info.si_code == SI_TKILL &&
	       (info.si_pid == getpid() || info.si_pid == 0);
}

int tracee_to_mask(pid_t pid, pid_t tid, int wire, int64_t deadline_ns,
		   struct hark_err *err)
{
	int status = 0, deliver = 0;

	if (syscall(SYS_tgkill, pid, tid, wire) < 0)
		return ptrace_failed(err, tid, "signal");
	for (;;) {
		if (ptrace(PTRACE_CONT, tid, 0, (long)deliver) < 0)
			return ptrace_failed(err, tid, "continue");
		if (hear(tid, deadline_ns, &status, err) < 0)
			return -1;
		if (is_own_signal(tid, status, wire))
			return 0;
		deliver = tracee_event(status) == 0 ? WSTOPSIG(status) : 0;
	}
}

/* -- Looking -- */

int tracee_get_regs(pid_t tid, struct user_regs_struct *out,
		    struct hark_err *err)
{
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, tid, 0, &r) < 0)
		return ptrace_failed(err, tid, "read registers");
	*out = r;
	return 0;
}

int tracee_set_regs(pid_t tid, const struct user_regs_struct *regs,
		    struct hark_err *err)
{
	if (ptrace(PTRACE_SETREGS, tid, 0, regs) < 0)
		return ptrace_failed(err, tid, "write registers");
	return 0;
}

int tracee_set_rax(pid_t tid, uint64_t rax, struct hark_err *err)
{
	if (ptrace(PTRACE_POKEUSER, tid, offsetof(struct user_regs_struct, rax),
		   rax) < 0)
		return ptrace_failed(err, tid, "write a register");
	return 0;
}

int tracee_get_mask(pid_t tid, uint64_t *out, struct hark_err *err)
{
	uint64_t mask;

	if (ptrace(PTRACE_GETSIGMASK, tid, sizeof mask, &mask) < 0)
		return ptrace_failed(err, tid, "read its signal mask");
	*out = mask;
	return 0;
}

int tracee_set_mask(pid_t tid, uint64_t mask, struct hark_err *err)
{
	if (ptrace(PTRACE_SETSIGMASK, tid, sizeof mask, &mask) < 0)
		return ptrace_failed(err, tid, "write its signal mask");
	return 0;
}
