/* site/listing.c - descriptions, surveys and plans of one process. */
#include "site/listing.h"

#include "base/fmt.h"
#include "image/loader.h"
#include "site/hooks.h"
#include "site/hooks_kept.h"
#include "site/rseq.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

struct one {
	enum provider provider;
	struct named named;		       /* .name is not used */
	const char *usdt_provider, *usdt_args; /* borrowed from the file */
	uint64_t semaphore;		       /* link-time; 0: none */
	char name[64];
	size_t area;
	size_t same; /* the next one in .first of the listing, plus 1 */
};

/* By address: probes are looked for before they are added. */
enum { BUCKETS = 4096 };

struct hook {
	size_t area;
	uint64_t addr; /* link-time */
};

/* A module that something is probed in. */
struct area {
	const struct module *module; /* borrowed */
	struct survey *survey;	     /* owned */
	struct plan *plan;	     /* owned */
	bool is_whole;		     /* not only what hooks need is known */
};

struct listing {
	struct modules *modules; /* borrowed */
	int pid;
	struct room *room; /* owned */
	struct area *area; /* owned */
	size_t n_areas;
	struct one *one; /* owned */
	size_t n, space;
	size_t first[BUCKETS]; /* plus 1; 0: none */
	struct hook *hook;     /* owned */
	size_t n_hooks, hook_space;
	struct space_own own;		/* borrowed */
	struct collect_range *writable; /* owned */
	size_t n_writable;
	bool (*wanted)(void *ctx, const struct module *m); /* or NULL */
	void *wanted_ctx;				   /* borrowed */
	/* Of the description being added: */
	enum provider provider;
	int (*each)(void *ctx, size_t probe);
	void *ctx;	      /* borrowed */
	struct hark_err *err; /* borrowed */
};

int listing_new(struct modules *modules, int pid, struct listing **out,
		struct hark_err *err)
{
	struct listing *l = calloc(1, sizeof *l);

	if (l == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	l->modules = modules;
	l->pid = pid;
	l->area = calloc(modules_count(modules) + 1, sizeof *l->area);
	if (l->area == NULL || room_new(&l->room, err) < 0) {
		if (l->area == NULL)
			err_set(err, HARK_ENOMEM, 0, "out of memory");
		listing_free(l);
		return -1;
	}
	*out = l;
	return 0;
}

void listing_free(struct listing *l)
{
	if (l == NULL)
		return;
	for (size_t i = 0; l->area != NULL && i < l->n_areas; i++) {
		plan_free(l->area[i].plan);
		survey_free(l->area[i].survey);
	}
	room_free(l->room);
	free(l->area);
	free(l->one);
	free(l->hook);
	free(l->writable);
	free(l);
}

void listing_limit(struct listing *l,
		   bool (*wanted)(void *ctx, const struct module *m), void *ctx)
{
	l->wanted = wanted;
	l->wanted_ctx = ctx;
}

void listing_own(struct listing *l, const struct space_own *own)
{
	l->own = *own;
}

static bool is_wanted(void *ctx, const struct module *m)
{
	const struct listing *l = ctx;

	return l->wanted == NULL || l->wanted(l->wanted_ctx, m);
}

/* -- Adding -- */

static size_t area_of(const struct listing *l, const struct module *m)
{
	for (size_t i = 0; i < l->n_areas; i++)
		if (l->area[i].module == m)
			return i;
	return l->n_areas;
}

/* A new area; the survey is its own from now on, whatever happens. */
static int add_area(struct listing *l, const struct module *m, struct survey *s,
		    bool is_whole, struct hark_err *err)
{
	struct area *a = &l->area[l->n_areas];
	const struct former f = {.survey = s, .room = l->room, .bias = m->bias};

	a->survey = s;
	a->module = m;
	a->is_whole = is_whole;
	l->n_areas++;
	return plan_new(&f, &a->plan, err);
}

/* Around the loader's function all is known, where there are hooks, too. */
static bool is_enough(const struct listing *l, const struct area *a)
{
	struct loader loader;

	return l->provider == PROVIDER_LOADER &&
	       loader_find(l->modules, &loader) && loader.module == a->module &&
	       survey_at(a->survey, loader.function - a->module->bias) &
		   SURVEY_START;
}

static struct survey *survey_for(void *ctx, const struct module *m,
				 struct hark_err *err)
{
	struct listing *l = ctx;
	struct area *a = &l->area[area_of(l, m)];
	struct survey *s;

	if (a->module != NULL && !a->is_whole && !is_enough(l, a)) {
		survey_forget(a->survey);
		if (survey_functions(a->survey, m->file, err) < 0)
			return NULL;
		a->is_whole = true;
	}
	if (a->module != NULL)
		return a->survey;
	if (survey_of_file(m->file, &s, err) < 0)
		return NULL;
	return add_area(l, m, s, true, err) < 0 ? NULL : s;
}

static struct one *push(struct listing *l)
{
	struct one *more;
	size_t space;

	if (l->n == l->space) {
		space = l->space ? l->space * 2 : 64;
		more = realloc(l->one, space * sizeof *more);
		if (more == NULL)
			return NULL;
		l->one = more;
		l->space = space;
	}
	return &l->one[l->n++];
}

static size_t bucket_of(const struct named *n)
{
	return (n->site.addr ^ n->site.addr >> 12) % BUCKETS;
}

/* Is it there already? The number it has, or that of the next. */
static size_t find(const struct listing *l, const struct named *n)
{
	for (size_t i = l->first[bucket_of(n)]; i != 0;
	     i = l->one[i - 1].same) {
		const struct one *o = &l->one[i - 1];

		if (o->provider == l->provider &&
		    o->named.site.addr == n->site.addr &&
		    o->named.module == n->module &&
		    strcmp(o->named.function.name, n->function.name) == 0 &&
		    strcmp(o->name, n->name) == 0 &&
		    (n->usdt == NULL ||
		     strcmp(o->usdt_provider, n->usdt->provider) == 0))
			return i - 1;
	}
	return l->n;
}

static int add_new(struct listing *l, const struct named *n)
{
	size_t area = area_of(l, n->module), *first = &l->first[bucket_of(n)];
	struct one *o = push(l);

	if (o == NULL)
		return err_set(l->err, HARK_ENOMEM, 0, "out of memory");
	*o = (struct one){.provider = l->provider, .named = *n, .area = area};
	o->named.name = NULL;
	o->named.usdt = NULL;
	if (n->usdt != NULL) {
		o->usdt_provider = n->usdt->provider;
		o->usdt_args = n->usdt->text;
		o->semaphore = n->usdt->semaphore;
	}
	fmt_text(o->name, sizeof o->name, "%s", n->name);
	o->same = *first;
	*first = l->n;
	return plan_add(l->area[area].plan, n->site.addr, l->err);
}

static int add_one(void *ctx, const struct named *n)
{
	struct listing *l = ctx;
	size_t i = find(l, n);

	if (i == l->n && add_new(l, n) < 0)
		return -1;
	return l->each != NULL ? l->each(l->ctx, i) : 0;
}

static bool read_word(void *ctx, uint64_t addr, uint64_t *out)
{
	const struct listing *l = ctx;
	uint64_t word;
	struct iovec to = {&word, sizeof word},
		     from = {(void *)(uintptr_t)addr, sizeof word}; // NOLINT

	if (process_vm_readv(l->pid, &to, 1, &from, 1, 0) != sizeof word)
		return false;
	*out = word;
	return true;
}

static int add_as(struct listing *l, enum provider provider,
		  const struct description *d,
		  int (*each)(void *ctx, size_t probe), void *ctx,
		  struct hark_err *err)
{
	struct names_tour t = {.modules = l->modules,
			       .survey = survey_for,
			       .visit = add_one,
			       .word = read_word,
			       .wanted = is_wanted,
			       .ctx = l};

	l->provider = provider;
	l->each = each;
	l->ctx = ctx;
	l->err = err;
	return names_each(&t, d, err);
}

int listing_add(struct listing *l, const struct description *d,
		int (*each)(void *ctx, size_t probe), void *ctx,
		struct hark_err *err)
{
	return add_as(l, d->provider, d, each, ctx, err);
}

static int take_number(void *ctx, size_t probe)
{
	*(size_t *)ctx = probe;
	return 0;
}

int listing_add_loader(struct listing *l, size_t *probe, struct hark_err *err)
{
	struct description d = {.function = LOADER_FUNCTION, .name = "entry"};
	struct loader loader;

	if (!loader_find(l->modules, &loader) || loader.state == 0)
		return err_set(err, HARK_ENOENT, 0,
			       "the program has no loader that tells of "
			       "libraries");
	d.module = loader.module->path;
	return add_as(l, PROVIDER_LOADER, &d, take_number, probe, err);
}

/* -- Hooks -- */

struct hook_tour {
	struct listing *l;    /* borrowed */
	struct hark_err *err; /* borrowed */
	size_t area;
};

static int add_hook(void *ctx, uint64_t addr)
{
	struct hook_tour *t = ctx;
	struct listing *l = t->l;

	if (l->n_hooks == l->hook_space) {
		size_t space = l->hook_space ? l->hook_space * 2 : 64;
		struct hook *more = realloc(l->hook, space * sizeof *more);

		if (more == NULL)
			return err_set(t->err, HARK_ENOMEM, 0, "out of memory");
		l->hook = more;
		l->hook_space = space;
	}
	l->hook[l->n_hooks++] = (struct hook){t->area, addr};
	return plan_add(l->area[t->area].plan, addr, t->err);
}

/* unproved: as hooks_unproved() says. */
static int check_proved(const struct hook_tour *t, const struct module *m,
			uint64_t unproved)
{
	if (unproved == 0)
		return 0;
	return err_set(t->err, HARK_EREFUSE, 0,
		       "%s cannot be watched safely: the system call at 0x%lx "
		       "in it concerns signals, and is in code that cannot be "
		       "followed; hark record needs no such knowledge",
		       m->path, (unsigned long)unproved);
}

/* A module that nothing is probed in is surveyed only if it has to be, and as
 * far as it has to. */
static int add_found(struct hook_tour *t, const struct module *m,
		     bool (*wanted)(uint64_t number))
{
	struct hooks_found h;
	struct loader loader;
	bool has = loader_find(t->l->modules, &loader) && loader.module == m;
	int rc = hooks_find(m->file, wanted,
			    has ? loader.function - m->bias : 0, &h, t->err);

	if (rc < 0 || check_proved(t, m, h.unproved) < 0) {
		if (rc > 0)
			hooks_found_fini(&h);
		return -1;
	}
	if (rc == 0)
		return 0;
	rc = add_area(t->l, m, h.survey, false, t->err);
	h.survey = NULL; /* handed over */
	for (size_t i = 0; rc == 0 && i < h.n; i++)
		rc = add_hook(t, h.at[i]);
	hooks_found_fini(&h);
	return rc;
}

static int add_known(struct hook_tour *t, const struct module *m,
		     bool (*wanted)(uint64_t number))
{
	const struct survey *s = t->l->area[t->area].survey;

	return check_proved(t, m, hooks_unproved(s, wanted)) < 0
		   ? -1
		   : hooks_each(s, wanted, add_hook, t);
}

int listing_add_hooks(struct listing *l, bool (*wanted)(uint64_t number),
		      struct hark_err *err)
{
	struct hook_tour t = {.l = l, .err = err};

	for (size_t i = 0; i < modules_count(l->modules); i++) {
		const struct module *m = modules_get(l->modules, i);
		int rc;

		if (m->file == NULL || m->kind == MODULE_VDSO ||
		    m->kind == MODULE_ANON || !is_wanted(l, m))
			continue;
		t.area = area_of(l, m);
		rc = t.area < l->n_areas ? add_known(&t, m, wanted)
					 : add_found(&t, m, wanted);
		if (rc != 0)
			return -1;
	}
	return 0;
}

int listing_make(struct listing *l, struct hark_err *err)
{
	if (space_of_pid(l->pid, &l->own, l->room, err) < 0 ||
	    space_writable(l->pid, &l->writable, &l->n_writable, err) < 0)
		return -1;
	for (size_t i = 0; i < l->n_areas; i++)
		if (rseq_bar(l->area[i].survey, l->area[i].module->file, err) <
			0 ||
		    plan_make(l->area[i].plan, err) < 0)
			return -1;
	return 0;
}

/* -- Asking -- */

size_t listing_count(const struct listing *l)
{
	return l->n;
}

static bool is_writable(const struct listing *l, uint64_t addr)
{
	for (size_t i = 0; i < l->n_writable; i++)
		if (addr - l->writable[i].at < l->writable[i].len)
			return true;
	return false;
}

static const char *refusal_of(const struct listing *l, const struct area *a,
			      uint64_t addr)
{
	const char *why;

	if (is_writable(l, addr + a->module->bias))
		return "its code is writable: the program may change it at any "
		       "time";
	why = form_refusal(a->survey, addr);
	return why != NULL ? why : "it overlaps another instruction";
}

void listing_get(const struct listing *l, size_t i, struct probe *out)
{
	const struct one *o = &l->one[i];
	const struct area *a = &l->area[o->area];
	const struct symbol *f = &o->named.function;
	uint64_t addr = o->named.site.addr;

	*out = (struct probe){.provider = o->provider,
			      .module = a->module,
			      .function = f->name,
			      .pretty = symbols_pretty(a->module->file, f),
			      .chosen = o->named.chosen,
			      .name = o->name,
			      .offset = addr - f->addr,
			      .addr = addr + a->module->bias,
			      .kind = o->named.site.kind,
			      .usdt_provider = o->usdt_provider,
			      .usdt_args = o->usdt_args,
			      .semaphore = o->semaphore};
	if (out->semaphore != 0)
		out->semaphore += a->module->bias;
	if (!is_writable(l, out->addr))
		out->patch = plan_find(a->plan, addr, &out->insn);
	if (out->patch == NULL)
		out->refusal = refusal_of(l, a, addr);
}

size_t listing_hook_count(const struct listing *l)
{
	return l->n_hooks;
}

void listing_get_hook(const struct listing *l, size_t i,
		      struct listing_hook *out)
{
	const struct hook *h = &l->hook[i];
	const struct area *a = &l->area[h->area];

	*out = (struct listing_hook){.addr = h->addr + a->module->bias};
	out->patch = plan_find(a->plan, h->addr, &out->insn);
}

size_t listing_area_count(const struct listing *l)
{
	return l->n_areas;
}

void listing_get_area(const struct listing *l, size_t i,
		      struct listing_area *out)
{
	const struct area *a = &l->area[i];

	*out = (struct listing_area){a->module, a->survey, a->plan};
}
