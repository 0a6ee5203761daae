/* ask/near.c - which names may a misspelt one have meant? */
#include "ask/near.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { COMPARED = 63 }; /* longer names are not compared */

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Insertions, deletions, replacements, and exchanges of neighbours. */
static unsigned count_edits(const char *a, size_t a_len, const char *b,
			    size_t b_len)
{
	unsigned rows[3][COMPARED + 1];

	for (unsigned k = 0; k <= b_len; k++)
		rows[0][k] = k;
	for (unsigned i = 1; i <= a_len; i++) {
		unsigned *row = rows[i % 3];
		const unsigned *up = rows[(i - 1) % 3];

		row[0] = i;
		for (unsigned k = 1; k <= b_len; k++) {
			row[k] = least(up[k - 1] + (a[i - 1] != b[k - 1]),
				       least(up[k], row[k - 1]) + 1);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] &&
			    a[i - 2] == b[k - 1])
				row[k] =
				    least(row[k], rows[(i - 2) % 3][k - 2] + 1);
		}
	}
	return rows[a_len % 3][b_len];
}

/* So many edits of a name of this length are a slip, and not another name. */
static unsigned edits_allowed(size_t len)
{
	return len < 3 ? 0 : len < 6 ? 1 : len < 9 ? 2 : 3;
}

void near_begin(struct near *n, const char *name)
{
	*n = (struct near){.name = name, .len = strlen(name)};
}

static bool is_listed(const struct near *n, const char *name, size_t len)
{
	for (size_t i = 0; i < n->n; i++)
		if (strncmp(n->best[i].name, name, len) == 0 &&
		    n->best[i].name[len] == '\0')
			return true;
	return false;
}

static bool is_better(const struct near *n, size_t at, unsigned edits,
		      enum near_rank rank)
{
	if (n->best[at].edits != edits)
		return edits < n->best[at].edits;
	return rank < n->best[at].rank;
}

void near_offer(struct near *n, const char *name, const char *shown,
		enum near_rank rank)
{
	size_t len = strcspn(name, "@"), at = n->n, moved;
	size_t shown_len = strcspn(shown, "@");
	unsigned edits;

	if (len == 0 || len > COMPARED || n->len > COMPARED ||
	    (rank == NEAR_LIBRARY && name[0] == '_' && n->name[0] != '_') ||
	    is_listed(n, shown, shown_len) ||
	    (strncmp(n->name, shown, shown_len) == 0 &&
	     n->name[shown_len] == '\0'))
		return;
	edits = count_edits(n->name, n->len, name, len);
	if (len == n->len && strncasecmp(n->name, name, len) == 0)
		edits = least(edits, 1);
	else if (edits > edits_allowed(n->len))
		return;
	/* A library has so many names that one is always near. */
	if (rank == NEAR_LIBRARY && edits > 1)
		return;
	while (at > 0 && is_better(n, at - 1, edits, rank))
		at--;
	if (at == NEAR_BEST)
		return;
	moved = (n->n < NEAR_BEST ? n->n : NEAR_BEST - 1) - at;
	memmove(&n->best[at + 1], &n->best[at], moved * sizeof n->best[0]);
	snprintf(n->best[at].name, NEAR_NAME, "%.*s", (int)shown_len, shown);
	n->best[at].edits = edits;
	n->best[at].rank = rank;
	n->n += n->n < NEAR_BEST;
}

/* What is in a library is not named beside what is in the program. */
void near_text(const struct near *n, char *out, size_t size)
{
	size_t len = 0;

	if (size > 0)
		out[0] = '\0';
	for (size_t i = 0; i < n->n && len < size; i++) {
		if (i > 0 && n->best[i].rank == NEAR_LIBRARY &&
		    n->best[0].rank != NEAR_LIBRARY)
			continue;
		len += (size_t)snprintf(
		    out + len, size - len, "%s'%s'",
		    len > 0 ? ", " : "; near it: ", n->best[i].name);
	}
}
