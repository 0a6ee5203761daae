/* tests/guests/proc_exec_odd.c - programs started oddly: without any argument,
 * with all descriptors closed, with an empty environment, with every signal
 * blocked and ignored, with a hundred thousand bytes of arguments. */
#include "guest.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

static char big[100000];

static int child(int argc, char **argv)
{
	sigset_t now;
	struct sigaction sa;

	if (argc == 0 || argv[0][0] == 0)
		return 40;
	switch (argv[1][0]) {
	case 'c': /* nothing is open, not even 2 */
		for (int i = 0; i < 10; i++)
			if (fcntl(i, F_GETFD) != -1)
				return 1;
		return open("/dev/null", O_RDONLY) == 0 ? 41 : 2;
	case 'e':
		return environ[0] == NULL ? 42 : 1;
	case 's':
		sigprocmask(SIG_BLOCK, NULL, &now);
		for (int i = 1; i < 32; i++)
			if (i != SIGKILL && i != SIGSTOP) {
				sigaction(i, NULL, &sa);
				if (!sigismember(&now, i) ||
				    sa.sa_handler != SIG_IGN)
					return 1;
			}
		return 43;
	default:
		return argc == 3 && strlen(argv[1]) == sizeof big - 1 ? 44 : 1;
	}
}

static void start(int how, char *self)
{
	char *none[] = {NULL}, *args[] = {self, "x", "y", NULL};
	sigset_t all;

	switch (how) {
	case 0:
		execve("/proc/self/exe", none, none);
		break;
	case 1:
		args[1] = "closed";
		closefrom(0);
		execve("/proc/self/exe", args, environ);
		break;
	case 2:
		args[1] = "env";
		execve("/proc/self/exe", args, none);
		break;
	case 3:
		args[1] = "signals";
		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, NULL);
		for (int i = 1; i < 32; i++)
			signal(i, SIG_IGN);
		execve("/proc/self/exe", args, environ);
		break;
	default:
		memset(big, 'b', sizeof big - 1);
		args[1] = big;
		execve("/proc/self/exe", args, environ);
	}
	_exit(3);
}

int main(int argc, char **argv)
{
	int status;

	if (argc != 1 || argv[0][0] == 0)
		return child(argc, argv);
	for (int how = 0; how < 5; how++) {
		pid_t pid = fork();

		if (pid == 0)
			start(how, argv[0]);
		MUST(waitpid(pid, &status, 0) == pid);
		SAME(status, (40 + how) << 8);
	}
	return guest_end();
}
