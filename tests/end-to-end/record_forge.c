/* tests/end-to-end/record_forge.c - a recording as an attacker would write it.
 *
 *	record_forge IN OUT swap FROM TO	everywhere; of the same length
 *	record_forge IN OUT bomb PATH N		the module of that path gets N
 *						times 64 MiB of zeros more
 *	record_forge IN				prints the source files in it
 *
 * All checksums of OUT are right: what reads it finds nothing wrong with the
 * file itself. */
#include "outside/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct forger {
	struct file_writer *to;
	char **argv;	 /* the work, and its operands */
	uint32_t module; /* bomb: its number; 0: not seen yet */
	uint64_t len;	 /* bomb: of the module as it was */
	uint64_t had;	 /* bomb: of that, what was copied */
};

static void die(const char *what)
{
	fprintf(stderr, "record_forge: %s\n", what);
	exit(1);
}

static void put(struct forger *f, const struct file_chunk *c,
		const uint8_t *bytes, size_t len)
{
	struct file_content content = {.type = c->type,
				       .process = c->process,
				       .thread = c->thread,
				       .key = c->key,
				       .bytes = bytes,
				       .len = len};
	struct file_packed packed = {0};
	struct hark_err err = {0};

	if (file_pack(&content, 1, NULL, &packed) < 0 ||
	    file_put_packed(f->to, &packed, &err) < 0)
		die(err.text);
	file_unpack_free(&packed);
}

static void swap(struct forger *f, const struct file_chunk *c)
{
	const char *from = f->argv[1], *to = f->argv[2];
	size_t len = strlen(from);
	uint8_t *bytes = malloc(c->len + 1), *at;

	if (bytes == NULL || len != strlen(to))
		die("FROM and TO differ in length");
	memcpy(bytes, c->bytes, c->len);
	for (at = bytes;
	     (at = memmem(at, c->len - (size_t)(at - bytes), from, len));)
		memcpy(at, to, len);
	put(f, c, bytes, c->len);
	free(bytes);
}

static uint64_t more(const struct forger *f)
{
	return strtoull(f->argv[2], NULL, 10) * WIRE_CHUNK_MAX;
}

/* The words of the module, with another size; 0: of another module. */
static int swell_words(struct forger *f, const struct file_chunk *c)
{
	char *text = strndup((const char *)c->bytes, c->len), out[8192];
	char path[4200], *size;

	snprintf(path, sizeof path, "path=%s\n", f->argv[1]);
	size = strstr(text, "\nsize=");
	if (strstr(text, path) == NULL || size == NULL || f->module != 0) {
		free(text);
		return 0;
	}
	f->module = c->thread;
	f->len = strtoull(size + 6, NULL, 10);
	snprintf(out, sizeof out, "%.*s\nsize=%llu\n", (int)(size - text), text,
		 (unsigned long long)(f->len + more(f)));
	free(text);
	put(f, c, (uint8_t *)out, strlen(out));
	return 1;
}

static void bomb(struct forger *f, const struct file_chunk *c)
{
	uint8_t *zeros;

	if (c->type == WIRE_CHUNK_MODULE && swell_words(f, c))
		return;
	put(f, c, c->bytes, c->len);
	if (c->type != WIRE_CHUNK_BYTES || c->thread != f->module)
		return;
	f->had += c->len;
	if (f->had != f->len)
		return;
	zeros = calloc(1, WIRE_CHUNK_MAX);
	for (uint64_t left = more(f); left > 0; left -= WIRE_CHUNK_MAX)
		put(f, c, zeros, WIRE_CHUNK_MAX);
	free(zeros);
}

/* A line with its path, then the file. */
static void print_source(struct forger *f, const struct file_chunk *c)
{
	char *text, *path;

	if (c->type == WIRE_CHUNK_BYTES && c->thread == f->module)
		fwrite(c->bytes, 1, c->len, stdout);
	if (c->type != WIRE_CHUNK_MODULE)
		return;
	text = strndup((const char *)c->bytes, c->len);
	path = strstr(text, "path=");
	f->module = 0;
	if (strstr(text, "kind=source\n") != NULL && path != NULL) {
		f->module = c->thread;
		printf("%.*s\n", (int)strcspn(path, "\n"), path);
	}
	free(text);
}

int main(int argc, char **argv)
{
	struct file_reader *from = NULL;
	struct hark_err err = {0};
	struct forger f = {.argv = argv + 3};
	struct file_chunk c;

	if (argc != 2 && argc != 6)
		die("IN, or IN OUT swap FROM TO, or IN OUT bomb PATH N");
	if (file_open(argv[1], &from, &err) < 0 ||
	    (argc > 2 && file_create(argv[2], 1, &f.to, &err) < 0))
		die(err.text);
	while (file_next(from, &c, &err) == FILE_CHUNK)
		if (argc == 2)
			print_source(&f, &c);
		else if (strcmp(argv[3], "swap") == 0)
			swap(&f, &c);
		else
			bomb(&f, &c);
	file_reader_close(from);
	file_writer_close(f.to);
	return 0;
}
