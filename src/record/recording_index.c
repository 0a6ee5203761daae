/* record/recording_index.c - processes and segments of a recording.
 *
 * Chunks are sorted: those of streams first, by process, thread, and their
 * order in the file; then the others, by type. So each stream is a run of
 * them, the stream of a process comes before those of its threads, and a
 * segment is a run that begins with a key frame. */
#include "record/recording_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t rank(const struct chunk *c)
{
	return c->type == WIRE_CHUNK_DATA ? 0 : c->type + 1u;
}

static int compare(uint64_t x, uint64_t y)
{
	return x < y ? -1 : x > y;
}

static int by_stream(const void *a, const void *b)
{
	const struct chunk *x = a, *y = b;

	if (rank(x) != rank(y))
		return compare(rank(x), rank(y));
	if (x->process != y->process)
		return compare(x->process, y->process);
	if (x->thread != y->thread)
		return compare(x->thread, y->thread);
	return compare(x->number, y->number);
}

static int is_stream(const struct chunk *c)
{
	return c->type == WIRE_CHUNK_DATA;
}

static int is_key(const struct chunk *c)
{
	return is_stream(c) && (c->flags & WIRE_CHUNK_KEY) != 0 &&
	       c->thread != 0;
}

static int same_stream(const struct chunk *a, const struct chunk *b)
{
	return a->type == b->type && a->process == b->process &&
	       a->thread == b->thread;
}

static uint64_t size_in_file(const struct chunk *c)
{
	return sizeof(struct wire_file_chunk) + c->stored +
	       wire_chunk_padding(c->stored);
}

/* How many chunks from i on are of one stream. */
static uint32_t run_of(const struct recording *r, uint32_t i)
{
	uint32_t n = 1;

	while (i + n < r->n_chunks &&
	       same_stream(&r->chunks[i], &r->chunks[i + n]))
		n++;
	return n;
}

/* -- Segments -- */

/* Begins at chunk i; those of its thread are [begin, end). */
static uint32_t take_segment(struct recording *r, uint32_t i, uint32_t begin,
			     uint32_t end)
{
	const struct chunk *c = &r->chunks[i];
	struct segment *s = &r->segments[r->n_segments++];
	uint32_t n = 1;

	*s = (struct segment){.told = {.process = c->process,
				       .thread = c->thread,
				       .count = c->count,
				       .time_ns = c->time_ns,
				       .bytes = size_in_file(c),
				       .is_first = i == begin},
			      .first = i};
	for (; i + n < end && !is_key(&r->chunks[i + n]); n++)
		s->told.bytes += size_in_file(&r->chunks[i + n]);
	s->told.is_last = i + n == end;
	s->n = n;
	return n;
}

/* Counts ascend in a thread; a START has nothing before it. Chunks before the
 * first key frame are of no segment: their thread was killed before it. */
static int take_thread(struct recording *r, uint32_t i, uint32_t n)
{
	const struct segment *last = NULL;
	uint32_t begin, end = i + n;

	while (i < end && !is_key(&r->chunks[i]))
		i++;
	begin = i;
	while (i < end) {
		const struct chunk *c = &r->chunks[i];

		if (last != NULL && (c->first || c->count < last->told.count))
			return -1;
		last = &r->segments[r->n_segments];
		i += take_segment(r, i, begin, end);
	}
	return 0;
}

static int take_segments(struct recording *r, struct hark_err *err)
{
	uint32_t keys = 0;

	for (uint32_t i = 0; i < r->n_chunks; i++)
		keys += is_key(&r->chunks[i]) != 0;
	r->segments = calloc((size_t)keys + 1, sizeof *r->segments);
	if (r->segments == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	for (uint32_t i = 0, n; i < r->n_chunks; i += n) {
		const struct chunk *c = &r->chunks[i];

		n = run_of(r, i);
		if (!is_stream(c) || c->thread == 0)
			continue;
		r->n_threads++;
		if (take_thread(r, i, n) < 0)
			return err_set(err, HARK_EINPUT, 0,
				       "%s: damaged: the key frames of thread "
				       "%u.%u are out of order",
				       r->name, c->process, c->thread);
	}
	return 0;
}

/* -- Processes -- */

static int by_number(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return compare(x->told.number, y->told.number);
}

static struct process *find_process(const struct recording *r, uint32_t number)
{
	const struct process key = {.told = {.number = number}};

	return bsearch(&key, r->processes, r->n_processes, sizeof key,
		       by_number);
}

/* Everyone that a chunk or a line is about, once. */
static int list_processes(struct recording *r)
{
	size_t most = (size_t)r->n_chunks + r->n_lines + 1;
	uint32_t n = 0, kept = 0;

	r->processes = calloc(most, sizeof *r->processes);
	if (r->processes == NULL)
		return -1;
	for (uint32_t i = 0; i < r->n_chunks; i++)
		if (r->chunks[i].process != 0 &&
		    (n == 0 ||
		     r->processes[n - 1].told.number != r->chunks[i].process))
			r->processes[n++].told.number = r->chunks[i].process;
	qsort(r->processes, n, sizeof *r->processes, by_number);
	for (uint32_t i = 0; i < n; i++)
		if (kept == 0 || r->processes[i].told.number !=
				     r->processes[kept - 1].told.number)
			r->processes[kept++] = r->processes[i];
	r->n_processes = kept;
	return 0;
}

static int add_word(struct process *p, const char *word)
{
	size_t len = p->command == NULL ? 0 : strlen(p->command);
	size_t word_len = strlen(word);
	char *more = realloc(p->command, len + word_len + 2);

	if (more == NULL)
		return -1;
	p->command = more;
	if (len > 0)
		more[len++] = ' ';
	memcpy(more + len, word, word_len + 1);
	return 0;
}

static int take_line(struct process *p, const struct line *l)
{
	uint64_t number = strtoull(l->value, NULL, 10);

	if (strcmp(l->key, "pid") == 0)
		p->told.pid = (uint32_t)number;
	else if (strcmp(l->key, "parent") == 0)
		p->told.parent = (uint32_t)number;
	else if (strcmp(l->key, "previous") == 0)
		p->told.previous = (uint32_t)number;
	else if (strcmp(l->key, "serial") == 0)
		p->told.serial = number;
	else if (strcmp(l->key, "exe") == 0)
		p->told.exe = l->value;
	else if (strcmp(l->key, "comm") == 0)
		p->told.comm = l->value;
	else if (strcmp(l->key, "arg") == 0)
		return add_word(p, l->value);
	return 0;
}

/* A process is never its own parent. (It may be later than its child: numbers
 * are given in the order in which hark heard of them.) */
static void settle(struct process *p)
{
	if (p->told.parent == p->told.number)
		p->told.parent = 0;
	if (p->told.previous >= p->told.number)
		p->told.previous = 0;
	p->told.exe = p->told.exe == NULL ? "" : p->told.exe;
	p->told.comm = p->told.comm == NULL ? "" : p->told.comm;
	p->told.command = p->command == NULL ? "" : p->command;
}

static void take_runs(struct recording *r)
{
	for (uint32_t i = 0, n; i < r->n_chunks; i += n) {
		const struct chunk *c = &r->chunks[i];
		struct process *p = find_process(r, c->process);

		n = run_of(r, i);
		if (p == NULL)
			continue;
		if (is_stream(c) && c->thread != 0) {
			p->told.n_threads++;
		} else if (is_stream(c)) {
			p->first = i;
			p->n = n;
		} else if (c->type == WIRE_CHUNK_MAPS && c->thread == 0) {
			p->maps = i;
			p->n_maps = n;
		}
	}
}

static int take_processes(struct recording *r)
{
	if (list_processes(r) < 0)
		return -1;
	for (uint32_t i = 0; i < r->n_lines; i++) {
		const struct line *l = &r->lines[i];
		struct process *p = l->type == WIRE_CHUNK_PROCESS
					? find_process(r, l->process)
					: NULL;

		if (p != NULL && take_line(p, l) < 0)
			return -1;
	}
	for (uint32_t i = 0; i < r->n_processes; i++)
		settle(&r->processes[i]);
	take_runs(r);
	return 0;
}

/* -- Figures -- */

static int end_number(const struct recording *r, const char *key)
{
	const char *text = recording_end(r, key);

	return text == NULL ? -1 : (int)strtol(text, NULL, 10);
}

static void take_facts(struct recording *r)
{
	const char *lost = recording_end(r, "lost");
	struct recording_facts *f = &r->facts;

	f->bytes = r->end;
	f->chunks = r->n_chunks;
	f->processes = r->n_processes;
	f->threads = r->n_threads;
	f->key_frames = r->n_segments;
	f->lost = lost == NULL ? 0 : strtoull(lost, NULL, 10);
	f->exit = end_number(r, "exit");
	f->signal = end_number(r, "signal");
	for (uint32_t i = 0; i < r->n_chunks; i++) {
		const struct chunk *c = &r->chunks[i];

		if (is_stream(c) && c->thread != 0)
			f->thread_bytes += size_in_file(c);
		else
			f->code_bytes += size_in_file(c);
	}
}

int recording_index(struct recording *r, struct hark_err *err)
{
	if (r->n_chunks > 0)
		qsort(r->chunks, r->n_chunks, sizeof *r->chunks, by_stream);
	if (take_segments(r, err) < 0)
		return -1;
	if (take_processes(r) < 0 || recording_index_modules(r) < 0)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	take_facts(r);
	return 0;
}
