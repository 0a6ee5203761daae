/* outside/supervise.c - signals on their way to the program, and its end. */
#include "outside/supervise.h"

#include "outside/proc.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Job control stays as it is. abort() works without being let through, and so
 * do hark's own faults and traps: the kernel asks nobody. */
static void hold_set(sigset_t *out)
{
	static const int let_through[] = {SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT};

	sigfillset(out);
	for (size_t i = 0; i < sizeof let_through / sizeof let_through[0]; i++)
		sigdelset(out, let_through[i]);
}

void supervise_begin(struct supervise *s)
{
	struct sigaction old, dfl = {.sa_handler = SIG_DFL};
	sigset_t hold;

	sigaction(SIGCHLD, &dfl, &old);
	s->chld_was_ignored = old.sa_handler == SIG_IGN;
	hold_set(&hold);
	sigprocmask(SIG_BLOCK, &hold, &s->before);
}

/* hark's own writes raise these. */
static void take_away_own(void)
{
	static const struct timespec at_once;
	sigset_t own;

	sigemptyset(&own);
	sigaddset(&own, SIGPIPE);
	sigaddset(&own, SIGXFSZ);
	while (sigtimedwait(&own, NULL, &at_once) > 0 || errno == EINTR)
		continue;
}

void supervise_end(const struct supervise *s)
{
	take_away_own();
	sigprocmask(SIG_SETMASK, &s->before, NULL);
}

/* Is sender the program, or did it come of it? Then the signal was for hark's
 * process group, or for the parent that hark only stands in for: the program
 * has it already, or did not mean itself. One that has ended meanwhile cannot
 * be asked, and counts as a stranger (`kill` is gone at once, too). */
static int is_of_program(pid_t sender, pid_t program)
{
	enum { DEEPEST = 1000 };
	uint64_t at = (uint64_t)sender;

	for (int i = 0; i < DEEPEST && at > 1; i++) {
		if ((pid_t)at == program)
			return 1;
		if (proc_status((pid_t)at, 0, "PPid", 10, &at) < 0)
			return 0;
	}
	return 0;
}

static void pass_on(pid_t pid, siginfo_t *info)
{
	if (is_of_program(info->si_pid, pid))
		return;
	if (info->si_code == SI_QUEUE) /* with the value that came with it */
		syscall(SYS_rt_sigqueueinfo, pid, info->si_signo, info);
	else
		kill(pid, info->si_signo);
}

int supervise_wait_but(pid_t pid, int wait, int mine)
{
	static const struct timespec at_once;
	siginfo_t info;
	sigset_t hold;
	int sig;

	hold_set(&hold);
	do {
		sig = sigtimedwait(&hold, &info, wait ? NULL : &at_once);
	} while (sig < 0 && errno == EINTR);
	if (sig <= 0 || sig == SIGCHLD || info.si_pid == getpid())
		return 0;
	if (info.si_code > 0)
		return -sig;
	if (sig == mine)
		return is_of_program(info.si_pid, pid) ? 0 : sig;
	if (pid != 0)
		pass_on(pid, &info);
	return sig;
}

int supervise_wait(pid_t pid, int wait)
{
	return supervise_wait_but(pid, wait, 0);
}

void supervise_exit_as(int wait_status)
{
	const struct rlimit none = {0, 0};
	int sig;
	sigset_t one;

	if (WIFEXITED(wait_status))
		exit(WEXITSTATUS(wait_status));
	sig = WTERMSIG(wait_status);
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* nor one through a pipe */
	signal(sig, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, sig);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	kill(getpid(), sig);
	_exit(128 + sig); /* a signal that does not kill: cannot happen */
}
