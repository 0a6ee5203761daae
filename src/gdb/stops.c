/* gdb/stops.c - breakpoints, watchpoints, system calls, signals.
 *
 * They live in the timeline's tables; memory is never changed for them, so a
 * breakpoint on data does no harm. Conditions are evaluated here, which saves
 * gdb a round trip for each time that one does not hold. */
#include "gdb/gdb_priv.h"

#include "gdb/agent.h"

#include <stdlib.h>
#include <string.h>

enum { /* of Z packets */
       Z_SOFTWARE,
       Z_HARDWARE,
       Z_WRITE,
       Z_READ,
       Z_ACCESS,
};

enum { CONDITIONS_MAX = 64 };

struct gdb_stop {
	struct gdb_stop *next; /* owned */
	struct gdb *g;	       /* borrowed */
	unsigned type;
	uint64_t address, len;
	uint32_t id; /* of the timeline */
	unsigned n_conditions;
	struct {
		uint8_t *code; /* owned */
		size_t len;
	} conditions[CONDITIONS_MAX];
};

static void stop_free(struct gdb_stop *s)
{
	if (s == NULL)
		return;
	for (unsigned i = 0; i < s->n_conditions; i++)
		free(s->conditions[i].code);
	free(s);
}

/* -- Conditions -- */

static int condition_register(void *ctx, unsigned number, uint64_t *out)
{
	struct gdb *g = ctx;
	uint8_t bytes[32] = {0};
	unsigned len = regs_get(&g->regs, &g->registers, number, bytes);

	if (len == 0 || len > 8)
		return -1;
	memcpy(out, bytes, sizeof *out);
	return 0;
}

static int condition_memory(void *ctx, uint64_t address, size_t len,
			    uint8_t *out)
{
	return gdb_read(ctx, address, out, len);
}

/* Does any of them hold? One that cannot be evaluated does: gdb will see. */
static int holds(struct gdb_stop *s)
{
	const struct agent_state state = {
	    .ctx = s->g,
	    .read_register = condition_register,
	    .read_memory = condition_memory,
	};

	if (gdb_registers(s->g, s->g->api->f_selected(s->g->t)) < 0)
		return 1;
	for (unsigned i = 0; i < s->n_conditions; i++) {
		uint64_t value;

		if (agent_run(s->conditions[i].code, s->conditions[i].len,
			      &state, &value) < 0 ||
		    value != 0)
			return 1;
	}
	return 0;
}

/* Between many that do not hold, too, an interrupt is heard; it stops here. */
static int condition(void *ctx, struct hark_timeline *t)
{
	enum { OFTEN = 256 };
	struct gdb_stop *s = ctx;
	struct hark_timeline *usual = s->g->t;
	int is_met;

	if (s->g->is_interrupted ||
	    (++s->g->n_asked % OFTEN == 0 && gdb_progress(s->g, 0, 0)))
		return 1;
	s->g->t = t;
	is_met = holds(s);
	s->g->n_held += is_met != 0;
	s->g->t = usual;
	return is_met;
}

/* ;Xlen,code... ; commands are not offered, and end it. */
static int take_conditions(struct words *w, struct gdb_stop *s)
{
	uint64_t len;

	while (words_skip(w, ";X")) {
		uint8_t *code;

		if (s->n_conditions == CONDITIONS_MAX ||
		    !words_number(w, &len) || !words_skip(w, ",") || len == 0 ||
		    len > (size_t)(w->end - w->at) / 2)
			return -1;
		code = malloc((size_t)len);
		if (code == NULL)
			return -1;
		s->conditions[s->n_conditions].code = code;
		s->conditions[s->n_conditions++].len = (size_t)len;
		if (words_hex(w, code, (size_t)len) != len)
			return -1;
		words_skip(w, ","); /* between two, some versions write it */
	}
	return 0;
}

/* -- Z and z -- */

static int take_place(struct words *w, struct gdb_stop *out)
{
	uint64_t type;

	if (!words_number(w, &type) || type > Z_ACCESS || !words_skip(w, ",") ||
	    !words_number(w, &out->address) || !words_skip(w, ",") ||
	    !words_number(w, &out->len))
		return -1;
	out->type = (unsigned)type;
	return 0;
}

static int forget(struct gdb *g, const struct gdb_stop *like)
{
	for (struct gdb_stop **at = &g->stops; *at != NULL; at = &(*at)->next) {
		struct gdb_stop *s = *at;

		if (s->type != like->type || s->address != like->address ||
		    s->len != like->len)
			continue;
		g->api->f_forget_stop(g->t, s->id);
		*at = s->next;
		stop_free(s);
		return 1;
	}
	return 0;
}

static uint32_t set(struct gdb *g, struct gdb_stop *s)
{
	static const unsigned on[] = {
	    [Z_WRITE] = HARK_ON_WRITE,
	    [Z_READ] = HARK_ON_READ,
	    [Z_ACCESS] = HARK_ON_READ | HARK_ON_WRITE,
	};
	hark_condition *when = s->n_conditions > 0 ? condition : NULL;

	if (s->type <= Z_HARDWARE)
		return g->api->f_break(g->t, s->address, HARK_ANY_THREAD, when,
				       s);
	return g->api->f_watch(g->t, s->address, s->len, on[s->type],
			       HARK_ANY_THREAD, when, s);
}

void on_insert(struct gdb *g, struct words *w)
{
	struct gdb_stop *s = calloc(1, sizeof *s);

	if (s == NULL) {
		gdb_fail(g, GDB_ENOMEM);
		return;
	}
	s->g = g;
	if (g->is_away || take_place(w, s) < 0 || take_conditions(w, s) < 0 ||
	    (s->type >= Z_WRITE && s->len == 0)) {
		stop_free(s);
		gdb_fail(g, GDB_EINVAL);
		return;
	}
	forget(g, s); /* the same again has other conditions */
	s->id = set(g, s);
	if (s->id == 0) {
		stop_free(s);
		gdb_fail(g, GDB_ENOMEM);
		return;
	}
	s->next = g->stops;
	g->stops = s;
	gdb_ok(g);
}

void on_remove(struct gdb *g, struct words *w)
{
	struct gdb_stop like = {0};

	if (take_place(w, &like) < 0) {
		gdb_fail(g, GDB_EINVAL);
		return;
	}
	if (!g->is_away)
		forget(g, &like);
	gdb_ok(g);
}

const char *gdb_watch_of(struct gdb *g, uint32_t id, uint64_t *start,
			 unsigned *type)
{
	static const char *const names[] = {
	    [Z_SOFTWARE] = "swbreak", [Z_HARDWARE] = "hwbreak",
	    [Z_WRITE] = "watch",      [Z_READ] = "rwatch",
	    [Z_ACCESS] = "awatch",
	};

	for (const struct gdb_stop *s = g->stops; s != NULL; s = s->next)
		if (s->id == id) {
			*start = s->address;
			*type = s->type;
			return names[s->type];
		}
	return NULL;
}

/* -- System calls and signals -- */

static void forget_calls(struct gdb *g)
{
	while (g->n_call_stops > 0)
		g->api->f_forget_stop(g->t, g->call_stops[--g->n_call_stops]);
}

static int catch_call(struct gdb *g, int64_t number)
{
	uint32_t id;

	if (g->n_call_stops == sizeof g->call_stops / sizeof g->call_stops[0])
		return -1;
	id = g->api->f_catch_call(g->t, number);
	if (id == 0)
		return -1;
	g->call_stops[g->n_call_stops++] = id;
	return 0;
}

/* QCatchSyscalls:0, :1 or :1;NUMBER;NUMBER... */
void on_catch_calls(struct gdb *g, struct words *w)
{
	uint64_t number;
	int rc = 0;

	if (g->is_away || (!words_skip(w, "0") && !words_skip(w, "1"))) {
		gdb_fail(g, GDB_EINVAL);
		return;
	}
	forget_calls(g);
	if (w->at[-1] == '1' && w->at == w->end)
		rc = catch_call(g, -1);
	while (rc == 0 && words_skip(w, ";"))
		rc = words_number(w, &number) && number <= INT32_MAX
			 ? catch_call(g, (int64_t)number)
			 : -1;
	if (rc < 0)
		gdb_fail(g, GDB_EINVAL);
	else
		gdb_ok(g);
}

/* Every signal stops but those; bit n is Linux's signal n. */
void gdb_catch_signals(struct gdb *g, uint64_t passed)
{
	for (int i = 1; i < GDB_SIGNALS; i++) {
		int passes = i < 64 && (passed >> i & 1) != 0;

		if (g->signal_stops[i] != 0 && passes) {
			g->api->f_forget_stop(g->t, g->signal_stops[i]);
			g->signal_stops[i] = 0;
		} else if (g->signal_stops[i] == 0 && !passes) {
			g->signal_stops[i] = g->api->f_catch_signal(g->t, i);
		}
	}
}

/* QPassSignals:NUMBER;NUMBER... in gdb's numbers. */
void on_pass_signals(struct gdb *g, struct words *w)
{
	uint64_t passed = 0, number;

	while (words_number(w, &number)) {
		for (int i = 1; i < 64; i++)
			if (gdb_signal_number(i) == number)
				passed |= 1ULL << i;
		words_skip(w, ";");
	}
	if (!g->is_away)
		gdb_catch_signals(g, passed);
	gdb_ok(g);
}

void gdb_stops_clear(struct gdb *g)
{
	while (g->stops != NULL) {
		struct gdb_stop *s = g->stops;

		g->stops = s->next;
		g->api->f_forget_stop(g->t, s->id);
		stop_free(s);
	}
	forget_calls(g);
	for (int i = 1; i < GDB_SIGNALS; i++)
		if (g->signal_stops[i] != 0)
			g->api->f_forget_stop(g->t, g->signal_stops[i]);
	memset(g->signal_stops, 0, sizeof g->signal_stops);
}
