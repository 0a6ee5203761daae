/* present/foreign_pprof.c - for pprof and all that reads its files.
 *
 * One gzip'ed protobuf message (profile.proto): samples name locations,
 * locations have lines, lines name functions, everything names strings by
 * number. Samples of one stack and thread are one; the thread is a label.
 *
 * A location is a frame together with what is inlined into it, innermost first:
 *
 *	node:		main -> work -> [step] -> [add]		[inlined]
 *	locations:	(main)  (add, step, work)
 *
 * so it is known by the chain of inlined frames that leads to it. There are no
 * addresses: pprof takes names as they are, and looks nothing up. */
#include "present/foreign.h"

#include "present/intern.h"
#include "present/proto_priv.h"
#include "present/sums.h"

#include <stdlib.h>
#include <string.h>

/* Fields of profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_DURATION = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	TYPE_TYPE = 1,
	TYPE_UNIT = 2,
	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_STRING = 2,
	LABEL_NUMBER = 3,
	MAPPING_ID = 1,
	MAPPING_FILE = 5,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILES = 8,
	MAPPING_HAS_LINES = 9,
	MAPPING_HAS_INLINED = 10,
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	LINE_LINE = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILE = 4,
};

enum {
	NO_CHAIN = UINT32_MAX,
	CHAIN_MAX = 64, /* a longer one goes on in a new location */
};

struct pprof {
	const struct stacks *s; /* borrowed */
	struct proto_sink sink;
	struct intern strings, modules;
	struct intern functions; /* name, file */
	struct intern chains;	 /* chain before, frame, how many */
	uint32_t *chain_of;	 /* owned; of each node */
	uint32_t *function_of;	 /* owned; of each frame */
	uint32_t *module_of;	 /* owned; likewise; 0: none */
	struct proto message, inner;
};

static int no_memory(struct hark_err *err)
{
	return err_set(err, HARK_ENOMEM, 0, "no memory to write the profile");
}

/* -- Tables -----------------------------------------------------------------
 */

static int name_frames(struct pprof *p)
{
	const struct stacks_frame *f;
	struct intern_key key = {0};
	size_t i;

	for (i = 0; i < p->s->n_frames; i++) {
		f = &p->s->frames[i];
		if (intern_text(&p->strings, stacks_name(f), f->is_guess,
				&key.n[0]) < 0 ||
		    intern_text(&p->strings, f->file, false, &key.n[1]) < 0 ||
		    intern_key(&p->functions, key, &p->function_of[i]) < 0 ||
		    /* Number 0 is "", which is no module. */
		    intern_text(&p->modules, f->module, false,
				&p->module_of[i]) < 0)
			return -1;
	}
	return 0;
}

static int chain_nodes(struct pprof *p)
{
	const struct stacks_node *node;
	const struct intern_key *before;
	struct intern_key key;
	size_t i;

	for (i = 1; i < p->s->n_nodes; i++) {
		node = &p->s->nodes[i];
		key = (struct intern_key){{NO_CHAIN, node->frame, 1}};
		if (node->parent != 0 && p->s->frames[node->frame].is_inlined) {
			before = &p->chains.keys[p->chain_of[node->parent]];
			if (before->n[2] < CHAIN_MAX) {
				key.n[0] = p->chain_of[node->parent];
				key.n[2] = before->n[2] + 1;
			}
		}
		if (intern_key(&p->chains, key, &p->chain_of[i]) < 0)
			return -1;
	}
	return 0;
}

static int pprof_init(struct pprof *p, const struct stacks *s,
		      struct hark_err *err)
{
	uint32_t empty;

	p->s = s;
	p->chain_of = calloc(s->n_nodes, sizeof *p->chain_of);
	p->function_of = calloc(s->n_frames + 1, sizeof *p->function_of);
	p->module_of = calloc(s->n_frames + 1, sizeof *p->module_of);
	if (p->chain_of == NULL || p->function_of == NULL ||
	    p->module_of == NULL ||
	    intern_text(&p->strings, "", false, &empty) < 0 ||
	    intern_text(&p->modules, "", false, &empty) < 0 ||
	    name_frames(p) < 0 || chain_nodes(p) < 0)
		return no_memory(err);
	return 0;
}

static void pprof_fini(struct pprof *p)
{
	proto_sink_fini(&p->sink);
	intern_fini(&p->strings);
	intern_fini(&p->modules);
	intern_fini(&p->functions);
	intern_fini(&p->chains);
	free(p->chain_of);
	free(p->function_of);
	free(p->module_of);
	proto_fini(&p->message);
	proto_fini(&p->inner);
}

/* -- Messages ---------------------------------------------------------------
 */

static int send(struct pprof *p, unsigned field, struct hark_err *err)
{
	return proto_send(&p->sink, field, &p->message, err);
}

/* A string by its number; no memory makes the message lame. */
static void put_string(struct pprof *p, struct proto *to, unsigned field,
		       const char *text)
{
	uint32_t id = 0;

	if (intern_text(&p->strings, text, false, &id) < 0)
		to->is_lame = true;
	proto_number(to, field, id);
}

static int send_type(struct pprof *p, unsigned field, const char *type,
		     const char *unit, struct hark_err *err)
{
	put_string(p, &p->message, TYPE_TYPE, type);
	put_string(p, &p->message, TYPE_UNIT, unit);
	return send(p, field, err);
}

/* Samples count; if it is known what one lasts, they have a time, too. */
static bool has_time(const struct stacks *s)
{
	return s->unit == STACKS_NS || s->period_ns != 0;
}

static int send_types(struct pprof *p, struct hark_err *err)
{
	if (send_type(p, PROFILE_SAMPLE_TYPE, "samples", "count", err) < 0)
		return -1;
	if (!has_time(p->s))
		return 0;
	if (send_type(p, PROFILE_SAMPLE_TYPE, "time", "nanoseconds", err) < 0)
		return -1;
	return p->s->period_ns == 0 ? 0
				    : send_type(p, PROFILE_PERIOD_TYPE, "time",
						"nanoseconds", err);
}

static void put_values(struct pprof *p, const struct stacks_sum *sum)
{
	const struct stacks *s = p->s;
	uint64_t ns = sum->weight;

	proto_clear(&p->inner);
	proto_varint(&p->inner,
		     s->unit == STACKS_NS ? sum->n_samples : sum->weight);
	if (s->unit == STACKS_SAMPLES &&
	    (__builtin_mul_overflow(ns, s->period_ns, &ns) || ns > INT64_MAX))
		ns = INT64_MAX;
	if (has_time(s))
		proto_varint(&p->inner, ns);
	proto_message(&p->message, SAMPLE_VALUE, &p->inner);
}

static void put_label(struct pprof *p, const char *key, const char *text,
		      int number)
{
	proto_clear(&p->inner);
	put_string(p, &p->inner, LABEL_KEY, key);
	if (text != NULL)
		put_string(p, &p->inner, LABEL_STRING, text);
	else
		proto_number(&p->inner, LABEL_NUMBER, (uint64_t)number);
	proto_message(&p->message, SAMPLE_LABEL, &p->inner);
}

/* A node whose child on the path is inlined into it is part of its location. */
static int send_sample(struct pprof *p, const struct stacks_sum *sum,
		       struct hark_err *err)
{
	const struct stacks_thread *t = &p->s->threads[sum->thread];
	const struct intern_key *chain;
	uint32_t v = sum->node, i, n;

	proto_clear(&p->inner);
	while (v != 0) {
		proto_varint(&p->inner, (uint64_t)p->chain_of[v] + 1);
		chain = &p->chains.keys[p->chain_of[v]];
		for (i = 0, n = chain->n[2]; i < n; i++)
			v = p->s->nodes[v].parent;
	}
	proto_message(&p->message, SAMPLE_LOCATION, &p->inner);
	put_values(p, sum);
	if (t->name != NULL && t->name[0] != '\0')
		put_label(p, "thread", t->name, 0);
	put_label(p, "pid", NULL, t->pid);
	put_label(p, "tid", NULL, t->tid);
	return send(p, PROFILE_SAMPLE, err);
}

static int send_samples(struct pprof *p, struct hark_err *err)
{
	struct stacks_sums sums = {0};
	int rc = stacks_sums_init(&sums, p->s, NULL, err);
	size_t i;

	for (i = 0; rc == 0 && i < sums.n; i++)
		rc = send_sample(p, &sums.at[i], err);
	stacks_sums_fini(&sums);
	return rc;
}

static int send_mappings(struct pprof *p, struct hark_err *err)
{
	size_t i;

	for (i = 1; i < p->modules.n; i++) {
		proto_number(&p->message, MAPPING_ID, i);
		put_string(p, &p->message, MAPPING_FILE,
			   p->modules.texts[i].text);
		proto_number(&p->message, MAPPING_HAS_FUNCTIONS, 1);
		proto_number(&p->message, MAPPING_HAS_FILES, 1);
		proto_number(&p->message, MAPPING_HAS_LINES, 1);
		proto_number(&p->message, MAPPING_HAS_INLINED, 1);
		if (send(p, PROFILE_MAPPING, err) < 0)
			return -1;
	}
	return 0;
}

static int send_locations(struct pprof *p, struct hark_err *err)
{
	const struct intern_key *chain;
	uint32_t frame = 0, at;
	size_t i;

	for (i = 0; i < p->chains.n; i++) {
		proto_number(&p->message, LOCATION_ID, i + 1);
		for (at = (uint32_t)i; at != NO_CHAIN; at = chain->n[0]) {
			chain = &p->chains.keys[at];
			frame = chain->n[1];
			proto_clear(&p->inner);
			proto_number(&p->inner, LINE_FUNCTION,
				     (uint64_t)p->function_of[frame] + 1);
			if (p->s->frames[frame].line != 0)
				proto_number(&p->inner, LINE_LINE,
					     p->s->frames[frame].line);
			proto_message(&p->message, LOCATION_LINE, &p->inner);
		}
		if (p->module_of[frame] != 0)
			proto_number(&p->message, LOCATION_MAPPING,
				     p->module_of[frame]);
		if (send(p, PROFILE_LOCATION, err) < 0)
			return -1;
	}
	return 0;
}

static int send_functions(struct pprof *p, struct hark_err *err)
{
	const struct intern_key *f;
	size_t i;

	for (i = 0; i < p->functions.n; i++) {
		f = &p->functions.keys[i];
		proto_number(&p->message, FUNCTION_ID, i + 1);
		proto_number(&p->message, FUNCTION_NAME, f->n[0]);
		proto_number(&p->message, FUNCTION_SYSTEM_NAME, f->n[0]);
		proto_number(&p->message, FUNCTION_FILE, f->n[1]);
		if (send(p, PROFILE_FUNCTION, err) < 0)
			return -1;
	}
	return 0;
}

/* The last, when all are known. */
static int send_strings(struct pprof *p, struct hark_err *err)
{
	const struct intern_text *t;
	struct proto one = {0};
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < p->strings.n; i++) {
		t = &p->strings.texts[i];
		proto_text(&one, PROFILE_STRING, t->text,
			   t->is_guess ? " [guess]" : "");
		rc = proto_send_plain(&p->sink, &one, err);
	}
	proto_fini(&one);
	return rc;
}

static int send_rest(struct pprof *p, struct hark_err *err)
{
	struct proto plain = {0};
	size_t i;
	int rc;

	proto_number(&plain, PROFILE_DURATION, p->s->duration_ns);
	if (p->s->period_ns != 0)
		proto_number(&plain, PROFILE_PERIOD, p->s->period_ns);
	if (p->s->title != NULL)
		put_string(p, &plain, PROFILE_COMMENT, p->s->title);
	for (i = 0; i < p->s->n_notes; i++)
		put_string(p, &plain, PROFILE_COMMENT, p->s->notes[i]);
	rc = proto_send_plain(&p->sink, &plain, err);
	proto_fini(&plain);
	return rc;
}

int present_pprof(const struct stacks *s, FILE *out, struct hark_err *err)
{
	struct pprof p = {0};
	int rc = -1;

	if (stacks_check(s, err) < 0)
		return -1;
	if (pprof_init(&p, s, err) < 0 ||
	    proto_sink_init(&p.sink, out, true, err) < 0 ||
	    send_types(&p, err) < 0 || send_samples(&p, err) < 0 ||
	    send_mappings(&p, err) < 0 || send_locations(&p, err) < 0 ||
	    send_functions(&p, err) < 0 || send_rest(&p, err) < 0 ||
	    send_strings(&p, err) < 0 || proto_sink_end(&p.sink, err) < 0)
		goto out;
	rc = stacks_written(out, err);
out:
	pprof_fini(&p);
	return rc;
}
