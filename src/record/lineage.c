/* record/lineage.c - streams of a process and of its ancestors. */
#include "record/lineage.h"

#include <stdlib.h>

/* One process of the line, and how far it counts. */
struct ancestor {
	uint32_t process;
	uint64_t up_to; /* serial number of code */
};

static const struct recording_process *process_of(const struct recording *r,
						  uint32_t number)
{
	unsigned n = recording_n_processes(r);

	/* Usually none is missing. */
	if (number >= 1 && number <= n &&
	    recording_process(r, number - 1)->number == number)
		return recording_process(r, number - 1);
	for (unsigned i = 0; i < n; i++)
		if (recording_process(r, i)->number == number)
			return recording_process(r, i);
	return NULL;
}

/* The process itself first. No line is longer than there are processes,
 * whatever the recording says. */
static unsigned ancestors(const struct recording *r, uint32_t number,
			  struct ancestor *out)
{
	const struct recording_process *p = process_of(r, number);
	uint64_t up_to = UINT64_MAX;
	unsigned n = 0;

	while (p != NULL && n < recording_n_processes(r)) {
		out[n++] = (struct ancestor){p->number, up_to};
		if (p->parent == 0)
			break;
		up_to = p->serial < up_to ? p->serial : up_to;
		p = process_of(r, p->parent);
	}
	return n;
}

static uint64_t serial_of(const struct record_event *e)
{
	switch (e->type) {
	case WIRE_REC_CODE:
		return e->code.serial;
	case WIRE_REC_MAP:
		return e->map.serial;
	default:
		return 0;
	}
}

/* What is told of one process, up to a serial number. */
struct walk {
	uint64_t up_to;
	recording_visit *visit;
	void *ctx; /* borrowed */
	int is_over;
};

static int tell(void *ctx, const struct record_event *e, struct hark_err *err)
{
	struct walk *w = ctx;

	w->is_over = serial_of(e) > w->up_to;
	return w->is_over ? 1 : w->visit(w->ctx, e, err);
}

static int walk_stream(struct recording_stream *in, struct walk *w,
		       struct hark_err *err)
{
	int rc = recording_each(in, RECORD_OF_PROCESS, tell, w, err);

	return w->is_over ? 0 : rc;
}

/* What it began with, and then what came. */
static int walk_one(struct recording *r, const struct ancestor *a,
		    recording_visit *visit, void *ctx, struct hark_err *err)
{
	struct walk w = {a->up_to, visit, ctx, 0};
	struct recording_stream *in;
	int rc;

	if (recording_read_maps(r, a->process, &in, err) < 0)
		return -1;
	rc = walk_stream(in, &w, err);
	if (rc != 0)
		return rc;
	if (recording_read_process(r, a->process, &in, err) < 0)
		return -1;
	return walk_stream(in, &w, err);
}

int lineage_walk(struct recording *r, uint32_t process, recording_visit *visit,
		 void *ctx, struct hark_err *err)
{
	struct ancestor *line =
	    calloc((size_t)recording_n_processes(r) + 1, sizeof *line);
	int rc = 0;

	if (line == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	for (unsigned n = ancestors(r, process, line); n > 0 && rc == 0; n--)
		rc = walk_one(r, &line[n - 1], visit, ctx, err);
	free(line);
	return rc;
}
