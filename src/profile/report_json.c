/* profile/report_json.c - a profile as one JSON object.
 *
 * Calls are a flat list, each with the number of its caller: nested objects
 * would be as deep as the stacks. */
#include "profile/report.h"

#include "present/json.h"

#include <errno.h>
#include <stdlib.h>

static void number_or_null(struct json *j, const char *key, int64_t value)
{
	if (value < 0)
		json_null(j, key);
	else
		json_signed(j, key, value);
}

static void put_facts(struct json *j, const struct report_plan *p)
{
	static const char *const clocks[] = {[PROFILE_CPU] = "cpu",
					     [PROFILE_WALL] = "wall",
					     [PROFILE_OFF_CPU] = "off-cpu"};
	const struct profile_facts *f = &p->profile->facts;

	json_text(j, "kind", "profile");
	json_text(j, "command", p->stacks->title);
	number_or_null(j, "exit_status", f->exit);
	number_or_null(j, "signal", f->signal);
	json_text(j, "clock", clocks[f->clock]);
	json_number(j, "period_ns", f->period_ns);
	json_real(j, "rate", profile_rate(f));
	json_number(j, "duration_ns", f->duration_ns);
	json_number(j, "cpu_user_ns", f->cpu_user_ns);
	json_number(j, "cpu_system_ns", f->cpu_system_ns);
	json_number(j, "samples", p->stacks->n_samples);
	json_number(j, "samples_in_file", f->samples);
	json_number(j, "processes", f->processes);
	json_number(j, "lost", f->lost);
	json_bool(j, "complete", f->is_complete);
}

static int put_threads(struct json *j, const struct stacks *s)
{
	struct sum {
		uint64_t n, weight;
	} *sums = calloc(s->n_threads + 1, sizeof *sums);

	if (sums == NULL)
		return -1;
	for (size_t i = 0; i < s->n_samples; i++) {
		sums[s->samples[i].thread].n++;
		sums[s->samples[i].thread].weight += s->samples[i].weight;
	}
	json_array(j, "threads");
	for (size_t i = 0; i < s->n_threads; i++) {
		json_object(j, NULL);
		json_signed(j, "pid", s->threads[i].pid);
		json_signed(j, "tid", s->threads[i].tid);
		json_text(j, "name", s->threads[i].name);
		json_number(j, "samples", sums[i].n);
		json_number(j, "weight", sums[i].weight);
		json_end(j);
	}
	json_end(j);
	free(sums);
	return 0;
}

static void put_functions(struct json *j, const struct calls *c)
{
	json_array(j, "functions");
	for (size_t i = 0; i < c->n_functions; i++) {
		const struct calls_function *f = &c->functions[c->order[i]];

		if (f->total == 0)
			continue;
		json_object(j, NULL);
		json_text(j, "name", f->name);
		json_text(j, "module", f->module);
		if (f->file != NULL)
			json_text(j, "file", f->file);
		else
			json_null(j, "file");
		json_number(j, "self", f->self);
		json_number(j, "total", f->total);
		json_bool(j, "unknown", f->is_unknown);
		json_end(j);
	}
	json_end(j);
}

static void put_call(struct json *j, const struct calls *c, uint32_t at,
		     uint32_t parent)
{
	const struct calls_node *n = &c->nodes[at];
	const struct calls_function *f = &c->functions[n->function];

	json_object(j, NULL);
	json_number(j, "id", at);
	json_number(j, "parent", parent);
	json_text(j, "name", f->name);
	json_text(j, "module", f->module);
	json_number(j, "self", n->self);
	json_number(j, "total", n->total);
	json_number(j, "calls_least", n->least);
	json_number(j, "calls_most", n->most);
	json_bool(j, "guess", n->is_guess);
	json_end(j);
}

/* Down to the first, over to the next, up again. */
static void put_calls(struct json *j, const struct calls *c)
{
	uint32_t at = 0;
	bool down = true;

	json_array(j, "calls");
	for (;;) {
		if (down && c->nodes[at].first != 0) {
			at = c->nodes[at].first;
		} else if (at == 0) {
			break;
		} else if (c->nodes[at].next != 0) {
			at = c->nodes[at].next;
		} else {
			at = c->nodes[at].parent;
			down = false;
			if (at == 0)
				break;
			continue;
		}
		put_call(j, c, at, c->nodes[at].parent);
		down = true;
	}
	json_end(j);
}

int report_json(const struct report_plan *p, FILE *out, struct hark_err *err)
{
	const struct stacks *s = p->stacks;
	struct calls c;
	struct json j;
	int rc;

	if (calls_init(&c, s, p->view, p->share, err) < 0)
		return -1;
	json_init(&j, out);
	json_object(&j, NULL);
	put_facts(&j, p);
	json_number(&j, "weight", c.total);
	json_text(&j, "unit", s->unit == STACKS_NS ? "ns" : "samples");
	rc = put_threads(&j, s);
	put_functions(&j, &c);
	json_text(&j, "view", p->view == CALLS_UP ? "callers" : "calls");
	put_calls(&j, &c);
	json_array(&j, "notes");
	for (size_t i = 0; i < s->n_notes; i++)
		json_text(&j, NULL, s->notes[i]);
	json_end(&j);
	json_end(&j);
	calls_fini(&c);
	return rc < 0 ? err_set(err, HARK_ENOMEM, ENOMEM, "out of memory") : 0;
}
