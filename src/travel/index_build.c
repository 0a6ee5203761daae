/* travel/index_build.c - a segment is replayed, and what it touched is noted.
 *
 * Workers (record/workers.h) replay with loads and stores marked apart, and put
 * what they found into memory that all share: one after the other, each where
 * the last one ended.
 *
 * Code is known from what was translated for the segment. */
#include "travel/index_priv.h"

#include "record/sandbox.h"
#include "record/touched.h"
#include "record/workers.h"
#include "travel/events.h"
#include "travel/marks.h"
#include "travel/walker.h"

#include <emmintrin.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE = MARKS_LINE, N_PAGES = 1 << 20, SOME_PAGES = 256, RECENT = 256 };

/* Shared; what follows the head is results. */
struct results {
	_Atomic uint64_t used;
	struct {
		_Atomic uint64_t at; /* 0: none */
		uint32_t stored_len, raw_len;
	} of[];
};

struct builder {
	struct recording *r;   /* borrowed */
	const unsigned *which; /* borrowed: segments */
	unsigned n;
	struct results *results;
	size_t size;
	index_progress *progress;
	void *ctx;
	/* a worker's own */
	struct walker *walker;
	unsigned first; /* segment of the walker's thread */
	uint8_t *present;
	struct index_page *pages;
	size_t n_pages, room;
	struct index_head head;
	uint64_t *logged; /* instructions that were not translated */
	size_t n_logged, logged_room;
	uint32_t *code_at;	 /* by page: 1 + which of .pages; 0: none */
	int has_lost;		 /* some of what was executed */
	uint64_t recent[RECENT]; /* of them, each at a place of its own */
};

/* -- What was marked -- */

/* Marks are all ones, so their first bits will do. */
static int has_marks(const __m128i *line)
{
	__m128i a =
	    _mm_or_si128(_mm_loadu_si128(line), _mm_loadu_si128(line + 1));
	__m128i b =
	    _mm_or_si128(_mm_loadu_si128(line + 2), _mm_loadu_si128(line + 3));

	return _mm_movemask_epi8(_mm_or_si128(a, b)) != 0;
}

/* A bit for each word of a page that has a marked byte (`out` begins as
 * zeroes); is there any? */
static int words_of(const struct builder *b, const uint8_t *map, uint32_t first,
		    uint8_t *out)
{
	const __m128i none = _mm_setzero_si128();
	int any = 0;

	for (unsigned i = 0; i < INDEX_BITS; i++) {
		const __m128i *line = (const __m128i *)marks_line(
		    map, b->present, first + i * LINE);
		unsigned bits = 0;

		if (line == NULL || !has_marks(line))
			continue;
		for (unsigned k = 0; k < LINE / 16; k++) {
			__m128i marks = _mm_loadu_si128(line + k);
			unsigned set = (unsigned)_mm_movemask_epi8(
					   _mm_cmpeq_epi8(marks, none)) ^
				       0xffff;

			bits |= ((set & 0xff) != 0) << 2 * k;
			bits |= ((set >> 8) != 0) << (2 * k + 1);
		}
		out[i] = (uint8_t)bits;
		any |= bits != 0;
	}
	return any;
}

static int is_present(const struct builder *b, uint32_t first)
{
	return (b->present[first / INDEX_PAGE] |
		b->present[(uint32_t)(first + INDEX_PAGE - 1) / INDEX_PAGE]) &
	       1;
}

/* Of the pages from there on. Nearly all are not. */
static int some_present(const struct builder *b, uint32_t first)
{
	const uint32_t from = first / INDEX_PAGE;
	const uint32_t end = from + SOME_PAGES + 1;
	uint8_t any = 0;

	if (end > N_PAGES)
		return 1;
	for (uint32_t i = from; i < end; i++)
		any |= b->present[i];
	return any & 1;
}

static struct index_page *new_page(struct builder *b, uint32_t number,
				   unsigned kinds)
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
	*p = (struct index_page){.number = number, .kinds = kinds};
	return p;
}

static int take_pages(struct builder *b, const uint8_t *map,
		      struct hark_err *err)
{
	touched_pages(map, N_PAGES, b->present);
	for (uint32_t i = 0; i < N_PAGES; i++) {
		uint32_t at = i * INDEX_PAGE + OBSERVE_SKEW;
		struct index_page *p;
		int any = 0;

		if (i % SOME_PAGES == 0 && !some_present(b, at) &&
		    !some_present(b, at + OBSERVE_STORED)) {
			i += SOME_PAGES - 1;
			continue;
		}
		if (!is_present(b, at) && !is_present(b, at + OBSERVE_STORED))
			continue;
		p = new_page(b, i, INDEX_READ | INDEX_WRITTEN);
		if (p == NULL)
			return err_set(err, HARK_ENOMEM, ENOMEM,
				       "out of memory");
		if (is_present(b, at))
			any |= words_of(b, map, at, p->bits[0]);
		if (is_present(b, at + OBSERVE_STORED))
			any |=
			    words_of(b, map, at + OBSERVE_STORED, p->bits[1]);
		b->n_pages -= any == 0;
	}
	return 0;
}

/* -- What was executed -- */

static void mark_code(void *ctx, uint64_t start, uint64_t end)
{
	enum { WORDS = INDEX_PAGE / INDEX_WORD };
	struct builder *b = ctx;

	for (uint64_t at = start & ~(uint64_t)(INDEX_WORD - 1); at < end;
	     at += INDEX_WORD) {
		uint32_t word = (uint32_t)(at + WIRE_SHADOW_SKEW) / INDEX_WORD;
		uint32_t *code = &b->code_at[word / WORDS];

		if (*code == 0) {
			if (new_page(b, word / WORDS, INDEX_EXECUTED) == NULL) {
				b->has_lost = 1;
				return;
			}
			*code = (uint32_t)b->n_pages;
		}
		word %= WORDS;
		b->pages[*code - 1].bits[0][word / 8] |=
		    (uint8_t)(1u << word % 8);
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

/* Behind the pages of data. */
static void take_code(struct builder *b)
{
	size_t first = b->n_pages;

	b->head.knows_code = walker_translated(b->walker, mark_code, b) == 0;
	for (size_t i = 0; i < b->n_logged; i++)
		mark_code(b, b->logged[i], b->logged[i] + 1);
	for (size_t i = first; i < b->n_pages; i++)
		b->code_at[b->pages[i].number] = 0;
	sort_pages(b->pages + first, b->n_pages - first);
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

/* -- A segment -- */

/* The head of what b->pages has. */
static int gather(struct builder *b, struct hark_err *err)
{
	const uint8_t *map = walker_touched(b->walker);
	struct index_head *h = &b->head;

	b->n_pages = 0;
	if (take_pages(b, map, err) < 0)
		return -1;
	h->n_data = (uint32_t)b->n_pages;
	take_code(b);
	h->n_code = (uint32_t)(b->n_pages - h->n_data);
	return b->has_lost ? err_set(err, HARK_ENOMEM, ENOMEM, "out of memory")
			   : 0;
}

static int hand_in(struct builder *b, unsigned piece, struct hark_err *err)
{
	const struct index_head *h = &b->head;
	size_t len = sizeof *h + b->n_pages * sizeof *b->pages;
	uint8_t *raw = len <= INDEX_RAW_MAX ? malloc(len) : NULL, *stored;
	uint32_t n = 0;
	uint64_t at;

	if (raw == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	memcpy(raw, h, sizeof *h);
	memcpy(raw + sizeof *h, b->pages, b->n_pages * sizeof *b->pages);
	stored = index_pack(raw, (uint32_t)len, &n);
	free(raw);
	if (stored == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	at = atomic_fetch_add(&b->results->used, n);
	if (at + n <= b->size) {
		memcpy((uint8_t *)b->results + at, stored, n);
		b->results->of[piece].stored_len = n;
		b->results->of[piece].raw_len = (uint32_t)len;
		atomic_store(&b->results->of[piece].at, at);
	}
	free(stored);
	return 0;
}

/* The segments of its thread. */
static void thread_of(const struct builder *b, unsigned segment,
		      unsigned *first, unsigned *end)
{
	*first = *end = segment;
	while (*first > 0 && !recording_segment(b->r, *first - 1)->is_last)
		(*first)--;
	while (!recording_segment(b->r, *end)->is_last)
		(*end)++;
	(*end)++;
}

static int need_walker(struct builder *b, unsigned segment,
		       struct hark_err *err)
{
	unsigned first, end;

	thread_of(b, segment, &first, &end);
	if (b->walker != NULL && b->first == first)
		return 0;
	walker_free(b->walker);
	b->walker = NULL;
	b->first = first;
	if (walker_new(b->r, first, end, &b->walker, err) < 0)
		return -1;
	walker_on_record(b->walker, note_record, b);
	return walker_mark_apart(b->walker, err);
}

/* -- Workers -- */

static int begin(void *ctx, struct hark_err *err)
{
	struct builder *b = ctx;

	b->present = malloc(N_PAGES);
	b->code_at = calloc(N_PAGES, sizeof *b->code_at);
	if (b->present == NULL || b->code_at == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	sandbox_enter(SANDBOX_GIGABYTES);
	return 0;
}

static int run(void *ctx, unsigned piece, uint64_t *sum, struct hark_err *err)
{
	struct builder *b = ctx;
	struct index_head *h = &b->head;
	enum walker_stop stop = WALKER_THERE;

	*sum = 0;
	if (need_walker(b, b->which[piece], err) < 0 ||
	    walker_goto_segment(b->walker, b->which[piece], err) < 0 ||
	    walker_forget_code(b->walker, err) < 0)
		return -1;
	*h = (struct index_head){0};
	b->n_logged = 0;
	memset(b->recent, 0xff, sizeof b->recent);
	h->fs[0] = walker_state(b->walker)->fs_base;
	if (walker_run_segment(b->walker, &stop, err) < 0)
		return -1;
	h->fs[1] = walker_state(b->walker)->fs_base;
	if (!walker_marks_all(b->walker))
		return 0; /* it stays unknown */
	return gather(b, err) < 0 ? -1 : hand_in(b, piece, err);
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

static void take_results(const struct builder *b, struct index *x)
{
	for (unsigned i = 0; i < b->n; i++) {
		uint64_t at = atomic_load(&b->results->of[i].at);
		uint32_t len = b->results->of[i].stored_len;
		uint8_t *stored;

		if (at == 0 || at > b->size || len > b->size - at)
			continue;
		stored = malloc((size_t)len + 1);
		if (stored == NULL)
			return;
		memcpy(stored, (uint8_t *)b->results + at, len);
		if (index_put(x, b->which[i], stored, len,
			      b->results->of[i].raw_len) < 0)
			free(stored);
	}
}

static int build(struct builder *b, struct index *x, struct hark_err *err)
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
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	rc = workers_run(&plan, &result, err);
	free(group_of);
	if (rc < 0)
		return -1;
	take_results(b, x);
	if (result.good == 0 && result.n_texts > 0)
		return err_set(err, result.texts[0].code, 0, "%s",
			       result.texts[0].text);
	return 0;
}

int index_build(struct index *x, struct recording *r, unsigned first,
		unsigned end, index_progress *f, void *ctx,
		struct hark_err *err)
{
	const size_t size = 1u << 30;
	unsigned *which = calloc((size_t)(end - first) + 1, sizeof *which);
	struct builder b = {
	    .r = r, .which = which, .size = size, .progress = f, .ctx = ctx};
	int rc = 0;

	if (which == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	for (unsigned i = first; i < end; i++)
		if (!index_has(x, i))
			which[b.n++] = i;
	b.results = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (b.results == MAP_FAILED) {
		rc = err_set(err, HARK_ENOMEM, errno, "out of memory");
	} else {
		atomic_store(&b.results->used,
			     sizeof *b.results + b.n * sizeof b.results->of[0]);
		if (b.n > 0)
			rc = build(&b, x, err);
		munmap(b.results, size);
	}
	free(which);
	return rc;
}
