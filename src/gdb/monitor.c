/* gdb/monitor.c - qRcmd: what a user says after `monitor`.
 *
 * Words stand apart by blanks; answers are lines for a person. gdb does not
 * know that `seek` moves: hark back's own commands tell it. */
#include "gdb/gdb_priv.h"

#include "base/fmt.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 8 };

struct command {
	struct gdb *g;
	struct doc *out;
	unsigned n;
	char *words[WORDS_MAX];
};

static void say_error(const struct command *c, const struct hark_error *err)
{
	doc_text(c->out, "hark: %s\n",
		 err->code == HARK_ERROR_STOPPED ? "interrupted" : err->text);
}

static void say_position(const struct command *c,
			 const struct hark_position *at)
{
	char text[64];

	c->g->api->f_position_text(at, text, sizeof text);
	doc_text(c->out, "%s", text);
}

static void do_when(const struct command *c)
{
	struct hark_position at = c->g->api->f_where(c->g->t);

	say_position(c, &at);
	doc_text(c->out, "\n");
}

static void do_seek(const struct command *c)
{
	struct hark_error err = {0};
	struct hark_position to;
	struct gdb *g = c->g;
	int rc;

	if (c->n != 2) {
		doc_text(c->out, "hark: seek takes a position: THREAD:COUNT, "
				 "THREAD:COUNT+STEP, start, end or NN%%\n");
		return;
	}
	if (strcmp(c->words[1], "start") == 0)
		rc = g->api->f_seek_start(g->t, &err);
	else if (strcmp(c->words[1], "end") == 0)
		rc = g->api->f_seek_end(g->t, &err);
	else if ((rc = g->api->f_position_parse(g->t, c->words[1], &to,
						&err)) == 0)
		rc = g->api->f_seek(g->t, &to, &err);
	if (rc < 0) {
		say_error(c, &err);
		return;
	}
	g->general = g->mover = g->api->f_selected(g->t);
	g->is_stopped = g->is_interrupted = false;
	do_when(c);
}

static void say_bytes(const struct command *c, const uint8_t *bytes, size_t len)
{
	uint64_t value = 0;

	if (len == 1 || len == 2 || len == 4 || len == 8) {
		memcpy(&value, bytes, len);
		doc_text(c->out, "0x%llx", (unsigned long long)value);
		return;
	}
	for (size_t i = 0; i < len; i++)
		doc_text(c->out, "%s%02x", i == 0 ? "" : " ", bytes[i]);
}

static void say_access(const struct command *c, const struct hark_access *a)
{
	size_t len = a->size < sizeof a->after ? a->size : sizeof a->after;

	say_position(c, &a->at);
	doc_text(c->out, " pc 0x%llx wrote %u bytes at 0x%llx",
		 (unsigned long long)a->pc, a->size,
		 (unsigned long long)a->address);
	if (a->known >= len && len > 0) {
		doc_text(c->out, ": ");
		say_bytes(c, a->before, len);
		doc_text(c->out, " -> ");
		say_bytes(c, a->after, len);
	}
	doc_text(c->out, "\n");
}

static int parse_number(const char *text, uint64_t *out)
{
	char *end;

	*out = strtoull(text, &end, 0);
	return end == text || *end != '\0' ? -1 : 0;
}

static void do_last_write(const struct command *c)
{
	uint64_t address, len = 1;
	struct hark_error err = {0};
	struct hark_access a;
	int rc;

	if (c->n < 2 || c->n > 3 || parse_number(c->words[1], &address) < 0 ||
	    (c->n == 3 && parse_number(c->words[2], &len) < 0) || len == 0) {
		doc_text(c->out,
			 "hark: last-write takes an address and a length\n");
		return;
	}
	rc = c->g->api->f_last_write(c->g->t, address, len, &a, &err);
	if (rc < 0)
		say_error(c, &err);
	else if (rc == 0)
		doc_text(c->out, "never written before\n");
	else
		say_access(c, &a);
}

static void do_threads(const struct command *c)
{
	struct gdb *g = c->g;

	for (unsigned i = 0; i < g->api->f_n_threads(g->t); i++) {
		const struct hark_thread *t = g->api->f_thread(g->t, i);

		doc_text(c->out, "%c %u tid %u, %s, ends at ",
			 t->number == g->api->f_selected(g->t) ? '*' : ' ',
			 t->number, t->tid,
			 g->api->f_thread_lives(g->t, t->number) ? "lives"
								 : "is not");
		say_position(c, &t->last);
		if (t->end_signal != 0)
			doc_text(c->out, " by signal %d", t->end_signal);
		doc_text(c->out, ", ");
		doc_plain(c->out, gdb_thread_name(g, t->number));
		doc_text(c->out, "\n");
	}
}

static void do_processes(const struct command *c)
{
	struct gdb *g = c->g;

	for (unsigned i = 0; i < g->api->f_n_processes(g->recording); i++) {
		const struct hark_process *p =
		    g->api->f_process(g->recording, i);

		doc_text(c->out, "%c %u pid %u: ", p == g->process ? '*' : ' ',
			 p->number, p->pid);
		doc_plain(c->out, p->command);
		doc_text(c->out, "\n");
	}
}

static void do_progress(const struct command *c)
{
	if (c->n == 2 && strcmp(c->words[1], "on") == 0)
		c->g->shows_progress = true;
	else if (c->n == 2 && strcmp(c->words[1], "off") == 0)
		c->g->shows_progress = false;
	else
		doc_text(c->out, "hark: progress takes on or off\n");
}

static void do_unknown(const struct command *c)
{
	static const char *const words[] = {
	    [GDB_UNKNOWN_ERROR] = "error",
	    [GDB_UNKNOWN_MARK] = "mark",
	    [GDB_UNKNOWN_ZERO] = "zero",
	};

	for (unsigned i = 0; c->n == 2 && i < 3; i++)
		if (strcmp(c->words[1], words[i]) == 0) {
			c->g->unknown = (enum gdb_unknown)i;
			return;
		}
	if (c->n == 1)
		doc_text(c->out, "%s\n", words[c->g->unknown]);
	else
		doc_text(c->out, "hark: unknown takes error, mark or zero\n");
}

/* Bytes, those that are not known as ??. */
static void do_known(const struct command *c)
{
	enum { BYTES_MAX = 4096, A_LINE = 16 };
	static uint8_t bytes[BYTES_MAX], known[BYTES_MAX];
	uint64_t address, len = A_LINE;

	if (c->n < 2 || c->n > 3 || parse_number(c->words[1], &address) < 0 ||
	    (c->n == 3 && parse_number(c->words[2], &len) < 0) ||
	    len > BYTES_MAX) {
		doc_text(c->out, "hark: known takes an address and a length, "
				 "of at most 4096\n");
		return;
	}
	memset(known, 0, sizeof known);
	c->g->api->f_read(c->g->t, address, (size_t)len, bytes, known, NULL);
	for (unsigned i = 0; i < len; i++, address++) {
		if (i % A_LINE == 0)
			doc_text(c->out, "%s0x%llx:", i == 0 ? "" : "\n",
				 (unsigned long long)address);
		if (known[i])
			doc_text(c->out, " %02x", bytes[i]);
		else
			doc_text(c->out, " ??");
	}
	doc_text(c->out, "\n");
}

/* Each that did not hold has saved the client a stop. */
static void do_conditions(const struct command *c)
{
	doc_text(c->out, "evaluated %llu, held %llu\n",
		 (unsigned long long)c->g->n_asked,
		 (unsigned long long)c->g->n_held);
}

/* So that a client that gave up an answer can find its feet again. */
static void do_echo(const struct command *c)
{
	doc_text(c->out, "%s\n", c->n == 2 ? c->words[1] : "");
}

static void do_help(const struct command *c);

static const struct {
	const char *name;
	void (*f)(const struct command *c);
	const char *help;
} commands[] = {
    {"when", do_when, "when: the position"},
    {"seek", do_seek,
     "seek POSITION: go there (THREAD:COUNT+STEP, start, end, 50%)"},
    {"last-write", do_last_write,
     "last-write ADDRESS [LENGTH]: who wrote there last, before now"},
    {"threads", do_threads, "threads: all, living or not"},
    {"processes", do_processes, "processes: all of the recording"},
    {"known", do_known,
     "known ADDRESS [LENGTH]: bytes, with ?? for those that are not known"},
    {"unknown", do_unknown,
     "unknown error|mark|zero: how bytes read that are not known (mark: as '?' "
     "among known ones)"},
    {"conditions", do_conditions,
     "conditions: how often some were evaluated here, and held"},
    {"progress", do_progress, "progress on|off: say how far a search is"},
    {"echo", do_echo, "echo WORD: says it"},
    {"help", do_help, "help: this"},
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static void do_help(const struct command *c)
{
	for (unsigned i = 0; i < N_COMMANDS; i++)
		doc_text(c->out, "%s\n", commands[i].help);
}

static void split(struct command *c, char *line)
{
	char *rest = NULL;

	for (char *word = strtok_r(line, " \t\n", &rest);
	     word != NULL && c->n < WORDS_MAX;
	     word = strtok_r(NULL, " \t\n", &rest))
		c->words[c->n++] = word;
}

static void obey(struct command *c)
{
	for (unsigned i = 0; c->n > 0 && i < N_COMMANDS; i++)
		if (strcmp(c->words[0], commands[i].name) == 0) {
			commands[i].f(c);
			return;
		}
	doc_text(c->out, "hark: there is no '%s'; see 'monitor help'\n",
		 c->n > 0 ? c->words[0] : "");
}

/* Long answers come in pieces, the last of which is OK. */
static void answer(struct gdb *g, const struct doc *out)
{
	char piece[1024];

	for (size_t at = 0; at < out->n;) {
		size_t n = out->n - at < sizeof piece - 1 ? out->n - at
							  : sizeof piece - 1;

		memcpy(piece, out->at + at, n);
		piece[n] = '\0';
		at += n;
		if (at < out->n) {
			gdb_console(g, piece);
		} else {
			packet_clear(&g->out);
			packet_hex(&g->out, piece, n);
		}
	}
	if (out->n == 0)
		gdb_ok(g);
}

void on_monitor(struct gdb *g, struct words *w)
{
	struct doc out = {0};
	struct command c = {.g = g, .out = &out};
	char line[1024];

	if (!words_skip(w, ",") || words_hex_text(w, line, sizeof line) < 0) {
		gdb_fail(g, GDB_EINVAL);
		return;
	}
	split(&c, line);
	g->is_asked = true;
	g->is_interrupted = false;
	g->shown_ms = 0;
	if (g->interrupt != NULL)
		*g->interrupt = 0;
	obey(&c);
	g->is_asked = false;
	answer(g, &out);
	doc_free(&out);
}
