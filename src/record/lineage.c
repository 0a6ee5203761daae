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

/* 0: there may be more. 1: the rest does not concern us. */
static int walk_events(struct record_stream *s, uint64_t up_to,
		       lineage_visit *visit, void *ctx, int *answer,
		       struct hark_err *err)
{
	struct record_event e;
	int rc;

	while ((rc = record_stream_next(s, &e, err)) > 0) {
		if (serial_of(&e) > up_to)
			return 1;
		*answer = visit(ctx, &e, err);
		if (*answer != 0)
			return 1;
	}
	return rc;
}

static int walk_stream(struct recording_stream *in, uint64_t up_to,
		       lineage_visit *visit, void *ctx, struct hark_err *err)
{
	struct record_stream s;
	const uint8_t *bytes;
	size_t len;
	int rc, answer = 0;

	record_stream_init(&s, RECORD_OF_PROCESS);
	while ((rc = recording_stream_next(in, &bytes, &len, err)) > 0) {
		record_stream_feed(&s, bytes, len);
		rc = walk_events(&s, up_to, visit, ctx, &answer, err);
		if (rc != 0)
			break;
	}
	recording_stream_close(in);
	return rc < 0 ? rc : answer;
}

/* What it began with, and then what came. */
static int walk_one(struct recording *r, const struct ancestor *a,
		    lineage_visit *visit, void *ctx, struct hark_err *err)
{
	struct recording_stream *in;
	int rc;

	if (recording_read_maps(r, a->process, &in, err) < 0)
		return -1;
	rc = walk_stream(in, a->up_to, visit, ctx, err);
	if (rc != 0)
		return rc;
	if (recording_read_process(r, a->process, &in, err) < 0)
		return -1;
	return walk_stream(in, a->up_to, visit, ctx, err);
}

int lineage_walk(struct recording *r, uint32_t process, lineage_visit *visit,
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
