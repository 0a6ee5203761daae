/* tests/end-to-end/probe_rate.c - a timer that is faster than its handler, once
 * that is probed: natively the handler takes a microsecond of each ten, and
 * with a probe in each function that it calls more than the ten, so that the
 * next signal is there when it returns. The program gets on all the same,
 * disarms the timer, and says what it has computed. With an argument it does so
 * until SIGTERM. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum { CALLS = 200, ROUNDS = 40, PERIOD_US = 10 };

static volatile unsigned long ticks, in_handler;
static volatile sig_atomic_t ended;

__attribute__((noinline)) static void slow(void)
{
	in_handler++;
}

static void on_alarm(int sig)
{
	(void)sig;
	for (int i = 0; i < CALLS; i++)
		slow();
	ticks++;
}

static void on_end(int sig)
{
	(void)sig;
	ended = 1;
}

/* Flags that are stored must not show that anything steps through it. */
__attribute__((noinline)) static unsigned long flags(void)
{
	unsigned long f;

	__asm__ volatile("sub $128, %%rsp; pushf; pop %0; add $128, %%rsp"
			 : "=r"(f)
			 :
			 : "cc");
	return f & 0x100;
}

__attribute__((noinline)) static unsigned long work(unsigned long x)
{
	for (int i = 0; i < 10; i++)
		x = x * 6364136223846793005ul + 1442695040888963407ul;
	return x + flags() + (syscall(SYS_getpid) == getpid());
}

static void handle(int sig, void (*handler)(int))
{
	struct sigaction act = {.sa_handler = handler};

	sigaction(sig, &act, NULL);
}

static void arm(int us)
{
	const struct itimerval every = {{0, us}, {0, us}};

	if (setitimer(ITIMER_REAL, &every, NULL) < 0)
		perror("setitimer");
}

/* Once a timer is disarmed its signal does not come any more, or it would end
 * the program. */
static unsigned long disarm_in_time(unsigned long x)
{
	for (int i = 0; i < ROUNDS; i++) {
		handle(SIGALRM, on_alarm);
		arm(PERIOD_US);
		x = work(x);
		arm(0);
		handle(SIGALRM, SIG_DFL);
	}
	return x;
}

static volatile int n_sent;

static void on_sent(int sig)
{
	(void)sig;
	n_sent++;
}

/* A signal that a program sends to itself is there when the call returns, in
 * whatever state that finds it again and again. */
static int send_in_time(void)
{
	handle(SIGUSR1, on_sent);
	for (int i = 1; i <= ROUNDS; i++) {
		kill(getpid(), SIGUSR1);
		if (n_sent != i)
			return 0;
	}
	return 1;
}

static int ends[2];

static void on_fifth(int sig)
{
	static int n;

	(void)sig;
	if (++n == 5 && write(ends[1], "x", 1) != 1)
		_exit(1);
}

/* Each signal finds the thread in the same state, before a call that waits and
 * will be made again. */
static int read_on(void)
{
	struct sigaction act = {.sa_handler = on_fifth, .sa_flags = SA_RESTART};
	char byte = 0;

	if (pipe(ends) < 0)
		return 0;
	sigaction(SIGALRM, &act, NULL);
	arm(20000);
	return read(ends[0], &byte, 1) == 1 && byte == 'x';
}

int main(int argc, char **argv)
{
	unsigned long x = 1;

	(void)argv;
	handle(SIGALRM, on_alarm);
	handle(SIGTERM, on_end);
	arm(PERIOD_US);
	for (int i = 0; i < ROUNDS || (argc > 1 && !ended); i++)
		x = work(x);
	while (ticks == 0)
		;
	arm(0);
	x = disarm_in_time(x);
	printf("%lx, handlers ran %s, %s\n", argc > 1 ? 0 : x,
	       in_handler == ticks * CALLS ? "whole" : "in part",
	       send_in_time() && read_on() ? "in time" : "late");
	return 0;
}
