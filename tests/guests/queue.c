/* tests/guests/queue.c - queued signals: none lost, none twice, in order, each
 * with its value and sender, and on the stack that was asked for.
 *
 *   queue UNTIL       a child sends, one value after the other, and a hundred
 *                     at least (lives.h says how long)
 *   queue             says what value the first SIGRTMIN brings
 *
 * The handler runs on an alternate stack and keeps patterns around its frame;
 * main computes on registers and its red zone meanwhile. */
#define _GNU_SOURCE
#include "lives.h"
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char other_stack[65536] __attribute__((aligned(16)));
static volatile long next_value, complaints;
static pid_t sender;

static void complain(const char *what)
{
	complaints++;
	fprintf(stderr, "queue: %s\n", what);
}

static void handler(int sig, siginfo_t *info, void *context)
{
	volatile uint64_t pattern[32];
	char *here = (char *)&pattern[0];

	(void)sig, (void)context;
	for (uint64_t i = 0; i < 32; i++)
		pattern[i] = i * 0x0101010101010101ull;
	if (info->si_value.sival_int != (int)next_value)
		complain("a value is missing, twice or out of order");
	if (info->si_code != SI_QUEUE || info->si_pid != sender)
		complain("a signal came from somebody else");
	if (here < other_stack || here >= other_stack + sizeof other_stack)
		complain("the handler is on the wrong stack");
	next_value = info->si_value.sival_int + 1;
	for (uint64_t i = 0; i < 32; i++)
		if (pattern[i] != i * 0x0101010101010101ull)
			complain("the handler's stack was written to");
}

/* 1 if 64 words below the stack pointer and in registers stay what they are. */
static int red_zone_stays(uint64_t seed)
{
	uint64_t bad = 0;

	__asm__ volatile("	mov %[seed], %%rax\n"
			 "	mov %%rax, -8(%%rsp)\n"
			 "	mov %%rax, -64(%%rsp)\n"
			 "	mov %%rax, -128(%%rsp)\n"
			 "	mov $3000, %%ecx\n"
			 "1:	dec %%ecx\n"
			 "	jnz 1b\n"
			 "	cmp %%rax, -8(%%rsp)\n"
			 "	setne %%cl\n"
			 "	or %%cl, %b[bad]\n"
			 "	cmp %%rax, -64(%%rsp)\n"
			 "	setne %%cl\n"
			 "	or %%cl, %b[bad]\n"
			 "	cmp %%rax, -128(%%rsp)\n"
			 "	setne %%cl\n"
			 "	or %%cl, %b[bad]\n"
			 : [bad] "+r"(bad)
			 : [seed] "r"(seed)
			 : "rax", "rcx", "memory", "cc");
	return bad == 0;
}

static _Noreturn void send_until(const char *until)
{
	union sigval v = {.sival_int = 0};
	pid_t parent = getppid();

	while (lives(until) || v.sival_int <= 100) {
		if (sigqueue(parent, SIGRTMIN, v) == 0)
			v.sival_int++;
		else if (errno == EAGAIN)
			usleep(100);
		else
			break;
		if (v.sival_int % 16 == 0)
			usleep(50);
	}
	_exit(0);
}

static int say_first(void)
{
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	puts("ready");
	fflush(stdout);
	if (sigwaitinfo(&set, &info) < 0)
		return 1;
	printf("code %d value %d\n", info.si_code, info.si_value.sival_int);
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction act = {.sa_sigaction = handler,
				.sa_flags =
				    SA_SIGINFO | SA_ONSTACK | SA_RESTART};
	stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
	sigset_t before;
	int status;

	if (argc < 2)
		return say_first();
	sigaltstack(&stack, NULL);
	sigfillset(&act.sa_mask);
	sigaction(SIGRTMIN, &act, NULL);
	sigprocmask(SIG_BLOCK, &act.sa_mask, &before);
	sender = fork();
	if (sender == 0)
		send_until(argv[1]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	puts("ready");
	fflush(stdout);
	for (uint64_t i = 0; waitpid(sender, &status, WNOHANG) == 0; i++)
		if (!red_zone_stays(i * 0x9e3779b97f4a7c15ull))
			complain("the red zone was written to");
	printf("signals %s complaints %ld\n", next_value > 100 ? "many" : "few",
	       complaints);
	return complaints != 0;
}
