// runs: 50000
/* tests/fuzz/outside_file.c - any bytes as a chunk file.
 *
 * Checksums keep a fuzzer out, so every input is read twice: as it is, and
 * with the header and every chunk it holds given right checksums. */
#include "outside/file.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The text of a chunk is walked too: nobody may trust it. */
static void walk_text(const struct file_chunk *c)
{
	char key[16], value[32];
	size_t at = 0;

	while (file_text_next(c, &at, key, sizeof key, value, sizeof value))
		if (strlen(key) >= sizeof key || strlen(value) >= sizeof value)
			abort();
}

static void read_all(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", 0);
	struct file_reader *r = NULL;
	struct file_chunk c;
	struct hark_err err;
	uint64_t before = 0;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	lseek(fd, 0, SEEK_SET);
	if (file_open_fd(fd, "fuzz", &r, &err) == 0) {
		while (file_next(r, &c, &err) == FILE_CHUNK) {
			if (file_position(r) <= before ||
			    file_position(r) > size)
				abort();
			before = file_position(r);
			walk_text(&c);
		}
		file_reader_close(r);
	}
	close(fd);
}

static void put64(uint8_t *at, uint64_t v)
{
	memcpy(at, &v, sizeof v);
}

/* Makes checksums right as far as the lengths lead. */
static void mend(uint8_t *data, size_t size)
{
	struct wire_file h = {.magic = WIRE_FILE_MAGIC,
			      .version = WIRE_FILE_VERSION,
			      .size = sizeof h};
	struct wire_file_chunk c;
	uint64_t number = 0;

	if (size < sizeof h)
		return;
	h.check = XXH3_64bits(&h, offsetof(struct wire_file, check));
	memcpy(data, &h, sizeof h);
	for (size_t at = sizeof h; at + sizeof c <= size; number++) {
		size_t left = size - at - sizeof c;

		memcpy(&c, data + at, sizeof c);
		c.mark = WIRE_CHUNK_MARK;
		c.number = number;
		c.flags &= WIRE_CHUNK_ZSTD;
		c.stored = left == 0 ? 0 : c.stored % (uint32_t)(left + 1);
		c.plain = (c.flags & WIRE_CHUNK_ZSTD) != 0 ? c.plain : c.stored;
		c.check = XXH3_64bits(data + at + sizeof c, c.stored);
		memcpy(data + at, &c, sizeof c);
		put64(data + at + offsetof(struct wire_file_chunk, head_check),
		      XXH3_64bits_withSeed(
			  data + at,
			  offsetof(struct wire_file_chunk, head_check), h.id));
		at += sizeof c + c.stored;
		for (uint32_t i = 0;
		     i < wire_chunk_padding(c.stored) && at < size; i++)
			data[at++] = 0;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1);

	if (copy == NULL)
		abort();
	memcpy(copy, data, size);
	read_all(copy, size);
	mend(copy, size);
	read_all(copy, size);
	free(copy);
	return 0;
}
