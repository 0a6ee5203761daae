/* travel/remote_calls.c - hark/recording.h, function by function: what is asked
 * of the process that replays, and what its answers may be.
 *
 * ORDER channel_op: arguments are as serve.c takes them. */
#include "travel/remote_priv.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static int out_of_memory(struct hark_error *err)
{
	return travel_error(err, HARK_ERROR_MEMORY, "out of memory");
}

/* A call that gives `most` at most, or fails and says why. */
static int call_for(struct hark_timeline *t, struct channel_head *h,
		    const struct remote_each *each, int64_t most,
		    struct hark_error *err)
{
	int64_t rc = remote_call(t, h, each, err);

	if (t->pid == 0)
		return -1;
	if (rc > most || rc < -1 || (rc < 0) != (h->error != HARK_ERROR_NONE))
		return remote_condemn(t, err);
	return (int)rc;
}

static void put_position(const struct hark_position *at, uint64_t *args)
{
	args[0] = (uint64_t)at->process << 32 | at->thread;
	args[1] = at->count;
	args[2] = at->step;
}

/* -- Life -- */

int hark_timeline_open(struct hark_recording *r, uint32_t process,
		       struct hark_timeline **out, struct hark_error *err)
{
	struct hark_timeline *t = calloc(1, sizeof *t);
	struct channel_head h = {.op = CHANNEL_OPEN, .args = {process}};

	if (t == NULL)
		return out_of_memory(err);
	t->rec = r;
	if (remote_start(t, err) < 0 || call_for(t, &h, NULL, 0, err) < 0)
		goto failed;
	if (h.args[0] > recording_n_segments(r->r)) {
		remote_condemn(t, err);
		goto failed;
	}
	t->n_threads = (unsigned)h.args[0];
	t->threads = calloc(t->n_threads + 1, sizeof *t->threads);
	if (t->threads == NULL) {
		out_of_memory(err);
		goto failed;
	}
	*out = t;
	return 0;
failed:
	hark_timeline_close(t);
	return -1;
}

void hark_timeline_close(struct hark_timeline *t)
{
	if (t == NULL)
		return;
	remote_stop(t);
	free(t->threads);
	free(t->conditions);
	free(t->maps);
	free(t->paths);
	free(t->window.places);
	free(t);
}

void hark_on_progress(struct hark_timeline *t, hark_progress *f, void *ctx)
{
	t->progress = f;
	t->progress_ctx = ctx;
	atomic_store(&t->c->wants_progress, f != NULL);
}

int hark_prepare(struct hark_timeline *t, const struct hark_position *from,
		 const struct hark_position *to, unsigned n,
		 struct hark_error *err)
{
	struct channel_head h = {.op = CHANNEL_PREPARE};

	put_position(from, h.args);
	put_position(to, h.args + 3);
	h.args[6] = n;
	return call_for(t, &h, NULL, 0, err);
}

int hark_prepare_search(struct hark_timeline *t, struct hark_error *err)
{
	struct channel_head h = {.op = CHANNEL_PREPARE_SEARCH};

	return call_for(t, &h, NULL, 0, err);
}

int hark_prepare_long_search(struct hark_timeline *t, struct hark_error *err)
{
	struct channel_head h = {.op = CHANNEL_PREPARE_SEARCH, .args = {1}};

	return call_for(t, &h, NULL, 0, err);
}

/* -- Threads -- */

unsigned hark_n_threads(const struct hark_timeline *t)
{
	return t->n_threads;
}

const struct hark_thread *hark_thread(const struct hark_timeline *t, unsigned i)
{
	struct hark_timeline *mine = (struct hark_timeline *)t;
	struct channel_head h = {.op = CHANNEL_THREAD, .args = {i}};
	struct hark_thread about;

	if (i >= t->n_threads)
		return NULL;
	/* What is known of it stays when the process is gone. */
	if (remote_call(mine, &h, NULL, NULL) == 0 && mine->pid != 0 &&
	    remote_take(mine, &h, &about, sizeof about, NULL) == 0)
		mine->threads[i] = about;
	return &t->threads[i];
}

int hark_thread_lives(struct hark_timeline *t, uint32_t thread)
{
	struct channel_head h = {.op = CHANNEL_THREAD_LIVES, .args = {thread}};

	return remote_call(t, &h, NULL, NULL) > 0;
}

/* One that lives as long as the recording. */
static const char *keep_text(struct hark_recording *r, const char *text)
{
	struct travel_text *kept = r->texts;
	size_t len = strlen(text);

	while (kept != NULL && strcmp(kept->text, text) != 0)
		kept = kept->next;
	if (kept == NULL) {
		kept = malloc(sizeof *kept + len + 1);
		if (kept == NULL)
			return "";
		memcpy(kept->text, text, len + 1);
		kept->next = r->texts;
		r->texts = kept;
	}
	return kept->text;
}

const char *hark_thread_name(struct hark_timeline *t, uint32_t thread)
{
	struct channel_head h = {.op = CHANNEL_THREAD_NAME, .args = {thread}};
	char text[SERVE_NAME + 1] = "";

	if (remote_call(t, &h, NULL, NULL) < 0)
		return "";
	if (h.len > SERVE_NAME) {
		remote_condemn(t, NULL);
		return "";
	}
	memcpy(text, t->c->data, h.len);
	return keep_text(t->rec, text);
}

uint32_t hark_selected(const struct hark_timeline *t)
{
	return t->where.thread;
}

int hark_select(struct hark_timeline *t, uint32_t thread,
		struct hark_error *err)
{
	struct channel_head h = {.op = CHANNEL_SELECT, .args = {thread}};

	return call_for(t, &h, NULL, 0, err);
}

/* -- Moments -- */

int hark_position_parse(struct hark_timeline *t, const char *text,
			struct hark_position *out, struct hark_error *err)
{
	struct channel_head h = {.op = CHANNEL_PARSE};
	size_t len = strlen(text);

	if (len >= CHANNEL_TEXT)
		return travel_error(err, HARK_ERROR_POSITION,
				    "a position is not that long");
	memcpy(t->c->data, text, len);
	h.len = (uint32_t)len;
	if (call_for(t, &h, NULL, 0, err) < 0)
		return -1;
	*out =
	    (struct hark_position){(uint32_t)(h.args[0] >> 32),
				   (uint32_t)h.args[0], h.args[1], h.args[2]};
	return 0;
}

int hark_position_compare(struct hark_timeline *t,
			  const struct hark_position *a,
			  const struct hark_position *b)
{
	struct channel_head h = {.op = CHANNEL_COMPARE};
	int64_t rc;

	put_position(a, h.args);
	put_position(b, h.args + 3);
	rc = remote_call(t, &h, NULL, NULL);
	return (rc > 0) - (rc < 0);
}

struct hark_position hark_where(struct hark_timeline *t)
{
	return t->where;
}

int hark_seek(struct hark_timeline *t, const struct hark_position *to,
	      struct hark_error *err)
{
	struct channel_head h = {.op = CHANNEL_SEEK};

	put_position(to, h.args);
	return call_for(t, &h, NULL, 0, err);
}

int hark_seek_start(struct hark_timeline *t, struct hark_error *err)
{
	struct channel_head h = {.op = CHANNEL_SEEK_START};

	return call_for(t, &h, NULL, 0, err);
}

int hark_seek_end(struct hark_timeline *t, struct hark_error *err)
{
	struct channel_head h = {.op = CHANNEL_SEEK_END};

	return call_for(t, &h, NULL, 0, err);
}

/* -- State -- */

int hark_registers(struct hark_timeline *t, uint32_t thread,
		   struct hark_registers *out, struct hark_error *err)
{
	const size_t least = offsetof(struct hark_registers, xsave);
	struct channel_head h = {.op = CHANNEL_REGISTERS, .args = {thread}};

	if (remote_visit_registers(t, thread, out))
		return 0;
	if (call_for(t, &h, NULL, 0, err) < 0)
		return -1;
	if (h.len < least || h.len - least > sizeof out->xsave)
		return remote_condemn(t, err);
	memcpy(out, t->c->data, h.len);
	out->xsave_len = (uint32_t)(h.len - least);
	memset(out->xsave + out->xsave_len, 0,
	       sizeof out->xsave - out->xsave_len);
	return 0;
}

/* At most CHANNEL_READ bytes. */
static int read_piece(struct hark_timeline *t, uint64_t address, size_t len,
		      uint8_t *out, uint8_t *known, size_t *n,
		      struct hark_error *err)
{
	struct channel_head h = {.op = CHANNEL_READ_MEMORY,
				 .args = {address, len}};
	int64_t rc = remote_call(t, &h, NULL, err);

	if (t->pid == 0)
		return -1;
	memcpy(out, t->c->data, len);
	memcpy(known, t->c->data + CHANNEL_READ, len);
	for (size_t i = 0; i < len; i++)
		known[i] = known[i] != 0;
	if (rc < 0 || (uint64_t)rc > len)
		return remote_condemn(t, err);
	*n += (size_t)rc;
	return h.error != HARK_ERROR_NONE ? -1 : 0;
}

/* Long ones in pieces of one length: short reads are taken more trouble over,
 * and the last piece is not to be one. */
size_t hark_read(struct hark_timeline *t, uint64_t address, size_t len,
		 uint8_t *out, uint8_t *known, struct hark_error *err)
{
	size_t pieces = len / CHANNEL_READ + 1, step = len / pieces + 1, n = 0;

	if (remote_visit_read(t, address, len, out, known))
		return len;
	memset(known, 0, len);
	for (size_t at = 0; at < len; at += step) {
		size_t some = len - at < step ? len - at : step;

		if (read_piece(t, address + at, some, out + at, known + at, &n,
			       err) < 0)
			break;
	}
	return n;
}

/* What is said too early is only looked at, what is beyond is condemned. */
uint64_t hark_next_known(struct hark_timeline *t, uint64_t address,
			 uint64_t end)
{
	struct channel_head h = {.op = CHANNEL_NEXT_KNOWN,
				 .args = {address, end}};

	if (address >= end)
		return end;
	if (remote_call(t, &h, NULL, NULL) < 0 || t->pid == 0)
		return address;
	if (h.args[0] < address || h.args[0] > end) {
		remote_condemn(t, NULL);
		return address;
	}
	return h.args[0];
}

int hark_signal(struct hark_timeline *t, uint32_t thread, int *signo,
		uint8_t siginfo[128], struct hark_error *err)
{
	struct channel_head h = {.op = CHANNEL_SIGNAL, .args = {thread}};
	uint8_t info[128];
	int rc = call_for(t, &h, NULL, 1, err);

	if (rc < 0 || remote_take(t, &h, info, sizeof info, err) < 0)
		return -1;
	*signo = (int)h.args[0];
	if (rc > 0)
		memcpy(siginfo, info, sizeof info);
	return rc;
}

/* -- Mappings -- */

struct mapping_list {
	struct hark_mapping *maps; /* owned */
	char *paths;		   /* owned: one after the other, each ended */
	uint64_t n, total;
	size_t used; /* of paths */
};

/* One that the message has; how long it is. 0: that is none. */
static size_t take_mapping(const struct hark_timeline *t,
			   struct mapping_list *list, size_t at, size_t len)
{
	struct serve_mapping m;
	char *path = list->paths + list->used;

	if (len - at < sizeof m)
		return 0;
	memcpy(&m, t->c->data + at, sizeof m);
	if (m.path_len > len - at - sizeof m || m.start >= m.end ||
	    (list->n > 0 && m.start < list->maps[list->n - 1].end) ||
	    m.module < -1 ||
	    m.module >= (int64_t)recording_n_modules(t->rec->r))
		return 0;
	memcpy(path, t->c->data + at + sizeof m, m.path_len);
	path[m.path_len] = '\0';
	/* An offset for now: paths may move. */
	list->maps[list->n++] = (struct hark_mapping){
	    .start = m.start,
	    .end = m.end,
	    .offset = m.offset,
	    .prot = m.prot,
	    .prot_ever = m.prot_ever,
	    .module = m.module,
	    .path = (const char *)(uintptr_t)list->used,
	};
	list->used += m.path_len + 1;
	return sizeof m + m.path_len;
}

/* Of one message. 1: good; 0: it makes no sense; -1: no memory. */
static int take_mappings(const struct hark_timeline *t,
			 struct mapping_list *list,
			 const struct channel_head *h)
{
	struct hark_mapping *maps;
	char *paths;
	uint64_t end = list->n + h->args[0];
	size_t at = 0, n;

	if (h->len > CHANNEL_TEXT || h->args[0] == 0 ||
	    h->args[0] > CHANNEL_TEXT / sizeof(struct serve_mapping) ||
	    end > h->args[1])
		return 0;
	maps = reallocarray(list->maps, end + 1, sizeof *maps);
	if (maps == NULL)
		return -1;
	list->maps = maps;
	paths = realloc(list->paths, list->used + h->len + h->args[0] + 1);
	if (paths == NULL)
		return -1;
	list->paths = paths;
	for (; list->n < end; at += n) {
		n = take_mapping(t, list, at, h->len);
		if (n == 0)
			return 0;
	}
	return 1;
}

static int fetch_mappings(struct hark_timeline *t, struct mapping_list *list,
			  struct hark_error *err)
{
	do {
		struct channel_head h = {.op = CHANNEL_MAPPINGS,
					 .args = {list->n}};
		int rc;

		if (call_for(t, &h, NULL, 0, err) < 0)
			return -1;
		list->total = h.args[1];
		if (list->total == 0)
			break;
		rc = take_mappings(t, list, &h);
		if (rc < 0)
			return out_of_memory(err);
		if (rc == 0)
			return remote_condemn(t, err);
	} while (list->n < list->total);
	return 0;
}

int hark_mappings(struct hark_timeline *t, const struct hark_mapping **out,
		  unsigned *n, struct hark_error *err)
{
	struct mapping_list list = {0};

	if (fetch_mappings(t, &list, err) < 0) {
		free(list.maps);
		free(list.paths);
		return -1;
	}
	for (uint64_t i = 0; i < list.n; i++)
		list.maps[i].path = list.paths + (uintptr_t)list.maps[i].path;
	free(t->maps);
	free(t->paths);
	t->maps = list.maps;
	t->paths = list.paths;
	*out = list.maps;
	*n = (unsigned)list.n;
	return 0;
}

/* -- Moving -- */

/* The last one is the selected thread's. */
static int take_stopped(struct hark_timeline *t, const uint64_t *args,
			struct hark_stopped *out, struct hark_error *err)
{
	if (args[0] > HARK_STOP_END || args[1] != t->where.thread)
		return remote_condemn(t, err);
	*out = (struct hark_stopped){.why = (enum hark_stop)args[0],
				     .thread = (uint32_t)args[1],
				     .address = args[2],
				     .size = (uint32_t)args[3],
				     .is_write = args[4] != 0,
				     .id = (uint32_t)args[5],
				     .call = (int64_t)args[6],
				     .signal = (int)args[7]};
	return 0;
}

/* Within the places that are known here; the process is told when it is asked
 * something else. */
static int step_in_window(struct hark_timeline *t, enum hark_direction way,
			  uint64_t n, struct hark_stopped *out)
{
	struct remote_window *w = &t->window;

	if (w->number == 0 ||
	    n > (way == HARK_FORWARD ? w->n - 1u - w->at : w->at))
		return 0;
	w->at = (uint32_t)(way == HARK_FORWARD ? w->at + n : w->at - n);
	t->where.count = w->places[w->at].count;
	t->where.step = w->places[w->at].step;
	*out = (struct hark_stopped){.why = HARK_STOP_STEP,
				     .thread = t->where.thread};
	return 1;
}

int hark_step(struct hark_timeline *t, enum hark_direction way, uint64_t n,
	      struct hark_stopped *out, struct hark_error *err)
{
	struct channel_head h = {.op = CHANNEL_STEP, .args = {way, n}};

	if (step_in_window(t, way, n, out))
		return 0;
	return call_for(t, &h, NULL, 0, err) < 0
		   ? -1
		   : take_stopped(t, h.args, out, err);
}

int hark_run(struct hark_timeline *t, enum hark_direction way,
	     struct hark_stopped *out, struct hark_error *err)
{
	struct channel_head h = {.op = CHANNEL_RUN, .args = {way}};

	return call_for(t, &h, NULL, 0, err) < 0
		   ? -1
		   : take_stopped(t, h.args, out, err);
}

/* Its number; 0: no memory. */
static uint64_t add_condition(struct hark_timeline *t, hark_condition *when,
			      void *ctx)
{
	if (t->n_conditions == t->room_conditions) {
		unsigned room =
		    t->room_conditions == 0 ? 8 : 2 * t->room_conditions;
		struct remote_condition *more =
		    reallocarray(t->conditions, room, sizeof *more);

		if (more == NULL)
			return 0;
		t->conditions = more;
		t->room_conditions = room;
	}
	t->conditions[t->n_conditions++] = (struct remote_condition){
	    .number = ++t->last_condition, .when = when, .ctx = ctx};
	return t->last_condition;
}

static void forget_condition(struct hark_timeline *t, unsigned i)
{
	t->n_conditions--;
	memmove(&t->conditions[i], &t->conditions[i + 1],
		(t->n_conditions - i) * sizeof *t->conditions);
}

static uint32_t add_stop(struct hark_timeline *t, struct channel_head *h,
			 hark_condition *when, void *ctx)
{
	int64_t id;

	if (when != NULL) {
		h->args[4] = add_condition(t, when, ctx);
		if (h->args[4] == 0)
			return 0;
	}
	id = remote_call(t, h, NULL, NULL);
	if (id < 0 || id > UINT32_MAX)
		id = 0;
	if (when != NULL && id == 0)
		forget_condition(t, t->n_conditions - 1);
	else if (when != NULL)
		t->conditions[t->n_conditions - 1].id = (uint32_t)id;
	return (uint32_t)id;
}

uint32_t hark_break(struct hark_timeline *t, uint64_t address, uint32_t thread,
		    hark_condition *when, void *ctx)
{
	struct channel_head h = {.op = CHANNEL_BREAK,
				 .args = {address, thread}};

	return add_stop(t, &h, when, ctx);
}

uint32_t hark_watch(struct hark_timeline *t, uint64_t address, uint64_t len,
		    unsigned on, uint32_t thread, hark_condition *when,
		    void *ctx)
{
	struct channel_head h = {.op = CHANNEL_WATCH,
				 .args = {address, thread, len, on}};

	return add_stop(t, &h, when, ctx);
}

uint32_t hark_catch_call(struct hark_timeline *t, int64_t number)
{
	struct channel_head h = {.op = CHANNEL_CATCH_CALL,
				 .args = {(uint64_t)number}};

	return add_stop(t, &h, NULL, NULL);
}

uint32_t hark_catch_signal(struct hark_timeline *t, int signal)
{
	struct channel_head h = {.op = CHANNEL_CATCH_SIGNAL,
				 .args = {(uint64_t)(int64_t)signal}};

	return add_stop(t, &h, NULL, NULL);
}

void hark_forget_stop(struct hark_timeline *t, uint32_t id)
{
	struct channel_head h = {.op = CHANNEL_FORGET_STOP, .args = {id}};

	remote_call(t, &h, NULL, NULL);
	for (unsigned i = 0; i < t->n_conditions; i++)
		if (t->conditions[i].id == id) {
			forget_condition(t, i);
			return;
		}
}

/* -- Questions -- */

int hark_last_write(struct hark_timeline *t, uint64_t address, uint64_t len,
		    struct hark_access *out, struct hark_error *err)
{
	struct channel_head h = {.op = CHANNEL_LAST_WRITE,
				 .args = {address, len}};
	struct hark_access a;
	int rc = call_for(t, &h, NULL, 1, err);

	if (rc != 1)
		return rc;
	if (remote_take(t, &h, &a, sizeof a, err) < 0)
		return -1;
	remote_check_access(&a);
	*out = a;
	return 1;
}

/* NULL: from the first moment, to the last. */
static void put_range(struct hark_timeline *t, struct channel_head *h,
		      const struct hark_position *from,
		      const struct hark_position *to)
{
	struct serve_range range = {.has_from = from != NULL,
				    .has_to = to != NULL};

	if (from != NULL)
		range.from = *from;
	if (to != NULL)
		range.to = *to;
	memcpy(t->c->data, &range, sizeof range);
	h->len = sizeof range;
}

int hark_accesses(struct hark_timeline *t, uint64_t address, uint64_t len,
		  unsigned on, const struct hark_position *from,
		  const struct hark_position *to, hark_each_access *each,
		  void *ctx, struct hark_error *err)
{
	const struct remote_each tell = {.access = each, .ctx = ctx};
	struct channel_head h = {.op = CHANNEL_ACCESSES,
				 .args = {address, len, on}};

	put_range(t, &h, from, to);
	return call_for(t, &h, &tell, INT32_MAX, err);
}

int hark_visits_of(struct hark_timeline *t, const uint64_t *addresses,
		   unsigned n, unsigned n_functions,
		   const struct hark_position *from,
		   const struct hark_position *to, hark_each_visit *each,
		   void *ctx, struct hark_error *err)
{
	const struct remote_each tell = {.visit = each, .ctx = ctx};
	struct channel_head h = {.op = CHANNEL_VISITS,
				 .args = {n, n_functions}};
	int rc;

	if (n >= SERVE_ADDRESSES)
		return travel_error(err, HARK_ERROR_ARGUMENT,
				    "%u addresses are too many to visit", n);
	put_range(t, &h, from, to);
	memcpy(t->c->data + h.len, addresses, n * sizeof *addresses);
	t->has_no_memory = false;
	rc = call_for(t, &h, &tell, INT32_MAX, err);
	return rc == 0 && t->has_no_memory ? out_of_memory(err) : rc;
}

int hark_visits(struct hark_timeline *t, uint64_t address,
		const struct hark_position *from,
		const struct hark_position *to, hark_each_visit *each,
		void *ctx, struct hark_error *err)
{
	return hark_visits_of(t, &address, 1, 0, from, to, each, ctx, err);
}

int hark_races(struct hark_timeline *t, hark_each_race *each, void *ctx,
	       struct hark_error *err)
{
	const struct remote_each tell = {.race = each, .ctx = ctx};
	struct channel_head h = {.op = CHANNEL_RACES};

	return call_for(t, &h, &tell, 1, err);
}

int hark_possible(struct hark_timeline *t, uint64_t address, uint64_t len,
		  hark_each_possible *each, void *ctx, struct hark_error *err)
{
	const struct remote_each tell = {.possible = each, .ctx = ctx};
	struct channel_head h = {.op = CHANNEL_POSSIBLE,
				 .args = {address, len}};

	return call_for(t, &h, &tell, INT32_MAX, err);
}
