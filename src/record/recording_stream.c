/* record/recording_stream.c - the records of a segment or a process.
 *
 * One chunk at a time is in memory. Its checksums are right, but who made it?
 * So that nobody has to ask twice, each chunk is walked from record to record
 * before it is handed out: what comes is whole records. */
#include "record/recording_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct recording_stream {
	const struct recording *recording; /* borrowed */
	uint32_t next, end;		   /* of the sorted chunks */
	struct file_room stored, plain;
};

static int open_run(struct recording *r, uint32_t first, uint32_t n,
		    struct recording_stream **out, struct hark_err *err)
{
	struct recording_stream *s = calloc(1, sizeof *s);

	if (s == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	s->recording = r;
	s->next = first;
	s->end = first + n;
	*out = s;
	return 0;
}

int recording_read_segment(struct recording *r, unsigned i,
			   struct recording_stream **out, struct hark_err *err)
{
	if (i >= r->n_segments)
		return err_set(err, HARK_EINPUT, 0, "%s: no segment %u",
			       r->name, i);
	return open_run(r, r->segments[i].first, r->segments[i].n, out, err);
}

static const struct process *find_process(const struct recording *r,
					  uint32_t number)
{
	uint32_t low = 0, high = r->n_processes;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (r->processes[middle].told.number == number)
			return &r->processes[middle];
		if (r->processes[middle].told.number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static int no_process(const struct recording *r, uint32_t number,
		      struct hark_err *err)
{
	return err_set(err, HARK_EINPUT, 0, "%s: no process %u", r->name,
		       number);
}

int recording_read_process(struct recording *r, uint32_t process,
			   struct recording_stream **out, struct hark_err *err)
{
	const struct process *p = find_process(r, process);

	return p == NULL ? no_process(r, process, err)
			 : open_run(r, p->first, p->n, out, err);
}

int recording_read_maps(struct recording *r, uint32_t process,
			struct recording_stream **out, struct hark_err *err)
{
	const struct process *p = find_process(r, process);

	return p == NULL ? no_process(r, process, err)
			 : open_run(r, p->maps, p->n_maps, out, err);
}

void recording_stream_close(struct recording_stream *s)
{
	if (s == NULL)
		return;
	free(s->stored.at);
	free(s->plain.at);
	free(s);
}

static int is_whole(const uint8_t *bytes, size_t len)
{
	size_t at = 0;

	while (at < len) {
		struct wire_rec rec;

		if (len - at < sizeof rec)
			return 0;
		memcpy(&rec, bytes + at, sizeof rec);
		if (rec.len > len - at - sizeof rec)
			return 0;
		at += sizeof rec + rec.len;
	}
	return 1;
}

int recording_stream_next(struct recording_stream *s, const uint8_t **bytes,
			  size_t *len, struct hark_err *err)
{
	const struct recording *r = s->recording;
	const struct chunk *c;
	const uint8_t *got;
	const char *bad;
	size_t n;

	if (s->next == s->end)
		return 0;
	c = &r->chunks[s->next];
	bad = recording_read_chunk(r, c, &s->stored, &s->plain, &got, &n);
	if (bad == NULL && !is_whole(got, n))
		bad = "a record is not whole";
	if (bad != NULL)
		return err_set(err, HARK_EINPUT, 0,
			       "%s: damaged at byte %lu: %s", r->name,
			       (unsigned long)c->at, bad);
	s->next++;
	*bytes = got;
	*len = n;
	return 1;
}

void recording_stream_skip(struct recording_stream *s, uint32_t n)
{
	s->next = n < s->end - s->next ? s->next + n : s->end;
}

static int visit_all(struct record_stream *records, recording_visit *visit,
		     void *ctx, struct hark_err *err)
{
	struct record_event e;
	int rc;

	while ((rc = record_stream_next(records, &e, err)) > 0) {
		rc = visit(ctx, &e, err);
		if (rc != 0)
			return rc;
	}
	return rc;
}

int recording_each(struct recording_stream *s, enum record_kind kind,
		   recording_visit *visit, void *ctx, struct hark_err *err)
{
	struct record_stream records;
	const uint8_t *bytes = NULL;
	size_t len = 0;
	int rc;

	record_stream_init(&records, kind);
	while ((rc = recording_stream_next(s, &bytes, &len, err)) > 0) {
		record_stream_feed(&records, bytes, len);
		rc = visit_all(&records, visit, ctx, err);
		if (rc != 0)
			break;
	}
	recording_stream_close(s);
	return rc;
}
