/* probe/insert_sites.c - what the plan says.
 *
 * Things are appended and never overwritten; sites are one array, so that a
 * number finds them. First come those that belong to no instruction, then the
 * probes of the listing that have a patch, in its order. Several probes of one
 * instruction are chained in that order. */
#include "probe/insert_priv.h"

#include "probe/arguments.h"
#include "probe/stack_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- Appending -- */

int insert_reserve(struct insertion *i, uint64_t len, uint64_t *offset,
		   struct hark_err *err)
{
	struct insert_shared *s = &i->plan;
	uint64_t at = s->used < sizeof(struct collect_plan)
			  ? sizeof(struct collect_plan)
			  : s->used;

	at = (at + 15) & ~15ull;
	if (at > s->size || len > s->size - at)
		return err_set(err, HARK_ENOMEM, 0,
			       "there are too many probes");
	s->used = at + len;
	((struct collect_plan *)s->base)->used = s->used;
	*offset = at;
	return 0;
}

int insert_put(struct insertion *i, const void *bytes, size_t len,
	       uint64_t *offset, struct hark_err *err)
{
	if (insert_reserve(i, len, offset, err) < 0)
		return -1;
	if (len > 0)
		memcpy(i->plan.base + *offset, bytes, len);
	return 0;
}

static size_t free_count(const struct insert_plan *p)
{
	return p->unbound != NULL ? unbound_count(p->unbound) : 0;
}

uint64_t insert_plan_size(const struct insert_plan *p)
{
	enum { TABLES = 256 << 20, EACH = 4096 };
	const uint64_t tables =
	    p->loader_state != 0 ? 2ull * TABLES : (uint64_t)TABLES;

	return tables + p->program->size +
	       (uint64_t)EACH *
		   (listing_count(p->listing) + listing_hook_count(p->listing) +
		    free_count(p)) +
	       p->geometry.max_sites * sizeof(struct collect_site);
}

/* -- Texts -- */

/* Neighbours have most of their texts in common. */
struct texts {
	const char *last[4];
	uint64_t offset[4];
};

static int put_text(struct insertion *i, struct texts *t, unsigned which,
		    const char *text, struct hark_err *err)
{
	if (t->last[which] != NULL && strcmp(t->last[which], text) == 0)
		return 0;
	if (insert_put(i, text, strlen(text) + 1, &t->offset[which], err) < 0)
		return -1;
	t->last[which] = (const char *)i->plan.base + t->offset[which];
	return 0;
}

static int put_texts(struct insertion *i, struct texts *t,
		     const char *const text[4], struct collect_site *out,
		     struct hark_err *err)
{
	for (unsigned k = 0; k < 4; k++) {
		if (put_text(i, t, k, text[k], err) < 0)
			return -1;
		out->text[k] = t->offset[k];
	}
	return 0;
}

/* -- Sites -- */

typedef size_t clauses_of(const struct insert_plan *w, size_t which,
			  uint32_t *out, size_t max);

static size_t clauses_of_probe(const struct insert_plan *w, size_t probe,
			       uint32_t *out, size_t max)
{
	return w->clauses(w->ctx, probe, out, max);
}

static size_t clauses_of_free(const struct insert_plan *w, size_t site,
			      uint32_t *out, size_t max)
{
	return unbound_clauses(w->unbound, site, out, max);
}

static int put_clauses(struct insertion *i, clauses_of *of, size_t which,
		       struct collect_span *out, struct hark_err *err)
{
	size_t max = i->want->program->clauses.n;
	uint32_t *numbers = calloc(max + 1, sizeof *numbers);
	int rc;

	if (numbers == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	out->n = of(i->want, which, numbers, max);
	rc =
	    insert_put(i, numbers, out->n * sizeof *numbers, &out->offset, err);
	free(numbers);
	return rc;
}

static int put_arguments(struct insertion *i, const struct probe *p,
			 struct collect_span *out, struct hark_err *err)
{
	struct collect_arg args[USDT_ARGS];

	out->n = arguments_of(p, args);
	return insert_put(i, args, out->n * sizeof *args, &out->offset, err);
}

static enum collect_kind kind_of(const struct probe *p)
{
	if (p->provider == PROVIDER_USDT)
		return COLLECT_USDT;
	if (p->provider == PROVIDER_LOADER)
		return COLLECT_LOADER;
	switch (p->kind) {
	case SITE_ENTRY:
		return COLLECT_ENTRY;
	case SITE_RETURN:
	case SITE_JUMP:
	case SITE_TAKEN:
		return COLLECT_RETURN;
	default:
		return COLLECT_INSIDE;
	}
}

static int put_site(struct insertion *i, struct texts *t, size_t probe,
		    struct collect_site *s, struct hark_err *err)
{
	static const char providers[][5] = {"pid", "plt", "usdt", ""};
	char provider[32];
	struct probe p;

	listing_get(i->want->listing, probe, &p);
	snprintf(provider, sizeof provider, "%s%d", providers[p.provider],
		 i->pid);
	s->pc = p.addr;
	s->function = p.addr - p.offset;
	s->kind = kind_of(&p);
	if (p.usdt_args != NULL && put_arguments(i, &p, &s->args, err) < 0)
		return -1;
	return put_clauses(i, clauses_of_probe, probe, &s->clauses, err) < 0
		   ? -1
		   : put_texts(i, t,
			       (const char *const[]){provider, p.module->name,
						     p.pretty, p.name},
			       s, err);
}

/* Those that hark runs itself have no clauses there. */
static int put_free(struct insertion *i, struct texts *t, size_t site,
		    struct collect_site *s, struct hark_err *err)
{
	const struct unbound *u = i->want->unbound;

	if (unbound_period(u, site) != 0) {
		s->kind = COLLECT_CLOCK;
		if (put_clauses(i, clauses_of_free, site, &s->clauses, err) < 0)
			return -1;
	}
	return put_texts(i, t, unbound_texts(u)[site], s, err);
}

/* The patch that holds it; NULL: it has none. */
static struct insert_patch *patch_of(struct insertion *i, const struct probe *p)
{
	size_t lo = 0, hi = i->n_patches;
	uint64_t addr = p->addr;

	if (p->patch == NULL || (p->patch->form == FORM_T && !p->patch->code))
		return NULL;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct insert_patch *m = &i->patch[mid];

		if (m->patch->at + m->bias + m->patch->window > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return &i->patch[lo];
}

/* Can the probe be had along with the others of its instruction? One cares
 * whether a branch is taken, or none does. */
static int joins(struct insert_patch *m, const struct probe *p)
{
	unsigned bit = 1u << p->insn;

	if (p->kind == SITE_TAKEN ? m->always & bit : m->taken & bit)
		return 0;
	if (p->kind == SITE_TAKEN)
		m->taken |= (uint8_t)bit;
	else
		m->always |= (uint8_t)bit;
	if (p->kind == SITE_INSIDE)
		m->df |= (uint8_t)bit;
	return 1;
}

static uint32_t site_of(const struct insertion *i, size_t probe)
{
	return i->site_of[i->first.probe + probe];
}

/* In the order of the listing that goes in. (What was skipped may be less than
 * nothing: numbers of others.) */
static uint32_t number_of(const struct insertion *i, size_t site)
{
	return (uint32_t)site + (site < free_count(i->want) ? 0 : i->skipped);
}

/* Which probes become sites, and their numbers. */
static int number_sites(struct insertion *i, struct hark_err *err)
{
	const struct insert_plan *w = i->want;
	const struct collect_plan *head = insert_shared_plan(i);
	size_t n = listing_count(w->listing);
	uint32_t *all =
	    reallocarray(i->site_of, i->n_probes + n + 1, sizeof *i->site_of);

	if (all == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	i->site_of = all;
	i->first.probe = i->n_probes;
	i->skipped = i->first.site > 0 || w->after != NULL
			 ? w->first - (uint32_t)i->n_sites
			 : 0;
	for (size_t k = 0; k < n; k++) {
		struct insert_patch *m;
		struct probe p;

		listing_get(w->listing, k, &p);
		m = patch_of(i, &p);
		all[i->n_probes++] = m != NULL && joins(m, &p)
					 ? (uint32_t)i->n_sites++
					 : UINT32_MAX;
	}
	return i->n_sites <= head->geometry.max_sites &&
		       number_of(i, i->n_sites) <= head->geometry.max_sites
		   ? 0
		   : err_set(err, HARK_ENOMEM, 0,
			     "too many probes: %zu, room for %u", i->n_sites,
			     head->geometry.max_sites);
}

static int fill_sites(struct insertion *i, struct collect_site *s,
		      struct hark_err *err)
{
	const struct insert_plan *w = i->want;
	struct texts t = {0};

	for (size_t k = i->first.site; k < i->n_sites; k++)
		s[k] = (struct collect_site){.plan = i->plan.at,
					     .number = number_of(i, k),
					     .kind = COLLECT_INSIDE};
	for (size_t k = 0; i->first.site == 0 && k < free_count(w); k++)
		if (put_free(i, &t, k, &s[k], err) < 0)
			return -1;
	for (size_t k = 0; k < listing_count(w->listing); k++)
		if (site_of(i, k) != UINT32_MAX &&
		    put_site(i, &t, k, &s[site_of(i, k)], err) < 0)
			return -1;
	return 0;
}

/* From the last to the first, so that the first comes first. */
static void chain(struct insertion *i, struct collect_site *s)
{
	for (size_t k = listing_count(i->want->listing); k-- > 0;) {
		struct insert_patch *m;
		struct probe p;

		if (site_of(i, k) == UINT32_MAX)
			continue;
		listing_get(i->want->listing, k, &p);
		m = patch_of(i, &p);
		s[site_of(i, k)].next = m->cookie[p.insn];
		m->cookie[p.insn] = i->plan.at + i->sites +
				    site_of(i, k) * sizeof(struct collect_site);
	}
}

/* Nobody looks at a site before it is published, or its text is changed. */
static int put_sites(struct insertion *i, struct hark_err *err)
{
	struct collect_site *s =
	    (struct collect_site *)(i->plan.base + i->sites);
	size_t before = i->n_sites;

	if (number_sites(i, err) < 0 || fill_sites(i, s, err) < 0) {
		i->n_sites = before;
		return -1;
	}
	chain(i, s);
	i->first.site = i->n_sites;
	return 0;
}

/* Room for all there can be: they are one array. */
static int reserve_sites(struct insertion *i, struct hark_err *err)
{
	const struct collect_plan *head = insert_shared_plan(i);
	uint64_t len = head->geometry.max_sites * sizeof(struct collect_site);

	if (insert_reserve(i, len, &i->sites, err) < 0)
		return -1;
	i->n_sites = free_count(i->want);
	return 0;
}

/* -- Clocks -- */

/* The plan ticks as often as the shortest period says. */
static int put_profiles(struct insertion *i, struct collect_span *out,
			struct hark_err *err)
{
	const struct unbound *u = i->want->unbound;
	struct collect_profile *all;
	uint64_t offset = 0;
	int rc;

	out->n = 0;
	if (free_count(i->want) == 0)
		return 0;
	all = calloc(free_count(i->want), sizeof *all);
	if (all == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	for (size_t k = 0; k < free_count(i->want); k++)
		if (unbound_period(u, k) != 0)
			all[out->n++] = (struct collect_profile){
			    i->sites + k * sizeof(struct collect_site),
			    unbound_period(u, k)};
	rc = insert_put(i, all, out->n * sizeof *all, &offset, err);
	out->offset = offset;
	free(all);
	return rc;
}

/* -- Stacks -- */

static bool wants_stacks(const struct probe_program *p)
{
	const struct probe_insn *code = probe_code(p);

	for (uint32_t k = 0; k < p->code.n; k++)
		if (code[k].op == PROBE_KEY_STACK ||
		    code[k].op == PROBE_OUT_STACK ||
		    (code[k].op == PROBE_BUILTIN &&
		     (code[k].imm == PROBE_BUILTIN_UCALLER ||
		      code[k].imm == PROBE_BUILTIN_USTACKDEPTH)))
			return true;
	return false;
}

static void *take_room(void *ctx, size_t len, uint64_t *offset,
		       struct hark_err *err)
{
	struct insertion *i = ctx;

	return insert_reserve(i, len, offset, err) < 0 ? NULL
						       : i->plan.base + *offset;
}

int insert_make_tables(struct insertion *i, struct hark_err *err)
{
	const struct stack_store store = {take_room, i};

	if (!(insert_shared_plan(i)->flags & COLLECT_SAMPLES) &&
	    !wants_stacks(i->want->program))
		return 0;
	return stack_tables_new(&store, &i->tables, err);
}

int insert_frames(struct insertion *i, struct modules *modules,
		  struct collect_span *out, struct hark_err *err)
{
	const struct collect_frames *list;
	size_t n;

	if (i->tables == NULL)
		return 0;
	if (stack_tables_list(i->tables, modules, &list, &n, err) < 0 ||
	    insert_put(i, list, n * sizeof *list, &out->offset, err) < 0)
		return -1;
	out->n = n;
	return 0;
}

/* -- All -- */

int insert_sites(struct insertion *i, struct hark_err *err)
{
	struct collect_plan *head = (struct collect_plan *)i->plan.base;
	struct collect_index index = {0};
	uint64_t at = 0;

	head->flags = i->want->flags;
	head->scan = i->want->scan;
	head->period_ns = i->want->period_ns;
	head->clock = i->want->clock;
	head->pid = (uint32_t)i->want->inner_pid;
	head->errno_offset = i->want->errno_offset;
	head->loader_state = i->want->loader_state;
	head->hark = i->want->inner_pid == i->pid ? (uint32_t)getpid() : 0;
	if (i->want->execname != NULL &&
	    insert_put(i, i->want->execname, strlen(i->want->execname) + 1,
		       &head->execname, err) < 0)
		return -1;
	if (insert_make_tables(i, err) < 0)
		return -1;
	if (reserve_sites(i, err) < 0 || put_sites(i, err) < 0 ||
	    put_profiles(i, &head->profiles, err) < 0 ||
	    insert_frames(i, i->want->modules, &index.frames, err) < 0)
		return -1;
	index.sites = (struct collect_span){i->sites, i->n_sites};
	if (insert_put(i, &index, sizeof index, &at, err) < 0)
		return -1;
	head->index = at;
	insert_sync(i);
	return 0;
}

int insert_show(const struct insertion *i, const struct door *d,
		struct hark_err *err)
{
	return remote_write(d, i->home + offsetof(struct collect_home, index),
			    &insert_shared_plan(i)->index, sizeof(uint64_t),
			    err);
}

int insert_more_sites(struct insertion *i, struct hark_err *err)
{
	return put_sites(i, err);
}

/* A library that goes and comes again at one place makes the same lists again
 * and again: they take no more room then. */
static int put_list(struct insertion *i, struct insert_kept *kept,
		    const void *from, size_t n, size_t size,
		    struct collect_span *out, struct hark_err *err)
{
	*out = (struct collect_span){.n = n};
	for (unsigned k = 0; k < INSERT_KEPT && n > 0; k++)
		if (kept->at[k].n == n &&
		    memcmp(i->plan.base + kept->at[k].offset, from, n * size) ==
			0) {
			*out = kept->at[k];
			return 0;
		}
	if (insert_put(i, from, n * size, &out->offset, err) < 0)
		return -1;
	kept->at[kept->next++ % INSERT_KEPT] = *out;
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct collect_change *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static int put_changes(struct insertion *i, struct collect_span *out,
		       struct hark_err *err)
{
	size_t size = sizeof *i->change;
	struct collect_change *sorted = calloc(i->n_changes + 1, size);
	int rc;

	if (sorted == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	if (i->n_changes > 0)
		memcpy(sorted, i->change, i->n_changes * size);
	qsort(sorted, i->n_changes, size, by_place);
	rc =
	    put_list(i, &i->kept_changes, sorted, i->n_changes, size, out, err);
	free(sorted);
	return rc;
}

int insert_publish(struct insertion *i, const struct collect_span *frames,
		   struct hark_err *err)
{
	struct collect_plan *head = (struct collect_plan *)i->plan.base;
	struct collect_index index = *collect_index(head);
	uint64_t at = 0;

	if (frames != NULL) {
		index.frames = *frames;
		index.generation++;
	}
	index.sites.n = i->n_sites;
	if (put_list(i, &i->kept_codes, i->code, i->n_codes, sizeof *i->code,
		     &index.codes, err) < 0 ||
	    put_list(i, &i->kept_traps, i->trap, i->n_traps, sizeof *i->trap,
		     &index.traps, err) < 0 ||
	    put_changes(i, &index.changes, err) < 0 ||
	    insert_put(i, &index, sizeof index, &at, err) < 0)
		return -1;
	head->index = at;
	insert_sync(i);
	return 0;
}
