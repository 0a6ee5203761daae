/* record/recording_text.c - the words of a recording. */
#include "record/recording_priv.h"

#include <stdlib.h>
#include <string.h>

/* More than a million words is no recording of hark's. */
enum { LINES_MAX = 1 << 20, TEXT_MAX = 64 << 20, KEY_MAX = 64 };

static struct line *new_line(struct recording *r)
{
	if (r->n_lines == r->room_lines) {
		uint32_t room = 2 * r->room_lines + 64;
		struct line *more;

		if (room > 2 * LINES_MAX)
			return NULL;
		more = realloc(r->lines, room * sizeof *more);
		if (more == NULL)
			return NULL;
		r->lines = more;
		r->room_lines = room;
	}
	return &r->lines[r->n_lines];
}

static int add_line(struct recording *r, const struct chunk *c, const char *key,
		    const char *value)
{
	size_t key_len = strlen(key) + 1, value_len = strlen(value) + 1;
	struct line *l = new_line(r);
	char *block;

	r->text_bytes += key_len + value_len;
	if (l == NULL || r->text_bytes > TEXT_MAX)
		return -1;
	block = malloc(key_len + value_len);
	if (block == NULL)
		return -1;
	memcpy(block, key, key_len);
	memcpy(block + key_len, value, value_len);
	*l = (struct line){c->type, c->process, c->thread, NULL, NULL};
	l->key = block;
	l->value = block + key_len;
	r->n_lines++;
	return 0;
}

int recording_add_lines(struct recording *r, const struct chunk *c,
			const uint8_t *bytes, size_t len)
{
	struct file_chunk text = {.bytes = bytes, .len = len};
	char key[KEY_MAX], *value = malloc(len + 1);
	size_t at = 0;
	int rc = value == NULL ? -1 : 0;

	while (rc == 0 &&
	       file_text_next(&text, &at, key, sizeof key, value, len + 1))
		rc = add_line(r, c, key, value);
	free(value);
	return rc;
}

const char *recording_line(const struct recording *r, uint16_t type,
			   uint32_t process, uint32_t thread, const char *key,
			   unsigned n)
{
	for (uint32_t i = 0; i < r->n_lines; i++) {
		const struct line *l = &r->lines[i];

		if (l->type == type && l->process == process &&
		    l->thread == thread && strcmp(l->key, key) == 0 && n-- == 0)
			return l->value;
	}
	return NULL;
}

const char *recording_meta(const struct recording *r, const char *key)
{
	return recording_line(r, WIRE_CHUNK_META, 0, 0, key, 0);
}

const char *recording_meta_nth(const struct recording *r, const char *key,
			       unsigned n)
{
	return recording_line(r, WIRE_CHUNK_META, 0, 0, key, n);
}

const char *recording_end(const struct recording *r, const char *key)
{
	return recording_line(r, WIRE_CHUNK_END, 0, 0, key, 0);
}

const char *recording_note(const struct recording *r, unsigned i)
{
	for (uint32_t k = 0; k < r->n_lines; k++)
		if (r->lines[k].type == WIRE_CHUNK_NOTE && i-- == 0)
			return r->lines[k].value;
	return NULL;
}
