/* probe/board.c - hark's side of a board: accounts, and what was dropped. */
#include "probe/board_priv.h"

#include "inside/sys.h"
#include "outside/tracee.h"
#include "script/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* -- Opening -- */

static int copy_plan(struct board *b, const struct collect_plan *plan,
		     struct hark_err *err)
{
	struct verify_room *room = NULL;
	const char *why = NULL;
	int rc = -1;

	b->plan = *plan;
	if (b->plan.magic != COLLECT_MAGIC ||
	    b->plan.version != COLLECT_VERSION ||
	    b->plan.program.offset > b->plan.size ||
	    b->plan.program.n > b->plan.size - b->plan.program.offset ||
	    b->plan.geometry.policy > COLLECT_RING)
		return err_set(err, HARK_EBUG, 0, "a plan that is none");
	b->program = malloc(b->plan.program.n);
	room = malloc(sizeof *room);
	if (b->program == NULL || room == NULL) {
		err_set(err, HARK_ENOMEM, ENOMEM, "no memory for a board");
		goto out;
	}
	memcpy(b->program, collect_at(plan, b->plan.program.offset),
	       b->plan.program.n);
	why = verify_program(b->program, b->plan.program.n, room);
	if (why != NULL) {
		err_set(err, HARK_EBUG, 0, "a plan with %s", why);
		goto out;
	}
	rc = 0;
out:
	free(room);
	return rc;
}

static size_t most_cells(const struct probe_program *p)
{
	size_t most = 1;

	for (uint32_t i = 0; i < p->aggregations.n; i++)
		if (probe_aggregations(p)[i].n_cells > most)
			most = probe_aggregations(p)[i].n_cells;
	return most;
}

static int make_room(struct board *b, struct hark_err *err)
{
	size_t n = (size_t)b->plan.geometry.max_threads + 1;
	void *own = mmap(NULL, b->l.area_stride + b->l.part_stride,
			 PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	b->own = own != MAP_FAILED ? own : NULL;
	b->readers = calloc(n, sizeof *b->readers);
	b->heap = calloc(n, sizeof *b->heap);
	b->aggregations = calloc((size_t)b->program->aggregations.n + 1,
				 sizeof *b->aggregations);
	b->key = malloc((size_t)b->plan.geometry.aggregation_size + 8);
	b->cells = calloc(2 * most_cells(b->program), sizeof *b->cells);
	if (b->own == NULL || b->readers == NULL || b->heap == NULL ||
	    b->aggregations == NULL || b->key == NULL || b->cells == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM,
			       "no memory for a board");
	return 0;
}

int board_open(const struct collect_plan *plan, void *base, struct board **out,
	       struct hark_err *err)
{
	struct board *b = calloc(1, sizeof *b);

	if (b == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM,
			       "no memory for a board");
	b->base = base;
	if (copy_plan(b, plan, err) < 0)
		goto out;
	collect_layout(&b->plan.geometry, b->program, &b->l);
	if (make_room(b, err) < 0)
		goto out;
	*out = b;
	return 0;
out:
	board_close(b);
	return -1;
}

void board_close(struct board *b)
{
	if (b == NULL)
		return;
	for (uint32_t i = 0;
	     b->readers != NULL && i <= b->plan.geometry.max_threads; i++)
		board_reader_free(&b->readers[i]);
	for (uint32_t i = 0;
	     b->aggregations != NULL && i < b->program->aggregations.n; i++)
		board_aggregation_free(&b->aggregations[i]);
	if (b->own != NULL)
		munmap(b->own, b->l.area_stride + b->l.part_stride);
	free(b->program);
	free(b->readers);
	free(b->heap);
	free(b->aggregations);
	free(b->show);
	free(b->key);
	free(b->cells);
	free(b);
}

/* -- Areas -- */

uint32_t board_areas(const struct board *b)
{
	uint32_t high = __atomic_load_n(&b->base->high, __ATOMIC_ACQUIRE);
	uint32_t most = b->plan.geometry.max_threads;

	return (high < most ? high : most) + 1;
}

struct collect_part *board_part(const struct board *b, uint32_t number)
{
	if (number >= b->plan.geometry.max_threads)
		return collect_in(b->own, b->l.area_stride);
	return collect_in(b->base, b->l.parts + number * b->l.part_stride);
}

struct collect_area *board_area(struct board *b)
{
	return b->own;
}

uint64_t board_hooked(const struct board *b, uint32_t pid, uint32_t tid)
{
	uint32_t n = board_areas(b);

	for (uint32_t i = 0; i + 1 < n; i++) {
		const struct collect_part *p = board_part(b, i);

		if (p->tid == tid && p->pid == pid && (p->owner & 3) == 1)
			return __atomic_load_n(&p->hook, __ATOMIC_RELAXED);
	}
	return 0;
}

void board_free(struct board *b, uint32_t area, uint32_t owner)
{
	if (__atomic_compare_exchange_n(&board_part(b, area)->owner, &owner,
					owner & ~3U, false, __ATOMIC_RELEASE,
					__ATOMIC_RELAXED))
		__atomic_fetch_add(&b->base->ended, 1, __ATOMIC_RELAXED);
}

void board_gone(struct board *b, uint32_t pid)
{
	for (uint32_t i = 0; i + 1 < board_areas(b); i++) {
		const struct collect_part *area = board_part(b, i);
		uint32_t owner =
		    __atomic_load_n(&area->owner, __ATOMIC_ACQUIRE);

		if ((owner & 3) != 0 &&
		    __atomic_load_n(&area->pid, __ATOMIC_RELAXED) == pid)
			board_free(b, i, owner);
	}
}

uint32_t board_most(const struct board *b)
{
	return b->plan.geometry.max_threads;
}

uint32_t board_high(const struct board *b)
{
	return board_areas(b) - 1;
}

/* One that is about to be taken does not say by whom yet. */
void board_each_taken(const struct board *b,
		      void (*visit)(void *ctx, uint32_t area, uint32_t owner,
				    uint32_t pid),
		      void *ctx)
{
	for (uint32_t i = 0, n = board_high(b); i < n; i++) {
		const struct collect_part *area = board_part(b, i);
		uint32_t owner =
		    __atomic_load_n(&area->owner, __ATOMIC_ACQUIRE);

		if ((owner & 3) == 1)
			visit(ctx, i, owner,
			      __atomic_load_n(&area->pid, __ATOMIC_RELAXED));
	}
}

uint64_t board_exec(const struct board *b, unsigned i)
{
	uint64_t word = __atomic_load_n(&b->base->execs[i], __ATOMIC_ACQUIRE);

	return wire_ask_state(word) == WIRE_ASK_ASKED ? word : 0;
}

void board_answer_exec(struct board *b, unsigned i, uint64_t request,
		       enum wire_ask_state answer)
{
	uint64_t *at = &b->base->execs[i];

	if (__atomic_compare_exchange_n(at, &request,
					wire_ask_answer(request, answer), 0,
					__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		sys_call3(SYS_NR_FUTEX, (uint64_t)(uintptr_t)at, SYS_FUTEX_WAKE,
			  INT32_MAX);
}

uint32_t board_exec_missed(const struct board *b)
{
	return __atomic_load_n(&b->base->exec_missed, __ATOMIC_RELAXED);
}

uint32_t board_given(const struct board *b)
{
	return __atomic_load_n(&b->base->given, __ATOMIC_RELAXED);
}

void board_wait(struct board *b, uint64_t timeout_ns)
{
	struct timespec time = {(time_t)(timeout_ns / 1000000000),
				(long)(timeout_ns % 1000000000)};
	uint32_t bell;

	__atomic_store_n(&b->base->sleeping, 1, __ATOMIC_SEQ_CST);
	bell = __atomic_load_n(&b->base->bell, __ATOMIC_SEQ_CST);
	if (bell == b->bell)
		sys_call(SYS_NR_FUTEX, (uint64_t)(uintptr_t)&b->base->bell,
			 SYS_FUTEX_WAIT, bell, (uint64_t)(uintptr_t)&time, 0,
			 0);
	__atomic_store_n(&b->base->sleeping, 0, __ATOMIC_SEQ_CST);
	b->bell = __atomic_load_n(&b->base->bell, __ATOMIC_SEQ_CST);
}

/* -- Libraries -- */

bool board_loaded(const struct board *b, uint32_t *asked)
{
	const struct collect_loader *l = &b->base->loader;

	*asked = __atomic_load_n(&l->asked, __ATOMIC_SEQ_CST);
	return *asked != __atomic_load_n(&l->done, __ATOMIC_SEQ_CST);
}

/* A thread says which process it is of right after it has asked; those that
 * have not said so by then, never. */
static uint32_t who_asked(struct board *b, uint32_t number, int64_t until_ns)
{
	enum { PAUSE_NS = 1000000 };
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint32_t *who = &b->base->loading[number % COLLECT_LOADING], pid;

	while ((pid = __atomic_exchange_n(who, 0, __ATOMIC_SEQ_CST)) == 0 &&
	       tracee_now_ns() < until_ns)
		nanosleep(&pause, NULL);
	return pid;
}

void board_loaded_by(struct board *b, uint32_t asked, int64_t limit_ns,
		     void (*visit)(void *ctx, uint32_t pid), void *ctx)
{
	enum { SAID_NS = 20000000 };
	uint32_t done =
	    __atomic_load_n(&b->base->loader.done, __ATOMIC_SEQ_CST);
	uint32_t n = asked - done, seen[COLLECT_LOADING];
	int64_t since = tracee_now_ns();

	if (n > COLLECT_LOADING)
		n = COLLECT_LOADING;
	for (uint32_t k = 0;
	     k < n && tracee_now_ns() < limit_ns && !tracee_gives_up(since);
	     k++) {
		uint32_t i = 0;

		seen[k] = who_asked(b, asked - k, since + SAID_NS);
		while (seen[i] != seen[k])
			i++;
		if (i == k)
			visit(ctx, seen[k]);
	}
}

static void say_done(struct collect_loader *l, uint32_t asked)
{
	__atomic_store_n(&l->done, asked, __ATOMIC_SEQ_CST);
	sys_call3(SYS_NR_FUTEX, (uint64_t)(uintptr_t)&l->done, SYS_FUTEX_WAKE,
		  INT32_MAX);
}

void board_loaded_done(struct board *b, uint32_t asked)
{
	__atomic_store_n(&b->base->loader.away, 0, __ATOMIC_SEQ_CST);
	say_done(&b->base->loader, asked);
}

void board_leave(struct board *b)
{
	struct collect_loader *l = &b->base->loader;

	__atomic_store_n(&l->away, 1, __ATOMIC_SEQ_CST);
	say_done(l, __atomic_load_n(&l->asked, __ATOMIC_SEQ_CST));
}

/* -- Accounts -- */

static void add_account(struct collect_account *to,
			const struct collect_account *from)
{
	to->executed += __atomic_load_n(&from->executed, __ATOMIC_RELAXED);
	to->recorded += __atomic_load_n(&from->recorded, __ATOMIC_RELAXED);
	to->dropped += __atomic_load_n(&from->dropped, __ATOMIC_RELAXED);
	to->recursed += __atomic_load_n(&from->recursed, __ATOMIC_RELAXED);
	to->faulted += __atomic_load_n(&from->faulted, __ATOMIC_RELAXED);
}

static void add_slot(struct collect_account *to,
		     const struct collect_slot *from)
{
	uint64_t counted = board_counted(from);

	add_account(to, &from->account);
	to->executed += counted;
	to->recorded += counted;
}

void board_account(struct board *b, uint32_t site, struct collect_account *out)
{
	const struct collect_account *nobody =
	    (const struct collect_account *)(const void *)((const uint8_t *)
							       b->base +
							   b->l.nobody);
	uint32_t n = board_areas(b);
	struct collect_account sum = {0};

	if (site < b->plan.geometry.max_sites) {
		for (uint32_t i = 0; i < n; i++) {
			struct collect_part *area =
			    board_part(b, board_reader_of(b, i, n));
			const struct collect_slot *slots =
			    collect_in(area, b->l.slots);

			add_slot(&sum, &slots[site]);
		}
		add_account(&sum, &nobody[site]);
	}
	*out = sum;
}

void board_samples(const struct board *b, struct collect_account *out)
{
	struct collect_account sum = {0};
	uint32_t n = board_areas(b);

	for (uint32_t i = 0; i < n; i++)
		add_account(&sum,
			    &board_part(b, board_reader_of(b, i, n))->samples);
	add_account(&sum, &b->base->samples);
	*out = sum;
}

void board_checks(const struct board *b, uint64_t *checked, uint64_t *differing)
{
	uint32_t n = board_areas(b);

	*checked = *differing = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct collect_part *s =
		    board_part(b, board_reader_of(b, i, n));

		*checked += __atomic_load_n(&s->checked, __ATOMIC_RELAXED);
		*differing += __atomic_load_n(&s->differing, __ATOMIC_RELAXED);
	}
}

/* ORDER collect_reason */
static const char *const reason_text[COLLECT_REASONS] = {
    [COLLECT_NO_AREA] = "hits of threads beyond the most that have room",
    [COLLECT_NO_RECORD] = "records found their buffer full (bufsize)",
    [COLLECT_NO_ROW] = "new keys of aggregations found no room (aggsize)",
    [COLLECT_NO_CELL] = "new keys of arrays found no room (dynvarsize)",
    [COLLECT_LOCKED] = "uses of an array or speculation waited too long",
    [COLLECT_BUSY] = "speculation() found none free (nspec)",
    [COLLECT_NO_SPECULATION] =
	"speculative records found no room, or came too late (specsize)",
    [COLLECT_NO_COMMIT] = "committed records found their buffer full (bufsize)",
    [COLLECT_NO_FAULT] = "errors found their buffer full (bufsize)",
    [COLLECT_PASSED] =
	"ticks passed, for samples took too long; the next counts for them",
    [COLLECT_MISSED] =
	"ticks were let pass, for clauses of profile-N took too long",
};

void board_explain(struct board *b, void (*line)(void *ctx, const char *text),
		   void *ctx)
{
	uint32_t n_areas = board_areas(b);
	char text[128];

	for (unsigned k = 0; k < COLLECT_REASONS; k++) {
		uint64_t n =
		    __atomic_load_n(&b->base->reasons[k], __ATOMIC_RELAXED);

		for (uint32_t i = 0; i < n_areas; i++) {
			struct collect_part *area =
			    board_part(b, board_reader_of(b, i, n_areas));

			n += __atomic_load_n(&area->reasons[k],
					     __ATOMIC_RELAXED);
		}
		if (n == 0)
			continue;
		snprintf(text, sizeof text, "%" PRIu64 " %s", n,
			 reason_text[k]);
		line(ctx, text);
	}
	if (b->n_damaged == 0)
		return;
	snprintf(text, sizeof text,
		 "%" PRIu64 " times the program had written over what hark "
		 "keeps in it",
		 b->n_damaged);
	line(ctx, text);
}
