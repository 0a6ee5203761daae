/* outside/judge.h - what is a thread about to execute?
 *
 * Asked at the entry of a system call, before anything has happened: a program
 * with privileges of its own loses them when it is executed under a tracer
 * without privilege, and hark with privilege must not be a way into it. So hark
 * steps aside first. The path may be changed by another thread in between:
 * creds_changed_by_exec() tells afterwards. Hosted. */
#ifndef OUTSIDE_JUDGE_H
#define OUTSIDE_JUDGE_H

#include <sys/types.h>

enum judge {
	JUDGE_RETURN,	  /* the end of a system call, not its entry */
	JUDGE_OTHER,	  /* something that is not execve */
	JUDGE_EXEC,	  /* an ordinary program, or none at all */
	JUDGE_PRIVILEGED, /* set-uid, set-gid or with file capabilities */
};

/* Of a thread at a system call stop. */
enum judge judge_call(pid_t tid);

#endif
