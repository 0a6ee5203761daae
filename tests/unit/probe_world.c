#include "probe_world.h"

#include "native/native.h"
#include "script/verify.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	PLAN_SIZE = 1 << 20,
	TEXTS = 4096,
	CLAUSES = 64,
	SITE_AT = 0x401000,
	GUARD = 1 << 20
};

struct collect_geometry world_geometry(void)
{
	return (struct collect_geometry){.max_threads = 16,
					 .max_sites = WORLD_SITES,
					 .ring_size = 1 << 20,
					 .aggregation_size = 1 << 20,
					 .array_size = 1 << 20,
					 .n_speculations = 4,
					 .speculation_size = 1 << 16,
					 .policy = COLLECT_SWITCH};
}

static void *memory(size_t size, int how)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, how | MAP_ANONYMOUS,
			-1, 0);

	ck_assert_ptr_ne(at, MAP_FAILED);
	return at;
}

static const struct probe_program *compile(struct world *w, const char *text)
{
	static const struct script_settings settings = {.target = "1",
							.may_destroy = true};
	struct hark_err err;
	size_t n;
	const struct script_mistake *m;

	w->script = script_compile(text, strlen(text), &settings, &err);
	ck_assert_ptr_nonnull(w->script);
	m = script_mistakes(w->script, &n);
	ck_assert_msg(n == 0, "%s: %s", text, n > 0 ? m[0].text : "");
	w->program = script_program(w->script);
	return w->program;
}

/* Which clauses a site has, and of what kind it is. */
static void set_site(struct world *w, unsigned number, uint32_t *clauses,
		     uint64_t clauses_at, uint8_t *texts, uint64_t texts_at)
{
	const struct probe_program *p = w->program;
	struct collect_site *site = &w->site[number];
	char name[8];

	snprintf(name, sizeof name, "f%u", number);
	site->plan = (uint64_t)(uintptr_t)w->plan;
	site->number = number;
	site->function = SITE_AT + 0x100 * number;
	site->pc = site->function + 0x10;
	site->clauses.offset = clauses_at;
	for (uint32_t i = 0; i < p->clauses.n; i++) {
		const struct probe_clause *c = &probe_clauses(p)[i];

		for (uint32_t k = 0; k < c->n_descriptions; k++) {
			const struct probe_description *d =
			    &probe_descriptions(p)[c->first_description + k];
			const char *what = probe_texts(p) + d->name;

			if (strcmp(probe_texts(p) + d->function, name) != 0)
				continue;
			clauses[site->clauses.n++] = i;
			site->kind =
			    strcmp(what, "return") == 0	 ? COLLECT_RETURN
			    : strcmp(what, "entry") == 0 ? COLLECT_ENTRY
							 : COLLECT_INSIDE;
			break;
		}
	}
	for (unsigned i = 0; i < 4; i++) {
		static const char *const text[4] = {"pid1", "a.out", "",
						    "entry"};
		const char *t = i == 2 ? name : text[i];

		site->text[i] = texts_at + 16 * i;
		strcpy((char *)texts + 16 * i, t);
	}
}

/* Reads of memory that is not there end in src/native. */
static void guard_reads(const struct collect_plan *plan)
{
	static const struct collect_action none;
	struct collect_home *home = native_home();

	home->plan = (uint64_t)(uintptr_t)plan;
	home->ours = 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1);
	for (int sig = SIGBUS; sig <= SIGSEGV; sig += SIGSEGV - SIGBUS) {
		struct collect_action a = native_action(
		    home, sig, &none, (uint64_t)(uintptr_t)native_handler,
		    (uint64_t)(uintptr_t)native_restorer);

		ck_assert_int_eq(0, syscall(SYS_rt_sigaction, sig, &a, 0, 8));
	}
}

void world_open(struct world *w, const char *script,
		const struct collect_geometry *g, uint32_t flags)
{
	const struct probe_program *p;
	struct collect_geometry usual = world_geometry();
	struct hark_err err;
	uint8_t *plan = memory(PLAN_SIZE, MAP_PRIVATE);
	uint64_t at = 4096;

	memset(w, 0, sizeof *w);
	p = compile(w, script);
	w->plan = (struct collect_plan *)(void *)plan;
	w->table = memory(sizeof *w->table, MAP_PRIVATE);
	ck_assert_int_eq(madvise(w->table, sizeof *w->table, MADV_WIPEONFORK),
			 0);
	*w->plan = (struct collect_plan){.magic = COLLECT_MAGIC,
					 .version = COLLECT_VERSION,
					 .flags = flags,
					 .size = PLAN_SIZE,
					 .geometry = g != NULL ? *g : usual,
					 .pid = (uint32_t)getpid(),
					 .execname = 2048,
					 .program = {at, p->size}};
	strcpy((char *)plan + 2048, "guest");
	w->plan->index = 3072; /* all empty */
	w->plan->table = (uint64_t)(uintptr_t)w->table;
	memcpy(plan + at, p, p->size);
	at = (at + p->size + 63) & ~63ULL;
	w->site = (struct collect_site *)(void *)(plan + at);
	at += WORLD_SITES * sizeof *w->site;
	w->arg = (struct collect_arg *)(void *)(plan + at);
	w->site[0].args.offset = at;
	at += 10 * sizeof *w->arg;
	for (unsigned i = 0; i < WORLD_SITES; i++, at += 256 + 64)
		set_site(w, i, (uint32_t *)(void *)(plan + at), at,
			 plan + at + 256, at + 256);
	w->board_size = collect_board_size(w->plan);
	/* Behind it is memory that cannot be touched. */
	w->board = memory(w->board_size + GUARD, MAP_SHARED);
	ck_assert_int_eq(mprotect(w->board + w->board_size, GUARD, PROT_NONE),
			 0);
	w->plan->board = (uint64_t)(uintptr_t)w->board;
	w->plan->own_len = collect_own_size(w->plan);
	w->own = memory(w->plan->own_len, MAP_PRIVATE | MAP_NORESERVE);
	ck_assert_int_eq(madvise(w->own, w->plan->own_len, MADV_WIPEONFORK), 0);
	w->plan->own = (uint64_t)(uintptr_t)w->own;
	collect_board_init(w->plan, w->board);
	ck_assert_int_eq(board_open(w->plan, w->board, &w->b, &err), 0);
	guard_reads(w->plan);
}

void world_close(struct world *w)
{
	board_close(w->b);
	munmap(w->board, w->board_size + GUARD);
	munmap(w->table, sizeof *w->table);
	munmap(w->own, w->plan->own_len);
	munmap(w->plan, PLAN_SIZE);
	script_free(w->script);
}

/* -- Hits -- */

void world_fire(const struct world *w, unsigned site, struct probe_frame *f)
{
	f->pc = w->site[site].pc;
	collect_hit(f, (uint64_t)(uintptr_t)&w->site[site]);
}

void world_hit(const struct world *w, unsigned site, uint64_t arg0)
{
	struct probe_frame f = {.how = TRAMPOLINE_STATUS};

	f.gpr[7] = arg0;
	world_fire(w, site, &f);
}

/* -- Results -- */

struct collect_account world_account(const struct world *w, unsigned site)
{
	struct collect_account a;

	board_account(w->b, site, &a);
	return a;
}

void world_check_accounts(const struct world *w)
{
	for (unsigned i = 0; i < WORLD_SITES; i++) {
		struct collect_account a = world_account(w, i);

		ck_assert_uint_eq(a.executed, a.recorded + a.dropped +
						  a.recursed + a.faulted);
	}
}

static int64_t find(const struct world *w, uint32_t aggregation,
		    const void *key, uint32_t len)
{
	struct hark_err err;
	struct show_row *rows;
	size_t n;

	ck_assert_int_eq(board_rows(w->b, aggregation, &rows, &n, &err), 0);
	for (size_t i = 0; i < n; i++)
		if (rows[i].key_len == len &&
		    (len == 0 || memcmp(rows[i].key, key, len) == 0))
			return (int64_t)rows[i].cells[0];
	return -1;
}

int64_t world_value(const struct world *w, uint32_t aggregation,
		    const uint64_t *key)
{
	return find(w, aggregation, key, key != NULL ? sizeof *key : 0);
}

int64_t world_text_value(const struct world *w, uint32_t aggregation,
			 const char *key)
{
	uint8_t bytes[512] = {0};
	uint32_t n = (uint32_t)strlen(key);

	memcpy(bytes, &n, sizeof n);
	memcpy(bytes + 4, key, n);
	return find(w, aggregation, bytes, (4 + n + 1 + 7) & ~7U);
}

size_t world_rows(const struct world *w, uint32_t aggregation)
{
	struct hark_err err;
	struct show_row *rows;
	size_t n;

	ck_assert_int_eq(board_rows(w->b, aggregation, &rows, &n, &err), 0);
	return n;
}

static void add_reason(void *ctx, const char *text)
{
	strncat(ctx, text, 200);
	strcat(ctx, "\n");
}

const char *world_reasons(const struct world *w)
{
	static char all[4096];

	all[0] = '\0';
	board_explain(w->b, add_reason, all);
	return all;
}

struct visit {
	const struct world *w;
	struct world_log *log;
};

static int visit(void *ctx, const struct board_record *r, struct hark_err *err)
{
	const struct visit *v = ctx;
	struct world_log *log = v->log;
	size_t k = log->n++;

	(void)err;
	if (log->n > log->room) {
		log->room = log->room * 2 + 64;
		log->at = realloc(log->at, log->room * sizeof *log->at);
		ck_assert_ptr_nonnull(log->at);
	}
	memset(&log->at[k], 0, sizeof log->at[k]);
	log->at[k].record = *r;
	memcpy(log->at[k].bytes, r->entries,
	       r->len < sizeof log->at[k].bytes ? r->len
						: sizeof log->at[k].bytes);
	if (r->len >= sizeof(struct probe_entry)) {
		const struct probe_entry *e =
		    (const struct probe_entry *)(const void *)r->entries;

		ck_assert_uint_lt(e->action, v->w->program->actions.n);
		log->at[k].action =
		    probe_actions(v->w->program)[e->action].kind;
		if (e->size >= 16 && r->len >= 16)
			memcpy(&log->at[k].number, e + 1, 8);
	}
	return 0;
}

void world_drain(const struct world *w, struct world_log *log, int last)
{
	struct visit v = {w, log};
	struct hark_err err;

	ck_assert_int_eq(board_drain(w->b, last, visit, &v, &err), 0);
}

void world_log_free(struct world_log *log)
{
	free(log->at);
	*log = (struct world_log){0};
}
