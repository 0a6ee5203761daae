/* tests/lossless/check.c */
#include "lossless/check.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* -- TAP ------------------------------------------------------------------- */

static unsigned n_tests, n_planned, n_failed;
static atomic_int is_faulty;
static char first_fault[512];

void fault(const char *format, ...)
{
	va_list args;

	if (atomic_exchange(&is_faulty, 1))
		return;
	va_start(args, format);
	vsnprintf(first_fault, sizeof first_fault, format, args);
	va_end(args);
}

void test_begin(unsigned planned)
{
	n_planned = planned;
	printf("1..%u\n", planned);
}

void test(const char *name, void (*run)(void))
{
	atomic_store(&is_faulty, 0);
	run();
	n_tests++;
	if (!atomic_load(&is_faulty)) {
		printf("ok %u - %s\n", n_tests, name);
	} else {
		n_failed++;
		printf("not ok %u - %s\n# %s\n", n_tests, name, first_fault);
	}
	fflush(stdout);
}

int test_end(void)
{
	return n_failed != 0 || n_tests != n_planned;
}

/* -- Code ------------------------------------------------------------------ */

enum { CODE_LEN = 1 << 22, MAX_PIECES = 700 };
static uint8_t *code_at, *code_end;
static uint8_t original[CODE_LEN];

static void code_open(void)
{
	void *p;

	if (code_at != NULL)
		return;
	p = mmap(NULL, CODE_LEN, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	code_at = p;
	code_end = code_at + CODE_LEN;
}

uint8_t *code_room(unsigned len)
{
	uint8_t *p;

	code_open();
	p = code_at;
	code_at += (len + 15) & ~15U;
	if (code_at > code_end)
		abort();
	return p;
}

int is_in_pieces(uint64_t pc)
{
	return pc - (uint64_t)(code_end - CODE_LEN) < CODE_LEN;
}

uint64_t pieces_seed = 1000;

static void put_probes(struct piece *p)
{
	struct hark_err err;

	for (unsigned i = 0; i < p->n; i++) {
		int probe =
		    lossless_offset(p->code, p->len, p->insn[i].offset, &err);

		if (probe < 0) {
			printf("Bail out! instruction %u: %s\n", i, err.text);
			exit(1);
		}
		if (i == 0)
			p->probe = probe;
		if (probe != p->probe + (int)i)
			abort();
	}
}

const struct pieces *pieces_of(enum family family)
{
	static struct pieces made[FAMILIES];
	struct pieces *p = &made[family];

	if (p->all != NULL)
		return p;
	code_open();
	random_seed(pieces_seed + family);
	p->all = calloc(MAX_PIECES, sizeof *p->all);
	if (p->all == NULL)
		abort();
	p->n = gen_pieces(family, p->all, MAX_PIECES, &code_at);
	if (code_at > code_end)
		abort();
	__builtin___clear_cache((char *)code_end - CODE_LEN, (char *)code_end);
	for (unsigned i = 0; i < p->n; i++) {
		const struct piece *one = &p->all[i];

		memcpy(original + CODE_LEN - (code_end - one->code), one->code,
		       one->len);
		put_probes(&p->all[i]);
	}
	return p;
}

void check_text(void)
{
	for (unsigned f = 0; f < FAMILIES; f++)
		for (unsigned i = 0; i < pieces_of(f)->n; i++) {
			const struct piece *p = &pieces_of(f)->all[i];

			CHECK(memcmp(original + CODE_LEN - (code_end - p->code),
				     p->code, p->len) == 0);
		}
}

void on(int probe)
{
	struct hark_err err;

	if (lossless_on(probe, &err) < 0)
		fault("on: %s", err.text);
}

void off(int probe)
{
	struct hark_err err;

	if (lossless_off(probe, &err) < 0)
		fault("off: %s", err.text);
}

/* -- Runs ------------------------------------------------------------------ */

/* Never inlined: the stack is the same for all. */
__attribute__((noinline)) void run_piece(const struct piece *p,
					 unsigned outcome, uint64_t seed,
					 struct state *work,
					 struct state *before)
{
	random_seed(seed + outcome);
	gen_prepare(p, outcome, work);
	*before = *work;
	gen_call(p->code, work);
}

void check_state(const struct piece *p, const struct state *native,
		 const struct state *probed)
{
	for (unsigned i = 0; i < STATE_WORDS; i++)
		if (native->word[i] != probed->word[i]) {
			const uint8_t *c = p->code;

			fault("%s is %#lx, not %#lx; the code begins with "
			      "%02x%02x%02x%02x %02x%02x%02x%02x",
			      gen_word_name(i), (unsigned long)probed->word[i],
			      (unsigned long)native->word[i], c[0], c[1], c[2],
			      c[3], c[4], c[5], c[6], c[7]);
			return;
		}
}

/* How often the instruction has been executed, says the piece itself. */
static uint64_t truth(const struct piece *p, unsigned insn,
		      const struct state *before, const struct state *after)
{
	int counter = p->insn[insn].counter;

	if (counter == ONCE)
		return 1;
	if (counter == NEVER)
		return 0;
	return gen_counter(after, counter) - gen_counter(before, counter);
}

static int is_part(const struct piece *p, unsigned insn, unsigned parts)
{
	return (p->insn[insn].part & parts) != 0;
}

static void alone(const struct piece *p, unsigned insn)
{
	enum { MOST = 32 };
	static struct state native[MOST], work, before;
	int probe = p->probe + (int)insn;
	uint64_t executed = 0, counted = lossless_count(probe);

	for (unsigned o = 0; o < p->outcomes; o++) {
		run_piece(p, o, insn, &work, &before);
		native[o] = work;
	}
	on(probe);
	for (unsigned o = 0; o < p->outcomes; o++) {
		run_piece(p, o, insn, &work, &before);
		check_state(p, &native[o], &work);
		executed += truth(p, insn, &before, &work);
	}
	off(probe);
	counted = lossless_count(probe) - counted;
	if (counted != executed)
		fault("instruction %u: executed %lu, counted %lu", insn,
		      (unsigned long)executed, (unsigned long)counted);
}

void check_each_alone(enum family family, unsigned parts)
{
	const struct pieces *pieces = pieces_of(family);

	for (unsigned i = 0; i < pieces->n; i++)
		for (unsigned k = 0; k < pieces->all[i].n; k++)
			if (is_part(&pieces->all[i], k, parts))
				alone(&pieces->all[i], k);
}

/* -- Many at once ---------------------------------------------------------- */

struct worker {
	const struct pieces *pieces;
	unsigned number, parts;
	pthread_barrier_t *barrier;
	void (*also)(void); /* or NULL: then counts are checked, too */
	atomic_int *n_busy, *n_switched;
	struct state work, before;
	struct state *native; /* owned: of all pieces, all outcomes */
	uint64_t *executed;   /* owned: likewise, of all instructions */
};

/* Everything of one worker, natively or compared to that. */
static void run_all(struct worker *w, int is_probed)
{
	struct state *native = w->native;

	for (unsigned i = 0; i < w->pieces->n; i++) {
		const struct piece *p = &w->pieces->all[i];
		uint64_t *executed = &w->executed[(size_t)i * PIECE_INSNS];

		for (unsigned o = 0; o < p->outcomes; o++, native++) {
			run_piece(p, o, 77 + w->number, &w->work, &w->before);
			if (!is_probed) {
				*native = w->work;
				continue;
			}
			check_state(p, native, &w->work);
			if (w->also != NULL)
				w->also();
			for (unsigned k = 0; k < p->n; k++)
				executed[k] +=
				    truth(p, k, &w->before, &w->work);
		}
	}
}

/* Counts of the calling thread alone: 0 missed, 0 double. */
static void check_counts(const struct worker *w)
{
	int self = lossless_self();

	CHECK(self >= 0);
	for (unsigned i = 0; i < w->pieces->n; i++) {
		const struct piece *p = &w->pieces->all[i];

		for (unsigned k = 0; k < p->n; k++) {
			uint64_t n = lossless_thread_count(p->probe + (int)k,
							   (unsigned)self);
			uint64_t is =
			    is_part(p, k, w->parts)
				? w->executed[(size_t)i * PIECE_INSNS + k]
				: 0;

			if (n != is)
				fault("piece %u, instruction %u: executed %lu, "
				      "counted %lu",
				      i, k, (unsigned long)is,
				      (unsigned long)n);
		}
	}
}

/* Pieces that have been switched on and off before the last worker ends. */
enum { SWITCHED = 100 };

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	run_all(w, 0);
	pthread_barrier_wait(w->barrier); /* 1: all have run natively */
	pthread_barrier_wait(w->barrier); /* 2: all probes are on */
	do
		run_all(w, 1);
	while (atomic_load(w->n_switched) < SWITCHED);
	if (w->also == NULL)
		check_counts(w);
	atomic_fetch_sub(w->n_busy, 1);
	return NULL;
}

static void switch_all(const struct pieces *pieces, unsigned parts, int is_on)
{
	for (unsigned i = 0; i < pieces->n; i++)
		for (unsigned k = 0; k < pieces->all[i].n; k++)
			if (is_part(&pieces->all[i], k, parts))
				(is_on ? on
				       : off)(pieces->all[i].probe + (int)k);
}

static void worker_open(struct worker *w, const struct pieces *pieces)
{
	size_t runs = 0;

	for (unsigned i = 0; i < pieces->n; i++)
		runs += pieces->all[i].outcomes;
	w->pieces = pieces;
	w->native = aligned_alloc(64, runs * sizeof *w->native);
	w->executed =
	    calloc((size_t)pieces->n * PIECE_INSNS, sizeof *w->executed);
	if (w->native == NULL || w->executed == NULL)
		abort();
}

static void worker_close(struct worker *w)
{
	free(w->native);
	free(w->executed);
}

/* Of one piece, all probes, on and then off. */
static void switch_one(const struct piece *p)
{
	for (unsigned k = 0; k < p->n; k++)
		on(p->probe + (int)k);
	nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
	for (unsigned k = 0; k < p->n; k++)
		off(p->probe + (int)k);
}

static void run_workers(const struct pieces *pieces, unsigned parts,
			unsigned threads, void (*also)(void))
{
	static struct worker workers[THREADS];
	pthread_t ids[THREADS];
	pthread_barrier_t barrier;
	atomic_int n_busy = (int)threads, n_switched = also ? 0 : SWITCHED;

	pthread_barrier_init(&barrier, NULL, threads + 1);
	for (unsigned i = 0; i < threads; i++) {
		worker_open(&workers[i], pieces);
		workers[i].number = i;
		workers[i].parts = parts;
		workers[i].barrier = &barrier;
		workers[i].also = also;
		workers[i].n_busy = &n_busy;
		workers[i].n_switched = &n_switched;
		if (pthread_create(&ids[i], NULL, worker_main, &workers[i]))
			abort();
	}
	pthread_barrier_wait(&barrier);
	if (also == NULL)
		switch_all(pieces, parts, 1);
	pthread_barrier_wait(&barrier);
	while (also != NULL && atomic_load(&n_busy) > 0) {
		switch_one(&pieces->all[random_below(pieces->n)]);
		atomic_fetch_add(&n_switched, 1);
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		worker_close(&workers[i]);
	}
	switch_all(pieces, parts, 0);
	pthread_barrier_destroy(&barrier);
}

void check_all_at_once(enum family family, unsigned parts, unsigned threads)
{
	run_workers(pieces_of(family), parts, threads, NULL);
}

void check_while_switched(enum family family, void (*also)(void))
{
	random_seed(4711);
	run_workers(pieces_of(family), PART_ALL, THREADS, also);
}

/* -- Functions ------------------------------------------------------------- */

struct gen_function gen_function(enum function which)
{
	const uint8_t *start = gen_starts[which];

	return (struct gen_function){
	    .call = (uint64_t(*)(uint64_t))(uintptr_t)start,
	    .start = start,
	    .len = (unsigned)(gen_starts[which + 1] - start)};
}
