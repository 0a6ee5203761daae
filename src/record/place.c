/* record/place.c - which file a recorded address belongs to. */
#include "record/place.h"

#include "base/fmt.h"
#include "record/lineage.h"

#include <string.h>

struct search {
	uint64_t epoch, address;
	char *text; /* borrowed */
	size_t size;
};

static int covers(uint64_t start, uint64_t end, uint64_t address)
{
	return start <= address && address < end;
}

/* The last one to speak of the address is right. */
static int look(void *ctx, const struct record_event *e, struct hark_err *err)
{
	struct search *s = ctx;
	const uint8_t *name;
	uint64_t offset;
	size_t len;

	(void)err;
	if (e->type == WIRE_REC_UNMAP && !(e->info & WIRE_UNMAP_EMPTY) &&
	    covers(e->unmap.start, e->unmap.end, s->address))
		s->text[0] = '\0';
	if (e->type != WIRE_REC_MAP || e->map.serial > s->epoch ||
	    !covers(e->map.start, e->map.end, s->address))
		return 0;
	s->text[0] = '\0';
	offset = s->address - e->map.start + e->map.offset;
	name = e->len > 0 ? memrchr(e->bytes, '/', e->len) : NULL;
	name = name == NULL ? e->bytes : name + 1;
	len = e->len - (size_t)(name - e->bytes);
	if (len > 0)
		fmt_text(s->text, s->size, " (%.*s+0x%llx)",
			 (int)(len < 64 ? len : 64), (const char *)name,
			 (unsigned long long)offset);
	return 0;
}

void place_text(struct recording *r, uint32_t process, uint64_t epoch,
		uint64_t address, char *text, size_t size)
{
	struct search s = {epoch, address, text, size};
	struct hark_err ignored;

	text[0] = '\0';
	lineage_walk(r, process, look, &s, &ignored);
}
