/* probe/naming.c - a list of modules of its own, which may change. */
#include "probe/naming.h"

#include "image/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct naming {
	struct modules *modules;				/* owned */
	const struct module *(*past)(void *ctx, uint64_t addr); /* or NULL */
	void *ctx;						/* borrowed */
};

int naming_new(struct image *im, int pid, struct naming **out,
	       struct hark_err *err)
{
	struct naming *n = calloc(1, sizeof *n);

	if (n == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	if (modules_of_pid(im, pid, &n->modules, err) < 0) {
		naming_free(n);
		return -1;
	}
	*out = n;
	return 0;
}

void naming_free(struct naming *n)
{
	if (n == NULL)
		return;
	modules_free(n->modules);
	free(n);
}

void naming_remember(struct naming *n,
		     const struct module *(*past)(void *ctx, uint64_t addr),
		     void *ctx)
{
	n->past = past;
	n->ctx = ctx;
}

bool naming_is_fresh(struct naming *n)
{
	bool changed = false;

	return modules_refresh(n->modules, &changed, NULL) == 0 && !changed;
}

/* One that is nowhere may have come since. */
static const struct module *module_of(struct naming *n, uint64_t addr)
{
	const struct module *m = modules_find(n->modules, addr);

	if (m == NULL && addr != 0 && !naming_is_fresh(n))
		m = modules_find(n->modules, addr);
	if (m == NULL && n->past != NULL)
		m = n->past(n->ctx, addr);
	return m;
}

static bool symbol_of(const struct module *m, uint64_t addr, struct symbol *out)
{
	uint64_t linked = addr - m->bias;

	return m->file != NULL &&
	       (symbols_function(m->file, linked, out, NULL) == 0 ||
		symbols_object(m->file, linked, out, NULL) == 0);
}

void naming_name(void *ctx, enum probe_kind how, uint64_t addr, char *out,
		 size_t size)
{
	const struct module *m = module_of(ctx, addr);
	struct symbol y;
	uint64_t offset;

	if (m == NULL) {
		snprintf(out, size, "0x%" PRIx64, addr);
	} else if (how == PROBE_MODULE) {
		snprintf(out, size, "%s", m->name);
	} else if (!symbol_of(m, addr, &y)) {
		snprintf(out, size, "%s`0x%" PRIx64, m->name, addr - m->bias);
	} else {
		offset = addr - m->bias - y.addr;
		snprintf(out, size, "%s`%s", m->name,
			 symbols_pretty(m->file, &y));
		if (how == PROBE_ADDRESS && offset != 0) {
			snprintf(out, size, "%s`%s+0x%" PRIx64, m->name,
				 symbols_pretty(m->file, &y), offset);
		}
	}
}
