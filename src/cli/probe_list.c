/* cli/probe_list.c - hark probe -l: which instructions descriptions name, and
 * which bytes would go there. */
#include "cli/probe_list.h"

#include "present/grid.h"
#include "present/json.h"

#include <stdio.h>
#include <unistd.h>

static const char *const provider_names[] = {
    [PROVIDER_PID] = "pid",
    [PROVIDER_PLT] = "plt",
    [PROVIDER_USDT] = "usdt",
};

struct totals {
	size_t all[FORM_MAX];
};

static enum form form_of(const struct probe *p)
{
	return p->patch != NULL ? p->patch->form : FORM_NONE;
}

/* -- JSON -- */

static void put_hex(struct json *j, const char *key, const uint8_t *bytes,
		    unsigned len)
{
	char text[2 * FORM_BYTES + 1] = "";

	for (size_t i = 0; i < len; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	json_text(j, key, text);
}

static void put_patch(struct json *j, const struct probe *p)
{
	const struct patch *it = p->patch;
	uint64_t bias = p->module->bias;

	json_number(j, "at", it->at + bias);
	put_hex(j, "old", it->old, it->len);
	put_hex(j, "new", it->bytes, it->len);
	json_number(j, "moved", it->n);
	if (it->hop != 0) {
		json_number(j, "hop", it->hop + bias);
		put_hex(j, "hop_old", it->hop_old, FORM_LEN);
		put_hex(j, "hop_new", it->hop_bytes, FORM_LEN);
	}
	if (it->entry != 0)
		json_number(j, "to", it->entry);
}

static void print_json(size_t id, const struct probe *p)
{
	struct json j;

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_number(&j, "id", id);
	json_text(&j, "provider", provider_names[p->provider]);
	json_text(&j, "module", p->module->path);
	json_text(&j, "function", p->pretty);
	json_text(&j, "linked", p->function);
	if (p->chosen != NULL)
		json_text(&j, "chosen", p->chosen);
	json_text(&j, "name", p->name);
	json_text(&j, "form", form_name(form_of(p)));
	json_number(&j, "address", p->addr);
	json_number(&j, "offset", p->offset);
	if (p->usdt_provider != NULL) {
		json_text(&j, "usdt_provider", p->usdt_provider);
		json_text(&j, "arguments", p->usdt_args);
		json_number(&j, "semaphore", p->semaphore);
	}
	if (p->patch != NULL)
		put_patch(&j, p);
	else
		json_text(&j, "refusal", p->refusal);
	json_end(&j);
}

static void print_json_totals(const struct totals *t)
{
	struct json j;

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_object(&j, "totals");
	for (unsigned f = FORM_NONE + 1; f < FORM_MAX; f++)
		json_number(&j, form_name(f), t->all[f]);
	json_number(&j, "refused", t->all[FORM_NONE]);
	json_end(&j);
	json_end(&j);
}

/* -- Text -- */

static int add_row(struct grid *g, size_t id, const struct probe *p,
		   struct hark_err *err)
{
	enum term_style how = p->patch ? TERM_PLAIN : TERM_DOUBTFUL;

	if (grid_cell(g, TERM_PLAIN, err, "%zu", id) < 0 ||
	    grid_cell(g, TERM_PLAIN, err, "%s", provider_names[p->provider]) <
		0 ||
	    grid_cell(g, TERM_PLAIN, err, "%s", p->module->name) < 0 ||
	    grid_cell(g, TERM_STRONG, err, "%s", p->pretty) < 0 ||
	    grid_cell(g, TERM_PLAIN, err, "%s", p->name) < 0 ||
	    grid_cell(g, how, err, "%s", form_name(form_of(p))) < 0 ||
	    grid_cell(g, TERM_PLAIN, err, "0x%lx", (unsigned long)p->addr) <
		0 ||
	    grid_cell(g, how, err, "%s+0x%lx%s%s", p->chosen ? p->chosen : "",
		      (unsigned long)p->offset, p->refusal ? ": " : "",
		      p->refusal ? p->refusal : "") < 0)
		return -1;
	return 0;
}

/* -- Clocks: profile-N and tick-N -- */

static int add_clock_row(struct grid *g, size_t id, const char *const text[4],
			 uint64_t period_ns, struct hark_err *err)
{
	if (grid_cell(g, TERM_PLAIN, err, "%zu", id) < 0 ||
	    grid_cell(g, TERM_PLAIN, err, "%s", text[0]) < 0 ||
	    grid_cell(g, TERM_PLAIN, err, "%s", "") < 0 ||
	    grid_cell(g, TERM_STRONG, err, "%s", "") < 0 ||
	    grid_cell(g, TERM_PLAIN, err, "%s", text[3]) < 0 ||
	    grid_cell(g, TERM_PLAIN, err, "%s", "") < 0 ||
	    grid_cell(g, TERM_PLAIN, err, "%s", "") < 0 ||
	    grid_cell(g, TERM_PLAIN, err, "every %lu ns",
		      (unsigned long)period_ns) < 0)
		return -1;
	return 0;
}

static void print_clock_json(size_t id, const char *const text[4],
			     uint64_t period_ns)
{
	struct json j;

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_number(&j, "id", id);
	json_text(&j, "provider", text[0]);
	json_text(&j, "module", "");
	json_text(&j, "function", "");
	json_text(&j, "name", text[3]);
	json_number(&j, "period_ns", period_ns);
	json_end(&j);
}

/* g NULL: as JSON. */
static int list_clocks(const struct draft *d, struct grid *g,
		       struct hark_err *err)
{
	size_t id = listing_count(d->listing);

	for (size_t i = 0; i < unbound_count(d->unbound); i++) {
		const char *const *text = unbound_texts(d->unbound)[i];
		uint64_t ns = unbound_every(d->unbound, i);

		if (ns == 0)
			continue;
		id++;
		if (g == NULL)
			print_clock_json(id, text, ns);
		else if (add_clock_row(g, id, text, ns, err) < 0)
			return -1;
	}
	return 0;
}

static void print_totals(const struct totals *t)
{
	size_t all = 0, jumps;

	for (unsigned f = 0; f < FORM_MAX; f++)
		all += t->all[f];
	jumps = all - t->all[FORM_NONE] - t->all[FORM_T];
	printf("%zu probes:", all);
	for (unsigned f = FORM_NONE + 1; f < FORM_MAX; f++)
		printf(" %s %zu,", form_name(f), t->all[f]);
	printf(" refused %zu; %.2f %% by a jump\n", t->all[FORM_NONE],
	       all ? 100.0 * (double)jumps / (double)all : 0);
}

/* -- Listing -- */

int probe_list(const struct draft *d, const struct cli_args *args,
	       struct hark_err *err)
{
	static const enum grid_align align[] = {
	    GRID_RIGHT, GRID_LEFT, GRID_LEFT,  GRID_LEFT,
	    GRID_LEFT,	GRID_LEFT, GRID_RIGHT, GRID_LEFT};
	const struct listing *l = d->listing;
	bool json = args_flag(args, "json");
	struct totals totals = {{0}};
	struct grid *g = NULL;
	struct probe p;
	int rc = json ? 0 : grid_new(8, align, &g, err);

	for (size_t i = 0; i < listing_count(l) && rc == 0; i++) {
		listing_get(l, i, &p);
		totals.all[form_of(&p)]++;
		if (json)
			print_json(i + 1, &p);
		else
			rc = add_row(g, i + 1, &p, err);
	}
	if (rc == 0)
		rc = list_clocks(d, g, err);
	if (rc == 0 && json)
		print_json_totals(&totals);
	if (rc == 0 && !json) {
		grid_print(g, stdout, args_colored(args, STDOUT_FILENO),
			   term_width(STDOUT_FILENO));
		print_totals(&totals);
	}
	grid_free(g);
	return rc;
}
