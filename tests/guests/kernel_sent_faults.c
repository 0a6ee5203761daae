/* tests/guests/kernel_sent_faults.c - SIGSEGV and its like as others send them:
 * to the thread and to the process, blocked, pending, waited for with every
 * call that can, ignored, deadly, and carried over exec. */
#include "guest.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static volatile sig_atomic_t caught, code;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	caught++;
	code = info->si_code;
}

static int is_pending(int sig)
{
	sigset_t set;

	MUST(sigpending(&set) == 0);
	return sigismember(&set, sig);
}

static void blocked(int sig, const sigset_t *it, const sigset_t *none)
{
	struct timespec second = {1, 0}, now = {0, 0}, moment = {0, 20000000};
	siginfo_t info;

	caught = 0;
	kill(getpid(), sig);
	SAME(caught, 1);
	SAME(code, SI_USER);
	sigprocmask(SIG_BLOCK, it, NULL);
	raise(sig); /* one for the thread, */
	raise(sig);
	kill(getpid(), sig); /* one for the process */
	SAME(caught, 1);
	CHECK(is_pending(sig));
	sigprocmask(SIG_SETMASK, none, NULL);
	SAME(caught, 3);
	sigprocmask(SIG_BLOCK, it, NULL);
	raise(sig);
	SAME(sigtimedwait(it, &info, &second), sig);
	SAME(info.si_code, SI_USER); /* as the C library has it */
	SAME(sigtimedwait(it, &info, &now), -1);
	sigqueue(getpid(), sig, (union sigval){.sival_int = 5});
	SAME(sigsuspend(none), -1);
	SAME(errno, EINTR);
	SAME(caught, 4);
	SAME(code, SI_QUEUE);
	CHECK(!is_pending(sig));
	raise(sig);
	SAME(ppoll(NULL, 0, &second, none), -1);
	SAME(caught, 5);
	raise(sig);
	SAME(ppoll(NULL, 0, &moment, it), 0);
	SAME(caught, 5);
	sigprocmask(SIG_SETMASK, none, NULL);
	SAME(caught, 6);
}

static int status_of(pid_t pid)
{
	int status;

	MUST(waitpid(pid, &status, 0) == pid);
	return status & ~0x80;
}

static void in_children(int sig, const sigset_t *it)
{
	char number[16];
	pid_t pid = fork();

	if (pid == 0) {
		signal(sig, SIG_DFL);
		raise(sig);
		_exit(1);
	}
	SAME(status_of(pid), sig);
	pid = fork();
	if (pid == 0) {
		sigprocmask(SIG_BLOCK, it, NULL);
		raise(sig);
		snprintf(number, sizeof number, "%d", sig);
		execl("/proc/self/exe", "again", number, NULL);
		_exit(1);
	}
	SAME(status_of(pid), 3 << 8);
}

/* After exec: blocked and pending still? */
static int again(int sig)
{
	sigset_t mask;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	return is_pending(sig) + 2 * sigismember(&mask, sig);
}

int main(int argc, char **argv)
{
	static const int sigs[] = {SIGSEGV, SIGBUS,  SIGFPE,
				   SIGILL,  SIGTRAP, SIGSYS};
	struct sigaction act = {.sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO};
	sigset_t it, none;

	if (argc > 1)
		return again(atoi(argv[1]));
	sigemptyset(&none);
	for (unsigned i = 0; i < 6; i++) {
		MUST(sigaction(sigs[i], &act, NULL) == 0);
		sigemptyset(&it);
		sigaddset(&it, sigs[i]);
		blocked(sigs[i], &it, &none);
		signal(sigs[i], SIG_IGN);
		raise(sigs[i]);
		kill(getpid(), sigs[i]);
		SAME(caught, 6);
		in_children(sigs[i], &it);
	}
	return guest_end();
}
