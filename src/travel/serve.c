/* travel/serve.c - the process in which a timeline is replayed.
 *
 * It executes code from a file that may be an attacker's. So it has nothing but
 * the recording, open for reading, and the memory that it shares with the
 * program: no other file, no system call but those of record/sandbox.c. What it
 * says is believed by nobody (remote.c).
 *
 * A call may make it ask the program something: how far it shall go, whether a
 * condition holds. While it waits for the answer it does other calls, which the
 * program's functions make: serve_until nests.
 *
 * There is one timeline in a process, and one server. */
#include "travel/serve.h"

#include "record/sandbox.h"
#include "x86/decode.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_MS = 500 }; /* then it looks whether the program lives */

static struct server {
	struct channel *c;	    /* shared */
	struct hark_recording *rec; /* borrowed */
	struct timeline *t;	    /* owned; NULL: not opened yet */
	pid_t program;
	uint32_t told_window; /* whose places the program knows */
	struct visits
	    *visits; /* borrowed: those that it looks at; NULL: none */
} server;

/* -- Messages -- */

static void fill_head(struct channel_head *h)
{
	h->window = h->window_n = h->window_at = 0;
	if (server.t != NULL) {
		h->where = timeline_where(server.t);
		h->window =
		    timeline_window(server.t, &h->window_n, &h->window_at);
	}
	server.c->head = *h;
}

static void wait_turn(struct channel_head *out)
{
	while (!channel_wait(server.c, CHANNEL_SERVER, PATIENCE_MS))
		if (getppid() != server.program)
			_exit(0);
	*out = server.c->head;
}

static void serve_call(struct channel_head *h);

/* Does calls until there is an answer. */
static int64_t serve_until_answer(void)
{
	struct channel_head h;

	for (;;) {
		wait_turn(&h);
		if (h.kind == CHANNEL_ANSWER)
			return h.rc;
		serve_call(&h);
	}
}

static int64_t ask_program(enum channel_op op, uint64_t a, uint64_t b)
{
	struct channel_head h = {.kind = CHANNEL_ASK, .op = op, .args = {a, b}};

	fill_head(&h);
	channel_give(server.c, CHANNEL_SERVER);
	return serve_until_answer();
}

static int tell_program(enum channel_op op, const void *data, size_t len)
{
	memcpy(server.c->data, data, len);
	return (int)ask_program(op, 0, 0);
}

/* Accesses that the program has not been told of yet. */
struct batch {
	struct hark_access all[SERVE_ACCESSES];
	unsigned n;
};

static int tell_batch(struct batch *b)
{
	unsigned n = b->n;

	b->n = 0;
	if (n == 0)
		return 0;
	memcpy(server.c->data, b->all, n * sizeof b->all[0]);
	return (int)ask_program(CHANNEL_EACH_ACCESS, n, 0);
}

/* Visits that the program has not been told of yet. */
struct visits {
	struct visits *outer; /* of a list in whose callback this one is made */
	struct hark_position at[SERVE_VISITS];
	unsigned n, most;
	size_t len;
	uint8_t data[SERVE_VISIT_BYTES] __attribute__((aligned(8)));
};
enum {
	VISIT_LEN_MOST =
	    sizeof(struct serve_visit) + sizeof(struct hark_registers) + 8
};

/* Registers and the top of the stack are sent along, because a program that
 * asked for them would wait longer for the answers than for the visit. */
static void put_visit(struct visits *v, struct timeline *t,
		      const struct hark_position *at)
{
	struct hark_registers *regs =
	    (void *)(v->data + v->len + sizeof(struct serve_visit));
	struct serve_visit *to = (void *)(v->data + v->len);
	uint8_t known[SERVE_STACK];

	*to = (struct serve_visit){.at = *at};
	if (timeline_registers(t, at->thread, regs, NULL) == 0) {
		to->regs_len =
		    (uint32_t)offsetof(struct hark_registers, xsave) +
		    regs->xsave_len;
		timeline_read(t, regs->gpr[X86_RSP], SERVE_STACK, to->stack,
			      known, NULL);
		for (unsigned i = 0; i < SERVE_STACK; i++)
			to->stack_known |= (uint64_t)(known[i] != 0) << i;
	}
	v->at[v->n++] = *at;
	v->len += serve_visit_size(to);
}

static int tell_visits(struct visits *v)
{
	unsigned n = v->n;
	int rc;

	if (n == 0)
		return 0;
	memcpy(server.c->data, v->data, v->len);
	v->outer = server.visits;
	server.visits = v;
	rc = (int)ask_program(CHANNEL_EACH_VISIT, n, v->len);
	server.visits = v->outer;
	v->n = 0;
	v->len = 0;
	v->most = v->most < SERVE_VISITS ? 4 * v->most : SERVE_VISITS;
	return rc;
}

/* -- What it asks -- */

static int ask_progress(void *ctx, uint64_t done, uint64_t total)
{
	(void)ctx;
	return (int)ask_program(CHANNEL_PROGRESS, done, total);
}

/* ctx: the number that the program gave the condition. */
static int ask_condition(void *ctx, struct timeline *t)
{
	(void)t;
	return (int)ask_program(CHANNEL_CONDITION, (uintptr_t)ctx, 0);
}

static int each_access(void *ctx, const struct hark_access *a)
{
	struct batch *b = ctx;

	if (a == NULL)
		return tell_batch(b);
	b->all[b->n++] = *a;
	return b->n == SERVE_ACCESSES ? tell_batch(b) : 0;
}

/* At most so many visits in a message: few at first, so that the program has
 * those at once. */
static int each_visit(void *ctx, struct timeline *t,
		      const struct hark_position *at)
{
	struct visits *v = ctx;

	if (at == NULL)
		return tell_visits(v);
	put_visit(v, t, at);
	return v->n >= v->most || v->len > SERVE_VISIT_BYTES - VISIT_LEN_MOST
		   ? tell_visits(v)
		   : 0;
}

static int each_race(void *ctx, const struct hark_race *r)
{
	(void)ctx;
	return tell_program(CHANNEL_EACH_RACE, r, sizeof *r);
}

/* ctx: how many bytes there are. */
static int each_possible(void *ctx, const struct hark_access *by,
			 const uint8_t *bytes, const uint8_t *known)
{
	struct serve_possible p = {.has_by = by != NULL};
	size_t len =
	    (uintptr_t)ctx < sizeof p.bytes ? (uintptr_t)ctx : sizeof p.bytes;

	if (by != NULL)
		p.by = *by;
	memcpy(p.bytes, bytes, len);
	memcpy(p.known, known, len);
	return tell_program(CHANNEL_EACH_POSSIBLE, &p, sizeof p);
}

static int ask_build(void *ctx, unsigned first, unsigned end,
		     struct hark_err *err)
{
	int64_t rc = ask_program(CHANNEL_BUILD_INDEX, first, end);

	(void)ctx;
	if (rc == 0)
		return 0;
	return err_set(err, rc == HARK_ETIME ? HARK_ETIME : HARK_EGONE, 0,
		       "interrupted");
}

/* -- What it is asked: one function a call -- */

/* Arguments are in h->args and in the data; results go there, and to h->rc. */
typedef void serve_op(struct channel_head *h, struct hark_error *err);

/* Positions are three arguments each. */
static struct hark_position position_of(const uint64_t *args)
{
	return (struct hark_position){(uint32_t)(args[0] >> 32),
				      (uint32_t)args[0], args[1], args[2]};
}

static void put_position(const struct hark_position *at, uint64_t *args)
{
	args[0] = (uint64_t)at->process << 32 | at->thread;
	args[1] = at->count;
	args[2] = at->step;
}

static void put_data(struct channel_head *h, const void *data, size_t len)
{
	memcpy(server.c->data, data, len);
	h->len = (uint32_t)len;
}

static void do_open(struct channel_head *h, struct hark_error *err)
{
	h->rc = timeline_open(server.rec, (uint32_t)h->args[0], &server.t, err);
	if (h->rc < 0)
		return;
	h->args[0] = timeline_n_threads(server.t);
}

static void do_prepare(struct channel_head *h, struct hark_error *err)
{
	struct hark_position from = position_of(h->args);
	struct hark_position to = position_of(h->args + 3);

	h->rc =
	    timeline_prepare(server.t, &from, &to, (unsigned)h->args[6], err);
}

static void do_prepare_search(struct channel_head *h, struct hark_error *err)
{
	h->rc = timeline_prepare_search(server.t, h->args[0] != 0, err);
}

static void do_thread(struct channel_head *h, struct hark_error *err)
{
	const struct hark_thread *about =
	    timeline_thread(server.t, (unsigned)h->args[0]);

	(void)err;
	h->rc = about != NULL ? 0 : -1;
	if (about != NULL)
		put_data(h, about, sizeof *about);
}

static void do_thread_lives(struct channel_head *h, struct hark_error *err)
{
	(void)err;
	h->rc = timeline_thread_lives(server.t, (uint32_t)h->args[0]);
}

static void do_thread_name(struct channel_head *h, struct hark_error *err)
{
	const char *name = timeline_thread_name(server.t, (uint32_t)h->args[0]);

	(void)err;
	put_data(h, name, strnlen(name, SERVE_NAME));
}

static void do_select(struct channel_head *h, struct hark_error *err)
{
	h->rc = timeline_select(server.t, (uint32_t)h->args[0], err);
}

static void do_parse(struct channel_head *h, struct hark_error *err)
{
	struct hark_position at = {0};
	char *text = strndup((const char *)server.c->data, h->len);

	h->rc = -1;
	if (text != NULL)
		h->rc = timeline_position_parse(server.t, text, &at, err);
	put_position(&at, h->args);
	free(text);
}

static void do_compare(struct channel_head *h, struct hark_error *err)
{
	struct hark_position a = position_of(h->args);
	struct hark_position b = position_of(h->args + 3);

	(void)err;
	h->rc = timeline_position_compare(server.t, &a, &b);
}

static void do_seek(struct channel_head *h, struct hark_error *err)
{
	struct hark_position to = position_of(h->args);

	h->rc = timeline_seek(server.t, &to, err);
}

static void do_seek_start(struct channel_head *h, struct hark_error *err)
{
	h->rc = timeline_seek_start(server.t, err);
}

static void do_seek_end(struct channel_head *h, struct hark_error *err)
{
	h->rc = timeline_seek_end(server.t, err);
}

static void do_registers(struct channel_head *h, struct hark_error *err)
{
	static struct hark_registers regs;

	h->rc = timeline_registers(server.t, (uint32_t)h->args[0], &regs, err);
	if (h->rc == 0)
		put_data(h, &regs,
			 offsetof(struct hark_registers, xsave) +
			     regs.xsave_len);
}

static void do_read(struct channel_head *h, struct hark_error *err)
{
	size_t len = h->args[1] < CHANNEL_READ ? h->args[1] : CHANNEL_READ;

	h->rc =
	    (int64_t)timeline_read(server.t, h->args[0], len, server.c->data,
				   server.c->data + CHANNEL_READ, err);
}

/* From the args[0]-th on, as many as fit; args[0]: so many, args[1]: of all. */
static void do_next_known(struct channel_head *h, struct hark_error *err)
{
	(void)err;
	h->args[0] = timeline_next_known(server.t, h->args[0], h->args[1]);
	h->rc = 0;
}

static void do_mappings(struct channel_head *h, struct hark_error *err)
{
	const struct hark_mapping *maps = NULL;
	unsigned n = 0, i = (unsigned)h->args[0];
	size_t at = 0;

	h->rc = timeline_mappings(server.t, &maps, &n, err);
	if (h->rc < 0)
		return;
	for (; i < n; i++) {
		size_t len = strlen(maps[i].path);
		struct serve_mapping m = {.start = maps[i].start,
					  .end = maps[i].end,
					  .offset = maps[i].offset,
					  .prot = maps[i].prot,
					  .prot_ever = maps[i].prot_ever,
					  .module = maps[i].module,
					  .path_len = (uint32_t)len};

		if (sizeof m + len > CHANNEL_TEXT - at)
			break;
		memcpy(server.c->data + at, &m, sizeof m);
		memcpy(server.c->data + at + sizeof m, maps[i].path, len);
		at += sizeof m + len;
	}
	h->args[0] = i - h->args[0];
	h->args[1] = n;
	h->len = (uint32_t)at;
}

static void do_signal(struct channel_head *h, struct hark_error *err)
{
	uint8_t info[128] = {0};
	int signo = 0;

	h->rc =
	    timeline_signal(server.t, (uint32_t)h->args[0], &signo, info, err);
	h->args[0] = (uint64_t)(int64_t)signo;
	put_data(h, info, sizeof info);
}

static void put_stopped(const struct hark_stopped *s, uint64_t *args)
{
	args[0] = s->why;
	args[1] = s->thread;
	args[2] = s->address;
	args[3] = s->size;
	args[4] = s->is_write;
	args[5] = s->id;
	args[6] = (uint64_t)s->call;
	args[7] = (uint64_t)(int64_t)s->signal;
}

/* The places of a window that the program does not know yet. */
static void put_places(struct channel_head *h)
{
	struct serve_place *to = (struct serve_place *)server.c->data;
	uint32_t n, at, number = timeline_window(server.t, &n, &at);

	if (number == 0 || number == server.told_window || n > SERVE_PLACES)
		return;
	server.told_window = number;
	for (uint32_t i = 0; i < n; i++)
		timeline_window_place(server.t, i, &to[i].count, &to[i].step);
	h->len = n * (uint32_t)sizeof *to;
}

static void do_step(struct channel_head *h, struct hark_error *err)
{
	struct hark_stopped stopped = {0};

	h->rc = timeline_step(server.t, (enum hark_direction)h->args[0],
			      h->args[1], &stopped, err);
	put_stopped(&stopped, h->args);
	if (h->rc == 0)
		put_places(h);
}

static void do_run(struct channel_head *h, struct hark_error *err)
{
	struct hark_stopped stopped = {0};

	h->rc = timeline_run(server.t, (enum hark_direction)h->args[0],
			     &stopped, err);
	put_stopped(&stopped, h->args);
}

/* args[4]: the number of its condition; 0: it has none. */
static void do_break(struct channel_head *h, struct hark_error *err)
{
	(void)err;
	h->rc = timeline_break(server.t, h->args[0], (uint32_t)h->args[1],
			       h->args[4] != 0 ? ask_condition : NULL,
			       (void *)(uintptr_t)h->args[4]);
}

static void do_watch(struct channel_head *h, struct hark_error *err)
{
	(void)err;
	h->rc = timeline_watch(server.t, h->args[0], h->args[2],
			       (unsigned)h->args[3], (uint32_t)h->args[1],
			       h->args[4] != 0 ? ask_condition : NULL,
			       (void *)(uintptr_t)h->args[4]);
}

static void do_catch_call(struct channel_head *h, struct hark_error *err)
{
	(void)err;
	h->rc = timeline_catch_call(server.t, (int64_t)h->args[0]);
}

static void do_catch_signal(struct channel_head *h, struct hark_error *err)
{
	(void)err;
	h->rc = timeline_catch_signal(server.t, (int)h->args[0]);
}

static void do_forget_stop(struct channel_head *h, struct hark_error *err)
{
	(void)err;
	timeline_forget_stop(server.t, (uint32_t)h->args[0]);
}

static void do_last_write(struct channel_head *h, struct hark_error *err)
{
	struct hark_access a;

	h->rc = timeline_last_write(server.t, h->args[0], h->args[1], &a, err);
	if (h->rc == 1)
		put_data(h, &a, sizeof a);
}

static void do_accesses(struct channel_head *h, struct hark_error *err)
{
	struct batch batch = {.n = 0};
	struct serve_range r;

	memcpy(&r, server.c->data, sizeof r);
	h->rc = timeline_accesses(
	    server.t, h->args[0], h->args[1], (unsigned)h->args[2],
	    r.has_from ? &r.from : NULL, r.has_to ? &r.to : NULL, each_access,
	    &batch, err);
	tell_batch(&batch);
}

/* args: how many addresses, which follow the range in the data; and how many
 * of them are functions. */
static void do_visits(struct channel_head *h, struct hark_error *err)
{
	struct visits *v = malloc(sizeof *v);
	uint64_t n = h->args[0] < SERVE_ADDRESSES ? h->args[0] : 0;
	uint64_t *addresses = calloc(n + 1, sizeof *addresses);
	struct serve_range r;

	memcpy(&r, server.c->data, sizeof r);
	if (v != NULL && addresses != NULL) {
		memcpy(addresses, server.c->data + sizeof r,
		       n * sizeof *addresses);
		v->n = 0;
		v->len = 0;
		v->most = 1;
		h->rc = timeline_visits(
		    server.t, addresses, (unsigned)n, (unsigned)h->args[1],
		    r.has_from ? &r.from : NULL, r.has_to ? &r.to : NULL,
		    each_visit, v, err);
		tell_visits(v);
	} else {
		h->rc = travel_error(err, HARK_ERROR_MEMORY, "out of memory");
	}
	free(addresses);
	free(v);
}

static void do_races(struct channel_head *h, struct hark_error *err)
{
	h->rc = timeline_races(server.t, each_race, NULL, err);
}

static void do_possible(struct channel_head *h, struct hark_error *err)
{
	h->rc =
	    timeline_possible(server.t, h->args[0], h->args[1], each_possible,
			      (void *)(uintptr_t)h->args[1], err);
}

/* ORDER channel_op */
static serve_op *const ops[CHANNEL_CALLS] = {
    [CHANNEL_OPEN] = do_open,
    [CHANNEL_PREPARE] = do_prepare,
    [CHANNEL_PREPARE_SEARCH] = do_prepare_search,
    [CHANNEL_THREAD] = do_thread,
    [CHANNEL_THREAD_LIVES] = do_thread_lives,
    [CHANNEL_THREAD_NAME] = do_thread_name,
    [CHANNEL_SELECT] = do_select,
    [CHANNEL_PARSE] = do_parse,
    [CHANNEL_COMPARE] = do_compare,
    [CHANNEL_SEEK] = do_seek,
    [CHANNEL_SEEK_START] = do_seek_start,
    [CHANNEL_SEEK_END] = do_seek_end,
    [CHANNEL_REGISTERS] = do_registers,
    [CHANNEL_READ_MEMORY] = do_read,
    [CHANNEL_NEXT_KNOWN] = do_next_known,
    [CHANNEL_MAPPINGS] = do_mappings,
    [CHANNEL_SIGNAL] = do_signal,
    [CHANNEL_STEP] = do_step,
    [CHANNEL_RUN] = do_run,
    [CHANNEL_BREAK] = do_break,
    [CHANNEL_WATCH] = do_watch,
    [CHANNEL_CATCH_CALL] = do_catch_call,
    [CHANNEL_CATCH_SIGNAL] = do_catch_signal,
    [CHANNEL_FORGET_STOP] = do_forget_stop,
    [CHANNEL_LAST_WRITE] = do_last_write,
    [CHANNEL_ACCESSES] = do_accesses,
    [CHANNEL_VISITS] = do_visits,
    [CHANNEL_RACES] = do_races,
    [CHANNEL_POSSIBLE] = do_possible,
};

/* Steps that the program has made by itself, in the window. */
static int go_along(int64_t steps, struct hark_error *err)
{
	struct hark_stopped ignored;

	if (steps == 0)
		return 0;
	return timeline_step(server.t, steps > 0 ? HARK_FORWARD : HARK_BACKWARD,
			     (uint64_t)(steps > 0 ? steps : -steps), &ignored,
			     err);
}

/* To one of the visits that the program is looking at. */
static int go_to_visit(uint32_t number, struct hark_error *err)
{
	const struct visits *v = server.visits;

	if (number == 0 || v == NULL || number > v->n)
		return 0;
	return timeline_seek(server.t, &v->at[number - 1], err);
}

static void serve_call(struct channel_head *h)
{
	struct hark_error err = {0};

	if (h->kind != CHANNEL_CALL || h->op >= CHANNEL_CALLS ||
	    (server.t == NULL && h->op != CHANNEL_OPEN))
		abort();
	h->rc = 0;
	if (server.t != NULL)
		timeline_on_progress(server.t,
				     atomic_load(&server.c->wants_progress)
					 ? ask_progress
					 : NULL,
				     NULL);
	h->len = h->op == CHANNEL_PARSE ? h->len : 0;
	if (go_to_visit(h->visit, &err) == 0 && go_along(h->steps, &err) == 0)
		ops[h->op](h, &err);
	else
		h->rc = -1;
	h->kind = CHANNEL_DONE;
	h->error = err.code;
	h->text_len = (uint32_t)strnlen(err.text, sizeof err.text);
	if (err.code != HARK_ERROR_NONE)
		memcpy(server.c->data + CHANNEL_TEXT, err.text, h->text_len);
	fill_head(h);
	channel_give(server.c, CHANNEL_SERVER);
}

/* -- Life -- */

/* For three walkers of each thread; of threads that were forked from others it
 * may need those, too. */
static unsigned gigabytes_for(const struct recording *r)
{
	const unsigned most = 64u << 10;
	uint64_t threads = 0;

	for (unsigned i = 0; i < recording_n_processes(r); i++)
		threads += recording_process(r, i)->n_threads;
	threads = threads < most ? threads : most;
	return (unsigned)(SANDBOX_GIGABYTES * (1 + 3 * threads) < most
			      ? SANDBOX_GIGABYTES * (1 + 3 * threads)
			      : most);
}

static void sort_files(int *fds, unsigned n)
{
	for (unsigned i = 1; i < n; i++)
		for (unsigned k = i; k > 0 && fds[k - 1] > fds[k]; k--) {
			int fd = fds[k];

			fds[k] = fds[k - 1];
			fds[k - 1] = fd;
		}
}

_Noreturn void serve(struct channel *c, struct hark_recording *rec)
{
	int keep[] = {recording_fd(rec->r), rec->index_fd, rec->built_fd};
	struct channel_head h;

	server = (struct server){.c = c, .rec = rec, .program = getppid()};
	rec->build = ask_build;
	sandbox_deafen();
	sort_files(keep, sizeof keep / sizeof keep[0]);
	sandbox_close_files(keep, sizeof keep / sizeof keep[0]);
	sandbox_enter(gigabytes_for(rec->r));
	for (;;) {
		wait_turn(&h);
		serve_call(&h);
	}
}
