/* outside/recorder_stream.c - bytes of a ring into chunks of the file.
 *
 * A drain hands over what was committed: whole records, as long as nobody
 * scribbles over the ring. Every header is looked at (there are about half a
 * million of them a second in a busy program), for the bytes between two key
 * frames are a segment, and begin a chunk. The first record of a ring says
 * what the stream is.
 *
 * A record that cannot be ends its stream: what was before it is kept, a note
 * says so, and the rest is thrown away until the ring ends. */
#include "outside/recorder_priv.h"

#include "outside/proc.h"
#include "outside/tracee.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CUT_BYTES = 1 << 20,
	CUT_SOON_BYTES = 4 << 10,
	CUT_SOON_NS = 100000000, /* with at least so many */
	CUT_NS = 300000000,	 /* with any */
};

/* -- Records -- */

/* The least that a record has behind its header; 0: it cannot be there. */
static unsigned least_of(unsigned type, int of_thread)
{
	switch (type) {
	case WIRE_REC_START:
		return of_thread ? sizeof(struct wire_rec_start) : 0;
	case WIRE_REC_KEY:
		return of_thread ? sizeof(struct wire_rec_key) : 0;
	case WIRE_REC_PROCESS:
		return of_thread ? 0 : sizeof(struct wire_rec_process);
	case WIRE_REC_MAP:
		return of_thread ? 0 : sizeof(struct wire_rec_map);
	case WIRE_REC_NAME:
		return of_thread ? 0 : sizeof(struct wire_rec_name);
	case WIRE_REC_PROT:
		return of_thread ? 0 : sizeof(struct wire_rec_prot);
	case WIRE_REC_CODE:
	case WIRE_REC_UNMAP:
		return of_thread ? 0 : 9;
	default:
		return of_thread && type >= WIRE_REC_GRANULE &&
			       type <= WIRE_REC_LOCKED
			   ? 2
			   : 0;
	}
}

/* The length of the record at bytes with its header; 0: there is none. */
static uint32_t record_len(const uint8_t *bytes, uint32_t len, int of_thread)
{
	struct wire_rec rec;
	unsigned least;

	if (len < sizeof rec)
		return 0;
	memcpy(&rec, bytes, sizeof rec);
	least = least_of(rec.type, of_thread);
	return least == 0 || rec.len < least || rec.len > len - sizeof rec
		   ? 0
		   : (uint32_t)sizeof rec + rec.len;
}

static struct wire_file_key key_of(const uint8_t *record, int first)
{
	struct wire_rec_key k;

	memcpy(&k, record + sizeof(struct wire_rec), sizeof k);
	return (struct wire_file_key){
	    .count = k.count,
	    .time_ns = k.time_ns,
	    .flags = first ? WIRE_KEY_FIRST : 0,
	};
}

/* -- Chunks -- */

/* What a thread says waits until all code is there that it may speak of: what
 * was translated before it ran is in another ring. */
static void cut(struct recorder_source *src, struct stream *s)
{
	struct press_job *j = s->job;

	if (j == NULL)
		return;
	s->job = NULL;
	j->type = WIRE_CHUNK_DATA;
	j->process = s->process;
	j->thread = s->thread;
	if (s->kind == STREAM_PROCESS) {
		press_add(src->recorder->press, j);
		return;
	}
	j->next = NULL;
	if (src->ready == NULL)
		src->ready = j;
	else
		src->last_ready->next = j;
	src->last_ready = j;
}

/* C1: without memory the file cannot be what it should. */
static void no_memory(struct recorder *r, struct stream *s)
{
	recorder_put_note(r, s->process, s->thread,
			  "out of memory: the stream ends here");
	s->kind = STREAM_BROKEN;
	r->lost++;
}

static void append(struct recorder_source *src, struct stream *s,
		   const uint8_t *bytes, size_t len)
{
	struct recorder *r = src->recorder;

	if (len == 0 || s->kind == STREAM_BROKEN)
		return;
	s->segment_bytes += len;
	if (s->job == NULL) {
		s->job = press_job(r->press);
		s->since_ns = tracee_now_ns();
	}
	if (s->job == NULL || press_job_append(s->job, bytes, len) < 0)
		no_memory(r, s);
	else if (s->job->len >= CUT_BYTES)
		cut(src, s);
}

/* C4. */
static void at_key(struct recorder_source *src, struct stream *s,
		   const uint8_t *record)
{
	int first = s->awaits_key;

	s->awaits_key = 0;
	if (!first)
		cut(src, s);
	if (s->job == NULL) {
		s->job = press_job(src->recorder->press);
		s->since_ns = tracee_now_ns();
	}
	if (s->job == NULL) {
		no_memory(src->recorder, s);
		return;
	}
	s->job->has_key = 1;
	s->job->key = key_of(record, first);
	recorder_key_seen(src, s, s->job->key.count);
}

void stream_cut_old(struct recorder_source *src, int64_t now_ns)
{
	for (uint32_t i = 0; i < src->n_rings; i++) {
		struct stream *s = &src->streams[i];
		int64_t age = now_ns - s->since_ns;

		if (s->job != NULL && !s->awaits_key &&
		    (age >= CUT_NS ||
		     (age >= CUT_SOON_NS && s->job->len >= CUT_SOON_BYTES)))
			cut(src, s);
	}
}

/* -- Who it is -- */

static struct pair *find_pair(const struct recorder_source *s, uint32_t theirs)
{
	for (uint32_t i = s->n_pairs; i > 0; i--)
		if (s->pairs[i - 1].theirs == theirs)
			return &s->pairs[i - 1];
	return NULL;
}

/* The next number in the file, for process pid; 0: no memory. */
static uint32_t new_number(struct recorder *r, uint32_t pid)
{
	if (r->processes == r->room_pids) {
		uint32_t room = 2 * r->room_pids + 64;
		uint32_t *more = realloc(r->pids, room * sizeof *more);

		if (more == NULL)
			return 0;
		r->pids = more;
		r->room_pids = room;
	}
	r->pids[r->processes++] = pid;
	return r->processes;
}

/* The process of that id that there was before number n; 0: none. */
static uint32_t previous_of(const struct recorder *r, uint32_t n, uint32_t pid)
{
	for (uint32_t i = n - 1; i > 0; i--)
		if (r->pids[i - 1] == pid)
			return i;
	return 0;
}

static int add_pair(struct recorder_source *s, uint32_t theirs, uint32_t ours,
		    uint32_t pid)
{
	if (s->n_pairs == s->room_pairs) {
		uint32_t room = 2 * s->room_pairs + 8;
		struct pair *more = realloc(s->pairs, room * sizeof *more);

		if (more == NULL)
			return -1;
		s->pairs = more;
		s->room_pairs = room;
	}
	s->pairs[s->n_pairs++] =
	    (struct pair){theirs, ours, s->inside || pid == 1, 0};
	return 0;
}

/* The first process of a source is a program that was just executed: what it
 * is stands in the text that was made then. A pid of 0 is not known yet. */
static void introduce(struct recorder_source *s, const struct pair *p,
		      uint32_t pid)
{
	struct recorder *r = s->recorder;
	struct file_text t = {0};
	uint32_t ours = p->ours;

	r->pids[ours - 1] = pid;
	if (pid == 0)
		return;
	if (p->theirs == 1) {
		uint32_t previous = previous_of(r, ours, pid);

		t = s->program;
		s->program = (struct file_text){0};
		if (previous != 0)
			file_text_number(&t, "previous", previous);
	}
	file_text_number(&t, "pid", pid);
	recorder_put_text(r, WIRE_CHUNK_PROCESS, ours, 0, &t);
	if (s->maps != NULL && p->theirs == 1) {
		s->maps->process = ours;
		press_add(r->press, s->maps);
		s->maps = NULL;
	}
}

/* Its number in the file; 0: no memory. */
static uint32_t number_of(struct recorder_source *s, uint32_t theirs,
			  uint32_t pid)
{
	const struct pair *known = find_pair(s, theirs);
	uint32_t ours;

	if (known != NULL) {
		if (pid != 0 && s->recorder->pids[known->ours - 1] == 0)
			introduce(s, known, pid);
		return known->ours;
	}
	ours = new_number(s->recorder, pid);
	if (ours == 0 || add_pair(s, theirs, ours, pid) < 0)
		return 0;
	introduce(s, find_pair(s, theirs), pid);
	return ours;
}

static void begin_thread(struct recorder_source *src, struct stream *s,
			 const uint8_t *record)
{
	struct wire_rec_start start;

	memcpy(&start, record + sizeof(struct wire_rec), sizeof start);
	s->process = number_of(src, start.process, start.pid);
	s->thread = start.thread;
	s->awaits_key = 1;
	src->recorder->threads++;
}

static void begin_process(struct recorder_source *src, struct stream *s,
			  const uint8_t *record)
{
	struct wire_rec_process p;
	const struct pair *parent;
	struct file_text t = {0};

	memcpy(&p, record + sizeof(struct wire_rec), sizeof p);
	s->process = number_of(src, p.process, p.pid);
	if (s->process == 0)
		return;
	if (p.parent != 0) /* its ring may be looked at only later */
		number_of(src, p.parent, 0);
	parent = find_pair(src, p.parent);
	if (parent != NULL) {
		file_text_number(&t, "parent", parent->ours);
		find_pair(src, p.process)->inside |= parent->inside;
	}
	file_text_number(&t, "serial", (int64_t)p.serial);
	file_text_number(&t, "time_ns", (int64_t)p.time_ns);
	recorder_put_text(src->recorder, WIRE_CHUNK_PROCESS, s->process, 0, &t);
}

/* The first record says what it is. -1: it is nothing. */
static int begin(struct recorder_source *src, struct stream *s,
		 const uint8_t *bytes, uint32_t len)
{
	int of_thread = bytes[0] == WIRE_REC_START;

	if ((!of_thread && bytes[0] != WIRE_REC_PROCESS) ||
	    record_len(bytes, len, of_thread) == 0)
		return -1;
	s->kind = of_thread ? STREAM_THREAD : STREAM_PROCESS;
	s->process = s->thread = 0;
	s->awaits_key = 0;
	if (of_thread)
		begin_thread(src, s, bytes);
	else
		begin_process(src, s, bytes);
	if (s->process == 0 || (of_thread && s->thread == 0))
		return -1;
	return 0;
}

/* -- Bytes -- */

/* bytes: what should be a record and is none; NULL: the ring is none. */
static void break_stream(struct recorder *r, struct stream *s,
			 const uint8_t *bytes, uint32_t len)
{
	char text[128], found[16] = "a ring";

	if (bytes != NULL)
		snprintf(found, sizeof found, "type %u", bytes[0]);
	snprintf(text, sizeof text,
		 "thread %u.%u: its memory was overwritten (%s, %u bytes); it "
		 "ends here",
		 s->process, s->thread, found, len);
	recorder_put_note(r, s->process, s->thread, text);
	s->kind = STREAM_BROKEN;
	r->lost++;
}

/* A thread that enters the image says so (wire/channel.h): nothing that is
 * recorded. No START looks like it, for that is never empty. */
static int is_visit(const uint8_t *bytes, uint32_t len)
{
	struct wire_visit v;

	if (len != sizeof v)
		return 0;
	memcpy(&v, bytes, sizeof v);
	return v.type == WIRE_VISIT && v.size == sizeof v;
}

/* May it follow what was before? */
static int in_place(const struct stream *s, unsigned type, int begun)
{
	if (type == WIRE_REC_START || type == WIRE_REC_PROCESS)
		return begun;
	return !s->awaits_key || type == WIRE_REC_KEY;
}

static void see_map(struct recorder *r, const struct stream *s,
		    const uint8_t *record)
{
	recorder_see_map(r, r->pids[s->process - 1], record);
}

/* A pass takes all of one ring before it takes of the next. */
static void measure(struct recorder_source *src, uint32_t ring, uint32_t len)
{
	if (src->ring != ring)
		src->ring_bytes = 0;
	src->ring = ring;
	src->ring_bytes += len;
	if (src->most < src->ring_bytes)
		src->most = src->ring_bytes;
}

int stream_take(void *ctx, uint32_t ring, uint32_t tid, const uint8_t *bytes,
		uint32_t len, struct hark_err *err)
{
	struct recorder_source *src = ctx;
	struct stream *s = &src->streams[ring];
	uint32_t from = 0, at = 0;
	int begun = 0;

	(void)tid;
	(void)err;
	measure(src, ring, len);
	if (s->kind == STREAM_NEW && is_visit(bytes, len))
		return 0;
	if (s->kind == STREAM_NEW) {
		begun = begin(src, s, bytes, len) == 0;
		if (!begun)
			break_stream(src->recorder, s, bytes, len);
	}
	while (at < len && s->kind != STREAM_BROKEN) {
		uint32_t n =
		    record_len(bytes + at, len - at, s->kind == STREAM_THREAD);

		if (n == 0 || !in_place(s, bytes[at], begun && at == 0)) {
			append(src, s, bytes + from, at - from);
			cut(src, s);
			break_stream(src->recorder, s, bytes + at, len - at);
			return 0;
		}
		if (bytes[at] == WIRE_REC_KEY) {
			append(src, s, bytes + from, at - from);
			from = at;
			at_key(src, s, bytes + at);
		} else if (bytes[at] == WIRE_REC_MAP) {
			see_map(src->recorder, s, bytes + at);
		}
		at += n;
	}
	append(src, s, bytes + from, at - from);
	return 0;
}

void stream_end(void *ctx, uint32_t ring, int damaged)
{
	struct recorder_source *src = ctx;
	struct stream *s = &src->streams[ring];

	cut(src, s);
	if (damaged && s->kind != STREAM_BROKEN)
		break_stream(src->recorder, s, NULL, 0);
	*s = (struct stream){.kind = damaged ? STREAM_BROKEN : STREAM_NEW};
}

/* -- Processes that are gone -- */

/* Has the process of that id ended? Its first thread may have, and others go
 * on. */
static int is_gone(pid_t pid)
{
	char state = proc_state(pid, 0);

	return state == 0 ||
	       ((state == 'Z' || state == 'X') && proc_living(pid) == 0);
}

static void reclaim_process(struct recorder_source *src, uint32_t process)
{
	for (uint32_t i = 0; i < src->n_rings; i++) {
		const struct stream *s = &src->streams[i];

		if (s->kind != STREAM_NEW && s->process == process)
			drain_reclaim(src->drain, i, stream_take, src);
	}
}

/* Who ends as it should closes its rings. Who is killed does not, and nobody
 * says so: as long as there are plenty of rings, that is no matter. */
void stream_reclaim(struct recorder_source *src, int64_t now_ns)
{
	enum { EVERY_NS = 250000000 };
	const struct recorder *r = src->recorder;

	if (src->n_rings < r->geometry.max_threads / 4 ||
	    now_ns - src->reclaimed_ns < EVERY_NS ||
	    drain_base(src->drain) == NULL)
		return;
	src->reclaimed_ns = now_ns;
	for (uint32_t i = 0; i < src->n_pairs; i++) {
		struct pair *p = &src->pairs[i];

		pid_t pid = (pid_t)r->pids[p->ours - 1];

		if (p->over || p->inside || pid == 0 || !is_gone(pid))
			continue;
		reclaim_process(src, p->ours);
		p->over = 1;
	}
}

/* -- Code first -- */

void stream_release(struct recorder_source *src)
{
	struct press_job *j = src->ready;
	struct hark_err err;

	for (uint32_t i = 0; j != NULL && i < src->n_rings; i++) {
		struct stream *s = &src->streams[i];

		if (s->kind != STREAM_PROCESS)
			continue;
		if (drain_base(src->drain) != NULL)
			drain_one(src->drain, i, stream_take, src, &err);
		cut(src, s);
	}
	src->ready = NULL;
	while (j != NULL) {
		struct press_job *next = j->next;

		press_add(src->recorder->press, j);
		j = next;
	}
}
