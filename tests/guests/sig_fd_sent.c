/* tests/guests/sig_fd_sent.c - fault signals that were sent while they are
 * blocked: signalfd, poll, epoll, select, sigpending and sigtimedwait see them,
 * sent before the call or while it waits; no system call is interrupted.
 *
 *   sig_fd_sent [fd]       (fd: only what sees them) */
#include "guest.h"
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum way { BY_KILL, BY_RAISE, BY_TGKILL, BY_QUEUE, WAYS };
enum look { BY_READ, BY_POLL, BY_PPOLL, BY_SELECT, BY_EPOLL, BY_WAIT, LOOKS };

static const int sigs[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
static volatile sig_atomic_t caught;

static void on_signal(int sig)
{
	(void)sig;
	caught++;
}

static void send_it(int sig, enum way way)
{
	if (way == BY_KILL)
		SAME(kill(getpid(), sig), 0);
	else if (way == BY_RAISE)
		SAME(raise(sig), 0);
	else if (way == BY_TGKILL)
		SAME(syscall(SYS_tgkill, getpid(), gettid(), sig), 0);
	else
		SAME(sigqueue(getpid(), sig, (union sigval){.sival_int = 7}),
		     0);
}

static int is_pending(int sig)
{
	sigset_t set;

	MUST(sigpending(&set) == 0);
	return sigismember(&set, sig);
}

static int wait_for(int fd, int epoll, const sigset_t *it, enum look look)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct epoll_event e;
	fd_set fds;

	switch (look) {
	case BY_POLL:
		return poll(&p, 1, -1);
	case BY_PPOLL:
		return ppoll(&p, 1, NULL, it);
	case BY_SELECT:
		FD_ZERO(&fds);
		FD_SET(fd, &fds);
		return select(fd + 1, &fds, NULL, NULL, NULL);
	case BY_EPOLL:
		return epoll_wait(epoll, &e, 1, -1);
	default:
		return 1;
	}
}

static void take(int fd, int epoll, const sigset_t *it, int sig, enum look look,
		 int code)
{
	struct signalfd_siginfo s;
	siginfo_t info;

	if (look == BY_WAIT) {
		SAME(sigwaitinfo(it, &info), sig);
		SAME(info.si_code, code == SI_TKILL ? SI_USER : code);
	} else {
		SAME(wait_for(fd, epoll, it, look), 1);
		SAME(read(fd, &s, sizeof s), (long)sizeof s);
		SAME(s.ssi_signo, (unsigned)sig);
		SAME(s.ssi_code, code);
	}
	CHECK(!is_pending(sig));
}

static void before(int fd, int epoll, const sigset_t *it, int sig)
{
	static const int codes[] = {SI_USER, SI_TKILL, SI_TKILL, SI_QUEUE};

	for (int look = 0; look < LOOKS; look++)
		for (int way = 0; way < WAYS; way++) {
			send_it(sig, (enum way)way);
			CHECK(is_pending(sig));
			take(fd, epoll, it, sig, (enum look)look, codes[way]);
		}
}

/* A child sends it to a parent that waits already, or is about to. */
static void meanwhile(int fd, int epoll, const sigset_t *it, int sig)
{
	for (int look = 0; look < LOOKS; look++) {
		pid_t pid = fork();

		if (pid == 0) {
			usleep(3000);
			kill(getppid(), sig);
			_exit(0);
		}
		take(fd, epoll, it, sig, (enum look)look, SI_USER);
		MUST(waitpid(pid, NULL, 0) == pid);
	}
}

/* A call that waits for something else goes on. */
static void undisturbed(int sig)
{
	struct timespec t = {0, 30000000};
	int ends[2], status;
	pid_t pid;
	char c;

	MUST(pipe(ends) == 0);
	pid = fork();
	if (pid == 0) {
		usleep(2000);
		kill(getppid(), sig);
		usleep(2000);
		_exit(write(ends[1], "x", 1) != 1);
	}
	SAME(nanosleep(&t, NULL), 0);
	SAME(read(ends[0], &c, 1), 1);
	SAME(waitpid(pid, &status, 0), pid);
	SAME(status, 0);
	CHECK(is_pending(sig));
	close(ends[0]);
	close(ends[1]);
}

int main(int argc, char **argv)
{
	struct epoll_event e = {.events = EPOLLIN};
	struct sigaction act = {.sa_handler = on_signal};
	sigset_t it;

	(void)argv;
	alarm(100);
	for (unsigned i = 0; i < sizeof sigs / sizeof *sigs; i++) {
		int fd, epoll = epoll_create1(0);

		if (i % 2 == 0) /* handled, or left to its default */
			MUST(sigaction(sigs[i], &act, NULL) == 0);
		sigemptyset(&it);
		sigaddset(&it, sigs[i]);
		MUST(sigprocmask(SIG_BLOCK, &it, NULL) == 0);
		fd = signalfd(-1, &it, SFD_CLOEXEC);
		MUST(fd >= 0 && epoll >= 0);
		MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) == 0);
		if (argc == 1) {
			undisturbed(sigs[i]);
			take(fd, epoll, &it, sigs[i], BY_READ, SI_USER);
		}
		before(fd, epoll, &it, sigs[i]);
		meanwhile(fd, epoll, &it, sigs[i]);
		if (i % 2 == 0) {
			raise(sigs[i]);
			SAME(caught, 0);
			MUST(sigprocmask(SIG_UNBLOCK, &it, NULL) == 0);
			SAME(caught, 1);
			caught = 0;
		}
		close(fd);
		close(epoll);
	}
	return guest_end();
}
