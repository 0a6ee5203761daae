/* tests/guests/no_tsc.c - a program that forbade itself to read the clock.
 *
 * After prctl(PR_SET_TSC, PR_TSC_SIGSEGV) the instruction rdtsc is a fault, and
 * whoever executes it in this process in passing must not leave that behind: a
 * thread and a child, made with a handler for SIGSEGV in place, both live, find
 * their handler unchanged, and come into it only by their own rdtsc. The
 * number of times is counted. Exit status 0 if all went well. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static volatile sig_atomic_t faults;

/* rdtsc is two bytes long. */
static void skip(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)info;
	uc->uc_mcontext.gregs[REG_RIP] += 2;
	faults++;
}

/* 0 if nothing has happened so far and a rdtsc faults once. */
static int look(void)
{
	int mode = 0;

	if (faults != 0 || prctl(PR_GET_TSC, &mode) < 0 ||
	    mode != PR_TSC_SIGSEGV)
		return 1;
	__builtin_ia32_rdtsc();
	return faults != 1;
}

static void *in_thread(void *arg)
{
	*(int *)arg = look();
	return NULL;
}

static int by_thread(void)
{
	int result = 1;
	pthread_t t;

	faults = 0;
	if (pthread_create(&t, NULL, in_thread, &result) != 0)
		return 1;
	pthread_join(t, NULL);
	return result;
}

static int by_child(void)
{
	int status = 1;
	pid_t pid;

	faults = 0;
	pid = fork();
	if (pid == 0)
		_exit(look());
	return waitpid(pid, &status, 0) != pid || status != 0;
}

int main(void)
{
	struct sigaction act = {.sa_sigaction = skip, .sa_flags = SA_SIGINFO};
	int child, thread;

	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) < 0 ||
	    sigaction(SIGSEGV, &act, NULL) < 0)
		return 2;
	child = by_child();
	thread = by_thread();
	if (child || thread)
		printf("child: %s, thread: %s\n", child ? "badly" : "well",
		       thread ? "badly" : "well");
	return child || thread;
}
