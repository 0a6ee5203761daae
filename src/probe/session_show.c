/* probe/session_show.c - what the threads have recorded, on its way to people:
 * the names that it needs, and the board that is emptied. */
#include "probe/session_priv.h"

#include <stdlib.h>

enum { MUCH = 1 << 18 };

/* -- Names -- */

static enum flow_kind flow_of(const struct probe *p)
{
	if (p->kind == SITE_ENTRY)
		return FLOW_ENTRY;
	return p->kind == SITE_INSIDE ? FLOW_OTHER : FLOW_RETURN;
}

void session_name_probes(struct session *s, const struct insertion *in,
			 const struct listing *l, size_t first)
{
	struct probe p;

	for (size_t i = 0; i < listing_count(l); i++) {
		uint32_t site = insert_site(in, first + i);

		if (site >= s->n_sites)
			continue;
		listing_get(l, i, &p);
		s->sites[site] =
		    (struct output_site){p.pretty, p.name, flow_of(&p)};
	}
}

void session_name_listing(void *ctx, const struct listing *l, size_t first)
{
	struct session *s = ctx;

	session_name_probes(s, s->now.insertion, l, first);
}

void session_name_stage(struct session *s, const struct stage *st)
{
	session_name_probes(s, st->insertion, st->draft.listing, 0);
}

static int name_sites(struct session *s, struct hark_err *err)
{
	size_t n_free = unbound_count(s->now.draft.unbound);
	const char *const(*texts)[4] = unbound_texts(s->now.draft.unbound);

	s->sites = calloc(s->n_sites + 1, sizeof *s->sites);
	if (s->sites == NULL)
		return err_set(err, HARK_ENOMEM, 0, "out of memory");
	for (size_t i = 0; i < s->n_sites; i++)
		s->sites[i] = (struct output_site){"?", "?", FLOW_OTHER};
	for (size_t i = 0; i < n_free; i++)
		s->sites[i] =
		    (struct output_site){texts[i][2], texts[i][3], FLOW_OTHER};
	session_name_stage(s, &s->now);
	return 0;
}

bool session_is_unknown(const char *name)
{
	return name[0] == '0' && name[1] == 'x';
}

/* An address may belong to any of the programs; the newest is asked first. */
static void name_address(void *ctx, enum probe_kind how, uint64_t addr,
			 char *out, size_t size)
{
	const struct session *s = ctx;

	naming_name(s->now.draft.naming, how, addr, out, size);
	for (size_t i = s->n_others; i-- > 0 && session_is_unknown(out);)
		naming_name(s->others[i].draft.naming, how, addr, out, size);
	session_name_in_children(s, how, addr, out, size);
	for (size_t i = SESSION_NAMINGS; i-- > 0 && session_is_unknown(out);)
		if (s->namings[i] != NULL)
			naming_name(s->namings[i], how, addr, out, size);
}

/* -- Records -- */

static int take(void *ctx, const struct board_record *r, struct hark_err *err)
{
	struct session *s = ctx;

	if (!r->is_sample && !r->is_difference)
		return output_record(s->output, r, err);
	return s->sampling != NULL ? sampling_record(s->sampling, r, err) : 0;
}

int session_drain_all(struct session *s, struct hark_err *err)
{
	return board_drain(s->board, 1, take, s, err);
}

/* Code that a virtual machine has made has no rules, but return addresses that
 * lie in it are believed then. If there is no room to say so, they are not. */
static void tell_found(struct session *s)
{
	struct modules *found = sampling_found(s->sampling, s->pid);
	struct hark_err ignored;

	if (found != NULL)
		insert_seen(s->now.insertion, found, false, &ignored);
}

/* What is on the board. Clauses that failed may make more of it. */
int session_drain(struct session *s, bool last, struct hark_err *err)
{
	uint64_t before = output_totals(s->output).bytes;

	if (board_drain(s->board, last, take, s, err) < 0)
		return -1;
	if (s->p.follows && !last)
		bury_step(&s->bury, s->board);
	if (s->n_faults > 0) {
		session_run_errors(s);
		if (last && session_drain_all(s, err) < 0)
			return -1;
	}
	s->is_busy = output_totals(s->output).bytes - before > MUCH;
	if (s->sampling != NULL) {
		if (sampling_pause(s->sampling, s->board, err) < 0)
			return -1;
		if (!last)
			tell_found(s);
	}
	return output_flush(s->output, err);
}

int session_open_output(struct session *s, struct hark_err *err)
{
	struct output_plan plan = {
	    .program = s->now.draft.program,
	    .out = s->p.out,
	    .quiet = s->p.options->quiet,
	    .flowindent = s->p.options->flowindent,
	    .order = s->p.options->order,
	    .name = name_address,
	    .name_ctx = s,
	    .run = session_command,
	    .fault = session_take_fault,
	    .ctx = s,
	};

	if (name_sites(s, err) < 0 ||
	    board_open(insert_shared_plan(s->now.insertion),
		       insert_board(s->now.insertion), &s->board, err) < 0 ||
	    namesake_new(name_address, s, &s->names, err) < 0)
		return -1;
	board_name_by(s->board, s->names);
	plan.board = s->board;
	plan.sites = s->sites;
	plan.n_sites = s->n_sites;
	return output_new(&plan, &s->output, err);
}
