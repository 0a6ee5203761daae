/* probe/along.h - with a thread through its execve.
 *
 * hark attaches to the thread that announces one (native/announce.c),
 * and goes with it to the first instruction of the next program, or to the end
 * of an execve that fails. Programs that change their credentials are let go
 * before, as their file tells; a file that was exchanged in between is told by
 * the kernel's word to the program (AT_SECURE). Hosted. */
#ifndef PROBE_ALONG_H
#define PROBE_ALONG_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct along_watch {
	/* The process is held, before its execve: is it the one that was
	 * meant? */
	bool (*is_right)(void *ctx, pid_t pid);
	/* hark is there, or does not come: it may go on. */
	void (*heard)(void *ctx);
	/* It is another program, held before its first instruction, and
	 * nothing was written there: may it be entered? -1 and why not. */
	int (*may_enter)(void *ctx, pid_t pid, struct hark_err *err);
	void *ctx;
};

/* 1: the process is another program now, held where its libraries are mapped
 * and nothing has run; 0: it is not, or not to be held: nothing is attached;
 * *err says why, if there is something to be said. A thread that does not come
 * to its execve within some seconds, or a thousand system calls, is let go. */
int along_exec(pid_t pid, pid_t tid, const struct along_watch *watch,
	       struct hark_err *err);

#endif
