/* record/recording_module.c - files of code that are in a recording. */
#include "record/recording_priv.h"

#include "record/bounds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	const struct module *x = a, *y = b;

	return x->told.number < y->told.number
		   ? -1
		   : x->told.number > y->told.number;
}

static struct module *find(const struct recording *r, uint32_t number)
{
	const struct module key = {.told = {.number = number}};

	return r->n_modules == 0 ? NULL
				 : bsearch(&key, r->modules, r->n_modules,
					   sizeof key, compare);
}

static void take_line(struct recording_module *m, const struct line *l)
{
	uint64_t number = strtoull(l->value, NULL, 10);

	if (strcmp(l->key, "path") == 0)
		m->path = l->value;
	else if (strcmp(l->key, "kind") == 0)
		m->kind = l->value;
	else if (strcmp(l->key, "dir") == 0)
		m->dir = l->value;
	else if (strcmp(l->key, "build_id") == 0)
		m->build_id = l->value;
	else if (strcmp(l->key, "of") == 0)
		m->of = (uint32_t)number;
	else if (strcmp(l->key, "same") == 0)
		m->same = (uint32_t)number;
	else if (strcmp(l->key, "dev") == 0)
		m->dev = number;
	else if (strcmp(l->key, "ino") == 0)
		m->ino = number;
	else if (strcmp(l->key, "mtime_ns") == 0)
		m->mtime_ns = number;
	else if (strcmp(l->key, "size") == 0)
		m->size = number;
}

/* Chunks are sorted by type and then by number: each module is there once. */
static int list_modules(struct recording *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->n_chunks; i++)
		n += r->chunks[i].type == WIRE_CHUNK_MODULE;
	r->modules = calloc((size_t)n + 1, sizeof *r->modules);
	if (r->modules == NULL)
		return -1;
	for (uint32_t i = 0; i < r->n_chunks; i++) {
		const struct chunk *c = &r->chunks[i];
		struct module *m = &r->modules[r->n_modules];

		if (c->type != WIRE_CHUNK_MODULE || c->process != 0 ||
		    (r->n_modules > 0 && m[-1].told.number == c->thread))
			continue;
		m->told = (struct recording_module){.number = c->thread,
						    .path = "",
						    .kind = "",
						    .dir = "",
						    .build_id = ""};
		r->n_modules++;
	}
	return 0;
}

/* Another name of a module has its bytes. */
static void share(struct recording *r)
{
	for (uint32_t i = 0; i < r->n_modules; i++) {
		struct module *m = &r->modules[i];
		const struct module *from =
		    m->told.same == 0 ? NULL : find(r, m->told.same);

		if (from == NULL || from->told.same != 0)
			continue;
		m->first = from->first;
		m->n = from->n;
		m->told.size = from->told.size;
		m->told.build_id = from->told.build_id;
	}
}

int recording_index_modules(struct recording *r)
{
	if (list_modules(r) < 0)
		return -1;
	for (uint32_t i = 0; i < r->n_lines; i++) {
		struct module *m = r->lines[i].type == WIRE_CHUNK_MODULE
				       ? find(r, r->lines[i].thread)
				       : NULL;

		if (m != NULL)
			take_line(&m->told, &r->lines[i]);
	}
	for (uint32_t i = 0; i < r->n_chunks; i++) {
		const struct chunk *c = &r->chunks[i];
		struct module *m =
		    c->type == WIRE_CHUNK_BYTES && c->process == 0
			? find(r, c->thread)
			: NULL;

		if (m != NULL && m->n++ == 0)
			m->first = i;
	}
	share(r);
	return 0;
}

/* A name that shares another's bytes counts, too: readers have a copy for it.
 */
int recording_check_modules(const struct recording *r, struct hark_err *err)
{
	uint64_t most = bounds_unpack(r->size), sum = 0;

	for (uint32_t i = 0; i < r->n_modules; i++) {
		uint64_t size = r->modules[i].told.size;

		sum = size > UINT64_MAX - sum ? UINT64_MAX : sum + size;
	}
	if (sum <= most)
		return 0;
	return err_set(
	    err, HARK_EINPUT, 0,
	    "%s: its modules unpack to %llu bytes, and a file of "
	    "its length may have %llu; " BOUNDS_UNPACK "=BYTES allows more",
	    r->name, (unsigned long long)sum, (unsigned long long)most);
}

unsigned recording_n_modules(const struct recording *r)
{
	return r->n_modules;
}

const struct recording_module *recording_module(const struct recording *r,
						unsigned i)
{
	return i < r->n_modules ? &r->modules[i].told : NULL;
}

/* Memory grows only with bytes that are there. */
static const char *append(const struct recording *r, const struct chunk *c,
			  struct file_room rooms[2], struct file_room *to,
			  size_t *len)
{
	const uint8_t *bytes;
	const char *bad;
	uint8_t *more;
	size_t n;

	bad = recording_read_chunk(r, c, &rooms[0], &rooms[1], &bytes, &n);
	if (bad != NULL)
		return bad;
	more = realloc(to->at, *len + n + 1);
	if (more == NULL)
		return "out of memory";
	to->at = more;
	memcpy(more + *len, bytes, n);
	*len += n;
	return NULL;
}

int recording_read_module(struct recording *r, unsigned i, uint8_t **out,
			  size_t *len, struct hark_err *err)
{
	struct file_room rooms[2] = {0}, to = {0};
	const struct module *m = &r->modules[i];
	const char *bad = NULL;
	size_t have = 0;

	if (i >= r->n_modules)
		return err_set(err, HARK_EINPUT, 0, "%s: no module %u", r->name,
			       i);
	for (uint32_t k = 0; k < m->n && bad == NULL && have <= m->told.size;
	     k++)
		bad = append(r, &r->chunks[m->first + k], rooms, &to, &have);
	if (bad == NULL && (m->told.size == 0 || have != m->told.size))
		bad = "its bytes are not all there";
	free(rooms[0].at);
	free(rooms[1].at);
	if (bad != NULL) {
		free(to.at);
		return err_set(err, HARK_EINPUT, 0, "%s: module %s: %s",
			       r->name, m->told.path, bad);
	}
	*out = to.at;
	*len = have;
	return 0;
}
