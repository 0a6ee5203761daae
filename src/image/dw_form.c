/* image/dw_form.c - values of attributes, and what they mean.
 *
 * F1  Reading a value consumes what its form says or makes the cursor bad;
 *     a form inside a form (indirect) goes one level deep.
 * F2  What a value refers to is looked up through the gates of its section,
 *     so a wild offset is a NULL and not a read. */
#include "image/dw_priv.h"

/* ORDER dw_form: the numbers are DWARF's. */
enum {
	FORM_ADDR = 0x01,
	FORM_BLOCK2 = 0x03,
	FORM_BLOCK4 = 0x04,
	FORM_DATA2 = 0x05,
	FORM_DATA4 = 0x06,
	FORM_DATA8 = 0x07,
	FORM_STRING = 0x08,
	FORM_BLOCK = 0x09,
	FORM_BLOCK1 = 0x0a,
	FORM_DATA1 = 0x0b,
	FORM_FLAG = 0x0c,
	FORM_SDATA = 0x0d,
	FORM_STRP = 0x0e,
	FORM_UDATA = 0x0f,
	FORM_REF_ADDR = 0x10,
	FORM_REF1 = 0x11,
	FORM_REF2 = 0x12,
	FORM_REF4 = 0x13,
	FORM_REF8 = 0x14,
	FORM_REF_UDATA = 0x15,
	FORM_INDIRECT = 0x16,
	FORM_SEC_OFFSET = 0x17,
	FORM_EXPRLOC = 0x18,
	FORM_FLAG_PRESENT = 0x19,
	FORM_STRX = 0x1a,
	FORM_ADDRX = 0x1b,
	FORM_REF_SUP4 = 0x1c,
	FORM_STRP_SUP = 0x1d,
	FORM_DATA16 = 0x1e,
	FORM_LINE_STRP = 0x1f,
	FORM_REF_SIG8 = 0x20,
	FORM_IMPLICIT_CONST = 0x21,
	FORM_LOCLISTX = 0x22,
	FORM_RNGLISTX = 0x23,
	FORM_REF_SUP8 = 0x24,
	FORM_STRX1 = 0x25,
	FORM_STRX4 = 0x28,
	FORM_ADDRX1 = 0x29,
	FORM_ADDRX4 = 0x2c,
	FORM_GNU_ADDR_INDEX = 0x1f01,
	FORM_GNU_STR_INDEX = 0x1f02,
	FORM_GNU_REF_ALT = 0x1f20,
	FORM_GNU_STRP_ALT = 0x1f21,
};

enum { TEXT_LEN_MAX = 64 * 1024 }; /* a longer one is no name */

/* How many bytes a form has: a number, or one of these. */
enum {
	LEN_ULEB = -1,
	LEN_SLEB = -2,
	LEN_TEXT = -3,
	LEN_BLOCK1 = -4,
	LEN_BLOCK2 = -5,
	LEN_BLOCK4 = -6,
	LEN_BLOCK = -7,
	LEN_OFFSET = -8,
	LEN_ADDRESS = -9,
	LEN_REF_ADDR = -10,
};

struct form {
	uint16_t form;
	int8_t len;
	uint8_t class;
};

/* Rows in the order of the numbers; see form_of. */
static const struct form forms[] = {
    {FORM_ADDR, LEN_ADDRESS, DWARF_ADDRESS},
    {FORM_BLOCK2, LEN_BLOCK2, DWARF_BLOCK},
    {FORM_BLOCK4, LEN_BLOCK4, DWARF_BLOCK},
    {FORM_DATA2, 2, DWARF_CONSTANT},
    {FORM_DATA4, 4, DWARF_CONSTANT},
    {FORM_DATA8, 8, DWARF_CONSTANT},
    {FORM_STRING, LEN_TEXT, DWARF_TEXT},
    {FORM_BLOCK, LEN_BLOCK, DWARF_BLOCK},
    {FORM_BLOCK1, LEN_BLOCK1, DWARF_BLOCK},
    {FORM_DATA1, 1, DWARF_CONSTANT},
    {FORM_FLAG, 1, DWARF_CONSTANT},
    {FORM_SDATA, LEN_SLEB, DWARF_CONSTANT},
    {FORM_STRP, LEN_OFFSET, DWARF_TEXT_OFFSET},
    {FORM_UDATA, LEN_ULEB, DWARF_CONSTANT},
    {FORM_REF_ADDR, LEN_REF_ADDR, DWARF_REF},
    {FORM_REF1, 1, DWARF_REF},
    {FORM_REF2, 2, DWARF_REF},
    {FORM_REF4, 4, DWARF_REF},
    {FORM_REF8, 8, DWARF_REF},
    {FORM_REF_UDATA, LEN_ULEB, DWARF_REF},
    {FORM_SEC_OFFSET, LEN_OFFSET, DWARF_CONSTANT},
    {FORM_EXPRLOC, LEN_BLOCK, DWARF_BLOCK},
    {FORM_FLAG_PRESENT, 0, DWARF_CONSTANT},
    {FORM_STRX, LEN_ULEB, DWARF_TEXT_INDEX},
    {FORM_ADDRX, LEN_ULEB, DWARF_ADDRESS_INDEX},
    {FORM_REF_SUP4, 4, DWARF_REF_ALT},
    {FORM_STRP_SUP, LEN_OFFSET, DWARF_TEXT_ALT},
    {FORM_DATA16, 16, DWARF_BLOCK},
    {FORM_LINE_STRP, LEN_OFFSET, DWARF_TEXT_OFFSET},
    {FORM_REF_SIG8, 8, DWARF_SIGNATURE},
    {FORM_IMPLICIT_CONST, 0, DWARF_CONSTANT},
    {FORM_LOCLISTX, LEN_ULEB, DWARF_LOC_INDEX},
    {FORM_RNGLISTX, LEN_ULEB, DWARF_LIST_INDEX},
    {FORM_REF_SUP8, 8, DWARF_REF_ALT},
    {FORM_STRX1, 1, DWARF_TEXT_INDEX},
    {FORM_STRX1 + 1, 2, DWARF_TEXT_INDEX},
    {FORM_STRX1 + 2, 3, DWARF_TEXT_INDEX},
    {FORM_STRX4, 4, DWARF_TEXT_INDEX},
    {FORM_ADDRX1, 1, DWARF_ADDRESS_INDEX},
    {FORM_ADDRX1 + 1, 2, DWARF_ADDRESS_INDEX},
    {FORM_ADDRX1 + 2, 3, DWARF_ADDRESS_INDEX},
    {FORM_ADDRX4, 4, DWARF_ADDRESS_INDEX},
    {FORM_GNU_ADDR_INDEX, LEN_ULEB, DWARF_ADDRESS_INDEX},
    {FORM_GNU_STR_INDEX, LEN_ULEB, DWARF_TEXT_INDEX},
    {FORM_GNU_REF_ALT, LEN_OFFSET, DWARF_REF_ALT},
    {FORM_GNU_STRP_ALT, LEN_OFFSET, DWARF_TEXT_ALT},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

static const struct form *form_of(uint64_t form)
{
	size_t lo = 0, hi = FORMS;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (forms[mid].form == form)
			return &forms[mid];
		if (forms[mid].form < form)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

static int fixed_len(const struct form *f, struct dw_sizes sizes)
{
	switch (f->len) {
	case LEN_OFFSET:
		return sizes.offset;
	case LEN_ADDRESS:
		return sizes.address;
	case LEN_REF_ADDR: /* DWARF 2 had it as an address */
		return sizes.version == 2 ? sizes.address : sizes.offset;
	default:
		return f->len;
	}
}

int dw_form_len(uint64_t form, struct dw_sizes sizes)
{
	const struct form *f = form_of(form);
	int len = f != NULL ? fixed_len(f, sizes) : -1;

	return len < 0 ? -1 : len;
}

static void read_block(struct cursor *c, uint64_t len, struct dw_value *v)
{
	v->text = (const char *)c->at;
	v->len = (size_t)len;
	cursor_skip(c, len);
}

static void read_varying(struct cursor *c, int len, struct dw_value *v)
{
	switch (len) {
	case LEN_ULEB:
		v->u = cursor_uleb(c);
		break;
	case LEN_SLEB:
		v->u = (uint64_t)cursor_sleb(c);
		break;
	case LEN_TEXT:
		v->text = cursor_text(c);
		break;
	case LEN_BLOCK1:
		read_block(c, cursor_u8(c), v);
		break;
	case LEN_BLOCK2:
		read_block(c, cursor_u16(c), v);
		break;
	case LEN_BLOCK4:
		read_block(c, cursor_u32(c), v);
		break;
	default:
		read_block(c, cursor_uleb(c), v);
	}
}

struct dw_value dw_read(struct cursor *c, uint64_t form, int64_t implicit,
			struct dw_sizes sizes, uint64_t unit_offset)
{
	struct dw_value v = {.class = DWARF_NONE};
	const struct form *f;
	int len;

	if (form == FORM_INDIRECT) { /* F1 */
		form = cursor_uleb(c);
		if (form == FORM_IMPLICIT_CONST)
			implicit = cursor_sleb(c);
	}
	f = form_of(form);
	if (f == NULL) {
		cursor_fail(c);
		return v;
	}
	len = fixed_len(f, sizes);
	if (len < 0)
		read_varying(c, len, &v);
	else if (len <= 8)
		v.u = cursor_uint(c, (size_t)len);
	else
		read_block(c, (uint64_t)len, &v);
	if (form == FORM_IMPLICIT_CONST)
		v.u = (uint64_t)implicit;
	if (form == FORM_FLAG_PRESENT)
		v.u = 1;
	if (f->class == DWARF_REF && form != FORM_REF_ADDR)
		v.u += unit_offset;
	v.section = form == FORM_LINE_STRP ? DWARF_LINE_STR : DWARF_STR;
	v.class = c->bad ? DWARF_NONE : (enum dw_class)f->class;
	return v;
}

/* -- What they mean -- */

static const char *text_at(struct dw *d, enum dw_section s, uint64_t offset)
{
	const char *text;

	if (d->section[s] == NULL)
		return NULL;
	text = bytes_text(d->section[s], offset, TEXT_LEN_MAX, NULL);
	return text != NULL && dw_spend(d, strlen(text)) ? text : NULL;
}

/* Number i of an array of len-byte numbers at base. */
static bool array_at(struct dw *d, enum dw_section s, uint64_t base, uint64_t i,
		     unsigned len, uint64_t *out)
{
	struct cursor c;

	if (d->section[s] == NULL || i > d->section[s]->len)
		return false;
	c = dw_window(d, s, base + i * len, len);
	*out = cursor_uint(&c, len);
	return !c.bad;
}

const char *dw_text(struct dw_unit *u, const struct dw_value *v)
{
	struct dw *shared;
	uint64_t offset;

	switch (v->class) {
	case DWARF_TEXT:
		return v->text;
	case DWARF_TEXT_OFFSET:
		return text_at(u->d, v->section, v->u);
	case DWARF_TEXT_INDEX:
		if (!array_at(u->d, DWARF_STR_OFFSETS, u->str_offsets, v->u,
			      u->sizes.offset, &offset))
			return NULL;
		return text_at(u->d, DWARF_STR, offset);
	case DWARF_TEXT_ALT:
		shared = dw_shared(u->d);
		return shared != NULL ? text_at(shared, DWARF_STR, v->u) : NULL;
	default:
		return NULL;
	}
}

bool dw_address(struct dw_unit *u, const struct dw_value *v, uint64_t *out)
{
	/* Addresses of a split unit are with its skeleton. */
	struct dw_unit *who = u->skeleton != NULL ? u->skeleton : u;

	if (v->class == DWARF_ADDRESS) {
		*out = v->u;
		return true;
	}
	return v->class == DWARF_ADDRESS_INDEX &&
	       array_at(who->d, DWARF_ADDR, who->addr_base, v->u,
			u->sizes.address, out);
}

bool dw_target(struct dw_unit *u, const struct dw_value *v,
	       struct dw_unit **unit, uint64_t *offset)
{
	struct dw *d = u->d;

	if (v->class == DWARF_REF_ALT)
		d = dw_shared(d);
	else if (v->class != DWARF_REF)
		return false;
	if (d == NULL)
		return false;
	if (d == u->d && v->u >= u->die && v->u < u->end)
		*unit = u;
	else
		*unit = dw_unit_with(d, v->u);
	*offset = v->u;
	return *unit != NULL;
}
