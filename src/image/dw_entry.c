/* image/dw_entry.c - one entry of debug information, and its kin.
 *
 * Entries are looked at in place: nothing of them is kept, and an attribute
 * is found by reading those before it. Whoever needs an entry of a million
 * (dw_names.c, dw_scopes.c) reads them all in one pass instead.
 *
 * E1  Every entry that is read is paid for (U4), so circles of references
 *     end, whoever walks them.
 * E2  What an entry refers to for what it does not say itself (declaration,
 *     abstract origin) is followed CHAIN times at most. */
#include "image/dw_priv.h"

enum { CHAIN = 16, DEPTH = 512 };

/* The bytes of the unit from its header on, or NULL. */
static const uint8_t *whole_of(struct dw_unit *u)
{
	struct cursor c;

	if (u->whole == NULL) {
		c = dw_window(u->d, DWARF_INFO, u->offset, u->end - u->offset);
		if (cursor_left(&c) == u->end - u->offset)
			u->whole = c.at;
	}
	return u->whole;
}

bool dw_entry_at(struct dw_unit *u, uint64_t die, struct dw_entry *out)
{
	const uint8_t *whole;
	struct cursor c;
	uint64_t code;

	if (die < u->die || die >= u->end || !dw_has_abbrevs(u, NULL))
		return false;
	whole = whole_of(u);
	if (whole == NULL)
		return false;
	c = cursor_of(whole + (die - u->offset), (size_t)(u->end - die));
	code = cursor_uleb(&c);
	if (c.bad || code == 0)
		return false;
	*out = (struct dw_entry){.u = u,
				 .die = die,
				 .decl = dw_decl_of(u->abbrevs, code),
				 .attrs = c};
	return out->decl != NULL && dw_spend(u->d, 1 + out->decl->n); /* E1 */
}

static const struct dw_attr *attrs_of(const struct dw_entry *e)
{
	return e->decl->n > 0 ? e->u->abbrevs->attrs.at + e->decl->first : NULL;
}

struct dw_value dw_entry_get(const struct dw_entry *e, uint16_t name)
{
	const struct dw_attr *a = attrs_of(e);
	struct cursor c = e->attrs;

	for (uint32_t i = 0; i < e->decl->n && !c.bad; i++) {
		struct dw_value v = dw_read(&c, a[i].form, a[i].implicit,
					    e->u->sizes, e->u->offset);

		if (a[i].name == name)
			return v;
	}
	return (struct dw_value){.class = DWARF_NONE};
}

/* -- References -- */

bool dw_entry_follow(const struct dw_entry *e, uint16_t name,
		     struct dw_entry *out)
{
	struct dw_value v = dw_entry_get(e, name);
	struct dw_unit *u;
	uint64_t die;

	if (v.class == DWARF_SIGNATURE) {
		u = dw_unit_signed(e->u->d, v.u);
		return u != NULL && dw_entry_at(u, u->type_die, out);
	}
	return dw_target(e->u, &v, &u, &die) && dw_entry_at(u, die, out);
}

/* The entry that says what e does not; E2. */
static bool origin_of(const struct dw_entry *e, struct dw_entry *out)
{
	return dw_entry_follow(e, AT_ABSTRACT_ORIGIN, out) ||
	       dw_entry_follow(e, AT_SPECIFICATION, out);
}

struct dw_value dw_entry_seek(const struct dw_entry *e, uint16_t name,
			      struct dw_unit **from)
{
	struct dw_entry at = *e, next;
	struct dw_value v = dw_entry_get(&at, name);

	for (int i = 0; i < CHAIN && v.class == DWARF_NONE; i++) {
		if (!origin_of(&at, &next))
			break;
		at = next;
		v = dw_entry_get(&at, name);
	}
	if (from != NULL)
		*from = at.u;
	return v;
}

const char *dw_entry_name(const struct dw_entry *e)
{
	struct dw_unit *u;
	struct dw_value v = dw_entry_seek(e, AT_NAME, &u);

	return dw_text(u, &v);
}

/* -- Kin -- */

/* The offset behind the attributes; 0: they are damaged. */
static uint64_t behind(const struct dw_entry *e)
{
	const struct dw_attr *a = attrs_of(e);
	struct cursor c = e->attrs;

	if (e->decl->fixed >= 0)
		cursor_skip(&c, (uint64_t)e->decl->fixed);
	for (uint32_t i = 0; e->decl->fixed < 0 && i < e->decl->n; i++)
		dw_read(&c, a[i].form, a[i].implicit, e->u->sizes,
			e->u->offset);
	return c.bad ? 0 : e->u->offset + (uint64_t)(c.at - e->u->whole);
}

bool dw_entry_child(const struct dw_entry *e, struct dw_entry *out)
{
	uint64_t at = e->decl->has_children ? behind(e) : 0;

	return at != 0 && dw_entry_at(e->u, at, out);
}

/* Is there a 0, the end of a list of children, at this offset? */
static bool is_end(const struct dw_unit *u, uint64_t at)
{
	return at < u->end && u->whole[at - u->offset] == 0;
}

bool dw_entry_next(const struct dw_entry *e, struct dw_entry *out)
{
	struct dw_value sibling = dw_entry_get(e, AT_SIBLING);
	struct dw_entry at = *e;
	unsigned depth = 0;
	uint64_t next;

	if (sibling.class == DWARF_REF && sibling.u > e->die)
		return dw_entry_at(e->u, sibling.u, out);
	for (;;) {
		next = behind(&at);
		if (next == 0)
			return false;
		depth += at.decl->has_children;
		while (depth > 0 && is_end(e->u, next)) {
			depth--;
			next++;
		}
		if (depth == 0)
			return dw_entry_at(e->u, next, out);
		if (depth == DEPTH || !dw_entry_at(e->u, next, &at))
			return false;
	}
}

bool dw_entry_after(const struct dw_entry *e, struct dw_entry *out)
{
	uint64_t at = behind(e);

	while (at != 0 && is_end(e->u, at))
		at++;
	return at != 0 && dw_entry_at(e->u, at, out);
}
