/* tools/record/dump.c - the records of a recording as text, for developers.
 *
 *	dump FILE			processes and segments
 *	dump FILE P			the stream of process P
 *	dump FILE P.T [FROM [TO]]	thread T of it, from count FROM to TO
 *
 * One line a record: position, type, contents. What can be read before a
 * damaged record is printed before the complaint. */
#include "record/order.h"
#include "record/recording.h"
#include "record/stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const reg_names[16] = {
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
    "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

static uint64_t from, to = UINT64_MAX; /* counts to print */

/* -- Contents -- */

static void print_hex(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len && i < 64; i++)
		printf("%s%02x", i % 8 == 0 ? " " : "", bytes[i]);
	if (len > 64)
		printf(" ... (%zu)", len);
}

static void print_state(const struct wire_rec_state *s)
{
	for (unsigned i = 0; i < 16; i++)
		printf("%s %s=%" PRIx64, i % 8 == 0 ? "\n\t" : "", reg_names[i],
		       s->gpr[i]);
	printf("\n\t rflags=%" PRIx64 " pc=%" PRIx64 " fs=%" PRIx64
	       " gs=%" PRIx64 " sigmask=%" PRIx64,
	       s->rflags, s->pc, s->fs_base, s->gs_base, s->sigmask);
}

static void print_xstate(const struct record_event *e)
{
	uint64_t mask;

	if (e->xstate_len == 0)
		return;
	memcpy(&mask, e->xstate, sizeof mask);
	printf("\n\t xstate mask=%" PRIx64 " len=%u", mask, e->xstate_len);
	printf(" fcw..ftw=");
	print_hex(e->xstate + 8, 5);
	printf(" mxcsr=");
	print_hex(e->xstate + 8 + 24, 4);
	for (unsigned i = 0; i < 16; i++) {
		printf("\n\t xmm%-2u", i);
		print_hex(e->xstate + 8 + 160 + 16 * (size_t)i, 16);
	}
}

static void print_result(const struct record_event *e)
{
	printf(" length=%u rflags=%" PRIx64, e->result.length,
	       e->result.rflags);
	for (unsigned i = 0; i < 16; i++)
		if ((e->result.set >> i & 1) != 0)
			printf(" %s=%" PRIx64, reg_names[i], e->result.gpr[i]);
}

static void print_start(const struct wire_rec_start *s)
{
	printf(" process=%u thread=%u pid=%u tid=%u why=%u parent=%u",
	       s->process, s->thread, s->pid, s->tid, s->why, s->parent);
}

static void print_map(const struct record_event *e)
{
	printf(" %" PRIx64 "-%" PRIx64 " offset=%" PRIx64 " serial=%" PRIu64
	       " prot=%x flags=%x %.*s",
	       e->map.start, e->map.end, e->map.offset, e->map.serial,
	       e->map.prot, e->map.flags, (int)e->len, (const char *)e->bytes);
}

static void print_of_process(const struct record_event *e)
{
	switch (e->type) {
	case WIRE_REC_PROCESS:
		printf(" process=%u parent=%u pid=%u serial=%" PRIu64,
		       e->process.process, e->process.parent, e->process.pid,
		       e->process.serial);
		break;
	case WIRE_REC_CODE:
		printf(" serial=%" PRIu64 " %" PRIx64 "+%u:", e->code.serial,
		       e->code.address, e->len);
		print_hex(e->bytes, e->len);
		break;
	case WIRE_REC_MAP:
		print_map(e);
		break;
	default:
		printf(" %" PRIx64 "-%" PRIx64, e->unmap.start, e->unmap.end);
		break;
	}
}

static void print_of_thread(const struct record_event *e)
{
	switch (e->type) {
	case WIRE_REC_START:
		print_start(&e->start);
		break;
	case WIRE_REC_KEY:
		printf(" epoch=%" PRIu64, e->key.epoch);
		print_state(&e->key.state);
		break;
	case WIRE_REC_GRANULE:
	case WIRE_REC_BYTES:
		printf(" [%08" PRIx64 "]", e->index);
		print_hex(e->bytes, e->len);
		break;
	case WIRE_REC_RESULT:
		print_result(e);
		break;
	case WIRE_REC_CALL:
		printf(" %d = %" PRId64 " (%" PRIx64 ")", e->call.number,
		       e->call.answer, (uint64_t)e->call.answer);
		break;
	case WIRE_REC_EPOCH:
		printf(" %" PRIu64, e->epoch);
		break;
	case WIRE_REC_ORDER:
		printf(" line=%" PRIu64 " ticket=%" PRIu64 " overtaken=%" PRIu64
		       " ticks=%" PRIu64,
		       e->order.line, e->order.ticket, e->order.overtaken,
		       e->order.ticks);
		break;
	default:
		printf(" info=%u", e->info);
		print_state(&e->state);
		break;
	}
	print_xstate(e);
}

static void print_event(const struct record_event *e)
{
	if (e->type >= WIRE_REC_PROCESS) {
		printf("%6" PRIu64 " %-7s", e->number,
		       record_type_name(e->type));
		print_of_process(e);
		putchar('\n');
	} else if (e->count >= from && e->count <= to) {
		printf("%" PRIu64 " %" PRIx64 " %-7s", e->count, e->pc,
		       record_type_name(e->type));
		print_of_thread(e);
		putchar('\n');
	}
}

/* -- Streams -- */

static int dump_stream(struct recording_stream *in, enum record_kind kind,
		       struct hark_err *err)
{
	struct record_stream s;
	struct record_event e;
	const uint8_t *bytes;
	size_t len;
	int rc;

	record_stream_init(&s, kind);
	while ((rc = recording_stream_next(in, &bytes, &len, err)) > 0) {
		record_stream_feed(&s, bytes, len);
		while ((rc = record_stream_next(&s, &e, err)) > 0)
			print_event(&e);
		if (rc < 0)
			break;
	}
	recording_stream_close(in);
	return rc;
}

static int dump_thread(struct recording *r, uint32_t process, uint32_t thread,
		       struct hark_err *err)
{
	unsigned n = recording_n_segments(r);

	for (unsigned i = 0; i < n; i++) {
		const struct recording_segment *s = recording_segment(r, i);
		struct recording_stream *in;

		if (s->process != process || s->thread != thread ||
		    s->count > to)
			continue;
		if (i + 1 < n && !s->is_last &&
		    recording_segment(r, i + 1)->count < from)
			continue;
		if (recording_read_segment(r, i, &in, err) < 0 ||
		    dump_stream(in, RECORD_OF_THREAD, err) < 0)
			return -1;
	}
	return 0;
}

static int dump_process(struct recording *r, uint32_t process,
			struct hark_err *err)
{
	struct recording_stream *in;

	if (recording_read_process(r, process, &in, err) < 0)
		return -1;
	return dump_stream(in, RECORD_OF_PROCESS, err);
}

/* -- All threads of a process, in their order -- */

struct lane {
	uint32_t thread;
	unsigned segment, end; /* the next to be read, and behind the last */
	struct recording_stream *in;
	struct record_stream records;
	struct record_event held; /* an ORDER: the next turn's first */
	int has_held;
};

static int lane_next(struct recording *r, struct lane *l,
		     struct record_event *e, struct hark_err *err)
{
	for (;;) {
		const uint8_t *bytes;
		size_t len;
		int rc = 0;

		if (l->in != NULL) {
			rc = record_stream_next(&l->records, e, err);
			if (rc != 0)
				return rc;
			rc = recording_stream_next(l->in, &bytes, &len, err);
		}
		if (rc > 0) {
			record_stream_feed(&l->records, bytes, len);
			continue;
		}
		recording_stream_close(l->in);
		l->in = NULL;
		if (rc < 0 || l->segment == l->end)
			return rc;
		record_stream_init(&l->records, RECORD_OF_THREAD);
		if (recording_read_segment(r, l->segment++, &l->in, err) < 0)
			return -1;
	}
}

/* From its ORDER to the next; the first of a thread from its birth. */
static int dump_turn(struct recording *r, struct lane *l, struct hark_err *err)
{
	struct record_event e;
	int rc, begun = l->has_held;

	if (l->has_held) {
		printf("%u: ", l->thread);
		print_event(&l->held);
		l->has_held = 0;
	}
	while ((rc = lane_next(r, l, &e, err)) > 0) {
		if (e.type == WIRE_REC_ORDER && begun) {
			l->held = e;
			l->has_held = 1;
			return 0;
		}
		begun |= e.type == WIRE_REC_ORDER;
		printf("%u: ", l->thread);
		print_event(&e);
	}
	return rc;
}

static unsigned find_lanes(const struct recording *r, uint32_t process,
			   struct lane *lanes, unsigned most)
{
	unsigned n = 0;

	for (unsigned i = 0; i < recording_n_segments(r); i++) {
		const struct recording_segment *s = recording_segment(r, i);

		if (s->process != process)
			continue;
		if (n == 0 || lanes[n - 1].thread != s->thread) {
			if (n == most)
				break;
			lanes[n++] =
			    (struct lane){.thread = s->thread, .segment = i};
		}
		lanes[n - 1].end = i + 1;
	}
	return n;
}

static int dump_merged(struct recording *r, uint32_t process,
		       struct hark_err *err)
{
	enum { MOST = 4096 };
	static struct lane lanes[MOST];
	unsigned n = find_lanes(r, process, lanes, MOST);
	struct order *o;
	int rc = 0;

	if (order_load(r, process, &o, err) < 0)
		return -1;
	for (size_t i = 0; rc == 0 && i < order_n_turns(o); i++)
		for (unsigned k = 0; k < n; k++)
			if (lanes[k].thread == order_turn(o, i)->thread)
				rc = dump_turn(r, &lanes[k], err);
	fprintf(stderr, "%zu turns, %" PRIu64 " corrections\n",
		order_n_turns(o), order_corrections(o));
	order_free(o);
	return rc;
}

static int dump_all(const struct recording *r)
{
	for (unsigned i = 0; i < recording_n_processes(r); i++) {
		const struct recording_process *p = recording_process(r, i);

		printf("process %u parent=%u pid=%u threads=%u serial=%" PRIu64
		       "\n",
		       p->number, p->parent, p->pid, p->n_threads, p->serial);
	}
	for (unsigned i = 0; i < recording_n_segments(r); i++) {
		const struct recording_segment *s = recording_segment(r, i);

		printf("segment %u: %u.%u:%" PRIu64 " bytes=%" PRIu64 "%s%s\n",
		       i, s->process, s->thread, s->count, s->bytes,
		       s->is_first ? " first" : "", s->is_last ? " last" : "");
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct recording *r;
	struct hark_err err = {0};
	char *dot;
	int rc;

	if (argc < 2 || argc > 5) {
		fprintf(stderr,
			"usage: record-dump FILE [P[.T|.all] [FROM [TO]]]\n");
		return 2;
	}
	if (recording_open(argv[1], &r, &err) < 0) {
		fprintf(stderr, "record-dump: %s\n", err.text);
		return 1;
	}
	from = argc > 3 ? strtoull(argv[3], NULL, 0) : 0;
	to = argc > 4 ? strtoull(argv[4], NULL, 0) : UINT64_MAX;
	dot = argc > 2 ? strchr(argv[2], '.') : NULL;
	if (argc == 2)
		rc = dump_all(r);
	else if (dot == NULL)
		rc = dump_process(r, (uint32_t)atoi(argv[2]), &err);
	else if (strcmp(dot, ".all") == 0)
		rc = dump_merged(r, (uint32_t)atoi(argv[2]), &err);
	else
		rc = dump_thread(r, (uint32_t)atoi(argv[2]),
				 (uint32_t)atoi(dot + 1), &err);
	recording_close(r);
	fflush(stdout);
	if (rc < 0)
		fprintf(stderr, "record-dump: %s\n", err.text);
	return rc < 0;
}
