/* travel/ask.c - the last write to a range of memory. */
#include "travel/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* -- The last write -- */

/* The last write to the range before the moment, which goes there: 1. */
static int find_write(struct timeline *t, uint64_t address, uint64_t len,
		      struct hit *out, struct hark_err *err)
{
	struct stop *stops = t->stops;
	unsigned n = t->n_stops, room = t->room_stops;
	struct hark_stopped stopped;
	struct hark_error why = {0};
	int rc;

	t->stops = NULL;
	t->n_stops = t->room_stops = 0;
	timeline_watch(t, address, len, HARK_ON_WRITE, HARK_ANY_THREAD, NULL,
		       NULL);
	rc = timeline_run(t, HARK_BACKWARD, &stopped, &why);
	if (rc == 0 && stopped.why == HARK_STOP_WATCH) {
		*out = (struct hit){.count = t->here.count,
				    .pc = t->here.pc,
				    .address = stopped.address,
				    .size = stopped.size,
				    .is_write = 1};
		rc = 1;
	} else if (rc < 0) {
		err_set(err,
			why.code == HARK_ERROR_STOPPED	 ? HARK_ETIME
			: why.code == HARK_ERROR_MACHINE ? HARK_ELACKS
							 : HARK_EBUG,
			0, "%s", why.text);
	}
	free(t->stops);
	t->stops = stops;
	t->n_stops = n;
	t->room_stops = room;
	return rc;
}

/* A range, and since when its pages are what they are. */
struct since {
	uint64_t address, end;
	uint64_t first_page;
	const struct fresh_event **pages; /* owned; NULL: ever since */
};

static uint64_t page_of(uint64_t address)
{
	return address >> 12;
}

static int find_since(struct timeline *t, struct since *s, struct hark_err *err)
{
	uint64_t n = page_of(s->end - 1) - page_of(s->address) + 1;

	s->first_page = page_of(s->address);
	s->pages = calloc(n, sizeof(struct fresh_event *));
	if (s->pages == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	travel_fresh_at(t, travel_turn(t, err));
	for (uint64_t i = 0; i < n; i++)
		s->pages[i] = travel_fresh_of(
		    t, i == 0 ? s->address : (s->first_page + i) << 12);
	return 0;
}

/* At the moment, is what is there now there? */
static int is_there(const struct timeline *t, const struct since *s,
		    uint64_t address)
{
	const struct fresh_event *e =
	    s->pages[page_of(address) - s->first_page];

	return e == NULL || travel_fresh_is_past(t, e);
}

/* What is not, is left out at both ends. */
static void cut(const struct timeline *t, struct since *s)
{
	while (s->address < s->end && !is_there(t, s, s->address))
		s->address = (page_of(s->address) + 1) << 12;
	while (s->address < s->end && !is_there(t, s, s->end - 1))
		s->end = page_of(s->end - 1) << 12;
}

/* Does it write anything of what is there? */
static int counts(const struct timeline *t, const struct since *s,
		  const struct hit *hit)
{
	uint64_t at = hit->address > s->address ? hit->address : s->address;
	uint64_t end = hit->address + hit->size;

	for (; at < end && at < s->end; at = (page_of(at) + 1) << 12)
		if (is_there(t, s, at))
			return 1;
	return 0;
}

/* What was written to memory that is no more does not count. */
static int last_write(struct timeline *t, uint64_t address, uint64_t len,
		      struct hark_access *out, struct hark_err *err)
{
	struct since s = {.address = address, .end = address + len};
	struct hit hit = {0};
	int rc = s.end > s.address ? find_since(t, &s, err) : 0;

	while (rc == 0 && s.address < s.end) {
		rc = find_write(t, s.address, s.end - s.address, &hit, err);
		if (rc <= 0)
			break;
		travel_fresh_at(t, travel_turn(t, err));
		rc = counts(t, &s, &hit);
		cut(t, &s);
	}
	free(s.pages);
	if (rc == 1 && err->code == HARK_OK)
		rc =
		    travel_access(t, &t->lanes[t->selected], &hit, out, err) < 0
			? -1
			: 1;
	return err->code == HARK_OK ? rc : -1;
}

/* Of this process; and then, of those that it has the bytes from. */
int timeline_last_write(struct timeline *t, uint64_t address, uint64_t len,
			struct hark_access *out, struct hark_error *err)
{
	struct hark_err why = {0};
	int rc = 0;

	while (rc == 0 && t != NULL) {
		struct travel_stay here = travel_stay(t);

		rc = last_write(t, address, len, out, &why);
		travel_come_back(t, &here);
		if (rc == 0)
			t = travel_inherited_from(t, address, len, &why);
	}
	return why.code != HARK_OK ? travel_failed(&why, err) : rc;
}
