/* tests/guests/own_group.c - a signal to the own process group comes once.
 *
 * SIGURG, for nobody else in the group minds it. Sent to the group by this
 * program, and by a child of it; each must be seen once, by its sender's
 * number. Exit status 0 if so. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t times, sender;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	times++;
	sender = info->si_pid;
}

/* Whoever passes a signal on has had the time to. */
static void wait_a_while(void)
{
	struct timespec left = {.tv_nsec = 200000000};

	while (nanosleep(&left, &left) < 0)
		continue;
}

static int came_once(const char *from, pid_t pid)
{
	wait_a_while();
	if (times == 1 && sender == pid)
		return 1;
	printf("from %s: %d times, the last from %s\n", from, (int)times,
	       sender == pid ? "it" : "another");
	return 0;
}

int main(void)
{
	struct sigaction act = {.sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO};
	int good = 1;
	pid_t pid;

	sigaction(SIGURG, &act, NULL);
	kill(0, SIGURG);
	good &= came_once("itself", getpid());
	times = 0;
	pid = fork();
	if (pid == 0) {
		int failed = kill(0, SIGURG) != 0;

		wait_a_while();
		_exit(failed);
	}
	good &= came_once("a child", pid);
	while (waitpid(pid, NULL, 0) < 0)
		continue;
	return good ? 0 : 1;
}
