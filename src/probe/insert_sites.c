/* probe/insert_sites.c - what the plan says.
 *
 * Things are appended and never overwritten; sites are one array, so that a
 * number finds them. First come those that belong to no instruction, then the
 * probes of the listing that have a patch, in its order. Several probes of one
 * instruction are chained in that order. */
#include "probe/insert_priv.h"

#include "image/usdt.h"
#include "probe/stack_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- Appending -- */

int insert_put(struct insertion *i, const void *bytes, size_t len,
	       uint64_t *offset, struct hark_err *err)
{
	struct insert_shared *s = &i->plan;
	uint64_t at = s->used < sizeof(struct collect_plan)
			  ? sizeof(struct collect_plan)
			  : s->used;

	at = (at + 15) & ~15ull;
	if (len > s->size - at)
		return err_set(err, HARK_ENOMEM, 0,
			       "there are too many probes");
	if (len > 0)
		memcpy(s->base + at, bytes, len);
	s->used = at + len;
	*offset = at;
	return 0;
}

uint64_t insert_plan_size(const struct insert_plan *p)
{
	enum { TABLES = 256 << 20, EACH = 4096 };

	return TABLES + p->program->size +
	       (uint64_t)EACH *
		   (listing_count(p->listing) + listing_hook_count(p->listing) +
		    p->n_free_sites);
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

/* -- Arguments that a programmer's probe has -- */

static struct collect_arg argument(const struct usdt_arg *a)
{
	struct collect_arg out = {.size = a->size,
				  .is_signed = a->is_signed,
				  .base = a->base,
				  .index = a->index,
				  .scale = a->scale,
				  .high = a->high,
				  .value = a->value};

	switch (a->kind) {
	case USDT_CONSTANT:
		out.place = COLLECT_CONST;
		break;
	case USDT_REGISTER:
		out.place = COLLECT_REG;
		break;
	case USDT_MEMORY:
		out.place = a->base == USDT_RIP ? COLLECT_NOWHERE : COLLECT_MEM;
		break;
	default:
		out.place = COLLECT_NOWHERE;
	}
	return out;
}

static int put_arguments(struct insertion *i, const char *text,
			 struct collect_span *out, struct hark_err *err)
{
	struct collect_arg args[USDT_ARGS];
	struct usdt_arg a;
	size_t n = 0;

	while (n < USDT_ARGS && usdt_parse(&text, &a))
		args[n++] = argument(&a);
	out->n = n;
	return insert_put(i, args, n * sizeof *args, &out->offset, err);
}

/* -- Sites -- */

static int put_clauses(struct insertion *i, size_t probe,
		       struct collect_span *out, struct hark_err *err)
{
	size_t max = i->want->program->clauses.n;
	uint32_t *numbers = calloc(max + 1, sizeof *numbers);
	int rc;

	if (numbers == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	out->n = i->want->clauses(i->want->ctx, probe, numbers, max);
	rc =
	    insert_put(i, numbers, out->n * sizeof *numbers, &out->offset, err);
	free(numbers);
	return rc;
}

static enum collect_kind kind_of(const struct probe *p)
{
	if (p->provider == PROVIDER_USDT)
		return COLLECT_USDT;
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
	static const char providers[][5] = {"pid", "plt", "usdt"};
	char provider[32];
	struct probe p;

	listing_get(i->want->listing, probe, &p);
	snprintf(provider, sizeof provider, "%s%d", providers[p.provider],
		 i->pid);
	s->pc = p.addr;
	s->function = p.addr - p.offset;
	s->kind = kind_of(&p);
	if (p.usdt_args != NULL &&
	    put_arguments(i, p.usdt_args, &s->args, err) < 0)
		return -1;
	return put_clauses(i, probe, &s->clauses, err) < 0
		   ? -1
		   : put_texts(i, t,
			       (const char *const[]){provider, p.module->name,
						     p.pretty, p.name},
			       s, err);
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

/* Which probes become sites, and their numbers. */
static int number_sites(struct insertion *i, struct hark_err *err)
{
	const struct insert_plan *w = i->want;

	i->n_probes = listing_count(w->listing);
	i->site_of = calloc(i->n_probes + 1, sizeof *i->site_of);
	if (i->site_of == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	i->n_sites = w->n_free_sites;
	i->skipped = w->after == NULL ? 0 : w->first - (uint32_t)i->n_sites;
	for (size_t k = 0; k < i->n_probes; k++) {
		struct insert_patch *m;
		struct probe p;

		listing_get(w->listing, k, &p);
		m = patch_of(i, &p);
		i->site_of[k] = m != NULL && joins(m, &p)
				    ? (uint32_t)i->n_sites++
				    : UINT32_MAX;
	}
	return i->n_sites + i->skipped <= w->geometry.max_sites
		   ? 0
		   : err_set(err, HARK_EBUG, 0,
			     "too many probes: %zu, room for %u", i->n_sites,
			     w->geometry.max_sites);
}

static uint32_t number_of(const struct insertion *i, size_t site)
{
	return (uint32_t)site + (site < i->want->n_free_sites ? 0 : i->skipped);
}

static int fill_sites(struct insertion *i, struct collect_site *s,
		      struct hark_err *err)
{
	const struct insert_plan *w = i->want;
	struct texts t = {0};

	for (size_t k = 0; k < i->n_sites; k++)
		s[k] = (struct collect_site){.plan = i->plan.at,
					     .number = number_of(i, k),
					     .kind = COLLECT_INSIDE};
	for (size_t k = 0; k < w->n_free_sites; k++)
		if (put_texts(i, &t, w->free_sites[k], &s[k], err) < 0)
			return -1;
	for (size_t k = 0; k < i->n_probes; k++)
		if (i->site_of[k] != UINT32_MAX &&
		    put_site(i, &t, k, &s[i->site_of[k]], err) < 0)
			return -1;
	return 0;
}

/* From the last to the first, so that the first comes first. */
static void chain(struct insertion *i, struct collect_site *s, uint64_t at)
{
	for (size_t k = i->n_probes; k-- > 0;) {
		struct insert_patch *m;
		struct probe p;

		if (i->site_of[k] == UINT32_MAX)
			continue;
		listing_get(i->want->listing, k, &p);
		m = patch_of(i, &p);
		s[i->site_of[k]].next = m->cookie[p.insn];
		m->cookie[p.insn] = i->plan.at + at +
				    i->site_of[k] * sizeof(struct collect_site);
	}
}

static int put_sites(struct insertion *i, struct collect_span *out,
		     struct hark_err *err)
{
	struct collect_site *s;
	int rc;

	if (number_sites(i, err) < 0)
		return -1;
	s = calloc(i->n_sites + 1, sizeof *s);
	if (s == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	out->n = i->n_sites;
	rc = fill_sites(i, s, err);
	if (rc == 0)
		rc =
		    insert_put(i, s, i->n_sites * sizeof *s, &out->offset, err);
	if (rc == 0) {
		chain(i, s, out->offset);
		memcpy(i->plan.base + out->offset, s, i->n_sites * sizeof *s);
	}
	free(s);
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

static int put_table(void *ctx, const void *bytes, size_t len, uint64_t *offset,
		     struct hark_err *err)
{
	return insert_put(ctx, bytes, len, offset, err);
}

static int put_frames(struct insertion *i, struct collect_span *out,
		      struct hark_err *err)
{
	const struct stack_store store = {put_table, i};
	const struct collect_frames *list;
	struct stack_tables *tables;
	size_t n;
	int rc;

	if (!wants_stacks(i->want->program))
		return 0;
	if (stack_tables_new(&store, &tables, err) < 0)
		return -1;
	rc = stack_tables_list(tables, i->want->modules, &list, &n, err);
	if (rc == 0)
		rc = insert_put(i, list, n * sizeof *list, &out->offset, err);
	if (rc == 0)
		out->n = n;
	stack_tables_free(tables);
	return rc;
}

/* -- All -- */

int insert_sites(struct insertion *i, struct hark_err *err)
{
	struct collect_plan *head = (struct collect_plan *)i->plan.base;
	struct collect_index index = {0};
	uint64_t at = 0;

	head->flags = i->want->flags;
	head->clock = i->want->clock;
	head->pid = (uint32_t)i->want->inner_pid;
	head->errno_offset = i->want->errno_offset;
	if (i->want->execname != NULL &&
	    insert_put(i, i->want->execname, strlen(i->want->execname) + 1,
		       &head->execname, err) < 0)
		return -1;
	if (put_sites(i, &index.sites, err) < 0 ||
	    put_frames(i, &index.frames, err) < 0 ||
	    insert_put(i, &index, sizeof index, &at, err) < 0)
		return -1;
	__atomic_store_n(&head->index, at, __ATOMIC_RELEASE);
	return 0;
}

int insert_publish(struct insertion *i, struct hark_err *err)
{
	struct collect_plan *head = (struct collect_plan *)i->plan.base;
	struct collect_index index = *collect_index(head);
	uint64_t at = 0;

	index.codes.n = i->n_codes;
	index.traps.n = i->n_traps;
	if (insert_put(i, i->code, i->n_codes * sizeof *i->code,
		       &index.codes.offset, err) < 0 ||
	    insert_put(i, i->trap, i->n_traps * sizeof *i->trap,
		       &index.traps.offset, err) < 0 ||
	    insert_put(i, &index, sizeof index, &at, err) < 0)
		return -1;
	__atomic_store_n(&head->index, at, __ATOMIC_RELEASE);
	return 0;
}
