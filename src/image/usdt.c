/* image/usdt.c - reads .note.stapsdt. */
#include "image/usdt.h"

#include "image/cursor_priv.h"
#include "image/image_priv.h"

#include <stdlib.h>
#include <string.h>

enum { NOTE_TYPE = 3 };

/* -- Arguments -- */

struct register_name {
	char name[4];
	uint8_t number, high;
};

/* Of all widths: what size is read says the number before the '@'. */
static const struct register_name register_names[] = {
    {"rax", 0, 0},	  {"eax", 0, 0}, {"ax", 0, 0},	{"al", 0, 0},
    {"ah", 0, 1},	  {"rcx", 1, 0}, {"ecx", 1, 0}, {"cx", 1, 0},
    {"cl", 1, 0},	  {"ch", 1, 1},	 {"rdx", 2, 0}, {"edx", 2, 0},
    {"dx", 2, 0},	  {"dl", 2, 0},	 {"dh", 2, 1},	{"rbx", 3, 0},
    {"ebx", 3, 0},	  {"bx", 3, 0},	 {"bl", 3, 0},	{"bh", 3, 1},
    {"rsp", 4, 0},	  {"esp", 4, 0}, {"sp", 4, 0},	{"spl", 4, 0},
    {"rbp", 5, 0},	  {"ebp", 5, 0}, {"bp", 5, 0},	{"bpl", 5, 0},
    {"rsi", 6, 0},	  {"esi", 6, 0}, {"si", 6, 0},	{"sil", 6, 0},
    {"rdi", 7, 0},	  {"edi", 7, 0}, {"di", 7, 0},	{"dil", 7, 0},
    {"rip", USDT_RIP, 0},
};

/* %r8 to %r15, with d, w or b behind. */
static bool numbered_register(const char *name, size_t len, uint8_t *out)
{
	char *end;
	unsigned long n;

	if (len < 2 || name[0] != 'r' || name[1] < '1' || name[1] > '9')
		return false;
	n = strtoul(name + 1, &end, 10);
	if (end < name + len && strchr("dwb", *end) != NULL)
		end++;
	if (n < 8 || n > 15 || end != name + len)
		return false;
	*out = (uint8_t)n;
	return true;
}

static size_t name_len(const char *text)
{
	return strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789");
}

/* A register at **text, with its %; *text is moved behind it. */
static bool read_register(const char **text, uint8_t *number, uint8_t *high)
{
	const char *name = *text + 1;
	size_t len;

	if (**text != '%')
		return false;
	len = name_len(name);
	*text = name + len;
	*high = 0;
	for (size_t i = 0; i < sizeof register_names / sizeof *register_names;
	     i++) {
		const struct register_name *r = &register_names[i];

		if (len < sizeof r->name && memcmp(r->name, name, len) == 0 &&
		    r->name[len] == '\0') {
			*number = r->number;
			*high = r->high;
			return true;
		}
	}
	return numbered_register(name, len, number);
}

static bool read_number(const char **text, int64_t *out)
{
	char *end;

	*out = strtoll(*text, &end, 0);
	if (end == *text)
		return false;
	*text = end;
	return true;
}

/* disp(base,index,scale), the rest of it after disp. */
static bool read_address(const char **text, struct usdt_arg *a)
{
	static const char scales[] = "1248";
	uint8_t high;

	if (**text != '(')
		return false;
	++*text;
	if (**text == '%' && !read_register(text, &a->base, &high))
		return false;
	if (**text == ',') {
		++*text;
		if (!read_register(text, &a->index, &high))
			return false;
		if (**text == ',') {
			const char *s;

			++*text;
			s = strchr(scales, **text);
			if (**text == '\0' || s == NULL)
				return false;
			a->scale = (uint8_t)(s - scales);
			++*text;
		}
	}
	if (**text != ')')
		return false;
	++*text;
	return true;
}

/* What is behind the '@'. */
static bool read_operand(const char **text, struct usdt_arg *a)
{
	if (**text == '$') {
		++*text;
		a->kind = USDT_CONSTANT;
		return read_number(text, &a->value);
	}
	if (**text == '%') {
		a->kind = USDT_REGISTER;
		return read_register(text, &a->base, &a->high) &&
		       a->base != USDT_RIP;
	}
	a->kind = USDT_MEMORY;
	if (**text != '(' && !read_number(text, &a->value))
		return false; /* a symbol: the assembler knew it */
	return **text != '(' || read_address(text, a);
}

bool usdt_parse(const char **text, struct usdt_arg *out)
{
	struct usdt_arg a = {
	    .size = 8, .base = USDT_NOREG, .index = USDT_NOREG};
	const char *at = *text + strspn(*text, " \t"), *end;
	int64_t size = 0, magnitude;

	if (*at == '\0')
		return false;
	end = at + strcspn(at, " \t");
	*text = end;
	if (memchr(at, '@', (size_t)(end - at)) != NULL) {
		bool numbered = read_number(&at, &size);

		magnitude = size < 0 ? -size : size;
		if (!numbered || *at != '@' || magnitude == 0 ||
		    magnitude > 8 || (magnitude & (magnitude - 1)) != 0) {
			*out = a;
			return true;
		}
		a.is_signed = size < 0;
		a.size = (uint8_t)magnitude;
		at++;
	}
	if (!read_operand(&at, &a) || at != end)
		a = (struct usdt_arg){
		    .size = a.size, .base = USDT_NOREG, .index = USDT_NOREG};
	*out = a;
	return true;
}

/* -- Notes -- */

/* A string of the note; NULL if it does not end in it. */
static const char *read_text(struct cursor *c)
{
	const char *text = (const char *)c->at;
	const uint8_t *end = memchr(c->at, '\0', cursor_left(c));

	if (end == NULL) {
		cursor_fail(c);
		return NULL;
	}
	c->at = end + 1;
	return text;
}

static bool read_note(struct cursor c, uint64_t base, struct usdt *out)
{
	struct usdt u = {.addr = cursor_u64(&c)};
	uint64_t linked = cursor_u64(&c);
	const char *at;

	u.semaphore = cursor_u64(&c);
	u.provider = read_text(&c);
	u.name = read_text(&c);
	u.text = read_text(&c);
	if (c.bad || u.text == NULL)
		return false;
	if (base != 0 && linked != 0) {
		u.addr += base - linked;
		u.semaphore += u.semaphore != 0 ? base - linked : 0;
	}
	at = u.text;
	while (u.n_args < USDT_ARGS && usdt_parse(&at, &u.arg[u.n_args]))
		u.n_args++;
	*out = u;
	return true;
}

static uint64_t base_of(struct elf *e)
{
	const struct elf_section *s = elf_section(e, ".stapsdt.base");

	return s != NULL ? s->h.sh_addr : 0;
}

static uint64_t padded(uint64_t n)
{
	return (n + 3) & ~(uint64_t)3;
}

int usdt_each(struct image_file *f,
	      int (*visit)(void *ctx, const struct usdt *u), void *ctx,
	      struct hark_err *err)
{
	struct elf_section *s = elf_section(f->elf, ".note.stapsdt");
	struct bytes *b;
	const uint8_t *all;
	struct cursor c;
	int rc = 0;

	if (s == NULL)
		return 0;
	b = elf_contents(f->elf, s, err);
	all = b != NULL ? bytes_need(b, 0, b->len, err) : NULL;
	if (all == NULL)
		return -1;
	c = cursor_of(all, b->len);
	while (rc == 0 && cursor_left(&c) > 0) {
		uint32_t name = cursor_u32(&c), desc = cursor_u32(&c);
		uint32_t type = cursor_u32(&c);
		const uint8_t *at = c.at;
		struct usdt u;

		cursor_skip(&c, padded(name));
		if (c.bad || desc > cursor_left(&c))
			return 0; /* cut off */
		if (type == NOTE_TYPE && name == sizeof "stapsdt" &&
		    memcmp(at, "stapsdt", name) == 0 &&
		    read_note(cursor_of(c.at, desc), base_of(f->elf), &u))
			rc = visit(ctx, &u);
		cursor_skip(&c, padded(desc));
	}
	return rc;
}
