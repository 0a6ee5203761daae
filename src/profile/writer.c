/* profile/writer.c - samples into a file, as they come.
 *
 *	thread --map--> path: node, node, node, ...   (the outermost first)
 *	                        kept ^ | new frames: tree_frame(), tree_node()
 *	                               v
 *	sample {thread, time, node, weight}
 *
 * What is new waits in buffers, one for each type of chunk, and goes to the
 * file every second or so: modules, frames, nodes, threads, samples, in this
 * order (P1). A module is written when the first frame of it is seen.
 *
 * W1  A path is right as far as it reaches, also after a sample that could not
 *     be stored: its new frames are pushed one by one. */
#include "profile/profile.h"

#include "base/fmt.h"
#include "base/varint.h"
#include "profile/grow_priv.h"
#include "profile/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <xxhash.h>

enum {
	FLUSH_NS = 1000000000,
	FLUSH_BYTES = 1 << 20, /* of one buffer */
	RECORD_MAX = 4 * VARINT_MAX,
	NAME_LEN = 64,
	WORDS_MAX = 1 << 20, /* of the command line; the rest is left out */
	REASONS = 32,	     /* of losses; the last is all others */
	CACHED = 1 << 14,    /* frames by pc */
	THREADS_MAX = 1 << 22,
	MODULES_MAX = 1 << 20,
};

struct buffer {
	uint8_t *at; /* owned */
	size_t len, room;
};

struct path {
	uint32_t *nodes; /* owned */
	size_t n, room;
	uint8_t end; /* what its first node hangs from. ORDER unwind_end */
};

struct thread {
	int pid, tid;
	uint32_t number; /* in the file, from 1; 0: it is not there yet */
	bool is_gone;
	char name[NAME_LEN]; /* "": that of its program */
	struct path paths[PROFILE_STACKS];
};

/* Code of a process; .module is an index of the writer's. */
struct range {
	uint64_t start, end, bias;
	uint32_t module;
};

struct process {
	int pid;
	uint32_t generation;  /* of its ranges: no other process has the same */
	struct range *ranges; /* owned; ascending */
	size_t n;
	char name[NAME_LEN];
};

/* One file of code, whoever has it mapped. */
struct known_module {
	char *path; /* owned */
	uint8_t id[64];
	size_t id_len;
	enum module_kind kind;
	bool is_main;
	int pid; /* whose code it is, if no file is behind it; else 0 */
	int64_t mtime_ns;
	uint32_t number; /* in the file, from 1; 0: no frame of it yet */
};

struct cached {
	uint64_t pc;
	uint32_t generation, flags;
	uint32_t frame;
};

struct reason {
	char text[64];
	uint64_t n;
};

struct profile_writer {
	struct file_writer *file; /* owned */
	uint64_t began_ns, flushed_ns;
	struct tree tree;
	struct cached *cache; /* owned: CACHED of them */

	struct known_module *modules; /* owned */
	size_t n_modules, room_modules;
	struct keys by_module; /* a hash of path and build-id */
	uint32_t n_numbered;
	uint32_t *unwritten; /* owned: modules with a number, not in the file */
	size_t n_unwritten, room_unwritten;

	struct process *processes; /* owned */
	size_t n_processes, room_processes;
	struct keys by_pid;
	uint32_t generation;

	struct thread *threads; /* owned */
	size_t n_threads, room_threads;
	struct keys by_tid;
	uint32_t n_told;

	struct buffer frames, nodes, told, samples;
	uint64_t last_address;	       /* of .frames */
	uint64_t last_time, last_node; /* of .samples */
	uint64_t n_samples, lost, lost_told;
	struct reason reasons[REASONS];
	size_t n_reasons;
};

static int no_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* -- Text -- */

static int put_text(struct profile_writer *w, enum wire_chunk_type type,
		    uint32_t number, struct file_text *t, struct hark_err *err)
{
	int rc = t->failed
		     ? no_memory(err)
		     : file_put(w->file, type, 0, number, t->at, t->len, err);

	file_text_free(t);
	return rc;
}

static int put_meta(struct profile_writer *w, const struct profile_plan *p,
		    struct hark_err *err)
{
	static const char *const clocks[] = {[PROFILE_CPU] = "cpu",
					     [PROFILE_WALL] = "wall",
					     [PROFILE_OFF_CPU] = "off-cpu"};
	struct file_text t = {0};
	struct utsname u;

	file_text_add(&t, "kind", "profile");
	file_text_add(&t, "hark", HARK_VERSION);
	file_text_number(&t, "profile", WIRE_PROFILE_VERSION);
	file_text_number(&t, "time", time(NULL));
	if (uname(&u) == 0) {
		file_text_add(&t, "machine", u.machine);
		file_text_add(&t, "kernel", u.release);
	}
	file_text_add(&t, "clock", clocks[p->clock]);
	file_text_number(&t, "period_ns", (int64_t)p->period_ns);
	for (char *const *a = p->argv; a != NULL && *a != NULL; a++)
		if (t.len < WORDS_MAX)
			file_text_add(&t, "arg", *a);
	return put_text(w, WIRE_CHUNK_META, 0, &t, err);
}

static void add_lost(const struct profile_writer *w, struct file_text *t)
{
	char line[96];

	file_text_number(t, "lost", (int64_t)w->lost);
	for (size_t i = 0; i < w->n_reasons; i++) {
		fmt_text(line, sizeof line, "%lu %s",
			 (unsigned long)w->reasons[i].n, w->reasons[i].text);
		file_text_add(t, "lost_by", line);
	}
}

static int put_module(struct profile_writer *w, const struct known_module *m,
		      struct hark_err *err)
{
	static const char *const kinds[] = {
	    [MODULE_EXEC] = "exec", [MODULE_PIE] = "pie",   [MODULE_SO] = "so",
	    [MODULE_VDSO] = "vdso", [MODULE_ANON] = "anon",
	};
	char hex[2 * sizeof m->id + 1] = "";
	struct file_text t = {0};

	file_text_add(&t, "kind", kinds[m->kind]);
	file_text_add(&t, "path", m->path);
	for (size_t i = 0; i < m->id_len; i++)
		fmt_text(hex + 2 * i, 3, "%02x", m->id[i]);
	if (m->id_len > 0)
		file_text_add(&t, "build_id", hex);
	if (m->mtime_ns != 0)
		file_text_number(&t, "mtime_ns", m->mtime_ns);
	if (m->is_main)
		file_text_number(&t, "main", 1);
	if (m->pid != 0)
		file_text_number(&t, "pid", m->pid);
	return put_text(w, WIRE_CHUNK_MODULE, m->number, &t, err);
}

/* -- Buffers -- */

static uint8_t *buffer_room(struct buffer *b, size_t len)
{
	return GROW(b->at, b->room, b->len + len) < 0 ? NULL : b->at + b->len;
}

static void buffer_end(struct buffer *b, const uint8_t *end)
{
	b->len = (size_t)(end - b->at);
}

static int put_buffer(struct profile_writer *w, enum wire_chunk_type type,
		      struct buffer *b, struct hark_err *err)
{
	if (b->len == 0)
		return 0;
	if (file_put(w->file, type, 0, 0, b->at, b->len, err) < 0)
		return -1;
	b->len = 0;
	return 0;
}

/* Modules and frames before nodes. */
static int flush_nodes(struct profile_writer *w, struct hark_err *err)
{
	for (size_t i = 0; i < w->n_unwritten; i++)
		if (put_module(w, &w->modules[w->unwritten[i]], err) < 0) {
			w->n_unwritten -= i;
			memmove(w->unwritten, w->unwritten + i,
				w->n_unwritten * sizeof w->unwritten[0]);
			return -1;
		}
	w->n_unwritten = 0;
	if (put_buffer(w, WIRE_CHUNK_FRAMES, &w->frames, err) < 0)
		return -1;
	w->last_address = 0;
	return put_buffer(w, WIRE_CHUNK_NODES, &w->nodes, err);
}

static int put_tally(struct profile_writer *w, struct hark_err *err)
{
	struct file_text t = {0};

	if (w->lost == w->lost_told)
		return 0;
	add_lost(w, &t);
	if (put_text(w, WIRE_CHUNK_TALLY, 0, &t, err) < 0)
		return -1;
	w->lost_told = w->lost;
	return 0;
}

int profile_flush(struct profile_writer *w, struct hark_err *err)
{
	w->flushed_ns = now_ns();
	if (flush_nodes(w, err) < 0 ||
	    put_buffer(w, WIRE_CHUNK_THREADS, &w->told, err) < 0 ||
	    put_buffer(w, WIRE_CHUNK_SAMPLES, &w->samples, err) < 0)
		return -1;
	w->last_time = w->last_node = 0;
	return put_tally(w, err);
}

int profile_flush_due(struct profile_writer *w, struct hark_err *err)
{
	if (w->samples.len < FLUSH_BYTES && w->told.len < FLUSH_BYTES &&
	    now_ns() - w->flushed_ns < FLUSH_NS)
		return 0;
	return profile_flush(w, err);
}

/* -- Modules and processes -- */

static const struct range *find_range(const struct process *p, uint64_t pc)
{
	size_t lo = 0, hi = p->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (p->ranges[mid].start <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > 0 && pc < p->ranges[lo - 1].end ? &p->ranges[lo - 1] : NULL;
}

/* Code of no file is each process's own. */
static int owner_of(const struct module *m, int pid)
{
	return m->kind == MODULE_ANON ? pid : 0;
}

static bool is_module(const struct known_module *k, const struct module *m,
		      int pid)
{
	size_t len = m->id_len < sizeof k->id ? m->id_len : sizeof k->id;

	return strcmp(k->path, m->path) == 0 && k->kind == m->kind &&
	       k->pid == owner_of(m, pid) && k->id_len == len &&
	       (len == 0 || memcmp(k->id, m->id, len) == 0) &&
	       k->mtime_ns ==
		   (m->file != NULL ? image_file_mtime_ns(m->file) : 0);
}

/* Its index; KEYS_NONE: no memory, or too many. */
static uint32_t know_module(struct profile_writer *w, const struct module *m,
			    int pid)
{
	uint64_t key = XXH3_64bits_withSeed(m->path, strlen(m->path),
					    (uint64_t)owner_of(m, pid));
	size_t at = w->n_modules == 0 ? 0 : keys_first(&w->by_module, key);
	struct known_module *k;
	uint32_t i;

	while ((i = keys_next(&w->by_module, key, &at)) != KEYS_NONE)
		if (is_module(&w->modules[i], m, pid))
			return i;
	i = (uint32_t)w->n_modules;
	if (i >= MODULES_MAX ||
	    GROW(w->modules, w->room_modules, w->n_modules + 1) < 0 ||
	    (w->modules[i].path = strdup(m->path)) == NULL)
		return KEYS_NONE;
	k = &w->modules[i];
	*k = (struct known_module){.path = k->path,
				   .kind = m->kind,
				   .is_main = m->main,
				   .pid = owner_of(m, pid),
				   .id_len = m->id_len};
	if (k->id_len > sizeof k->id)
		k->id_len = sizeof k->id;
	if (k->id_len > 0)
		memcpy(k->id, m->id, k->id_len);
	if (m->file != NULL)
		k->mtime_ns = image_file_mtime_ns(m->file);
	if (keys_add(&w->by_module, key, i) < 0) {
		free(k->path);
		return KEYS_NONE;
	}
	w->n_modules++;
	return i;
}

static int by_start(const void *a, const void *b)
{
	uint64_t x = ((const struct range *)a)->start;
	uint64_t y = ((const struct range *)b)->start;

	return x < y ? -1 : x > y;
}

/* What is mapped, copied: modules come and go. */
static int copy_ranges(struct profile_writer *w, const struct modules *modules,
		       struct process *out)
{
	size_t room = 0;

	for (size_t i = 0; i < modules_count(modules); i++) {
		const struct module *m = modules_get(modules, i);
		uint32_t known = know_module(w, m, out->pid);

		if (known == KEYS_NONE ||
		    GROW(out->ranges, room, out->n + m->n_ranges) < 0)
			return -1;
		if (m->main)
			fmt_text(out->name, sizeof out->name, "%s", m->name);
		for (size_t j = 0; j < m->n_ranges; j++)
			out->ranges[out->n++] = (struct range){
			    .start = m->ranges[j].start,
			    .end = m->ranges[j].end,
			    .bias = m->kind == MODULE_ANON ? 0 : m->bias,
			    .module = known};
	}
	if (out->n > 0)
		qsort(out->ranges, out->n, sizeof out->ranges[0], by_start);
	return 0;
}

static struct process *find_process(struct profile_writer *w, int pid)
{
	uint32_t i = keys_find(&w->by_pid, (uint32_t)pid);

	return i == KEYS_NONE ? NULL : &w->processes[i];
}

static struct process *add_process(struct profile_writer *w, int pid)
{
	struct process *p = find_process(w, pid);

	if (p != NULL)
		return p;
	if (GROW(w->processes, w->room_processes, w->n_processes + 1) < 0 ||
	    keys_add(&w->by_pid, (uint32_t)pid, (uint32_t)w->n_processes) < 0)
		return NULL;
	p = &w->processes[w->n_processes++];
	*p = (struct process){.pid = pid};
	return p;
}

int profile_maps(struct profile_writer *w, int pid, struct modules *modules,
		 struct hark_err *err)
{
	struct process new = {.pid = pid, .generation = ++w->generation}, *p;

	p = add_process(w, pid);
	if (p == NULL || copy_ranges(w, modules, &new) < 0) {
		free(new.ranges);
		return no_memory(err);
	}
	free(p->ranges);
	*p = new;
	return 0;
}

/* -- Threads -- */

static uint64_t thread_key(int pid, int tid)
{
	return (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;
}

static void drop_paths(struct thread *t)
{
	for (unsigned i = 0; i < PROFILE_STACKS; i++) {
		free(t->paths[i].nodes);
		t->paths[i] = (struct path){0};
	}
}

/* Its index. One that is gone leaves its number to the next. */
static uint32_t find_thread(struct profile_writer *w, int pid, int tid)
{
	uint64_t key = thread_key(pid, tid);
	uint32_t i = keys_find(&w->by_tid, key), old = i;
	struct thread *t;

	if (i != KEYS_NONE && !w->threads[i].is_gone)
		return i;
	i = (uint32_t)w->n_threads;
	if (i >= THREADS_MAX ||
	    GROW(w->threads, w->room_threads, w->n_threads + 1) < 0)
		return KEYS_NONE;
	if (old != KEYS_NONE)
		keys_replace(&w->by_tid, key, i);
	else if (keys_add(&w->by_tid, key, i) < 0)
		return KEYS_NONE;
	t = &w->threads[w->n_threads++];
	*t = (struct thread){.pid = pid, .tid = tid};
	return i;
}

/* Before its first sample, and when it is called something else. */
static int tell_thread(struct profile_writer *w, struct thread *t,
		       struct hark_err *err)
{
	const struct process *p = find_process(w, t->pid);
	const char *name = t->name[0] != '\0' || p == NULL ? t->name : p->name;
	size_t len = strlen(name);
	uint8_t *at = buffer_room(&w->told, RECORD_MAX + len);

	if (at == NULL)
		return no_memory(err);
	if (t->number == 0)
		t->number = ++w->n_told;
	at = varint_put(at, t->number);
	at = varint_put(at, (uint32_t)t->pid);
	at = varint_put(at, (uint32_t)t->tid);
	at = varint_put(at, len);
	for (size_t i = 0; i < len; i++)
		*at++ = (uint8_t)name[i];
	buffer_end(&w->told, at);
	return 0;
}

int profile_thread(struct profile_writer *w, int pid, int tid, const char *name,
		   struct hark_err *err)
{
	uint32_t i = find_thread(w, pid, tid);
	struct thread *t;

	if (i == KEYS_NONE)
		return no_memory(err);
	t = &w->threads[i];
	if (strncmp(t->name, name, NAME_LEN - 1) == 0)
		return 0;
	fmt_text(t->name, sizeof t->name, "%s", name);
	return t->number != 0 ? tell_thread(w, t, err) : 0;
}

void profile_thread_gone(struct profile_writer *w, int pid, int tid)
{
	uint32_t i = keys_find(&w->by_tid, thread_key(pid, tid));

	if (i == KEYS_NONE)
		return;
	w->threads[i].is_gone = true;
	drop_paths(&w->threads[i]);
}

/* -- Frames and nodes -- */

static int number_module(struct profile_writer *w, uint32_t module)
{
	if (w->modules[module].number != 0)
		return 0;
	if (GROW(w->unwritten, w->room_unwritten, w->n_unwritten + 1) < 0)
		return -1;
	w->unwritten[w->n_unwritten++] = module;
	w->modules[module].number = ++w->n_numbered;
	return 0;
}

/* Its number in the tree; and, if it is a new one, into the file. */
static uint32_t put_frame(struct profile_writer *w, const struct tree_frame *f)
{
	uint8_t *at = buffer_room(&w->frames, RECORD_MAX);
	size_t before = w->tree.n_frames;
	uint32_t n;

	if (at == NULL)
		return TREE_NONE;
	n = tree_frame(&w->tree, f);
	if (w->tree.n_frames == before)
		return n;
	at = varint_put(at, (uint64_t)f->module << 4 | f->flags);
	at = varint_put(at,
			varint_fold((int64_t)(f->address - w->last_address)));
	buffer_end(&w->frames, at);
	w->last_address = f->address;
	return n;
}

static uint32_t put_node(struct profile_writer *w, uint32_t parent,
			 uint32_t frame)
{
	uint8_t *at = buffer_room(&w->nodes, RECORD_MAX);
	size_t before = w->tree.n_nodes;
	uint32_t n;

	if (at == NULL)
		return TREE_NONE;
	n = tree_node(&w->tree, parent, frame);
	if (w->tree.n_nodes == before)
		return n;
	at = varint_put(at, n - parent);
	at = varint_put(at, frame);
	buffer_end(&w->nodes, at);
	return n;
}

static uint32_t flags_of(const struct profile_frame *f)
{
	return (f->is_return ? TREE_RETURN : 0u) |
	       ((uint32_t)f->how << TREE_HOW_SHIFT & TREE_HOW);
}

static uint32_t look_up(struct profile_writer *w, const struct process *p,
			const struct profile_frame *f)
{
	struct tree_frame frame = {.address = f->pc, .flags = flags_of(f)};
	/* A call may be the last thing in a mapping. */
	const struct range *r =
	    p == NULL ? NULL : find_range(p, f->pc - (f->is_return ? 1 : 0));

	if (r != NULL) {
		if (number_module(w, r->module) < 0)
			return TREE_NONE;
		frame.module = w->modules[r->module].number;
		frame.address -= r->bias;
	}
	return put_frame(w, &frame);
}

static uint32_t frame_of(struct profile_writer *w, const struct process *p,
			 const struct profile_frame *f)
{
	uint32_t flags = flags_of(f),
		 generation = p == NULL ? 0 : p->generation;
	uint64_t h = (f->pc ^ (uint64_t)generation << 20) * 0x9e3779b97f4a7c15u;
	struct cached *c = &w->cache[h >> 32 & (CACHED - 1)];
	uint32_t frame;

	if (generation != 0 && c->pc == f->pc && c->generation == generation &&
	    c->flags == flags)
		return c->frame;
	frame = look_up(w, p, f);
	if (frame < TREE_FULL)
		*c = (struct cached){f->pc, generation, flags, frame};
	return frame;
}

/* What a path of that end hangs from. */
static uint32_t root_of(struct profile_writer *w, uint8_t end)
{
	struct tree_frame f = {.address = end, .flags = TREE_BROKEN};
	uint32_t frame;

	if (end == 0)
		return 0;
	frame = put_frame(w, &f);
	return frame >= TREE_FULL ? frame : put_node(w, 0, frame);
}

/* Under another root: the same frames. How many were moved, or an error. */
static uint32_t move_path(struct profile_writer *w, struct path *p,
			  uint32_t root, uint32_t n)
{
	uint32_t parent = root;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t frame = w->tree.nodes[p->nodes[i]].frame;

		parent = put_node(w, parent, frame);
		if (parent >= TREE_FULL)
			break;
		p->nodes[i] = parent;
	}
	return parent;
}

/* The new frames, pushed; the innermost node, or TREE_NONE, TREE_FULL. */
static uint32_t push_frames(struct profile_writer *w, struct path *p,
			    const struct profile_sample *s,
			    struct hark_err *err)
{
	const struct process *of = find_process(w, s->pid);
	uint32_t parent = root_of(w, s->end);

	if (parent >= TREE_FULL)
		return parent;
	if (p->end != s->end && s->kept > 0) {
		uint32_t kept = s->kept;

		p->n = 0; /* W1 */
		parent = move_path(w, p, parent, kept);
		if (parent >= TREE_FULL)
			return parent;
		p->n = kept;
	} else if (s->kept > 0) {
		parent = p->nodes[s->kept - 1];
	}
	p->n = s->kept;
	p->end = s->end;
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t frame = frame_of(w, of, &s->frames[i]);

		parent =
		    frame >= TREE_FULL ? frame : put_node(w, parent, frame);
		if (parent >= TREE_FULL)
			return parent;
		if (GROW(p->nodes, p->room, p->n + 1) < 0)
			return TREE_NONE;
		p->nodes[p->n++] = parent;
		if ((w->nodes.len > FLUSH_BYTES ||
		     w->frames.len > FLUSH_BYTES) &&
		    flush_nodes(w, err) < 0)
			return TREE_NONE;
	}
	return parent;
}

/* -- Samples -- */

static int add_sample(struct profile_writer *w, uint32_t thread, uint32_t node,
		      const struct profile_sample *s)
{
	uint64_t time = s->time_ns > w->began_ns ? s->time_ns - w->began_ns : 0;
	uint8_t *at = buffer_room(&w->samples, RECORD_MAX);

	if (at == NULL)
		return -1;
	at = varint_put(at, thread);
	at = varint_put(at, varint_fold((int64_t)(time - w->last_time)));
	at = varint_put(at, varint_fold((int64_t)(node - w->last_node)));
	at = varint_put(at, s->weight);
	buffer_end(&w->samples, at);
	w->last_time = time;
	w->last_node = node;
	w->n_samples++;
	return 0;
}

static int check_sample(const struct profile_sample *s, size_t known,
			struct hark_err *err)
{
	if (s->kept > known)
		return err_set(err, HARK_EINPUT, 0,
			       "a sample of thread %d keeps %u frames of %zu",
			       s->tid, s->kept, known);
	return 0;
}

int profile_put(struct profile_writer *w, const struct profile_sample *s,
		struct hark_err *err)
{
	uint32_t i, node;
	struct thread *t;

	if (s->map >= PROFILE_STACKS)
		return err_set(err, HARK_EINPUT, 0,
			       "a sample of thread %d is of stack %u", s->tid,
			       s->map);
	i = find_thread(w, s->pid, s->tid);
	if (i == KEYS_NONE)
		return no_memory(err);
	t = &w->threads[i];
	if (check_sample(s, t->paths[s->map].n, err) < 0)
		return -1;
	if (t->number == 0 && tell_thread(w, t, err) < 0)
		return -1;
	if (err != NULL)
		err->code = HARK_OK;
	node = push_frames(w, &t->paths[s->map], s, err);
	if (node == TREE_FULL) {
		profile_lost(w, "too many different stacks", 1);
		return 0;
	}
	if (node == TREE_NONE)
		return err != NULL && err->code != HARK_OK ? -1
							   : no_memory(err);
	if (add_sample(w, t->number, node, s) < 0)
		return no_memory(err);
	return profile_flush_due(w, err);
}

void profile_lost(struct profile_writer *w, const char *reason, uint64_t n)
{
	struct reason *r = w->reasons;
	struct reason *last = w->reasons + REASONS - 1;

	w->lost += n;
	while (r < w->reasons + w->n_reasons && r < last &&
	       strncmp(r->text, reason, sizeof r->text - 1) != 0)
		r++;
	if (r == w->reasons + w->n_reasons) {
		fmt_text(r->text, sizeof r->text, "%s",
			 r == last ? "for other reasons" : reason);
		w->n_reasons++;
	}
	r->n += n;
}

int profile_note(struct profile_writer *w, const char *text,
		 struct hark_err *err)
{
	struct file_text t = {0};

	file_text_add(&t, "note", text);
	return put_text(w, WIRE_CHUNK_NOTE, 0, &t, err);
}

/* -- Life -- */

int profile_create(const struct profile_plan *p, struct profile_writer **out,
		   struct hark_err *err)
{
	struct profile_writer *w = calloc(1, sizeof *w);

	if (w == NULL) {
		file_writer_discard(p->file);
		return no_memory(err);
	}
	w->file = p->file;
	w->began_ns = p->began_ns;
	w->flushed_ns = now_ns();
	w->cache = calloc(CACHED, sizeof *w->cache);
	if (w->cache == NULL || tree_init(&w->tree) < 0) {
		no_memory(err);
	} else if (put_meta(w, p, err) == 0) {
		*out = w;
		return 0;
	}
	file_writer_discard(w->file);
	w->file = NULL;
	profile_close(w);
	return -1;
}

int profile_finish(struct profile_writer *w, const struct profile_ending *e,
		   struct hark_err *err)
{
	struct file_text t = {0};

	if (profile_flush(w, err) < 0)
		return -1;
	if (e->has_status && WIFEXITED(e->status))
		file_text_number(&t, "exit", WEXITSTATUS(e->status));
	if (e->has_status && WIFSIGNALED(e->status))
		file_text_number(&t, "signal", WTERMSIG(e->status));
	file_text_number(&t, "processes", (int64_t)w->n_processes);
	file_text_number(&t, "threads", (int64_t)w->n_threads);
	file_text_number(&t, "samples", (int64_t)w->n_samples);
	if (e->ended_ns > w->began_ns)
		file_text_number(&t, "duration_ns",
				 (int64_t)(e->ended_ns - w->began_ns));
	if (e->cpu_user_ns != 0 || e->cpu_system_ns != 0) {
		file_text_number(&t, "cpu_user_ns", (int64_t)e->cpu_user_ns);
		file_text_number(&t, "cpu_system_ns",
				 (int64_t)e->cpu_system_ns);
	}
	if (e->is_checked) {
		file_text_number(&t, "checked", (int64_t)e->checked);
		file_text_number(&t, "differ", (int64_t)e->differing);
	}
	add_lost(w, &t);
	return put_text(w, WIRE_CHUNK_END, 0, &t, err);
}

void profile_close(struct profile_writer *w)
{
	if (w == NULL)
		return;
	for (size_t i = 0; i < w->n_modules; i++)
		free(w->modules[i].path);
	for (size_t i = 0; i < w->n_processes; i++)
		free(w->processes[i].ranges);
	for (size_t i = 0; i < w->n_threads; i++)
		drop_paths(&w->threads[i]);
	free(w->modules);
	free(w->processes);
	free(w->threads);
	free(w->unwritten);
	free(w->cache);
	keys_fini(&w->by_module);
	keys_fini(&w->by_pid);
	keys_fini(&w->by_tid);
	free(w->frames.at);
	free(w->nodes.at);
	free(w->told.at);
	free(w->samples.at);
	tree_fini(&w->tree);
	file_writer_close(w->file);
	free(w);
}
