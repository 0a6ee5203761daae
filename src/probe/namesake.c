/* probe/namesake.c - two trees: what an address is called, and who was called
 * so first. */
#include "probe/namesake.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 512 };

/* An address, or (of the other tree) a name. */
struct one {
	enum probe_kind how;
	uint64_t addr, first;
	char *name; /* owned; NULL: of an address */
};

struct namesake {
	namesake_name *name;
	void *ctx;     /* borrowed */
	void *by_addr; /* owned: struct one */
	void *by_name; /* likewise */
};

static int compare_addresses(const void *a, const void *b)
{
	const struct one *x = a, *y = b;

	if (x->how != y->how)
		return x->how < y->how ? -1 : 1;
	return (x->addr > y->addr) - (x->addr < y->addr);
}

static int compare_names(const void *a, const void *b)
{
	const struct one *x = a, *y = b;

	if (x->how != y->how)
		return x->how < y->how ? -1 : 1;
	return strcmp(x->name, y->name);
}

int namesake_new(namesake_name *name, void *ctx, struct namesake **out,
		 struct hark_err *err)
{
	struct namesake *n = calloc(1, sizeof *n);

	if (n == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	n->name = name;
	n->ctx = ctx;
	*out = n;
	return 0;
}

static void free_one(void *p)
{
	struct one *o = p;

	if (o != NULL)
		free(o->name);
	free(o);
}

void namesake_free(struct namesake *n)
{
	if (n == NULL)
		return;
	tdestroy(n->by_addr, free_one);
	tdestroy(n->by_name, free_one);
	free(n);
}

/* The one that is there, or else this one from now on; NULL: no memory. */
static const struct one *enter(void **tree, const struct one *o,
			       int (*compare)(const void *, const void *))
{
	struct one *mine, **place = tfind(o, tree, compare);

	if (place != NULL)
		return *place;
	mine = malloc(sizeof *mine);
	if (mine == NULL)
		return NULL;
	*mine = *o;
	mine->name = o->name != NULL ? strdup(o->name) : NULL;
	if ((o->name != NULL && mine->name == NULL) ||
	    tsearch(mine, tree, compare) == NULL) {
		free_one(mine);
		return NULL;
	}
	return mine;
}

int namesake_find(struct namesake *n, enum probe_kind how, uint64_t *addr,
		  struct hark_err *err)
{
	char name[NAME_SIZE] = "";
	struct one o = {.how = how, .addr = *addr, .first = *addr};
	struct one *const *known = tfind(&o, &n->by_addr, compare_addresses);
	const struct one *first;

	if (known != NULL) {
		*addr = (*known)->first;
		return 0;
	}
	n->name(n->ctx, how, *addr, name, sizeof name);
	o.name = name;
	first = enter(&n->by_name, &o, compare_names);
	if (first != NULL) {
		o.first = first->first;
		o.name = NULL;
		first = enter(&n->by_addr, &o, compare_addresses);
	}
	if (first == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	*addr = o.first;
	return 0;
}
