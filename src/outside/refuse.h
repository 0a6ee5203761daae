/* outside/refuse.h - what hark will not or may not touch, and how to say so.
 *
 * Set-uid, set-gid and file-capability programs lose their privilege when
 * they are executed under a tracer, silently; so they are recognised before.
 * A process that cannot be entered is recognised before it is touched. Every
 * refusal is one line that says what to do. Hosted. */
#ifndef OUTSIDE_REFUSE_H
#define OUTSIDE_REFUSE_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>
#include <sys/user.h>

/* Would executing this file change the credentials of a process that has that
 * effective user and group? hark enters no such program, root or not: without
 * privilege it would lose its own, and with it hark would be a way into them.
 * Follows #! lines. dirfd as for openat. 1 yes, 0 no or cannot tell. */
int refuse_privileged(int dirfd, const char *path, uid_t uid, gid_t gid);

/* May this file be started? -1 and why not: privileged, not x86-64. A file
 * that does not exist or is no program is execve's to complain about. */
int refuse_file(const char *path, struct hark_err *err);

/* The same for a program that has just been executed, by its registers. */
int refuse_executed(pid_t pid, const struct user_regs_struct *regs,
		    struct hark_err *err);

/* What the memory of probes is called (probe/insert.h), and in maps. */
#define REFUSE_PROBES  "hark-probe"
#define REFUSE_IN_MAPS "/memfd:" REFUSE_PROBES " (deleted)"
/* Are there no probes in it? An engine would run into them. */
int refuse_probed(pid_t pid, pid_t tid, struct hark_err *err);

/* May this running process be entered? Asked before it is touched. */
int refuse_process(pid_t pid, struct hark_err *err);
/* May this thread of it, which hark holds, be sent through the image? */
int refuse_thread(pid_t pid, pid_t tid, const struct user_regs_struct *regs,
		  struct hark_err *err);

/* Is there a reason for the kernel to refuse PTRACE_SEIZE of the thread with
 * EPERM? Without one it is refused because it has just ended, mostly. */
bool refuse_has_reason(pid_t pid, pid_t tid);
/* The kernel answered PTRACE_SEIZE of a thread with errno e: why? */
int refuse_explain(pid_t pid, pid_t tid, int e, struct hark_err *err);

#endif
