/* tests/guests/sig_mask_fault.c - fault signals that are raised while the
 * sa_mask of a running handler blocks them come when that handler returns, not
 * an instruction later: nested, on an alternate stack, after siglongjmp; and a
 * fault of the program's own ends the process then. */
#include "guest.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static const int sigs[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
enum { N_SIGS = sizeof sigs / sizeof *sigs };

static volatile sig_atomic_t caught, codes, jumps, by_kill, sent;
static sigjmp_buf back;

/* The C library's raise makes other calls about signals, too. */
static long raise_only(int sig)
{
	return syscall(SYS_tgkill, getpid(), gettid(), sig);
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	caught++;
	codes += info->si_code == (by_kill ? SI_USER : SI_TKILL);
}

static void send_one(void)
{
	SAME(by_kill ? kill(getpid(), sent) : raise_only(sent), 0);
	SAME(caught, 0);
}

static void outer(int sig)
{
	(void)sig;
	send_one();
	if (jumps)
		siglongjmp(back, 1);
}

/* What it blocks is blocked by the outer one, too. */
static void inner(int sig)
{
	(void)sig;
	send_one();
}

static void nested(int sig)
{
	(void)sig;
	SAME(raise_only(SIGUSR1), 0);
	SAME(caught, 0);
}

static void handle(int sig, void (*f)(int), const sigset_t *mask, int flags)
{
	struct sigaction act = {.sa_handler = f, .sa_flags = flags};

	act.sa_mask = *mask;
	MUST(sigaction(sig, &act, NULL) == 0);
}

static void expect(int trigger)
{
	caught = codes = 0;
	SAME(raise_only(trigger), 0);
	SAME(caught, 1);
	SAME(codes, 1);
}

static void expect_after_jump(void)
{
	caught = 0;
	jumps = 1;
	if (sigsetjmp(back, 1) == 0)
		raise_only(SIGUSR1);
	jumps = 0;
	SAME(caught, 1);
}

static void die(int sig)
{
	int *volatile nowhere = NULL;

	(void)sig;
	*(volatile int *)nowhere = 0;
	_exit(1);
}

static void own_fault(const sigset_t *mask)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		handle(SIGUSR1, die, mask, 0);
		raise_only(SIGUSR1);
		_exit(2);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status & ~0x80, SIGSEGV);
}

int main(void)
{
	struct sigaction act = {.sa_sigaction = on_fault,
				.sa_flags = SA_SIGINFO};
	static char stack[1 << 16];
	stack_t alt = {.ss_sp = stack, .ss_size = sizeof stack};
	sigset_t all;

	alarm(100);
	MUST(sigaltstack(&alt, NULL) == 0);
	sigemptyset(&all);
	for (int i = 0; i < N_SIGS; i++) {
		sigaddset(&all, sigs[i]);
		MUST(sigaction(sigs[i], &act, NULL) == 0);
	}
	for (int round = 0; round < 8 * N_SIGS; round++) {
		sent = sigs[round / 8];
		by_kill = round & 1;
		handle(SIGUSR1, outer, &all, round & 2 ? SA_ONSTACK : 0);
		expect(SIGUSR1);
		expect_after_jump();
		handle(SIGUSR1, inner, &all, 0);
		handle(SIGUSR2, nested, &all, round & 4 ? SA_ONSTACK : 0);
		expect(SIGUSR2);
	}
	own_fault(&all);
	return guest_end();
}
