/* gdb/listen.h - where a debugger comes in.
 *
 * Without a wish that is a socket in a new directory that nobody else can
 * enter: whoever can connect can read all that the recorded program knew.
 * Hosted. */
#ifndef GDB_LISTEN_H
#define GDB_LISTEN_H

#include "base/err.h"

struct listener;

/* where: "unix:PATH", "HOST:PORT", or NULL for a private socket. */
int listener_open(const char *where, struct listener **out,
		  struct hark_err *err);
/* Sockets that were made are removed. */
void listener_close(struct listener *l);

/* What gdb's `target remote` takes. */
const char *listener_name(const struct listener *l);
/* The private directory; NULL: there is none. */
const char *listener_dir(const struct listener *l);

/* The next one who comes; -1: `other` (a descriptor, or -1) had something to
 * say first, or it failed. */
int listener_accept(struct listener *l, int other);

/* Removes what was made, from a handler of a signal. */
void listener_remove(const struct listener *l);

#endif
