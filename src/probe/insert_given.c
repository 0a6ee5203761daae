/* probe/insert_given.c - what a process has given up because it may write there
 * itself (native/rewrite.c).
 *
 * The bytes there are the program's business: when hark leaves, it does not
 * touch them, even if they look like those of a probe. A library that goes and
 * comes again has its code anew, and its probes. */
#include "probe/insert_priv.h"

#include "native/home.h"

static bool read_given(const struct door *d, uint64_t home,
		       struct native_given *out)
{
	return remote_read(d, home + offsetof(struct native_home, given), out,
			   sizeof *out, NULL) == 0 &&
	       out->n > 0 && out->n <= NATIVE_GIVEN;
}

void insert_leave_given(const struct insert_left *l, const struct door *d,
			bool *in_place)
{
	struct native_given g;

	if (l->head.home_len < NATIVE_HOME_SIZE ||
	    !read_given(d, l->head.home, &g))
		return;
	for (uint64_t k = 0; k < l->record.changes.n; k++)
		for (uint64_t j = 0; j < g.n && in_place[k]; j++)
			if (collect_depends(&l->change[k], g.at[j].from,
					    g.at[j].to))
				in_place[k] = false;
}

static bool is_new(const struct insertion *i, uint64_t from, uint64_t to)
{
	for (size_t k = i->first.change; k < i->n_changes; k++)
		if (collect_depends(&i->change[k], from, to))
			return true;
	return false;
}

int insert_forget_given(const struct insertion *i, const struct door *d,
			struct hark_err *err)
{
	struct native_given g;
	uint64_t n = 0, was;

	if (!read_given(d, i->home, &g))
		return 0;
	was = g.n;
	for (uint64_t k = 0; k < was; k++)
		if (!is_new(i, g.at[k].from, g.at[k].to))
			g.at[n++] = g.at[k];
	g.n = n;
	return n == was
		   ? 0
		   : remote_write(d,
				  i->home + offsetof(struct native_home, given),
				  &g, sizeof g, err);
}
