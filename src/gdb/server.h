/* gdb/server.h - a recording behind gdb's remote protocol.
 *
 * One struct gdb is one process of a recording, put to a moment, and whoever
 * talks to it. Packets are answered one by one; while the program is moved,
 * an interrupt is listened for. Nothing can be changed: writes are refused.
 * Hosted; one thread. */
#ifndef GDB_SERVER_H
#define GDB_SERVER_H

#include "gdb/api.h"
#include "gdb/packet.h"

#include <signal.h>

struct gdb;

struct gdb_wish {
	const struct gdb_api *api;
	struct hark_recording *recording; /* borrowed */
	uint32_t process;		  /* by number; 0: the first */
	const char *at;			  /* a position; NULL: the end */
	/* Borrowed; set to end a question that takes long. NULL: never. */
	volatile sig_atomic_t *interrupt;
};

int gdb_new(const struct gdb_wish *wish, struct gdb **out,
	    struct hark_error *err);
void gdb_free(struct gdb *g);

/* Talks with whoever is at the other end until they leave. 0: they said so,
 * or hung up; -1: the connection broke. */
int gdb_serve(struct gdb *g, int fd);

/* For tests: the answer to one body; NULL: there is none. */
const struct packet *gdb_answer(struct gdb *g, const char *body, size_t len);

#endif
