/* tests/guests/sig_stop.c - a child stops itself and is continued: waitpid
 * tells both; a sleep that was stopped goes on and takes its full time. */
#include "guest.h"
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

int main(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct timespec t = {0, 30000000};

		raise(SIGSTOP);
		/* no handler: the kernel restarts it after a stop */
		_exit(nanosleep(&t, NULL) == 0 ? 7 : 8);
	}
	MUST(waitpid(pid, &status, WUNTRACED) == pid);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	MUST(kill(pid, SIGCONT) == 0);
	MUST(waitpid(pid, &status, WCONTINUED) == pid);
	CHECK(WIFCONTINUED(status));
	usleep(5000);
	MUST(kill(pid, SIGTSTP) == 0);
	MUST(waitpid(pid, &status, WUNTRACED) == pid);
	if (WIFSTOPPED(status)) {
		SAME(WSTOPSIG(status), SIGTSTP);
		MUST(kill(pid, SIGCONT) == 0);
		MUST(waitpid(pid, &status, 0) == pid);
	}
	CHECK(WIFEXITED(status));
	SAME(WEXITSTATUS(status), 7);
	return guest_end();
}
