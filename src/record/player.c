/* record/player.c - plays the segments of a recording, and checks them. */
#include "record/player.h"

#include "base/fmt.h"
#include "record/place.h"
#include "record/segment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct player {
	struct recording *r; /* borrowed */
	struct replay *cpu;  /* owned */
	struct code *code;   /* owned; of one process */
	uint32_t process;    /* whose code; 0: none */
	uint64_t key_every;  /* counts, as META says; 0: it does not */
	struct xstate_layout layout;
};

/* -- Life -- */

static unsigned fetch(void *ctx, uint64_t pc, uint8_t *to, unsigned len)
{
	const struct player *p = ctx;

	return p->code == NULL ? 0 : code_fetch(p->code, pc, to, len);
}

static uint64_t read_number(const struct recording *r, const char *key)
{
	const char *value = recording_meta(r, key);

	return value == NULL ? 0 : strtoull(value, NULL, 10);
}

int player_new(struct recording *r, int counts_instructions,
	       struct player **out, struct hark_err *err)
{
	struct player *p = calloc(1, sizeof *p);

	if (p == NULL)
		return err_set(err, HARK_ENOMEM, ENOMEM, "out of memory");
	p->r = r;
	xstate_layout_of(r, &p->layout);
	p->key_every = read_number(r, "key_every");
	p->cpu = replay_new(fetch, p, recording_version(r));
	if (p->cpu == NULL) {
		free(p);
		return err_set(err, HARK_ENOMEM, ENOMEM,
			       "no memory to replay in (it takes 4 GiB of "
			       "address space)");
	}
	replay_count_instructions(p->cpu, counts_instructions);
	*out = p;
	return 0;
}

void player_free(struct player *p)
{
	if (p == NULL)
		return;
	replay_free(p->cpu);
	code_free(p->code);
	free(p);
}

/* -- Playing -- */

static int load_code(struct player *p, uint32_t process, struct hark_err *err)
{
	if (p->code != NULL && p->process == process)
		return 0;
	code_free(p->code);
	p->code = NULL;
	p->process = 0;
	replay_forget_code(p->cpu, 0, UINT64_MAX);
	if (code_load(p->r, process, &p->code, err) < 0)
		return -1;
	p->process = process;
	return 0;
}

/* Events come one by one from a stream of pieces. */
struct source {
	struct recording_stream *in; /* owned */
	struct record_stream records;
};

static int source_open(struct source *s, struct recording *r, unsigned i,
		       struct hark_err *err)
{
	record_stream_init(&s->records, RECORD_OF_THREAD);
	return recording_read_segment(r, i, &s->in, err);
}

static int source_next(struct source *s, struct record_event *out,
		       struct hark_err *err)
{
	for (;;) {
		int rc = record_stream_next(&s->records, out, err);
		const uint8_t *bytes;
		size_t len;

		if (rc != 0)
			return rc;
		rc = recording_stream_next(s->in, &bytes, &len, err);
		if (rc <= 0)
			return rc;
		record_stream_feed(&s->records, bytes, len);
	}
}

/* The KEY at the beginning of a segment. */
static int source_key(struct source *s, struct record_event *out,
		      struct hark_err *err)
{
	struct record_event e;
	int rc;

	while ((rc = source_next(s, &e, err)) > 0)
		if (e.type == WIRE_REC_KEY) {
			*out = e;
			return 0;
		}
	return rc < 0
		   ? -1
		   : err_set(err, HARK_EINPUT, 0, "a segment has no key frame");
}

static int play_events(struct segment *s, struct source *from,
		       struct hark_err *err)
{
	struct record_event e;
	int rc;

	rc = source_key(from, &e, err);
	if (rc < 0 || segment_begin(s, &e, err) < 0)
		return -1;
	while ((rc = source_next(from, &e, err)) > 0)
		if (segment_apply(s, &e, err) < 0)
			return -1;
	return rc < 0 || segment_flush(s, err) < 0 ? -1 : 0;
}

/* At the end of segment i comes the key frame of the next one. */
static int check_next(const struct player *p, struct segment *s, unsigned i,
		      struct hark_err *err)
{
	struct source next;
	struct record_event key;
	int rc;

	if (source_open(&next, p->r, i + 1, err) < 0)
		return -1;
	rc = source_key(&next, &key, err);
	if (rc == 0)
		rc = segment_apply(s, &key, err);
	recording_stream_close(next.in);
	return rc;
}

static void add_place(const struct player *p, struct hark_err *err)
{
	char place[128];
	size_t len = strlen(err->text);

	place_text(p->r, p->process, code_epoch(p->code),
		   replay_state(p->cpu)->pc, place, sizeof place);
	fmt_text(err->text + len, sizeof err->text - len, "%s", place);
}

static int play(struct player *p, unsigned i, struct segment *s,
		struct hark_err *err)
{
	const struct recording_segment *about = recording_segment(p->r, i);
	struct source from;
	int rc;

	if (load_code(p, about->process, err) < 0 ||
	    source_open(&from, p->r, i, err) < 0)
		return -1;
	s->code = p->code;
	rc = play_events(s, &from, err);
	recording_stream_close(from.in);
	if (rc == 0 && !about->is_last)
		rc = check_next(p, s, i, err);
	if (rc < 0 && (err->code == HARK_EBUG || err->code == HARK_ELACKS))
		add_place(p, err);
	return rc;
}

int player_segment(struct player *p, unsigned i, struct player_sum *out,
		   struct hark_err *err)
{
	const struct recording_segment *about = recording_segment(p->r, i);
	struct segment s = {.cpu = p->cpu,
			    .layout = &p->layout,
			    .process = about->process,
			    .thread = about->thread,
			    .most = 2 * p->key_every};

	replay_instructions(p->cpu);
	if (play(p, i, &s, err) < 0)
		return -1;
	*out = (struct player_sum){replay_instructions(p->cpu),
				   *replay_count(p->cpu) - s.count, s.n_events};
	return 0;
}
