/* image/usdt.c - reads .note.stapsdt. */
#include "image/usdt.h"

#include "image/cursor_priv.h"
#include "image/image_priv.h"

#include <string.h>

enum { NOTE_TYPE = 3 };

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
