/* gdb/moves.c - packets that move, and why it stopped.
 *
 * The program never ends here: at both ends of the recording it stops, and
 * gdb is told that history ends. What goes wrong on the way is said on the
 * user's console, and the program stays where it was. */
#include "gdb/gdb_priv.h"

#include "base/fmt.h"

/* -- Signals have numbers of gdb's own -- */

unsigned gdb_signal_number(int linux_signal)
{
	static const uint8_t numbers[32] = {
	    [1] = 1,   [2] = 2,	  [3] = 3,   [4] = 4,	 [5] = 5,   [6] = 6,
	    [7] = 10,  [8] = 8,	  [9] = 9,   [10] = 30,	 [11] = 11, [12] = 31,
	    [13] = 13, [14] = 14, [15] = 15, [16] = 143, /* unknown to gdb */
	    [17] = 20, [18] = 19, [19] = 17, [20] = 18,	 [21] = 21, [22] = 22,
	    [23] = 16, [24] = 24, [25] = 25, [26] = 26,	 [27] = 27, [28] = 28,
	    [29] = 23, [30] = 32, [31] = 12,
	};

	if (linux_signal > 0 && linux_signal < 32)
		return numbers[linux_signal];
	if (linux_signal == 32)
		return 77;
	if (linux_signal == 64)
		return 78;
	return linux_signal > 32 && linux_signal < 64
		   ? (unsigned)linux_signal + 12
		   : 5;
}

/* -- Why -- */

static int pending_signal(struct gdb *g, uint32_t thread)
{
	uint8_t siginfo[128];
	int signo;

	return g->api->f_signal(g->t, thread, &signo, siginfo, NULL) == 1
		   ? signo
		   : 0;
}

static unsigned stop_signal(struct gdb *g)
{
	int signo = 0;

	if (g->is_interrupted)
		return gdb_signal_number(2);
	if (g->is_stopped && g->stopped.why == HARK_STOP_SIGNAL)
		signo = g->stopped.signal;
	else if (!g->is_stopped)
		signo = pending_signal(g, gdb_current(g));
	return signo > 0 ? gdb_signal_number(signo) : 5;
}

static void put_watch(struct gdb *g, const struct hark_stopped *s)
{
	uint64_t start = s->address;
	unsigned type;
	const char *name = gdb_watch_of(g, s->id, &start, &type);

	/* gdb wants an address within what it watches. */
	if (name != NULL)
		packet_text(&g->out, "%s:%llx;", name,
			    (unsigned long long)(s->address < start
						     ? start
						     : s->address));
}

static void put_reason(struct gdb *g)
{
	const struct hark_stopped *s = &g->stopped;
	const char *name;
	uint64_t start;
	unsigned type;

	switch (s->why) {
	case HARK_STOP_BREAKPOINT:
		name = gdb_watch_of(g, s->id, &start, &type);
		packet_text(&g->out, "%s:;", name == NULL ? "swbreak" : name);
		return;
	case HARK_STOP_WATCH:
		put_watch(g, s);
		return;
	case HARK_STOP_CALL:
		packet_text(&g->out, "syscall_entry:%llx;",
			    (unsigned long long)s->call);
		return;
	case HARK_STOP_START:
		packet_text(&g->out, "replaylog:begin;");
		return;
	case HARK_STOP_END:
		packet_text(&g->out, "replaylog:end;");
		return;
	default:
		return;
	}
}

static void put_stop(struct gdb *g)
{
	static const uint8_t expedited[] = {REGS_RBP, REGS_RSP, REGS_RIP};
	uint32_t thread = gdb_current(g);
	char id[32];

	gdb_thread_id(g, thread, id);
	packet_clear(&g->out);
	packet_text(&g->out, "T%02xthread:%s;", stop_signal(g), id);
	if (gdb_registers(g, thread) == 0)
		for (unsigned i = 0; i < sizeof expedited; i++) {
			packet_text(&g->out, "%02x:", expedited[i]);
			gdb_put_register(g, &g->out, expedited[i]);
			packet_text(&g->out, ";");
		}
	if (g->is_stopped && !g->is_interrupted)
		put_reason(g);
}

void on_why(struct gdb *g, struct words *w)
{
	(void)w;
	if (g->is_away)
		packet_text(&g->out, "W00");
	else
		put_stop(g);
}

/* -- Moving -- */

static void complain(struct gdb *g, const struct hark_error *err)
{
	char text[sizeof err->text + 16];

	fmt_text(text, sizeof text, "hark: %s\n", err->text);
	gdb_console(g, text);
}

/* What a movement came to, and the answer to it. */
static void finish(struct gdb *g, int rc, const struct hark_error *err)
{
	g->is_stopped = rc == 0;
	if (rc < 0 && err->code != HARK_ERROR_STOPPED) {
		complain(g, err);
		g->is_interrupted = true; /* a step that is none is no end */
	} else if (rc < 0) {
		g->is_interrupted = true;
	}
	g->general = g->mover = g->api->f_selected(g->t);
	if (g->is_stopped && g->stopped.why == HARK_STOP_END) {
		int signo = pending_signal(g, g->general);

		if (signo > 0) {
			g->stopped.why = HARK_STOP_SIGNAL;
			g->stopped.signal = signo;
		}
	}
	put_stop(g);
}

/* An interrupt that came while nothing moved is for the next movement, as the
 * protocol has it: gdb sends one between two stops that it does not report,
 * if a condition that gdb itself evaluates is false there. */
static bool is_interrupted_before(struct gdb *g)
{
	if (!g->is_break_queued)
		return false;
	g->is_break_queued = false;
	g->is_interrupted = true;
	put_stop(g);
	return true;
}

static void begin(struct gdb *g)
{
	g->is_interrupted = g->is_stopped = false;
	g->is_asked = false;
	g->shown_ms = 0;
	g->stopped = (struct hark_stopped){0};
}

int gdb_is_same(const struct hark_position *a, const struct hark_position *b)
{
	return a->process == b->process && a->thread == b->thread &&
	       a->count == b->count && a->step == b->step;
}

/* At the end it was told why the program stopped there; now, that history
 * ends. */
static void run(struct gdb *g, enum hark_direction way)
{
	struct hark_position was = g->api->f_where(g->t), is;
	struct hark_error err = {0};
	int rc;

	begin(g);
	if (is_interrupted_before(g))
		return;
	rc = g->api->f_run(g->t, way, &g->stopped, &err);
	is = g->api->f_where(g->t);
	if (rc == 0 && g->stopped.why == HARK_STOP_END &&
	    gdb_is_same(&was, &is)) {
		g->is_stopped = true;
		put_stop(g);
		return;
	}
	finish(g, rc, &err);
}

struct range {
	uint64_t start, end; /* stepping goes on within; empty: one step */
};

static int is_within(struct gdb *g, const struct range *r)
{
	return gdb_registers(g, g->api->f_selected(g->t)) == 0 &&
	       g->registers.rip >= r->start && g->registers.rip < r->end;
}

static void step(struct gdb *g, enum hark_direction way, uint32_t thread,
		 const struct range *r)
{
	struct hark_error err = {0};
	int rc = 0;

	begin(g);
	if (is_interrupted_before(g))
		return;
	if (thread != 0 && thread != g->api->f_selected(g->t))
		rc = g->api->f_select(g->t, thread, &err);
	do {
		if (rc == 0)
			rc = g->api->f_step(g->t, way, 1, &g->stopped, &err);
	} while (rc == 0 && g->stopped.why == HARK_STOP_STEP &&
		 !gdb_progress(g, 0, 0) && is_within(g, r));
	if (rc == 0 && g->is_interrupted) {
		err.code = HARK_ERROR_STOPPED;
		rc = -1;
	}
	finish(g, rc, &err);
}

/* -- Packets -- */

static int is_gone(struct gdb *g)
{
	if (g->is_away)
		gdb_fail(g, GDB_EPERM);
	return g->is_away;
}

void on_continue(struct gdb *g, struct words *w)
{
	(void)w; /* another address is not gone on from */
	if (!is_gone(g))
		run(g, HARK_FORWARD);
}

void on_step(struct gdb *g, struct words *w)
{
	const struct range none = {0, 0};

	(void)w;
	if (!is_gone(g))
		step(g, HARK_FORWARD, g->mover, &none);
}

void on_back_continue(struct gdb *g, struct words *w)
{
	(void)w;
	if (!is_gone(g))
		run(g, HARK_BACKWARD);
}

void on_back_step(struct gdb *g, struct words *w)
{
	const struct range none = {0, 0};

	(void)w;
	if (!is_gone(g))
		step(g, HARK_BACKWARD, g->mover, &none);
}

void on_actions_known(struct gdb *g, struct words *w)
{
	(void)w;
	packet_text(&g->out, "vCont;c;C;s;S;t;r");
}

struct action {
	char kind; /* c, s, r or t */
	struct range range;
	uint32_t thread; /* 0: all that have none of their own */
};

static int take_action(struct gdb *g, struct words *w, struct action *out)
{
	struct words_thread id;
	uint64_t signo;

	*out = (struct action){0};
	if (w->at == w->end)
		return -1;
	out->kind = *w->at++;
	if (out->kind == 'C' || out->kind == 'S') {
		out->kind = out->kind == 'C' ? 'c' : 's';
		if (!words_number(w, &signo)) /* none is ever delivered */
			return -1;
	}
	if (out->kind == 'r' &&
	    (!words_number(w, &out->range.start) || !words_skip(w, ",") ||
	     !words_number(w, &out->range.end)))
		return -1;
	if (!words_skip(w, ":"))
		return 0;
	if (!words_thread(w, &id))
		return -1;
	if (id.tid > 0) {
		out->thread = gdb_thread_of(g, &id);
		return out->thread == 0 ? -1 : 0;
	}
	return 0;
}

/* vCont;ACTION[:THREAD];...: all threads go on as recorded; a thread that is
 * to be stepped says where that ends. */
void on_actions(struct gdb *g, struct words *w)
{
	struct action chosen = {0}, a;

	if (is_gone(g))
		return;
	while (words_skip(w, ";")) {
		if (take_action(g, w, &a) < 0) {
			gdb_fail(g, GDB_EINVAL);
			return;
		}
		if ((a.kind == 's' || a.kind == 'r') && chosen.kind != 's' &&
		    chosen.kind != 'r')
			chosen = a;
		if (a.kind == 'c' && chosen.kind == 0)
			chosen = a;
	}
	if (chosen.kind == 'c')
		run(g, HARK_FORWARD);
	else if (chosen.kind == 's' || chosen.kind == 'r')
		step(g, HARK_FORWARD, chosen.thread, &chosen.range);
	else
		gdb_fail(g, GDB_EINVAL);
}

/* -- Beginning again, and leaving -- */

static void restart(struct gdb *g)
{
	struct hark_error err = {0};

	begin(g);
	if (g->api->f_seek_start(g->t, &err) < 0) {
		gdb_fail(g, GDB_EPERM);
		return;
	}
	g->is_away = false;
	g->general = g->mover = g->api->f_selected(g->t);
	g->is_stopped = true;
	g->stopped.why = HARK_STOP_STEP;
	put_stop(g);
}

/* vRun;...: the program and its arguments are the recorded ones. */
void on_run(struct gdb *g, struct words *w)
{
	(void)w;
	restart(g);
}

void on_restart(struct gdb *g, struct words *w)
{
	(void)w;
	restart(g);
	g->is_mute = true; /* R has no answer */
}

void on_kill(struct gdb *g, struct words *w)
{
	(void)w;
	gdb_stops_clear(g);
	g->is_away = true;
	gdb_ok(g);
}

/* k: the connection ends with it, unless there will be a run. */
void on_kill_old(struct gdb *g, struct words *w)
{
	on_kill(g, w);
	g->is_mute = true;
	g->is_over = !g->is_extended;
}

void on_detach(struct gdb *g, struct words *w)
{
	on_kill(g, w);
	g->is_over = !g->is_extended;
}

/* vAttach;PID: another process of the recording, at its end. */
void on_attach(struct gdb *g, struct words *w)
{
	struct hark_error err = {0};
	uint64_t pid;

	if (!words_number(w, &pid)) {
		gdb_fail(g, GDB_EINVAL);
		return;
	}
	for (unsigned i = 0; i < g->api->f_n_processes(g->recording); i++) {
		const struct hark_process *p =
		    g->api->f_process(g->recording, i);

		if (p->pid != pid)
			continue;
		if (gdb_open_process(g, p->number, NULL, &err) < 0)
			break;
		begin(g);
		put_stop(g);
		return;
	}
	gdb_fail(g, GDB_EPERM);
}
