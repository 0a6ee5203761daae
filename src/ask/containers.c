/* ask/containers.c - containers and strings of C++, as a programmer reads them.
 *
 * B1  Nothing is shown of an address that no field has named.
 * B2  A container in a container counts as a struct in a struct (W1), and reads
 *     of memory are counted for the whole value, so that containers that hold
 *     themselves end. */
#include "ask/containers.h"

#include "ask/containers_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_LEN = 96, WORD = 8, ELEMENT_MAX = 1 << 16 };
/* No container has more; it bounds what is multiplied. */
#define LENGTH_MAX ((uint64_t)1 << 48)

/* -- Fields -- */

bool box_field(struct type t, const char *path, struct type *out,
	       uint64_t *offset)
{
	char name[PATH_LEN];
	struct type_field f;
	uint64_t at = 0;

	while (*path != '\0') {
		size_t len = strcspn(path, ".");

		if (len >= sizeof name)
			return false;
		memcpy(name, path, len);
		name[len] = '\0';
		if (!type_field(t, name, &f) || f.bit_size != 0)
			return false;
		at += f.offset;
		t = f.type;
		path += path[len] == '.' ? len + 1 : len;
	}
	*out = t;
	*offset = at;
	return true;
}

static bool is_wordlike(const struct type_facts *f)
{
	return (f->kind == TYPE_POINTER || f->kind == TYPE_UNSIGNED ||
		f->kind == TYPE_SIGNED || f->kind == TYPE_BOOL ||
		f->kind == TYPE_CHAR) &&
	       f->size > 0 && f->size <= WORD;
}

static struct word word_of(struct type t, const struct type_facts *f,
			   const struct show_part *p, uint64_t offset)
{
	struct word out = {.type = t,
			   .is_known = show_is_known(p, offset, f->size)};

	if (out.is_known)
		memcpy(&out.u, p->bytes + offset, (size_t)f->size);
	return out;
}

bool box_word(const struct box *b, const char *path, struct word *out)
{
	struct type_facts f;
	struct type t;
	uint64_t offset;

	if (!box_field(b->type, path, &t, &offset))
		return false;
	type_look(t, &f);
	if (!is_wordlike(&f))
		return false;
	*out = word_of(t, &f, b->part, offset);
	return true;
}

bool box_word_at(struct shower *w, struct type t, uint64_t addr,
		 const char *path, struct word *out)
{
	uint8_t bytes[WORD] = {0}, known[WORD];
	struct show_part p = {bytes, known, WORD};
	struct type_facts f;
	struct type field;
	uint64_t offset;

	if (!box_field(t, path, &field, &offset))
		return false;
	type_look(field, &f);
	if (!is_wordlike(&f))
		return false;
	show_read(w, addr + offset, bytes, known, (size_t)f.size);
	*out = word_of(field, &f, &p, 0);
	return true;
}

/* -- Parts of texts -- */

void box_put_length(struct shower *w, const struct word *n)
{
	if (n->is_known)
		prose_put(w->out, " of length %" PRIu64, n->u);
	else
		prose_put(w->out, " of length ??");
}

void box_put_count(struct shower *w, const struct word *n)
{
	if (n->is_known)
		prose_put(w->out, " with %" PRIu64 " element%s", n->u,
			  n->u == 1 ? "" : "s");
	else
		prose_put(w->out, " with ?? elements");
}

static void flush_unknown(struct box_listing *l)
{
	uint64_t n = l->unknown;
	uint64_t before = l->n - n;

	l->unknown = 0;
	for (uint64_t i = 0; i < (n >= SHOW_REPEATS ? 1 : n); i++)
		prose_put(l->w->out, "%s??", before + i > 0 ? ", " : "");
	if (n >= SHOW_REPEATS)
		prose_put(l->w->out, " <%" PRIu64 " times>", n);
}

bool box_listing_begin(struct box_listing *l, struct shower *w,
		       struct type type)
{
	struct type_facts f;

	type_look(type, &f);
	*l = (struct box_listing){.w = w, .type = type, .size = f.size};
	if (f.size == 0 || f.size > ELEMENT_MAX)
		return false;
	l->room = calloc(2, (size_t)f.size);
	return l->room != NULL;
}

static void put_element(struct box_listing *l, const struct show_part *p)
{
	struct type key, value;
	uint64_t key_at, value_at;
	struct type_facts kf, vf;
	struct show_part part;

	if (!l->is_map || !box_field(l->type, "first", &key, &key_at) ||
	    !box_field(l->type, "second", &value, &value_at)) {
		show_put(l->w, l->type, p);
		return;
	}
	type_look(key, &kf);
	type_look(value, &vf);
	prose_put(l->w->out, "[");
	part = show_sub(p, key_at, kf.size);
	show_put(l->w, key, &part);
	prose_put(l->w->out, "] = ");
	part = show_sub(p, value_at, vf.size);
	show_put(l->w, value, &part);
}

/* p: the bytes of one more element. */
static bool add_part(struct box_listing *l, const struct show_part *p)
{
	bool is_known = false;

	if (l->n - l->unknown == SHOW_ELEMENTS || l->w->out->is_cut)
		return false;
	for (uint64_t i = 0; i < p->len && !is_known; i++)
		is_known = p->known[i];
	if (!is_known) {
		l->n++;
		return ++l->unknown < SHOW_ELEMENTS;
	}
	flush_unknown(l);
	prose_put(l->w->out, "%s", l->n > 0 ? ", " : "");
	l->n++;
	put_element(l, p);
	return true;
}

bool box_listing_add(struct box_listing *l, uint64_t addr)
{
	struct show_part p = {l->room, l->room + l->size, l->size};

	show_read(l->w, addr, l->room, l->room + l->size, (size_t)l->size);
	return add_part(l, &p);
}

void box_listing_end(struct box_listing *l, bool is_whole, const char *why)
{
	flush_unknown(l);
	if (why != NULL)
		prose_put(l->w->out, "%s%s", l->n > 0 ? ", " : "", why);
	else if (!is_whole)
		prose_put(l->w->out, "%s...", l->n > 0 ? ", " : "");
	free(l->room);
	l->room = NULL;
}

/* n elements in a row, of which some are read. */
static void put_row(struct shower *w, struct type type, uint64_t addr,
		    uint64_t n)
{
	struct box_listing l;
	uint64_t i = 0;

	prose_put(w->out, " = {");
	if (!box_listing_begin(&l, w, type)) {
		prose_put(w->out, "...}");
		return;
	}
	while (i < n && box_listing_add(&l, addr + i * l.size))
		i++;
	box_listing_end(&l, l.n == n, NULL);
	prose_put(w->out, "}");
}

/* -- In one piece -- */

/* The ends of a row: how many elements lie between. */
static enum outcome row_length(const struct word *first,
			       const struct word *last, struct word *out)
{
	struct type_facts f, of;

	type_look(first->type, &f);
	if (f.kind != TYPE_POINTER)
		return BOX_OTHER;
	type_look(f.target, &of);
	if (of.size == 0)
		return BOX_OTHER;
	*out = (struct word){.type = f.target,
			     .is_known = first->is_known && last->is_known};
	if (!out->is_known)
		return BOX_SHOWN;
	if (last->u < first->u || (last->u - first->u) % of.size != 0 ||
	    last->u - first->u > LENGTH_MAX)
		return BOX_DAMAGED;
	out->u = (last->u - first->u) / of.size;
	return BOX_SHOWN;
}

static enum outcome put_bits(const struct box *b, const char *name)
{
	struct word first, last, last_bit, n;
	struct type_facts f;
	uint64_t shown;
	uint8_t byte, known;

	if (!box_word(b, "_M_impl._M_start._M_p", &first) ||
	    !box_word(b, "_M_impl._M_finish._M_p", &last) ||
	    !box_word(b, "_M_impl._M_finish._M_offset", &last_bit))
		return BOX_OTHER;
	if (row_length(&first, &last, &n) != BOX_SHOWN)
		return BOX_DAMAGED;
	type_look(n.type, &f);
	n.is_known = n.is_known && last_bit.is_known;
	n.u = n.u * 8 * f.size + last_bit.u;
	if (last_bit.u >= 8 * f.size)
		return BOX_DAMAGED;
	prose_put(b->w->out, "%s<bool>", name);
	box_put_length(b->w, &n);
	if (!n.is_known || !b->w->s->has_memory)
		return BOX_SHOWN;
	prose_put(b->w->out, " = {");
	shown = n.u < SHOW_ELEMENTS ? n.u : SHOW_ELEMENTS;
	for (uint64_t i = 0; i < shown; i++) {
		show_read(b->w, first.u + i / 8, &byte, &known, 1);
		prose_put(b->w->out, "%s%s", i > 0 ? ", " : "",
			  !known	      ? "??"
			  : byte >> i % 8 & 1 ? "true"
					      : "false");
	}
	prose_put(b->w->out, shown < n.u ? ", ...}" : "}");
	return BOX_SHOWN;
}

static enum outcome put_vector(const struct box *b, const char *name)
{
	struct word first, last, end, n;
	enum outcome o;

	if (!box_word(b, "_M_impl._M_start", &first) ||
	    !box_word(b, "_M_impl._M_finish", &last) ||
	    !box_word(b, "_M_impl._M_end_of_storage", &end))
		return put_bits(b, name);
	o = row_length(&first, &last, &n);
	if (o != BOX_SHOWN)
		return o;
	if (last.is_known && end.is_known && end.u < last.u)
		return BOX_DAMAGED;
	prose_put(b->w->out, "%s", name);
	box_put_length(b->w, &n);
	if (n.is_known && b->w->s->has_memory)
		put_row(b->w, n.type, first.u, n.u);
	return BOX_SHOWN;
}

static enum outcome put_array(const struct box *b, const char *name)
{
	struct type_facts f, of;
	struct show_part one;
	struct box_listing l;
	struct type t;
	uint64_t offset, i = 0;

	if (!box_field(b->type, "_M_elems", &t, &offset))
		return BOX_OTHER;
	type_look(t, &f);
	if (f.kind != TYPE_ARRAY)
		return BOX_OTHER;
	type_look(f.target, &of);
	if (!box_listing_begin(&l, b->w, f.target))
		return BOX_OTHER;
	prose_put(b->w->out, "%s of length %" PRIu64 " = {", name, f.count);
	for (; i < f.count && i <= SHOW_ELEMENTS; i++) {
		one = show_sub(b->part, offset + i * of.size, of.size);
		if (one.len < of.size || !add_part(&l, &one))
			break;
	}
	box_listing_end(&l, l.n == f.count, NULL);
	prose_put(b->w->out, "}");
	return BOX_SHOWN;
}

/* -- Strings -- */

static void put_char(struct prose *out, uint64_t c)
{
	if (c < 256)
		prose_char(out, (unsigned char)c, '"');
	else
		prose_put(out, c < 0x10000 ? "\\u%04" PRIx64 : "\\U%08" PRIx64,
			  c);
}

/* With the letter that the literal would have. False, and nothing is put, if
 * none of it is known. */
static bool put_chars(struct shower *w, struct type type, uint64_t addr,
		      uint64_t n)
{
	uint8_t bytes[SHOW_CHARS * 4], known[SHOW_CHARS * 4];
	struct show_part p = {bytes, known, sizeof bytes};
	uint64_t shown = n < SHOW_CHARS ? n : SHOW_CHARS;
	struct type_facts f;
	struct word c;

	type_look(type, &f);
	if (show_read(w, addr, bytes, known, (size_t)(shown * f.size)) == 0)
		return false;
	prose_put(w->out, "%s\"",
		  f.size == 1	? ""
		  : f.size == 2 ? "u"
		  : f.is_signed ? "L"
				: "U");
	for (uint64_t i = 0; i < shown; i++) {
		c = word_of(type, &f, &p, i * f.size);
		if (c.is_known)
			put_char(w->out, c.u);
		else
			prose_put(w->out, "\"?\?\"");
	}
	prose_put(w->out, shown < n ? "\"..." : "\"");
	return true;
}

static enum outcome put_text(struct shower *w, const struct word *at,
			     const struct word *len, const char *name)
{
	struct type_facts f, of;

	type_look(at->type, &f);
	if (f.kind != TYPE_POINTER)
		return BOX_OTHER;
	type_look(f.target, &of);
	if (of.size != 1 && of.size != 2 && of.size != 4)
		return BOX_OTHER;
	if (len->is_known && len->u > LENGTH_MAX)
		return BOX_DAMAGED;
	if (len->is_known && len->u == 0) {
		prose_put(w->out, "\"\"");
	} else if (!at->is_known || !len->is_known ||
		   !put_chars(w, f.target, at->u, len->u)) {
		prose_put(w->out, "%s", name);
		box_put_length(w, len);
		if (w->s->has_memory)
			prose_put(w->out, " = ??");
	}
	return BOX_SHOWN;
}

/* clang leaves out the class of _M_dataplus, since libstdc++ has it: what is
 * left is a place for one pointer before the length. */
static bool hidden_pointer(const struct box *b, struct word *out)
{
	struct type_facts f, hidden;
	struct type t, of;
	uint64_t at, len_at;

	if (!box_field(b->type, "_M_dataplus", &t, &at) ||
	    !box_field(b->type, "_M_string_length", &of, &len_at) ||
	    !type_argument(b->type, &of))
		return false;
	type_look(t, &hidden);
	if (!hidden.is_incomplete || hidden.name == NULL ||
	    strcmp(hidden.name, "_Alloc_hider") != 0 || len_at - at != WORD)
		return false;
	of.stars++;
	type_look(of, &f);
	*out = word_of(of, &f, b->part, at);
	return true;
}

static enum outcome put_string(const struct box *b, const char *name)
{
	struct word at, len;

	if ((!box_word(b, "_M_dataplus._M_p", &at) &&
	     !hidden_pointer(b, &at)) ||
	    !box_word(b, "_M_string_length", &len))
		return BOX_OTHER;
	return put_text(b->w, &at, &len, name);
}

static enum outcome put_string_view(const struct box *b, const char *name)
{
	struct word at, len;

	if (!box_word(b, "_M_str", &at) || !box_word(b, "_M_len", &len))
		return BOX_OTHER;
	return put_text(b->w, &at, &len, name);
}

/* -- Of one or several things -- */

static void put_inside(const struct box *b, struct type t, uint64_t offset)
{
	struct type_facts f;
	struct show_part p;

	type_look(t, &f);
	p = show_sub(b->part, offset, f.size);
	show_put(b->w, t, &p);
}

static enum outcome put_optional(const struct box *b, const char *name)
{
	struct word engaged;
	struct type t;
	uint64_t offset;

	if (!box_word(b, "_M_payload._M_engaged", &engaged) ||
	    !box_field(b->type, "_M_payload._M_payload._M_value", &t, &offset))
		return BOX_OTHER;
	if (engaged.is_known && engaged.u > 1)
		return BOX_DAMAGED;
	prose_put(b->w->out, "%s = ", name);
	if (!engaged.is_known)
		prose_put(b->w->out, "??");
	else if (engaged.u == 0)
		prose_put(b->w->out, "nullopt");
	else
		put_inside(b, t, offset);
	return BOX_SHOWN;
}

/* What storage that is only bytes is for. */
static struct type stored(struct type t)
{
	struct type_facts f;
	struct type of;

	type_look(t, &f);
	if (f.name != NULL && strncmp(f.name, "__aligned_", 10) == 0 &&
	    type_argument(t, &of))
		return of;
	return t;
}

static enum outcome put_variant(const struct box *b, const char *name)
{
	struct word index;
	struct type t, next;
	struct type_facts f;
	uint64_t offset, at;

	if (!box_word(b, "_M_index", &index) ||
	    !box_field(b->type, "_M_u", &t, &offset))
		return BOX_OTHER;
	type_look(index.type, &f);
	if (!index.is_known) {
		prose_put(b->w->out, "%s = ??", name);
		return BOX_SHOWN;
	}
	if (index.u == UINT64_MAX >> (64 - 8 * f.size)) {
		prose_put(b->w->out, "%s = valueless", name);
		return BOX_SHOWN;
	}
	for (uint64_t i = 0; i < index.u; i++, t = next, offset += at)
		if (i == SHOW_ELEMENTS || !box_field(t, "_M_rest", &next, &at))
			return BOX_DAMAGED;
	if (!box_field(t, "_M_first._M_storage", &next, &at))
		return BOX_DAMAGED;
	prose_put(b->w->out, "%s [index %" PRIu64 "] = ", name, index.u);
	put_inside(b, stored(next), offset + at);
	return BOX_SHOWN;
}

static int count_fields(void *ctx, const struct type_field *f)
{
	unsigned *n = ctx;

	*n += !f->is_base;
	return 0;
}

static enum outcome put_pair(const struct box *b, const char *name)
{
	struct type first, second;
	uint64_t first_at, second_at;
	unsigned n = 0;

	(void)name;
	type_each_field(b->type, count_fields, &n);
	if (n != 2 || !box_field(b->type, "first", &first, &first_at) ||
	    !box_field(b->type, "second", &second, &second_at))
		return BOX_OTHER;
	prose_put(b->w->out, "{first = ");
	put_inside(b, first, first_at);
	prose_put(b->w->out, ", second = ");
	put_inside(b, second, second_at);
	prose_put(b->w->out, "}");
	return BOX_SHOWN;
}

struct base {
	const char *prefix;
	struct type_field found;
	bool has;
};

static int is_base(void *ctx, const struct type_field *f)
{
	struct base *b = ctx;
	size_t len = strlen(b->prefix);
	struct type_facts facts;

	type_look(f->type, &facts);
	if (!f->is_base || facts.name == NULL ||
	    strncmp(facts.name, b->prefix, len) != 0)
		return 0;
	/* gcc writes "<0, ", clang "<0UL, ". */
	len += strspn(facts.name + len, "UL");
	if (facts.name[len] != ',' && facts.name[len] != '>')
		return 0;
	b->found = *f;
	b->has = true;
	return 1;
}

/* A direct base class whose name, with its first argument, is this. */
static bool base_of(struct type t, const char *prefix, struct type *out,
		    uint64_t *offset)
{
	struct base b = {.prefix = prefix};

	type_each_field(t, is_base, &b);
	if (b.has) {
		*out = b.found.type;
		*offset += b.found.offset;
	}
	return b.has;
}

/* The part of a tuple with number i is the head of its i-th base. */
static bool tuple_part(struct type tuple, uint64_t i, struct type *out,
		       uint64_t *offset)
{
	char prefix[32];
	struct type t = tuple;
	uint64_t at = 0, head;

	for (uint64_t k = 0; k <= i; k++) {
		snprintf(prefix, sizeof prefix, "_Tuple_impl<%" PRIu64, k);
		if (!base_of(t, prefix, &t, &at))
			return false;
	}
	snprintf(prefix, sizeof prefix, "_Head_base<%" PRIu64, i);
	if (!base_of(t, prefix, &t, &at))
		return false;
	if (!box_field(t, "_M_head_impl", out, &head)) { /* it is empty */
		*out = t;
		head = 0;
	}
	*offset = at + head;
	return true;
}

static enum outcome put_tuple(const struct box *b, const char *name)
{
	struct type t;
	uint64_t i = 0, offset;

	if (!tuple_part(b->type, 0, &t, &offset))
		return BOX_OTHER;
	prose_put(b->w->out, "%s = {", name);
	for (; i < SHOW_ELEMENTS && tuple_part(b->type, i, &t, &offset); i++) {
		prose_put(b->w->out, "%s", i > 0 ? ", " : "");
		put_inside(b, t, offset);
	}
	prose_put(b->w->out, "}");
	return BOX_SHOWN;
}

/* -- Pointers -- */

/* What a pointer that owns leads to, if its size is known. */
static void put_owned(struct shower *w, const struct word *at)
{
	struct type_facts f, of;
	struct box_listing l;

	if (!at->is_known) {
		prose_put(w->out, "??");
		return;
	}
	if (at->u == 0) {
		prose_put(w->out, "nullptr");
		return;
	}
	type_look(at->type, &f);
	type_look(f.target, &of);
	show_put_pointer(w, f.target, at->u);
	if (!w->s->has_memory || of.kind == TYPE_FUNCTION ||
	    of.kind == TYPE_CHAR || of.kind == TYPE_VOID ||
	    !box_listing_begin(&l, w, f.target))
		return;
	prose_put(w->out, " -> ");
	box_listing_add(&l, at->u);
	box_listing_end(&l, true, NULL);
}

static enum outcome put_unique(const struct box *b, const char *name)
{
	struct type t, pointer;
	uint64_t offset, at;
	struct type_facts f;
	struct word to;

	if (!box_field(b->type, "_M_t._M_t", &t, &offset) ||
	    !tuple_part(t, 0, &pointer, &at))
		return BOX_OTHER;
	type_look(pointer, &f);
	if (f.kind != TYPE_POINTER)
		return BOX_OTHER;
	to = word_of(pointer, &f, b->part, offset + at);
	prose_put(b->w->out, "%s = ", name);
	if (strstr(b->facts->name, "[]") != NULL && to.is_known && to.u != 0)
		show_put_pointer(b->w, f.target, to.u); /* how many: ?? */
	else
		put_owned(b->w, &to);
	return BOX_SHOWN;
}

/* " (use count 2, weak count 0)" of the block that counts the owners. */
static void put_counts(struct shower *w, const struct word *block,
		       struct word *use)
{
	struct type_facts f;
	struct word weak;

	*use = (struct word){0};
	type_look(block->type, &f);
	if (!block->is_known || block->u == 0 ||
	    !box_word_at(w, f.target, block->u, "_M_use_count", use) ||
	    !box_word_at(w, f.target, block->u, "_M_weak_count", &weak) ||
	    !use->is_known || !weak.is_known)
		return;
	/* All who own count as one that does not. */
	prose_put(w->out, " (use count %" PRIu64 ", weak count %" PRIu64 ")",
		  use->u, weak.u - (use->u > 0 && weak.u > 0));
}

static enum outcome put_shared(const struct box *b, const char *name)
{
	struct word at, block, use;
	struct type_facts f;

	if (!box_word(b, "_M_ptr", &at) ||
	    !box_word(b, "_M_refcount._M_pi", &block))
		return BOX_OTHER;
	prose_put(b->w->out, "%s", name);
	put_counts(b->w, &block, &use);
	prose_put(b->w->out, " = ");
	type_look(at.type, &f);
	if (use.is_known && use.u == 0 && at.is_known) /* it is gone */
		show_put_pointer(b->w, f.target, at.u);
	else
		put_owned(b->w, &at);
	return BOX_SHOWN;
}

static enum outcome put_atomic(const struct box *b, const char *name)
{
	static const char *const paths[] = {"_M_i", "_M_base._M_i",
					    "_M_b._M_p"};
	struct type t;
	uint64_t offset;

	(void)name;
	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
		if (box_field(b->type, paths[i], &t, &offset)) {
			put_inside(b, t, offset);
			return BOX_SHOWN;
		}
	return BOX_OTHER;
}

static enum outcome put_map(const struct box *b, const char *name)
{
	return box_tree(b, name, true);
}

static enum outcome put_set(const struct box *b, const char *name)
{
	return box_tree(b, name, false);
}

static enum outcome put_hash_map(const struct box *b, const char *name)
{
	return box_hashed(b, name, true);
}

static enum outcome put_hash_set(const struct box *b, const char *name)
{
	return box_hashed(b, name, false);
}

/* -- The table -- */

static const struct {
	const char *begin; /* of its name in the debug information */
	const char *name;
	enum outcome (*put)(const struct box *b, const char *name);
} kinds[] = {
    {"basic_string<", "std::string", put_string},
    {"basic_string_view<", "std::string_view", put_string_view},
    {"vector<", "std::vector", put_vector},
    {"array<", "std::array", put_array},
    {"map<", "std::map", put_map},
    {"multimap<", "std::multimap", put_map},
    {"set<", "std::set", put_set},
    {"multiset<", "std::multiset", put_set},
    {"unordered_map<", "std::unordered_map", put_hash_map},
    {"unordered_multimap<", "std::unordered_multimap", put_hash_map},
    {"unordered_set<", "std::unordered_set", put_hash_set},
    {"unordered_multiset<", "std::unordered_multiset", put_hash_set},
    {"list<", "std::list", box_list},
    {"forward_list<", "std::forward_list", box_forward_list},
    {"deque<", "std::deque", box_deque},
    {"optional<", "std::optional", put_optional},
    {"variant<", "std::variant", put_variant},
    {"pair<", "std::pair", put_pair},
    {"tuple<", "std::tuple", put_tuple},
    {"unique_ptr<", "std::unique_ptr", put_unique},
    {"shared_ptr<", "std::shared_ptr", put_shared},
    {"weak_ptr<", "std::weak_ptr", put_shared},
    {"atomic<", "std::atomic", put_atomic},
};

static void put_damaged(const struct box *b, const char *name)
{
	prose_put(b->w->out, "%s (damaged) = ", name);
	show_put_struct(b->w, b->type, b->part);
}

bool containers_put(struct shower *w, struct type t,
		    const struct type_facts *facts, const struct show_part *p)
{
	struct box b = {.w = w, .type = t, .facts = facts, .part = p};
	enum outcome o = BOX_OTHER;
	size_t i = 0;

	if (facts->name == NULL || w->depth >= SHOW_NEST)
		return false;
	while (i < sizeof kinds / sizeof kinds[0] &&
	       strncmp(facts->name, kinds[i].begin, strlen(kinds[i].begin)) !=
		   0)
		i++;
	if (i == sizeof kinds / sizeof kinds[0])
		return false;
	w->depth++;
	o = kinds[i].put(&b, kinds[i].name);
	w->depth--;
	if (o == BOX_DAMAGED)
		put_damaged(&b, kinds[i].name);
	return o != BOX_OTHER;
}
