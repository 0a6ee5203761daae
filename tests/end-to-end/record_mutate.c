/* tests/end-to-end/record_mutate.c - damages what a recording says, and makes
 * all checksums right again.
 *
 *	record_mutate IN OUT SEED
 *
 * A few bytes of one or a few streams change: of records' heads, positions,
 * registers, code. What reads OUT finds nothing wrong with the file itself. */
#include "outside/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed;

static uint64_t random64(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x9e3779b97f4a7c15;
}

/* Near the beginning of a stream there is more to hit. */
static void mutate(uint8_t *bytes, size_t len)
{
	static const uint8_t odd[] = {0, 1, 0x7f, 0x80, 0xff};

	for (uint64_t n = 1 + random64() % 4; n > 0 && len > 0; n--) {
		size_t most = random64() % 4 == 0 && len > 900 ? 900 : len;
		uint8_t *at = &bytes[random64() % most];

		switch (random64() % 3) {
		case 0:
			*at ^= (uint8_t)(1u << random64() % 8);
			break;
		case 1:
			*at = odd[random64() % sizeof odd];
			break;
		default:
			*at = (uint8_t)random64();
		}
	}
}

static int copy(const struct file_chunk *c, struct file_writer *to,
		struct hark_err *err)
{
	uint8_t *bytes = malloc(c->len + 1);
	struct file_content content = {.type = c->type,
				       .process = c->process,
				       .thread = c->thread,
				       .key = c->key,
				       .bytes = bytes,
				       .len = c->len};
	struct file_packed packed = {0};
	int rc;

	if (bytes == NULL)
		return -1;
	memcpy(bytes, c->bytes, c->len);
	if (c->type == WIRE_CHUNK_DATA && random64() % 4 == 0)
		mutate(bytes, c->len);
	rc = file_pack(&content, 1, NULL, &packed);
	if (rc == 0) {
		rc = file_put_packed(to, &packed, err);
		file_unpack_free(&packed);
	}
	free(bytes);
	return rc;
}

int main(int argc, char **argv)
{
	struct file_reader *from = NULL;
	struct file_writer *to = NULL;
	struct file_chunk c;
	struct hark_err err = {0};

	if (argc != 4)
		return 2;
	seed = strtoull(argv[3], NULL, 10) * 2 + 1;
	for (int i = 0; i < 8; i++)
		random64();
	if (file_open(argv[1], &from, &err) < 0 ||
	    file_create(argv[2], 1, &to, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	while (file_next(from, &c, &err) == FILE_CHUNK)
		if (copy(&c, to, &err) < 0)
			return 1;
	file_reader_close(from);
	file_writer_close(to);
	return 0;
}
