/* tests/end-to-end/probe_switch.c - threads that know when they are probed.
 *
 *	probe_switch THREADS TURN FILE
 *
 * Each thread calls jump, window and trap with the ordinals 0, 1, 2, ... until
 * there is a FILE. Each call adds to two sums of its thread: that it was
 * executed once, neither twice nor never, is seen at once.
 *
 * Whoever tests writes a number to TURN (one byte) before probes are put in,
 * another one each time. A call is *surely probed* in a turn if the function's
 * first byte was not its own before the call, nor after it, both in that turn:
 * of one turn probes go in once and out once. At the end the thread says which
 * ordinals those were:
 *
 *	sure TURN TID FUNCTION FIRST LAST
 *
 * Of a turn, at most two more calls by a thread may have met a probe: one in
 * which it came, and one in which it went. */
#include "guest.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/syscall.h>

enum { THREADS_MAX = 64, TURNS = 256, FUNCTIONS = 3 };

struct sums {
	uint64_t ordinals, calls;
};

typedef uint64_t function(uint64_t ordinal, struct sums *s);
function jump, window, trap;

/* clang-format off */
__asm__(".text\n"
	".p2align 6\n"
	".globl jump\n.type jump, @function\n"
	"jump:	addq	$1, 8(%rsi)\n"		/* 5 bytes */
	"	add	%rdi, (%rsi)\n"
	"	lea	1(%rdi,%rdi), %rax\n"
	"	ret\n"
	".size jump, .-jump\n"
	".globl window\n.type window, @function\n"
	"window: add	%rdi, (%rsi)\n"		/* 3 bytes */
	"	incq	8(%rsi)\n"
	"	mov	%rdi, %rax\n"
	"	add	%rax, %rax\n"
	"	inc	%rax\n"
	"	ret\n"
	".size window, .-window\n"
	".globl trap\n.type trap, @function\n"
	"trap:	push	%rbx\n"			/* 1 byte, before a target */
	"1:	mov	$1, %eax\n"		/* a distance of 0x1b8 */
	"	incq	8(%rsi)\n"
	"	add	%rdi, (%rsi)\n"
	"	lea	(%rdi,%rdi), %rbx\n"
	"	add	%rbx, %rax\n"
	"	jz	1b\n"
	"	pop	%rbx\n"
	"	ret\n"
	".size trap, .-trap\n");
/* clang-format on */

static const struct {
	const char *name;
	function *call;
} functions[FUNCTIONS] = {{"jump", jump}, {"window", window}, {"trap", trap}};

struct range {
	uint64_t first, end;
};

struct worker {
	pthread_t thread;
	long tid;
	struct sums sums[FUNCTIONS];
	struct range sure[TURNS][FUNCTIONS];
} __attribute__((aligned(128)));

static const volatile uint8_t *turn;
static uint8_t own[FUNCTIONS]; /* the first byte of each */
static int stop;

static bool is_probed(int f)
{
	return *(const volatile uint8_t *)functions[f].call != own[f];
}

/* A second run of sure ordinals in one turn cannot be. */
static void note_sure(struct range *r, uint64_t ordinal)
{
	if (r->end == 0)
		r->first = ordinal;
	else
		MUST(r->end == ordinal);
	r->end = ordinal + 1;
}

static void step(struct worker *w, int f, uint64_t ordinal)
{
	struct sums *s = &w->sums[f], before = *s;
	uint8_t now = *turn;
	bool sure = is_probed(f);
	uint64_t result = functions[f].call(ordinal, s);

	sure = sure && is_probed(f) && *turn == now;
	if (result != 2 * ordinal + 1 || s->calls != before.calls + 1 ||
	    s->ordinals != before.ordinals + ordinal) {
		dprintf(1, "%s(%lu): %lu, %lu times\n", functions[f].name,
			ordinal, result, s->calls - before.calls);
		guest_wrong = 1;
	}
	if (sure)
		note_sure(&w->sure[now][f], ordinal);
}

static void *work(void *p)
{
	struct worker *w = p;
	uint64_t n = 0;

	guest_begin();
	w->tid = syscall(SYS_gettid);
	for (; !__atomic_load_n(&stop, __ATOMIC_RELAXED); n++)
		for (int f = 0; f < FUNCTIONS; f++)
			step(w, f, n);
	for (int f = 0; f < FUNCTIONS; f++) {
		SAME(w->sums[f].calls, n);
		SAME(w->sums[f].ordinals, n * (n - 1) / 2);
	}
	return NULL;
}

static void tell(const struct worker *w)
{
	for (int t = 0; t < TURNS; t++)
		for (int f = 0; f < FUNCTIONS; f++)
			if (w->sure[t][f].end > 0)
				printf("sure %d %ld %s %lu %lu\n", t, w->tid,
				       functions[f].name, w->sure[t][f].first,
				       w->sure[t][f].end - 1);
}

int main(int argc, char **argv)
{
	static struct worker w[THREADS_MAX];
	int n, fd;

	MUST(argc == 4);
	n = atoi(argv[1]);
	MUST(n > 0 && n <= THREADS_MAX);
	fd = open(argv[2], O_RDONLY);
	turn = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
	MUST(fd >= 0 && turn != MAP_FAILED);
	for (int f = 0; f < FUNCTIONS; f++)
		own[f] = *(const uint8_t *)functions[f].call;
	for (int i = 0; i < n; i++)
		MUST(pthread_create(&w[i].thread, NULL, work, &w[i]) == 0);
	guest_await(n);
	(void)access(argv[3], F_OK); /* what is called first is bound then */
	printf("ready\n");
	fflush(stdout);
	while (access(argv[3], F_OK) != 0)
		usleep(2000);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < n; i++) {
		pthread_join(w[i].thread, NULL);
		tell(&w[i]);
	}
	return guest_end();
}
