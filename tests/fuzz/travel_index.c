/* tests/fuzz/travel_index.c - any bytes as a segment's part of an index.
 *
 * Checksums and compression would keep the fuzzer out: the first bytes are a
 * directory as it is when it is decompressed, and whatever it says of its
 * blocks is made true, with the rest of the bytes in them. Then all is asked
 * that can be asked. Nothing may be read or written outside, what is said of
 * sections must be one of them, and what is loaded must be in the shadow. */
#include "travel/index_priv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BLOCK_MOST = 1 << 18, DIRECTORY_MOST = 1 << 16, WORDS = 8 };

static uint8_t *shadow;

static void must(int truth)
{
	if (!truth)
		abort();
}

/* The pool again and again. */
static void make_block(struct index_bytes *blob, struct index_block *b,
		       const uint8_t *pool, size_t len)
{
	struct index_bytes raw = {0};
	size_t want = b->raw_len % BLOCK_MOST, at = b->offset % (len + 1);

	must(index_make_room(&raw, want + 1) == 0);
	for (raw.len = 0; raw.len < want; raw.len++, at++)
		raw.bytes[raw.len] = len > 0 ? pool[at % len] : 0;
	must(index_put_block(blob, &raw, INDEX_LEVEL, b) == 0);
	free(raw.bytes);
}

/* Every block that the directory names, if its own numbers are sound. */
static void make_blocks(struct index_bytes *blob, uint8_t *directory,
			size_t len, const uint8_t *pool, size_t pool_len)
{
	struct index_head *h = (struct index_head *)directory;
	struct index_cluster *c;
	struct index_part *p;

	if (h->n_sections > DIRECTORY_MOST || h->n_clusters > DIRECTORY_MOST ||
	    h->n_parts > DIRECTORY_MOST || h->n_code > DIRECTORY_MOST ||
	    index_directory_len(h) != len)
		return;
	c = (struct index_cluster *)index_clusters(h);
	p = (struct index_part *)index_parts(h);
	make_block(blob, &h->states, pool, pool_len);
	make_block(blob, &h->presence, pool, pool_len);
	for (uint32_t i = 0; i < h->n_clusters; i++)
		make_block(blob, &c[i].summary, pool, pool_len);
	for (uint32_t i = 0; i < h->n_parts; i++) {
		make_block(blob, &p[i].image, pool, pool_len);
		make_block(blob, &p[i].touches, pool, pool_len);
		make_block(blob, &p[i].values, pool, pool_len);
	}
}

static void ask_section(struct index *x, unsigned k, uint64_t address)
{
	const unsigned n = index_sections(x, 0);
	static struct index_state state;
	int found;

	found = index_last_section(x, 0, k + 1, INDEX_READ | INDEX_WRITTEN,
				   address, WORDS);
	must(found >= -1 && found <= (int)k);
	found = index_next_section(x, 0, k, INDEX_WRITTEN, address, WORDS);
	must(found == -1 || (found >= (int)k && found < (int)n));
	must(index_section_at(x, 0, index_section_count(x, 0, k)) < n);
	if (index_begin_at(x, 0, k, &state) == 0)
		must(state.xstate_len <= sizeof state.xstate);
}

static void ask_known(struct index *x, unsigned k, uint64_t address)
{
	const struct index_place since = {0, k / 2}, at = {0, k};
	struct index_known *known = index_known_new();
	unsigned rest = 1;
	uint8_t byte;

	must(known != NULL);
	if (index_has_values(x, 0) &&
	    index_known_byte(x, known, &since, &at, (uint32_t)address, &byte,
			     &rest) >= 0)
		must(rest == 0);
	index_known_free(known);
}

static void ask(struct index *x, const uint8_t *pool, size_t len)
{
	static uint8_t pages[INDEX_PAGES];
	const unsigned n = index_sections(x, 0);
	uint32_t address = 0;

	for (unsigned i = 0; i < 4; i++) {
		unsigned k = i * n / 4;

		if (len >= (i + 1) * sizeof address)
			memcpy(&address, pool + i * sizeof address,
			       sizeof address);
		index_may(x, 0, INDEX_READ | INDEX_EXECUTED, address, WORDS);
		ask_section(x, k, address);
		ask_known(x, k, address);
		if (index_load(x, 0, k / 2, k, shadow) == 0)
			must(index_has_values(x, 0));
	}
	index_mark_touched(x, 0, pages);
	index_may_call(x, 0, address);
	index_may_signal(x, 0, (int)(address % 70));
	if (index_has_values(x, 0))
		madvise(shadow, WIRE_SHADOW_SIZE, MADV_DONTNEED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct index_bytes blob = {0}, directory = {0};
	struct index *x = index_new(1);
	struct index_source source = {.fd = -1};
	struct index_block d;
	uint32_t len;

	if (shadow == NULL)
		shadow =
		    mmap(NULL, WIRE_SHADOW_SIZE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	must(shadow != MAP_FAILED && x != NULL);
	if (size >= sizeof len) {
		memcpy(&len, data, sizeof len);
		data += sizeof len;
		size -= sizeof len;
		len = len < size ? len : (uint32_t)size;
		must(index_add_bytes(&directory, data, len) == 0);
		if (len >= sizeof(struct index_head))
			make_blocks(&blob, directory.bytes, len, data + len,
				    size - len);
		must(index_put_block(&blob, &directory, INDEX_LEVEL, &d) == 0);
		source.len = blob.len + 1;
		source.bytes = mmap(NULL, source.len, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		must(source.bytes != MAP_FAILED);
		if (blob.len > 0)
			memcpy(source.bytes, blob.bytes, blob.len);
		index_take_source(x, &source);
		if (index_put(x, 0,
			      &(struct index_entry){.blob_len = blob.len,
						    .stored_len = d.stored_len,
						    .raw_len = d.raw_len,
						    .checksum = d.checksum}) ==
		    0)
			ask(x, data + len, size - len);
	}
	index_free(x);
	free(blob.bytes);
	free(directory.bytes);
	return 0;
}
