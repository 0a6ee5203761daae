/* probe/along.h - with a thread through its execve.
 *
 * hark attaches to the thread that announces one (native/announce.c),
 * and goes with it to the first instruction of the next program, or to the end
 * of an execve that fails. Programs with privileges of their own would lose
 * them: they are let go before. Hosted. */
#ifndef PROBE_ALONG_H
#define PROBE_ALONG_H

#include "base/err.h"

#include <sys/types.h>

/* heard: called when hark is there, so that it may go on. 1: the process is
 * another program now, held where its libraries are mapped and nothing has run;
 * 0: it is not, or not to be held: nothing is attached; *err says why, if there
 * is something to be said. */
int along_exec(pid_t pid, pid_t tid, void (*heard)(void *ctx), void *ctx,
	       struct hark_err *err);

#endif
