/* present/foreign_perfetto.c - for the Perfetto UI.
 *
 * The JSON of Chrome's traces has stack frames and samples, too, but Perfetto
 * does not read those from it. So this is its own protobuf: packets of one
 * sequence, each with what is new in it before its first use:
 *
 *	process tree		names of processes and threads
 *	interned data		names, modules, frames, stacks: by number
 *	PerfSample		thread, time, number of a stack
 *
 * which the UI shows as samples on each thread's track, and as a flame graph
 * of whatever is selected. It counts each sample once, whatever it weighs. */
#include "present/foreign.h"

#include "present/intern.h"
#include "present/proto_priv.h"
#include "present/sums.h"

#include <stdlib.h>

enum {
	TRACE_PACKET = 1,
	PACKET_PROCESS_TREE = 2,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_DEFAULTS = 59,
	PACKET_PERF_SAMPLE = 66,
	FLAG_CLEARED = 1, /* nothing interned before holds any more */
	FLAG_NEEDS = 2,	  /* what was interned before */
	TREE_PROCESS = 1,
	TREE_THREAD = 2,
	PROCESS_PID = 1,
	PROCESS_COMMAND = 3,
	THREAD_TID = 1,
	THREAD_NAME = 2,
	THREAD_TGID = 3,
	INTERNED_FUNCTION = 5,
	INTERNED_FRAME = 6,
	INTERNED_STACK = 7,
	INTERNED_PATH = 17,
	INTERNED_SOURCE = 18,
	INTERNED_MAPPING = 19,
	STRING_ID = 1,
	STRING_TEXT = 2,
	MAPPING_ID = 1,
	MAPPING_PATH = 7,
	FRAME_ID = 1,
	FRAME_FUNCTION = 2,
	FRAME_MAPPING = 3,
	FRAME_SOURCE = 5,
	FRAME_LINE = 6,
	STACK_ID = 1,
	STACK_FRAME = 2,
	SAMPLE_PID = 2,
	SAMPLE_TID = 3,
	SAMPLE_STACK = 4,
	SAMPLE_MODE = 5,
	MODE_USER = 2,
	DEFAULTS_PERF = 12,
	PERF_TIMEBASE = 1,
	TIMEBASE_PERIOD = 1,
	TIMEBASE_COUNTER = 4,
	COUNTER_CPU_CLOCK = 1,
	SEQUENCE = 1, /* there is one */
};

struct perfetto {
	const struct stacks *s; /* borrowed */
	struct proto_sink sink;
	struct intern names, modules, sources;
	bool *knows_stack; /* owned; of each node */
	bool *knows_frame; /* owned */
	struct stacks_path path;
	struct proto packet, interned, inner, deep;
};

/* -- Interned data: number + 1, for 0 is none -------------------------------
 */

/* Its number; when it is new, it goes into the packet. */
static uint64_t put_text(struct perfetto *p, struct intern *in, unsigned field,
			 const char *text, bool is_guess)
{
	size_t n = in->n;
	uint32_t id;

	if (intern_text(in, text, is_guess, &id) < 0) {
		p->interned.is_lame = true;
		return 0;
	}
	if (id == n) {
		proto_clear(&p->deep);
		proto_number(&p->deep, STRING_ID, (uint64_t)id + 1);
		proto_text(&p->deep, STRING_TEXT, text,
			   is_guess ? " [guess]" : "");
		proto_message(&p->interned, field, &p->deep);
	}
	return (uint64_t)id + 1;
}

static uint64_t put_module(struct perfetto *p, const char *module)
{
	size_t n = p->modules.n;
	uint64_t id = put_text(p, &p->modules, INTERNED_PATH,
			       module == NULL ? "" : module, false);

	if (p->modules.n > n) {
		proto_clear(&p->deep);
		proto_number(&p->deep, MAPPING_ID, id);
		proto_number(&p->deep, MAPPING_PATH, id);
		proto_message(&p->interned, INTERNED_MAPPING, &p->deep);
	}
	return id;
}

static void put_frame(struct perfetto *p, uint32_t frame)
{
	const struct stacks_frame *f = &p->s->frames[frame];

	if (p->knows_frame[frame])
		return;
	p->knows_frame[frame] = true;
	proto_clear(&p->inner);
	proto_number(&p->inner, FRAME_ID, (uint64_t)frame + 1);
	proto_number(&p->inner, FRAME_FUNCTION,
		     put_text(p, &p->names, INTERNED_FUNCTION, stacks_name(f),
			      f->is_guess));
	proto_number(&p->inner, FRAME_MAPPING, put_module(p, f->module));
	if (f->file != NULL)
		proto_number(
		    &p->inner, FRAME_SOURCE,
		    put_text(p, &p->sources, INTERNED_SOURCE, f->file, false));
	if (f->line != 0)
		proto_number(&p->inner, FRAME_LINE, f->line);
	proto_message(&p->interned, INTERNED_FRAME, &p->inner);
}

/* Outermost first. */
static int put_stack(struct perfetto *p, uint32_t node, struct hark_err *err)
{
	size_t i;

	if (p->knows_stack[node])
		return 0;
	p->knows_stack[node] = true;
	if (stacks_path_to(&p->path, p->s, node, err) < 0)
		return -1;
	for (i = 0; i < p->path.n; i++)
		put_frame(p, p->s->nodes[p->path.nodes[i]].frame);
	proto_clear(&p->inner);
	proto_number(&p->inner, STACK_ID, (uint64_t)node + 1);
	for (i = 0; i < p->path.n; i++)
		proto_number(&p->inner, STACK_FRAME,
			     (uint64_t)p->s->nodes[p->path.nodes[i]].frame + 1);
	proto_message(&p->interned, INTERNED_STACK, &p->inner);
	return 0;
}

/* -- Packets ----------------------------------------------------------------
 */

static int send_packet(struct perfetto *p, unsigned flags, struct hark_err *err)
{
	proto_number(&p->packet, PACKET_SEQUENCE, SEQUENCE);
	proto_number(&p->packet, PACKET_FLAGS, flags);
	return proto_send(&p->sink, TRACE_PACKET, &p->packet, err);
}

/* The first packet: interned data begins here, and what the samples are. */
static int send_begin(struct perfetto *p, struct hark_err *err)
{
	if (p->s->period_ns != 0)
		proto_number(&p->deep, TIMEBASE_PERIOD, p->s->period_ns);
	proto_number(&p->deep, TIMEBASE_COUNTER, COUNTER_CPU_CLOCK);
	proto_message(&p->inner, PERF_TIMEBASE, &p->deep);
	proto_message(&p->interned, DEFAULTS_PERF, &p->inner);
	proto_number(&p->packet, PACKET_TIMESTAMP, 0);
	proto_message(&p->packet, PACKET_DEFAULTS, &p->interned);
	proto_clear(&p->interned);
	return send_packet(p, FLAG_CLEARED, err);
}

static void put_process(struct perfetto *p, const struct stacks_thread *t)
{
	proto_clear(&p->inner);
	proto_number(&p->inner, PROCESS_PID, (uint64_t)t->pid);
	proto_text(&p->inner, PROCESS_COMMAND,
		   p->s->title == NULL ? "" : p->s->title, "");
	proto_message(&p->interned, TREE_PROCESS, &p->inner);
}

static int send_names(struct perfetto *p, struct hark_err *err)
{
	const struct stacks_thread *t;
	struct intern pids = {0};
	uint32_t id;
	size_t i, n;

	proto_clear(&p->interned);
	for (i = 0; i < p->s->n_threads; i++) {
		t = &p->s->threads[i];
		n = pids.n;
		if (intern_key(&pids, (struct intern_key){{(uint32_t)t->pid}},
			       &id) < 0)
			p->interned.is_lame = true;
		else if (id == n)
			put_process(p, t);
		proto_clear(&p->inner);
		proto_number(&p->inner, THREAD_TID, (uint64_t)t->tid);
		proto_text(&p->inner, THREAD_NAME,
			   t->name == NULL ? "" : t->name, "");
		proto_number(&p->inner, THREAD_TGID, (uint64_t)t->pid);
		proto_message(&p->interned, TREE_THREAD, &p->inner);
	}
	intern_fini(&pids);
	proto_number(&p->packet, PACKET_TIMESTAMP, 0);
	proto_message(&p->packet, PACKET_PROCESS_TREE, &p->interned);
	return send_packet(p, FLAG_NEEDS, err);
}

static int send_sample(struct perfetto *p, const struct stacks_sample *m,
		       struct hark_err *err)
{
	const struct stacks_thread *t = &p->s->threads[m->thread];

	proto_clear(&p->interned);
	if (m->node != 0 && put_stack(p, m->node, err) < 0)
		return -1;
	proto_number(&p->packet, PACKET_TIMESTAMP, m->time_ns);
	if (p->interned.n > 0 || p->interned.is_lame)
		proto_message(&p->packet, PACKET_INTERNED, &p->interned);
	proto_clear(&p->inner);
	proto_number(&p->inner, SAMPLE_PID, (uint64_t)t->pid);
	proto_number(&p->inner, SAMPLE_TID, (uint64_t)t->tid);
	if (m->node != 0)
		proto_number(&p->inner, SAMPLE_STACK, (uint64_t)m->node + 1);
	proto_number(&p->inner, SAMPLE_MODE, MODE_USER);
	proto_message(&p->packet, PACKET_PERF_SAMPLE, &p->inner);
	return send_packet(p, FLAG_NEEDS, err);
}

int present_perfetto(const struct stacks *s, FILE *out, struct hark_err *err)
{
	struct perfetto p = {.s = s};
	size_t i;
	int rc = -1;

	if (stacks_check(s, err) < 0)
		return -1;
	p.knows_stack = calloc(s->n_nodes, sizeof *p.knows_stack);
	p.knows_frame = calloc(s->n_frames + 1, sizeof *p.knows_frame);
	if (p.knows_stack == NULL || p.knows_frame == NULL) {
		err_set(err, HARK_ENOMEM, 0, "no memory for %zu stacks",
			s->n_nodes);
		goto out;
	}
	if (proto_sink_init(&p.sink, out, false, err) < 0 ||
	    send_begin(&p, err) < 0 || send_names(&p, err) < 0)
		goto out;
	for (i = 0; i < s->n_samples; i++)
		if (send_sample(&p, &s->samples[i], err) < 0)
			goto out;
	rc = stacks_written(out, err);
out:
	free(p.knows_stack);
	free(p.knows_frame);
	stacks_path_fini(&p.path);
	intern_fini(&p.names);
	intern_fini(&p.modules);
	intern_fini(&p.sources);
	proto_fini(&p.packet);
	proto_fini(&p.interned);
	proto_fini(&p.inner);
	proto_fini(&p.deep);
	return rc;
}
