/* probe/tally.c - sorted by name to find what belongs together, then by order.
 */
#include "probe/tally.h"

#include <stdlib.h>
#include <string.h>

static int compare(const struct session_account *a,
		   const struct session_account *b)
{
	int c = 0;

	for (unsigned i = 0; i < 4 && c == 0; i++)
		c = strcmp(a->text[i], b->text[i]);
	return c;
}

static int by_name(const void *a, const void *b)
{
	const struct tally_one *x = a, *y = b;
	int c = compare(&x->a, &y->a);

	return c != 0 ? c : (x->order > y->order) - (x->order < y->order);
}

static int by_order(const void *a, const void *b)
{
	const struct tally_one *x = a, *y = b;

	return (x->order > y->order) - (x->order < y->order);
}

static void add(struct session_account *to, const struct session_account *from)
{
	to->sites += from->sites;
	to->hits.executed += from->hits.executed;
	to->hits.recorded += from->hits.recorded;
	to->hits.dropped += from->hits.dropped;
	to->hits.recursed += from->hits.recursed;
	to->hits.faulted += from->hits.faulted;
}

void tally_add(struct tally *t, const struct session_account *a)
{
	struct tally_one *more;
	size_t room;

	if (t->n > 0 && compare(&t->all[t->n - 1].a, a) == 0) {
		add(&t->all[t->n - 1].a, a);
		return;
	}
	if (t->n == t->room) {
		room = t->room * 2 + 64;
		more = reallocarray(t->all, room, sizeof *more);
		if (more == NULL) {
			t->visit(t->ctx, a);
			return;
		}
		t->all = more;
		t->room = room;
	}
	t->all[t->n] = (struct tally_one){*a, t->n};
	t->n++;
}

static void merge(struct tally *t)
{
	size_t n = 0;

	qsort(t->all, t->n, sizeof *t->all, by_name);
	for (size_t i = 0; i < t->n; i++)
		if (n > 0 && compare(&t->all[n - 1].a, &t->all[i].a) == 0)
			add(&t->all[n - 1].a, &t->all[i].a);
		else
			t->all[n++] = t->all[i];
	t->n = n;
	qsort(t->all, t->n, sizeof *t->all, by_order);
}

void tally_end(struct tally *t)
{
	if (t->n > 0)
		merge(t);
	for (size_t i = 0; i < t->n; i++)
		t->visit(t->ctx, &t->all[i].a);
	free(t->all);
	t->all = NULL;
	t->n = t->room = 0;
}
