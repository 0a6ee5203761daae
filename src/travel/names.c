/* travel/names.c - what threads are called at a moment.
 *
 * A recording tells every name with the moment at which it was given: there are
 * few, and they are read at once. */
#include "travel/timeline.h"

#include "record/stream.h"

#include <stdlib.h>
#include <string.h>

struct travel_names {
	uint32_t process;
	struct wire_rec_name *at; /* owned, as they came */
	unsigned n, room;
	struct travel_names *next; /* owned: of another process */
};

void travel_names_free(struct travel_names *n)
{
	while (n != NULL) {
		struct travel_names *next = n->next;

		free(n->at);
		free(n);
		n = next;
	}
}

static int add(struct travel_names *n, const struct wire_rec_name *name)
{
	if (n->n == n->room) {
		unsigned room = n->room == 0 ? 16 : 2 * n->room;
		struct wire_rec_name *more =
		    reallocarray(n->at, room, sizeof *more);

		if (more == NULL)
			return -1;
		n->at = more;
		n->room = room;
	}
	n->at[n->n++] = *name;
	return 0;
}

static int see(void *ctx, const struct record_event *e, struct hark_err *err)
{
	(void)err;
	return e->type == WIRE_REC_NAME ? add(ctx, &e->name) : 0;
}

/* As far as it can be read. */
static void load(struct recording *r, struct travel_names *n)
{
	struct hark_err ignored = {0};
	struct recording_stream *in;

	if (recording_read_process(r, n->process, &in, &ignored) == 0)
		recording_each(in, RECORD_OF_PROCESS, see, n, &ignored);
}

static struct travel_names *names_of(struct hark_recording *r, uint32_t process)
{
	struct travel_names *n = r->names;

	while (n != NULL && n->process != process)
		n = n->next;
	if (n != NULL)
		return n;
	n = calloc(1, sizeof *n);
	if (n == NULL)
		return NULL;
	n->process = process;
	n->next = r->names;
	r->names = n;
	load(r->r, n);
	return n;
}

static int is_given(struct timeline *t, const struct wire_rec_name *name)
{
	struct hark_position here = timeline_where(t);
	struct hark_position then = {t->process, name->by, name->count, 0};

	if (name->by == 0)
		return 1;
	if (name->by == here.thread)
		return name->count < here.count;
	return timeline_position_compare(t, &then, &here) < 0;
}

static const char *program_name(const struct timeline *t)
{
	struct recording *r = t->rec->r;

	for (unsigned i = 0; i < recording_n_processes(r); i++)
		if (recording_process(r, i)->number == t->process)
			return recording_process(r, i)->comm;
	return "";
}

const char *timeline_thread_name(struct timeline *t, uint32_t thread)
{
	const struct travel_names *n = names_of(t->rec, t->process);
	const struct lane *l = travel_lane(t, thread);
	const char *found = program_name(t);

	for (unsigned i = 0; n != NULL && l != NULL && i < n->n; i++) {
		const struct wire_rec_name *name = &n->at[i];

		if ((name->thread != 0 ? name->thread == thread
				       : name->tid == l->about.tid) &&
		    is_given(t, name))
			found = name->name;
	}
	return found;
}
