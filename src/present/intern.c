/* present/intern.c - tables with open addressing. */
#include "present/intern.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static size_t hash_text(const struct intern_text *t)
{
	return (size_t)XXH64(t->text, t->len, t->is_guess);
}

static size_t hash_key(const struct intern_key *k)
{
	return (size_t)XXH64(k, sizeof *k, 0);
}

static size_t hash_of(const struct intern *in, size_t i)
{
	return in->texts != NULL ? hash_text(&in->texts[i])
				 : hash_key(&in->keys[i]);
}

/* Twice the slots; they stay at most half full. */
static int widen(struct intern *in)
{
	size_t n = in->n_slots == 0 ? 64 : in->n_slots * 2, i, at;
	uint32_t *slots = calloc(n, sizeof *slots);

	if (slots == NULL)
		return -1;
	for (i = 0; i < in->n; i++) {
		at = hash_of(in, i) & (n - 1);
		while (slots[at] != 0)
			at = (at + 1) & (n - 1);
		slots[at] = (uint32_t)i + 1;
	}
	free(in->slots);
	in->slots = slots;
	in->n_slots = n;
	return 0;
}

/* The table with room for one more; NULL: no memory, and it is as it was. */
static void *grown(struct intern *in, void *table, size_t size)
{
	size_t room = in->room == 0 ? 64 : in->room * 2;

	if (in->n == UINT32_MAX - 1)
		return NULL;
	if (in->n < in->room)
		return table;
	table = reallocarray(table, room, size);
	if (table != NULL)
		in->room = room;
	return table;
}

/* Whatever is looked for may have to be put in. */
static int make_room(struct intern *in, bool is_text)
{
	void *table = is_text ? grown(in, in->texts, sizeof *in->texts)
			      : grown(in, in->keys, sizeof *in->keys);

	if (table == NULL)
		return -1;
	if (is_text)
		in->texts = table;
	else
		in->keys = table;
	return in->n * 2 >= in->n_slots ? widen(in) : 0;
}

int intern_text(struct intern *in, const char *text, bool is_guess,
		uint32_t *out)
{
	struct intern_text want = {.text = text == NULL ? "" : text,
				   .is_guess = is_guess};
	const struct intern_text *t;
	size_t at;

	want.len = strlen(want.text);
	if (make_room(in, true) < 0)
		return -1;
	at = hash_text(&want) & (in->n_slots - 1);
	for (; in->slots[at] != 0; at = (at + 1) & (in->n_slots - 1)) {
		t = &in->texts[in->slots[at] - 1];
		if (t->len == want.len && t->is_guess == is_guess &&
		    memcmp(t->text, want.text, want.len) == 0)
			goto out;
	}
	in->texts[in->n++] = want;
	in->slots[at] = (uint32_t)in->n;
out:
	*out = in->slots[at] - 1;
	return 0;
}

int intern_key(struct intern *in, struct intern_key key, uint32_t *out)
{
	size_t at;

	if (make_room(in, false) < 0)
		return -1;
	at = hash_key(&key) & (in->n_slots - 1);
	for (; in->slots[at] != 0; at = (at + 1) & (in->n_slots - 1))
		if (memcmp(&in->keys[in->slots[at] - 1], &key, sizeof key) == 0)
			goto out;
	in->keys[in->n++] = key;
	in->slots[at] = (uint32_t)in->n;
out:
	*out = in->slots[at] - 1;
	return 0;
}

void intern_fini(struct intern *in)
{
	free(in->slots);
	free(in->texts);
	free(in->keys);
	*in = (struct intern){0};
}
