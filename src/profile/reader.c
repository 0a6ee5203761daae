/* profile/reader.c - a profile's file, read; nothing in it is believed.
 *
 * R1  A node's parent and frame, a frame's module, a sample's thread and node
 *     were there before it, or the file is damaged.
 * R2  The sum of all weights is at most 2^53, which every reader of JSON knows.
 * R3  What stands before the damage is kept, to the last whole record. */
#include "profile/reader.h"

#include "base/fmt.h"
#include "base/varint.h"
#include "profile/grow_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_LEN = 8192, COMMAND_LEN = 4096, ID_MAX = 64, NAME_MAX_LEN = 255 };

static const uint64_t WEIGHT_MAX = 1ull << 53;

struct reader {
	struct profile *p;
	bool facts_only;
	bool no_memory;
	uint64_t text_len; /* that was kept */
	size_t room_modules, room_threads, room_frames, room_nodes,
	    room_samples, room_notes;
	struct profile_lost_by *lost_by; /* owned, by the profile */
	uint64_t latest_ns;
	bool is_sorted;
	char value[VALUE_LEN];
};

static const char no_memory[] = "out of memory";

/* -- Text -- */

/* Was there room for all words so far? */
static bool kept(const struct reader *r)
{
	return !r->no_memory && r->text_len <= PROFILE_TEXT_MAX;
}

static const char *keep_bytes(struct reader *r, const void *text, size_t len)
{
	char *copy;

	r->text_len += len + 1;
	if (r->text_len > PROFILE_TEXT_MAX)
		return "";
	copy = arena_text(&r->p->arena, text, len);
	if (copy == NULL)
		r->no_memory = true;
	return copy == NULL ? "" : copy;
}

static const char *keep(struct reader *r, const char *text)
{
	return keep_bytes(r, text, strlen(text));
}

static uint64_t number(const char *text)
{
	return strtoull(text, NULL, 10);
}

static void add_word(struct reader *r, const char *word)
{
	size_t have = strlen(r->p->facts.command);
	char text[COMMAND_LEN];

	if (have >= COMMAND_LEN - 1)
		return;
	fmt_text(text, sizeof text, "%s%s%s", r->p->facts.command,
		 have == 0 ? "" : " ", word);
	r->p->facts.command = keep(r, text);
}

static void add_lost_by(struct reader *r, const char *text)
{
	struct profile_facts *f = &r->p->facts;
	const char *blank = strchr(text, ' ');

	if (blank == NULL || f->n_lost_by == PROFILE_REASONS_MAX)
		return;
	r->lost_by[f->n_lost_by++] = (struct profile_lost_by){
	    .reason = keep(r, blank + 1), .n = number(text)};
}

static enum profile_clock clock_of(const char *name)
{
	return strcmp(name, "wall") == 0      ? PROFILE_WALL
	       : strcmp(name, "off-cpu") == 0 ? PROFILE_OFF_CPU
					      : PROFILE_CPU;
}

static void take_line(struct reader *r, const char *key, const char *value)
{
	struct profile_facts *f = &r->p->facts;
	const struct {
		const char *key;
		uint64_t *to;
	} numbers[] = {
	    {"period_ns", &f->period_ns},
	    {"duration_ns", &f->duration_ns},
	    {"processes", &f->processes},
	    {"threads", &f->threads},
	    {"cpu_user_ns", &f->cpu_user_ns},
	    {"lost", &f->lost},
	    {"checked", &f->checked},
	    {"differ", &f->differing},
	    {"cpu_system_ns", &f->cpu_system_ns},
	};

	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		if (strcmp(key, numbers[i].key) == 0)
			*numbers[i].to = number(value);
	if (strcmp(key, "arg") == 0)
		add_word(r, value);
	if (strcmp(key, "hark") == 0)
		f->hark = keep(r, value);
	if (strcmp(key, "clock") == 0)
		f->clock = clock_of(value);
	if (strcmp(key, "time") == 0)
		f->time = strtoll(value, NULL, 10);
	if (strcmp(key, "exit") == 0)
		f->exit = (int)(number(value) & 0xff);
	if (strcmp(key, "signal") == 0)
		f->signal = (int)(number(value) & 0x7f);
	if (strcmp(key, "lost_by") == 0)
		add_lost_by(r, value);
}

/* META, TALLY and END: a later one knows better what was lost. */
static const char *take_text(struct reader *r, const struct file_chunk *c)
{
	char key[32];
	size_t at = 0;

	if (c->type != WIRE_CHUNK_META)
		r->p->facts.n_lost_by = 0;
	while (file_text_next(c, &at, key, sizeof key, r->value, VALUE_LEN))
		take_line(r, key, r->value);
	return NULL;
}

static const char *take_note(struct reader *r, const struct file_chunk *c)
{
	struct profile *p = r->p;
	char key[32];
	size_t at = 0;

	while (file_text_next(c, &at, key, sizeof key, r->value, VALUE_LEN)) {
		if (strcmp(key, "note") != 0 || p->n_notes == PROFILE_NOTES_MAX)
			continue;
		if (GROW(p->notes, r->room_notes, p->n_notes + 1) < 0)
			return no_memory;
		p->notes[p->n_notes++] = keep(r, r->value);
	}
	return NULL;
}

static int digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
				      : -1;
}

/* As far as it is hexadecimal, and one has room for it. */
static void take_id(struct reader *r, const char *hex,
		    struct profile_module *out)
{
	uint8_t id[ID_MAX];
	size_t n = 0;

	while (n < ID_MAX && digit(hex[2 * n]) >= 0 &&
	       digit(hex[2 * n + 1]) >= 0) {
		id[n] =
		    (uint8_t)(digit(hex[2 * n]) << 4 | digit(hex[2 * n + 1]));
		n++;
	}
	out->id = (const uint8_t *)keep_bytes(r, id, n);
	out->id_len = kept(r) ? n : 0;
}

static enum module_kind kind_of(const char *name)
{
	static const char *const kinds[] = {
	    [MODULE_EXEC] = "exec", [MODULE_PIE] = "pie",   [MODULE_SO] = "so",
	    [MODULE_VDSO] = "vdso", [MODULE_ANON] = "anon",
	};

	for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(name, kinds[i]) == 0)
			return (enum module_kind)i;
	return MODULE_ANON;
}

static const char *take_module(struct reader *r, const struct file_chunk *c)
{
	struct profile_module m = {.path = "", .kind = MODULE_ANON};
	struct profile *p = r->p;
	char key[32];
	size_t at = 0;

	if (c->thread != p->n_modules + 1 ||
	    p->n_modules == PROFILE_MODULES_MAX)
		return "a module has a wrong number";
	while (file_text_next(c, &at, key, sizeof key, r->value, VALUE_LEN)) {
		if (strcmp(key, "path") == 0)
			m.path = keep(r, r->value);
		if (strcmp(key, "kind") == 0)
			m.kind = kind_of(r->value);
		if (strcmp(key, "build_id") == 0)
			take_id(r, r->value, &m);
		if (strcmp(key, "mtime_ns") == 0)
			m.mtime_ns = strtoll(r->value, NULL, 10);
		if (strcmp(key, "main") == 0)
			m.main = true;
		if (strcmp(key, "pid") == 0)
			m.pid = (int)(number(r->value) & INT32_MAX);
	}
	if (GROW(p->modules, r->room_modules, p->n_modules + 1) < 0)
		return no_memory;
	p->modules[p->n_modules++] = m;
	return NULL;
}

/* -- Varints -- */

struct cursor {
	const uint8_t *at, *end;
};

/* n numbers: false if they are not there. */
static bool take(struct cursor *c, unsigned n, uint64_t *out)
{
	for (unsigned i = 0; i < n; i++)
		if (!varint_get(&c->at, c->end, &out[i]))
			return false;
	return true;
}

static const char not_whole[] = "a chunk ends in the middle of a record";

static const char *take_thread(struct reader *r, const uint64_t v[4],
			       const char *name)
{
	struct profile *p = r->p;
	struct stacks_thread *t;

	if (v[0] == 0 || v[0] > p->n_threads + 1 ||
	    v[0] > PROFILE_THREADS_MAX || v[1] > INT32_MAX || v[2] > INT32_MAX)
		return "a thread has a wrong number";
	if (GROW(p->threads, r->room_threads, v[0]) < 0)
		return no_memory;
	t = &p->threads[v[0] - 1];
	if (v[0] > p->n_threads)
		p->n_threads = v[0];
	*t = (struct stacks_thread){
	    .pid = (int)v[1],
	    .tid = (int)v[2],
	    .name = keep_bytes(r, name, strnlen(name, v[3])),
	};
	return NULL;
}

static const char *take_threads(struct reader *r, const struct file_chunk *ch)
{
	struct cursor c = {ch->bytes, ch->bytes + ch->len};
	const char *bad = NULL;
	uint64_t v[4];

	while (bad == NULL && c.at < c.end) {
		if (!take(&c, 4, v))
			return not_whole;
		if (v[3] > NAME_MAX_LEN || v[3] > (size_t)(c.end - c.at))
			return "a thread's name is too long";
		bad = take_thread(r, v, (const char *)c.at);
		c.at += v[3];
	}
	return bad;
}

static const char *take_frames(struct reader *r, const struct file_chunk *ch)
{
	struct cursor c = {ch->bytes, ch->bytes + ch->len};
	struct profile *p = r->p;
	uint64_t v[2], address = 0;

	while (c.at < c.end) {
		if (!take(&c, 2, v))
			return not_whole;
		if (v[0] >> 4 > p->n_modules)
			return "a frame is of no module";
		if (p->n_frames == TREE_FRAMES_MAX)
			return "too many frames";
		if (GROW(p->frames, r->room_frames, p->n_frames + 1) < 0)
			return no_memory;
		address += (uint64_t)varint_unfold(v[1]);
		p->frames[p->n_frames++] =
		    (struct tree_frame){.address = address,
					.module = (uint32_t)(v[0] >> 4),
					.flags = v[0] & TREE_FLAGS};
	}
	return NULL;
}

static const char *take_nodes(struct reader *r, const struct file_chunk *ch)
{
	struct cursor c = {ch->bytes, ch->bytes + ch->len};
	struct profile *p = r->p;
	uint64_t v[2];

	while (c.at < c.end) {
		if (!take(&c, 2, v))
			return not_whole;
		if (v[0] == 0 || v[0] > p->n_nodes)
			return "a node has no parent";
		if (v[1] >= p->n_frames)
			return "a node has no frame";
		if (p->n_nodes == TREE_NODES_MAX)
			return "too many nodes";
		if (GROW(p->nodes, r->room_nodes, p->n_nodes + 1) < 0)
			return no_memory;
		p->nodes[p->n_nodes] = (struct tree_node){
		    (uint32_t)(p->n_nodes - v[0]), (uint32_t)v[1]};
		p->n_nodes++;
	}
	return NULL;
}

static const char *take_sample(struct reader *r, const uint64_t v[4],
			       uint64_t time, uint64_t node)
{
	struct profile *p = r->p;
	struct profile_facts *f = &p->facts;

	if (time > INT64_MAX)
		return "a sample has no time";
	if (v[3] > WEIGHT_MAX - f->weight)
		return "samples weigh too much"; /* R2 */
	if (!r->facts_only) {
		if (v[0] == 0 || v[0] > p->n_threads)
			return "a sample is of no thread";
		if (node >= p->n_nodes)
			return "a sample is of no node";
		if (p->n_samples == PROFILE_SAMPLES_MAX)
			return "too many samples";
		if (GROW(p->samples, r->room_samples, p->n_samples + 1) < 0)
			return no_memory;
		p->samples[p->n_samples++] =
		    (struct stacks_sample){.time_ns = time,
					   .thread = (uint32_t)(v[0] - 1),
					   .node = (uint32_t)node,
					   .weight = v[3]};
	}
	r->is_sorted = r->is_sorted && time >= r->latest_ns;
	if (time > r->latest_ns)
		r->latest_ns = time;
	f->weight += v[3];
	f->samples++;
	return NULL;
}

static const char *take_samples(struct reader *r, const struct file_chunk *ch)
{
	struct cursor c = {ch->bytes, ch->bytes + ch->len};
	uint64_t v[4], time = 0, node = 0;
	const char *bad = NULL;

	while (bad == NULL && c.at < c.end) {
		if (!take(&c, 4, v))
			return not_whole;
		time += (uint64_t)varint_unfold(v[1]);
		node += (uint64_t)varint_unfold(v[2]);
		bad = take_sample(r, v, time, node);
	}
	return bad;
}

/* -- Chunks -- */

/* What is wrong with it; NULL: nothing. */
static const char *take_chunk(struct reader *r, const struct file_chunk *c)
{
	static const struct {
		const char *(*take)(struct reader *, const struct file_chunk *);
		bool is_fact;
	} types[] = {
	    [WIRE_CHUNK_META] = {take_text, true},
	    [WIRE_CHUNK_END] = {take_text, true},
	    [WIRE_CHUNK_TALLY] = {take_text, true},
	    [WIRE_CHUNK_NOTE] = {take_note, true},
	    [WIRE_CHUNK_MODULE] = {take_module, true},
	    [WIRE_CHUNK_THREADS] = {take_threads, true},
	    [WIRE_CHUNK_FRAMES] = {take_frames, false},
	    [WIRE_CHUNK_NODES] = {take_nodes, false},
	    [WIRE_CHUNK_SAMPLES] = {take_samples, true},
	};

	if (c->type >= sizeof types / sizeof types[0] ||
	    types[c->type].take == NULL ||
	    (r->facts_only && !types[c->type].is_fact))
		return NULL;
	return types[c->type].take(r, c);
}

static bool is_kind(const struct file_chunk *c, char out[32])
{
	char key[32];
	size_t at = 0;

	out[0] = '\0';
	while (c->type == WIRE_CHUNK_META &&
	       file_text_next(c, &at, key, sizeof key, out, 32))
		if (strcmp(key, "kind") == 0)
			return true;
	out[0] = '\0';
	return false;
}

int profile_kind(const char *path, char out[32], struct hark_err *err)
{
	struct file_reader *f;
	struct file_chunk c;

	out[0] = '\0';
	if (file_open(path, &f, err) < 0)
		return -1;
	if (file_next(f, &c, NULL) == FILE_CHUNK)
		is_kind(&c, out);
	file_reader_close(f);
	return 0;
}

/* The first chunk: is it a profile, of a version that is known? */
static int check_meta(struct file_reader *f, const char *name,
		      struct file_chunk *c, struct hark_err *err)
{
	char kind[32], key[32], value[32];
	enum file_status status = file_next(f, c, err);
	size_t at = 0;

	if (status == FILE_DAMAGED)
		return -1;
	if (status != FILE_CHUNK)
		return err_set(err, HARK_EINPUT, 0, "%s: nothing is in it",
			       name);
	if (!is_kind(c, kind) || strcmp(kind, "profile") != 0)
		return err_set(err, HARK_EINPUT, 0, "%s: is no profile%s%s",
			       name, kind[0] == '\0' ? "" : ", but of kind ",
			       kind);
	while (file_text_next(c, &at, key, sizeof key, value, sizeof value))
		if (strcmp(key, "profile") == 0 &&
		    number(value) > WIRE_PROFILE_VERSION)
			return err_set(err, HARK_EINPUT, 0,
				       "%s: is a profile of version %s; this "
				       "hark reads %d",
				       name, value, WIRE_PROFILE_VERSION);
	return 0;
}

static void note_damage(struct reader *r, const struct file_reader *f,
			const char *name, const char *bad)
{
	char text[512];

	fmt_text(text, sizeof text, "%s: damaged before byte %lu: %s", name,
		 (unsigned long)file_position(f), bad);
	r->p->facts.damage = keep(r, text);
}

/* Chunk after chunk, to the end or to the first that is wrong. */
static int read_chunks(struct reader *r, struct file_reader *f,
		       const char *name, struct hark_err *err)
{
	enum file_status status = FILE_CHUNK;
	struct profile_facts *facts = &r->p->facts;
	struct hark_err why = {0};
	struct file_chunk c;
	const char *bad = NULL;

	if (check_meta(f, name, &c, err) < 0)
		return -1;
	while (status == FILE_CHUNK) {
		bad = take_chunk(r, &c);
		if (bad == NULL && r->text_len > PROFILE_TEXT_MAX)
			bad = "too many words";
		if (bad != NULL)
			break;
		facts->chunks++;
		facts->bytes = file_position(f);
		status = file_next(f, &c, &why);
	}
	facts->is_complete = bad == NULL && status == FILE_END;
	if (bad == no_memory ||
	    (status == FILE_DAMAGED && why.code == HARK_ENOMEM))
		r->no_memory = true;
	if (bad != NULL)
		note_damage(r, f, name, bad);
	else if (status == FILE_DAMAGED)
		facts->damage = keep(r, why.text);
	return r->no_memory ? err_set(err, HARK_ENOMEM, ENOMEM, "out of memory")
			    : 0;
}

/* -- All of it -- */

static int by_time(const void *a, const void *b)
{
	const struct stacks_sample *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static void complete_facts(struct reader *r)
{
	struct profile_facts *f = &r->p->facts;

	if (f->duration_ns < r->latest_ns)
		f->duration_ns = r->latest_ns;
	if (f->threads < r->p->n_threads)
		f->threads = r->p->n_threads;
	if (f->processes == 0)
		f->processes = r->p->n_threads > 0;
	f->lost_by = r->lost_by;
	if (!r->is_sorted && r->p->n_samples > 0)
		qsort(r->p->samples, r->p->n_samples, sizeof r->p->samples[0],
		      by_time);
}

static struct profile *new_profile(void)
{
	struct profile *p = calloc(1, sizeof *p);

	if (p == NULL)
		return NULL;
	arena_init(&p->arena, &profile_heap);
	p->facts.command = p->facts.hark = "";
	p->facts.exit = p->facts.signal = -1;
	return p;
}

static int open_as(const char *path, bool facts_only, struct profile **out,
		   struct hark_err *err)
{
	struct reader *r = calloc(1, sizeof *r);
	struct file_reader *f = NULL;
	struct profile *p = new_profile();
	int rc = -1;

	if (r == NULL || p == NULL) {
		err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
		goto out;
	}
	r->p = p;
	r->facts_only = facts_only;
	r->is_sorted = true;
	r->lost_by =
	    arena_take(&p->arena, PROFILE_REASONS_MAX * sizeof *r->lost_by);
	if (r->lost_by == NULL || GROW(p->nodes, r->room_nodes, 1) < 0) {
		err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
		goto out;
	}
	p->nodes[p->n_nodes++] = (struct tree_node){0};
	if (file_open(path, &f, err) < 0 ||
	    read_chunks(r, f, strcmp(path, "-") == 0 ? "standard input" : path,
			err) < 0)
		goto out;
	complete_facts(r);
	*out = p;
	p = NULL; /* handed over */
	rc = 0;
out:
	file_reader_close(f);
	profile_free(p);
	free(r);
	return rc;
}

int profile_open(const char *path, struct profile **out, struct hark_err *err)
{
	return open_as(path, false, out, err);
}

int profile_open_facts(const char *path, struct profile **out,
		       struct hark_err *err)
{
	return open_as(path, true, out, err);
}

void profile_free(struct profile *p)
{
	if (p == NULL)
		return;
	free(p->modules);
	free(p->threads);
	free(p->frames);
	free(p->nodes);
	free(p->samples);
	free(p->notes);
	arena_fini(&p->arena);
	free(p);
}

double profile_rate(const struct profile_facts *f)
{
	return f->period_ns == 0 ? 0 : 1e9 / (double)f->period_ns;
}
