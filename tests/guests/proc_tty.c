/* tests/guests/proc_tty.c - a pseudo terminal: a child with it as controlling
 * terminal is interrupted by a typed control-C and told of a hang-up. */
#include "guest.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>

static volatile int ints, hups, winch;

static void handler(int sig)
{
	if (sig == SIGINT)
		ints++;
	else if (sig == SIGHUP)
		hups++;
	else
		winch++;
}

static void child(const char *name, int ready)
{
	sigset_t all, none;

	sigfillset(&all);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signal(SIGINT, handler);
	signal(SIGHUP, handler);
	signal(SIGWINCH, handler);
	setsid();
	MUST(open(name, O_RDWR) >= 0);
	MUST(write(ready, "x", 1) == 1);
	alarm(100);
	while (hups == 0) {
		sigsuspend(&none);
		MUST(write(ready, "x", 1) == 1);
	}
	_exit(ints * 10 + winch);
}

int main(void)
{
	int m = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), p[2], status;
	struct winsize w = {.ws_row = 25, .ws_col = 80}, back;
	char c;
	pid_t pid;

	if (m < 0 || grantpt(m) != 0 || unlockpt(m) != 0)
		guest_absent("machine");
	MUST(pipe(p) == 0);
	pid = fork();
	if (pid == 0) {
		char name[64];

		snprintf(name, sizeof name, "%s", ptsname(m));
		close(m); /* or it would never hang up */
		child(name, p[1]);
	}
	MUST(read(p[0], &c, 1) == 1);
	MUST(write(m, "\003", 1) == 1);
	MUST(read(p[0], &c, 1) == 1); /* it was told */
	MUST(ioctl(m, TIOCSWINSZ, &w) == 0);
	MUST(ioctl(m, TIOCGWINSZ, &back) == 0);
	SAME(back.ws_col, 80);
	MUST(read(p[0], &c, 1) == 1);
	close(m); /* hangs up */
	MUST(waitpid(pid, &status, 0) == pid);
	SAME(status, 11 << 8);
	return guest_end();
}
