/* gdb/xfer.c - qXfer: documents, piece by piece. */
#include "gdb/gdb_priv.h"

#include <string.h>

static void put_features(struct gdb *g, struct doc *out)
{
	regs_describe(&g->regs, out);
}

static void put_exec_file(struct gdb *g, struct doc *out)
{
	doc_plain(out, gdb_program(g));
}

static void put_siginfo(struct gdb *g, struct doc *out)
{
	uint8_t siginfo[128];
	int signo;

	if (g->api->f_signal(g->t, gdb_current(g), &signo, siginfo, NULL) == 1)
		doc_add(out, siginfo, sizeof siginfo);
}

static const struct {
	const char *name;
	gdb_writer *f;
	bool needs_program; /* is refused while there is none */
} documents[] = {
    {":features:read:target.xml:", put_features, false},
    {":auxv:read::", gdb_auxv, true},
    {":threads:read::", gdb_threads_xml, false},
    {":siginfo:read::", put_siginfo, true},
    {":libraries-svr4:read::", gdb_libraries_xml, true},
    {":exec-file:read:", put_exec_file, false},
};

/* ...:OFFSET,LENGTH */
static void send_piece(struct gdb *g, struct words *w, gdb_writer *f)
{
	uint64_t offset, len;
	size_t left, done;

	if (!words_number(w, &offset) || !words_skip(w, ",") ||
	    !words_number(w, &len)) {
		gdb_fail(g, GDB_EINVAL);
		return;
	}
	/* gdb reads what it needs of a siginfo, wherever that begins. */
	if (offset == 0 || g->doc_of != f || f == put_siginfo) {
		doc_clear(&g->doc);
		g->doc_of = f;
		f(g, &g->doc);
		if (g->doc.is_short) {
			gdb_fail(g, GDB_ENOMEM);
			return;
		}
	}
	left = offset < g->doc.n ? g->doc.n - (size_t)offset : 0;
	packet_text(&g->out, "m");
	done = left == 0 ? 0
			 : packet_binary(&g->out, g->doc.at + offset,
					 left < len ? left : (size_t)len);
	if (done == left)
		g->out.body[0] = 'l';
}

void on_transfer(struct gdb *g, struct words *w)
{
	for (size_t i = 0; i < sizeof documents / sizeof documents[0]; i++) {
		if (!words_skip(w, documents[i].name))
			continue;
		if (documents[i].f == put_exec_file) {
			uint64_t pid; /* nothing: the current one */

			words_number(w, &pid);
			if (!words_skip(w, ":")) {
				gdb_fail(g, GDB_EINVAL);
				return;
			}
		}
		if (documents[i].needs_program && g->is_away) {
			gdb_fail(g, GDB_EPERM);
			return;
		}
		send_piece(g, w, documents[i].f);
		return;
	}
}
