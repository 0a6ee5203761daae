/* tests/guests/sig_fork_masks.c - signals that the CPU raises, and children:
 * they begin with what was blocked, block what they like, and lose no handler
 * to a child of vfork of their own. */
#include "guest.h"
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

static const int sigs[] = {SIGILL, SIGTRAP, SIGBUS, SIGSEGV};
enum { N = sizeof sigs / sizeof *sigs };

static volatile int *volatile bad = (int *)16;
static volatile int n;
static volatile pid_t born = -1;

static void handler(int sig)
{
	if (n++ > 9) /* the fault comes again and again */
		_exit(4);
	if (sig == SIGUSR2)
		born = fork();
}

static void handle(int sig, int with)
{
	struct sigaction act = {.sa_handler = handler};

	sigaddset(&act.sa_mask, with);
	MUST(sigaction(sig, &act, NULL) == 0);
}

static sigset_t all(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (int i = 0; i < N; i++)
		sigaddset(&set, sigs[i]);
	return set;
}

/* By the signal that ends it, or with -status. */
static int end_of(pid_t pid)
{
	int status;

	MUST(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void has_blocked(int want)
{
	sigset_t now;

	sigprocmask(SIG_BLOCK, NULL, &now);
	for (int i = 0; i < N; i++)
		SAME(sigismember(&now, sigs[i]), want);
}

static int is_pending(int sig)
{
	sigset_t set;

	sigpending(&set);
	return sigismember(&set, sig);
}

/* Everything is blocked. */
static void blocked(int generations)
{
	sigset_t set = all();
	pid_t pid;

	has_blocked(1);
	SAME(is_pending(SIGTRAP), 0);
	raise(SIGTRAP);
	SAME(is_pending(SIGTRAP), 1);
	pid = fork();
	if (pid == 0) {
		if (generations > 0)
			blocked(generations - 1);
		*bad = 1;
		_exit(2);
	}
	SAME(end_of(pid), SIGSEGV);
	SAME(n, 0);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	SAME(n, 1);
	has_blocked(0);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (guest_wrong)
		_exit(3);
	*bad = 1; /* no handler is entered */
}

/* What it starts has nothing blocked. */
static void spawn(void)
{
	static char name[] = "sh", option[] = "-c",
		    text[] = "kill -SEGV $$; exit 7";
	static char *args[] = {name, option, text, NULL};
	extern char **environ;
	pid_t pid;

	MUST(posix_spawnp(&pid, name, NULL, NULL, args, environ) == 0);
	SAME(end_of(pid), SIGSEGV);
}

/* What its handler blocked a child has not, when that has returned. */
static void forks_in_handler(void)
{
	handle(SIGUSR2, SIGSEGV);
	raise(SIGUSR2);
	if (born == 0) {
		has_blocked(0);
		raise(SIGSEGV);
		_exit(guest_wrong | (n != 2) << 1);
	}
	SAME(end_of(born), 0);
}

static void keeps_handlers(void)
{
	handle(SIGUSR1, SIGUSR1);
	spawn();
	raise(SIGUSR1);
	raise(SIGSEGV);
	SAME(n, 2);
}

/* In a child, which hark need not follow. */
static int in_child(void (*what)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		what();
		_exit(guest_wrong);
	}
	return end_of(pid);
}

static void two_generations(void)
{
	blocked(1);
}

int main(void)
{
	const struct rlimit none = {0, 0};
	sigset_t set = all();

	setrlimit(RLIMIT_CORE, &none);
	for (int i = 0; i < N; i++)
		handle(sigs[i], sigs[i]);
	spawn();
	SAME(in_child(forks_in_handler), 0);
	SAME(in_child(keeps_handlers), 0);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGTRAP); /* stays here */
	SAME(in_child(two_generations), SIGSEGV);
	SAME(is_pending(SIGTRAP), 1);
	return guest_end();
}
