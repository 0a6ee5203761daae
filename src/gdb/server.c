/* gdb/server.c - the table of packets, and the conversation.
 *
 *	client --bytes--> packet_take --body--> the table --> on_X --> g->out
 *
 * S1  Every packet is answered once, unless it is one of those that have no
 *     answer (k, R); one that is not known is answered with nothing in it.
 * S2  Nothing that arrives can do harm: bodies are read by words.h alone,
 *     and written to by packet.h alone, which knows where they end.
 * S3  Nothing is ever written to the recorded program. */
#include "gdb/gdb_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* -- Packets that need no file of their own -- */

static void on_supported(struct gdb *g, struct words *w)
{
	const char *rest = w->at;

	g->multiprocess = false;
	while (rest < w->end) {
		struct words one = {rest, w->end};

		if (words_skip(&one, "multiprocess+"))
			g->multiprocess = true;
		rest = memchr(rest, ';', (size_t)(w->end - rest));
		if (rest == NULL)
			break;
		rest++;
	}
	packet_text(&g->out,
		    "PacketSize=%x;QStartNoAckMode+;qXfer:features:read+;"
		    "qXfer:auxv:read+;qXfer:exec-file:read+;"
		    "qXfer:threads:read+;qXfer:siginfo:read+;"
		    "qXfer:libraries-svr4:read+;ReverseContinue+;"
		    "ReverseStep+;ConditionalBreakpoints+;QPassSignals+;"
		    "QCatchSyscalls+;swbreak+;hwbreak+;vContSupported+;"
		    "%s",
		    PACKET_MAX, g->multiprocess ? "multiprocess+;" : "");
}

static void on_no_acks(struct gdb *g, struct words *w)
{
	(void)w;
	g->no_acks = true;
	gdb_ok(g);
}

static void on_extended(struct gdb *g, struct words *w)
{
	(void)w;
	g->is_extended = true;
	gdb_ok(g);
}

static void on_attached(struct gdb *g, struct words *w)
{
	(void)w;
	packet_text(&g->out, "1");
}

static void on_symbol(struct gdb *g, struct words *w)
{
	(void)w; /* none is needed */
	gdb_ok(g);
}

static void on_write(struct gdb *g, struct words *w)
{
	(void)w;
	gdb_fail(g, GDB_EPERM);
}

/* -- The table -- */

static const struct {
	const char *name;
	gdb_handler *f;
	bool is_prefix; /* anything may follow it */
} packets[] = {
    {"qSupported:", on_supported, true},
    {"qSupported", on_supported, false},
    {"QStartNoAckMode", on_no_acks, false},
    {"!", on_extended, false},
    {"?", on_why, false},
    {"qXfer", on_transfer, true},
    {"qAttached", on_attached, true},
    {"qSymbol", on_symbol, true},
    /* threads */
    {"H", on_select, true},
    {"T", on_alive, true},
    {"qC", on_current, false},
    {"qfThreadInfo", on_first_threads, false},
    {"qsThreadInfo", on_next_threads, false},
    {"qThreadExtraInfo,", on_thread_text, true},
    {"qGetTLSAddr:", on_tls, true},
    /* state */
    {"g", on_registers, false},
    {"p", on_register, true},
    {"m", on_memory, true},
    {"qMemoryRegionInfo:", on_region, true},
    {"qSearch:memory", on_search, true},
    {"qCRC:", on_crc, true},
    {"G", on_write, true},
    {"P", on_write, true},
    {"M", on_write, true},
    {"X", on_write, true},
    {"vFile:", on_file, true},
    /* stops */
    {"Z", on_insert, true},
    {"z", on_remove, true},
    {"QPassSignals:", on_pass_signals, true},
    {"QCatchSyscalls:", on_catch_calls, true},
    /* moves */
    {"vCont?", on_actions_known, false},
    {"vCont", on_actions, true},
    {"bc", on_back_continue, false},
    {"bs", on_back_step, false},
    {"c", on_continue, true},
    {"C", on_continue, true},
    {"s", on_step, true},
    {"S", on_step, true},
    {"vRun", on_run, true},
    {"vAttach;", on_attach, true},
    {"vKill", on_kill, true},
    {"R", on_restart, true},
    {"k", on_kill_old, false},
    {"D", on_detach, true},
    {"qRcmd", on_monitor, true},
};

static void answer(struct gdb *g, const char *body, size_t len)
{
	packet_clear(&g->out);
	g->is_mute = false;
	if (g->is_lost) {
		gdb_fail(g, GDB_ENOMEM);
		return;
	}
	for (size_t i = 0; i < sizeof packets / sizeof packets[0]; i++) {
		struct words w = {body, body + len};

		if (!words_skip(&w, packets[i].name) ||
		    (!packets[i].is_prefix && w.at != w.end))
			continue;
		packets[i].f(g, &w);
		break;
	}
	if (g->out.is_full)
		gdb_fail(g, GDB_ENOMEM);
}

const struct packet *gdb_answer(struct gdb *g, const char *body, size_t len)
{
	answer(g, body, len);
	return g->is_mute ? NULL : &g->out;
}

/* -- The conversation -- */

static void acknowledge(struct gdb *g, const char *with)
{
	if (!g->no_acks && send(g->fd, with, 1, MSG_NOSIGNAL) != 1)
		g->is_over = true;
}

static void take(struct gdb *g, uint8_t byte)
{
	g->in.no_sums = g->no_acks;
	switch (packet_take(&g->in, byte)) {
	case PACKET_BODY:
		acknowledge(g, "+");
		answer(g, g->in.body, g->in.len);
		if (!g->is_mute)
			gdb_send(g, &g->out);
		return;
	case PACKET_BAD:
		acknowledge(g, "-");
		return;
	case PACKET_AGAIN:
		if (!g->no_acks)
			gdb_send(g, &g->out);
		return;
	case PACKET_BREAK:
		g->is_break_queued = true;
		return;
	case PACKET_NONE:
		return;
	}
}

static void greet(struct gdb *g, int fd)
{
	g->fd = fd;
	g->no_acks = g->is_extended = g->is_mute = false;
	g->is_over = g->is_lost;
	g->multiprocess = g->shows_progress = false;
	g->unknown = GDB_UNKNOWN_ERROR;
	g->is_away = g->is_break_queued = false;
	g->n_asked = g->n_held = 0;
	g->bytes_at = g->bytes_end = 0;
	packet_reader_init(&g->in);
	packet_clear(&g->out);
	if (g->is_lost)
		return;
	gdb_stops_clear(g);
	gdb_catch_signals(g, 0);
}

int gdb_serve(struct gdb *g, int fd)
{
	int rc = 1;

	greet(g, fd);
	while (!g->is_over && rc > 0) {
		if (g->bytes_at < g->bytes_end)
			take(g, g->bytes[g->bytes_at++]);
		else
			rc = gdb_receive(g);
	}
	gdb_files_close(g);
	g->fd = -1;
	return rc < 0 ? -1 : 0;
}

/* -- Beginning and end -- */

static const struct hark_process *find_process(struct gdb *g, uint32_t number)
{
	for (unsigned i = 0; i < g->api->f_n_processes(g->recording); i++) {
		const struct hark_process *p =
		    g->api->f_process(g->recording, i);

		if (p->number == number || number == 0)
			return p;
	}
	return NULL;
}

static int go_to(struct gdb *g, struct hark_timeline *t, const char *at,
		 struct hark_error *err)
{
	struct hark_position to;

	if (at == NULL)
		return g->api->f_seek_end(t, err);
	if (g->api->f_position_parse(t, at, &to, err) < 0)
		return -1;
	return g->api->f_seek(t, &to, err);
}

static int begin_at(struct gdb *g, const char *at, struct hark_error *err)
{
	uint32_t thread = g->api->f_selected(g->t);

	if (g->api->f_registers(g->t, thread, &g->registers, err) < 0)
		return -1;
	gdb_early_find(g);
	return go_to(g, g->t, at, err);
}

static int open_at(struct gdb *g, uint32_t number, const char *at,
		   struct hark_error *err)
{
	struct hark_timeline *t;
	struct regs_layout layout;

	if (g->api->f_timeline_open(g->recording, number, &t, err) < 0)
		return -1;
	g->t = t;
	g->process = find_process(g, number);
	if (begin_at(g, at, err) < 0) {
		gdb_maps_free(g);
		g->api->f_timeline_close(t);
		g->t = NULL;
		return -1;
	}
	regs_layout_here(&layout);
	regs_init(&g->regs, &layout);
	g->is_away = g->is_stopped = false;
	g->general = g->mover = g->api->f_selected(t);
	g->api->f_on_progress(t, gdb_progress, g);
	gdb_catch_signals(g, 0);
	return 0;
}

/* Two timelines may need more memory than there is: the old one is given up
 * before there is a new one, and had again if there is none. */
int gdb_open_process(struct gdb *g, uint32_t number, const char *at,
		     struct hark_error *err)
{
	uint32_t old = g->process == NULL ? 0 : g->process->number;
	char was[64];
	bool is_away = g->is_away;

	if (find_process(g, number) == NULL)
		return -1;
	if (g->t != NULL) {
		struct hark_position here = g->api->f_where(g->t);

		g->api->f_position_text(&here, was, sizeof was);
		gdb_stops_clear(g);
		gdb_maps_free(g);
		gdb_libraries_forget(g);
		g->api->f_timeline_close(g->t);
		g->t = NULL;
	}
	if (open_at(g, number, at, err) == 0)
		return 0;
	if (old == 0)
		return -1;
	if (open_at(g, old, was, NULL) < 0 && open_at(g, old, NULL, NULL) < 0)
		g->is_over = g->is_lost = true;
	g->is_away = is_away;
	return -1;
}

int gdb_new(const struct gdb_wish *wish, struct gdb **out,
	    struct hark_error *err)
{
	struct gdb *g = calloc(1, sizeof *g);
	unsigned n = wish->api->f_n_modules(wish->recording);

	if (g != NULL)
		g->modules = calloc(n + 1, sizeof *g->modules);
	if (g == NULL || g->modules == NULL) {
		free(g);
		if (err != NULL) {
			err->code = HARK_ERROR_MEMORY;
			snprintf(err->text, sizeof err->text, "out of memory");
		}
		return -1;
	}
	g->n_modules = n;
	g->api = wish->api;
	g->recording = wish->recording;
	g->interrupt = wish->interrupt;
	g->fd = -1;
	if (gdb_open_process(g, wish->process, wish->at, err) < 0) {
		gdb_free(g);
		return -1;
	}
	*out = g;
	return 0;
}

void gdb_free(struct gdb *g)
{
	if (g == NULL)
		return;
	gdb_files_close(g);
	gdb_maps_free(g);
	if (g->t != NULL) {
		gdb_stops_clear(g);
		g->api->f_timeline_close(g->t);
	}
	for (unsigned i = 0; i < g->n_modules; i++)
		free(g->modules[i].bytes);
	free(g->modules);
	gdb_libraries_forget(g);
	doc_free(&g->doc);
	free(g);
}
