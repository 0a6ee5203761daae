// runs: 50000
/* tests/fuzz/script_verify.c - a program that is verified can be run.
 *
 * The input is a program; what passes is run, clause by clause, with exactly
 * the memory that it may use, and its output is shown. */
#include "script/aggregate.h"
#include "script/machine.h"
#include "script/show.h"
#include "script/verify.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SCRATCH = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct verify_room room;
static uint64_t cell_of[PROBE_STRING_MAX / 8 + 2];
static uint64_t aggregated[AGGREGATE_CELLS_MAX];

static uint64_t builtin(struct machine_host *h, enum probe_builtin what)
{
	(void)h;
	assert(what < PROBE_BUILTIN_FIRST_TEXT);
	return 1ULL << what;
}

static const char *builtin_text(struct machine_host *h, enum probe_builtin what)
{
	(void)h;
	assert(what >= PROBE_BUILTIN_FIRST_TEXT && what < PROBE_BUILTIN_MAX);
	return "a text";
}

static bool read_memory(struct machine_host *h, uint64_t addr, void *out,
			uint32_t len)
{
	(void)h;
	memset(out, (int)addr, len);
	return addr % 7 != 0;
}

static uint32_t stack(struct machine_host *h, uint64_t *out, uint32_t n)
{
	(void)h;
	for (uint32_t i = 0; i < n; i++)
		out[i] = i;
	return n;
}

static uint64_t number(struct machine_host *h)
{
	(void)h;
	return 3;
}

static void *cell(struct machine_host *h, uint32_t variable, const uint8_t *key,
		  uint32_t len, bool create)
{
	assert(variable < h->program->variables.n && len % 8 == 0);
	assert(key >= h->scratch && key + len <= h->scratch + h->scratch_room);
	return create || len % 16 == 0 ? cell_of : NULL;
}

static void forget(struct machine_host *h, uint32_t variable,
		   const uint8_t *key, uint32_t len)
{
	cell(h, variable, key, len, false);
}

static void aggregate(struct machine_host *h, uint32_t aggregation,
		      const uint8_t *key, uint32_t len, int64_t value,
		      int64_t weight)
{
	const struct probe_aggregation *a =
	    &probe_aggregations(h->program)[aggregation];
	struct show show = {.program = h->program};
	struct show_column column = {aggregation, 1};
	struct show_row row = {.key = key, .key_len = len, .cells = aggregated};
	FILE *null = fopen("/dev/null", "w");

	aggregate_init(a, aggregated);
	aggregate_update(a, aggregated, value, weight);
	aggregate_merge(a, aggregated, aggregated);
	assert(null != NULL &&
	       show_row(&show, &column, 1, &row, "", null) == 0);
	fclose(null);
}

static bool speculate(struct machine_host *h, uint64_t id, uint32_t need)
{
	(void)need;
	h->output_len = 0;
	return id % 2 != 0;
}

static void settle(struct machine_host *h, uint64_t id)
{
	(void)h;
	(void)id;
}

static void show_output(const struct machine_host *h)
{
	struct show show = {.program = h->program};
	FILE *null = fopen("/dev/null", "w");
	uint32_t at = 0;

	assert(null != NULL);
	while (at < h->output_len) {
		const struct probe_entry *e =
		    (const struct probe_entry *)(const void *)(h->output + at);

		if (e->size < sizeof *e)
			break;
		assert(e->size <= h->output_len - at);
		assert(show_entry(&show, e, h->output_len - at, null) == 0);
		at += e->size;
	}
	fclose(null);
}

static void run(const struct probe_program *p, const struct probe_clause *c)
{
	uint64_t args[PROBE_ARGUMENTS] = {1, 2, 3}, uregs[PROBE_UREGS] = {9};
	struct machine_host h = {.program = p,
				 .args = args,
				 .uregs = uregs,
				 .builtin = builtin,
				 .builtin_text = builtin_text,
				 .read = read_memory,
				 .stack = stack,
				 .random = number,
				 .cell = cell,
				 .forget = forget,
				 .aggregate = aggregate,
				 .speculation = number,
				 .speculate = speculate,
				 .commit = settle,
				 .discard = settle,
				 .output_room = c->output_max,
				 .scratch_room = SCRATCH};

	h.output = calloc(1, c->output_max + 8U);
	h.scratch = malloc(SCRATCH);
	for (unsigned i = 0; i < PROBE_SCOPE_MAX; i++) {
		h.numbers[i] = calloc(p->n_slots[i][0] + 1U, 8);
		h.texts[i] =
		    calloc(p->n_slots[i][1] + 1U, machine_text_slot(p));
	}
	if (machine_run(&h, c) == MACHINE_DONE)
		show_output(&h);
	for (unsigned i = 0; i < PROBE_SCOPE_MAX; i++) {
		free(h.numbers[i]);
		free(h.texts[i]);
	}
	free(h.output);
	free(h.scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct probe_program *p = malloc(size > 0 ? size : 1);

	assert(p != NULL);
	memcpy(p, data, size);
	if (verify_program(p, size, &room) == NULL && p->variables.n < 1000)
		for (uint32_t i = 0; i < p->clauses.n && i < 64; i++)
			run(p, &probe_clauses(p)[i]);
	free(p);
	return 0;
}
