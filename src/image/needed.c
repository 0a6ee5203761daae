/* image/needed.c - the transitive closure of DT_NEEDED.
 *
 * Files are slow to read, and a large program has hundreds of libraries with
 * dozens of entries each. So the dynamic segment of a module is read once, for
 * its DT_SONAME, and once more if the module stays, for its DT_NEEDED; which
 * module has a name is found in a sorted table. */
#include "image/needed.h"

#include "base/arena.h"
#include "image/image_priv.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_LEN = 256, ENTRIES_MAX = 4096 };

/* The dynamic segment of one module. */
struct dynamic {
	struct image_file *file; /* borrowed */
	uint64_t bias;
	uint64_t strings;   /* link-time address */
	Elf64_Dyn *entries; /* borrowed: closure.entries */
	size_t n;
};

/* A name of a module: of its file, or the one in its DT_SONAME. */
struct module_name {
	const char *text; /* borrowed, or in closure.texts */
	size_t module;
	bool kept; /* of the first one of equal texts: its modules stay */
};

struct closure {
	const struct modules *all; /* borrowed */
	bool *stays;		   /* borrowed */
	struct module_name *names; /* owned: two a module, sorted by text */
	size_t n_names;
	size_t *pending; /* owned: modules that stay, of which the first
			  * n_followed had what they need looked for */
	size_t n_pending, n_followed;
	Elf64_Dyn *entries; /* owned: of the module at hand */
	struct arena texts;
};

/* -- Reading dynamic segments -- */

static bool read_dynamic(const struct closure *c, const struct module *m,
			 struct dynamic *out)
{
	const Elf64_Phdr *p = m->file != NULL
				  ? elf_segment(m->file->elf, NULL, PT_DYNAMIC)
				  : NULL;
	struct dynamic d = {
	    .file = m->file, .bias = m->bias, .entries = c->entries};
	size_t max, got = 0;

	if (p == NULL)
		return false;
	max = p->p_filesz / sizeof *d.entries;
	max = max < ENTRIES_MAX ? max : ENTRIES_MAX;
	if (image_file_read(d.file, p->p_vaddr, d.entries,
			    max * sizeof *d.entries, &got, NULL) < 0)
		return false;
	max = got / sizeof *d.entries;
	for (; d.n < max && d.entries[d.n].d_tag != DT_NULL; d.n++)
		if (d.entries[d.n].d_tag == DT_STRTAB)
			d.strings = d.entries[d.n].d_un.d_ptr;
	*out = d;
	return d.strings != 0;
}

/* The name at an offset of the string table. A loader may have added the bias
 * to the table's address. */
static bool read_name(const struct dynamic *d, uint64_t offset, char *out)
{
	for (int relocated = 0; relocated < 2; relocated++) {
		uint64_t at = d->strings + offset - (relocated ? d->bias : 0);
		size_t got = 0;

		if (image_file_read(d->file, at, out, NAME_MAX_LEN - 1, &got,
				    NULL) == 0 &&
		    got > 0) {
			out[got] = '\0';
			return true;
		}
	}
	return false;
}

static bool read_soname(const struct closure *c, const struct module *m,
			char *out)
{
	struct dynamic d;

	if (!read_dynamic(c, m, &d))
		return false;
	for (size_t i = 0; i < d.n; i++)
		if (d.entries[i].d_tag == DT_SONAME &&
		    read_name(&d, d.entries[i].d_un.d_val, out))
			return true;
	return false;
}

/* -- The table of names -- */

static int by_text(const void *a, const void *b)
{
	const struct module_name *x = a, *y = b;

	return strcmp(x->text, y->text);
}

static int list_names(struct closure *c)
{
	char soname[NAME_MAX_LEN];

	for (size_t i = 0; i < modules_count(c->all); i++) {
		const struct module *m = modules_get(c->all, i);
		const char *copy;

		c->names[c->n_names++] =
		    (struct module_name){.text = m->name, .module = i};
		if (!read_soname(c, m, soname) || strcmp(soname, m->name) == 0)
			continue;
		copy = arena_text(&c->texts, soname, strlen(soname));
		if (copy == NULL)
			return -1;
		c->names[c->n_names++] =
		    (struct module_name){.text = copy, .module = i};
	}
	qsort(c->names, c->n_names, sizeof *c->names, by_text);
	return 0;
}

/* The first name that is not before text. */
static size_t find_name(const struct closure *c, const char *text)
{
	size_t low = 0, high = c->n_names;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(c->names[middle].text, text) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* -- The closure -- */

static void keep_module(struct closure *c, size_t module)
{
	if (c->stays[module])
		return;
	c->stays[module] = true;
	c->pending[c->n_pending++] = module;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* Several modules may have one name (dlmopen): all of them stay. */
static void keep_named(struct closure *c, const char *name)
{
	size_t first = find_name(c, name);

	if (first == c->n_names || c->names[first].kept)
		return;
	for (size_t i = first;
	     i < c->n_names && strcmp(c->names[i].text, name) == 0; i++)
		keep_module(c, c->names[i].module);
	c->names[first].kept = strcmp(c->names[first].text, name) == 0;
}

static void keep_needed(struct closure *c, const struct module *m)
{
	char name[NAME_MAX_LEN];
	struct dynamic d;

	if (!read_dynamic(c, m, &d))
		return;
	for (size_t i = 0; i < d.n; i++)
		if (d.entries[i].d_tag == DT_NEEDED &&
		    read_name(&d, d.entries[i].d_un.d_val, name))
			keep_named(c, last_part(name));
}

static void find_closure(struct closure *c)
{
	size_t n = modules_count(c->all);

	memset(c->stays, 0, n * sizeof *c->stays);
	for (size_t i = 0; i < n; i++)
		if (modules_get(c->all, i)->main)
			keep_module(c, i);
	while (c->n_followed < c->n_pending)
		keep_needed(c,
			    modules_get(c->all, c->pending[c->n_followed++]));
}

int needed_find(const struct modules *all, bool *out, struct hark_err *err)
{
	size_t n = modules_count(all);
	struct closure c = {.all = all};
	struct budget budget;
	int rc = -1;

	c.stays = out;
	budget_init(&budget, SIZE_MAX);
	arena_init(&c.texts, &budget.heap);
	c.names = calloc(2 * n + 1, sizeof *c.names);
	c.pending = calloc(n + 1, sizeof *c.pending);
	c.entries = calloc(ENTRIES_MAX, sizeof *c.entries);
	if (c.names == NULL || c.pending == NULL || c.entries == NULL ||
	    list_names(&c) < 0) {
		err_set(err, HARK_ENOMEM, 0, "no memory for names of modules");
		goto out;
	}
	find_closure(&c);
	rc = 0;
out:
	arena_fini(&c.texts);
	free(c.entries);
	free(c.pending);
	free(c.names);
	return rc;
}
