/* record/code.c - which bytes of code a process had, and when.
 *
 * Pages of 4 KiB hang in a hash table. Each holds its bytes as of some epoch,
 * which of them are known at all (that is the same in every epoch), and the
 * patches that made them, in the order of their serial numbers:
 *
 *	patches	 1  3  7 | 12  20	the first n_applied have a serial
 *		n_applied^		number up to the epoch
 *
 * C1  Bytes under an applied patch are those of the last such patch.
 * C2  Other known bytes are those of the first patch that covers them.
 *
 * So going forward applies the next patches, one by one; going back builds
 * the page anew: all patches backwards (C2), then the first ones forwards
 * (C1). Most code never changes: its pages are not even looked at.
 *
 * A patch that says what is known already is forgotten at once: superblocks
 * overlap, and each brings its own bytes. */
#include "record/code.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

struct patch {
	uint64_t serial;
	const uint8_t *bytes; /* owned: of the code's arena */
	uint16_t at, len;     /* within the page */
};

struct page {
	uint64_t number; /* address / PAGE */
	struct {
		VEC(struct patch);
	} patches; /* owned */
	size_t n_applied;
	int changes; /* some patch replaces what was known */
	uint64_t known[PAGE / 64];
	uint8_t bytes[PAGE];
};

/* Of [start, end), when the epoch passes serial. */
struct change {
	uint64_t serial, start, end;
};

/* Patches' bytes lie in blocks that never move. */
struct block {
	struct block *older; /* owned */
	size_t used, size;
	uint8_t bytes[];
};

struct code {
	struct heap heap; /* counts what it gives */
	size_t memory, memory_max;
	struct page **table; /* owned; NULL: free */
	size_t n_pages, table_size;
	struct page *last; /* where the last fetch was */
	struct {
		VEC(struct change);
	} changes; /* owned; by serial */
	struct block *newest;
	uint64_t serial; /* the last one added */
	uint64_t epoch;
};

/* -- Memory, bounded -- */

static void *resize(void *ctx, void *old, size_t old_len, size_t len)
{
	struct code *c = ctx;
	void *block;

	if (len == 0) {
		free(old);
		c->memory -= old_len;
		return NULL;
	}
	if (len > c->memory_max || c->memory - old_len > c->memory_max - len)
		return NULL;
	block = realloc(old, len);
	if (block != NULL)
		c->memory += len - old_len;
	return block;
}

static int no_memory(const struct code *c, struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, ENOMEM,
		       "no memory for the code of a process (%zu bytes so far)",
		       c->memory);
}

static const uint8_t *keep(struct code *c, const uint8_t *bytes, size_t len)
{
	struct block *b = c->newest;
	uint8_t *to;

	if (b == NULL || b->size - b->used < len) {
		size_t size = len > 65536 / 4 ? len : 65536;

		b = heap_take(&c->heap, sizeof *b + size);
		if (b == NULL)
			return NULL;
		*b = (struct block){.older = c->newest, .size = size};
		c->newest = b;
	}
	to = b->bytes + b->used;
	b->used += len;
	memcpy(to, bytes, len);
	return to;
}

/* -- Life -- */

struct code *code_new(size_t memory_max)
{
	struct code *c = calloc(1, sizeof *c);

	if (c == NULL)
		return NULL;
	c->heap = (struct heap){.resize = resize, .ctx = c};
	c->memory_max = memory_max;
	c->epoch = UINT64_MAX;
	return c;
}

void code_free(struct code *c)
{
	struct block *older;

	if (c == NULL)
		return;
	for (size_t i = 0; i < c->table_size; i++) {
		if (c->table[i] == NULL)
			continue;
		vec_free(&c->table[i]->patches, &c->heap);
		heap_give(&c->heap, c->table[i], sizeof **c->table);
	}
	heap_give(&c->heap, c->table, c->table_size * sizeof(struct page *));
	for (struct block *b = c->newest; b != NULL; b = older) {
		older = b->older;
		heap_give(&c->heap, b, sizeof *b + b->size);
	}
	vec_free(&c->changes, &c->heap);
	free(c);
}

/* -- Pages by number -- */

/* Where it is, or where it would be. */
static size_t slot_of(struct page *const *table, size_t size, uint64_t number)
{
	size_t at = (size_t)(number * 0x9e3779b97f4a7c15 >> 20) & (size - 1);

	while (table[at] != NULL && table[at]->number != number)
		at = (at + 1) & (size - 1);
	return at;
}

static int grow_table(struct code *c)
{
	size_t size = c->table_size == 0 ? 256 : 2 * c->table_size;
	struct page **table = heap_take(&c->heap, size * sizeof(struct page *));

	if (table == NULL)
		return -1;
	memset(table, 0, size * sizeof(struct page *));
	for (size_t i = 0; i < c->table_size; i++)
		if (c->table[i] != NULL)
			table[slot_of(table, size, c->table[i]->number)] =
			    c->table[i];
	heap_give(&c->heap, c->table, c->table_size * sizeof(struct page *));
	c->table = table;
	c->table_size = size;
	return 0;
}

static struct page *find_page(struct code *c, uint64_t number)
{
	if (c->last != NULL && c->last->number == number)
		return c->last;
	if (c->table_size == 0)
		return NULL;
	return c->table[slot_of(c->table, c->table_size, number)];
}

/* Finds or makes; NULL: no memory. */
static struct page *get_page(struct code *c, uint64_t number)
{
	struct page *p = find_page(c, number);

	if (p != NULL)
		return p;
	if (c->n_pages >= c->table_size / 2 && grow_table(c) < 0)
		return NULL;
	p = heap_take(&c->heap, sizeof *p);
	if (p == NULL)
		return NULL;
	memset(p, 0, offsetof(struct page, bytes));
	p->number = number;
	c->table[slot_of(c->table, c->table_size, number)] = p;
	c->n_pages++;
	return p;
}

/* -- A page in time -- */

static void apply(struct page *p, size_t i)
{
	const struct patch *patch = &p->patches.at[i];

	memcpy(p->bytes + patch->at, patch->bytes, patch->len);
}

/* How many patches have a serial number up to the epoch. */
static size_t n_up_to(const struct page *p, uint64_t epoch)
{
	size_t low = 0, high = p->patches.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->patches.at[middle].serial <= epoch)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void bring_to(struct page *p, uint64_t epoch)
{
	if (p->n_applied > 0 &&
	    p->patches.at[p->n_applied - 1].serial > epoch) {
		size_t n = n_up_to(p, epoch);

		for (size_t i = p->patches.n; i-- > n;)
			apply(p, i);
		for (size_t i = 0; i < n; i++)
			apply(p, i);
		p->n_applied = n;
	}
	while (p->n_applied < p->patches.n &&
	       p->patches.at[p->n_applied].serial <= epoch)
		apply(p, p->n_applied++);
}

static int is_known(const struct page *p, unsigned at)
{
	return (p->known[at / 64] >> (at % 64) & 1) != 0;
}

/* -- Adding -- */

struct news {
	unsigned fresh; /* bytes not known before */
	unsigned first,
	    end; /* where known ones change; first == end: nowhere */
};

static struct news compare(const struct page *p, unsigned at,
			   const uint8_t *bytes, unsigned len)
{
	struct news n = {0};

	for (unsigned i = 0; i < len; i++) {
		if (!is_known(p, at + i)) {
			n.fresh++;
			continue;
		}
		if (p->bytes[at + i] == bytes[i])
			continue;
		if (n.first == n.end)
			n.first = at + i;
		n.end = at + i + 1;
	}
	return n;
}

static int add_to_page(struct code *c, struct page *p, uint64_t serial,
		       unsigned at, const uint8_t *bytes, unsigned len)
{
	struct news news;

	bring_to(p, UINT64_MAX);
	news = compare(p, at, bytes, len);
	if (news.fresh == 0 && news.first == news.end)
		return 0;
	bytes = keep(c, bytes, len);
	if (bytes == NULL || vec_fit(&p->patches, 1, &c->heap) < 0 ||
	    vec_fit(&c->changes, 1, &c->heap) < 0)
		return -1;
	p->patches.at[p->patches.n++] =
	    (struct patch){serial, bytes, (uint16_t)at, (uint16_t)len};
	if (news.first != news.end) {
		uint64_t start = p->number * PAGE;

		c->changes.at[c->changes.n++] = (struct change){
		    serial, start + news.first, start + news.end};
		p->changes = 1;
	}
	for (unsigned i = at; i < at + len; i++)
		p->known[i / 64] |= 1ull << i % 64;
	bring_to(p, UINT64_MAX);
	return 0;
}

int code_add(struct code *c, uint64_t serial, uint64_t address,
	     const uint8_t *bytes, uint32_t len, struct hark_err *err)
{
	if (serial < c->serial)
		return err_set(
		    err, HARK_EINPUT, 0, "code %llu comes after code %llu",
		    (unsigned long long)serial, (unsigned long long)c->serial);
	c->serial = serial;
	while (len > 0) {
		unsigned at = (unsigned)(address % PAGE);
		unsigned part = len < PAGE - at ? len : PAGE - at;
		struct page *p = get_page(c, address / PAGE);

		if (p == NULL || add_to_page(c, p, serial, at, bytes, part) < 0)
			return no_memory(c, err);
		address += part;
		bytes += part;
		len -= part;
	}
	return 0;
}

/* -- Reading -- */

/* The first change with a serial number above this. */
static size_t first_above(const struct code *c, uint64_t serial)
{
	size_t low = 0, high = c->changes.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->changes.at[middle].serial <= serial)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void code_set_epoch(struct code *c, uint64_t epoch, code_changed *changed,
		    void *ctx)
{
	uint64_t low = epoch < c->epoch ? epoch : c->epoch;
	uint64_t high = epoch < c->epoch ? c->epoch : epoch;

	c->epoch = epoch;
	if (changed == NULL)
		return;
	for (size_t i = first_above(c, low);
	     i < c->changes.n && c->changes.at[i].serial <= high; i++)
		changed(ctx, c->changes.at[i].start, c->changes.at[i].end);
}

uint64_t code_epoch(const struct code *c)
{
	return c->epoch;
}

static unsigned copy_known(const struct page *p, unsigned at, uint8_t *to,
			   unsigned len)
{
	unsigned n = 0;

	while (n < len && is_known(p, at + n))
		n++;
	memcpy(to, p->bytes + at, n);
	return n;
}

unsigned code_fetch(void *ctx, uint64_t pc, uint8_t *to, unsigned len)
{
	struct code *c = ctx;
	unsigned done = 0;

	while (done < len) {
		unsigned at = (unsigned)((pc + done) % PAGE);
		unsigned part = len - done < PAGE - at ? len - done : PAGE - at;
		struct page *p = find_page(c, (pc + done) / PAGE);
		unsigned n;

		if (p == NULL)
			break;
		if (p->changes)
			bring_to(p, c->epoch);
		c->last = p;
		n = copy_known(p, at, to + done, part);
		done += n;
		if (n < part)
			break;
	}
	return done;
}
