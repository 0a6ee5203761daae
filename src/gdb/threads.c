/* gdb/threads.c - threads by their recorded ids. */
#include "gdb/gdb_priv.h"

#include "base/fmt.h"

/* A thread whose tid was not recorded gets one that no thread can have. */
enum { TID_UNKNOWN = 0x40000000 };

static uint32_t tid_of(const struct hark_thread *t)
{
	return t->tid != 0 ? t->tid : TID_UNKNOWN + t->number;
}

const struct hark_thread *gdb_thread(struct gdb *g, uint32_t number)
{
	for (unsigned i = 0; i < g->api->f_n_threads(g->t); i++) {
		const struct hark_thread *t = g->api->f_thread(g->t, i);

		if (t->number == number)
			return t;
	}
	return NULL;
}

uint32_t gdb_thread_of(struct gdb *g, const struct words_thread *id)
{
	uint32_t last = 0;

	if (id->pid > 0 && id->pid != (int64_t)g->process->pid)
		return 0;
	if (id->tid <= 0)
		return gdb_current(g);
	for (unsigned i = 0; i < g->api->f_n_threads(g->t); i++) {
		const struct hark_thread *t = g->api->f_thread(g->t, i);

		if (tid_of(t) != id->tid)
			continue;
		if (g->api->f_thread_lives(g->t, t->number))
			return t->number;
		last = t->number;
	}
	return last;
}

void gdb_thread_id(struct gdb *g, uint32_t number, char out[32])
{
	const struct hark_thread *t = gdb_thread(g, number);
	unsigned tid = t == NULL ? 0 : tid_of(t);

	if (g->multiprocess)
		fmt_text(out, 32, "p%x.%x", g->process->pid, tid);
	else
		fmt_text(out, 32, "%x", tid);
}

uint32_t gdb_current(struct gdb *g)
{
	if (g->general != 0 && g->api->f_thread_lives(g->t, g->general))
		return g->general;
	return g->api->f_selected(g->t);
}

/* -- Packets -- */

/* Hg, Hc: for questions, and for movements of old. */
void on_select(struct gdb *g, struct words *w)
{
	bool is_general = words_skip(w, "g");
	struct words_thread id;
	uint32_t number;

	if ((!is_general && !words_skip(w, "c")) || !words_thread(w, &id)) {
		gdb_fail(g, GDB_EINVAL);
		return;
	}
	number = id.tid <= 0 ? 0 : gdb_thread_of(g, &id);
	if (id.tid > 0 && number == 0) {
		gdb_fail(g, GDB_EINVAL);
		return;
	}
	if (is_general)
		g->general = number;
	else
		g->mover = number;
	gdb_ok(g);
}

void on_alive(struct gdb *g, struct words *w)
{
	struct words_thread id;
	uint32_t number;

	if (!words_thread(w, &id)) {
		gdb_fail(g, GDB_EINVAL);
		return;
	}
	number = gdb_thread_of(g, &id);
	if (number != 0 && g->api->f_thread_lives(g->t, number))
		gdb_ok(g);
	else
		gdb_fail(g, GDB_EPERM);
}

void on_current(struct gdb *g, struct words *w)
{
	char id[32];

	(void)w;
	if (g->is_away)
		return;
	gdb_thread_id(g, gdb_current(g), id);
	packet_text(&g->out, "QC%s", id);
}

enum { LISTED_MAX = 1000 }; /* in one packet */

void on_next_threads(struct gdb *g, struct words *w)
{
	unsigned n = g->is_away ? 0 : g->api->f_n_threads(g->t), listed = 0;

	(void)w;
	for (; g->thread_next < n && listed < LISTED_MAX; g->thread_next++) {
		const struct hark_thread *t =
		    g->api->f_thread(g->t, g->thread_next);
		char id[32];

		if (!g->api->f_thread_lives(g->t, t->number))
			continue;
		gdb_thread_id(g, t->number, id);
		packet_text(&g->out, "%c%s", listed++ == 0 ? 'm' : ',', id);
	}
	if (listed == 0)
		packet_text(&g->out, "l");
}

void on_first_threads(struct gdb *g, struct words *w)
{
	g->thread_next = 0;
	on_next_threads(g, w);
}

/* -- What a person sees of a thread -- */

const char *gdb_thread_name(struct gdb *g, uint32_t number)
{
	const char *name = g->api->f_thread_name(g->t, number);

	return name[0] != '\0' ? name : gdb_short_name(g);
}

/* Where another thread is, is known of the one that moves: so each is chosen
 * for a moment, and in the end all is as it was. */
static void put_text(struct gdb *g, uint32_t number, struct doc *out)
{
	const struct hark_thread *t = gdb_thread(g, number);
	struct hark_position was = g->api->f_where(g->t), at = was;
	char text[64];

	if (number != g->api->f_selected(g->t)) {
		int rc = g->api->f_select(g->t, number, NULL);

		at = g->api->f_where(g->t);
		if (g->api->f_seek(g->t, &was, NULL) < 0 || rc < 0) {
			doc_text(out, "thread %u", number);
			return;
		}
	}
	g->api->f_position_text(&at, text, sizeof text);
	doc_text(out, "at %s", text);
	g->api->f_position_text(&t->last, text, sizeof text);
	doc_text(out, " of %s", text);
}

void on_thread_text(struct gdb *g, struct words *w)
{
	struct words_thread id;
	struct doc text = {0};
	uint32_t number = 0;

	if (words_thread(w, &id))
		number = gdb_thread_of(g, &id);
	if (number == 0) {
		gdb_fail(g, GDB_EINVAL);
		return;
	}
	put_text(g, number, &text);
	packet_hex(&g->out, text.at, text.n);
	doc_free(&text);
}

void gdb_threads_xml(struct gdb *g, struct doc *out)
{
	doc_text(out, "<?xml version=\"1.0\"?><threads>");
	for (unsigned i = 0; !g->is_away && i < g->api->f_n_threads(g->t);
	     i++) {
		const struct hark_thread *t = g->api->f_thread(g->t, i);
		char id[32];

		if (!g->api->f_thread_lives(g->t, t->number))
			continue;
		gdb_thread_id(g, t->number, id);
		doc_text(out, "<thread id=\"%s\" name=\"", id);
		doc_quoted(out, gdb_thread_name(g, t->number));
		doc_text(out, "\">");
		put_text(g, t->number, out);
		doc_text(out, "</thread>");
	}
	doc_text(out, "</threads>");
}
