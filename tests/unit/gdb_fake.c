/* tests/unit/gdb_fake.c - see gdb_fake.h. */
#include "gdb_fake.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { KNOWN_MAX = 16, STOPS_MAX = 256, TURN = 5 };

struct known {
	uint64_t address;
	const uint8_t *bytes;
	size_t len;
	const char *path;
};

struct stop {
	uint32_t id; /* 0: free */
	enum hark_stop why;
	uint64_t address, len;
	unsigned on;
	hark_condition *when;
	void *ctx;
};

struct hark_recording {
	struct hark_process process[2];
	struct hark_thread thread[2];
	struct known known[KNOWN_MAX];
	unsigned n_known;
	struct hark_module modules[KNOWN_MAX];
	unsigned n_modules;
	struct hark_mapping mappings[KNOWN_MAX];
	struct hark_mapping *lent; /* a copy, until memory is read */
	unsigned n_mappings;
	int stalls, refuses;
	unsigned asked, reads;
};

struct hark_timeline {
	struct hark_recording *r;
	unsigned at; /* instructions executed, of both */
	uint32_t selected;
	hark_progress *progress;
	void *progress_ctx;
	struct stop stops[STOPS_MAX];
	uint32_t last_id;
};

/* -- The history -- */

static uint32_t thread_of(unsigned i)
{
	return i / TURN % 2 + 1;
}

/* How many of the first n were of this thread. */
static unsigned count_of(uint32_t thread, unsigned n)
{
	unsigned count = 0;

	for (unsigned i = 0; i < n; i++)
		count += thread_of(i) == thread;
	return count;
}

static uint64_t pc_of(uint32_t thread, unsigned count)
{
	return FAKE_CODE + (thread - 1) * 0x40 + count % 4 * 3;
}

/* Does the i-th instruction write? */
static int writes(unsigned i)
{
	return count_of(thread_of(i), i) % 4 == 2;
}

static uint64_t word_at(unsigned moment)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < moment; i++)
		n += writes(i);
	return n;
}

/* The moment at which a thread has executed `count`, and is next. */
static unsigned moment_of(uint32_t thread, uint64_t count)
{
	for (unsigned i = 0; i < FAKE_LEN; i++)
		if (thread_of(i) == thread && count_of(thread, i) == count)
			return i;
	return FAKE_LEN;
}

static int fail(struct hark_error *err, enum hark_error_code code,
		const char *text)
{
	if (err != NULL) {
		err->code = code;
		snprintf(err->text, sizeof err->text, "%s", text);
	}
	return -1;
}

/* -- Recording -- */

struct hark_recording *fake_new(void)
{
	struct hark_recording *r = calloc(1, sizeof *r);

	r->process[0] = (struct hark_process){.number = 1,
					      .pid = FAKE_PID,
					      .n_threads = 2,
					      .program = "/bin/fake",
					      .command = "fake -v",
					      .exit_status = -1,
					      .exit_signal = SIGSEGV};
	r->process[1] = (struct hark_process){.number = 2,
					      .parent = 1,
					      .pid = FAKE_PID + 50,
					      .n_threads = 2,
					      .program = "",
					      .command = "fake -v"};
	for (uint32_t i = 0; i < 2; i++)
		r->thread[i] = (struct hark_thread){
		    .number = i + 1,
		    .tid = 101 + i,
		    .last = {1, i + 1, count_of(i + 1, FAKE_LEN), 0}};
	r->thread[0].end_signal = SIGSEGV;
	return r;
}

void fake_free(struct hark_recording *r)
{
	free(r->lent);
	free(r);
}

void fake_know(struct hark_recording *r, uint64_t address, const void *bytes,
	       size_t len, const char *path)
{
	struct known *k = &r->known[r->n_known++];
	int is_module = path != NULL && path[0] == '/';

	*k = (struct known){address, bytes, len, path};
	if (path != NULL)
		r->mappings[r->n_mappings++] = (struct hark_mapping){
		    .start = address,
		    .end = (address + len + 4095) & ~4095ULL,
		    .prot = PROT_READ | PROT_EXEC,
		    .prot_ever = PROT_READ | PROT_EXEC,
		    .module = is_module ? (int)r->n_modules : -1,
		    .path = path};
	if (is_module)
		r->modules[r->n_modules++] = (struct hark_module){
		    .path = path, .build_id = "", .debug_of = "", .len = len};
}

void fake_stall(struct hark_recording *r)
{
	r->stalls = 1;
}

void fake_refuse(struct hark_recording *r)
{
	r->refuses = 1;
}

unsigned fake_asked(const struct hark_recording *r)
{
	return r->asked;
}

unsigned fake_reads(const struct hark_recording *r)
{
	return r->reads;
}

unsigned fake_moment(const struct hark_timeline *t)
{
	return t->at;
}

static unsigned f_n_processes(const struct hark_recording *r)
{
	(void)r;
	return 2;
}

static const struct hark_process *f_process(const struct hark_recording *r,
					    unsigned i)
{
	return &r->process[i];
}

static unsigned f_n_modules(const struct hark_recording *r)
{
	return r->n_modules;
}

static const struct hark_module *f_module(const struct hark_recording *r,
					  unsigned i)
{
	return &r->modules[i];
}

static int f_read_module(struct hark_recording *r, unsigned i, uint8_t **out,
			 size_t *len, struct hark_error *err)
{
	(void)err;
	for (unsigned k = 0; k < r->n_known; k++)
		if (r->known[k].path == r->modules[i].path) {
			*len = r->known[k].len;
			*out = malloc(*len);
			memcpy(*out, r->known[k].bytes, *len);
			return 0;
		}
	return -1;
}

/* -- Timeline -- */

static int f_timeline_open(struct hark_recording *r, uint32_t process,
			   struct hark_timeline **out, struct hark_error *err)
{
	struct hark_timeline *t;

	if (process > 2)
		return fail(err, HARK_ERROR_POSITION, "no such process");
	if (r->refuses && process == 1)
		return fail(err, HARK_ERROR_MEMORY, "no memory");
	t = calloc(1, sizeof *t);
	t->r = r;
	t->selected = 1;
	*out = t;
	return 0;
}

static void f_timeline_close(struct hark_timeline *t)
{
	free(t);
}

static void f_on_progress(struct hark_timeline *t, hark_progress *f, void *ctx)
{
	t->progress = f;
	t->progress_ctx = ctx;
}

static unsigned f_n_threads(const struct hark_timeline *t)
{
	(void)t;
	return 2;
}

static const struct hark_thread *f_thread(const struct hark_timeline *t,
					  unsigned i)
{
	return &t->r->thread[i];
}

static int f_thread_lives(struct hark_timeline *t, uint32_t thread)
{
	return thread == 1 || (thread == 2 && t->at >= TURN);
}

static uint32_t f_selected(const struct hark_timeline *t)
{
	return t->selected;
}

static int f_select(struct hark_timeline *t, uint32_t thread,
		    struct hark_error *err)
{
	if (!f_thread_lives(t, thread))
		return fail(err, HARK_ERROR_POSITION, "no such thread");
	t->selected = thread;
	return 0;
}

static struct hark_position f_where(struct hark_timeline *t)
{
	return (struct hark_position){1, t->selected,
				      count_of(t->selected, t->at), 0};
}

static int f_seek(struct hark_timeline *t, const struct hark_position *to,
		  struct hark_error *err)
{
	if (to->thread < 1 || to->thread > 2 ||
	    to->count > count_of(to->thread, FAKE_LEN))
		return fail(err, HARK_ERROR_POSITION,
			    "there is no such moment");
	t->at = moment_of(to->thread, to->count);
	t->selected = to->thread;
	return 0;
}

static int f_seek_start(struct hark_timeline *t, struct hark_error *err)
{
	(void)err;
	t->at = 0;
	t->selected = 1;
	return 0;
}

static int f_seek_end(struct hark_timeline *t, struct hark_error *err)
{
	(void)err;
	t->at = FAKE_LEN;
	t->selected = 1;
	return 0;
}

static int f_position_parse(struct hark_timeline *t, const char *text,
			    struct hark_position *out, struct hark_error *err)
{
	unsigned thread, count;
	char more;

	(void)t;
	if (strcmp(text, "start") == 0) {
		*out = (struct hark_position){1, 1, 0, 0};
		return 0;
	}
	if (sscanf(text, "%u:%u%c", &thread, &count, &more) != 2)
		return fail(err, HARK_ERROR_POSITION, "that is no position");
	*out = (struct hark_position){1, thread, count, 0};
	return 0;
}

static void f_position_text(const struct hark_position *at, char *out,
			    size_t size)
{
	snprintf(out, size, "%u:%llu", at->thread,
		 (unsigned long long)at->count);
}

static int f_position_compare(struct hark_timeline *t,
			      const struct hark_position *a,
			      const struct hark_position *b)
{
	(void)t;
	return (int)moment_of(a->thread, a->count) -
	       (int)moment_of(b->thread, b->count);
}

static const char *f_thread_name(struct hark_timeline *t, uint32_t thread)
{
	(void)t;
	return thread == 2 ? "<second>" : "";
}

/* -- State -- */

static int f_registers(struct hark_timeline *t, uint32_t thread,
		       struct hark_registers *out, struct hark_error *err)
{
	unsigned count;

	if (!f_thread_lives(t, thread))
		return fail(err, HARK_ERROR_POSITION, "no such thread");
	count = count_of(thread, t->at);
	memset(out, 0, sizeof *out);
	for (unsigned i = 0; i < 16; i++)
		out->gpr[i] = 0x1111 * i;
	out->gpr[0] = count;
	out->gpr[4] = FAKE_STACK;
	out->rip = pc_of(thread, count);
	out->rflags = 0x246;
	out->fs_base = FAKE_TLS;
	out->xsave_len = 832;
	return 0;
}

static int find_byte(struct hark_timeline *t, uint64_t address, uint8_t *out)
{
	uint64_t word = word_at(t->at);

	if (address - FAKE_WORD < sizeof word) {
		memcpy(out, (uint8_t *)&word + (address - FAKE_WORD), 1);
		return 1;
	}
	if (address - FAKE_CODE < 0x100) {
		*out = (uint8_t)address;
		return 1;
	}
	for (unsigned i = 0; i < t->r->n_known; i++) {
		const struct known *k = &t->r->known[i];

		if (address - k->address < k->len) {
			*out = k->bytes[address - k->address];
			return 1;
		}
	}
	return 0;
}

static size_t f_read(struct hark_timeline *t, uint64_t address, size_t len,
		     uint8_t *out, uint8_t *known, struct hark_error *err)
{
	size_t n = 0;

	(void)err;
	t->r->reads++;
	free(t->r->lent);
	t->r->lent = NULL;
	for (size_t i = 0; i < len; i++) {
		known[i] = (uint8_t)find_byte(t, address + i, &out[i]);
		n += known[i];
	}
	return n;
}

static int f_mappings(struct hark_timeline *t, const struct hark_mapping **out,
		      unsigned *n, struct hark_error *err)
{
	(void)err;
	free(t->r->lent);
	t->r->lent = malloc(sizeof t->r->mappings);
	memcpy(t->r->lent, t->r->mappings, sizeof t->r->mappings);
	*out = t->r->lent;
	*n = t->r->n_mappings;
	return 0;
}

static int f_signal(struct hark_timeline *t, uint32_t thread, int *signo,
		    uint8_t siginfo[128], struct hark_error *err)
{
	(void)err;
	if (thread != 1 || t->at != FAKE_LEN)
		return 0;
	*signo = SIGSEGV;
	memset(siginfo, 0, 128);
	siginfo[0] = SIGSEGV;
	return 1;
}

/* -- Stops -- */

static uint32_t add_stop(struct hark_timeline *t, const struct stop *like)
{
	for (unsigned i = 0; i < STOPS_MAX; i++)
		if (t->stops[i].id == 0) {
			t->stops[i] = *like;
			t->stops[i].id = ++t->last_id;
			return t->last_id;
		}
	return 0;
}

static uint32_t f_break(struct hark_timeline *t, uint64_t address,
			uint32_t thread, hark_condition *when, void *ctx)
{
	const struct stop s = {0,  HARK_STOP_BREAKPOINT, address, 1, 0, when,
			       ctx};

	(void)thread;
	return add_stop(t, &s);
}

static uint32_t f_watch(struct hark_timeline *t, uint64_t address, uint64_t len,
			unsigned on, uint32_t thread, hark_condition *when,
			void *ctx)
{
	const struct stop s = {0, HARK_STOP_WATCH, address, len, on, when, ctx};

	(void)thread;
	return add_stop(t, &s);
}

static uint32_t f_catch_call(struct hark_timeline *t, int64_t number)
{
	const struct stop s = {.why = HARK_STOP_CALL,
			       .address = (uint64_t)number};

	return add_stop(t, &s);
}

static uint32_t f_catch_signal(struct hark_timeline *t, int signal)
{
	const struct stop s = {.why = HARK_STOP_SIGNAL,
			       .address = (uint64_t)signal};

	return add_stop(t, &s);
}

static void f_forget_stop(struct hark_timeline *t, uint32_t id)
{
	for (unsigned i = 0; i < STOPS_MAX; i++)
		if (t->stops[i].id == id)
			t->stops[i].id = 0;
}

static int is_met(struct hark_timeline *t, const struct stop *s)
{
	if (s->when == NULL)
		return 1;
	t->r->asked++;
	return s->when(s->ctx, t);
}

/* Is something at this moment, or was the instruction `done` watched? */
static int meets(struct hark_timeline *t, unsigned done, int is_break,
		 struct hark_stopped *out)
{
	uint64_t pc = pc_of(t->selected, count_of(t->selected, t->at));

	for (unsigned i = 0; i < STOPS_MAX; i++) {
		const struct stop *s = &t->stops[i];

		if (s->id == 0)
			continue;
		if (is_break && s->why == HARK_STOP_BREAKPOINT &&
		    s->address == pc && is_met(t, s)) {
			*out = (struct hark_stopped){
			    .why = s->why, .address = pc, .id = s->id};
			return 1;
		}
		if (s->why == HARK_STOP_WATCH && writes(done) &&
		    s->address < FAKE_WORD + 8 &&
		    s->address + s->len > FAKE_WORD && is_met(t, s)) {
			*out = (struct hark_stopped){.why = s->why,
						     .address = FAKE_WORD,
						     .size = 8,
						     .is_write = 1,
						     .id = s->id};
			return 1;
		}
	}
	return 0;
}

/* -- Moving -- */

static int stall(struct hark_timeline *t, struct hark_error *err)
{
	for (unsigned i = 0; i < 100000000; i++)
		if (t->progress != NULL &&
		    t->progress(t->progress_ctx, i, 200000000))
			return fail(err, HARK_ERROR_STOPPED, "stopped");
	return fail(err, HARK_ERROR_DIVERGED, "nobody stopped it");
}

/* One instruction of whoever is next; -1: there is none. */
static int advance(struct hark_timeline *t, enum hark_direction way,
		   unsigned *done)
{
	if (t->at == (way == HARK_FORWARD ? FAKE_LEN : 0))
		return -1;
	*done = way == HARK_FORWARD ? t->at++ : --t->at;
	return 0;
}

static int at_end(struct hark_timeline *t, enum hark_direction way,
		  struct hark_stopped *out)
{
	*out = (struct hark_stopped){
	    .why = way == HARK_FORWARD ? HARK_STOP_END : HARK_STOP_START,
	    .thread = t->selected};
	return 0;
}

static int f_step(struct hark_timeline *t, enum hark_direction way, uint64_t n,
		  struct hark_stopped *out, struct hark_error *err)
{
	unsigned done;

	(void)err;
	while (n > 0) {
		if (advance(t, way, &done) < 0)
			return at_end(t, way, out);
		n -= thread_of(done) == t->selected;
	}
	*out =
	    (struct hark_stopped){.why = HARK_STOP_STEP, .thread = t->selected};
	return 0;
}

static int f_run(struct hark_timeline *t, enum hark_direction way,
		 struct hark_stopped *out, struct hark_error *err)
{
	unsigned done;

	if (t->r->stalls)
		return stall(t, err);
	for (;;) {
		if (advance(t, way, &done) < 0) {
			t->selected = 1;
			return at_end(t, way, out);
		}
		t->selected = thread_of(done);
		/* Going on, whoever comes next is at its breakpoint. */
		if (way == HARK_FORWARD && t->at < FAKE_LEN &&
		    thread_of(t->at) != t->selected) {
			uint32_t was = t->selected;

			t->selected = thread_of(t->at);
			if (meets(t, done, 1, out))
				break;
			t->selected = was;
		}
		if (meets(t, done,
			  t->at < FAKE_LEN && thread_of(t->at) == t->selected,
			  out))
			break;
	}
	out->thread = t->selected;
	return 0;
}

static int f_last_write(struct hark_timeline *t, uint64_t address, uint64_t len,
			struct hark_access *out, struct hark_error *err)
{
	(void)err;
	if (t->r->stalls)
		return stall(t, err);
	for (unsigned i = t->at; i > 0; i--)
		if (writes(i - 1) && address < FAKE_WORD + 8 &&
		    address + len > FAKE_WORD) {
			uint32_t thread = thread_of(i - 1);
			unsigned count = count_of(thread, i - 1);
			uint64_t before = word_at(i - 1), after = before + 1;

			*out = (struct hark_access){.at = {1, thread, count, 0},
						    .pc = pc_of(thread, count),
						    .address = FAKE_WORD,
						    .size = 8,
						    .is_write = 1,
						    .known = 8};
			memcpy(out->before, &before, 8);
			memcpy(out->after, &after, 8);
			return 1;
		}
	return 0;
}

const struct gdb_api fake_api = {
#define F(name) .f_##name = f_##name,
    GDB_API(F)
#undef F
};
