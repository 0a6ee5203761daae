/* record/code_load.c - the code of a process, out of a recording.
 *
 * A process that was forked has its parent's code up to that moment, and so
 * on: the streams of its ancestors are read first, the oldest first. */
#include "record/code.h"

#include "record/stream.h"

#include <stdlib.h>

/* One process of the line, and how far its code is wanted. */
struct ancestor {
	uint32_t process;
	uint64_t up_to;
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

static int add_events(struct code *c, struct record_stream *s, uint64_t up_to,
		      struct hark_err *err)
{
	struct record_event e;
	int rc;

	while ((rc = record_stream_next(s, &e, err)) > 0)
		if (e.type == WIRE_REC_CODE && e.code.serial <= up_to &&
		    code_add(c, e.code.serial, e.code.address, e.bytes, e.len,
			     err) < 0)
			return -1;
	return rc;
}

static int add_process(struct code *c, struct recording *r,
		       const struct ancestor *a, struct hark_err *err)
{
	struct recording_stream *in;
	struct record_stream s;
	const uint8_t *bytes;
	size_t len;
	int rc;

	if (recording_read_process(r, a->process, &in, err) < 0)
		return -1;
	record_stream_init(&s, RECORD_OF_PROCESS);
	while ((rc = recording_stream_next(in, &bytes, &len, err)) > 0) {
		record_stream_feed(&s, bytes, len);
		rc = add_events(c, &s, a->up_to, err);
		if (rc < 0)
			break;
	}
	recording_stream_close(in);
	return rc;
}

/* The line of ancestors, the process itself first. A parent has a smaller
 * number than its child, so that the line ends. */
static unsigned ancestors(const struct recording *r, uint32_t number,
			  struct ancestor *out)
{
	const struct recording_process *p = process_of(r, number);
	uint64_t up_to = UINT64_MAX;
	unsigned n = 0;

	while (p != NULL) {
		out[n++] = (struct ancestor){p->number, up_to};
		if (p->parent == 0 || p->parent >= p->number)
			break;
		up_to = p->serial < up_to ? p->serial : up_to;
		p = process_of(r, p->parent);
	}
	return n;
}

int code_load(struct recording *r, uint32_t process, struct code **out,
	      struct hark_err *err)
{
	struct ancestor *line =
	    calloc((size_t)recording_n_processes(r) + 1, sizeof *line);
	struct code *c = code_new(CODE_MEMORY_MAX);
	unsigned n;
	int rc = -1;

	if (line == NULL || c == NULL) {
		err_set(err, HARK_ENOMEM, 0, "out of memory");
		goto out;
	}
	for (n = ancestors(r, process, line); n > 0; n--)
		if (add_process(c, r, &line[n - 1], err) < 0)
			goto out;
	*out = c;
	c = NULL; /* handed over */
	rc = 0;
out:
	code_free(c);
	free(line);
	return rc;
}
