/* site/hooks_kept.c - a list of calls, and facts around each, on disk.
 *
 *	head | calls | spans | facts and shapes of each span
 *
 * A span belongs to a call, or to the address that is asked for besides.
 *
 * A file on disk is known by when it was changed last, in nanoseconds, and
 * where it is: to read all code, only to see that it is the same, would take as
 * long as to look for calls in it.
 *
 * H1  What is read is checked: spans ascend and are in the code, each call is
 *     in one, where an instruction starts that is a system call.
 * H2  A span reaches SPAN bytes to both sides, further than SURVEY_NEAR; what
 *     is beyond is not known, and nobody changes what is not known.
 * H3  Another hark may know more, or better: what one has kept only the same
 *     one reads, known by its own build-id. */
#include "site/hooks_kept.h"

#include "image/image.h"
#include "site/hooks.h"

#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define KIND "hooks2"

enum { SPAN = 256, NUMBERS = 1024, CALLS_MAX = 1 << 20 };
_Static_assert((int)SPAN > (int)SURVEY_NEAR, "H2");

struct head {
	uint64_t n_calls, n_spans;
	uint64_t unproved; /* of struct hooks_found */
};

struct span {
	uint64_t start, len;
};

static int no_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, 0, "out of memory");
}

void hooks_found_fini(struct hooks_found *h)
{
	survey_free(h->survey);
	free(h->at);
	*h = (struct hooks_found){0};
}

/* There are no calls in it. */
static void keep_nothing(struct hooks_found *h)
{
	uint64_t unproved = h->unproved;

	hooks_found_fini(h);
	h->unproved = unproved;
}

/* -- Whose answer -- */

static bool read_note(const struct dl_phdr_info *i, const ElfW(Phdr) * ph,
		      uint64_t *out)
{
	const uint8_t *at = (const uint8_t *)(i->dlpi_addr + ph->p_vaddr);
	const uint8_t *end = at + ph->p_memsz;
	ElfW(Nhdr) n;

	while ((size_t)(end - at) > sizeof n) {
		memcpy(&n, at, sizeof n);
		at += sizeof n;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    memcmp(at, "GNU", 4) == 0) {
			*out = XXH3_64bits(at + 4, n.n_descsz);
			return true;
		}
		at += ((n.n_namesz + 3) & ~3u) + ((n.n_descsz + 3) & ~3u);
	}
	return false;
}

/* The first one is the program. */
static int find_own_id(struct dl_phdr_info *i, size_t size, void *out)
{
	(void)size;
	for (unsigned k = 0; k < i->dlpi_phnum; k++)
		if (i->dlpi_phdr[k].p_type == PT_NOTE &&
		    read_note(i, &i->dlpi_phdr[k], out))
			return 1;
	return -1;
}

/* H3, the file, and what is asked for; false: nothing can be kept. */
static bool source_of(const struct image_file *f,
		      bool (*wanted)(uint64_t number), uint64_t also,
		      uint64_t *out)
{
	uint8_t asked[NUMBERS];
	uint64_t facts[3] = {also};

	if (!image_file_stamp(f, &facts[1]) ||
	    dl_iterate_phdr(find_own_id, &facts[2]) <= 0)
		return false;
	for (uint64_t i = 0; i < NUMBERS; i++)
		asked[i] = wanted(i);
	*out = XXH3_64bits_withSeed(asked, sizeof asked,
				    XXH3_64bits(facts, sizeof facts));
	return true;
}

/* Of little code it takes longer to ask the disk for the answer "none". */
static bool is_large(const struct image_file *f)
{
	enum { LARGE = 1 << 20 };
	uint64_t low, high = 0, sum = 0;

	while (sum < LARGE && image_file_next_code(f, high, &low, &high))
		sum += high - low;
	return sum >= LARGE;
}

/* -- Looking -- */

static int add_call(void *ctx, uint64_t addr)
{
	struct hooks_found *h = ctx;
	uint64_t *more = h->at;

	if ((h->n & (h->n - 1)) == 0) /* a power of two: it is full */
		more = reallocarray(h->at, h->n ? h->n * 2 : 1, sizeof *more);
	if (more == NULL)
		return -1;
	h->at = more;
	h->at[h->n++] = addr;
	return 0;
}

static int look(struct image_file *f, bool (*wanted)(uint64_t number),
		uint64_t also, struct hooks_found *out, struct hark_err *err)
{
	int rc = hooks_sought(f, wanted, err);

	if (rc <= 0)
		return rc;
	if (survey_read(f, &out->survey, err) < 0)
		return err->code == HARK_EINPUT ? 0 : -1;
	rc = hooks_survey(out->survey, f, wanted, also, err);
	if (rc >= 0)
		out->unproved = hooks_unproved(out->survey, wanted);
	if (rc > 0 && hooks_each(out->survey, wanted, add_call, out) != 0)
		rc = no_memory(err);
	if (rc > 0 && out->n == 0)
		rc = 0;
	return rc;
}

/* -- Saving -- */

/* Around an address; it joins the last one where they meet. */
static size_t add_span(const struct survey *s, uint64_t addr, struct span *out,
		       size_t n)
{
	uint64_t at = addr - s->start;
	uint64_t low = s->start + (at > SPAN ? at - SPAN : 0);
	uint64_t high = s->start + (s->len - at > SPAN ? at + SPAN : s->len);

	if (n > 0 && low <= out[n - 1].start + out[n - 1].len)
		out[n - 1].len = high - out[n - 1].start;
	else
		out[n++] = (struct span){low, high - low};
	return n;
}

/* Around all calls, and also; how many. */
static size_t make_spans(const struct hooks_found *h, uint64_t also,
			 struct span *out)
{
	bool is_due = also != 0 && also - h->survey->start < h->survey->len;
	size_t n = 0;

	for (size_t i = 0; i < h->n; i++) {
		if (is_due && also < h->at[i]) {
			n = add_span(h->survey, also, out, n);
			is_due = false;
		}
		n = add_span(h->survey, h->at[i], out, n);
	}
	return is_due ? add_span(h->survey, also, out, n) : n;
}

static void *put(void *to, const void *from, size_t len)
{
	if (len > 0)
		memcpy(to, from, len);
	return (char *)to + len;
}

static void save(struct image_file *f, uint64_t source,
		 const struct hooks_found *h, uint64_t also)
{
	struct span *span = calloc(h->n + 1, sizeof *span);
	struct head head = {.n_calls = h->n, .unproved = h->unproved};
	size_t len = sizeof head + h->n * sizeof *h->at;
	uint8_t *bytes, *to;

	if (span == NULL)
		return;
	head.n_spans = h->n > 0 ? make_spans(h, also, span) : 0;
	len += head.n_spans * sizeof *span;
	for (size_t i = 0; i < head.n_spans; i++)
		len += 2 * span[i].len;
	bytes = malloc(len);
	if (bytes != NULL) {
		to = put(bytes, &head, sizeof head);
		to = put(to, h->at, h->n * sizeof *h->at);
		to = put(to, span, head.n_spans * sizeof *span);
		for (size_t i = 0; i < head.n_spans; i++) {
			uint64_t at = span[i].start - h->survey->start;

			to = put(to, h->survey->facts + at, span[i].len);
			to = put(to, h->survey->shapes + at, span[i].len);
		}
		image_file_keep(f, KIND, source, bytes, len);
	}
	free(bytes);
	free(span);
}

/* -- Loading -- */

/* What is left to read. */
struct rest {
	const uint8_t *at; /* borrowed */
	size_t len;
};

static bool get(struct rest *r, void *out, uint64_t len)
{
	if (len > r->len)
		return false;
	put(out, r->at, len);
	r->at += len;
	r->len -= len;
	return true;
}

/* H1 */
static bool get_span(struct rest *r, const struct span *p, uint64_t from,
		     struct survey *s)
{
	uint64_t at = p->start - s->start;

	return p->start >= from && at < s->len && p->len <= s->len - at &&
	       get(r, s->facts + at, p->len) && get(r, s->shapes + at, p->len);
}

static bool get_spans(struct rest *r, uint64_t n, struct survey *s)
{
	struct rest data = *r;
	uint64_t from = s->start;
	struct span p;

	if (n > r->len / sizeof p)
		return false;
	data.at += n * sizeof p;
	data.len -= n * sizeof p;
	for (uint64_t i = 0; i < n; i++) {
		if (!get(r, &p, sizeof p) || !get_span(&data, &p, from, s))
			return false;
		from = p.start + p.len;
	}
	return data.len == 0;
}

/* H1 */
static bool are_calls(const struct hooks_found *h)
{
	struct x86_insn insn;

	for (size_t i = 0; i < h->n; i++)
		if ((i > 0 && h->at[i] <= h->at[i - 1]) ||
		    !survey_insn(h->survey, h->at[i], &insn) ||
		    insn.row->flow != X86_SYSCALL)
			return false;
	return true;
}

/* As look(), or -1 if it is not right. */
static int decode(struct rest r, struct image_file *f, struct hooks_found *out)
{
	struct head head;

	if (!get(&r, &head, sizeof head) || head.n_calls > CALLS_MAX)
		return -1;
	out->unproved = head.unproved;
	if (head.n_calls == 0)
		return head.n_spans == 0 && r.len == 0 ? 0 : -1;
	out->n = head.n_calls;
	out->at = calloc(out->n, sizeof *out->at);
	if (out->at == NULL || !get(&r, out->at, out->n * sizeof *out->at) ||
	    survey_read(f, &out->survey, NULL) < 0 ||
	    !get_spans(&r, head.n_spans, out->survey) || !are_calls(out))
		return -1;
	return 1;
}

static int load(struct image_file *f, uint64_t source, struct hooks_found *out)
{
	struct rest r;
	void *bytes = image_file_kept(f, KIND, source, &r.len);
	int rc;

	if (bytes == NULL)
		return -1;
	r.at = bytes;
	rc = decode(r, f, out);
	free(bytes);
	if (rc <= 0)
		keep_nothing(out);
	return rc;
}

int hooks_find(struct image_file *f, bool (*wanted)(uint64_t number),
	       uint64_t also, struct hooks_found *out, struct hark_err *err)
{
	struct hooks_found h = {0};
	uint64_t source = 0;
	bool is_kept = source_of(f, wanted, also, &source);
	int rc = is_kept ? load(f, source, &h) : -1;

	if (rc < 0) {
		h.unproved = 0;
		rc = look(f, wanted, also, &h, err);
		if (rc <= 0)
			keep_nothing(&h);
		if (is_kept && (rc > 0 || (rc == 0 && is_large(f))))
			save(f, source, &h, also);
	}
	if (rc >= 0)
		*out = h;
	return rc;
}
