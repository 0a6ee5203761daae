/* travel/index_build.c - a segment is replayed, and what it touched is noted.
 *
 * Workers (record/workers.h) replay with loads and stores marked apart, and put
 * what they found into memory that all share: one after the other, each where
 * the last one ended.
 *
 * Marks are read at the end of each section. A walker that goes to a moment
 * loads the memory that its section touches, and replays it, so sections are
 * short. (Sections of four times as long as reading the marks takes were tried:
 * an index of 69 MB instead of 88, and questions of 1.6 s instead of 0.4, for a
 * tree of a million nodes.) Code is known from what was translated for the
 * segment.
 *
 * Marks of loads and of stores share one map, 2 GiB from each other. Where a
 * process has memory 2 GiB from other memory, they cannot be told apart (H2 of
 * index_harvest.c): from then on two walkers go side by side, section by
 * section, one with its stores marked and one with its loads. */
#include "travel/index_harvest.h"

#include "record/sandbox.h"
#include "record/workers.h"
#include "travel/timeline.h"
#include "travel/walker.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
	RECENT = 256,
	SECTION_NS = 40000000,	  /* of this replay, which is a slow one */
	STEP_NS = SECTION_NS / 8, /* the clock is looked at so often */
	STEP_LEAST = 1 << 8,	  /* counts */
	TAIL = 1 << 12,		  /* counts of a thread's last section */
	RAW_MOST = 1 << 30,	  /* bytes that are not compressed yet */
};

/* Shared; what follows the head is results. */
struct results {
	_Atomic uint64_t used;
	struct {
		_Atomic uint64_t at; /* 0: none */
		uint64_t len;
		uint32_t stored_len, raw_len;
		uint64_t checksum;
	} of[];
};

struct builder {
	struct hark_recording *rec; /* borrowed */
	unsigned first_segment, n;
	uint64_t section_counts; /* HARK_SECTION_COUNTS; 0: by time */
	struct results *results;
	size_t size;
	struct index_entry *others; /* owned: of all segments */
	index_progress *progress;
	void *ctx;
	/* a worker's own */
	struct timeline *timeline; /* which knows what threads forget */
	struct walker *walker;
	struct walker *loads; /* of which loads are marked; NULL: of that */
	bool is_split;	      /* there are two */
	unsigned first;	      /* segment of the walkers' thread */
	struct harvest *harvest;
	struct index_bytes states, blob;
	uint64_t counts[INDEX_SECTIONS_MAX];
	unsigned n_sections;
	bool has_no_sections;	  /* no segment has */
	bool is_whole;		  /* this one is one section, without values */
	struct index_page *pages; /* of code */
	size_t n_pages, room;
	struct index_head head;
	uint64_t *logged; /* instructions that were not translated */
	size_t n_logged, logged_room;
	uint32_t *code_at;	 /* by page: 1 + which of .pages; 0: none */
	int has_lost;		 /* some of what was executed */
	uint64_t recent[RECENT]; /* of them, each at a place of its own */
};

static int out_of_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
}

/* -- What was executed -- */

static struct index_page *new_page(struct builder *b, uint32_t number)
{
	struct index_page *p;

	if (b->n_pages == b->room) {
		size_t room = b->room == 0 ? 4096 : 2 * b->room;
		struct index_page *more =
		    reallocarray(b->pages, room, sizeof *more);

		if (more == NULL)
			return NULL;
		b->pages = more;
		b->room = room;
	}
	p = &b->pages[b->n_pages++];
	*p = (struct index_page){.number = number};
	return p;
}

static void mark_code(void *ctx, uint64_t start, uint64_t end)
{
	enum { WORDS = INDEX_PAGE / INDEX_WORD };
	struct builder *b = ctx;

	for (uint64_t at = start & ~(uint64_t)(INDEX_WORD - 1); at < end;
	     at += INDEX_WORD) {
		uint32_t word = (uint32_t)(at + WIRE_SHADOW_SKEW) / INDEX_WORD;
		uint32_t *code = &b->code_at[word / WORDS];

		if (*code == 0) {
			if (new_page(b, word / WORDS) == NULL) {
				b->has_lost = 1;
				return;
			}
			*code = (uint32_t)b->n_pages;
		}
		word %= WORDS;
		b->pages[*code - 1].bits[word / 8] |= (uint8_t)(1u << word % 8);
	}
}

/* By their numbers. (qsort would ask how much memory there is, which is more
 * than the sandbox allows.) */
static void sort_pages(struct index_page *pages, size_t n)
{
	size_t gap = 1;

	while (gap < n / 3)
		gap = 3 * gap + 1;
	for (; gap > 0; gap /= 3)
		for (size_t i = gap; i < n; i++) {
			struct index_page p = pages[i];
			size_t at = i;

			for (; at >= gap && pages[at - gap].number > p.number;
			     at -= gap)
				pages[at] = pages[at - gap];
			pages[at] = p;
		}
}

static void take_code(struct builder *b)
{
	b->n_pages = 0;
	if (walker_translated(b->walker, mark_code, b) == 0)
		b->head.flags |= INDEX_KNOWS_CODE;
	for (size_t i = 0; i < b->n_logged; i++)
		mark_code(b, b->logged[i], b->logged[i] + 1);
	for (size_t i = 0; i < b->n_pages; i++)
		b->code_at[b->pages[i].number] = 0;
	sort_pages(b->pages, b->n_pages);
}

/* -- What the log has -- */

static void note_number(struct index_head *h, const struct record_event *e)
{
	uint32_t number;
	int32_t signal;

	if (e->type == WIRE_REC_CALL) {
		number = (uint32_t)e->call.number % INDEX_CALLS;
		h->calls[number / 8] |= (uint8_t)(1u << number % 8);
	}
	if (e->type == WIRE_REC_STATE && e->siginfo != NULL) {
		memcpy(&signal, e->siginfo, sizeof signal);
		h->signals |= signal > 0 && signal <= 64 ? 1ull << (signal - 1)
							 : UINT64_MAX;
	}
}

/* Instructions that are not replayed, for the log has what became of them. A
 * few of them are executed again and again. */
static void note_logged(struct builder *b, uint64_t pc)
{
	uint64_t *recent = &b->recent[pc % RECENT];

	if (*recent == pc)
		return;
	*recent = pc;
	if (b->n_logged == b->logged_room) {
		size_t room = b->logged_room == 0 ? 1024 : 2 * b->logged_room;
		uint64_t *more = reallocarray(b->logged, room, sizeof *more);

		if (more == NULL) {
			b->has_lost = 1;
			return;
		}
		b->logged = more;
		b->logged_room = room;
	}
	b->logged[b->n_logged++] = pc;
}

static void note_record(void *ctx, const struct record_event *e)
{
	struct builder *b = ctx;

	if (e->type == WIRE_REC_CALL || e->type == WIRE_REC_RESULT ||
	    e->type == WIRE_REC_STATE)
		note_logged(b, e->pc);
	note_number(&b->head, e);
}

static void note_fill(void *ctx, uint32_t index, uint64_t len)
{
	struct builder *b = ctx;

	harvest_fill(b->harvest, index, len);
}

static void note_forgotten(void *ctx, uint32_t index, uint64_t len)
{
	struct builder *b = ctx;
	unsigned which = HARVEST_STORES | (b->is_split ? 0 : HARVEST_LOADS);

	b->has_lost |= harvest_forget(b->harvest, which, index, len) < 0;
}

static void note_forgotten_loads(void *ctx, uint32_t index, uint64_t len)
{
	struct builder *b = ctx;

	b->has_lost |=
	    harvest_forget(b->harvest, HARVEST_LOADS, index, len) < 0;
}

/* -- How large it may be -- */

static struct lane *lane_of(struct timeline *t, unsigned segment)
{
	for (unsigned i = 0; i < t->n_lanes; i++)
		if (t->lanes[i].first <= segment && segment < t->lanes[i].end)
			return &t->lanes[i];
	return NULL;
}

/* Sections are longer where the segment's part grows faster than the replay
 * gets on, so that all of it finds room.
 *
 * A thread's last section is short: most questions are asked at the end, and
 * to go there is to load what its section touches, and to replay it. */
struct budget {
	uint64_t bytes;	     /* of the segment's part, at its end */
	uint64_t first, end; /* counts of the segment */
	uint64_t tail;	     /* where the last section begins; 0: anywhere */
};

/* Bytes of a segment's part that are not asked about: a short recording of a
 * program with much memory has few segments, and needs all of it. */
static uint64_t free_bytes(const struct builder *b)
{
	enum { LEAST = 1 << 20, OF_ALL = 64 << 20 };
	const uint64_t share = OF_ALL / b->n;

	return share > LEAST ? share : LEAST;
}

static uint64_t process_bytes(const struct builder *b)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < b->n; i++)
		sum +=
		    recording_segment(b->rec->r, b->first_segment + i)->bytes;
	return sum;
}

/* In proportion to what the recording has of the segment. */
static int find_budget(struct builder *b, unsigned segment, struct budget *out,
		       struct hark_err *err)
{
	enum { TIMES = 8, MOST = 512 << 20 };
	struct recording *r = b->rec->r;
	struct lane *l = lane_of(b->timeline, segment);
	const uint64_t bytes = recording_segment(r, segment)->bytes;
	const uint64_t all = process_bytes(b);
	const double times =
	    (double)all * TIMES > MOST ? MOST / (double)all : TIMES;

	out->bytes = free_bytes(b) + (uint64_t)((double)bytes * times);
	out->first = recording_segment(r, segment)->count;
	out->tail = 0;
	if (segment + 1 < l->end) {
		out->end = recording_segment(r, segment + 1)->count;
		return 0;
	}
	if (travel_last_count(b->timeline, l, &out->end, err) < 0)
		return -1;
	if (out->end - out->first > 2ull * TAIL)
		out->tail = out->end - TAIL;
	return 0;
}

/* Blocks take some quarter of what they are before they are compressed. */
static uint64_t size_so_far(const struct builder *b)
{
	enum { COMPRESSION = 4 };

	return b->blob.len + harvest_size(b->harvest) / COMPRESSION;
}

static bool is_ahead(const struct builder *b, const struct budget *budget)
{
	const uint64_t done = walker_count(b->walker) - budget->first;
	const uint64_t all = budget->end - budget->first;
	const double part = all > 0 ? (double)done / (double)all : 1;
	const double unasked = (double)free_bytes(b);

	return (double)size_so_far(b) >
	       unasked + part * ((double)budget->bytes - unasked);
}

/* -- Sections -- */

static int64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Is it time for the last section? */
static bool is_tail(const struct builder *b, const struct budget *budget,
		    uint64_t section)
{
	return section < budget->tail &&
	       walker_count(b->walker) >= budget->tail;
}

/* On for some time, to where a section may begin. 1: the segment ends. */
static int run_section(struct builder *b, const struct budget *budget,
		       uint64_t *step, struct hark_err *err)
{
	const uint64_t first = walker_count(b->walker);
	int64_t began = cpu_ns(), before = began, now;

	if (b->section_counts > 0)
		*step = b->section_counts;

	do {
		uint64_t at = walker_count(b->walker), to = at + *step;
		enum walker_stop stop = WALKER_THERE;

		if (at < budget->tail && to > budget->tail)
			to = budget->tail;

		if (walker_run_part(b->walker, to, &stop, err) < 0)
			return -1;
		if (stop != WALKER_THERE || walker_count(b->walker) < to)
			return 1;
		now = cpu_ns();
		if ((b->section_counts > 0 || is_tail(b, budget, first)) &&
		    !b->is_whole && b->n_sections + 1 < INDEX_SECTIONS_MAX &&
		    walker_is_at_first(b->walker))
			return 0;
		if (now - before < STEP_NS / 2)
			*step *= 2;
		else if (now - before > STEP_NS * 2L && *step > STEP_LEAST)
			*step /= 2;
		before = now;
	} while (b->is_whole || now - began < SECTION_NS ||
		 is_ahead(b, budget) ||
		 b->n_sections + 1 >= INDEX_SECTIONS_MAX ||
		 !walker_is_at_first(b->walker));
	return 0;
}

/* The second walker, to where the first is: `to` is its count, or the segment
 * has ended. */
static int run_loads(struct builder *b, uint64_t to, struct hark_err *err)
{
	enum walker_stop stop;

	return b->loads == NULL ? 0 : walker_run_part(b->loads, to, &stop, err);
}

static int note_state(struct builder *b, struct hark_err *err)
{
	struct index_state s = {0};

	walker_get_state(b->walker, &s);
	if (index_add_bytes(&b->states, &s,
			    offsetof(struct index_state, xstate)) < 0 ||
	    index_add_bytes(&b->states, s.xstate, s.xstate_len) < 0)
		return out_of_memory(err);
	return 0;
}

static int join_sections(struct builder *b, struct hark_err *err)
{
	b->is_whole = true;
	b->blob.len = 0;
	return harvest_join_sections(b->harvest) < 0 ? out_of_memory(err) : 0;
}

/* One section may be more than was expected. */
static bool is_too_much(const struct builder *b, const struct budget *budget)
{
	return b->blob.len > 2 * budget->bytes ||
	       harvest_size(b->harvest) > RAW_MOST;
}

/* 1: loads and stores are to be marked in two maps, and all of it done anew. */
static int run_sections(struct builder *b, unsigned segment,
			struct hark_err *err)
{
	uint64_t step = STEP_LEAST;
	struct budget budget;
	int rc;

	b->is_whole = b->has_no_sections;
	b->states.len = b->blob.len = 0;
	b->n_sections = 0;
	harvest_begin(b->harvest);
	if (find_budget(b, segment, &budget, err) < 0 ||
	    (b->is_whole && join_sections(b, err) < 0))
		return -1;
	do {
		b->counts[b->n_sections] = walker_count(b->walker);
		if (b->n_sections > 0 && note_state(b, err) < 0)
			return -1;
		rc = run_section(b, &budget, &step, err);
		if (rc < 0 ||
		    run_loads(b, rc == 0 ? walker_count(b->walker) : UINT64_MAX,
			      err) < 0 ||
		    harvest_section(b->harvest, b->n_sections, err) < 0)
			return -1;
		if (!b->is_whole && !harvest_has_values(b->harvest))
			return 1;
		b->n_sections++;
		if (!b->is_whole && is_too_much(b, &budget) &&
		    join_sections(b, err) < 0)
			return -1;
	} while (rc == 0);
	return 0;
}

/* -- A segment -- */

/* The directory's tables that have a row for each cluster. */
struct tables {
	struct index_bytes clusters, parts, presence;
};

static int add_cluster(struct builder *b, uint32_t number,
		       struct tables *tables)
{
	const struct harvest_cluster *h = harvest_cluster(b->harvest, number);
	const struct index_cluster c = {.number = number,
					.pages = h->pages,
					.first_part = b->head.n_parts,
					.n_parts = h->n_parts,
					.summary = h->summary};

	if (index_add_bytes(&tables->clusters, &c, sizeof c) < 0 ||
	    index_add_bytes(&tables->parts, h->parts,
			    h->n_parts * sizeof *h->parts) < 0 ||
	    (!b->is_whole &&
	     index_add_bytes(&tables->presence, h->presence,
			     index_presence_len(b->n_sections)) < 0))
		return -1;
	b->head.n_clusters++;
	b->head.n_parts += h->n_parts;
	return 0;
}

static int put_directory(struct builder *b, const struct tables *t,
			 struct index_block *out)
{
	struct index_bytes d = {0};
	int rc =
	    index_add_bytes(&d, &b->head, sizeof b->head) < 0 ||
		    index_add_bytes(&d, b->counts,
				    b->head.n_sections * sizeof b->counts[0]) <
			0 ||
		    index_add_bytes(&d, t->clusters.bytes, t->clusters.len) <
			0 ||
		    index_add_bytes(&d, t->parts.bytes, t->parts.len) < 0 ||
		    index_add_bytes(&d, b->pages,
				    b->n_pages * sizeof *b->pages) < 0 ||
		    index_put_block(&b->blob, &d, INDEX_LEVEL, out) < 0
		? -1
		: 0;

	free(d.bytes);
	return rc;
}

/* The clusters' blocks are in the blob; the directory comes last. */
static int put_together(struct builder *b, struct index_block *directory)
{
	struct index_head *h = &b->head;
	struct tables t = {0};
	int rc;

	if (b->is_whole) {
		b->states.len = 0;
		b->n_sections = 1;
	} else {
		h->flags |= INDEX_HAS_VALUES;
	}
	rc = harvest_end(b->harvest, b->n_sections);
	h->n_sections = b->n_sections;
	h->n_code = (uint32_t)b->n_pages;
	for (uint32_t i = 0; rc == 0 && i < INDEX_CLUSTERS; i++)
		if (harvest_cluster(b->harvest, i) != NULL)
			rc = add_cluster(b, i, &t);
	if (rc == 0)
		rc = index_put_block(&b->blob, &b->states, INDEX_LEVEL,
				     &h->states) < 0 ||
			     index_put_block(&b->blob, &t.presence, INDEX_LEVEL,
					     &h->presence) < 0 ||
			     put_directory(b, &t, directory) < 0
			 ? -1
			 : 0;
	free(t.clusters.bytes);
	free(t.parts.bytes);
	free(t.presence.bytes);
	return rc;
}

static int hand_in(struct builder *b, unsigned piece, struct hark_err *err)
{
	struct index_block directory = {0};
	uint64_t at;

	take_code(b);
	if (b->has_lost || put_together(b, &directory) < 0)
		return out_of_memory(err);
	at = atomic_fetch_add(&b->results->used, b->blob.len);
	if (at + b->blob.len > b->size)
		return 0; /* it stays unknown */
	memcpy((uint8_t *)b->results + at, b->blob.bytes, b->blob.len);
	b->results->of[piece].len = b->blob.len;
	b->results->of[piece].stored_len = directory.stored_len;
	b->results->of[piece].raw_len = directory.raw_len;
	b->results->of[piece].checksum = directory.checksum;
	atomic_store(&b->results->of[piece].at, at);
	return 0;
}

/* Of what was touched not all was marked. */
static void make_blind(struct builder *b)
{
	harvest_begin(b->harvest);
	b->blob.len = 0;
	b->is_whole = true;
	b->head.flags |= INDEX_IS_BLIND;
}

/* The segments of its thread. */
static void thread_of(const struct builder *b, unsigned segment,
		      unsigned *first, unsigned *end)
{
	struct recording *r = b->rec->r;

	*first = *end = segment;
	while (*first > 0 && !recording_segment(r, *first - 1)->is_last)
		(*first)--;
	while (!recording_segment(r, *end)->is_last)
		(*end)++;
	(*end)++;
}

static void drop_walkers(struct builder *b)
{
	walker_free(b->walker);
	walker_free(b->loads);
	harvest_free(b->harvest);
	b->walker = b->loads = NULL;
	b->harvest = NULL;
}

static int make_walker(struct builder *b, struct lane *l, unsigned first,
		       unsigned end, struct hark_err *err)
{
	if (walker_new(b->rec->r, first, end, &b->walker, err) < 0)
		return -1;
	walker_on_record(b->walker, note_record, b);
	walker_on_memory(b->walker, note_fill, note_forgotten, b);
	travel_forget_along(b->timeline, l, b->walker);
	return walker_mark_for_index(
	    b->walker, b->is_split ? WALKER_STORES : WALKER_BOTH, err);
}

static int make_loads_walker(struct builder *b, struct lane *l, unsigned first,
			     unsigned end, struct hark_err *err)
{
	if (walker_new(b->rec->r, first, end, &b->loads, err) < 0)
		return -1;
	walker_on_memory(b->loads, NULL, note_forgotten_loads, b);
	travel_forget_along(b->timeline, l, b->loads);
	return walker_mark_for_index(b->loads, WALKER_LOADS, err);
}

static int need_walkers(struct builder *b, unsigned segment,
			struct hark_err *err)
{
	unsigned first, end;
	struct lane *l = lane_of(b->timeline, segment);

	thread_of(b, segment, &first, &end);
	if (b->walker != NULL && b->first == first)
		return 0;
	drop_walkers(b);
	b->first = first;
	if (l == NULL)
		return err_set(err, HARK_EINPUT, 0, "a segment of no thread");
	if (make_walker(b, l, first, end, err) < 0 ||
	    (b->is_split && make_loads_walker(b, l, first, end, err) < 0))
		return -1;
	b->harvest = harvest_new(
	    walker_marks(b->is_split ? b->loads : b->walker),
	    walker_marks(b->walker), walker_shadow(b->walker), &b->blob);
	return b->harvest == NULL ? out_of_memory(err) : 0;
}

/* -- Workers -- */

static int begin(void *ctx, struct hark_err *err)
{
	struct builder *b = ctx;

	b->code_at = calloc(INDEX_PAGES, sizeof *b->code_at);
	if (b->code_at == NULL)
		return out_of_memory(err);
	sandbox_enter(2 * SANDBOX_GIGABYTES); /* for two walkers */
	return travel_open_bare(
	    b->rec, recording_segment(b->rec->r, b->first_segment)->process,
	    &b->timeline, err);
}

static int run_segment(struct builder *b, unsigned segment,
		       struct hark_err *err)
{
	struct index_head *h = &b->head;
	int rc;

	if (need_walkers(b, segment, err) < 0 ||
	    walker_goto_segment(b->walker, segment, err) < 0 ||
	    walker_forget_code(b->walker, err) < 0 ||
	    (b->is_split && walker_goto_segment(b->loads, segment, err) < 0))
		return -1;
	*h = (struct index_head){0};
	b->n_logged = 0;
	b->has_lost = 0;
	memset(b->recent, 0xff, sizeof b->recent);
	h->fs[0] = walker_state(b->walker)->fs_base;
	rc = run_sections(b, segment, err);
	h->fs[1] = walker_state(b->walker)->fs_base;
	return rc;
}

/* Once it is known that marks cannot be told apart, all segments of the process
 * are replayed twice. */
static int run_split(struct builder *b, unsigned segment, struct hark_err *err)
{
	drop_walkers(b);
	b->is_split = true;
	return run_segment(b, segment, err);
}

static int run(void *ctx, unsigned piece, uint64_t *sum, struct hark_err *err)
{
	struct builder *b = ctx;
	unsigned segment = b->first_segment + piece;
	int rc;

	*sum = 0;
	rc = run_segment(b, segment, err);
	if (rc > 0)
		rc = run_split(b, segment, err);
	if (rc < 0)
		return -1;
	if (!walker_marks_all(b->walker))
		make_blind(b);
	return hand_in(b, piece, err);
}

static int progress(void *ctx, unsigned done)
{
	struct builder *b = ctx;

	return b->progress != NULL ? b->progress(b->ctx, done, b->n) : 0;
}

/* -- In the caller -- */

/* Two that take turns on one processor would lose what is in its caches. */
static unsigned cpus_to_use(void)
{
	cpu_set_t may;

	if (sched_getaffinity(0, sizeof may, &may) < 0 || CPU_COUNT(&may) < 1)
		return 1;
	return (unsigned)CPU_COUNT(&may);
}

/* For tests, which have no time for long recordings: HARK_SECTION_COUNTS is a
 * number, or `none`: every segment is one section, without values. */
static uint64_t section_counts(bool *has_none)
{
	const char *text = getenv("HARK_SECTION_COUNTS");

	*has_none = text != NULL && strcmp(text, "none") == 0;
	return text != NULL ? strtoull(text, NULL, 10) : 0;
}

/* What is known of other processes. */
static void keep_others(struct builder *b, const struct index *x)
{
	for (unsigned i = 0; i < x->n; i++) {
		const struct index_entry *e = &x->entries[i];
		uint64_t at;

		if (!index_has(x, i) || i - b->first_segment < b->n)
			continue;
		at = atomic_fetch_add(&b->results->used, e->blob_len);
		if (at + e->blob_len > b->size)
			return;
		if (index_source_read(&x->source, e->offset,
				      (uint8_t *)b->results + at,
				      e->blob_len) == 0) {
			b->others[i] = *e;
			b->others[i].offset = at;
			b->others[i].raw = NULL;
		}
	}
}

/* Blobs stay where they are; workers are not believed. */
static void take_results(struct builder *b, struct index *x)
{
	for (unsigned i = 0; i < b->n; i++) {
		uint64_t at = atomic_load(&b->results->of[i].at);
		struct index_entry e = {.blob_len = b->results->of[i].len,
					.stored_len =
					    b->results->of[i].stored_len,
					.raw_len = b->results->of[i].raw_len,
					.checksum = b->results->of[i].checksum,
					.offset = at};

		if (at > 0 && at <= b->size && e.blob_len <= b->size - at)
			index_put(x, b->first_segment + i, &e);
	}
	for (unsigned i = 0; i < x->n; i++)
		if (b->others[i].blob_len > 0)
			index_put(x, i, &b->others[i]);
}

static int build(struct builder *b, struct hark_err *err)
{
	uint32_t *group_of = calloc((size_t)b->n + 1, sizeof *group_of);
	struct workers_plan plan = {.jobs = cpus_to_use(),
				    .n = b->n,
				    .group_of = group_of,
				    .ctx = b,
				    .begin = begin,
				    .run = run,
				    .progress = progress};
	struct workers_result result;
	int rc;

	if (group_of == NULL)
		return out_of_memory(err);
	rc = workers_run(&plan, &result, err);
	free(group_of);
	if (rc < 0)
		return -1;
	if (result.good == 0 && result.n_texts > 0)
		return err_set(err, result.texts[0].code, 0, "%s",
			       result.texts[0].text);
	return 0;
}

int index_build(struct index *x, struct hark_recording *rec, unsigned first,
		unsigned end, index_progress *f, void *ctx,
		struct hark_err *err)
{
	const size_t size = 1ull << 31;
	struct builder *b = calloc(1, sizeof *b);
	struct index_entry *others = calloc((size_t)x->n + 1, sizeof *others);
	int rc = -1;

	if (b == NULL || others == NULL) {
		free(b);
		free(others);
		return out_of_memory(err);
	}
	*b = (struct builder){.rec = rec,
			      .first_segment = first,
			      .n = end - first,
			      .size = size,
			      .others = others,
			      .progress = f,
			      .ctx = ctx};
	b->section_counts = section_counts(&b->has_no_sections);
	b->results = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (b->results == MAP_FAILED) {
		free(b);
		free(others);
		return out_of_memory(err);
	}
	atomic_store(&b->results->used,
		     sizeof *b->results + b->n * sizeof b->results->of[0]);
	rc = build(b, err);
	if (rc == 0) {
		keep_others(b, x);
		index_take_source(
		    x, &(struct index_source){(uint8_t *)b->results, size, -1});
		take_results(b, x);
	} else {
		munmap(b->results, size);
	}
	free(others);
	free(b);
	return rc;
}
