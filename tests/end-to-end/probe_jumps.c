/* tests/end-to-end/probe_jumps.c - functions that are left by longjmp, probed
 * at their entry and their returns; and a handler that leaves what it has
 * interrupted, wherever that was.
 *
 *	probe_jumps over | away
 *
 *	over	every other call of `deep` is left by longjmp
 *	away	a timer's handler leaves the loop that calls `busy` */
#include "guest.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

enum { N = 20000 };

static jmp_buf out;
static sigjmp_buf away;
static volatile uint64_t n_busy, n_away;

__attribute__((noinline)) uint64_t deep(uint64_t n, int levels);
__attribute__((noinline)) uint64_t deep(uint64_t n, int levels)
{
	uint64_t r;

	if (levels == 0) {
		if (n & 1)
			longjmp(out, 1);
		return 2 * n;
	}
	r = deep(n, levels - 1) + 1;
	__asm__ volatile("" : "+r"(r));
	return r;
}

/* Counts itself: whatever interrupts it, the count is that of calls that came
 * as far as its first instruction but one. */
uint64_t busy(volatile uint64_t *n);

/* clang-format off */
__asm__(".text\n"
	".globl busy\n.type busy, @function\n"
	"busy:	incq	(%rdi)\n"
	"	mov	$20, %ecx\n"
	"1:	dec	%ecx\n"
	"	jnz	1b\n"
	"	mov	(%rdi), %rax\n"
	"	ret\n"
	".size busy, .-busy\n");
/* clang-format on */

static void on_alarm(int sig)
{
	(void)sig;
	n_away++;
	siglongjmp(away, 1);
}

static void run_over(void)
{
	for (volatile uint64_t n = 0; n < N; n++) {
		if (setjmp(out) == 0) {
			SAME(deep(n, 3), 2 * n + 3);
			SAME(n & 1, 0);
		} else {
			SAME(n & 1, 1);
		}
	}
	printf("hit deep %d\nreturned deep %d\n", 4 * N, 4 * (N / 2));
}

static void run_away(void)
{
	struct itimerval t = {{0, 1000}, {0, 1000}};

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &t, NULL);
	sigsetjmp(away, 1);
	while (n_away < 1000)
		busy(&n_busy);
	memset(&t, 0, sizeof t);
	setitimer(ITIMER_REAL, &t, NULL);
	signal(SIGALRM, SIG_IGN);
	printf("about %lu busy %lu\n", n_away, n_busy);
}

int main(int argc, char **argv)
{
	MUST(argc == 2);
	if (strcmp(argv[1], "over") == 0)
		run_over();
	else
		run_away();
	return guest_end();
}
