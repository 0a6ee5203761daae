/* ask/show.c - values as a programmer writes them.
 *
 * W1  Structs in structs are shown SHOW_NEST deep, SHOW_ELEMENTS of an array,
 * SHOW_CHARS of a text; what a reference leads to counts as one in it. The text
 * that is made has a limit too, so a type that claims a million fields ends
 * there.
 */
#include "ask/show.h"

#include "ask/containers.h"
#include "ask/show_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_LEN = 256 };
enum { REFERRED = 1 << 16 }; /* bytes that a reference leads to */

bool show_is_known(const struct show_part *p, uint64_t at, uint64_t len)
{
	if (at > p->len || len > p->len - at)
		return false;
	for (uint64_t i = 0; i < len; i++)
		if (!p->known[at + i])
			return false;
	return true;
}

struct show_part show_sub(const struct show_part *p, uint64_t at, uint64_t len)
{
	if (at > p->len)
		at = p->len;
	if (len > p->len - at)
		len = p->len - at;
	return (struct show_part){p->bytes + at, p->known + at, len};
}

size_t show_read(struct shower *w, uint64_t addr, uint8_t *out, uint8_t *known,
		 size_t len)
{
	const struct ask_source *src = space_source(w->s->space);

	memset(known, 0, len);
	if (!w->s->has_memory || w->reads == SHOW_READS)
		return 0;
	w->reads++;
	return src->read(src->ctx, addr, len, out, known);
}

/* -- Raw -- */

void show_raw(const uint8_t *bytes, const uint8_t *known, uint64_t len,
	      struct prose *out)
{
	struct show_part p = {bytes, known, len};
	uint64_t word = 0;

	if ((len == 1 || len == 2 || len == 4 || len == 8) &&
	    show_is_known(&p, 0, len)) {
		memcpy(&word, bytes, (size_t)len);
		prose_put(out, "0x%" PRIx64, word);
		return;
	}
	for (uint64_t i = 0; i < len && !out->is_cut; i++) {
		if (known[i])
			prose_put(out, "%s%02x", i > 0 ? " " : "", bytes[i]);
		else
			prose_put(out, "%s??", i > 0 ? " " : "");
	}
}

/* -- Numbers -- */

static uint64_t word_of(const struct show_part *p, uint64_t len)
{
	uint64_t v = 0;

	memcpy(&v, p->bytes, len < 8 ? (size_t)len : 8);
	return v;
}

static int64_t extend(uint64_t v, uint64_t bits, bool is_signed)
{
	if (bits == 0 || bits >= 64)
		return (int64_t)v;
	v <<= 64 - bits;
	return is_signed ? (int64_t)v >> (64 - bits)
			 : (int64_t)(v >> (64 - bits));
}

/* As few digits as lead back to the same number. */
static void put_float(struct prose *out, const struct show_part *p,
		      uint64_t size)
{
	char text[64];
	long double wide = 0;
	double d;
	float f;

	if (size == 4) {
		memcpy(&f, p->bytes, 4);
		for (int n = 6; n <= 9; n++) {
			snprintf(text, sizeof text, "%.*g", n, (double)f);
			if (strtof(text, NULL) == f)
				break;
		}
	} else if (size == 8) {
		memcpy(&d, p->bytes, 8);
		for (int n = 15; n <= 17; n++) {
			snprintf(text, sizeof text, "%.*g", n, d);
			if (strtod(text, NULL) == d)
				break;
		}
	} else {
		memcpy(&wide, p->bytes, 10);
		snprintf(text, sizeof text, "%.18Lg", wide);
	}
	prose_put(out, "%s", text);
}

/* Of a long double 10 bytes are used. */
static void put_any_float(struct prose *out, const struct show_part *p,
			  uint64_t size)
{
	if (show_is_known(p, 0, size == 16 ? 10 : size))
		put_float(out, p, size);
	else
		prose_put(out, "??");
}

static void put_wide(struct prose *out, const struct show_part *p)
{
	uint64_t low = word_of(p, 8), high;

	memcpy(&high, p->bytes + 8, 8);
	prose_put(out, "0x%" PRIx64 "%016" PRIx64, high, low);
}

static void put_char(struct prose *out, int64_t v, uint64_t size)
{
	prose_put(out, "%" PRId64, v);
	if (size != 1)
		return;
	prose_put(out, " '");
	prose_char(out, (unsigned char)v, '\'');
	prose_put(out, "'");
}

static void put_enum(struct shower *w, struct type t, int64_t v)
{
	const char *name = type_enumerator(t, v);

	if (name != NULL)
		prose_put(w->out, "%s", name);
	else
		prose_put(w->out, "%" PRId64, v);
}

static void put_integer(struct shower *w, struct type t,
			const struct type_facts *f, int64_t v, uint64_t size)
{
	switch (f->kind) {
	case TYPE_BOOL:
		if (v == 0 || v == 1)
			prose_put(w->out, v != 0 ? "true" : "false");
		else
			prose_put(w->out, "%" PRId64, v);
		break;
	case TYPE_CHAR:
		put_char(w->out, v, size);
		break;
	case TYPE_ENUM:
		put_enum(w, t, v);
		break;
	case TYPE_SIGNED:
		prose_put(w->out, "%" PRId64, v);
		break;
	default:
		prose_put(w->out, "%" PRIu64, (uint64_t)v);
	}
}

/* -- Texts -- */

/* Bytes up to a NUL; all of them if there is none. */
static void put_text(struct prose *out, const struct show_part *p,
		     bool is_whole)
{
	uint64_t n = 0;

	prose_put(out, "\"");
	for (; n < p->len && n < SHOW_CHARS; n++) {
		if (!p->known[n]) {
			prose_put(out, "\"?\?\"");
			continue;
		}
		if (p->bytes[n] == 0)
			break;
		prose_char(out, p->bytes[n], '"');
	}
	prose_put(out, "\"");
	if (n == SHOW_CHARS || (!is_whole && n == p->len))
		prose_put(out, "...");
}

static void put_pointed(struct shower *w, uint64_t addr)
{
	uint8_t bytes[SHOW_CHARS], known[SHOW_CHARS];
	struct show_part p = {bytes, known, 0};

	show_read(w, addr, bytes, known, sizeof bytes);
	while (p.len < SHOW_CHARS && known[p.len] && bytes[p.len] != 0)
		p.len++;
	if (p.len == 0 && (p.len == SHOW_CHARS || !known[0]))
		return; /* not known */
	prose_put(w->out, " ");
	put_text(w->out, &p, p.len < SHOW_CHARS && known[p.len]);
}

static void put_address(const struct space *space, uint64_t addr,
			struct prose *out)
{
	char name[NAME_LEN];

	prose_put(out, "0x%" PRIx64, addr);
	space_name(space, addr, name, sizeof name);
	if (addr != 0 && name[0] != '\0')
		prose_put(out, " <%s>", name);
}

void show_put_pointer(struct shower *w, struct type target, uint64_t addr)
{
	struct type_facts to;

	put_address(w->s->space, addr, w->out);
	type_look(target, &to);
	if (addr != 0 && w->s->has_memory && to.kind == TYPE_CHAR &&
	    to.size == 1)
		put_pointed(w, addr);
}

/* -- Things made of others -- */

static bool is_same(const struct show_part *a, const struct show_part *b)
{
	return a->len == b->len &&
	       memcmp(a->known, b->known, (size_t)a->len) == 0 &&
	       memcmp(a->bytes, b->bytes, (size_t)a->len) == 0;
}

/* How many elements from i on are the same as number i. */
static uint64_t run_of(const struct show_part *p, uint64_t i, uint64_t count,
		       uint64_t size)
{
	struct show_part first = show_sub(p, i * size, size), other;
	uint64_t n = 1;

	for (; i + n < count; n++) {
		other = show_sub(p, (i + n) * size, size);
		if (!is_same(&first, &other))
			break;
	}
	return n;
}

// NOLINTNEXTLINE(misc-no-recursion): W1
static void put_array(struct shower *w, const struct type_facts *f,
		      const struct show_part *p)
{
	struct type_facts of;
	uint64_t shown = 0, i = 0, count = f->count;
	const char *comma = "";

	type_look(f->target, &of);
	if (of.kind == TYPE_CHAR && of.size == 1) {
		put_text(w->out, p, true);
		return;
	}
	if (of.size == 0) {
		prose_put(w->out, "{...}");
		return;
	}
	if (count > p->len / of.size)
		count = p->len / of.size;
	prose_put(w->out, "{");
	while (i < count && shown < SHOW_ELEMENTS && !w->out->is_cut) {
		uint64_t n = run_of(p, i, count, of.size);
		struct show_part one = show_sub(p, i * of.size, of.size);

		prose_put(w->out, "%s", comma);
		show_put(w, f->target, &one);
		if (n >= SHOW_REPEATS)
			prose_put(w->out, " <%" PRIu64 " times>", n);
		i += n >= SHOW_REPEATS ? n : 1;
		shown++;
		comma = ", ";
	}
	prose_put(w->out, i < f->count ? "%s...}" : "}", comma);
}

struct fields {
	struct shower *w;
	const struct show_part *p;
	const char *comma;
};

static void put_bits(struct shower *w, const struct type_field *f,
		     const struct show_part *p)
{
	uint64_t len = (f->bit_shift + f->bit_size + 7) / 8, v;
	struct show_part bytes = show_sub(p, f->offset, len);
	struct type_facts facts;

	if (!show_is_known(p, f->offset, len) || len > 9) {
		prose_put(w->out, "??");
		return;
	}
	type_look(f->type, &facts);
	v = word_of(&bytes, len) >> f->bit_shift;
	if (len == 9)
		v |= (uint64_t)bytes.bytes[8] << (64 - f->bit_shift);
	put_integer(w, f->type, &facts, extend(v, f->bit_size, facts.is_signed),
		    0);
}

// NOLINTNEXTLINE(misc-no-recursion): W1
static int put_field(void *ctx, const struct type_field *f)
{
	struct fields *s = ctx;
	struct type_facts facts;
	struct show_part p;

	prose_put(s->w->out, "%s", s->comma);
	s->comma = ", ";
	type_look(f->type, &facts);
	if (f->is_base)
		prose_put(s->w->out,
			  "<%s> = ", facts.name != NULL ? facts.name : "");
	else if (f->name != NULL)
		prose_put(s->w->out, "%s = ", f->name);
	if (f->bit_size != 0) {
		put_bits(s->w, f, s->p);
	} else {
		p = show_sub(s->p, f->offset, facts.size);
		show_put(s->w, f->type, &p);
	}
	return s->w->out->is_cut;
}

// NOLINTNEXTLINE(misc-no-recursion): W1
void show_put_struct(struct shower *w, struct type t, const struct show_part *p)
{
	struct fields f = {.w = w, .p = p, .comma = ""};

	if (w->depth == SHOW_NEST) {
		prose_put(w->out, "{...}");
		return;
	}
	w->depth++;
	prose_put(w->out, "{");
	type_each_field(t, put_field, &f);
	prose_put(w->out, "}");
	w->depth--;
}

static void put_complex(struct prose *out, const struct show_part *p,
			uint64_t size)
{
	struct show_part real = show_sub(p, 0, size / 2),
			 other = show_sub(p, size / 2, size);

	if (size != 8 && size != 16 && size != 32) {
		show_raw(p->bytes, p->known, p->len, out);
		return;
	}
	put_any_float(out, &real, size / 2);
	prose_put(out, " + ");
	put_any_float(out, &other, size / 2);
	prose_put(out, "i");
}

/* "@0x7ffe1230: " and what is there. */
// NOLINTNEXTLINE(misc-no-recursion): W1
static void put_reference(struct shower *w, const struct type_facts *f,
			  uint64_t addr)
{
	struct type_facts to;
	struct show_part p;
	uint8_t *bytes;

	prose_put(w->out, "@0x%" PRIx64, addr);
	type_look(f->target, &to);
	if (!w->s->has_memory || w->depth == SHOW_NEST || to.size == 0 ||
	    to.size > REFERRED)
		return;
	bytes = calloc(2, (size_t)to.size);
	if (bytes == NULL)
		return;
	p = (struct show_part){bytes, bytes + to.size, to.size};
	show_read(w, addr, bytes, bytes + to.size, (size_t)to.size);
	prose_put(w->out, ": ");
	w->depth++;
	show_put(w, f->target, &p);
	w->depth--;
	free(bytes);
}

// NOLINTNEXTLINE(misc-no-recursion): W1
static void put_scalar(struct shower *w, struct type t,
		       const struct type_facts *f, const struct show_part *p)
{
	uint64_t size = f->size;
	int64_t v;

	if (f->kind == TYPE_COMPLEX) {
		put_complex(w->out, p, size);
		return;
	}
	if (f->kind == TYPE_FLOAT && (size == 4 || size == 8 || size == 16)) {
		put_any_float(w->out, p, size);
		return;
	}
	if (size == 0 || !show_is_known(p, 0, size)) {
		prose_put(w->out, "??");
		return;
	}
	if (size == 16 && f->kind != TYPE_OTHER) {
		put_wide(w->out, p);
		return;
	}
	if (size > 8 || f->kind == TYPE_OTHER || f->kind == TYPE_FLOAT) {
		show_raw(p->bytes, p->known, p->len, w->out);
		return;
	}
	v = extend(word_of(p, size), 8 * size, f->is_signed);
	if (f->kind == TYPE_REFERENCE)
		put_reference(w, f, (uint64_t)v);
	else if (f->kind == TYPE_POINTER)
		show_put_pointer(w, f->target, (uint64_t)v);
	else
		put_integer(w, t, f, v, size);
}

// NOLINTNEXTLINE(misc-no-recursion): W1
void show_put(struct shower *w, struct type t, const struct show_part *p)
{
	struct type_facts f;

	type_look(t, &f);
	switch (f.kind) {
	case TYPE_STRUCT:
	case TYPE_UNION:
		if (f.is_incomplete) {
			prose_put(w->out, "<incomplete type>");
			break;
		}
		if (w->s->is_raw || !containers_put(w, t, &f, p))
			show_put_struct(w, t, p);
		break;
	case TYPE_ARRAY:
		put_array(w, &f, p);
		break;
	case TYPE_VOID:
	case TYPE_FUNCTION:
		show_raw(p->bytes, p->known, p->len, w->out);
		break;
	default:
		put_scalar(w, t, &f, p);
	}
}

void show_bytes(const struct show *s, struct type t, const uint8_t *bytes,
		const uint8_t *known, uint64_t len, struct prose *out)
{
	struct shower w = {.s = s, .out = out};
	struct show_part p = {bytes, known, len};

	type_begin(t);
	show_put(&w, t, &p);
}

void show_bits(const struct show *s, const struct value *v,
	       const uint8_t *bytes, const uint8_t *known, uint64_t len,
	       struct prose *out)
{
	struct type_field f = {.type = v->type,
			       .bit_size = v->bit_size,
			       .bit_shift = v->bit_shift};
	struct shower w = {.s = s, .out = out};
	struct show_part p = {bytes, known, len};

	type_begin(v->type);
	put_bits(&w, &f, &p);
}

/* -- Values -- */

/* Several of a kind in a row, as an array is shown. */
static void put_repeated(struct shower *w, const struct value *v,
			 const struct show_part *p)
{
	struct type_facts f = {
	    .kind = TYPE_ARRAY, .target = v->type, .count = v->repeated};

	type_begin(v->type);
	put_array(w, &f, p);
}

static void put_value(const struct eval *e, const struct value *v,
		      const struct show_part *p, struct prose *out)
{
	struct show s = {
	    .space = e->space, .has_memory = true, .is_raw = e->is_raw};
	struct shower w = {.s = &s, .out = out};
	struct type_facts facts;
	int64_t n;

	if (v->is_address) {
		put_address(e->space, v->place.piece[0].u, out);
	} else if (!v->is_typed) {
		show_raw(p->bytes, p->known, p->len, out);
	} else if (v->repeated != 0) {
		put_repeated(&w, v, p);
	} else if (v->bit_size != 0) {
		type_look(v->type, &facts);
		if (eval_number(e, v, &n) < 0)
			prose_put(out, "??");
		else
			put_integer(&w, v->type, &facts, n, 0);
	} else {
		show_bytes(&s, v->type, p->bytes, p->known, p->len, out);
	}
}

int show_value(const struct eval *e, const struct value *v, struct prose *out,
	       struct hark_err *err)
{
	uint64_t len = v->len < SHOW_LEN_MAX ? v->len : SHOW_LEN_MAX;
	uint8_t *bytes = calloc(2, (size_t)len + 1);
	struct show_part p;

	if (bytes == NULL)
		return err_set(err, HARK_ENOMEM, 0, "no memory for a value");
	p = (struct show_part){bytes, bytes + len, len};
	if (v->place.n == 1 && v->place.piece[0].kind == EXPR_NOWHERE &&
	    !v->place.missing) {
		prose_put(out, "<optimized out>");
	} else {
		eval_read(e, v, 0, bytes, bytes + len, (size_t)len);
		put_value(e, v, &p, out);
	}
	free(bytes);
	return 0;
}

/* -- Paths -- */

struct within {
	uint64_t offset, len;
	struct type_field found;
	bool has;
};

static int holds(void *ctx, const struct type_field *f)
{
	struct within *w = ctx;
	struct type_facts facts;

	type_look(f->type, &facts);
	if (f->bit_size != 0 || w->offset < f->offset ||
	    w->offset - f->offset > facts.size ||
	    w->len > facts.size - (w->offset - f->offset))
		return 0;
	w->found = *f;
	w->has = true;
	return 1;
}

/* One step from t towards the bytes; false: they are no part of it. */
static bool step_into(struct type *t, uint64_t *offset, uint64_t len,
		      struct prose *out)
{
	struct within w = {.offset = *offset, .len = len};
	struct type_facts f, of;

	type_look(*t, &f);
	if (f.kind == TYPE_ARRAY) {
		type_look(f.target, &of);
		if (of.size == 0 || *offset % of.size + len > of.size)
			return false;
		if (out != NULL)
			prose_put(out, "[%" PRIu64 "]", *offset / of.size);
		*offset %= of.size;
		*t = f.target;
		return true;
	}
	if (f.kind != TYPE_STRUCT && f.kind != TYPE_UNION)
		return false;
	type_each_field(*t, holds, &w);
	if (!w.has)
		return false;
	if (out != NULL && w.found.name != NULL && !w.found.is_base)
		prose_put(out, ".%s", w.found.name);
	*offset -= w.found.offset;
	*t = w.found.type;
	return true;
}

static struct type walk(struct type t, uint64_t *offset, uint64_t len,
			struct prose *out)
{
	type_begin(t);
	for (int i = 0; i < SHOW_NEST; i++) {
		struct type_facts f;

		type_look(t, &f);
		if ((*offset == 0 && len >= f.size) ||
		    !step_into(&t, offset, len, out))
			break;
	}
	return t;
}

void show_path(struct type t, uint64_t offset, uint64_t len, struct prose *out)
{
	walk(t, &offset, len, out);
}

struct type show_type_at(struct type t, uint64_t offset, uint64_t len,
			 uint64_t *part_offset)
{
	uint64_t left = offset;

	t = walk(t, &left, len, NULL);
	*part_offset = offset - left;
	return t;
}
