/* present/sums.c - checks and sums of samples, each in one pass. */
#include "present/sums.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* -- Is it what it says? ----------------------------------------------------
 */

enum { TEXT_MAX = 1 << 24 }; /* no name is longer */

static int check_tree(const struct stacks *s, struct hark_err *err)
{
	size_t i;

	if (s->n_nodes == 0 || s->n_nodes >= UINT32_MAX)
		return err_set(err, HARK_EINPUT, 0, "stacks without a root");
	for (i = 1; i < s->n_nodes; i++)
		if (s->nodes[i].parent >= i || s->nodes[i].frame >= s->n_frames)
			return err_set(err, HARK_EINPUT, 0,
				       "stack %zu of %zu is damaged", i,
				       s->n_nodes);
	return 0;
}

static int check_samples(const struct stacks *s, struct hark_err *err)
{
	uint64_t total = 0;
	size_t i;

	for (i = 0; i < s->n_samples; i++) {
		if (s->samples[i].thread >= s->n_threads ||
		    s->samples[i].node >= s->n_nodes)
			return err_set(err, HARK_EINPUT, 0,
				       "sample %zu of %zu is damaged", i,
				       s->n_samples);
		/* Beyond it, readers in JavaScript begin to round. */
		if (__builtin_add_overflow(total, s->samples[i].weight,
					   &total) ||
		    total > (uint64_t)1 << 53)
			return err_set(err, HARK_EINPUT, 0,
				       "the samples weigh more than 2^53");
	}
	return 0;
}

int stacks_check(const struct stacks *s, struct hark_err *err)
{
	size_t i;

	for (i = 0; i < s->n_frames; i++)
		if (s->frames[i].name != NULL &&
		    strnlen(s->frames[i].name, TEXT_MAX) == TEXT_MAX)
			return err_set(err, HARK_EINPUT, 0,
				       "frame %zu has an endless name", i);
	return check_tree(s, err) < 0 ? -1 : check_samples(s, err);
}

int stacks_written(FILE *out, struct hark_err *err)
{
	errno = 0;
	if (fflush(out) == 0 && !ferror(out))
		return 0;
	return err_set(err, HARK_EIO, errno, "cannot write the profile: %s",
		       strerror(errno != 0 ? errno : EIO));
}

/* -- By thread --------------------------------------------------------------
 */

void stacks_order_fini(struct stacks_order *o)
{
	free(o->order);
	free(o->first);
	*o = (struct stacks_order){0};
}

static uint32_t group_of(const struct stacks *s, const uint32_t *groups,
			 size_t sample)
{
	uint32_t t = s->samples[sample].thread;

	return groups == NULL ? t : groups[t];
}

int stacks_order_init(struct stacks_order *o, const struct stacks *s,
		      const uint32_t *groups, struct hark_err *err)
{
	size_t i, at = 0, n;

	o->order = calloc(s->n_samples + 1, sizeof *o->order);
	o->first = calloc(s->n_threads + 2, sizeof *o->first);
	if (o->order == NULL || o->first == NULL) {
		stacks_order_fini(o);
		return err_set(err, HARK_ENOMEM, 0, "no memory for %zu samples",
			       s->n_samples);
	}
	/* first[t + 1] runs from the beginning of t to its end. */
	for (i = 0; i < s->n_samples; i++)
		o->first[group_of(s, groups, i) + 1]++;
	for (i = 1; i <= s->n_threads; i++) {
		n = o->first[i];
		o->first[i] = at;
		at += n;
	}
	for (i = 0; i < s->n_samples; i++)
		o->order[o->first[group_of(s, groups, i) + 1]++] = i;
	return 0;
}

/* -- By stack ---------------------------------------------------------------
 */

void stacks_sums_fini(struct stacks_sums *sums)
{
	free(sums->at);
	*sums = (struct stacks_sums){0};
}

int stacks_sums_init(struct stacks_sums *sums, const struct stacks *s,
		     const uint32_t *groups, struct hark_err *err)
{
	struct stacks_order o = {0};
	struct stacks_sum *at = NULL, *sum;
	/* Where a node's sum is, plus one; older than `begin`: another's. */
	size_t *place = NULL, n = 0, t, i, begin;
	int rc = -1;

	if (stacks_order_init(&o, s, groups, err) < 0)
		return -1;
	assert(o.first != NULL && o.order != NULL);
	at = calloc(s->n_samples + 1, sizeof *at);
	place = calloc(s->n_nodes, sizeof *place);
	if (at == NULL || place == NULL) {
		err_set(err, HARK_ENOMEM, 0, "no memory for %zu samples",
			s->n_samples);
		goto out;
	}
	for (t = 0; t < s->n_threads; t++) {
		begin = n;
		for (i = o.first[t]; i < o.first[t + 1]; i++) {
			const struct stacks_sample *m = &s->samples[o.order[i]];

			if (place[m->node] <= begin) {
				at[n] = (struct stacks_sum){
				    .thread = (uint32_t)t, .node = m->node};
				place[m->node] = ++n;
			}
			sum = &at[place[m->node] - 1];
			sum->weight += m->weight;
			sum->n_samples++;
		}
	}
	*sums = (struct stacks_sums){.at = at, .n = n};
	at = NULL; /* handed over */
	rc = 0;
out:
	free(at);
	free(place);
	stacks_order_fini(&o);
	return rc;
}

/* -- One stack --------------------------------------------------------------
 */

void stacks_path_fini(struct stacks_path *p)
{
	free(p->nodes);
	*p = (struct stacks_path){0};
}

int stacks_path_to(struct stacks_path *p, const struct stacks *s, uint32_t node,
		   struct hark_err *err)
{
	uint32_t *grown, v;
	size_t n = 0, i;

	for (v = node; v != 0; v = s->nodes[v].parent)
		n++;
	if (n > p->room) {
		grown = reallocarray(p->nodes, n * 2, sizeof *grown);
		if (grown == NULL)
			return err_set(err, HARK_ENOMEM, 0,
				       "no memory for a stack of %zu", n);
		p->nodes = grown;
		p->room = n * 2;
	}
	for (v = node, i = n; v != 0; v = s->nodes[v].parent)
		p->nodes[--i] = v;
	p->n = n;
	return 0;
}

const char *stacks_name(const struct stacks_frame *f)
{
	return f->name == NULL || f->name[0] == '\0' ? "[unknown]" : f->name;
}
