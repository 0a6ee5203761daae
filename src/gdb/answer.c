/* gdb/answer.c - sending, and listening while something takes long. */
#include "gdb/gdb_priv.h"

#include "base/fmt.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

void gdb_ok(struct gdb *g)
{
	packet_clear(&g->out);
	packet_text(&g->out, "OK");
}

void gdb_fail(struct gdb *g, unsigned number)
{
	packet_clear(&g->out);
	packet_text(&g->out, "E%02x", number);
}

void gdb_send(struct gdb *g, const struct packet *p)
{
	size_t len = packet_frame(p, g->frame), done = 0;

	while (g->fd >= 0 && done < len) {
		ssize_t n =
		    send(g->fd, g->frame + done, len - done, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			g->is_over = true; /* reading will say why */
			return;
		}
		done += (size_t)n;
	}
}

int gdb_receive(struct gdb *g)
{
	ssize_t n;

	do
		n = recv(g->fd, g->bytes, sizeof g->bytes, 0);
	while (n < 0 && errno == EINTR);
	g->bytes_at = 0;
	g->bytes_end = n > 0 ? (size_t)n : 0;
	g->is_over |= n <= 0;
	return n > 0 ? 1 : (int)n;
}

void gdb_console(struct gdb *g, const char *text)
{
	static struct packet p; /* too large for the stack */

	packet_clear(&p);
	packet_text(&p, "O");
	packet_hex(&p, text, strlen(text));
	gdb_send(g, &p);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * (int64_t)1000 + t.tv_nsec / 1000000;
}

/* Once a second, from the second second on. */
static void show(struct gdb *g, uint64_t done, uint64_t total)
{
	int64_t now = now_ms();
	char text[64];

	if (g->shown_ms == 0)
		g->shown_ms = now;
	if (!g->shows_progress || now - g->shown_ms < 1000 || total == 0)
		return;
	g->shown_ms = now;
	fmt_text(text, sizeof text, "hark: %u %%\r",
		 (unsigned)(done / (total / 100 + 1)));
	gdb_console(g, text);
}

/* An interrupt, or the end of the connection, is taken note of; other bytes
 * are left for later. */
static int is_called_off(struct gdb *g)
{
	struct pollfd p = {.fd = g->fd, .events = POLLIN};

	if (g->is_asked && g->interrupt != NULL && *g->interrupt)
		return 1;
	if (g->bytes_at == g->bytes_end && g->fd >= 0 && poll(&p, 1, 0) > 0 &&
	    gdb_receive(g) <= 0)
		return 1;
	if (g->bytes_at == g->bytes_end ||
	    g->bytes[g->bytes_at] != PACKET_INTERRUPT)
		return 0;
	g->bytes_at++;
	return 1;
}

int gdb_progress(void *ctx, uint64_t done, uint64_t total)
{
	struct gdb *g = ctx;

	show(g, done, total);
	if (!g->is_interrupted && !is_called_off(g))
		return 0;
	g->is_interrupted = true;
	return 1;
}
