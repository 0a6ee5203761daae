/* tests/guests/sig_rep_interrupted.c - a signal in the middle of a long string
 * instruction finds rcx, rsi and rdi in step, and what was copied is there; it
 * goes on afterwards. */
#include "guest.h"
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

enum { SIZE = 16 << 20 };

static uint8_t *from, *to;
static volatile int inside, seen;
extern const char rep_at[];

static void handler(int sig, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t done;

	(void)sig;
	(void)info;
	seen++;
	if (g[REG_RIP] != (greg_t)rep_at || g[REG_RCX] == SIZE)
		return;
	inside++;
	done = SIZE - (uint64_t)g[REG_RCX];
	SAME(g[REG_RSI] - (greg_t)from, done);
	SAME(g[REG_RDI] - (greg_t)to, done);
	if (done > 0)
		SAME(to[done - 1], from[done - 1]);
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	struct itimerval t = {{0, 300}, {0, 300}}, never = {{0}};

	from = malloc(SIZE);
	to = malloc(SIZE);
	MUST(from != NULL && to != NULL && sigaction(SIGALRM, &sa, NULL) == 0);
	for (size_t i = 0; i < SIZE; i++)
		from[i] = (uint8_t)(i * 31 >> 7);
	MUST(setitimer(ITIMER_REAL, &t, NULL) == 0);
	for (int i = 0; i < 8; i++) {
		uint8_t *s = from, *d = to;
		uint64_t n = SIZE;

		memset(to, 0, SIZE);
		asm volatile(".globl rep_at\n"
			     "rep_at: rep movsb"
			     : "+S"(s), "+D"(d), "+c"(n)::"memory");
		SAME(n, 0);
		SAME(s - from, SIZE);
		CHECK(memcmp(from, to, SIZE) == 0);
	}
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
	CHECK(seen > 0);
	return guest_end();
}
