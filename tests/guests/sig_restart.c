/* tests/guests/sig_restart.c - a read that a signal interrupts goes on if the
 * handler was installed with SA_RESTART, and fails with EINTR if not; so does
 * waitpid. */
#include "guest.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

static volatile int n, writes = 1;
static int fds[2];

static void handler(int sig)
{
	(void)sig;
	if (++n % 3 == 0 && writes)
		MUST(write(fds[1], "x", 1) == 1);
}

static void install(int flags, long us)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = flags};
	struct itimerval t = {{0, us}, {0, us}};

	MUST(sigaction(SIGALRM, &sa, NULL) == 0);
	MUST(setitimer(ITIMER_REAL, &t, NULL) == 0);
}

int main(void)
{
	struct itimerval never = {{0}};
	char c;
	int status;
	pid_t pid;

	MUST(pipe(fds) == 0);
	install(SA_RESTART, 3000);
	for (int i = 0; i < 5; i++) {
		SAME(read(fds[0], &c, 1), 1);
		CHECK(n >= 3 * (i + 1));
	}
	setitimer(ITIMER_REAL, &never, NULL);
	writes = 0;
	MUST(fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0);
	while (read(fds[0], &c, 1) == 1)
		;
	MUST(fcntl(fds[0], F_SETFL, 0) == 0);
	for (int i = 0; i < 5; i++) {
		install(0, 5000);
		errno = 0;
		SAME(read(fds[0], &c, 1), -1);
		SAME(errno, EINTR);
		setitimer(ITIMER_REAL, &never, NULL);
	}
	pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	install(0, 5000);
	SAME(waitpid(pid, &status, 0), -1);
	SAME(errno, EINTR);
	setitimer(ITIMER_REAL, &never, NULL);
	MUST(kill(pid, SIGKILL) == 0);
	SAME(waitpid(pid, &status, 0), pid);
	SAME(WTERMSIG(status), SIGKILL);
	return guest_end();
}
